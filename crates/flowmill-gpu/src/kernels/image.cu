// Resizing of images with channels last. Positions are computed as on the host, operation by operation.
struct Resize {
    u32 in_height, in_width, height, width, channels;
    float scale_y, scale_x;
    u32 align_corners, half_pixel_centers;
};

static __device__ float position(const Resize& r, u32 i, float scale) {
    if (r.half_pixel_centers) return __fsub_rn(__fmul_rn((float)i + 0.5f, scale), 0.5f);
    return __fmul_rn((float)i, scale);
}

// The two pixels that a resized one lies between, and the weight of the second one.
struct Between {
    u32 lower, upper;
    float weight;
};
static __device__ u32 clamped(float at, u32 size) { return at < 0 ? 0 : at > (float)(size - 1) ? size - 1 : (u32)at; }
static __device__ Between between(const Resize& r, u32 i, float scale, u32 size) {
    const float at = position(r, i, scale), first = floorf(at);
    return {clamped(first, size), clamped(ceilf(at), size), at - first};
}
static __device__ u32 nearest(const Resize& r, u32 i, float scale, u32 size) {
    if (r.half_pixel_centers) return clamped(floorf(__fmul_rn((float)i + 0.5f, scale)), size);
    const float at = __fmul_rn((float)i, scale);
    return clamped(r.align_corners ? roundf(at) : floorf(at), size);
}

// The resized pixels whose position is less than one pixel from an original one, and some more.
struct Around {
    u32 first, end;
};
static __device__ Around around(const Resize& r, u32 at, float scale, u32 size, u32 resized) {
    const float shift = r.half_pixel_centers ? 0.5f : 0.0f;
    const float low = ((float)at - 1.5f + shift) / scale - shift - 2, high = ((float)at + 1.5f + shift) / scale - shift + 3;
    // Positions beyond the border are those of the last pixel.
    const u32 first = at == 0 || low < 0 || !(scale > 0) ? 0 : (u32)low;
    const u32 end = at == size - 1 || !(high < (float)resized) || !(scale > 0) ? resized : (u32)high;
    return {first, end};
}

extern "C" __global__ void resize_bilinear(float* out, const T* in, u64 n, Resize r) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % r.channels);
        const u64 pixel = i / r.channels, line = pixel / r.width;
        const Between x = between(r, (u32)(pixel % r.width), r.scale_x, r.in_width);
        const Between y = between(r, (u32)(line % r.height), r.scale_y, r.in_height);
        const T* image = in + line / r.height * r.in_height * r.in_width * r.channels + channel;
        const T* top = image + (u64)y.lower * r.in_width * r.channels;
        const T* bottom = image + (u64)y.upper * r.in_width * r.channels;
        const u64 left = (u64)x.lower * r.channels, right = (u64)x.upper * r.channels;
        const float top_left = (float)top[left], bottom_left = (float)bottom[left];
        const float above = top_left + ((float)top[right] - top_left) * x.weight;
        const float below = bottom_left + ((float)bottom[right] - bottom_left) * x.weight;
        out[i] = above + (below - above) * y.weight;
    }
}

extern "C" __global__ void resize_nearest(T* out, const T* in, u64 n, Resize r) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 pixel = i / r.channels, line = pixel / r.width;
        const u32 x = nearest(r, (u32)(pixel % r.width), r.scale_x, r.in_width), y = nearest(r, (u32)(line % r.height), r.scale_y, r.in_height);
        out[i] = in[((line / r.height * r.in_height + y) * r.in_width + x) * r.channels + i % r.channels];
    }
}

// Each thread sums the gradients of the resized pixels that an original one is part of.
extern "C" __global__ void resize_bilinear_gradient(T* out, const float* gradient, u64 n, Resize r) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % r.channels);
        const u64 pixel = i / r.channels, line = pixel / r.in_width, image = line / r.in_height;
        const u32 column = (u32)(pixel % r.in_width), row = (u32)(line % r.in_height);
        const Around rows = around(r, row, r.scale_y, r.in_height, r.height), columns = around(r, column, r.scale_x, r.in_width, r.width);
        C sum = 0;
        for (u32 a = rows.first; a < rows.end; a++) {
            const Between y = between(r, a, r.scale_y, r.in_height);
            if (y.lower != row && y.upper != row) continue;
            for (u32 b = columns.first; b < columns.end; b++) {
                const Between x = between(r, b, r.scale_x, r.in_width);
                if (x.lower != column && x.upper != column) continue;
                const float g = gradient[((image * r.height + a) * r.width + b) * r.channels + channel];
                // At a border, both pixels may be the same one.
                for (u32 j = 0; j < 2; j++) {
                    if ((j == 0 ? y.lower : y.upper) != row) continue;
                    const float of_row = __fmul_rn(g, j == 0 ? 1 - y.weight : y.weight);
                    if (x.lower == column) sum += (C)__fmul_rn(of_row, 1 - x.weight);
                    if (x.upper == column) sum += (C)__fmul_rn(of_row, x.weight);
                }
            }
        }
        out[i] = (T)sum;
    }
}

extern "C" __global__ void resize_nearest_gradient(T* out, const T* gradient, u64 n, Resize r) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % r.channels);
        const u64 pixel = i / r.channels, line = pixel / r.in_width, image = line / r.in_height;
        const u32 column = (u32)(pixel % r.in_width), row = (u32)(line % r.in_height);
        const Around rows = around(r, row, r.scale_y, r.in_height, r.height), columns = around(r, column, r.scale_x, r.in_width, r.width);
        C sum = 0;
        for (u32 a = rows.first; a < rows.end; a++) {
            if (nearest(r, a, r.scale_y, r.in_height) != row) continue;
            for (u32 b = columns.first; b < columns.end; b++) {
                if (nearest(r, b, r.scale_x, r.in_width) == column) sum += (C)gradient[((image * r.height + a) * r.width + b) * r.channels + channel];
            }
        }
        out[i] = (T)sum;
    }
}
