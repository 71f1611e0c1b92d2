// Gathering of slices by index. Slices of indices out of range are zeros. `I` is the type of indices.
struct Rows {
    u32 outer, rows, inner, count;
};

extern "C" __global__ void gather(T* out, const T* in, const I* indices, u64 n, Rows r) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 place = i / r.inner;
        const u32 column = (u32)(i % r.inner), at = (u32)(place % r.count);
        const u64 plane = place / r.count;
        const long long row = (long long)indices[plane / r.outer * r.count + at];
        if (row >= 0 && row < (long long)r.rows) out[i] = in[(plane * r.rows + (u64)row) * r.inner + column];
        else out[i] = T{};
    }
}

// A row of `depth` indices selects a slice of `inner` elements.
struct Slices {
    u32 depth, inner;
    u32 dims[MAX_RANK];
    u32 strides[MAX_RANK];
};

extern "C" __global__ void gather_slices(T* out, const T* in, const I* indices, u64 n, Slices s) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const I* index = indices + i / s.inner * s.depth;
        u64 from = i % s.inner;
        bool inside = true;
        for (u32 d = 0; d < s.depth; d++) {
            const long long at = (long long)index[d];
            inside = inside && at >= 0 && at < (long long)s.dims[d];
            from += (u64)at * s.strides[d];
        }
        if (inside) out[i] = in[from];
        else out[i] = T{};
    }
}
