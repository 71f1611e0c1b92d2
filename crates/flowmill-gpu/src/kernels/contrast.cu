// The contrast of images: the distance of each channel from its mean over the image is scaled.

// Blocks in x have a channel of an image each, those in y a part of its pixels.
extern "C" __global__ void sum_channels(double* parts, const T* in, u32 pixels, u32 channels, u32 part) {
    __shared__ double shared[256];
    const u64 image = blockIdx.x / channels, channel = blockIdx.x % channels;
    const u64 first = (u64)blockIdx.y * part, end = first + part < pixels ? first + part : pixels;
    double sum = 0;
    for (u64 i = first + threadIdx.x; i < end; i += blockDim.x) sum += (double)(C)in[(image * pixels + i) * channels + channel];
    const double whole = merge_row<double>(shared, sum, Plus<double>());
    if (threadIdx.x == 0) parts[(u64)blockIdx.x * gridDim.y + blockIdx.y] = whole;
}

extern "C" __global__ void mean_channels(float* means, const double* parts, u32 n, u32 num_parts, u32 pixels) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        double sum = 0;
        for (u32 part = 0; part < num_parts; part++) sum += parts[i * num_parts + part];
        means[i] = (float)(sum / pixels);
    }
}

extern "C" __global__ void adjust_contrast(T* out, const T* in, const float* means, const float* factor, u64 n, u32 pixels, u32 channels) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const C mean = means[i / ((u64)pixels * channels) * channels + i % channels];
        out[i] = (T)(((C)in[i] - mean) * factor[0] + mean);
    }
}
