// Softmax of rows and losses that are based on it. The threads with one threadIdx.y compute a row.
__device__ static u32 own_row() { return blockIdx.x * blockDim.y + threadIdx.y; }

extern "C" __global__ void softmax(T* out, const T* in, u32 rows, u32 columns, u32 is_log) {
    __shared__ C shared[256];
    const bool inside = own_row() < rows;
    in += (u64)own_row() * columns;
    out += (u64)own_row() * columns;
    if (!inside) columns = 0;
    C most = lowest<C>();
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) most = larger<C>(most, (C)in[i]);
    most = merge_row(shared, most, Larger<C>());
    C sum = 0;
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) sum += exp((C)in[i] - most);
    sum = merge_row(shared, sum, Plus<C>());
    const C logarithm = log(sum), scale = 1 / sum;
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) {
        const C x = (C)in[i] - most;
        out[i] = (T)(is_log ? x - logarithm : exp(x) * scale);
    }
}

// The distances in elements between rows and columns of the broadcast operands.
struct Strides {
    u32 logits_row, logits_column, labels_row, labels_column;
};

extern "C" __global__ void cross_entropy(T* loss, T* gradient, const T* logits, const T* labels, u32 rows, u32 columns, Strides s) {
    __shared__ C shared[256];
    const bool inside = own_row() < rows;
    logits += (u64)own_row() * s.logits_row;
    labels += (u64)own_row() * s.labels_row;
    gradient += (u64)own_row() * columns;
    if (!inside) columns = 0;
    C most = lowest<C>();
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) most = larger<C>(most, (C)logits[(u64)i * s.logits_column]);
    most = merge_row(shared, most, Larger<C>());
    C sum = 0;
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) sum += exp((C)logits[(u64)i * s.logits_column] - most);
    sum = merge_row(shared, sum, Plus<C>());
    const C logarithm = log(sum);
    C total = 0;
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) {
        const C x = (C)logits[(u64)i * s.logits_column] - most, label = (C)labels[(u64)i * s.labels_column];
        if (label != 0) total += label * (logarithm - x);
        gradient[i] = (T)(exp(x) / sum - label);
    }
    total = merge_row(shared, total, Plus<C>());
    if (inside && threadIdx.x == 0) loss[own_row()] = (T)total;
}

// `I` is the type of labels. A label out of range makes its row NaN.
extern "C" __global__ void sparse_cross_entropy(T* loss, T* gradient, const T* logits, const I* labels, u32 rows, u32 columns) {
    __shared__ C shared[256];
    const u32 row = own_row(), classes = columns;
    const bool inside = row < rows;
    logits += (u64)row * columns;
    gradient += (u64)row * columns;
    if (!inside) columns = 0;
    C most = lowest<C>();
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) most = larger<C>(most, (C)logits[i]);
    most = merge_row(shared, most, Larger<C>());
    C sum = 0;
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) sum += exp((C)logits[i] - most);
    sum = merge_row(shared, sum, Plus<C>());
    if (!inside) return;
    const long long label = (long long)labels[row];
    const bool known = label >= 0 && label < (long long)classes;
    const C unknown = highest<C>() - highest<C>();
    for (u32 i = threadIdx.x; i < columns; i += blockDim.x) {
        gradient[i] = (T)(known ? exp((C)logits[i] - most) / sum - (C)((long long)i == label) : unknown);
    }
    if (threadIdx.x == 0) loss[row] = (T)(known ? log(sum) - ((C)logits[label] - most) : unknown);
}
