//! The arithmetic of a tile, per kind of operand.
//!
//! A tile multiplies *steps*: the numbers of a row of A, and of a column of B, that one lane of a vector holds. A step of `f32` or `f64` is one number. A step
//! of narrow numbers is as many of them, of consecutive `k`, as 32 bits hold, because CPUs have instructions that multiply them pairwise and add the
//! products to a sum of 32 bits. All else that a product consists of (packing, blocking, epilogues) sees steps only.

use half::bf16;
use std::marker::PhantomData;

use super::finish::FinishPart;
use crate::simd::vector::{Lanes, MathVector, Portable, Vector};

/// A way to multiply the steps of A and B.
///
/// # Safety
/// Each method may be called only on a CPU that has the instruction set of the implementing type.
pub(crate) unsafe trait Dot {
    /// The numbers of one lane, in memory.
    type Step: Copy;
    /// A vector of steps, of A or of B.
    type Steps: Copy;
    /// A vector of sums.
    type Sums: FinishPart;

    unsafe fn zero() -> Self::Steps;
    /// Returns a step of A in every lane.
    unsafe fn splat(step: Self::Step) -> Self::Steps;
    /// Returns as many steps of B as there are lanes. They need no alignment.
    unsafe fn load(p: *const Self::Step) -> Self::Steps;
    /// Adds the products of the numbers of each lane to the sum of the lane.
    unsafe fn add_products(a: Self::Steps, b: Self::Steps, sums: Self::Sums) -> Self::Sums;
}

// SAFETY: the vector's methods, under the same requirements.
unsafe impl<V: Vector + FinishPart> Dot for V {
    type Step = V::Elem;
    type Steps = V;
    type Sums = V;

    #[inline(always)]
    unsafe fn zero() -> V {
        // SAFETY: the CPU has the instruction set, by the trait's contract.
        unsafe { <V as Lanes>::zero() }
    }
    #[inline(always)]
    unsafe fn splat(step: V::Elem) -> V {
        // SAFETY: as above.
        unsafe { <V as Lanes>::splat(step) }
    }
    #[inline(always)]
    unsafe fn load(p: *const V::Elem) -> V {
        // SAFETY: as above; the caller guarantees that the steps are readable.
        unsafe { <V as Lanes>::load(p) }
    }
    #[inline(always)]
    unsafe fn add_products(a: V, b: V, sums: V) -> V {
        // SAFETY: as above.
        unsafe { a.mul_add(b, sums) }
    }
}

/// The numbers of a step of `bfloat16`.
pub(crate) type Pair = [bf16; 2];

/// Pairs of `bfloat16` that are widened to two vectors of `f32`. Products of two such numbers are exact, so each addition rounds once: first the product of
/// the second numbers is added, then that of the first, as `vdpbf16ps` does.
pub(crate) struct WidenedPairs<V>(PhantomData<V>);

// SAFETY: the vector's methods, under the same requirements.
unsafe impl<V: MathVector + FinishPart> Dot for WidenedPairs<V> {
    type Step = Pair;
    type Steps = [V; 2];
    type Sums = V;

    #[inline(always)]
    unsafe fn zero() -> [V; 2] {
        // SAFETY: the CPU has the instruction set, by the trait's contract.
        unsafe { [V::zero(); 2] }
    }
    #[inline(always)]
    unsafe fn splat([first, second]: Pair) -> [V; 2] {
        let wide = |x: bf16| f32::from_bits(u32::from(x.to_bits()) << 16);
        // SAFETY: as above.
        unsafe { [<V as Lanes>::splat(wide(first)), <V as Lanes>::splat(wide(second))] }
    }
    #[inline(always)]
    unsafe fn load(p: *const Pair) -> [V; 2] {
        // SAFETY: as above; a pair has the size of an `f32`, and the caller guarantees that `LANES` of them are readable.
        unsafe {
            let pairs = <V as Lanes>::load(p.cast()).bits();
            [V::from_bits(V::int_shl::<16>(pairs)), V::from_bits(V::int_and(pairs, V::int_splat(0xffff_0000_u32 as i32)))]
        }
    }
    #[inline(always)]
    unsafe fn add_products(a: [V; 2], b: [V; 2], sums: V) -> V {
        // SAFETY: as above.
        unsafe { a[0].mul_add(b[0], a[1].mul_add(b[1], sums)) }
    }
}

/// The numbers of a step of bytes: those of A are unsigned, those of B have signs.
pub(crate) type Quad = [u8; 4];

/// Quads of bytes that are multiplied in plain Rust.
pub(crate) struct PortableQuads;

// SAFETY: plain Rust; only `load` has a requirement.
unsafe impl Dot for PortableQuads {
    type Step = Quad;
    type Steps = [Quad; 4];
    type Sums = Portable<i32, 4>;

    #[inline(always)]
    unsafe fn zero() -> [Quad; 4] {
        [[0; 4]; 4]
    }
    #[inline(always)]
    unsafe fn splat(step: Quad) -> [Quad; 4] {
        [step; 4]
    }
    #[inline(always)]
    unsafe fn load(p: *const Quad) -> [Quad; 4] {
        // SAFETY: the caller guarantees that four steps are readable.
        unsafe { p.cast::<[Quad; 4]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn add_products(a: [Quad; 4], b: [Quad; 4], mut sums: Self::Sums) -> Self::Sums {
        for i in 0..4 {
            for j in 0..4 {
                sums.0[i] = sums.0[i].wrapping_add(i32::from(a[i][j]) * i32::from(b[i][j] as i8));
            }
        }
        sums
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod x86 {
    use super::{Dot, Pair, Quad};
    use crate::simd::x86::{F32x16, I32x8, I32x16};
    use core::arch::x86_64::*;

    /// Defines the methods of [`Dot`] as intrinsics.
    macro_rules! methods {
        ($(fn $name:ident ($($arg:ident : $ty:ty),*) -> $ret:ty = $body:expr;)*) => {$(
            #[inline(always)]
            unsafe fn $name ($($arg: $ty),*) -> $ret {
                // SAFETY: by the trait's contract, the CPU has the instruction set, and pointers are valid for the lanes.
                unsafe { $body }
            }
        )*};
    }

    /// Pairs of `bfloat16`, for AVX512-BF16.
    pub(crate) struct Bf16x32;

    // SAFETY: intrinsics, correct on any CPU that has the instruction set.
    unsafe impl Dot for Bf16x32 {
        type Step = Pair;
        type Steps = __m512i;
        type Sums = F32x16;

        methods! {
            fn zero() -> __m512i = _mm512_setzero_si512();
            fn splat(step: Pair) -> __m512i = _mm512_set1_epi32(bytemuck::cast(step));
            fn load(p: *const Pair) -> __m512i = _mm512_loadu_si512(p.cast());
            fn add_products(a: __m512i, b: __m512i, sums: F32x16) -> F32x16 = {
                // Both types are 64 bytes of any value.
                let (a, b) = (std::mem::transmute::<__m512i, __m512bh>(a), std::mem::transmute::<__m512i, __m512bh>(b));
                F32x16(_mm512_dpbf16_ps(sums.0, a, b))
            };
        }
    }

    /// Quads of bytes, for AVX512-VNNI.
    pub(crate) struct Bytes64;

    // SAFETY: intrinsics, correct on any CPU that has the instruction set.
    unsafe impl Dot for Bytes64 {
        type Step = Quad;
        type Steps = __m512i;
        type Sums = I32x16;

        methods! {
            fn zero() -> __m512i = _mm512_setzero_si512();
            fn splat(step: Quad) -> __m512i = _mm512_set1_epi32(i32::from_ne_bytes(step));
            fn load(p: *const Quad) -> __m512i = _mm512_loadu_si512(p.cast());
            fn add_products(a: __m512i, b: __m512i, sums: I32x16) -> I32x16 = I32x16(_mm512_dpbusd_epi32(sums.0, a, b));
        }
    }

    // Without VNNI, bytes are widened to 16 bits, of which `madd` adds two products in 32 bits. `maddubs`, which multiplies bytes, would limit the sum of two
    // products to 16 bits.

    /// Quads of bytes that are widened to words, for AVX-512.
    pub(crate) struct WidenedBytes64;

    // SAFETY: intrinsics, correct on any CPU that has the instruction set.
    unsafe impl Dot for WidenedBytes64 {
        type Step = Quad;
        type Steps = [__m512i; 2];
        type Sums = I32x16;

        methods! {
            fn zero() -> [__m512i; 2] = [_mm512_setzero_si512(); 2];
            fn splat(step: Quad) -> [__m512i; 2] = {
                let quads = _mm512_set1_epi32(i32::from_ne_bytes(step));
                [_mm512_and_si512(quads, _mm512_set1_epi16(0xff)), _mm512_srli_epi16::<8>(quads)]
            };
            fn load(p: *const Quad) -> [__m512i; 2] = {
                let quads = _mm512_loadu_si512(p.cast());
                [_mm512_srai_epi16::<8>(_mm512_slli_epi16::<8>(quads)), _mm512_srai_epi16::<8>(quads)]
            };
            fn add_products(a: [__m512i; 2], b: [__m512i; 2], sums: I32x16) -> I32x16 = {
                let products = _mm512_add_epi32(_mm512_madd_epi16(a[0], b[0]), _mm512_madd_epi16(a[1], b[1]));
                I32x16(_mm512_add_epi32(sums.0, products))
            };
        }
    }

    /// Quads of bytes that are widened to words, for AVX2.
    pub(crate) struct WidenedBytes32;

    // SAFETY: intrinsics, correct on any CPU that has the instruction set.
    unsafe impl Dot for WidenedBytes32 {
        type Step = Quad;
        type Steps = [__m256i; 2];
        type Sums = I32x8;

        methods! {
            fn zero() -> [__m256i; 2] = [_mm256_setzero_si256(); 2];
            fn splat(step: Quad) -> [__m256i; 2] = {
                let quads = _mm256_set1_epi32(i32::from_ne_bytes(step));
                [_mm256_and_si256(quads, _mm256_set1_epi16(0xff)), _mm256_srli_epi16::<8>(quads)]
            };
            fn load(p: *const Quad) -> [__m256i; 2] = {
                let quads = _mm256_loadu_si256(p.cast());
                [_mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(quads)), _mm256_srai_epi16::<8>(quads)]
            };
            fn add_products(a: [__m256i; 2], b: [__m256i; 2], sums: I32x8) -> I32x8 = {
                let products = _mm256_add_epi32(_mm256_madd_epi16(a[0], b[0]), _mm256_madd_epi16(a[1], b[1]));
                I32x8(_mm256_add_epi32(sums.0, products))
            };
        }
    }
}
