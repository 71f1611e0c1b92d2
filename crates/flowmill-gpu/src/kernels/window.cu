// Convolutions and pools over images with channels last.
struct Window {
    u32 batch, in_height, in_width, channels;
    u32 height, width, stride_height, stride_width, dilation_height, dilation_width, pad_top, pad_left;
    u32 out_height, out_width;
    // The channels that a filter reads and writes.
    u32 depth, out_channels;
};

// The image, row and column of a position in the output.
struct OutputPixel {
    u32 image, row, column;
};
static __device__ OutputPixel output_pixel(const Window& w, u32 position) {
    const u32 line = position / w.out_width;
    return {line / w.out_height, line % w.out_height, position % w.out_width};
}

// The number of the pixel under element `i, j` of the window at a place, or -1 outside of the image.
static __device__ long long pixel(const Window& w, const OutputPixel& at, u32 i, u32 j) {
    const int y = (int)(at.row * w.stride_height + i * w.dilation_height) - (int)w.pad_top;
    const int x = (int)(at.column * w.stride_width + j * w.dilation_width) - (int)w.pad_left;
    if (y < 0 || x < 0 || y >= (int)w.in_height || x >= (int)w.in_width) return -1;
    return ((long long)at.image * w.in_height + y) * w.in_width + x;
}

// The window whose element `tap` is over input row or column `at`, or -1.
[[maybe_unused]] static __device__ int window_over(u32 at, u32 tap, u32 stride, u32 dilation, u32 pad, u32 count) {
    const int first = (int)(at + pad) - (int)(tap * dilation);
    if (first < 0 || first % (int)stride != 0) return -1;
    const int window = first / (int)stride;
    return window < (int)count ? window : -1;
}

// Calls `visit(pixel, tap)` for the pixels under the window at a place and its elements that are over them, in order.
template <typename F> static __device__ void each_pixel(const Window& w, const OutputPixel& at, F visit) {
    for (u32 a = 0; a < w.height; a++) {
        for (u32 b = 0; b < w.width; b++) {
            const long long from = pixel(w, at, a, b);
            if (from >= 0) visit((u64)from, a * w.width + b);
        }
    }
}

// Calls `visit(position, tap)` for the windows over pixel number `own` and their elements that are over it, with the windows in order.
template <typename F> static __device__ void each_window(const Window& w, u32 own, F visit) {
    const u32 column = own % w.in_width, line = own / w.in_width, row = line % w.in_height, image = line / w.in_height;
    // The last element of the window is over the first window.
    for (int a = (int)w.height - 1; a >= 0; a--) {
        const int y = window_over(row, (u32)a, w.stride_height, w.dilation_height, w.pad_top, w.out_height);
        if (y < 0) continue;
        for (int b = (int)w.width - 1; b >= 0; b--) {
            const int x = window_over(column, (u32)b, w.stride_width, w.dilation_width, w.pad_left, w.out_width);
            if (x >= 0) visit(((u64)image * w.out_height + (u32)y) * w.out_width + (u32)x, (u32)a * w.width + (u32)b);
        }
    }
}

// The number of elements of a window.
[[maybe_unused]] static __device__ u32 num_taps(const Window& w) { return w.height * w.width; }

// The number of the pixel under an element of window number `position`, or -1 outside of the image.
[[maybe_unused]] static __device__ long long pixel_under(const Window& w, u32 position, u32 tap) {
    return pixel(w, output_pixel(w, position), tap / w.width, tap % w.width);
}
typedef Window Windows;
