// Matrices whose elements outside of a band are zero.
struct Band {
    u32 rows, columns;
    // The numbers of diagonals below and above the main one that are kept.
    u32 lower, upper;
};

extern "C" __global__ void band_part(T* out, const T* in, u64 n, Band b) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 column = (u32)(i % b.columns), row = (u32)(i / b.columns % b.rows);
        const bool inside = column < row ? row - column <= b.lower : column - row <= b.upper;
        if (inside) out[i] = in[i];
        else out[i] = T{};
    }
}
