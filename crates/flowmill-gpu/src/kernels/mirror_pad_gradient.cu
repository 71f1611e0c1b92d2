// The sum of the elements of one dimension and of their mirror images in its borders. Each thread has an element of the result.
struct Fold {
    u32 size, before, after, inner, offset;
};

extern "C" __global__ void fold(T* out, const T* in, u64 n, Fold f) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 line = i / f.inner, outer = line / f.size, column = i % f.inner;
        const u32 at = (u32)(line % f.size);
        const T* from = in + outer * ((u64)f.before + f.size + f.after) * f.inner + column;
        // Mirrors that leave the border itself out have an offset of 1.
        const long long low = (long long)f.before - 1 + f.offset - at, high = 2 * (long long)f.size - 1 - f.offset - at;
        C sum = 0;
        if (low >= 0 && low < (long long)f.before) sum += (C)from[(u64)low * f.inner];
        sum += (C)from[((u64)f.before + at) * f.inner];
        if (high >= (long long)f.size && high < (long long)f.size + f.after) sum += (C)from[((u64)f.before + (u64)high) * f.inner];
        out[i] = (T)sum;
    }
}
