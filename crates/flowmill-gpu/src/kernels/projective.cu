// Images with channels last that a projective transform of the plane is applied to. Positions are computed as on the host, operation by operation.
struct Projection {
    u32 height, width, channels, out_height, out_width, is_shared, is_bilinear, mode;
    float fill;
};
// The modes for pixels outside of an image.
#define REFLECT 0
#define WRAP 1
#define CONSTANT 2

// The coordinate inside a dimension of `size` pixels that replaces `at`.
static __device__ float inside(u32 mode, float at, u32 size) {
    const float last = (float)(size - 1), len = (float)size;
    const bool is_outside = at < 0 || at > last;
    if (mode == CONSTANT) return at;
    if ((mode == REFLECT || mode == WRAP) && is_outside) {
        if (len <= 1) {
            at = 0;
        } else if (mode == REFLECT) {
            const float twice = 2 * len;
            if (at < 0) {
                at = __fadd_rn(__fmul_rn(twice, truncf(-at / twice)), at);
                at = at < -len ? at + twice : -at - 1;
            } else {
                at = __fsub_rn(at, __fmul_rn(twice, truncf(at / twice)));
                if (at >= len) at = twice - at - 1;
            }
        } else {
            at = at < 0 ? __fadd_rn(at, __fmul_rn(len, truncf(-at / last) + 1)) : __fsub_rn(at, __fmul_rn(len, truncf(at / last)));
        }
    }
    return at < 0 ? 0 : at > last ? last : at;
}

static __device__ float dot(const float* t, float x, float y, float last) { return __fadd_rn(__fadd_rn(__fmul_rn(t[0], x), __fmul_rn(t[1], y)), last); }

static __device__ T pixel_or(const Projection& p, const T* image, float y, float x, u32 channel) {
    if (!(y >= 0 && y < (float)p.height && x >= 0 && x < (float)p.width)) return (T)(C)p.fill;
    return image[((u64)y * p.width + (u64)x) * p.channels + channel];
}

extern "C" __global__ void transform(T* out, const T* images, const float* transforms, u64 n, Projection p) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 channel = (u32)(i % p.channels);
        const u64 pixel = i / p.channels, image = pixel / p.out_width / p.out_height;
        const float out_x = (float)(pixel % p.out_width), out_y = (float)(pixel / p.out_width % p.out_height);
        const float* t = transforms + (p.is_shared ? 0 : image * 8);
        const float projection = dot(t + 6, out_x, out_y, 1);
        if (projection == 0 || p.height == 0 || p.width == 0) {
            out[i] = (T)(C)p.fill;
            continue;
        }
        const float x = inside(p.mode, __fdiv_rn(dot(t, out_x, out_y, t[2]), projection), p.width);
        const float y = inside(p.mode, __fdiv_rn(dot(t + 3, out_x, out_y, t[5]), projection), p.height);
        const T* in = images + image * p.height * p.width * p.channels;
        if (!p.is_bilinear) {
            out[i] = pixel_or(p, in, roundf(y), roundf(x), channel);
            continue;
        }
        const float top = floorf(y), left = floorf(x);
        float lines[2];
        for (u32 k = 0; k < 2; k++) {
            const float a = (float)pixel_or(p, in, top + (float)k, left, channel), b = (float)pixel_or(p, in, top + (float)k, left + 1, channel);
            lines[k] = __fadd_rn(__fmul_rn(left + 1 - x, a), __fmul_rn(x - left, b));
        }
        out[i] = (T)(C)__fadd_rn(__fmul_rn(top + 1 - y, lines[0]), __fmul_rn(y - top, lines[1]));
    }
}
