// Normalizes rows, then scales and shifts their columns. The threads with one threadIdx.y compute a row.
extern "C" __global__ void layer_norm(T* out, const T* in, const T* gamma, const T* beta, u32 rows, u32 width, u32 columns, u32 factors, float epsilon) {
    __shared__ C shared[256];
    const u32 row = blockIdx.x * blockDim.y + threadIdx.y;
    const bool inside = row < rows;
    in += (u64)row * width;
    out += (u64)row * columns;
    const u32 count = inside ? width : 0;
    C sum = 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) sum += (C)in[i];
    const C mean = merge_row(shared, sum, Plus<C>()) / (C)width;
    C squares = 0;
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        const C distance = (C)in[i] - mean;
        squares += distance * distance;
    }
    const C scale = 1 / sqrt(merge_row(shared, squares, Plus<C>()) / (C)width + (C)epsilon);
    if (!inside) return;
    // A row or the factors may have one element for all columns.
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) {
        const C normal = ((C)in[width == 1 ? 0 : i] - mean) * scale;
        const u32 factor = factors == 1 ? 0 : i;
        out[i] = (T)(normal * (C)gamma[factor] + (C)beta[factor]);
    }
}
