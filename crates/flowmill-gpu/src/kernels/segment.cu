// Reductions of segments of rows. `R` is one of the operations below. A segment without rows is zero, but one of products is one.
struct Sum {
    static __device__ C empty() { return 0; }
    static __device__ C none() { return 0; }
    static __device__ C merge(C a, C b) { return a + b; }
};
struct Prod {
    static __device__ C empty() { return 1; }
    static __device__ C none() { return 1; }
    static __device__ C merge(C a, C b) { return a * b; }
};
struct Max {
    static __device__ C empty() { return lowest<C>(); }
    static __device__ C none() { return 0; }
    static __device__ C merge(C a, C b) { return larger<C>(a, b); }
};
struct Min {
    static __device__ C empty() { return highest<C>(); }
    static __device__ C none() { return 0; }
    static __device__ C merge(C a, C b) { return smaller<C>(a, b); }
};

// Each thread reduces a column of a segment. `rows` are the numbers of rows, or null for rows in their order; `weights` are their factors, or null.
// The result is divided by the number of rows or its root, if `divide` is 1 or 2.
extern "C" __global__ void segments(T* out, const T* in, const u32* starts, const u32* rows, const C* weights, u64 n, u32 inner, u32 divide) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 segment = (u32)(i / inner), column = (u32)(i % inner);
        const u32 first = starts[segment], last = starts[segment + 1];
        C value = first < last ? R::empty() : R::none();
        for (u32 at = first; at < last; at++) {
            C element = (C)in[(u64)(rows ? rows[at] : at) * inner + column];
            if (weights) element = element * weights[at];
            value = R::merge(value, element);
        }
        const u32 count = last - first;
        if (divide == 1 && count > 1) value = value / (C)count;
        if (divide == 2 && count > 1) value = (C)(value / sqrt((decltype(value * 1.0f))count));
        out[i] = (T)value;
    }
}
