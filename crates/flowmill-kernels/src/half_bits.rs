//! Conversions between `float16` and `float32` without branches, for loops that the compiler vectorises. Those of the crate `half` ask for each element
//! if the CPU has an instruction for it.

/// The least positive `float16`.
const LEAST: f32 = 1.0 / 16_777_216.0;

/// Returns the value of a `float16` with these bits.
#[inline(always)]
pub(crate) fn widened(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff);
    // A denormal `float16` is computed from the integer, since its bits could be those of a denormal `float32`, which kernels take for zero.
    let denormal = (magnitude as i32 as f32 * LEAST).to_bits();
    let finite = if magnitude < 0x400 { denormal } else { (magnitude << 13) + (112 << 23) };
    let special = if magnitude >= 0x7c00 { 0x7f80_0000 } else { 0 };
    let quiet = if magnitude > 0x7c00 { 0x0040_0000 } else { 0 };
    f32::from_bits(finite | special | quiet | u32::from(bits & 0x8000) << 16)
}

/// Returns the bits of the `float16` that is nearest to `x`, halves to even.
#[inline(always)]
pub(crate) fn narrowed(x: f32) -> u16 {
    let (sign, magnitude) = ((x.to_bits() >> 16) & 0x8000, x.to_bits() & 0x7fff_ffff);
    // The sum with 0.5 is rounded where the mantissa of a denormal `float16` ends.
    let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    // Another bias of the exponent, and half of the last place less one bit, which a last place of 1 adds.
    let normal = magnitude.wrapping_add(0xc800_0fff).wrapping_add((magnitude >> 13) & 1) >> 13;
    let finite = if magnitude < 0x3880_0000 { denormal } else { normal };
    let nan = 0x7e00 | (magnitude >> 13) & 0x3ff;
    let special = if magnitude > 0x7f80_0000 { nan } else { 0x7c00 };
    // From 65536 on there is no finite number; those from 65520 on are rounded to infinity above.
    (sign | if magnitude >= 0x4780_0000 { special } else { finite }) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_tensor::f16;

    #[test]
    fn all_halves_are_widened_and_narrowed_as_by_the_library() {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits).to_f32();
            assert_eq!(widened(bits).to_bits(), value.to_bits(), "{bits:#x}");
            for near in [-1i32, 0, 1, 0xfff, 0x1000, 0x1001] {
                let x = f32::from_bits(value.to_bits().wrapping_add_signed(near));
                assert_eq!(narrowed(x), f16::from_f32(x).to_bits(), "{x} {:#x}", x.to_bits());
            }
        }
    }

    #[test]
    fn any_float_is_narrowed_as_by_the_library() {
        for bits in (0..=u32::MAX).step_by(4_093) {
            let x = f32::from_bits(bits);
            assert_eq!(narrowed(x), f16::from_f32(x).to_bits(), "{x} {bits:#x}");
        }
    }
}
