// Boxes that are cropped from images with channels last and resized. Positions are computed as on the host, operation by operation.
struct Crop {
    u32 batch, height, width, depth, crop_height, crop_width, boxes, is_nearest;
    float outside;
};

// The positions of a crop's pixels along one dimension of an image of `size` pixels: that of pixel `i` is `start + i * step`.
struct Line {
    float start, step;
    u32 size, count;
};
static __device__ Line line_of(float first, float last, u32 size, u32 count) {
    const float end = (float)(size - 1);
    if (count > 1) return {__fmul_rn(first, end), __fdiv_rn(__fmul_rn(__fsub_rn(last, first), end), (float)(count - 1)), size, count};
    return {__fmul_rn(__fmul_rn(0.5f, __fadd_rn(first, last)), end), 0, size, count};
}
static __device__ float position(const Line& line, u32 i) { return line.count > 1 ? __fadd_rn(line.start, __fmul_rn((float)i, line.step)) : line.start; }
static __device__ bool is_inside(const Line& line, float at) { return at >= 0 && at <= (float)(line.size - 1); }

static __device__ Line rows_of(const Crop& c, const float* box) { return line_of(box[0], box[2], c.height, c.crop_height); }
static __device__ Line columns_of(const Crop& c, const float* box) { return line_of(box[1], box[3], c.width, c.crop_width); }

// The four pixels around a position.
struct Around {
    float top_left, top_right, bottom_left, bottom_right;
};
static __device__ Around around(const Crop& c, const T* image, float y, float x, u32 channel) {
    const u32 top = (u32)floorf(y), bottom = (u32)ceilf(y), left = (u32)floorf(x), right = (u32)ceilf(x);
    const T* at = image + channel;
    return {(float)at[((u64)top * c.width + left) * c.depth], (float)at[((u64)top * c.width + right) * c.depth],
            (float)at[((u64)bottom * c.width + left) * c.depth], (float)at[((u64)bottom * c.width + right) * c.depth]};
}

extern "C" __global__ void crop_and_resize(float* out, const T* images, const float* boxes, const int* box_index, u64 n, Crop c) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % c.depth);
        const u64 pixel = i / c.depth, box = pixel / c.crop_width / c.crop_height;
        const int image = box_index[box];
        const Line rows = rows_of(c, boxes + box * 4), columns = columns_of(c, boxes + box * 4);
        const float y = position(rows, (u32)(pixel / c.crop_width % c.crop_height)), x = position(columns, (u32)(pixel % c.crop_width));
        if (image < 0 || image >= (int)c.batch || !is_inside(rows, y) || !is_inside(columns, x)) {
            out[i] = c.outside;
            continue;
        }
        const T* in = images + (u64)image * c.height * c.width * c.depth;
        if (c.is_nearest) {
            out[i] = (float)in[((u64)roundf(y) * c.width + (u64)roundf(x)) * c.depth + channel];
            continue;
        }
        const Around p = around(c, in, y, x, channel);
        const float across = x - floorf(x), top = p.top_left + (p.top_right - p.top_left) * across;
        const float bottom = p.bottom_left + (p.bottom_right - p.bottom_left) * across;
        out[i] = top + (bottom - top) * (y - floorf(y));
    }
}

// The crop's pixels whose position is less than one pixel from `at`, and some more.
struct Range {
    u32 first, end;
};
static __device__ Range range_near(const Line& line, u32 at) {
    if (line.step == 0 || line.step != line.step) return {0, line.count};
    const float a = ((float)at - 1.5f - line.start) / line.step, b = ((float)at + 1.5f - line.start) / line.step;
    const float low = fminf(a, b) - 1, high = fmaxf(a, b) + 2;
    return {low > 0 ? (low < (float)line.count ? (u32)low : line.count) : 0, high < (float)line.count ? (high > 0 ? (u32)high : 0) : line.count};
}

// The part of a crop's pixel that comes from the row or column `at`.
static __device__ float share(const Crop& c, const Line& line, u32 i, u32 at) {
    const float where = position(line, i);
    if (!is_inside(line, where)) return 0;
    if (c.is_nearest) return (u32)roundf(where) == at;
    const float below = floorf(where), lerp = __fsub_rn(where, below);
    // If the position is that of a pixel, both neighbours are that pixel.
    return ((u32)below == at ? 1 - lerp : 0) + ((u32)ceilf(where) == at ? lerp : 0);
}

// Each thread sums the gradients of the crops' pixels that a pixel of an image is part of, in the order of the boxes.
extern "C" __global__ void image_gradient(T* out, const float* gradient, const float* boxes, const int* box_index, u64 n, Crop c) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % c.depth);
        const u64 pixel = i / c.depth;
        const u32 column = (u32)(pixel % c.width), row = (u32)(pixel / c.width % c.height);
        const int image = (int)(pixel / c.width / c.height);
        C sum = 0;
        for (u32 box = 0; box < c.boxes; box++) {
            if (box_index[box] != image) continue;
            const Line rows = rows_of(c, boxes + (u64)box * 4), columns = columns_of(c, boxes + (u64)box * 4);
            const Range y = range_near(rows, row), x = range_near(columns, column);
            for (u32 a = y.first; a < y.end; a++) {
                const float of_row = share(c, rows, a, row);
                if (of_row == 0) continue;
                for (u32 b = x.first; b < x.end; b++) {
                    const float part = share(c, columns, b, column);
                    if (part == 0) continue;
                    const u64 at = (((u64)box * c.crop_height + a) * c.crop_width + b) * c.depth + channel;
                    sum += (C)__fmul_rn(gradient[at], __fmul_rn(of_row, part));
                }
            }
        }
        out[i] = (T)sum;
    }
}

// A block for each box sums the gradients of the box's corners.
extern "C" __global__ void box_gradient(float* out, const float* gradient, const T* images, const float* boxes, const int* box_index, Crop c) {
    __shared__ float shared[256];
    const u32 box = blockIdx.x;
    const int image = box_index[box];
    const Line rows = rows_of(c, boxes + (u64)box * 4), columns = columns_of(c, boxes + (u64)box * 4);
    const u64 n = (u64)c.crop_height * c.crop_width * c.depth;
    const T* in = images + (u64)(image < 0 ? 0 : image) * c.height * c.width * c.depth;
    float sums[4] = {0, 0, 0, 0};
    for (u64 i = threadIdx.x; image >= 0 && image < (int)c.batch && i < n; i += blockDim.x) {
        const u32 channel = (u32)(i % c.depth), b = (u32)(i / c.depth % c.crop_width), a = (u32)(i / c.depth / c.crop_width);
        const float y = position(rows, a), x = position(columns, b);
        if (!is_inside(rows, y) || !is_inside(columns, x)) continue;
        const Around p = around(c, in, y, x, channel);
        const float across = x - floorf(x), down = y - floorf(y), g = gradient[box * n + i];
        const float by_y = ((1 - across) * (p.bottom_left - p.top_left) + across * (p.bottom_right - p.top_right)) * g * (float)(c.height - 1);
        const float by_x = ((1 - down) * (p.top_right - p.top_left) + down * (p.bottom_right - p.bottom_left)) * g * (float)(c.width - 1);
        // The relative position of the pixel between the first and the second corner.
        const float y_part = c.crop_height > 1 ? (float)a / (float)(c.crop_height - 1) : 0.5f;
        const float x_part = c.crop_width > 1 ? (float)b / (float)(c.crop_width - 1) : 0.5f;
        sums[0] += by_y * (1 - y_part);
        sums[1] += by_x * (1 - x_part);
        sums[2] += by_y * y_part;
        sums[3] += by_x * x_part;
    }
    for (u32 k = 0; k < 4; k++) {
        const float sum = merge_row<float>(shared, sums[k], Plus<float>());
        if (threadIdx.x == 0) out[(u64)box * 4 + k] = sum;
    }
}
