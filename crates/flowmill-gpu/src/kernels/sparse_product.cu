// Products of a sparse matrix, whose elements are updates of rows of the result (ordered.cu), and a dense one. The elements of a row are added in order.
struct Product {
    // The column of the indices that selects a row of the dense matrix, and the distances between its rows and columns.
    u32 inner_at, row_stride, column_stride;
};

extern "C" __global__ void sparse_product(T* out, const T* values, const I* indices, const T* dense, const u64* sorted, Product p, Slices s) {
    for (u32 first = 0; first < s.inner; first += BLOCK) {
        const u32 column = first + threadIdx.x;
        u32 row = NOWHERE;
        C sum = 0;
        for_each_update(s, indices, sorted, [&](u32 slice, u32 number) {
            row = slice;
            if (column >= s.inner) return;
            const u64 inner = (u64)indices[(u64)number * 2 + p.inner_at];
            sum += (C)values[number] * (C)dense[inner * p.row_stride + (u64)column * p.column_stride];
        });
        if (row == NOWHERE) return;
        if (column < s.inner) out[(u64)row * s.inner + column] = (T)sum;
    }
}
