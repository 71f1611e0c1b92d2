// The numbers of the bins of a batch of rows. Values out of range have none.
static __device__ long long bin_of(const I* in, u64 i, u32 width, u32 bins) {
    const long long value = (long long)in[i];
    return value < 0 || value >= (long long)bins ? -1 : (long long)(i / width) * bins + value;
}

extern "C" __global__ void count(u32* counts, const I* in, u32 n, u32 width, u32 bins) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const long long bin = bin_of(in, i, width, bins);
        if (bin >= 0) atomicAdd(&counts[bin], 1u);
    }
}

extern "C" __global__ void number_bins(long long* out, const I* in, u32 n, u32 width, u32 bins) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = bin_of(in, i, width, bins);
}

extern "C" __global__ void store_counts(T* out, const u32* counts, u32 n, u32 is_binary) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = (T)(C)(is_binary ? counts[i] > 0 : counts[i]);
}
