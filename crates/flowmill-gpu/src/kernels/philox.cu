// Random numbers of the Philox generator, number for number those of the CPU's kernels.
struct Generator {
    u32 key[2];
    u32 counter[4];
};

// Four random words.
struct Block {
    u32 words[4];
};

// The block at a distance from the generator's position.
static __device__ Block block(const Generator& g, u64 distance) {
    const u64 low = ((u64)g.counter[1] << 32 | g.counter[0]) + distance;
    const u64 high = ((u64)g.counter[3] << 32 | g.counter[2]) + (low < distance);
    u32 x0 = (u32)low, x1 = (u32)(low >> 32), x2 = (u32)high, x3 = (u32)(high >> 32);
    u32 k0 = g.key[0], k1 = g.key[1];
    for (int round = 0; round < 10; round++) {
        const u64 p = (u64)0xD2511F53u * x0, q = (u64)0xCD9E8D57u * x2;
        const u32 y0 = (u32)(q >> 32) ^ x1 ^ k0, y2 = (u32)(p >> 32) ^ x3 ^ k1;
        x0 = y0;
        x1 = (u32)q;
        x2 = y2;
        x3 = (u32)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return {{x0, x1, x2, x3}};
}
