// A row with the elements under each window, from window number `first` on. `n` is the number of elements of all rows.
extern "C" __global__ void windows_to_rows(T* rows, const T* in, u32 n, u32 first, Windows w) {
    for (u64 at = thread_index(); at < n; at += thread_count()) {
        const u32 i = (u32)at, element = i / w.channels, taps = num_taps(w);
        const long long from = pixel_under(w, first + element / taps, element % taps);
        if (from < 0) rows[i] = T{};
        else rows[i] = in[(u64)from * w.channels + i % w.channels];
    }
}
