// Scattering of slices by index. `R` is one of the operations below.
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

extern "C" __global__ void scatter(T* out, const T* values, const I* indices, const u64* sorted, Slices s) {
    for_each_update(s, indices, sorted, [&](u32 slice, u32 number) {
        T* to = out + (u64)slice * s.inner;
        const T* from = s.is_scalar ? values : values + (u64)number * s.inner;
        for (u32 column = threadIdx.x; column < s.inner; column += BLOCK) to[column] = (T)R::merge((C)to[column], (C)from[s.is_scalar ? 0 : column]);
    });
}

// The value of a slice without updates: 0, 1, or the least or greatest finite number.
extern "C" __global__ void start(T* out, u64 n, u32 kind) {
    const C value = kind == 0 ? (C)0 : kind == 1 ? (C)1 : kind == 2 ? Finite<T, C>::least() : Finite<T, C>::most();
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = (T)value;
}
