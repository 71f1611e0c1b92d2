// The sum of the rows' elements for each element of the input.
extern "C" __global__ void rows_to_windows(T* out, const T* rows, u32 n, Volume v) {
    const u64 taps = (u64)v.planes.window * v.rows.window * v.columns.window;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % v.channels;
        C sum = 0;
        each_window(v, (u32)i / v.channels, [&](u64 position, u32 tap) { sum += (C)rows[(position * taps + tap) * v.channels + channel]; });
        out[i] = (T)sum;
    }
}
