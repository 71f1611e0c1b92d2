// Turns the text of CUDA kernels into C++ of the host. It stands before the text, in the same translation unit.
//
// A thread of a kernel is a fiber (fibers.cpp). All fibers of a launch run on one thread of the host, so that shared memory is thread-local and atomic
// functions are plain ones.

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)

struct Dim3 {
    unsigned x, y, z;
};

// The place of the thread that runs in its launch.
struct Place {
    Dim3 thread, block, threads, blocks;
};

// A launch of a kernel: `run` calls it with `arguments`.
struct Launch {
    void (*run)(void** arguments);
    void** arguments;
    Dim3 blocks, threads;
};

extern __thread Place stub_cuda_place;
extern "C" int stub_cuda_launch(const Launch* launch);
extern "C" void stub_cuda_sync_block();
extern "C" void stub_cuda_sync_warp(unsigned mask);
extern "C" unsigned long long* stub_cuda_lane(unsigned lane);

#define threadIdx stub_cuda_place.thread
#define blockIdx stub_cuda_place.block
#define blockDim stub_cuda_place.threads
#define gridDim stub_cuda_place.blocks
#define warpSize 32

inline void __syncthreads() { stub_cuda_sync_block(); }
inline void __syncwarp(unsigned mask = 0xffffffffu) { stub_cuda_sync_warp(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}

inline unsigned stub_cuda_lane_id() {
    const Place& p = stub_cuda_place;
    return (p.thread.x + p.threads.x * (p.thread.y + p.threads.y * p.thread.z)) % 32;
}

// All lanes of the mask write their values, and then each reads that of lane `source`.
template <typename T> inline T stub_cuda_exchange(unsigned mask, T value, unsigned source) {
    static_assert(sizeof(T) <= 8, "a shuffle moves at most eight bytes");
    __builtin_memcpy(stub_cuda_lane(stub_cuda_lane_id()), &value, sizeof(T));
    stub_cuda_sync_warp(mask);
    T result;
    __builtin_memcpy(&result, stub_cuda_lane(source), sizeof(T));
    stub_cuda_sync_warp(mask);
    return result;
}
template <typename T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    unsigned lane = stub_cuda_lane_id();
    return stub_cuda_exchange(mask, value, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <typename T> inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    unsigned lane = stub_cuda_lane_id(), source = lane ^ bits;
    return stub_cuda_exchange(mask, value, source / width <= lane / width ? source : lane);
}
template <typename T> inline T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    unsigned lane = stub_cuda_lane_id();
    return stub_cuda_exchange(mask, value, lane % width + distance < (unsigned)width ? lane + distance : lane);
}
template <typename T> inline T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32) {
    unsigned lane = stub_cuda_lane_id();
    return stub_cuda_exchange(mask, value, lane % width >= distance ? lane - distance : lane);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    *stub_cuda_lane(stub_cuda_lane_id()) = predicate != 0;
    stub_cuda_sync_warp(mask);
    unsigned bits = 0;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (mask >> lane & 1) bits |= (unsigned)*stub_cuda_lane(lane) << lane;
    }
    stub_cuda_sync_warp(mask);
    return bits;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

template <typename To, typename From> inline To stub_cuda_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "values of one size");
    To to;
    __builtin_memcpy(&to, &from, sizeof(To));
    return to;
}
inline unsigned __float_as_uint(float x) { return stub_cuda_bits<unsigned>(x); }
inline int __float_as_int(float x) { return stub_cuda_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return stub_cuda_bits<float>(x); }
inline float __int_as_float(int x) { return stub_cuda_bits<float>(x); }
inline long long __double_as_longlong(double x) { return stub_cuda_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return stub_cuda_bits<double>(x); }

// Conversions between float and binary16 that round to the nearest even value.
inline float float_of_half(unsigned short bits) {
    unsigned sign = (unsigned)(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
    if (magnitude < 0x400) {
        float value = (float)magnitude * 5.9604644775390625e-8f;
        return sign ? -value : value;
    }
    unsigned exponent = magnitude >= 0x7c00 ? 0x70000000u : 0x38000000u;
    return __uint_as_float(sign | ((magnitude << 13) + exponent));
}
inline unsigned short half_of_float(float value) {
    unsigned bits = __float_as_uint(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x477ff000) return sign | 0x7c00;
    if (magnitude < 0x38800000) {
        // The float's own rounding at the place of the subnormal's last bit.
        float shifted = __uint_as_float(magnitude) + 0.5f;
        return sign | (unsigned short)(__float_as_uint(shifted) - 0x3f000000);
    }
    unsigned rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return sign | (unsigned short)((rounded - 0x38000000) >> 13);
}

#define STUB_UNARY(name)                                                     \
    inline float name(float x) { return __builtin_##name##f(x); }            \
    inline float name##f(float x) { return __builtin_##name##f(x); }         \
    inline double name(double x) { return __builtin_##name(x); }             \
    inline double name(int x) { return __builtin_##name((double)x); }
#define STUB_BINARY(name)                                                             \
    inline float name(float x, float y) { return __builtin_##name##f(x, y); }         \
    inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }      \
    inline double name(double x, double y) { return __builtin_##name(x, y); }         \
    inline double name(float x, double y) { return __builtin_##name((double)x, y); }  \
    inline double name(double x, float y) { return __builtin_##name(x, (double)y); }
STUB_UNARY(acos)
STUB_UNARY(acosh)
STUB_UNARY(asin)
STUB_UNARY(asinh)
STUB_UNARY(atan)
STUB_UNARY(atanh)
STUB_UNARY(cbrt)
STUB_UNARY(ceil)
STUB_UNARY(cos)
STUB_UNARY(cosh)
STUB_UNARY(erf)
STUB_UNARY(erfc)
STUB_UNARY(exp)
STUB_UNARY(exp2)
STUB_UNARY(exp10)
STUB_UNARY(expm1)
STUB_UNARY(fabs)
STUB_UNARY(floor)
STUB_UNARY(j0)
STUB_UNARY(j1)
STUB_UNARY(lgamma)
STUB_UNARY(log)
STUB_UNARY(log10)
STUB_UNARY(log1p)
STUB_UNARY(log2)
STUB_UNARY(nearbyint)
STUB_UNARY(rint)
STUB_UNARY(round)
STUB_UNARY(sin)
STUB_UNARY(sinh)
STUB_UNARY(sqrt)
STUB_UNARY(tan)
STUB_UNARY(tanh)
STUB_UNARY(tgamma)
STUB_UNARY(trunc)
STUB_UNARY(y0)
STUB_UNARY(y1)
STUB_BINARY(atan2)
STUB_BINARY(copysign)
STUB_BINARY(fdim)
STUB_BINARY(fmax)
STUB_BINARY(fmin)
STUB_BINARY(fmod)
STUB_BINARY(hypot)
STUB_BINARY(nextafter)
STUB_BINARY(pow)
STUB_BINARY(remainder)
inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float ldexp(float x, int n) { return __builtin_ldexpf(x, n); }
inline float ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
inline double ldexp(double x, int n) { return __builtin_ldexp(x, n); }
inline float frexp(float x, int* n) { return __builtin_frexpf(x, n); }
inline double frexp(double x, int* n) { return __builtin_frexp(x, n); }
inline bool isnan(float x) { return x != x; }
inline bool isnan(double x) { return x != x; }
inline bool isinf(float x) { return __builtin_isinf(x); }
inline bool isinf(double x) { return __builtin_isinf(x); }
inline bool isfinite(float x) { return __builtin_isfinite(x); }
inline bool isfinite(double x) { return __builtin_isfinite(x); }
inline bool signbit(float x) { return __builtin_signbit(x); }
inline bool signbit(double x) { return __builtin_signbit(x); }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }

#define STUB_ORDER(T)                                      \
    inline T max(T x, T y) { return x > y ? x : y; }       \
    inline T min(T x, T y) { return x < y ? x : y; }
STUB_ORDER(int)
STUB_ORDER(unsigned)
STUB_ORDER(long)
STUB_ORDER(unsigned long)
STUB_ORDER(long long)
STUB_ORDER(unsigned long long)
inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
inline float min(float x, float y) { return __builtin_fminf(x, y); }
inline double max(double x, double y) { return __builtin_fmax(x, y); }
inline double min(double x, double y) { return __builtin_fmin(x, y); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline long long llabs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned long long)((unsigned __int128)x * y >> 64); }
template <typename T> inline T __ldg(const T* p) { return *p; }

// The types of the second operands are those of the first pointer's elements.
template <typename T> struct StubSame { typedef T Type; };
#define STUB_ATOMIC(name, value)                                                              \
    template <typename T> inline T name(T* at, typename StubSame<T>::Type operand) {          \
        T old = *at;                                                                          \
        *at = value;                                                                          \
        return old;                                                                           \
    }
STUB_ATOMIC(atomicAdd, old + operand)
STUB_ATOMIC(atomicSub, old - operand)
STUB_ATOMIC(atomicMax, old < operand ? operand : old)
STUB_ATOMIC(atomicMin, operand < old ? operand : old)
STUB_ATOMIC(atomicAnd, old & operand)
STUB_ATOMIC(atomicOr, old | operand)
STUB_ATOMIC(atomicXor, old ^ operand)
STUB_ATOMIC(atomicExch, operand)
template <typename T> inline T atomicCAS(T* at, typename StubSame<T>::Type expected, typename StubSame<T>::Type desired) {
    T old = *at;
    if (old == expected) *at = desired;
    return old;
}

#define STUB_VECTORS(T, N)                                                                     \
    struct alignas(2 * sizeof(T)) N##2 { T x, y; };                                            \
    struct alignas(sizeof(T) == 8 ? 16 : 4 * sizeof(T)) N##4 { T x, y, z, w; };                \
    inline N##2 make_##N##2(T x, T y) { return N##2{x, y}; }                                   \
    inline N##4 make_##N##4(T x, T y, T z, T w) { return N##4{x, y, z, w}; }
STUB_VECTORS(int, int)
STUB_VECTORS(unsigned, uint)
STUB_VECTORS(float, float)
STUB_VECTORS(double, double)
STUB_VECTORS(long long, longlong)

// Calls a kernel with the values that its arguments point to.
template <int... I> struct StubIndices {};
template <int N, int... I> struct StubCount : StubCount<N - 1, N - 1, I...> {};
template <int... I> struct StubCount<0, I...> { typedef StubIndices<I...> Type; };
template <auto Kernel> struct StubKernel;
template <typename... A, void (*Kernel)(A...)> struct StubKernel<Kernel> {
    template <int... I> static void call(void** arguments, StubIndices<I...>) { Kernel(*(A*)arguments[I]...); }
    static void run(void** arguments) { call(arguments, typename StubCount<sizeof...(A)>::Type()); }
    // The number of parameters and their sizes.
    static constexpr unsigned parameters[sizeof...(A) + 1] = {sizeof...(A), sizeof(A)...};
};
#define STUB_EXPORT(kernel, name)                                                                                  \
    extern "C" __attribute__((visibility("default"))) const unsigned* const name##_parameters = StubKernel<&kernel>::parameters;  \
    extern "C" __attribute__((visibility("default"))) int name(void** arguments, const Dim3* blocks, const Dim3* threads) { \
        Launch launch = {StubKernel<&kernel>::run, arguments, *blocks, *threads};                                  \
        return stub_cuda_launch(&launch);                                                                          \
    }
