// Pools over volumes: each thread an element of the result.
extern "C" __global__ void max_pool(T* out, const T* in, u32 n, Volume v) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        T best = (T)Finite<T, C>::least();
        each_pixel(v, (u32)i / v.channels, [&](u64 pixel) {
            const T value = in[pixel * v.channels + channel];
            if ((C)value > (C)best) best = value;
        });
        out[i] = best;
    }
}

extern "C" __global__ void average_pool(T* out, const T* in, u32 n, Volume v) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        C sum = 0;
        u32 count = 0;
        each_pixel(v, (u32)i / v.channels, [&](u64 pixel) {
            sum += (C)in[pixel * v.channels + channel];
            count++;
        });
        out[i] = (T)(sum / (C)(count > 0 ? count : 1));
    }
}

extern "C" __global__ void average_pool_gradient(T* out, const T* gradient, u32 n, Volume v) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        C sum = 0;
        each_window(v, (u32)i / v.channels, [&](u64 position, u32) {
            u32 count = 0;
            each_pixel(v, (u32)position, [&](u64) { count++; });
            sum += (C)gradient[position * v.channels + channel] / (C)count;
        });
        out[i] = (T)sum;
    }
}

// The gradient of a window goes to every element that equals its maximum.
extern "C" __global__ void max_pool_gradient(T* out, const T* in, const T* maxima, const T* gradient, u32 n, Volume v) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        const C own = (C)in[i];
        C sum = 0;
        each_window(v, (u32)i / v.channels, [&](u64 position, u32) {
            const u64 at = position * v.channels + channel;
            if ((C)maxima[at] == own) sum += (C)gradient[at];
        });
        out[i] = (T)sum;
    }
}

// The gradients of the input at the first greatest elements of the windows.
extern "C" __global__ void max_pool_gradient_gradient(T* out, const T* in, const T* gradient, u32 n, Volume v) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        C best = Finite<T, C>::least();
        long long found = -1;
        each_pixel(v, (u32)i / v.channels, [&](u64 pixel) {
            const C value = (C)in[pixel * v.channels + channel];
            if ((found < 0 && value >= best) || value > best) {
                best = value;
                found = (long long)pixel;
            }
        });
        out[i] = found < 0 ? (T)(C)0 : gradient[(u64)found * v.channels + channel];
    }
}
