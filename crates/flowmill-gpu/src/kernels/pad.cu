// Elements of a padded tensor: those of the source inside, and outside one value, or the mirrored inside.
struct Padding {
    u32 rank;
    // 0 pads with a value, 1 mirrors without the edge, 2 mirrors with it.
    u32 mode;
    u32 dims[MAX_RANK];
    u32 before[MAX_RANK];
    u32 sizes[MAX_RANK];
};

extern "C" __global__ void pad(T* to, const T* from, const T* value, u32 n, Padding p) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element;
        u32 rest = i, at = 0, stride = 1;
        bool inside = true;
        for (int d = (int)p.rank - 1; d >= 0; d--) {
            int index = (int)(rest % p.dims[d]) - (int)p.before[d];
            rest /= p.dims[d];
            const int size = (int)p.sizes[d];
            if (index < 0 || index >= size) {
                inside = p.mode != 0;
                if (!inside) break;
                const int edge = p.mode == 2;
                index = index < 0 ? -index - edge : 2 * size - 2 - index + edge;
            }
            at += (u32)index * stride;
            stride *= (u32)size;
        }
        if (inside) to[i] = from[at];
        else if (value) to[i] = value[0];
        else to[i] = T{};
    }
}

extern "C" __global__ void fill(T* to, const T* value, u64 n) {
    const T element = value[0];
    for (u64 i = thread_index(); i < n; i += thread_count()) to[i] = element;
}
