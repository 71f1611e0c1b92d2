// Pools: each thread an element of the result.
static __device__ u32 inside(const Window& w, const OutputPixel& at) {
    u32 count = 0;
    each_pixel(w, at, [&](u64, u32) { count++; });
    return count;
}

// The pixel of the first greatest element under the window, or -1.
static __device__ long long greatest(const T* in, const Window& w, const OutputPixel& at, u32 channel) {
    long long found = -1;
    C best = 0;
    each_pixel(w, at, [&](u64 from, u32) {
        const C value = (C)in[from * w.channels + channel];
        if (found < 0 || value > best || (value != value && best == best)) {
            found = (long long)from;
            best = value;
        }
    });
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
        each_pixel(w, at, [&](u64 from, u32) {
            sum += (C)in[from * w.channels + channel];
            count++;
        });
        out[i] = (T)(sum / (C)count);
    }
}

// The windows over an element of the input, each with its gradient.
template <bool IS_MAX> static __device__ void pool_gradient(T* out, const T* in, const T* gradient, u32 n, const Window& w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        C sum = 0;
        each_window(w, i / w.channels, [&](u64 position, u32) {
            const OutputPixel at = output_pixel(w, (u32)position);
            const C value = (C)gradient[position * w.channels + channel];
            if (!IS_MAX) sum += value / (C)inside(w, at);
            else if (greatest(in, w, at, channel) == (long long)(i / w.channels)) sum += value;
        });
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
