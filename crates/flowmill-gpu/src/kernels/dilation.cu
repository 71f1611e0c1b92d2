// Greatest sums of the elements under a window and a filter with the same channels.
struct Greatest {
    C value;
    // The pixel and the filter's element, or -1 if no element is inside of the image.
    long long pixel, tap;
};
static __device__ Greatest greatest(const T* in, const T* filter, const Window& w, const OutputPixel& at, u32 channel) {
    Greatest best = {Finite<T, C>::least(), -1, -1};
    each_pixel(w, at, [&](u64 from, u32 tap) {
        const C sum = (C)(T)((C)in[from * w.channels + channel] + (C)filter[(u64)tap * w.channels + channel]);
        if (best.pixel < 0 || sum > best.value) best = {sum, (long long)from, tap};
    });
    return best;
}

extern "C" __global__ void dilate(T* out, const T* in, const T* filter, u32 n, Window w) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        out[i] = (T)greatest(in, filter, w, output_pixel(w, (u32)i / w.channels), (u32)i % w.channels).value;
    }
}

extern "C" __global__ void input_gradient(T* out, const T* in, const T* filter, const T* gradient, u32 n, Window w) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % w.channels, own = (u32)i / w.channels;
        C sum = 0;
        each_window(w, own, [&](u64 position, u32) {
            const Greatest best = greatest(in, filter, w, output_pixel(w, (u32)position), channel);
            if (best.pixel == (long long)own) sum += (C)gradient[position * w.channels + channel];
        });
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
