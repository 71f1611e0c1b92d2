//! Conversions of slices between `f32` and the floats of 16 bits.

use crate::dispatch;
use crate::simd::{Isa, isa};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A float of 16 bits.
pub trait Float16: Copy {
    /// Computes `dst[i] = src[i]`.
    ///
    /// # Panics
    /// Panics if the lengths differ.
    fn widen_slice(src: &[Self], dst: &mut [f32]);

    /// Computes `dst[i] = src[i]`, rounded to the nearest number; of two equally near ones, to the one with an even mantissa.
    ///
    /// # Panics
    /// Panics if the lengths differ.
    fn narrow_slice(src: &[f32], dst: &mut [Self]);
}

impl Float16 for f16 {
    fn widen_slice(src: &[f16], dst: &mut [f32]) {
        widen_f16(isa(), src, dst);
    }

    fn narrow_slice(src: &[f32], dst: &mut [f16]) {
        narrow_f16(isa(), src, dst);
    }
}

fn widen_f16(isa: Isa, src: &[f16], dst: &mut [f32]) {
    assert_eq!(src.len(), dst.len());
    match isa {
        // SAFETY: the CPU has this instruction set.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { x86::widen_avx512(src.reinterpret_cast(), dst) },
        // SAFETY: the CPU has this instruction set.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { x86::widen_avx2(src.reinterpret_cast(), dst) },
        _ => src.convert_to_f32_slice(dst),
    }
}

fn narrow_f16(isa: Isa, src: &[f32], dst: &mut [f16]) {
    assert_eq!(src.len(), dst.len());
    match isa {
        // SAFETY: the CPU has this instruction set.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { x86::narrow_avx512(src, dst.reinterpret_cast_mut()) },
        // SAFETY: the CPU has this instruction set.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { x86::narrow_avx2(src, dst.reinterpret_cast_mut()) },
        _ => dst.convert_from_f32_slice(src),
    }
}

impl Float16 for bf16 {
    fn widen_slice(src: &[bf16], dst: &mut [f32]) {
        assert_eq!(src.len(), dst.len());
        widen_bf16(src, dst);
    }

    fn narrow_slice(src: &[f32], dst: &mut [bf16]) {
        assert_eq!(src.len(), dst.len());
        narrow_bf16(src, dst);
    }
}

/// The bit of a quiet NaN.
const QUIET: u32 = 1 << 22;

dispatch! {
    fn widen_bf16(src: &[bf16], dst: &mut [f32]) {
        for (dst, src) in dst.iter_mut().zip(src) {
            let bits = u32::from(src.to_bits()) << 16;
            *dst = f32::from_bits(if src.is_nan() { bits | QUIET } else { bits });
        }
    }

    fn narrow_bf16(src: &[f32], dst: &mut [bf16]) {
        for (dst, src) in dst.iter_mut().zip(src) {
            let bits = src.to_bits();
            // Half of the last place, less one if the mantissa is even. A NaN keeps its sign and stays a NaN.
            let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
            *dst = bf16::from_bits(if src.is_nan() { (bits | QUIET) >> 16 } else { rounded } as u16);
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    /// The elements of a vector of AVX-512.
    const LANES: usize = 16;

    macro_rules! conversion {
        ($features:literal, $name:ident, $from:ty, $to:ty, |$src:ident, $dst:ident| $convert:expr) => {
            #[target_feature(enable = $features)]
            pub(super) fn $name(src: &[$from], dst: &mut [$to]) {
                let convert = |$src: &[$from; LANES], $dst: &mut [$to; LANES]| {
                    let ($src, $dst) = ($src.as_ptr(), $dst.as_mut_ptr());
                    // SAFETY: both arrays have the elements that are read and written.
                    unsafe { $convert }
                };
                let ((src, src_rest), (dst, dst_rest)) = (src.as_chunks::<LANES>(), dst.as_chunks_mut::<LANES>());
                src.iter().zip(dst).for_each(|(src, dst)| convert(src, dst));
                if !src_rest.is_empty() {
                    let (mut last, mut converted) = ([<$from>::default(); LANES], [<$to>::default(); LANES]);
                    last[..src_rest.len()].copy_from_slice(src_rest);
                    convert(&last, &mut converted);
                    dst_rest.copy_from_slice(&converted[..src_rest.len()]);
                }
            }
        };
    }

    conversion!("avx512f", widen_avx512, u16, f32, |src, dst| _mm512_storeu_ps(dst, _mm512_cvtph_ps(_mm256_loadu_si256(src.cast()))));
    conversion!("avx512f", narrow_avx512, f32, u16, |src, dst| {
        _mm256_storeu_si256(dst.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_loadu_ps(src)));
    });
    conversion!("avx2,f16c", widen_avx2, u16, f32, |src, dst| {
        for half in [0, LANES / 2] {
            _mm256_storeu_ps(dst.add(half), _mm256_cvtph_ps(_mm_loadu_si128(src.add(half).cast())));
        }
    });
    conversion!("avx2,f16c", narrow_avx2, f32, u16, |src, dst| {
        for half in [0, LANES / 2] {
            _mm_storeu_si128(dst.add(half).cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_loadu_ps(src.add(half))));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of any exponent: those that halves have, half-way cases, their neighbours and NaNs.
    fn floats() -> impl Iterator<Item = f32> {
        (0..1 << 19).map(|i: u32| f32::from_bits((i << 13).wrapping_add(i % 3).wrapping_sub(1)))
    }

    #[test]
    fn halves_are_converted_like_single_ones() {
        let (halves, floats): (Vec<f16>, Vec<f32>) = ((0..=u16::MAX).map(f16::from_bits).collect(), floats().collect());
        for isa in Isa::available() {
            let (mut wide, mut narrow) = (vec![0.0; halves.len()], vec![f16::ZERO; floats.len()]);
            widen_f16(isa, &halves, &mut wide);
            narrow_f16(isa, &floats, &mut narrow);
            assert!(wide.iter().zip(&halves).all(|(wide, half)| wide.to_bits() == half.to_f32().to_bits()));
            assert!(narrow.iter().zip(&floats).all(|(narrow, float)| narrow.to_bits() == f16::from_f32(*float).to_bits()));
        }
    }

    #[test]
    fn brain_floats_are_converted_like_single_ones() {
        let (halves, floats): (Vec<bf16>, Vec<f32>) = ((0..=u16::MAX).map(bf16::from_bits).collect(), floats().collect());
        let (mut wide, mut narrow) = (vec![0.0; halves.len()], vec![bf16::ZERO; floats.len()]);
        bf16::widen_slice(&halves, &mut wide);
        bf16::narrow_slice(&floats, &mut narrow);
        assert!(wide.iter().zip(&halves).all(|(wide, half)| wide.to_bits() == half.to_f32().to_bits()));
        assert!(narrow.iter().zip(&floats).all(|(narrow, float)| narrow.to_bits() == bf16::from_f32(*float).to_bits()));
    }

    #[test]
    fn slices_of_any_length_are_converted() {
        for (len, isa) in (0..50).flat_map(|len| Isa::available().map(move |isa| (len, isa))) {
            let floats: Vec<f32> = (0..len).map(|i| i as f32 + 0.5).collect();
            let (mut halves, mut wide) = (vec![f16::ZERO; len], vec![0.0; len]);
            narrow_f16(isa, &floats, &mut halves);
            widen_f16(isa, &halves, &mut wide);
            assert_eq!(wide, floats);
        }
    }

    #[test]
    #[should_panic(expected = "left == right")]
    fn lengths_must_be_equal() {
        f16::widen_slice(&[f16::ONE], &mut [0.0; 2]);
    }
}
