// Factors of matrices in place, and solutions of triangular systems, a panel of rows or columns at a time. Products of matrices update what is beside a
// panel.
#define PANEL 64

// Rows or columns `first` to `first + count` of square matrices of `n` rows.
struct Panel {
    u32 batch, n, first, count;
};

// A block replaces the lower triangle of each diagonal block by its Cholesky factor, column by column. Columns from a pivot on that is not positive are NaN,
// and so is all that depends on them.
extern "C" __global__ void factor_diagonal(T* matrices, Panel p) {
    __shared__ T tile[PANEL * PANEL];
    for (u32 number = blockIdx.x; number < p.batch; number += gridDim.x) {
        T* a = matrices + (u64)number * p.n * p.n + (u64)p.first * p.n + p.first;
        for (u32 at = threadIdx.x; at < p.count * p.count; at += blockDim.x) tile[at] = a[(u64)(at / p.count) * p.n + at % p.count];
        for (u32 k = 0; k < p.count; k++) {
            __syncthreads();
            const T square = tile[k * p.count + k], pivot = square > 0 ? sqrt(square) : lowest<T>() - lowest<T>();
            __syncthreads();
            for (u32 i = k + threadIdx.x; i < p.count; i += blockDim.x) tile[i * p.count + k] = i == k ? pivot : tile[i * p.count + k] / pivot;
            __syncthreads();
            const u32 rest = p.count - k - 1;
            for (u32 at = threadIdx.x; at < rest * rest; at += blockDim.x) {
                const u32 i = k + 1 + at / rest, j = k + 1 + at % rest;
                if (j <= i) tile[i * p.count + j] -= tile[i * p.count + k] * tile[j * p.count + k];
            }
        }
        __syncthreads();
        for (u32 at = threadIdx.x; at < p.count * p.count; at += blockDim.x) a[(u64)(at / p.count) * p.n + at % p.count] = tile[at];
        __syncthreads();
    }
}

// Each thread multiplies a row below a diagonal block by the inverse of the transposed factor of the block.
extern "C" __global__ void solve_rows(T* matrices, Panel p) {
    __shared__ T tile[PANEL * PANEL];
    T* a = matrices + (u64)blockIdx.y * p.n * p.n + p.first;
    const T* factor = a + (u64)p.first * p.n;
    for (u32 at = threadIdx.x; at < p.count * p.count; at += blockDim.x) tile[at] = factor[(u64)(at / p.count) * p.n + at % p.count];
    __syncthreads();
    const u32 i = p.first + p.count + blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p.n) return;
    T* row = a + (u64)i * p.n;
    for (u32 j = 0; j < p.count; j++) {
        T sum = row[j];
        for (u32 k = 0; k < j; k++) sum -= row[k] * tile[j * p.count + k];
        row[j] = sum / tile[j * p.count + j];
    }
}

// Clears what is above the diagonals of factors. The factor of a matrix that is not positive definite, whose last element is NaN, becomes NaN.
extern "C" __global__ void finish_factors(T* matrices, u64 elements, u32 n) {
    const u64 size = (u64)n * n;
    for (u64 at = thread_index(); at < elements; at += thread_count()) {
        const u64 own = at % size, i = own / n, j = own % n;
        const T last = matrices[at - own + size - 1];
        if (j > i) matrices[at] = 0;
        else if (last != last) matrices[at] = last;
    }
}

// A block of rows of systems whose solutions replace the right-hand sides.
struct System {
    // The distance between rows of the matrices, and the columns of the right-hand sides.
    u32 leading, columns, is_lower, is_adjoint;
    // True if the diagonals of the matrices are ones that are not stored.
    u32 is_unit;
    // The distances between matrices, of 0 if there is one, between right-hand sides, and between rows of the latter.
    u32 matrix_stride, rhs_stride, rhs_leading;
    u32 first, count;
};

// Solves the systems of a diagonal block. Threads in x have a column each, and those in y share its rows. Zeros on the diagonal are divided by.
extern "C" __global__ void solve_block(T* out, const T* matrices, System s) {
    __shared__ T tile[PANEL * PANEL];
    __shared__ T known[PANEL][32];
    const T* a = matrices + (u64)blockIdx.y * s.matrix_stride + (u64)s.first * s.leading + s.first;
    T* x = out + (u64)blockIdx.y * s.rhs_stride + (u64)s.first * s.rhs_leading;
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 at = own; at < s.count * s.count; at += blockDim.x * blockDim.y) {
        const u32 i = at / s.count, j = at % s.count;
        tile[s.is_adjoint ? j * s.count + i : at] = a[(u64)i * s.leading + j];
    }
    for (u32 i = threadIdx.y; i < s.count; i += blockDim.y) known[i][threadIdx.x] = column < s.columns ? x[(u64)i * s.rhs_leading + column] : (T)0;
    const bool descends = (s.is_lower != 0) == (s.is_adjoint != 0);
    for (u32 step = 0; step < s.count; step++) {
        const u32 row = descends ? s.count - 1 - step : step;
        __syncthreads();
        if (threadIdx.y == 0 && !s.is_unit) known[row][threadIdx.x] /= tile[row * s.count + row];
        __syncthreads();
        for (u32 i = threadIdx.y; i < s.count; i += blockDim.y) {
            if (descends ? i < row : i > row) known[i][threadIdx.x] -= tile[i * s.count + row] * known[row][threadIdx.x];
        }
    }
    __syncthreads();
    if (column >= s.columns) return;
    for (u32 i = threadIdx.y; i < s.count; i += blockDim.y) x[(u64)i * s.rhs_leading + column] = known[i][threadIdx.x];
}

// Repeats `size` elements.
extern "C" __global__ void repeat(T* out, const T* in, u64 n, u64 size) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = in[i % size];
}
