// Numbers elements that are not zero in their order: a block counts those of a tile, the counts are summed, and then the number of each is known.
enum { WIDTH = 256, PER_THREAD = 4, TILE = WIDTH * PER_THREAD };

static __device__ bool is_set(T value) { return (C)value != (C)0; }

// The sum of the numbers of the threads before this one, and of all threads of the block.
struct Sums {
    u32 before, all;
};
static __device__ Sums sums_of(u32 own) {
    __shared__ u32 shared[WIDTH];
    const u32 thread = threadIdx.x;
    __syncthreads();
    shared[thread] = own;
    for (u32 step = 1; step < WIDTH; step *= 2) {
        __syncthreads();
        const u32 other = thread >= step ? shared[thread - step] : 0;
        __syncthreads();
        shared[thread] += other;
    }
    __syncthreads();
    return {shared[thread] - own, shared[WIDTH - 1]};
}

// The number of a thread's elements that are set.
static __device__ u32 count_own(const T* in, u32 n, u64 first) {
    u32 count = 0;
    for (u32 k = 0; k < PER_THREAD; k++) count += first + k < n && is_set(in[first + k]);
    return count;
}

extern "C" __global__ void count_tiles(u32* counts, const T* in, u32 n) {
    const Sums sums = sums_of(count_own(in, n, (u64)blockIdx.x * TILE + threadIdx.x * PER_THREAD));
    if (threadIdx.x == 0) counts[blockIdx.x] = sums.all;
}

// One block replaces each count by the sum of those before it, and stores the sum of all.
extern "C" __global__ void sum_counts(u32* counts, int* total, u32 tiles) {
    u32 before = 0;
    for (u32 first = 0; first < tiles; first += WIDTH) {
        const u32 i = first + threadIdx.x;
        const Sums sums = sums_of(i < tiles ? counts[i] : 0);
        if (i < tiles) counts[i] = before + sums.before;
        before += sums.all;
    }
    if (threadIdx.x == 0) *total = (int)before;
}

// Calls `visit(element, number)` for each element of a block's tile that is set.
template <typename F> static __device__ void each_set(const u32* counts, const T* in, u32 n, F visit) {
    const u64 first = (u64)blockIdx.x * TILE + threadIdx.x * PER_THREAD;
    u32 number = counts[blockIdx.x] + sums_of(count_own(in, n, first)).before;
    for (u32 k = 0; k < PER_THREAD; k++) {
        if (first + k < n && is_set(in[first + k])) visit((u32)first + k, number++);
    }
}

struct Dims {
    u32 rank;
    u32 dims[MAX_RANK];
};

// A row with the coordinates of each element that is set.
extern "C" __global__ void coordinates(long long* out, const u32* counts, const T* in, u32 n, Dims d) {
    each_set(counts, in, n, [&](u32 element, u32 number) {
        u32 rest = element;
        for (int i = (int)d.rank - 1; i >= 0; i--) {
            out[(u64)number * d.rank + i] = rest % d.dims[i];
            rest /= d.dims[i];
        }
    });
}

// The number of each element that is set.
extern "C" __global__ void numbers(u32* out, const u32* counts, const T* in, u32 n) {
    each_set(counts, in, n, [&](u32 element, u32 number) { out[element] = number; });
}
