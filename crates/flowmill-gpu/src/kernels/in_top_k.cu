// Each block counts the classes of a row whose prediction is greater than that of the target. A row with a prediction that is not finite has no list.
struct Or {
    __device__ u32 operator()(u32 a, u32 b) const { return a | b; }
};

extern "C" __global__ void in_top_k(bool* out, const float* predictions, const I* targets, u32 classes, u32 k) {
    __shared__ u32 shared[256];
    const float* row = predictions + (u64)blockIdx.x * classes;
    const long long target = (long long)targets[blockIdx.x];
    if (target < 0 || target >= (long long)classes) {
        if (threadIdx.x == 0) out[blockIdx.x] = false;
        return;
    }
    const float value = row[target];
    u32 greater = 0, infinite = 0;
    for (u32 i = threadIdx.x; i < classes; i += blockDim.x) {
        const float x = row[i];
        greater += x > value;
        infinite |= !(x - x == 0);
    }
    greater = merge_row(shared, greater, Plus<u32>());
    infinite = merge_row(shared, infinite, Or());
    if (threadIdx.x == 0) out[blockIdx.x] = infinite == 0 && greater < k;
}
