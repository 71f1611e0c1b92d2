// Pools: each thread an element of the result.
static __device__ u32 inside(const Window& w, const OutputPixel& at) {
    u32 count = 0;
    for (u32 a = 0; a < w.height; a++) {
        for (u32 b = 0; b < w.width; b++) count += pixel(w, at, a, b) >= 0;
    }
    return count;
}

// The pixel of the first greatest element under the window, or -1.
static __device__ long long greatest(const T* in, const Window& w, const OutputPixel& at, u32 channel) {
    long long found = -1;
    C best = 0;
    for (u32 a = 0; a < w.height; a++) {
        for (u32 b = 0; b < w.width; b++) {
            const long long from = pixel(w, at, a, b);
            if (from < 0) continue;
            const C value = (C)in[(u64)from * w.channels + channel];
            if (found < 0 || value > best || (value != value && best == best)) {
                found = from;
                best = value;
            }
        }
    }
    return found;
}

extern "C" __global__ void max_pool(T* out, const T* in, u32 n, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const long long from = greatest(in, w, output_pixel(w, i / w.channels), channel);
        out[i] = from < 0 ? (T)Finite<T, C>::least() : in[(u64)from * w.channels + channel];
    }
}

extern "C" __global__ void average_pool(T* out, const T* in, u32 n, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const OutputPixel at = output_pixel(w, i / w.channels);
        C sum = 0;
        u32 count = 0;
        for (u32 a = 0; a < w.height; a++) {
            for (u32 b = 0; b < w.width; b++) {
                const long long from = pixel(w, at, a, b);
                if (from < 0) continue;
                sum += (C)in[(u64)from * w.channels + channel];
                count++;
            }
        }
        out[i] = (T)(sum / (C)count);
    }
}

// The windows over an element of the input, each with its gradient.
template <bool IS_MAX> static __device__ void pool_gradient(T* out, const T* in, const T* gradient, u32 n, const Window& w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const u32 own = i / w.channels, line = own / w.in_width;
        const u32 column = own % w.in_width, row = line % w.in_height, image = line / w.in_height;
        C sum = 0;
        // The last element of the window is over the first window.
        for (int a = (int)w.height - 1; a >= 0; a--) {
            const int y = window_over(row, (u32)a, w.stride_height, w.dilation_height, w.pad_top, w.out_height);
            if (y < 0) continue;
            for (int b = (int)w.width - 1; b >= 0; b--) {
                const int x = window_over(column, (u32)b, w.stride_width, w.dilation_width, w.pad_left, w.out_width);
                if (x < 0) continue;
                const OutputPixel at = {image, (u32)y, (u32)x};
                const u64 position = ((u64)image * w.out_height + (u32)y) * w.out_width + (u32)x;
                const C value = (C)gradient[position * w.channels + channel];
                if (IS_MAX) {
                    if (greatest(in, w, at, channel) == (long long)own) sum += value;
                } else {
                    sum += value / (C)inside(w, at);
                }
            }
        }
        out[i] = (T)sum;
    }
}

extern "C" __global__ void max_pool_gradient(T* out, const T* in, const T* gradient, u32 n, Window w) {
    pool_gradient<true>(out, in, gradient, n, w);
}
extern "C" __global__ void average_pool_gradient(T* out, const T* in, const T* gradient, u32 n, Window w) {
    pool_gradient<false>(out, in, gradient, n, w);
}

// The gradients of the input at the greatest elements of the windows.
extern "C" __global__ void max_pool_gradient_gradient(T* out, const T* in, const T* gradient, u32 n, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const long long from = greatest(in, w, output_pixel(w, i / w.channels), channel);
        out[i] = from < 0 ? (T)(C)0 : gradient[(u64)from * w.channels + channel];
    }
}
