// Pools with the positions of the greatest elements, which are counted in the image or in the whole batch. NaN is never the greatest unless it is first.
extern "C" __global__ void max_pool_with_positions(T* out, I* positions, const T* in, u32 n, u32 with_batch, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const OutputPixel at = output_pixel(w, i / w.channels);
        long long found = -1;
        C best = Finite<T, C>::least();
        for (u32 a = 0; a < w.height; a++) {
            for (u32 b = 0; b < w.width; b++) {
                const long long from = pixel(w, at, a, b);
                if (from < 0) continue;
                const C value = (C)in[(u64)from * w.channels + channel];
                if (found < 0 || value > best) {
                    found = from;
                    best = value;
                }
            }
        }
        const long long first = (long long)at.image * w.in_height * w.in_width, own = found < 0 ? 0 : (found - first) * w.channels + channel;
        out[i] = (T)best;
        positions[i] = (I)(own + (with_batch ? first * w.channels : 0));
    }
}

// Each thread sums the gradients of the windows over an element of the input whose position is that of the element.
extern "C" __global__ void max_pool_gradient_with_positions(T* out, const T* gradient, const I* positions, u32 n, u32 with_batch, Window w) {
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.channels;
        const u32 own = i / w.channels, line = own / w.in_width;
        const u32 column = own % w.in_width, row = line % w.in_height, image = line / w.in_height;
        const long long first = with_batch ? 0 : (long long)image * w.in_height * w.in_width * w.channels;
        C sum = 0;
        // The last element of the window is over the first window.
        for (int a = (int)w.height - 1; a >= 0; a--) {
            const int y = window_over(row, (u32)a, w.stride_height, w.dilation_height, w.pad_top, w.out_height);
            if (y < 0) continue;
            for (int b = (int)w.width - 1; b >= 0; b--) {
                const int x = window_over(column, (u32)b, w.stride_width, w.dilation_width, w.pad_left, w.out_width);
                if (x < 0) continue;
                const u64 at = (((u64)image * w.out_height + (u32)y) * w.out_width + (u32)x) * w.channels + channel;
                if ((long long)positions[at] + first == (long long)i) sum += (C)gradient[at];
            }
        }
        out[i] = (T)sum;
    }
}
