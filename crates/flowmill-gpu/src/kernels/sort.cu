// Sorting of updates by the slices that they change, and by their order within a slice: a bitonic sort of keys with the slice in the upper half and the
// number of the update in the lower half. The number of keys is a power of two and at least TILE.
enum { TILE = 1024 };

// Makes the keys. Those behind the last update are greater than all others.
extern "C" __global__ void make_keys(u64* keys, u64 n, const I* indices, Slices s) {
    for (u64 i = thread_index(); i < n; i += thread_count())
        keys[i] = i < s.updates ? (u64)target(s, indices, (u32)i) << 32 | i : ~0ull;
}

static __device__ void exchange(u64* a, u64* b, bool ascending) {
    const u64 x = *a, y = *b;
    if ((x > y) == ascending) {
        *a = y;
        *b = x;
    }
}

// Orders pairs of keys less than TILE apart, as the runs of `size` keys need that are sorted up and down in turn. With a size of 0, sorts each tile.
extern "C" __global__ void sort_tiles(u64* keys, u64 size) {
    __shared__ u64 tile[TILE];
    const u64 base = (u64)blockIdx.x * TILE;
    const u32 thread = threadIdx.x;
    tile[thread] = keys[base + thread];
    tile[thread + TILE / 2] = keys[base + thread + TILE / 2];
    __syncthreads();
    for (u64 run = size ? size : 2; run <= (size ? size : (u64)TILE); run *= 2) {
        for (u32 distance = run < TILE ? (u32)run / 2 : TILE / 2; distance > 0; distance /= 2) {
            const u32 at = thread / distance * 2 * distance + thread % distance;
            exchange(tile + at, tile + at + distance, ((base + at) & run) == 0);
            __syncthreads();
        }
    }
    keys[base + thread] = tile[thread];
    keys[base + thread + TILE / 2] = tile[thread + TILE / 2];
}

// Orders pairs of keys at a distance.
extern "C" __global__ void sort_pairs(u64* keys, u64 pairs, u64 size, u64 distance) {
    for (u64 i = thread_index(); i < pairs; i += thread_count()) {
        const u64 at = i / distance * 2 * distance + i % distance;
        exchange(keys + at, keys + at + distance, (at & size) == 0);
    }
}
