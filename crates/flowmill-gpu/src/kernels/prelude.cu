// Definitions for all kernels. The text is compiled by NVRTC without headers, and by a host's C++ compiler in tests.
typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __CUDACC__
__device__ inline float float_of_half(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}
__device__ inline unsigned short half_of_float(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}
#endif

struct half {
    unsigned short bits;
    half() = default;
    __device__ half(float value) : bits(half_of_float(value)) {}
    __device__ operator float() const { return float_of_half(bits); }
};

struct bfloat {
    unsigned short bits;
    bfloat() = default;
    __device__ bfloat(float value) {
        u32 word = __float_as_uint(value);
        bits = value != value ? 0x7fc0 : (word + 0x7fff + ((word >> 16) & 1)) >> 16;
    }
    __device__ operator float() const { return __uint_as_float((u32)bits << 16); }
};

#define MAX_RANK 8

__device__ inline u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

template <typename T> __device__ inline T lowest();
template <typename T> __device__ inline T highest();
template <> __device__ inline float lowest<float>() { return __int_as_float(0xff800000); }
template <> __device__ inline float highest<float>() { return __int_as_float(0x7f800000); }
template <> __device__ inline double lowest<double>() { return (double)__int_as_float(0xff800000); }
template <> __device__ inline double highest<double>() { return (double)__int_as_float(0x7f800000); }
template <> __device__ inline signed char lowest<signed char>() { return -128; }
template <> __device__ inline signed char highest<signed char>() { return 127; }
template <> __device__ inline short lowest<short>() { return -32768; }
template <> __device__ inline short highest<short>() { return 32767; }
template <> __device__ inline int lowest<int>() { return -2147483647 - 1; }
template <> __device__ inline int highest<int>() { return 2147483647; }
template <> __device__ inline long long lowest<long long>() { return -9223372036854775807LL - 1; }
template <> __device__ inline long long highest<long long>() { return 9223372036854775807LL; }
template <> __device__ inline unsigned char lowest<unsigned char>() { return 0; }
template <> __device__ inline unsigned char highest<unsigned char>() { return 255; }
template <> __device__ inline unsigned short lowest<unsigned short>() { return 0; }
template <> __device__ inline unsigned short highest<unsigned short>() { return 65535; }
template <> __device__ inline unsigned int lowest<unsigned int>() { return 0; }
template <> __device__ inline unsigned int highest<unsigned int>() { return 4294967295u; }
template <> __device__ inline unsigned long long lowest<unsigned long long>() { return 0; }
template <> __device__ inline unsigned long long highest<unsigned long long>() { return 18446744073709551615ull; }
template <> __device__ inline bool lowest<bool>() { return false; }
template <> __device__ inline bool highest<bool>() { return true; }

// The least and the greatest finite values of a type `T` whose values are computed with in `C`.
template <typename T, typename C> struct Finite {
    static __device__ C most() { return highest<C>(); }
    static __device__ C least() { return lowest<C>(); }
};
template <> struct Finite<half, float> {
    static __device__ float most() { return 65504.0f; }
    static __device__ float least() { return -65504.0f; }
};
template <> struct Finite<bfloat, float> {
    static __device__ float most() { return __int_as_float(0x7f7f0000); }
    static __device__ float least() { return -most(); }
};
template <> struct Finite<float, float> {
    static __device__ float most() { return __int_as_float(0x7f7fffff); }
    static __device__ float least() { return -most(); }
};
template <> struct Finite<double, double> {
    static __device__ double most() { return 1.7976931348623157e308; }
    static __device__ double least() { return -most(); }
};

// The larger and the smaller of two values; a NaN wins.
template <typename C> __device__ inline C larger(C a, C b) { return a != a || a > b ? a : b; }
template <typename C> __device__ inline C smaller(C a, C b) { return a != a || a < b ? a : b; }

// Integer division by zero has no error on a GPU; these functions never trap.
template <typename C> __device__ inline C truncated_quotient(C a, C b) {
    if (b == 0) return (C)-1;
    if (b == (C)-1 && (C)-1 < (C)0) return (C)(0 - a);
    return a / b;
}
template <typename C> __device__ inline C truncated_remainder(C a, C b) {
    if (b == 0) return a;
    if (b == (C)-1 && (C)-1 < (C)0) return (C)0;
    return a % b;
}
template <typename C> __device__ inline C floored_quotient(C a, C b) {
    C quotient = truncated_quotient(a, b);
    return b != 0 && truncated_remainder(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <> __device__ inline float floored_quotient(float a, float b) { return floor(a / b); }
template <> __device__ inline double floored_quotient(double a, double b) { return floor(a / b); }
template <typename C> __device__ inline C floored_remainder(C a, C b) {
    C remainder = truncated_remainder(a, b);
    return b != 0 && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
template <> __device__ inline float floored_remainder(float a, float b) {
    float remainder = fmodf(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
template <> __device__ inline double floored_remainder(double a, double b) {
    double remainder = fmod(a, b);
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
// Shifts by as many bits as there are or more are those by one less.
template <typename C> __device__ inline C shift_of(C bits) { return bits < 0 ? (C)0 : bits > (C)(sizeof(C) * 8 - 1) ? (C)(sizeof(C) * 8 - 1) : bits; }
template <typename C> __device__ inline C shifted_left(C a, C b) { return (C)((u64)a << shift_of(b)); }
template <typename C> __device__ inline C shifted_right(C a, C b) { return (C)(a >> shift_of(b)); }
template <typename C> __device__ inline C integer_power(C base, C exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == (C)-1 ? (exponent % 2 == 0 ? 1 : (C)-1) : 0;
    C result = 1;
    for (; exponent != 0; exponent /= 2, base *= base)
        if (exponent % 2 != 0) result *= base;
    return result;
}

// Merges the values of the threads with equal threadIdx.y by `operation(a, b)`, in a fixed order, and returns the result to all of them. The block has
// a power of two of threads in x, and `shared` has a place for each of its threads.
template <typename V, typename F> __device__ inline V merge_row(V* shared, V value, F operation) {
    const u32 own = threadIdx.y * blockDim.x + threadIdx.x;
    __syncthreads();
    shared[own] = value;
    for (u32 step = blockDim.x / 2; step > 0; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) shared[own] = operation(shared[own], shared[own + step]);
    }
    __syncthreads();
    return shared[own - threadIdx.x];
}
template <typename C> struct Larger {
    __device__ C operator()(C a, C b) const { return larger<C>(a, b); }
};
template <typename C> struct Smaller {
    __device__ C operator()(C a, C b) const { return smaller<C>(a, b); }
};
template <typename C> struct Plus {
    __device__ C operator()(C a, C b) const { return a + b; }
};
