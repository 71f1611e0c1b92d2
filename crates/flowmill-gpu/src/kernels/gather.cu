// Gathering of slices by index. Slices of indices out of range are zeros. `I` is the type of indices.
struct Rows {
    u32 outer, rows, inner, count;
};

// `N` counts the elements; most results have fewer than 32 bits count.
template <typename N> static __device__ void gather_rows(T* out, const T* in, const I* indices, N n, const Rows& r) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const N i = (N)element, place = i / r.inner, plane = place / r.count;
        const u32 column = (u32)(i % r.inner), at = (u32)(place % r.count);
        const long long row = (long long)indices[(u64)(plane / r.outer) * r.count + at];
        if (row >= 0 && row < (long long)r.rows) out[i] = in[((u64)plane * r.rows + (u64)row) * r.inner + column];
        else out[i] = T{};
    }
}

extern "C" __global__ void gather(T* out, const T* in, const I* indices, u64 n, Rows r) {
    if (n <= 0xffffffffull) gather_rows<u32>(out, in, indices, (u32)n, r);
    else gather_rows<u64>(out, in, indices, n, r);
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

// Rows of `inner` elements of the source, by number, go to rows of the result, by number.
extern "C" __global__ void place_rows(T* out, const T* in, const I* targets, const I* sources, u64 n, u32 inner) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 row = i / inner, column = i % inner;
        out[(u64)targets[row] * inner + column] = in[(u64)sources[row] * inner + column];
    }
}
