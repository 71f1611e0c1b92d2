// Copies of elements from one strided place to another.
struct Walk {
    u32 rank;
    u32 dims[MAX_RANK];
    int to[MAX_RANK];
    int from[MAX_RANK];
};

extern "C" __global__ void copy_strided(T* to, const T* from, u32 n, Walk walk) {
    for (u32 i = thread_index(); i < n; i += thread_count()) {
        u32 rest = i;
        int a = 0, b = 0;
        for (int d = (int)walk.rank - 1; d > 0; d--) {
            const u32 at = rest % walk.dims[d];
            rest /= walk.dims[d];
            a += (int)at * walk.to[d];
            b += (int)at * walk.from[d];
        }
        to[a + (int)rest * walk.to[0]] = from[b + (int)rest * walk.from[0]];
    }
}

// Columns are adjacent in the result, and rows in the source: a tile goes through shared memory, so that both sides are accessed in runs.
struct Exchange {
    u32 rows, columns;
    int to_row, from_column;
    u32 row_tiles, column_tiles;
    Walk outer;
};

enum { TILE = sizeof(T) <= 2 ? 64 : 32 };

extern "C" __global__ void copy_exchanged(T* to, const T* from, Exchange e) {
    __shared__ T tile[TILE][TILE + 1];
    u32 rest = blockIdx.x;
    const u32 column0 = rest % e.column_tiles * TILE;
    rest /= e.column_tiles;
    const u32 row0 = rest % e.row_tiles * TILE;
    rest /= e.row_tiles;
    for (int d = (int)e.outer.rank - 1; d >= 0; d--) {
        const u32 at = rest % e.outer.dims[d];
        rest /= e.outer.dims[d];
        to += (int)at * e.outer.to[d];
        from += (int)at * e.outer.from[d];
    }
    for (u32 j = threadIdx.y; j < TILE; j += blockDim.y) {
        for (u32 i = threadIdx.x; i < TILE; i += blockDim.x) {
            if (row0 + i < e.rows && column0 + j < e.columns) tile[j][i] = from[(int)(column0 + j) * e.from_column + (int)(row0 + i)];
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.y; i < TILE; i += blockDim.y) {
        for (u32 j = threadIdx.x; j < TILE; j += blockDim.x) {
            if (row0 + i < e.rows && column0 + j < e.columns) to[(int)(row0 + i) * e.to_row + (int)(column0 + j)] = tile[j][i];
        }
    }
}
