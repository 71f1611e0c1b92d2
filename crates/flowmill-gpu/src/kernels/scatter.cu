// Scattering of slices by index. A row of `depth` indices selects a slice of `inner` elements; indices out of range are skipped. `I` is the type of
// indices, and `R` one of the operations below.
template <typename V> static __device__ V quotient(V a, V b) { return truncated_quotient(a, b); }
[[maybe_unused]] static __device__ float quotient(float a, float b) { return a / b; }
[[maybe_unused]] static __device__ double quotient(double a, double b) { return a / b; }

struct Add {
    static __device__ C merge(C a, C b) { return a + b; }
};
struct Sub {
    static __device__ C merge(C a, C b) { return a - b; }
};
struct Div {
    static __device__ C merge(C a, C b) { return quotient(a, b); }
};
struct Mul {
    static __device__ C merge(C a, C b) { return a * b; }
};
struct Max {
    static __device__ C merge(C a, C b) { return b > a ? b : a; }
};
struct Min {
    static __device__ C merge(C a, C b) { return b < a ? b : a; }
};
struct SegmentMax {
    static __device__ C merge(C a, C b) { return larger<C>(a, b); }
};
struct SegmentMin {
    static __device__ C merge(C a, C b) { return smaller<C>(a, b); }
};
struct Update {
    static __device__ C merge(C, C b) { return b; }
};

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

// Each block makes all updates of a slice, one after the other, unless the block of an earlier update of that slice does.
extern "C" __global__ void scatter(T* out, const T* values, const I* indices, Slices s) {
    __shared__ u32 targets[BLOCK];
    __shared__ u32 found;
    const u32 update = blockIdx.x, thread = threadIdx.x;
    const u32 own = target(s, indices, update);
    if (own == NOWHERE) return;
    for (u32 first = 0; first < update; first += BLOCK) {
        if (thread == 0) found = 0;
        __syncthreads();
        if (first + thread < update && target(s, indices, first + thread) == own) found = 1;
        __syncthreads();
        const bool done = found != 0;
        __syncthreads();
        if (done) return;
    }
    out += (u64)own * s.inner;
    for (u32 first = update; first < s.updates; first += BLOCK) {
        targets[thread] = target(s, indices, first + thread);
        __syncthreads();
        for (u32 i = 0; i < BLOCK; i++) {
            if (targets[i] != own) continue;
            const T* from = s.is_scalar ? values : values + (u64)(first + i) * s.inner;
            for (u32 column = thread; column < s.inner; column += BLOCK) out[column] = (T)R::merge((C)out[column], (C)from[s.is_scalar ? 0 : column]);
        }
        __syncthreads();
    }
}

// The value of a slice without updates: 0, 1, or the least or greatest finite number.
extern "C" __global__ void start(T* out, u64 n, u32 kind) {
    const C value = kind == 0 ? (C)0 : kind == 1 ? (C)1 : kind == 2 ? Finite<T, C>::least() : Finite<T, C>::most();
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = (T)value;
}
