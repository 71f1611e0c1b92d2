// Sampling of classes by their logits, of type `T`. `I` is the type of classes in the result.
static __device__ bool is_finite(double x) { return x - x == 0; }

// Each block adds up the exponentials of a row, a block of logits at a time. Logits that are not finite have probability zero.
extern "C" __global__ void cumulate(double* sums, const T* logits, u32 classes) {
    __shared__ double shared[256];
    logits += (u64)blockIdx.x * classes;
    sums += (u64)blockIdx.x * classes;
    const u32 own = threadIdx.x;
    double largest = lowest<double>();
    for (u32 i = own; i < classes; i += 256) {
        const double x = (double)(C)logits[i];
        if (is_finite(x)) largest = larger<double>(largest, x);
    }
    largest = merge_row(shared, largest, Larger<double>());
    double total = 0;
    for (u32 first = 0; first < classes; first += 256) {
        const double x = first + own < classes ? (double)(C)logits[first + own] : lowest<double>();
        double value = is_finite(x) ? exp(x - largest) : 0.0;
        __syncthreads();
        shared[own] = value;
        for (u32 step = 1; step < 256; step *= 2) {
            __syncthreads();
            const double before = own >= step ? shared[own - step] : 0.0;
            __syncthreads();
            value += before;
            shared[own] = value;
        }
        __syncthreads();
        if (first + own < classes) sums[first + own] = total + value;
        total += shared[255];
    }
}

static __device__ double uniform_double(u32 x0, u32 x1) {
    // 52 bits below 2, less one.
    return (double)(((u64)(x0 & 0xfffffu) << 32) | x1) * (1.0 / 4503599627370496.0);
}

// Each thread draws a sample by a search for a random sum. A block of the generator has the numbers of two samples.
extern "C" __global__ void draw(I* out, const double* sums, u64 n, Generator g, u32 classes, u32 samples) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const double* row = sums + i / samples * classes;
        const Block words = block(g, i / 2);
        const u32 first = (u32)(i % 2) * 2;
        const double at = uniform_double(words.words[first], words.words[first + 1]) * row[classes - 1];
        u32 low = 0, high = classes;
        while (low < high) {
            const u32 middle = low + (high - low) / 2;
            if (row[middle] <= at) low = middle + 1;
            else high = middle;
        }
        out[i] = (I)low;
    }
}
