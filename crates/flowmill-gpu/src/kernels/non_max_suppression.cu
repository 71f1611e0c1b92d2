// One block selects the boxes with the highest scores that overlap little with better ones.
struct Limits {
    u32 boxes, most;
    float overlap, score, sigma;
};

static __device__ float smaller_of(float a, float b) { return b < a ? b : a; }
static __device__ float larger_of(float a, float b) { return a < b ? b : a; }

// The intersection of two boxes over their union. A box is given by any two opposite corners.
static __device__ float overlap(const T* a, const T* b) {
    const float ay1 = smaller_of(a[0], a[2]), ax1 = smaller_of(a[1], a[3]), ay2 = larger_of(a[0], a[2]), ax2 = larger_of(a[1], a[3]);
    const float by1 = smaller_of(b[0], b[2]), bx1 = smaller_of(b[1], b[3]), by2 = larger_of(b[0], b[2]), bx2 = larger_of(b[1], b[3]);
    const float of_a = (ay2 - ay1) * (ax2 - ax1), of_b = (by2 - by1) * (bx2 - bx1);
    if (of_a <= 0 || of_b <= 0) return 0;
    const float height = larger_of(smaller_of(ay2, by2) - larger_of(ay1, by1), 0.0f), width = larger_of(smaller_of(ax2, bx2) - larger_of(ax1, bx1), 0.0f);
    return height * width / (of_a + of_b - height * width);
}

// A candidate, which is better than one with a lower score, or with the same score and a higher index.
struct Best {
    float score;
    u32 index;
};
struct Better {
    __device__ Best operator()(const Best& a, const Best& b) const {
        return a.score > b.score || (a.score == b.score && a.index < b.index) ? a : b;
    }
};

// `left` has room for the scores of the boxes that may still be selected; those of others become -inf. The scores of the selected boxes are stored unless
// `selected_scores` is null.
extern "C" __global__ void select(int* selected, T* selected_scores, int* count, float* left, const T* boxes, const T* scores, Limits limits) {
    __shared__ Best shared[256];
    const Best none = {lowest<float>(), 0xffffffffu};
    Best own = none;
    for (u32 i = threadIdx.x; i < limits.boxes; i += blockDim.x) {
        left[i] = (float)scores[i] > limits.score ? (float)scores[i] : lowest<float>();
        own = Better()(own, Best{left[i], left[i] > lowest<float>() ? i : 0xffffffffu});
    }
    u32 number = 0;
    while (number < limits.most) {
        const Best best = merge_row<Best>(shared, own, Better());
        if (best.index == 0xffffffffu) break;
        if (threadIdx.x == 0) {
            selected[number] = (int)best.index;
            if (selected_scores) selected_scores[number] = (T)best.score;
        }
        number++;
        own = none;
        for (u32 i = threadIdx.x; i < limits.boxes; i += blockDim.x) {
            if (i == best.index) left[i] = lowest<float>();
            if (!(left[i] > lowest<float>())) continue;
            const float shared_part = overlap(boxes + 4 * (u64)i, boxes + 4 * (u64)best.index);
            if (limits.sigma > 0) left[i] *= exp(-0.5f / limits.sigma * shared_part * shared_part);
            if (limits.sigma > 0 ? !(left[i] > limits.score) : !(shared_part <= limits.overlap)) left[i] = lowest<float>();
            else own = Better()(own, Best{left[i], i});
        }
    }
    if (threadIdx.x == 0) *count = (int)number;
}
