//! AVX2 and AVX-512 vectors.
//!
//! Each method is one or two instructions. The trait's contract (the CPU has the instruction set) makes the intrinsics sound, so the blocks below
//! repeat only that.

use core::arch::x86_64::*;

use super::vector::{Lanes, MathVector, Vector};

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F32x16(pub(crate) __m512);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F32x8(__m256);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F64x8(__m512d);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct F64x4(__m256d);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct I32x16(pub(crate) __m512i);
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct I32x8(pub(crate) __m256i);

/// Returns the mask whose first `n` lanes are set.
#[inline(always)]
fn first16(n: usize) -> __mmask16 {
    if n >= 16 { !0 } else { (1u16 << n) - 1 }
}

/// Returns the mask whose first `n` lanes are set.
#[inline(always)]
fn first8(n: usize) -> __mmask8 {
    if n >= 8 { !0 } else { (1u8 << n) - 1 }
}

/// A table of masks: `MASK_WINDOW[8 - n..]` starts with `n` words of ones, which is AVX2's form of a mask of the first `n` lanes.
static MASK_WINDOW: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

#[inline(always)]
unsafe fn first_words(n: usize) -> __m256i {
    // SAFETY: `n` is clamped to 8, so 8 words from `8 - n` lie inside the table; AVX2 by the caller.
    unsafe { _mm256_loadu_si256(MASK_WINDOW.as_ptr().add(8 - n.min(8)).cast()) }
}

#[inline(always)]
unsafe fn first_double_words(n: usize) -> __m256i {
    // SAFETY: `n` is clamped to 4, so 8 words from `8 - 2 n` lie inside the table; AVX2 by the caller.
    unsafe { _mm256_loadu_si256(MASK_WINDOW.as_ptr().add(8 - 2 * n.min(4)).cast()) }
}

/// Defines methods of a vector trait whose bodies are intrinsics.
macro_rules! methods {
    ($(fn $name:ident $(<const $N:ident : u32>)? ($($arg:ident : $ty:ty),*) $(-> $ret:ty)? = $body:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name $(<const $N: u32>)? ($($arg: $ty),*) $(-> $ret)? {
            // SAFETY: by the trait's contract, the CPU has the instruction set, and pointers are valid for the lanes used.
            unsafe { $body }
        }
    )*};
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for F32x16 {
    type Elem = f32;
    const LANES: usize = 16;

    methods! {
        fn splat(x: f32) -> Self = Self(_mm512_set1_ps(x));
        fn zero() -> Self = Self(_mm512_setzero_ps());
        fn load(p: *const f32) -> Self = Self(_mm512_loadu_ps(p));
        fn store(self: Self, p: *mut f32) = _mm512_storeu_ps(p, self.0);
        fn load_part(p: *const f32, n: usize) -> Self = Self(_mm512_maskz_loadu_ps(first16(n), p));
        fn store_part(self: Self, p: *mut f32, n: usize) = _mm512_mask_storeu_ps(p, first16(n), self.0);
        fn add(self: Self, b: Self) -> Self = Self(_mm512_add_ps(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm512_max_ps(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm512_min_ps(self.0, b.0));
    }
}

// SAFETY: as above.
unsafe impl Vector for F32x16 {
    methods! {
        fn sub(self: Self, b: Self) -> Self = Self(_mm512_sub_ps(self.0, b.0));
        fn mul(self: Self, b: Self) -> Self = Self(_mm512_mul_ps(self.0, b.0));
        fn div(self: Self, b: Self) -> Self = Self(_mm512_div_ps(self.0, b.0));
        fn mul_add(self: Self, b: Self, c: Self) -> Self = Self(_mm512_fmadd_ps(self.0, b.0, c.0));
        fn sum(self: Self) -> f32 = F32x8(_mm256_add_ps(_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0))).sum();
    }
}

// AVX2's masked stores are microcode on some CPUs (AMD's), ten times as slow as plain ones. So a part that is a whole vector is stored plainly:
// loops over parts have a whole vector in every iteration except the last.
// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for F32x8 {
    type Elem = f32;
    const LANES: usize = 8;

    methods! {
        fn splat(x: f32) -> Self = Self(_mm256_set1_ps(x));
        fn zero() -> Self = Self(_mm256_setzero_ps());
        fn load(p: *const f32) -> Self = Self(_mm256_loadu_ps(p));
        fn store(self: Self, p: *mut f32) = _mm256_storeu_ps(p, self.0);
        fn load_part(p: *const f32, n: usize) -> Self = if n >= 8 { Self::load(p) } else { Self(_mm256_maskload_ps(p, first_words(n))) };
        fn store_part(self: Self, p: *mut f32, n: usize) = if n >= 8 { self.store(p) } else { _mm256_maskstore_ps(p, first_words(n), self.0) };
        fn add(self: Self, b: Self) -> Self = Self(_mm256_add_ps(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm256_max_ps(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm256_min_ps(self.0, b.0));
    }
}

// SAFETY: as above.
unsafe impl Vector for F32x8 {
    methods! {
        fn sub(self: Self, b: Self) -> Self = Self(_mm256_sub_ps(self.0, b.0));
        fn mul(self: Self, b: Self) -> Self = Self(_mm256_mul_ps(self.0, b.0));
        fn div(self: Self, b: Self) -> Self = Self(_mm256_div_ps(self.0, b.0));
        fn mul_add(self: Self, b: Self, c: Self) -> Self = Self(_mm256_fmadd_ps(self.0, b.0, c.0));
        fn sum(self: Self) -> f32 = {
            let four = _mm_add_ps(_mm256_castps256_ps128(self.0), _mm256_extractf128_ps::<1>(self.0));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        };
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for F64x8 {
    type Elem = f64;
    const LANES: usize = 8;

    methods! {
        fn splat(x: f64) -> Self = Self(_mm512_set1_pd(x));
        fn zero() -> Self = Self(_mm512_setzero_pd());
        fn load(p: *const f64) -> Self = Self(_mm512_loadu_pd(p));
        fn store(self: Self, p: *mut f64) = _mm512_storeu_pd(p, self.0);
        fn load_part(p: *const f64, n: usize) -> Self = Self(_mm512_maskz_loadu_pd(first8(n), p));
        fn store_part(self: Self, p: *mut f64, n: usize) = _mm512_mask_storeu_pd(p, first8(n), self.0);
        fn add(self: Self, b: Self) -> Self = Self(_mm512_add_pd(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm512_max_pd(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm512_min_pd(self.0, b.0));
    }
}

// SAFETY: as above.
unsafe impl Vector for F64x8 {
    methods! {
        fn sub(self: Self, b: Self) -> Self = Self(_mm512_sub_pd(self.0, b.0));
        fn mul(self: Self, b: Self) -> Self = Self(_mm512_mul_pd(self.0, b.0));
        fn div(self: Self, b: Self) -> Self = Self(_mm512_div_pd(self.0, b.0));
        fn mul_add(self: Self, b: Self, c: Self) -> Self = Self(_mm512_fmadd_pd(self.0, b.0, c.0));
        fn sum(self: Self) -> f64 = F64x4(_mm256_add_pd(_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0))).sum();
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for F64x4 {
    type Elem = f64;
    const LANES: usize = 4;

    methods! {
        fn splat(x: f64) -> Self = Self(_mm256_set1_pd(x));
        fn zero() -> Self = Self(_mm256_setzero_pd());
        fn load(p: *const f64) -> Self = Self(_mm256_loadu_pd(p));
        fn store(self: Self, p: *mut f64) = _mm256_storeu_pd(p, self.0);
        fn load_part(p: *const f64, n: usize) -> Self = if n >= 4 { Self::load(p) } else { Self(_mm256_maskload_pd(p, first_double_words(n))) };
        fn store_part(self: Self, p: *mut f64, n: usize) = if n >= 4 { self.store(p) } else { _mm256_maskstore_pd(p, first_double_words(n), self.0) };
        fn add(self: Self, b: Self) -> Self = Self(_mm256_add_pd(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm256_max_pd(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm256_min_pd(self.0, b.0));
    }
}

// SAFETY: as above.
unsafe impl Vector for F64x4 {
    methods! {
        fn sub(self: Self, b: Self) -> Self = Self(_mm256_sub_pd(self.0, b.0));
        fn mul(self: Self, b: Self) -> Self = Self(_mm256_mul_pd(self.0, b.0));
        fn div(self: Self, b: Self) -> Self = Self(_mm256_div_pd(self.0, b.0));
        fn mul_add(self: Self, b: Self, c: Self) -> Self = Self(_mm256_fmadd_pd(self.0, b.0, c.0));
        fn sum(self: Self) -> f64 = {
            let two = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
        };
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for I32x16 {
    type Elem = i32;
    const LANES: usize = 16;

    methods! {
        fn splat(x: i32) -> Self = Self(_mm512_set1_epi32(x));
        fn zero() -> Self = Self(_mm512_setzero_si512());
        fn load(p: *const i32) -> Self = Self(_mm512_loadu_si512(p.cast()));
        fn store(self: Self, p: *mut i32) = _mm512_storeu_si512(p.cast(), self.0);
        fn load_part(p: *const i32, n: usize) -> Self = Self(_mm512_maskz_loadu_epi32(first16(n), p));
        fn store_part(self: Self, p: *mut i32, n: usize) = _mm512_mask_storeu_epi32(p, first16(n), self.0);
        fn add(self: Self, b: Self) -> Self = Self(_mm512_add_epi32(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm512_max_epi32(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm512_min_epi32(self.0, b.0));
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl Lanes for I32x8 {
    type Elem = i32;
    const LANES: usize = 8;

    methods! {
        fn splat(x: i32) -> Self = Self(_mm256_set1_epi32(x));
        fn zero() -> Self = Self(_mm256_setzero_si256());
        fn load(p: *const i32) -> Self = Self(_mm256_loadu_si256(p.cast()));
        fn store(self: Self, p: *mut i32) = _mm256_storeu_si256(p.cast(), self.0);
        fn load_part(p: *const i32, n: usize) -> Self = if n >= 8 { Self::load(p) } else { Self(_mm256_maskload_epi32(p, first_words(n))) };
        fn store_part(self: Self, p: *mut i32, n: usize) = if n >= 8 { self.store(p) } else { _mm256_maskstore_epi32(p, first_words(n), self.0) };
        fn add(self: Self, b: Self) -> Self = Self(_mm256_add_epi32(self.0, b.0));
        fn max(self: Self, b: Self) -> Self = Self(_mm256_max_epi32(self.0, b.0));
        fn min(self: Self, b: Self) -> Self = Self(_mm256_min_epi32(self.0, b.0));
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl MathVector for F32x16 {
    type Int = __m512i;
    type Mask = __mmask16;

    methods! {
        fn load_part_or(p: *const f32, n: usize, fill: f32) -> Self
            = Self(_mm512_mask_loadu_ps(_mm512_set1_ps(fill), first16(n), p));
        fn sqrt(self: Self) -> Self = Self(_mm512_sqrt_ps(self.0));
        fn abs(self: Self) -> Self = Self(_mm512_abs_ps(self.0));
        fn round(self: Self) -> Self = Self(_mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        fn to_int(self: Self) -> __m512i = _mm512_cvtps_epi32(self.0);
        fn from_int(i: __m512i) -> Self = Self(_mm512_cvtepi32_ps(i));
        fn bits(self: Self) -> __m512i = _mm512_castps_si512(self.0);
        fn from_bits(i: __m512i) -> Self = Self(_mm512_castsi512_ps(i));
        fn int_splat(i: i32) -> __m512i = _mm512_set1_epi32(i);
        fn int_add(a: __m512i, b: __m512i) -> __m512i = _mm512_add_epi32(a, b);
        fn int_sub(a: __m512i, b: __m512i) -> __m512i = _mm512_sub_epi32(a, b);
        fn int_and(a: __m512i, b: __m512i) -> __m512i = _mm512_and_si512(a, b);
        fn int_or(a: __m512i, b: __m512i) -> __m512i = _mm512_or_si512(a, b);
        fn int_xor(a: __m512i, b: __m512i) -> __m512i = _mm512_xor_si512(a, b);
        fn int_shl<const N: u32>(a: __m512i) -> __m512i = _mm512_sll_epi32(a, _mm_cvtsi32_si128(N as i32));
        fn int_sar<const N: u32>(a: __m512i) -> __m512i = _mm512_sra_epi32(a, _mm_cvtsi32_si128(N as i32));
        fn int_eq(a: __m512i, b: __m512i) -> __mmask16 = _mm512_cmpeq_epi32_mask(a, b);
        fn lt(self: Self, b: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, b.0);
        fn is_nan(self: Self) -> __mmask16 = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, self.0);
        fn any(m: __mmask16) -> bool = _cvtmask16_u32(m) != 0;
        fn select(m: __mmask16, a: Self, b: Self) -> Self = Self(_mm512_mask_blend_ps(m, b.0, a.0));
    }
}

// SAFETY: lane-wise intrinsics, correct on any CPU that has the instruction set.
unsafe impl MathVector for F32x8 {
    type Int = __m256i;
    type Mask = __m256;

    methods! {
        fn load_part_or(p: *const f32, n: usize, fill: f32) -> Self
            = Self(_mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, first_words(n)), _mm256_castsi256_ps(first_words(n))));
        fn sqrt(self: Self) -> Self = Self(_mm256_sqrt_ps(self.0));
        fn abs(self: Self) -> Self = Self(_mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0));
        fn round(self: Self) -> Self = Self(_mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0));
        fn to_int(self: Self) -> __m256i = _mm256_cvtps_epi32(self.0);
        fn from_int(i: __m256i) -> Self = Self(_mm256_cvtepi32_ps(i));
        fn bits(self: Self) -> __m256i = _mm256_castps_si256(self.0);
        fn from_bits(i: __m256i) -> Self = Self(_mm256_castsi256_ps(i));
        fn int_splat(i: i32) -> __m256i = _mm256_set1_epi32(i);
        fn int_add(a: __m256i, b: __m256i) -> __m256i = _mm256_add_epi32(a, b);
        fn int_sub(a: __m256i, b: __m256i) -> __m256i = _mm256_sub_epi32(a, b);
        fn int_and(a: __m256i, b: __m256i) -> __m256i = _mm256_and_si256(a, b);
        fn int_or(a: __m256i, b: __m256i) -> __m256i = _mm256_or_si256(a, b);
        fn int_xor(a: __m256i, b: __m256i) -> __m256i = _mm256_xor_si256(a, b);
        fn int_shl<const N: u32>(a: __m256i) -> __m256i = _mm256_sll_epi32(a, _mm_cvtsi32_si128(N as i32));
        fn int_sar<const N: u32>(a: __m256i) -> __m256i = _mm256_sra_epi32(a, _mm_cvtsi32_si128(N as i32));
        fn int_eq(a: __m256i, b: __m256i) -> __m256 = _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b));
        fn lt(self: Self, b: Self) -> __m256 = _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, b.0);
        fn is_nan(self: Self) -> __m256 = _mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0);
        fn any(m: __m256) -> bool = _mm256_movemask_ps(m) != 0;
        fn select(m: __m256, a: Self, b: Self) -> Self = Self(_mm256_blendv_ps(b.0, a.0, m));
    }
}
