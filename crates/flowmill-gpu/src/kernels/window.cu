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

// A row for each position of the output, with the elements under the window.
extern "C" __global__ void windows_to_rows(T* rows, const T* in, u32 n, Window w) {
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u32 i = (u32)at, taps = i / w.channels, channel = i % w.channels;
        const u32 position = taps / (w.height * w.width), tap = taps % (w.height * w.width);
        const long long from = pixel(w, output_pixel(w, position), tap / w.width, tap % w.width);
        if (from < 0) rows[i] = T{};
        else rows[i] = in[(u64)from * w.channels + channel];
    }
}
