// Discrete Fourier transforms along one dimension of complex numbers with the parts `R`: arrays have the dimensions outer, length, inner.
struct alignas(2 * sizeof(R)) Complex {
    R re, im;
};
static __device__ Complex product(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

// The number on the unit circle after `part` of `whole` turns, clockwise unless `inverse`.
static __device__ Complex turned(u64 part, u64 whole, u32 inverse) {
    const double angle = 6.283185307179586476925 * (double)part / (double)whole;
    return {(R)cos(angle), (R)(inverse ? sin(angle) : -sin(angle))};
}

struct Line {
    u32 length, inner, inverse;
};

// One pass of a transform whose length is a power of two (Stockham's): transforms of `2 * m` numbers at a distance of `step` become pairs of half of that
// length. The last pass of an inverse transform divides by the length.
extern "C" __global__ void pass(Complex* out, const Complex* in, u64 n, u32 m, u32 step, Line line) {
    const u32 half = line.length / 2;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 column = i % line.inner, outer = i / line.inner / half;
        const u32 pair = (u32)(i / line.inner % half), p = pair / step, q = pair % step;
        const u64 base = outer * line.length;
        const Complex a = in[(base + q + (u64)step * p) * line.inner + column], b = in[(base + q + (u64)step * (p + m)) * line.inner + column];
        Complex sum = {a.re + b.re, a.im + b.im}, difference = product({a.re - b.re, a.im - b.im}, turned(p, 2 * (u64)m, line.inverse));
        if (m == 1 && line.inverse) {
            sum = {sum.re / (R)line.length, sum.im / (R)line.length};
            difference = {difference.re / (R)line.length, difference.im / (R)line.length};
        }
        out[(base + q + 2 * (u64)step * p) * line.inner + column] = sum;
        out[(base + q + 2 * (u64)step * p + step) * line.inner + column] = difference;
    }
}

// Transforms of other lengths are convolutions with a chirp (Bluestein's), which are transforms of a power of two of at least twice the length.
static __device__ Complex chirp(u64 i, u32 length, u32 inverse) { return turned(i * i % (2 * (u64)length), 2 * (u64)length, inverse); }

extern "C" __global__ void chirp_in(Complex* out, const Complex* in, u64 n, u32 padded, Line line) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 column = i % line.inner, at = i / line.inner % padded, outer = i / line.inner / padded;
        const bool exists = at < line.length;
        out[i] = exists ? product(in[(outer * line.length + at) * line.inner + column], chirp(at, line.length, line.inverse)) : Complex{0, 0};
    }
}
extern "C" __global__ void chirp_filter(Complex* out, u32 padded, Line line) {
    for (u64 i = thread_index(); i < padded; i += thread_count()) {
        const u64 at = i < line.length ? i : padded - i;
        out[i] = at < line.length ? chirp(at, line.length, !line.inverse) : Complex{0, 0};
    }
}
extern "C" __global__ void multiply(Complex* out, const Complex* filter, u64 n, u32 padded, Line line) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = product(out[i], filter[i / line.inner % padded]);
}
extern "C" __global__ void chirp_out(Complex* out, const Complex* in, u64 n, u32 padded, Line line) {
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u64 column = i % line.inner, at = i / line.inner % line.length, outer = i / line.inner / line.length;
        const Complex value = product(in[(outer * padded + at) * line.inner + column], chirp(at, line.length, line.inverse));
        const R by = line.inverse ? (R)line.length : (R)1;
        out[i] = {value.re / by, value.im / by};
    }
}

// The last three dimensions of the result and of the source, whose first elements are taken.
struct Block {
    u32 to[3], from[3];
};
static __device__ u64 source(const Block& b, u64 i) {
    const u64 x = i % b.to[2], y = i / b.to[2] % b.to[1], rest = i / b.to[2] / b.to[1];
    return ((rest / b.to[0] * b.from[0] + rest % b.to[0]) * b.from[1] + y) * b.from[2] + x;
}
extern "C" __global__ void crop(Complex* out, const Complex* in, u64 n, Block b) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = in[source(b, i)];
}
extern "C" __global__ void crop_real(Complex* out, const R* in, u64 n, Block b) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = {in[source(b, i)], 0};
}

// Rows of `length` numbers from their first half, which the second one mirrors. Numbers that are their own mirror image are kept.
extern "C" __global__ void mirror(Complex* out, const Complex* in, u64 n, u32 length) {
    const u32 kept = length / 2 + 1;
    for (u64 i = thread_index(); i < n; i += thread_count()) {
        const u32 at = (u32)(i % length), other = (length - at) % length;
        const u64 row = i / length * kept;
        const Complex value = in[row + (other < at ? other : at)];
        out[i] = other < at ? Complex{value.re, -value.im} : value;
    }
}
extern "C" __global__ void real_parts(R* out, const Complex* in, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) out[i] = in[i].re;
}
