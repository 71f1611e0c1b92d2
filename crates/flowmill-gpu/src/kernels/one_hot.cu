// Values that depend on their position. `I` is the type of indices.
extern "C" __global__ void one_hot(T* out, const I* indices, const T* on, const T* off, u64 n, u32 depth, u32 suffix) {
    const T hot = on[0], cold = off[0];
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 row = i / suffix, index = row / depth * suffix + i % suffix;
        out[i] = (long long)indices[index] == (long long)(row % depth) ? hot : cold;
    }
}
