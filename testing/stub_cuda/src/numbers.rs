//! Floats of 16 bits, as libraries have them.

/// An element of a tensor.
pub(crate) trait Number: Copy + 'static {
    fn value(self) -> f32;
    fn of(value: f32) -> Self;
}

impl Number for f32 {
    fn value(self) -> f32 {
        self
    }

    fn of(value: f32) -> f32 {
        value
    }
}

/// An IEEE float of 16 bits.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Half(u16);

impl Number for Half {
    fn value(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, u32::from(self.0 & 0x7fff));
        match magnitude {
            0..0x400 => f32::from_bits(sign | (magnitude as f32 * 2f32.powi(-24)).to_bits()),
            0x400..0x7c00 => f32::from_bits(sign | ((magnitude << 13) + 0x3800_0000)),
            _ => f32::from_bits(sign | ((magnitude << 13) + 0x7000_0000)),
        }
    }

    fn of(value: f32) -> Half {
        let (sign, magnitude) = ((value.to_bits() >> 16 & 0x8000) as u16, value.to_bits() & 0x7fff_ffff);
        Half(match magnitude {
            0x7f80_0001.. => 0x7fff,
            0x477f_f000.. => sign | 0x7c00,
            // The float's own rounding at the place of the subnormal's last bit.
            0..0x3880_0000 => sign | ((f32::from_bits(magnitude) + 0.5).to_bits() - 0x3f00_0000) as u16,
            _ => sign | ((magnitude + 0xfff + (magnitude >> 13 & 1) - 0x3800_0000) >> 13) as u16,
        })
    }
}

/// A `bfloat16`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Bfloat(u16);

impl Number for Bfloat {
    fn value(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    fn of(value: f32) -> Bfloat {
        let bits = value.to_bits();
        Bfloat(if value.is_nan() { 0x7fc0 } else { ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16 })
    }
}
