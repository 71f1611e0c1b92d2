// Convolutions in groups of channels, each thread an element of the result.
extern "C" __global__ void grouped(T* out, const T* in, const T* filter, u32 n, Window w) {
    const u32 groups = w.channels / w.depth, per_group = w.out_channels / groups;
    for (u64 element = thread_index(); element < n; element += thread_count()) {
        const u32 i = (u32)element, channel = i % w.out_channels, first = channel / per_group * w.depth;
        const OutputPixel at = output_pixel(w, i / w.out_channels);
        C sum = 0;
        each_pixel(w, at, [&](u64 from, u32 tap) {
            const T* x = in + from * w.channels + first;
            const T* f = filter + (u64)tap * w.depth * w.out_channels + channel;
            for (u32 d = 0; d < w.depth; d++) sum += (C)x[d] * (C)f[(u64)d * w.out_channels];
        });
        out[i] = (T)sum;
    }
}

extern "C" __global__ void grouped_input_gradient(T* out, const T* filter, const T* gradient, u32 n, Window w) {
    const u32 groups = w.channels / w.depth, per_group = w.out_channels / groups;
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u32 i = (u32)at, channel = i % w.channels, group = channel / w.depth;
        C sum = 0;
        each_window(w, i / w.channels, [&](u64 position, u32 tap) {
            const T* g = gradient + position * w.out_channels + group * per_group;
            const T* f = filter + ((u64)tap * w.depth + channel % w.depth) * w.out_channels + group * per_group;
            for (u32 o = 0; o < per_group; o++) sum += (C)g[o] * (C)f[o];
        });
        out[i] = (T)sum;
    }
}

// Threads in x have an element of the filter each, and those in y share the positions. Blocks in y write a part each.
extern "C" __global__ void grouped_filter_gradient(C* parts, const T* in, const T* gradient, u32 n, u32 part, Window w) {
    __shared__ C shared[256];
    const u32 groups = w.channels / w.depth, per_group = w.out_channels / groups;
    const u32 element = blockIdx.x * blockDim.x + threadIdx.x;
    const u32 positions = w.batch * w.out_height * w.out_width, first = blockIdx.y * part;
    const u32 last = positions - first < part ? positions : first + part;
    C sum = 0;
    if (element < n) {
        const u32 out_channel = element % w.out_channels, depth = element / w.out_channels % w.depth;
        const u32 tap = element / w.out_channels / w.depth;
        const u32 channel = out_channel / per_group * w.depth + depth;
        for (u32 position = first + threadIdx.y; position < last; position += blockDim.y) {
            const long long from = pixel(w, output_pixel(w, position), tap / w.width, tap % w.width);
            if (from >= 0) sum += (C)in[(u64)from * w.channels + channel] * (C)gradient[(u64)position * w.out_channels + out_channel];
        }
    }
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x;
    shared[own] = sum;
    for (u32 step = blockDim.y / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.y < step) shared[own] += shared[own + step * blockDim.x];
    }
    if (threadIdx.y == 0 && element < n) parts[(u64)blockIdx.y * n + element] = shared[own];
}

extern "C" __global__ void sum_parts(T* out, const C* parts, u32 n, u32 num_parts) {
    for (u32 i = thread_index(); i < n; i += thread_count()) {
        C sum = 0;
        for (u32 part = 0; part < num_parts; part++) sum += parts[(u64)part * n + i];
        out[i] = (T)sum;
    }
}
