// LU decompositions in place, a panel of columns at a time (triangular.cu), with row exchanges that make each pivot the greatest of its column.
struct Pivot {
    T size;
    u32 row;
};
// The greater one, or the upper one of two that are equal.
struct Greater {
    __device__ Pivot operator()(const Pivot& a, const Pivot& b) const { return a.size > b.size || (a.size == b.size && a.row < b.row) ? a : b; }
};

// A block decomposes the columns of a panel of each matrix, from the diagonal on, and stores the row that each row has been exchanged with. Matrices with
// a pivot that is zero or NaN are counted.
extern "C" __global__ void factor_columns(T* matrices, u32* exchanges, u32* singular, Panel p) {
    __shared__ Pivot shared[256];
    for (u32 number = blockIdx.x; number < p.batch; number += gridDim.x) {
        T* a = matrices + (u64)number * p.n * p.n;
        for (u32 k = p.first; k < p.first + p.count; k++) {
            __syncthreads();
            Pivot own = {(T)-1, k};
            for (u32 i = k + threadIdx.x; i < p.n; i += blockDim.x) own = Greater()(own, Pivot{fabs(a[(u64)i * p.n + k]), i});
            const u32 row = merge_row<Pivot>(shared, own, Greater()).row;
            if (threadIdx.x == 0) exchanges[(u64)number * p.n + k] = row;
            for (u32 j = p.first + threadIdx.x; row != k && j < p.first + p.count; j += blockDim.x) {
                const T other = a[(u64)row * p.n + j];
                a[(u64)row * p.n + j] = a[(u64)k * p.n + j];
                a[(u64)k * p.n + j] = other;
            }
            __syncthreads();
            const T pivot = a[(u64)k * p.n + k];
            if (threadIdx.x == 0 && !(fabs(pivot) > 0)) atomicAdd(singular, 1u);
            // Below a pivot of zero, all elements are zero, too.
            for (u32 i = k + 1 + threadIdx.x; pivot != 0 && i < p.n; i += blockDim.x) a[(u64)i * p.n + k] /= pivot;
            __syncthreads();
            const u32 rest = p.first + p.count - k - 1;
            for (u64 at = threadIdx.x; at < (u64)(p.n - k - 1) * rest; at += blockDim.x) {
                const u64 i = k + 1 + at / rest, j = k + 1 + at % rest;
                a[i * p.n + j] -= a[i * p.n + k] * a[(u64)k * p.n + j];
            }
        }
    }
}

// Exchanges rows as panels have been, in the columns from `first` to `last` but those of the panel, or of right-hand sides in all.
struct Columns {
    u32 n, columns;
    // The rows whose exchanges are made, and whether the last one is made first.
    u32 first, count, is_reversed;
    // The columns that are left out.
    u32 skipped, num_skipped;
};
extern "C" __global__ void exchange_rows(T* matrices, const u32* exchanges, Columns c) {
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= c.columns || (column >= c.skipped && column - c.skipped < c.num_skipped)) return;
    T* x = matrices + (u64)blockIdx.y * c.n * c.columns + column;
    for (u32 step = 0; step < c.count; step++) {
        const u32 i = c.first + (c.is_reversed ? c.count - 1 - step : step), row = exchanges[(u64)blockIdx.y * c.n + i];
        const T other = x[(u64)row * c.columns];
        x[(u64)row * c.columns] = x[(u64)i * c.columns];
        x[(u64)i * c.columns] = other;
    }
}

extern "C" __global__ void identity(T* out, u64 elements, u32 n) {
    const u64 size = (u64)n * n;
    for (u64 i = thread_index(); i < elements; i += thread_count()) out[i] = i % size / n == i % n ? (T)1 : (T)0;
}

struct Times {
    __device__ T operator()(T a, T b) const { return a * b; }
};

// A block for each matrix multiplies the pivots: their signs, and their sizes or the logarithms of these.
extern "C" __global__ void determinants(T* signs, T* values, const T* factors, const u32* exchanges, u32 batch, u32 n, u32 is_logarithm) {
    __shared__ T shared[256];
    for (u32 number = blockIdx.x; number < batch; number += gridDim.x) {
        T sign = 1, value = is_logarithm ? 0 : 1;
        for (u32 i = threadIdx.x; i < n; i += blockDim.x) {
            const T pivot = factors[(u64)number * n * n + (u64)i * n + i], size = fabs(pivot);
            if (exchanges[(u64)number * n + i] != i) sign = -sign;
            sign *= pivot < 0 ? (T)-1 : size > 0 ? (T)1 : size == 0 ? (T)0 : pivot;
            value = is_logarithm ? value + log(size) : value * size;
        }
        sign = merge_row<T>(shared, sign, Times());
        value = is_logarithm ? merge_row<T>(shared, value, Plus<T>()) : merge_row<T>(shared, value, Times());
        if (threadIdx.x != 0) continue;
        if (is_logarithm) {
            signs[number] = sign;
            values[number] = sign == 0 ? log((T)0) : value;
        } else {
            values[number] = sign == 0 ? (T)0 : sign * value;
        }
    }
}
