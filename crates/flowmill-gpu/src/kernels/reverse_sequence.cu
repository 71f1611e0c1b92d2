// The first elements along one dimension, in the order from the last of them to the first. Their number depends on the index in another dimension.
struct Sequences {
    // The number of batch entries and the distance of two, and the same for the elements of a sequence.
    u32 batch, batch_inner, size, inner;
};

extern "C" __global__ void reverse_sequence(T* out, const T* in, const I* lengths, u64 n, Sequences s) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const long long length = (long long)lengths[i / s.batch_inner % s.batch];
        const u32 at = (u32)(i / s.inner % s.size), reversed = length < (long long)s.size ? (length < 0 ? 0 : (u32)length) : s.size;
        const long long moved = at < reversed ? (long long)(reversed - 1 - at) - at : 0;
        out[i] = in[(long long)i + moved * (long long)s.inner];
    }
}
