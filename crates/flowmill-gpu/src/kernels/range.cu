// The numbers of an arithmetic progression. Each operation of a narrow float is rounded.
static __device__ C rounded(C x) { return (C)(T)x; }

extern "C" __global__ void range(T* out, u64 n, T start, T delta) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = (T)((C)start + rounded(rounded((C)i) * (C)delta));
}
