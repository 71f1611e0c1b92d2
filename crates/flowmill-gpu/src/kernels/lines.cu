// Searches and scans along one dimension. A tensor has `outer` times `size` times `inner` elements. `I` is the type of indices in results, and
// `F` says what is computed.
// Searches the least element, or sums.
struct Least {
    enum { IS_MAX = 0, IS_PRODUCT = 0 };
};
// Searches the greatest element, or multiplies.
struct Greatest {
    enum { IS_MAX = 1, IS_PRODUCT = 1 };
};
struct Lines {
    u32 outer, size, inner;
};

struct Candidate {
    C value;
    u32 index;
};

static __device__ bool is_better(C a, C b) { return F::IS_MAX ? a > b : a < b; }

// The better of two candidates; NaN is worse than all numbers, and of equal values the first is better.
struct Better {
    __device__ Candidate operator()(Candidate a, Candidate b) const {
        if (b.index == 0xffffffffu) return a;
        if (a.index == 0xffffffffu) return b;
        const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
        if (nan_a != nan_b) return nan_a ? b : a;
        if (!nan_a && a.value != b.value) return is_better(b.value, a.value) ? b : a;
        return b.index < a.index ? b : a;
    }
};

// Each block searches a line.
extern "C" __global__ void arg_lines(I* out, const T* in, Lines l) {
    __shared__ Candidate shared[256];
    const u32 line = blockIdx.x;
    in += (u64)(line / l.inner) * l.size * l.inner + line % l.inner;
    Candidate best = {(C)0, 0xffffffffu};
    for (u32 i = threadIdx.x; i < l.size; i += blockDim.x) best = Better()(best, Candidate{(C)in[(u64)i * l.inner], i});
    best = merge_row(shared, best, Better());
    if (threadIdx.x == 0) out[line] = (I)best.index;
}

// Each thread searches a line.
extern "C" __global__ void arg_columns(I* out, const T* in, Lines l) {
    const u32 line = thread_index();
    if (line >= l.outer * l.inner) return;
    in += (u64)(line / l.inner) * l.size * l.inner + line % l.inner;
    Candidate best = {(C)in[0], 0};
    for (u32 i = 1; i < l.size; i++) best = Better()(best, Candidate{(C)in[(u64)i * l.inner], i});
    out[line] = (I)best.index;
}

// True if `a` comes after `b` in the order of results: greater values first, NaN before all numbers, and equal values by index.
static __device__ bool follows(Candidate a, Candidate b) {
    const bool nan_a = a.value != a.value, nan_b = b.value != b.value;
    if (nan_a != nan_b) return nan_b;
    if (!nan_a && a.value != b.value) return a.value < b.value;
    return a.index > b.index;
}
struct First {
    __device__ Candidate operator()(Candidate a, Candidate b) const {
        if (b.index == 0xffffffffu) return a;
        if (a.index == 0xffffffffu) return b;
        return follows(a, b) ? b : a;
    }
};

// Each block selects the `k` greatest elements of a row, one after the other.
extern "C" __global__ void top_k(T* values, I* indices, const T* in, u32 columns, u32 k) {
    __shared__ Candidate shared[256];
    in += (u64)blockIdx.x * columns;
    values += (u64)blockIdx.x * k;
    indices += (u64)blockIdx.x * k;
    Candidate last = {(C)0, 0xffffffffu};
    for (u32 j = 0; j < k; j++) {
        Candidate best = {(C)0, 0xffffffffu};
        for (u32 i = threadIdx.x; i < columns; i += blockDim.x) {
            const Candidate own = {(C)in[i], i};
            if (last.index == 0xffffffffu || follows(own, last)) best = First()(best, own);
        }
        last = merge_row(shared, best, First());
        if (threadIdx.x == 0) {
            values[j] = in[last.index];
            indices[j] = (I)last.index;
        }
    }
}

// The columns of each row as a permutation, which is sorted step by step. It has a power of two of places; those without a column come last.
extern "C" __global__ void number_columns(u32* order, u64 n, u32 places) {
    for (u64 i = thread_index(); i < n; i += thread_count()) order[i] = (u32)(i & (places - 1));
}

// A step of a bitonic sort: compares the places at a distance of `distance` in runs of `run` places, which are sorted in alternating directions.
extern "C" __global__ void sort_columns(u32* order, const T* in, u64 pairs, u32 places, u32 columns, u32 run, u32 distance) {
    for (u64 pair = thread_index(); pair < pairs; pair += thread_count()) {
        const u64 row = pair / (places / 2);
        const u32 own = (u32)(pair % (places / 2)), first = own / distance * distance * 2 + own % distance, second = first + distance;
        u32* places_of_row = order + row * places;
        const u32 a = places_of_row[first], b = places_of_row[second];
        bool is_after = a > b;
        if (a < columns && b < columns) is_after = follows(Candidate{(C)in[row * columns + a], a}, Candidate{(C)in[row * columns + b], b});
        if (is_after == ((first & run) == 0)) {
            places_of_row[first] = b;
            places_of_row[second] = a;
        }
    }
}

extern "C" __global__ void first_columns(T* values, I* indices, const T* in, const u32* order, u64 n, u32 places, u32 columns, u32 k) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 row = i / k;
        const u32 column = order[row * places + i % k];
        values[i] = in[row * columns + column];
        indices[i] = (I)column;
    }
}

static __device__ C scanned(C a, C b) { return F::IS_PRODUCT ? (C)(a * b) : (C)(a + b); }

struct Scan {
    u32 exclusive, reverse;
};

// Each thread scans a line.
extern "C" __global__ void scan_columns(T* out, const T* in, Lines l, Scan scan) {
    const u32 line = thread_index();
    if (line >= l.outer * l.inner) return;
    const u64 first = (u64)(line / l.inner) * l.size * l.inner + line % l.inner;
    C total = F::IS_PRODUCT ? (C)1 : (C)0;
    for (u32 i = 0; i < l.size; i++) {
        const u64 at = first + (u64)(scan.reverse ? l.size - 1 - i : i) * l.inner;
        const C next = scanned(total, (C)in[at]);
        out[at] = (T)(scan.exclusive ? total : next);
        total = (C)(T)next;
    }
}

// Each block scans a line, a block of elements at a time.
extern "C" __global__ void scan_lines(T* out, const T* in, Lines l, Scan scan) {
    __shared__ C shared[256];
    const u64 first = (u64)(blockIdx.x / l.inner) * l.size * l.inner + blockIdx.x % l.inner;
    const u32 own = threadIdx.x;
    C total = F::IS_PRODUCT ? (C)1 : (C)0;
    for (u32 start = 0; start < l.size; start += 256) {
        const u32 i = start + own;
        const u64 at = first + (u64)(scan.reverse ? l.size - 1 - i : i) * l.inner;
        C value = i < l.size ? (C)in[at] : F::IS_PRODUCT ? (C)1 : (C)0;
        shared[own] = value;
        for (u32 step = 1; step < 256; step *= 2) {
            __syncthreads();
            const C other = own >= step ? shared[own - step] : F::IS_PRODUCT ? (C)1 : (C)0;
            __syncthreads();
            value = scanned(other, value);
            shared[own] = value;
        }
        __syncthreads();
        const C before = own == 0 ? total : scanned(total, shared[own - 1]);
        if (i < l.size) out[at] = (T)(scan.exclusive ? before : scanned(total, value));
        total = scanned(total, shared[255]);
        __syncthreads();
    }
}
