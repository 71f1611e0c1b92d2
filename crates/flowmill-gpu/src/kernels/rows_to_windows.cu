// The sum of the rows' elements for each of `n` elements of the input, from pixel number `first_pixel` on. The rows are those of `count` windows from
// number `first` on. Sums are added to `sums` unless that is null, and are stored there or in `out`.
extern "C" __global__ void rows_to_windows(T* out, C* sums, const T* rows, u32 n, u32 first_pixel, u32 first, u32 count, Windows w) {
    const u64 taps = num_taps(w);
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)i % w.channels;
        const u64 element = (u64)first_pixel * w.channels + i;
        C sum = sums ? sums[element] : (C)0;
        each_window(w, first_pixel + (u32)i / w.channels, [&](u64 position, u32 tap) {
            if (position >= first && position - first < count) sum += (C)rows[((position - first) * taps + tap) * w.channels + channel];
        });
        if (out) out[element] = (T)sum;
        else sums[element] = sum;
    }
}

extern "C" __global__ void store_sums(T* out, const C* sums, u32 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = (T)sums[i];
}
