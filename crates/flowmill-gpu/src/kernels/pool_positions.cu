// Pools with the positions of the greatest elements, which are counted in the image or in the whole batch. NaN is never the greatest unless it is first.
extern "C" __global__ void max_pool_with_positions(T* out, I* positions, const T* in, u32 n, u32 with_batch, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const OutputPixel at = output_pixel(w, i / w.channels);
        long long found = -1;
        C best = Finite<T, C>::least();
        each_pixel(w, at, [&](u64 from, u32) {
            const C value = (C)in[from * w.channels + channel];
            if (found < 0 || value > best) {
                found = (long long)from;
                best = value;
            }
        });
        const long long first = (long long)at.image * w.in_height * w.in_width, own = found < 0 ? 0 : (found - first) * w.channels + channel;
        out[i] = (T)best;
        positions[i] = (I)(own + (with_batch ? first * w.channels : 0));
    }
}

// Each thread sums the gradients of the windows over an element of the input whose position is that of the element.
extern "C" __global__ void max_pool_gradient_with_positions(T* out, const T* gradient, const I* positions, u32 n, u32 with_batch, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const u32 own = i / w.channels, image = own / w.in_width / w.in_height;
        const long long first = with_batch ? 0 : (long long)image * w.in_height * w.in_width * w.channels;
        C sum = 0;
        each_window(w, own, [&](u64 position, u32) {
            const u64 at = position * w.channels + channel;
            if ((long long)positions[at] + first == (long long)i) sum += (C)gradient[at];
        });
        out[i] = (T)sum;
    }
}
