// Random integers. A block has four integers of 32 bits, or two of 64.
enum { GROUP = 16 / sizeof(T) };

static __device__ u64 bits(const Block& b, u32 i) { return sizeof(T) == 8 ? (u64)b.words[2 * i + 1] << 32 | b.words[2 * i] : b.words[i]; }

// Integers below `range`, or all if it is 0, that begin at `low`. In large ranges, small values are slightly more likely, as in TensorFlow.
extern "C" __global__ void integers(T* out, u64 n, Generator g, u64 low, u64 range) {
    for (u64 i = thread_index(); i < (n + GROUP - 1) / GROUP; i += thread_count()) {
        const Block words = block(g, i);
        for (u32 j = 0; j < GROUP && i * GROUP + j < n; j++) {
            const u64 word = bits(words, j);
            out[i * GROUP + j] = (T)(low + (range == 0 ? word : word % range));
        }
    }
}
