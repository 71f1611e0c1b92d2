// Convolutions and pools over volumes with channels last.
struct Axis {
    u32 input, window, stride, dilation, pad, output;
};
struct Volume {
    u32 batch, channels;
    Axis planes, rows, columns;
};

// The input position under element `tap` of window `at`, or -1 outside of the input.
static __device__ int place(const Axis& axis, u32 at, u32 tap) {
    const int place = (int)(at * axis.stride + tap * axis.dilation) - (int)axis.pad;
    return place < 0 || place >= (int)axis.input ? -1 : place;
}

// The window whose element `tap` is over the input position `at`, or -1.
[[maybe_unused]] static __device__ int window_over(const Axis& axis, u32 at, u32 tap) {
    const int first = (int)(at + axis.pad) - (int)(tap * axis.dilation);
    if (first < 0 || first % (int)axis.stride != 0) return -1;
    const int window = first / (int)axis.stride;
    return window < (int)axis.output ? window : -1;
}

// Calls `visit(pixel)` for the pixels under window number `position`, in order.
template <typename F> static __device__ void each_pixel(const Volume& v, u32 position, F visit) {
    const u32 column = position % v.columns.output, line = position / v.columns.output;
    const u32 row = line % v.rows.output, plane = line / v.rows.output % v.planes.output;
    const u64 batch = line / v.rows.output / v.planes.output;
    for (u32 a = 0; a < v.planes.window; a++) {
        const int z = place(v.planes, plane, a);
        if (z < 0) continue;
        for (u32 b = 0; b < v.rows.window; b++) {
            const int y = place(v.rows, row, b);
            if (y < 0) continue;
            for (u32 c = 0; c < v.columns.window; c++) {
                const int x = place(v.columns, column, c);
                if (x >= 0) visit(((batch * v.planes.input + (u32)z) * v.rows.input + (u32)y) * v.columns.input + (u32)x);
            }
        }
    }
}

// Calls `visit(position, tap)` for the windows over pixel number `pixel` and their elements that are over it, with the windows in order.
template <typename F> static __device__ void each_window(const Volume& v, u32 pixel, F visit) {
    const u32 column = pixel % v.columns.input, line = pixel / v.columns.input;
    const u32 row = line % v.rows.input, plane = line / v.rows.input % v.planes.input;
    const u64 batch = line / v.rows.input / v.planes.input;
    for (int a = (int)v.planes.window - 1; a >= 0; a--) {
        const int z = window_over(v.planes, plane, (u32)a);
        if (z < 0) continue;
        for (int b = (int)v.rows.window - 1; b >= 0; b--) {
            const int y = window_over(v.rows, row, (u32)b);
            if (y < 0) continue;
            for (int c = (int)v.columns.window - 1; c >= 0; c--) {
                const int x = window_over(v.columns, column, (u32)c);
                if (x < 0) continue;
                const u64 position = ((batch * v.planes.output + (u32)z) * v.rows.output + (u32)y) * v.columns.output + (u32)x;
                visit(position, ((u32)a * v.rows.window + (u32)b) * v.columns.window + (u32)c);
            }
        }
    }
}

// The number of elements of a window.
[[maybe_unused]] static __device__ u32 num_taps(const Volume& v) { return v.planes.window * v.rows.window * v.columns.window; }

// The number of the pixel under an element of window number `position`, or -1 outside of the volume.
[[maybe_unused]] static __device__ long long pixel_under(const Volume& v, u32 position, u32 tap) {
    const u32 line = position / v.columns.output, batch = line / v.rows.output / v.planes.output, row = tap / v.columns.window;
    const int z = place(v.planes, line / v.rows.output % v.planes.output, row / v.rows.window);
    const int y = place(v.rows, line % v.rows.output, row % v.rows.window);
    const int x = place(v.columns, position % v.columns.output, tap % v.columns.window);
    if (z < 0 || y < 0 || x < 0) return -1;
    return (((long long)batch * v.planes.input + z) * v.rows.input + y) * v.columns.input + x;
}
typedef Volume Windows;
