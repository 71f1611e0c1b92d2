// Greatest sums of the elements under a window and a filter with the same channels.
struct Greatest {
    C value;
    // The pixel and the filter's element, or -1 if no element is inside of the image.
    long long pixel, tap;
};
static __device__ Greatest greatest(const T* in, const T* filter, const Window& w, const OutputPixel& at, u32 channel) {
    Greatest best = {Finite<T, C>::least(), -1, -1};
    for (u32 a = 0; a < w.height; a++) {
        for (u32 b = 0; b < w.width; b++) {
            const long long from = pixel(w, at, a, b);
            if (from < 0) continue;
            const u32 tap = a * w.width + b;
            const C sum = (C)(T)((C)in[(u64)from * w.channels + channel] + (C)filter[(u64)tap * w.channels + channel]);
            if (best.pixel < 0 || sum > best.value) best = {sum, from, tap};
        }
    }
    return best;
}

extern "C" __global__ void dilate(T* out, const T* in, const T* filter, u32 n, Window w) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        out[i] = (T)greatest(in, filter, w, output_pixel(w, (u32)i / w.channels), (u32)i % w.channels).value;
    }
}

extern "C" __global__ void input_gradient(T* out, const T* in, const T* filter, const T* gradient, u32 n, Window w) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % w.channels, own = (u32)i / w.channels, line = own / w.in_width;
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
                if (greatest(in, filter, w, at, channel).pixel == (long long)own) sum += (C)gradient[position * w.channels + channel];
            }
        }
        out[i] = (T)sum;
    }
}

// A block for each element of the filter, whose threads share the positions.
extern "C" __global__ void filter_gradient(T* out, const T* in, const T* filter, const T* gradient, u32 n, Window w) {
    __shared__ C shared[256];
    const u32 channel = blockIdx.x % w.channels, tap = blockIdx.x / w.channels;
    const u64 positions = (u64)w.batch * w.out_height * w.out_width;
    C sum = 0;
    for (u64 position = threadIdx.x; position < positions; position += blockDim.x) {
        const Greatest best = greatest(in, filter, w, output_pixel(w, (u32)position), channel);
        if (best.tap == (long long)tap) sum += (C)gradient[position * w.channels + channel];
    }
    const C whole = merge_row<C>(shared, sum, Plus<C>());
    if (threadIdx.x == 0) out[blockIdx.x] = (T)whole;
}
