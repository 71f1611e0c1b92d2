// Rounding of floats to the values of a quantized type.
struct Levels {
    float least, greatest;
};

// The values `(i - zero) * scale` between `min` and `max`; `inverse` is the reciprocal of `scale`.
struct Values {
    float min, max, scale, inverse, zero;
};

// Returns true if there are limits.
static __device__ bool exist(float min, float max) {
    return min != 0 || max != 0;
}

// The values between two limits, shifted so that zero is one of them.
static __device__ Values nudged(const Levels& levels, float min, float max) {
    const float count = levels.greatest - levels.least;
    const float scale = __fdiv_rn(max - min, count), inverse = __fdiv_rn(count, max - min);
    float zero = __fsub_rn(levels.least, __fdiv_rn(min, scale));
    zero = zero < levels.least ? levels.least : zero > levels.greatest ? levels.greatest : roundf(zero);
    const float least = __fmul_rn(levels.least - zero, scale);
    return {least, __fmul_rn(levels.greatest - zero, scale), scale, inverse, floorf(__fadd_rn(__fmul_rn(-least, inverse), 0.5f))};
}

// The distance of an element from the least value. NaN stays NaN.
static __device__ float shifted(const Values& v, float x) {
    x = x > v.max ? v.max : x;
    return (x < v.min ? v.min : x) - v.min;
}

// The value that is `steps` from the least one, rounded to a whole step.
static __device__ float nearest(const Values& v, float steps) {
    return __fmul_rn(floorf(__fadd_rn(__fsub_rn(steps, v.zero), 0.5f)), v.scale);
}

extern "C" __global__ void round_to_levels(float* out, const float* in, const float* min, const float* max, u64 n, u32 channels, Levels levels) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % channels);
        const Values v = nudged(levels, min[channel], max[channel]);
        out[i] = exist(min[channel], max[channel]) ? nearest(v, __fmul_rn(shifted(v, in[i]), v.inverse)) : 0;
    }
}

// Like `round_to_levels`, with a division, which may round another way.
extern "C" __global__ void round_to_levels_by_division(
    float* out, const float* in, const float* min, const float* max, u64 n, u32 channels, Levels levels) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % channels);
        const Values v = nudged(levels, min[channel], max[channel]);
        out[i] = exist(min[channel], max[channel]) ? nearest(v, __fdiv_rn(shifted(v, in[i]), v.scale)) : 0;
    }
}

extern "C" __global__ void input_gradient(
    float* out, const float* gradient, const float* in, const float* min, const float* max, u64 n, u32 channels, Levels levels) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % channels);
        const Values v = nudged(levels, min[channel], max[channel]);
        out[i] = !exist(min[channel], max[channel]) || (in[i] >= v.min && in[i] <= v.max) ? gradient[i] : 0;
    }
}

// Blocks in x sum the gradients of the limits of a channel each, those in y a part of the elements.
extern "C" __global__ void limit_gradients(
    float* parts, const float* gradient, const float* in, const float* min, const float* max, u64 rows, u32 channels, u64 part, Levels levels) {
    __shared__ float shared[256];
    const u32 channel = blockIdx.x;
    const Values v = nudged(levels, min[channel], max[channel]);
    const bool has_values = exist(min[channel], max[channel]);
    const u64 first = blockIdx.y * part, end = first + part < rows ? first + part : rows;
    float below = 0, above = 0;
    for (u64 i = first + threadIdx.x; has_values && i < end; i += blockDim.x) {
        const u64 at = i * channels + channel;
        if (in[at] < v.min) below += gradient[at];
        if (in[at] > v.max) above += gradient[at];
    }
    below = merge_row<float>(shared, below, Plus<float>());
    above = merge_row<float>(shared, above, Plus<float>());
    if (threadIdx.x == 0) {
        parts[(u64)blockIdx.y * channels + channel] = below;
        parts[((u64)gridDim.y + blockIdx.y) * channels + channel] = above;
    }
}

extern "C" __global__ void sum_limit_gradients(float* of_min, float* of_max, const float* parts, u32 channels, u32 num_parts) {
    for (u64 i = thread_index(); i < channels; i += thread_count()) {
        float below = 0, above = 0;
        for (u32 part = 0; part < num_parts; part++) {
            below += parts[(u64)part * channels + i];
            above += parts[((u64)num_parts + part) * channels + i];
        }
        of_min[i] = below;
        of_max[i] = above;
    }
}

// The functions with the limits of attributes.
extern "C" __global__ void round_to_values(float* out, const float* in, u64 n, Values values) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = nearest(values, __fmul_rn(shifted(values, in[i]), values.inverse));
}
extern "C" __global__ void gradient_within(float* out, const float* gradient, const float* in, u64 n, float min, float max) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = in[i] >= min && in[i] <= max ? gradient[i] : 0;
}
