// Lower triangular factors of symmetric matrices, and solutions of triangular systems.

// A block replaces each matrix by its factor, column by column. That of a matrix that is not positive definite has NaN in its lower triangle.
extern "C" __global__ void cholesky(T* matrices, u32 batch, u32 n) {
    for (u32 number = blockIdx.x; number < batch; number += gridDim.x) {
        T* a = matrices + (u64)number * n * n;
        bool is_definite = true;
        for (u32 k = 0; k < n; k++) {
            __syncthreads();
            const T square = a[(u64)k * n + k], pivot = sqrt(square);
            if (!(square > 0)) is_definite = false;
            __syncthreads();
            for (u32 i = k + threadIdx.x; i < n; i += blockDim.x) a[(u64)i * n + k] = i == k ? pivot : a[(u64)i * n + k] / pivot;
            __syncthreads();
            const u64 rest = n - k - 1;
            for (u64 at = threadIdx.x; at < rest * rest; at += blockDim.x) {
                const u64 i = k + 1 + at / rest, j = k + 1 + at % rest;
                if (j <= i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
            }
        }
        __syncthreads();
        for (u64 at = threadIdx.x; at < (u64)n * n; at += blockDim.x) {
            if (at % n > at / n) a[at] = 0;
            else if (!is_definite) a[at] = lowest<T>() - lowest<T>();
        }
    }
}

struct System {
    u32 n, columns, is_lower, is_adjoint;
    // The distances between matrices, of 0 if there is one, and between right-hand sides.
    u32 matrix_stride, rhs_stride;
};

// Each thread solves a column of a system. Zeros on the diagonal are divided by.
extern "C" __global__ void solve(T* out, const T* matrices, const T* rhs, System s) {
    const u64 number = blockIdx.y;
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= s.columns) return;
    const T* a = matrices + number * s.matrix_stride;
    const T* b = rhs + number * s.rhs_stride + column;
    T* x = out + number * s.n * s.columns + column;
    const bool descends = (s.is_lower != 0) == (s.is_adjoint != 0);
    for (u32 step = 0; step < s.n; step++) {
        const u32 i = descends ? s.n - 1 - step : step;
        T sum = b[(u64)i * s.columns];
        for (u32 done = 0; done < step; done++) {
            const u32 k = descends ? s.n - 1 - done : done;
            sum -= a[s.is_adjoint ? (u64)k * s.n + i : (u64)i * s.n + k] * x[(u64)k * s.columns];
        }
        x[(u64)i * s.columns] = sum / a[(u64)i * s.n + i];
    }
}
