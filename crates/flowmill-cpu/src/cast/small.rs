//! Casts from and to floats of 8 bits and integers of 4 and 2 bits, one element per byte.
//!
//! A float of 8 bits is widened to `float32` without loss, and a small integer to `int8`; the ordinary casts do the rest. The other way, a float of
//! 8 bits is rounded once, from `float64`, to the nearest value, ties to even. A value out of range becomes infinity, or NaN if the type has no
//! infinity. Small integers keep their low bits. These are the conversions of the Python package `ml_dtypes`, which TensorFlow uses.

use super::{Cast, cast_of};
use crate::elementwise::for_blocks;
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::{DType, Result, Tensor};

/// The format of a float of 8 bits: a sign, an exponent and a significand.
#[derive(Clone, Copy)]
struct Float8 {
    /// Bits of the significand without its leading one.
    significand_bits: u32,
    /// The number that is added to an exponent before it is stored.
    bias: i32,
    /// The code of the greatest finite value.
    greatest: u8,
    /// The code of infinity; that of NaN if the type has no infinity.
    infinity: u8,
    /// The code of the NaN without a sign bit.
    nan: u8,
    /// If true, the code of negative zero is the only NaN.
    is_unsigned_zero: bool,
}

impl Float8 {
    fn of(dtype: DType) -> Option<Float8> {
        let unsigned_zero =
            |significand_bits, bias| Float8 { significand_bits, bias, greatest: 0x7f, infinity: 0x80, nan: 0x80, is_unsigned_zero: true };
        Some(match dtype {
            DType::F8E5M2 => Float8 { significand_bits: 2, bias: 15, greatest: 0x7b, infinity: 0x7c, nan: 0x7e, is_unsigned_zero: false },
            DType::F8E4M3FN => Float8 { significand_bits: 3, bias: 7, greatest: 0x7e, infinity: 0x7f, nan: 0x7f, is_unsigned_zero: false },
            DType::F8E4M3FNUZ => unsigned_zero(3, 8),
            DType::F8E4M3B11FNUZ => unsigned_zero(3, 11),
            DType::F8E5M2FNUZ => unsigned_zero(2, 16),
            _ => return None,
        })
    }

    /// Returns the value of a code.
    fn decode(self, code: u8) -> f32 {
        let (sign, magnitude) = (code & 0x80, code & 0x7f);
        let value = if self.is_unsigned_zero && code == self.nan {
            f64::NAN
        } else if magnitude > self.greatest {
            if magnitude == self.infinity && self.infinity != self.nan { f64::INFINITY } else { f64::NAN }
        } else {
            let exponent = i32::from(magnitude >> self.significand_bits);
            let one = 1 << self.significand_bits;
            let significand = i32::from(magnitude) & (one - 1);
            let digits = if exponent == 0 { significand } else { significand + one };
            f64::from(digits) * self.quantum(exponent)
        };
        (if sign == 0 { value } else { -value }) as f32
    }

    /// Returns the distance of neighbouring values with a stored exponent; subnormal numbers have that of exponent 1.
    fn quantum(self, exponent: i32) -> f64 {
        f64::from(exponent.max(1) - self.bias - self.significand_bits as i32).exp2()
    }

    /// Returns the code of the value next to `x`.
    fn encode(self, x: f64) -> u8 {
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        if x.is_nan() {
            return self.nan | sign;
        }
        if x.is_infinite() {
            return self.infinity | sign;
        }
        // Zero and subnormal numbers of `f64` have the exponent -1023 here, far below those of all formats.
        let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023 + self.bias;
        let steps = (x.abs() / self.quantum(exponent)).round_ties_even();
        if exponent > 0x7f || steps > f64::from(u8::MAX) {
            return self.infinity | sign;
        }
        // The leading one is one step of the exponent field, and rounding may carry into it.
        let code = steps as i32 + ((exponent.max(1) - 1) << self.significand_bits);
        match code {
            0 if self.is_unsigned_zero => 0,
            code if code > i32::from(self.greatest) => self.infinity | sign,
            code => code as u8 | sign,
        }
    }
}

/// Returns the byte whose low `bits` bits are those of `byte`, and whose other bits extend their sign, or are zeros.
fn extend(byte: u8, bits: u32, is_signed: bool) -> u8 {
    let unused = u8::BITS - bits;
    if is_signed { ((byte << unused) as i8 >> unused) as u8 } else { byte << unused >> unused }
}

/// A type of less than 16 bits that other kernels do not compute with.
#[derive(Clone, Copy)]
enum Format {
    Float(Float8),
    Int { bits: u32, is_signed: bool },
}

impl Format {
    fn of(dtype: DType) -> Option<Format> {
        let int = |bits, is_signed| Some(Format::Int { bits, is_signed });
        match dtype {
            DType::I4 => int(4, true),
            DType::U4 => int(4, false),
            DType::I2 => int(2, true),
            DType::U2 => int(2, false),
            _ => Float8::of(dtype).map(Format::Float),
        }
    }

    /// Returns the type from which elements are narrowed.
    fn narrowed_from(self) -> DType {
        match self {
            Format::Float(_) => DType::F64,
            Format::Int { is_signed: true, .. } => DType::I8,
            Format::Int { is_signed: false, .. } => DType::U8,
        }
    }
}

/// A cast from or to a type of 8 bits or less: one step to a type that the ordinary casts know, one of theirs, and one to the result's type.
pub(super) struct Small {
    /// The values of all codes, if the source is a float of 8 bits.
    values: Option<Box<[f32; 256]>>,
    /// The bits of the source and whether it has a sign, if it is a small integer.
    source_bits: Option<(u32, bool)>,
    /// The ordinary cast in between; `None` if its types are equal.
    cast: Option<Cast>,
    /// The result's format, if it is small.
    target: Option<Format>,
    to: DType,
}

impl Small {
    /// Returns the cast between two types, at least one of which is small; `None` for other types.
    ///
    /// # Errors
    /// `Unimplemented` if the other type is no number.
    pub(super) fn new(from: DType, to: DType) -> Result<Option<Small>> {
        let (source, target) = (Format::of(from), Format::of(to));
        if source.is_none() && target.is_none() {
            return Ok(None);
        }
        let wide = match source {
            Some(Format::Float(_)) => DType::F32,
            Some(Format::Int { .. }) => DType::I8,
            None => from,
        };
        let narrow = target.map_or(to, Format::narrowed_from);
        Ok(Some(Small {
            values: match source {
                Some(Format::Float(format)) => Some(Box::new(std::array::from_fn(|code| format.decode(code as u8)))),
                _ => None,
            },
            source_bits: match source {
                Some(Format::Int { bits, is_signed }) => Some((bits, is_signed)),
                _ => None,
            },
            cast: if wide == narrow { None } else { Some(cast_of(wide, narrow)?) },
            target,
            to,
        }))
    }

    fn widen(&self, ctx: &KernelContext<'_>, x: &Tensor) -> Result<Tensor> {
        let mut out;
        if let Some(values) = &self.values {
            let codes = x.clone().bitcast(DType::U8)?;
            let codes = codes.as_slice::<u8>()?;
            out = ctx.allocator().uninit(DType::F32, x.shape().clone())?;
            for_blocks(out.as_mut_slice::<f32>()?, 1, &|start, block| {
                block.iter_mut().zip(&codes[start..]).for_each(|(y, &code)| *y = values[usize::from(code)]);
            });
        } else if let Some((bits, is_signed)) = self.source_bits {
            out = x.clone().bitcast(DType::U8)?;
            for_blocks(out.as_mut_slice::<u8>()?, 1, &|_, block| block.iter_mut().for_each(|y| *y = extend(*y, bits, is_signed)));
            out = out.bitcast(DType::I8)?;
        } else {
            out = x.clone();
        }
        Ok(out)
    }

    fn narrow(&self, ctx: &KernelContext<'_>, x: Tensor) -> Result<Tensor> {
        let mut out;
        match self.target {
            None => return Ok(x),
            Some(Format::Float(format)) => {
                let values = x.as_slice::<f64>()?;
                out = ctx.allocator().uninit(DType::U8, x.shape().clone())?;
                for_blocks(out.as_mut_slice::<u8>()?, 8, &|start, block| {
                    block.iter_mut().zip(&values[start..]).for_each(|(y, &x)| *y = format.encode(x));
                });
            }
            Some(Format::Int { bits, is_signed }) => {
                out = x.bitcast(DType::U8)?;
                for_blocks(out.as_mut_slice::<u8>()?, 1, &|_, block| block.iter_mut().for_each(|y| *y = extend(*y, bits, is_signed)));
            }
        }
        out.bitcast(self.to)
    }
}

impl Kernel for Small {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let mut x = self.widen(ctx, x)?;
        if let Some(cast) = &self.cast {
            x = cast.tensor(ctx.allocator(), &x)?;
        }
        let out = self.narrow(ctx, x)?;
        ctx.set_output(0, out);
        Ok(())
    }
}
