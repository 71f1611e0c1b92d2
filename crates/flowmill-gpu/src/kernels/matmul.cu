// C = op(A) op(B) for a batch of matrices, each thread four by four elements of a tile of 64 by 64. Used where no library computes the product.
#define TILE 64
#define DEPTH 16

struct Product {
    u32 m, n, k, transpose_a, transpose_b;
    u32 stride_a, stride_b, stride_c;
    // The distances between rows of the stored matrices. If `subtract` is set, the products are subtracted from C.
    u32 leading_a, leading_b, leading_c, subtract;
};

extern "C" __global__ void matmul(T* c, const T* a, const T* b, Product p) {
    __shared__ C tile_a[DEPTH][TILE + 1];
    __shared__ C tile_b[DEPTH][TILE + 1];
    const u64 batch = blockIdx.z;
    a += batch * p.stride_a;
    b += batch * p.stride_b;
    c += batch * p.stride_c;
    const u32 row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const u32 thread = threadIdx.x;
    const u32 tile_row = thread / 16 * 4, tile_column = thread % 16 * 4;
    C sums[4][4] = {};
    for (u32 k0 = 0; k0 < p.k; k0 += DEPTH) {
        for (u32 i = thread; i < TILE * DEPTH; i += 256) {
            // Neighbouring threads read neighbouring elements.
            u32 row = p.transpose_a ? i % TILE : i / DEPTH, depth = p.transpose_a ? i / TILE : i % DEPTH;
            bool inside = row0 + row < p.m && k0 + depth < p.k;
            u64 at = p.transpose_a ? (u64)(k0 + depth) * p.leading_a + row0 + row : (u64)(row0 + row) * p.leading_a + k0 + depth;
            tile_a[depth][row] = inside ? (C)a[at] : (C)0;
        }
        for (u32 i = thread; i < TILE * DEPTH; i += 256) {
            u32 column = p.transpose_b ? i / DEPTH : i % TILE, depth = p.transpose_b ? i % DEPTH : i / TILE;
            bool inside = column0 + column < p.n && k0 + depth < p.k;
            u64 at = p.transpose_b ? (u64)(column0 + column) * p.leading_b + k0 + depth : (u64)(k0 + depth) * p.leading_b + column0 + column;
            tile_b[depth][column] = inside ? (C)b[at] : (C)0;
        }
        __syncthreads();
        for (u32 depth = 0; depth < DEPTH; depth++) {
            for (u32 i = 0; i < 4; i++) {
                for (u32 j = 0; j < 4; j++) sums[i][j] += tile_a[depth][tile_row + i] * tile_b[depth][tile_column + j];
            }
        }
        __syncthreads();
    }
    for (u32 i = 0; i < 4; i++) {
        for (u32 j = 0; j < 4; j++) {
            u32 row = row0 + tile_row + i, column = column0 + tile_column + j;
            if (row >= p.m || column >= p.n) continue;
            T* const to = c + (u64)row * p.leading_c + column;
            *to = (T)(p.subtract ? (C)*to - sums[i][j] : sums[i][j]);
        }
    }
}
