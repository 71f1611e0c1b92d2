// Random floats.
static __device__ float uniform_float(u32 x) { return __uint_as_float(0x3f800000u | (x & 0x7fffffu)) - 1.0f; }
static __device__ double uniform_double(u32 x0, u32 x1) {
    // 52 bits below 2, less one.
    return (double)(((u64)(x0 & 0xfffffu) << 32) | x1) * (1.0 / 4503599627370496.0);
}

[[maybe_unused]] static __device__ void normal_floats(u32 x, u32 y, float* out) {
    const float u = uniform_float(x);
    const float radius = sqrtf(-2.0f * logf(u > 1.0e-7f ? u : 1.0e-7f));
    const float angle = (float)(6.283185307179586 * (double)uniform_float(y));
    out[0] = sinf(angle) * radius;
    out[1] = cosf(angle) * radius;
}

// The numbers of a type: how many a block has, and how they are made of it.
template <typename V> struct Numbers {
    enum { COUNT = 4 };
    static __device__ void uniform(const Block& b, float* out) {
        for (int i = 0; i < 4; i++) out[i] = one_uniform(b.words[i], (V*)0);
    }
    static __device__ float one_uniform(u32 x, float*) { return uniform_float(x); }
    static __device__ float one_uniform(u32 x, half*) { return (float)(x & 0x3ffu) * (1.0f / 1024.0f); }
    static __device__ float one_uniform(u32 x, bfloat*) { return (float)(x & 0x7fu) * (1.0f / 128.0f); }
    static __device__ void normal(const Block& b, float* out) {
        normal_floats(b.words[0], b.words[1], out);
        normal_floats(b.words[2], b.words[3], out + 2);
    }
};
template <> struct Numbers<double> {
    enum { COUNT = 2 };
    static __device__ void uniform(const Block& b, double* out) {
        out[0] = uniform_double(b.words[0], b.words[1]);
        out[1] = uniform_double(b.words[2], b.words[3]);
    }
    static __device__ void normal(const Block& b, double* out) {
        const double u = uniform_double(b.words[0], b.words[1]);
        const double radius = sqrt(-2.0 * log(u > 1.0e-7 ? u : 1.0e-7));
        const double angle = 6.283185307179586 * uniform_double(b.words[2], b.words[3]);
        out[0] = sin(angle) * radius;
        out[1] = cos(angle) * radius;
    }
};

enum { GROUP = Numbers<T>::COUNT };

extern "C" __global__ void uniform(T* out, u64 n, Generator g) {
    for (u64 i = thread_index(); i < (n + GROUP - 1) / GROUP; i += thread_count()) {
        C values[GROUP];
        Numbers<T>::uniform(block(g, i), values);
        for (u32 j = 0; j < GROUP && i * GROUP + j < n; j++) out[i * GROUP + j] = (T)values[j];
    }
}

extern "C" __global__ void normal(T* out, u64 n, Generator g) {
    for (u64 i = thread_index(); i < (n + GROUP - 1) / GROUP; i += thread_count()) {
        C values[GROUP];
        Numbers<T>::normal(block(g, i), values);
        for (u32 j = 0; j < GROUP && i * GROUP + j < n; j++) out[i * GROUP + j] = (T)values[j];
    }
}

// Numbers that are two deviations or more from zero are drawn again. Each group has 64 blocks for each of its numbers.
extern "C" __global__ void truncated_normal(T* out, u64 n, Generator g) {
    for (u64 i = thread_index(); i < (n + GROUP - 1) / GROUP; i += thread_count()) {
        const u64 first = i * GROUP;
        const u32 wanted = n - first < GROUP ? (u32)(n - first) : GROUP;
        u32 filled = 0;
        for (u64 at = i * (GROUP * 64); filled < wanted; at++) {
            C values[GROUP];
            Numbers<T>::normal(block(g, at), values);
            for (u32 j = 0; j < GROUP && filled < wanted; j++) {
                if (fabs(values[j]) < 2) out[first + filled++] = (T)values[j];
            }
        }
    }
}
