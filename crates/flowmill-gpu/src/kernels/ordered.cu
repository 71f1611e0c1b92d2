// Updates of slices by index. A row of `depth` indices of type `I` selects a slice of `inner` elements; indices out of range are skipped.
struct Slices {
    u32 updates, depth, inner;
    // True if one value is the update of all elements.
    u32 is_scalar;
    u32 dims[MAX_RANK];
    u32 strides[MAX_RANK];
};

enum { BLOCK = 256 };
static const u32 NOWHERE = 0xffffffffu;

// The number of the slice that an update changes.
static __device__ u32 target(const Slices& s, const I* indices, u32 update) {
    if (update >= s.updates) return NOWHERE;
    u32 to = 0;
    for (u32 d = 0; d < s.depth; d++) {
        const long long at = (long long)indices[(u64)update * s.depth + d];
        if (at < 0 || at >= (long long)s.dims[d]) return NOWHERE;
        to += (u32)at * s.strides[d];
    }
    return to;
}

// Each block calls `update(slice, number)` for all updates of one slice, in their order, unless another block does. The threads call it together.
// `sorted` has the sorted keys of the updates (sort.cu). If it is null, the block of the first update of a slice finds the others.
template <typename F> static __device__ void for_each_update(const Slices& s, const I* indices, const u64* sorted, F update) {
    __shared__ u32 targets[BLOCK];
    __shared__ u32 found;
    const u32 number = blockIdx.x, thread = threadIdx.x;
    if (sorted) {
        const u32 slice = (u32)(sorted[number] >> 32);
        if (slice == NOWHERE || (number > 0 && (u32)(sorted[number - 1] >> 32) == slice)) return;
        for (u32 i = number; i < s.updates && (u32)(sorted[i] >> 32) == slice; i++) update(slice, (u32)sorted[i]);
        return;
    }
    const u32 own = target(s, indices, number);
    if (own == NOWHERE) return;
    for (u32 first = 0; first < number; first += BLOCK) {
        if (thread == 0) found = 0;
        __syncthreads();
        if (first + thread < number && target(s, indices, first + thread) == own) found = 1;
        __syncthreads();
        const bool done = found != 0;
        __syncthreads();
        if (done) return;
    }
    for (u32 first = number; first < s.updates; first += BLOCK) {
        targets[thread] = target(s, indices, first + thread);
        __syncthreads();
        for (u32 i = 0; i < BLOCK; i++) {
            if (targets[i] == own) update(own, first + i);
        }
        __syncthreads();
    }
}
