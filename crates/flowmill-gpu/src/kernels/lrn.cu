// Local response normalization: each element is divided by a power of the sum of squares of the channels around it.
struct Normalization {
    u32 depth, radius;
    float bias, alpha, beta;
};

static __device__ float norm(const Normalization& s, const T* pixel, u32 channel) {
    float sum = 0;
    const u32 first = channel > s.radius ? channel - s.radius : 0, last = channel + s.radius < s.depth ? channel + s.radius : s.depth - 1;
    for (u32 c = first; c <= last; c++) sum += (float)pixel[c] * (float)pixel[c];
    return s.bias + s.alpha * sum;
}

static __device__ float raised(const Normalization& s, float norm) { return s.beta == 0.5f ? rsqrtf(norm) : pow(norm, -s.beta); }

extern "C" __global__ void normalize(T* out, const T* in, u64 n, Normalization s) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % s.depth);
        out[i] = (T)((float)in[i] * raised(s, norm(s, in + (i - channel), channel)));
    }
}

extern "C" __global__ void norms(float* out, const T* in, u64 n, Normalization s) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % s.depth);
        out[i] = norm(s, in + (i - channel), channel);
    }
}

extern "C" __global__ void gradient(T* out, const T* gradient, const T* in, const T* result, const float* norms, u64 n, Normalization s) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % s.depth);
        const u64 pixel = i - channel;
        const u32 first = channel > s.radius ? channel - s.radius : 0, last = channel + s.radius < s.depth ? channel + s.radius : s.depth - 1;
        float sum = 0;
        for (u32 c = first; c <= last; c++) {
            const float g = (float)gradient[pixel + c];
            if (g == 0) continue;
            sum += -2 * s.alpha * s.beta * (float)result[pixel + c] / norms[pixel + c] * g * (float)in[i];
        }
        const float own = (float)gradient[i];
        if (own != 0) sum += raised(s, norms[i]) * own;
        out[i] = (T)sum;
    }
}
