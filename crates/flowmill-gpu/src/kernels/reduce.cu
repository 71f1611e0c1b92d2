// Reductions. `A` is the type of accumulators, and `R` one of the operations below.
struct Sum {
    static __device__ A empty() { return 0; }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return a + b; }
    static __device__ T finish(A a, u32) { return (T)a; }
};
struct Mean : Sum {
    static __device__ T finish(A a, u32 n) { return (T)((A)0.5 != 0 || n != 0 ? a / (A)n : a); }
};
struct Prod {
    static __device__ A empty() { return 1; }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return a * b; }
    static __device__ T finish(A a, u32) { return (T)a; }
};
struct Max {
    static __device__ A empty() { return lowest<A>(); }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return larger<A>(a, b); }
    static __device__ T finish(A a, u32) { return (T)a; }
};
struct Min {
    static __device__ A empty() { return highest<A>(); }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return smaller<A>(a, b); }
    static __device__ T finish(A a, u32) { return (T)a; }
};
struct EuclideanNorm {
    static __device__ A empty() { return 0; }
    static __device__ A load(C x) { return (A)x * (A)x; }
    static __device__ A merge(A a, A b) { return a + b; }
    static __device__ T finish(A a, u32) { return (T)sqrt((decltype(a * 1.0f))a); }
};
struct L2Loss : EuclideanNorm {
    static __device__ T finish(A a, u32) { return (T)(a * (A)0.5); }
};
struct All {
    static __device__ A empty() { return 1; }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return a && b; }
    static __device__ T finish(A a, u32) { return (T)a; }
};
struct Any {
    static __device__ A empty() { return 0; }
    static __device__ A load(C x) { return (A)x; }
    static __device__ A merge(A a, A b) { return a || b; }
    static __device__ T finish(A a, u32) { return (T)a; }
};

struct Loop {
    u32 rank;
    u32 dims[MAX_RANK];
    u32 strides[MAX_RANK];
};

// The kept dimensions, the reduced ones, the numbers of their elements, and how many elements a block reduces to one.
struct Plan {
    u32 outputs, count, part;
    Loop kept, reduced;
};

static __device__ u32 position(const Loop& loop, u32 i) {
    u32 at = 0;
    for (int d = (int)loop.rank - 1; d > 0; d--) {
        at += i % loop.dims[d] * loop.strides[d];
        i /= loop.dims[d];
    }
    return at + i * loop.strides[0];
}

// Blocks in y reduce parts of the reduced dimensions; if there are several, their results go to `parts`.
static __device__ void store(T* out, A* parts, A value, u32 at, const Plan& plan) {
    if (gridDim.y > 1) parts[(u64)blockIdx.y * plan.outputs + at] = value;
    else out[at] = R::finish(value, plan.count);
}

// Threads in x reduce one element of the result, so that neighbours read neighbouring elements of a reduced dimension.
extern "C" __global__ void reduce_rows(T* out, A* parts, const T* in, Plan plan) {
    __shared__ A shared[256];
    const u32 row = blockIdx.x * blockDim.y + threadIdx.y;
    const u32 first = blockIdx.y * plan.part;
    const u32 last = plan.count - first < plan.part ? plan.count : first + plan.part;
    A value = R::empty();
    if (row < plan.outputs) {
        const T* from = in + position(plan.kept, row);
#pragma unroll 4
        for (u32 i = first + threadIdx.x; i < last; i += blockDim.x) value = R::merge(value, R::load((C)from[position(plan.reduced, i)]));
    }
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x;
    shared[own] = value;
    for (u32 step = blockDim.x / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) shared[own] = R::merge(shared[own], shared[own + step]);
    }
    if (threadIdx.x == 0 && row < plan.outputs) store(out, parts, shared[own], row, plan);
}

// Threads in y reduce one element of the result, so that neighbours in x read neighbouring elements of a kept dimension.
extern "C" __global__ void reduce_columns(T* out, A* parts, const T* in, Plan plan) {
    __shared__ A shared[256];
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 first = blockIdx.y * plan.part;
    const u32 last = plan.count - first < plan.part ? plan.count : first + plan.part;
    A value = R::empty();
    if (column < plan.outputs) {
        const T* from = in + position(plan.kept, column);
#pragma unroll 4
        for (u32 i = first + threadIdx.y; i < last; i += blockDim.y) value = R::merge(value, R::load((C)from[position(plan.reduced, i)]));
    }
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x;
    shared[own] = value;
    for (u32 step = blockDim.y / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.y < step) shared[own] = R::merge(shared[own], shared[own + step * blockDim.x]);
    }
    if (threadIdx.y == 0 && column < plan.outputs) store(out, parts, shared[own], column, plan);
}

// Merges the results of parts, in a fixed order.
extern "C" __global__ void merge_parts(T* out, const A* parts, u32 outputs, u32 num_parts, u32 count) {
    __shared__ A shared[256];
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    A value = R::empty();
    if (column < outputs) {
        for (u32 i = threadIdx.y; i < num_parts; i += blockDim.y) value = R::merge(value, parts[(u64)i * outputs + column]);
    }
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x;
    shared[own] = value;
    for (u32 step = blockDim.y / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.y < step) shared[own] = R::merge(shared[own], shared[own + step * blockDim.x]);
    }
    if (threadIdx.y == 0 && column < outputs) out[column] = R::finish(shared[own], count);
}
