// Batch normalization. A tensor has `outer` times `channels` times `inner` elements: images with channels last have an inner size of 1.
struct Norm {
    u32 outer, channels, inner;
    // The channels that a block computes, a power of two, and the elements of a channel that it sums.
    u32 width, part;
    float epsilon;
};

static __device__ u64 position(const Norm& n, u32 channel, u32 i) { return ((u64)(i / n.inner) * n.channels + channel) * n.inner + i % n.inner; }

// For each channel and part: the sums of x - mean and of its square; or, with a gradient, of the gradient and of its product with x - mean.
extern "C" __global__ void channel_sums(float* sums, const T* x, const T* gradient, const float* mean, Norm n) {
    __shared__ float shared[2][256];
    const u32 lane = threadIdx.x / n.width, lanes = blockDim.x / n.width;
    const u32 channel = blockIdx.x * n.width + threadIdx.x % n.width;
    const u32 count = n.outer * n.inner, first = blockIdx.y * n.part;
    const u32 last = count - first < n.part ? count : first + n.part;
    float a = 0, b = 0;
    if (channel < n.channels) {
        const float center = mean ? mean[channel] : 0.0f;
        for (u32 i = first + lane; i < last; i += lanes) {
            const u64 at = position(n, channel, i);
            const float distance = (float)x[at] - center;
            const float value = gradient ? (float)gradient[at] : distance;
            a += value;
            b += value * distance;
        }
    }
    shared[0][threadIdx.x] = a;
    shared[1][threadIdx.x] = b;
    for (u32 step = lanes / 2; step > 0; step /= 2) {
        __syncthreads();
        if (lane < step) {
            shared[0][threadIdx.x] += shared[0][threadIdx.x + step * n.width];
            shared[1][threadIdx.x] += shared[1][threadIdx.x + step * n.width];
        }
    }
    if (lane == 0 && channel < n.channels) {
        sums[((u64)blockIdx.y * 2) * n.channels + channel] = shared[0][threadIdx.x];
        sums[((u64)blockIdx.y * 2 + 1) * n.channels + channel] = shared[1][threadIdx.x];
    }
}

static __device__ void total(const float* sums, u32 parts, u32 channels, u32 channel, float& a, float& b) {
    a = b = 0;
    for (u32 i = 0; i < parts; i++) {
        a += sums[((u64)i * 2) * channels + channel];
        b += sums[((u64)i * 2 + 1) * channels + channel];
    }
}

extern "C" __global__ void channel_means(float* mean, const float* sums, u32 parts, Norm n) {
    const u32 channel = thread_index();
    if (channel >= n.channels) return;
    float a, b;
    total(sums, parts, n.channels, channel, a, b);
    mean[channel] = a / (float)(n.outer * n.inner);
}

// The batch's mean, which holds its rounded value before, and variance, and the running ones.
extern "C" __global__ void channel_moments(float* mean, float* variance, float* running_mean, float* running_variance, const float* old_mean,
                                           const float* old_variance, const float* sums, u32 parts, float factor, Norm n) {
    const u32 channel = thread_index();
    if (channel >= n.channels) return;
    float a, b;
    total(sums, parts, n.channels, channel, a, b);
    const float count = (float)(n.outer * n.inner);
    // The mean was rounded; what its error adds to the squares is taken off again.
    const float rest = a / count;
    float batch_mean = mean[channel] + rest, batch_variance = b / count - rest * rest;
    if (batch_variance < 0) batch_variance = 0;
    mean[channel] = batch_mean;
    variance[channel] = batch_variance;
    // The running variance is that of a sample.
    batch_variance *= count / (count > 1 ? count - 1 : 1);
    if (factor != 1) {
        batch_mean = (1 - factor) * old_mean[channel] + factor * batch_mean;
        batch_variance = (1 - factor) * old_variance[channel] + factor * batch_variance;
    }
    running_mean[channel] = batch_mean;
    running_variance[channel] = batch_variance;
}

// For each channel a factor of x and a shift.
extern "C" __global__ void factors(float* out, const float* scale, const float* offset, const float* mean, const float* variance, Norm n) {
    const u32 channel = thread_index();
    if (channel >= n.channels) return;
    const float factor = scale[channel] / sqrtf(variance[channel] + n.epsilon);
    out[channel] = factor;
    out[n.channels + channel] = offset[channel] - mean[channel] * factor;
}

static __device__ u32 channel_of(const Norm& n, u32 i) { return n.inner == 1 ? i % n.channels : i / n.inner % n.channels; }

extern "C" __global__ void normalize(T* out, const T* x, const float* factors, u32 n, Norm s) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = channel_of(s, i);
        out[i] = (T)((float)x[i] * factors[channel] + factors[s.channels + channel]);
    }
}

extern "C" __global__ void scale_gradients(float* scale_gradient, float* offset_gradient, float* factors, const float* sums, const float* scale,
                                           const float* mean, const float* variance, u32 parts, u32 is_training, Norm n) {
    const u32 channel = thread_index();
    if (channel >= n.channels) return;
    float a, b;
    total(sums, parts, n.channels, channel, a, b);
    offset_gradient[channel] = a;
    const float inverse = 1 / sqrtf(variance[channel] + n.epsilon);
    scale_gradient[channel] = b * inverse;
    // The gradient of x has a factor of dy, one of x - mean, and a shift.
    const float count = (float)(n.outer * n.inner), factor = scale[channel] * inverse;
    const float slope = is_training ? -factor * inverse * (b * inverse) / count : 0.0f;
    factors[channel] = factor;
    factors[n.channels + channel] = slope;
    factors[2 * n.channels + channel] = mean[channel];
    factors[3 * n.channels + channel] = is_training ? -factor * (a / count) : 0.0f;
}

extern "C" __global__ void normalize_gradient(T* out, const T* gradient, const T* x, const float* factors, u32 n, Norm s) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = channel_of(s, i);
        const float* own = factors + channel;
        out[i] = (T)((float)gradient[i] * own[0] + ((float)x[i] - own[2 * s.channels]) * own[s.channels] + own[3 * s.channels]);
    }
}
