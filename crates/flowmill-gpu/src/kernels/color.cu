// Conversions of colours with three channels. Each thread has a pixel.
struct Color {
    C x, y, z;
};
static __device__ C clamped(C x) { return x < 0 ? (C)0 : x > 1 ? (C)1 : x; }

// Hue, saturation and value, which are between 0 and 1 for colours between 0 and 1.
static __device__ Color hsv_of(Color p) {
    const C value = fmax(fmax(p.x, p.y), p.z), range = value - fmin(fmin(p.x, p.y), p.z);
    const C saturation = value > 0 ? range / value : (C)0, norm = 1 / (6 * range);
    C hue = 0;
    if (range > 0) {
        if (p.x == value) hue = norm * (p.y - p.z);
        else if (p.y == value) hue = norm * (p.z - p.x) + (C)(2.0 / 6.0);
        else hue = norm * (p.x - p.y) + (C)(4.0 / 6.0);
    }
    return {hue < 0 ? hue + 1 : hue, saturation, value};
}
static __device__ Color rgb_of(Color p) {
    const C at = p.x * 6;
    const C red = clamped(fabs(at - 3) - 1), green = clamped(2 - fabs(at - 2)), blue = clamped(2 - fabs(at - 4));
    return {(1 - p.y + p.y * red) * p.z, (1 - p.y + p.y * green) * p.z, (1 - p.y + p.y * blue) * p.z};
}

static __device__ Color load(const T* in, u64 i) { return {(C)in[i * 3], (C)in[i * 3 + 1], (C)in[i * 3 + 2]}; }
static __device__ void store(T* out, u64 i, Color p) {
    out[i * 3] = (T)p.x;
    out[i * 3 + 1] = (T)p.y;
    out[i * 3 + 2] = (T)p.z;
}

extern "C" __global__ void rgb_to_hsv(T* out, const T* in, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) store(out, i, hsv_of(load(in, i)));
}
extern "C" __global__ void hsv_to_rgb(T* out, const T* in, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) store(out, i, rgb_of(load(in, i)));
}

// The hue is turned by a fraction of the circle. The greatest and the least value of the channels are kept.
extern "C" __global__ void adjust_hue(T* out, const T* in, const float* delta, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const Color p = load(in, i), hsv = hsv_of(p);
        const C least = fmin(fmin(p.x, p.y), p.z), range = hsv.z - least, sum = fmod(hsv.x + (C)delta[0], (C)1);
        const Color full = rgb_of({sum < 0 ? sum + 1 : sum, 1, 1});
        store(out, i, {least + full.x * range, least + full.y * range, least + full.z * range});
    }
}
extern "C" __global__ void adjust_saturation(T* out, const T* in, const float* scale, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const Color hsv = hsv_of(load(in, i));
        store(out, i, rgb_of({hsv.x, clamped(hsv.y * (C)scale[0]), hsv.z}));
    }
}
