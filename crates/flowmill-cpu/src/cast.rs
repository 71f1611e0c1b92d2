//! `Cast` between all numeric types.
//!
//! Integers keep their low bits. Floats become integers by rounding towards zero. Values out of range are converted as on x86, which is what
//! TensorFlow's scalar loops return: the most negative `int32` or `int64`, of which narrower types keep the low bits. Complex numbers lose their
//! imaginary part.

mod small;

use crate::elementwise::{UnaryOp, Word, for_blocks, unary_kernel};
use flowmill_numeric::elementwise::Truncate;
use flowmill_numeric::float16::Float16;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry, ScalarOp};
use flowmill_tensor::{Allocator, Complex, DType, Result, Tensor, bail, bf16, f16, for_dtype};
use std::marker::PhantomData;
use std::sync::Arc;

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("Cast", make_cast);
}

/// A type to cast from. Its values are first converted, without loss, to one of `i32`, `i64`, `u64`, `f32` and `f64`.
trait Source: Word {
    type Wide: Copy;
    fn wide(self) -> Self::Wide;
    fn imaginary(self) -> f64 {
        0.0
    }
}

/// A type to cast to from the wide type `W`.
trait Target<W>: Word {
    fn cast(real: W, imaginary: f64) -> Self;
}

macro_rules! sources {
    ($($t:ty => $wide:ty, |$x:ident| $body:expr;)*) => {
        $(impl Source for $t {
            type Wide = $wide;
            #[inline(always)]
            fn wide(self) -> $wide { let $x = self; $body }
        })*
    };
}

sources! {
    bool => i32, |x| i32::from(x);
    i8 => i32, |x| i32::from(x);
    i16 => i32, |x| i32::from(x);
    i32 => i32, |x| x;
    i64 => i64, |x| x;
    u8 => i32, |x| i32::from(x);
    u16 => i32, |x| i32::from(x);
    u32 => i64, |x| i64::from(x);
    u64 => u64, |x| x;
    f16 => f32, |x| x.to_f32();
    bf16 => f32, |x| x.to_f32();
    f32 => f32, |x| x;
    f64 => f64, |x| x;
}

impl Source for Complex<f32> {
    type Wide = f32;
    #[inline(always)]
    fn wide(self) -> f32 {
        self.re
    }
    #[inline(always)]
    fn imaginary(self) -> f64 {
        f64::from(self.im)
    }
}

impl Source for Complex<f64> {
    type Wide = f64;
    #[inline(always)]
    fn wide(self) -> f64 {
        self.re
    }
    #[inline(always)]
    fn imaginary(self) -> f64 {
        self.im
    }
}

macro_rules! targets {
    ($($wide:ty: $($t:ty)|+ => |$x:ident| $body:expr;)*) => {
        $($(impl Target<$wide> for $t {
            #[inline(always)]
            fn cast($x: $wide, _: f64) -> $t { $body as $t }
        })+)*
    };
}

targets! {
    i32: i8|i16|i32|i64|u8|u16|u32|u64|f32|f64 => |x| x;
    i64: i8|i16|i32|i64|u8|u16|u32|u64|f32|f64 => |x| x;
    u64: i8|i16|i32|i64|u8|u16|u32|u64|f32|f64 => |x| x;
    f32: f32|f64 => |x| x;
    f64: f32|f64 => |x| x;
    f32: i8|i16|i32|u8|u16 => |x| x.truncate32();
    f64: i8|i16|i32|u8|u16 => |x| x.truncate32();
    f32: i64|u32 => |x| x.truncate64();
    f64: i64|u32 => |x| x.truncate64();
    f32: u64 => |x| x.truncate_unsigned();
    f64: u64 => |x| x.truncate_unsigned();
}

macro_rules! other_targets {
    ($($wide:ty, $zero:expr;)*) => {
        $(impl Target<$wide> for bool {
            #[inline(always)]
            fn cast(x: $wide, _: f64) -> bool { x != $zero }
        }
        impl Target<$wide> for f16 {
            #[inline(always)]
            fn cast(x: $wide, _: f64) -> f16 { f16::from_f32(x as f32) }
        }
        impl Target<$wide> for bf16 {
            #[inline(always)]
            fn cast(x: $wide, _: f64) -> bf16 { bf16::from_f32(x as f32) }
        }
        impl Target<$wide> for Complex<f32> {
            #[inline(always)]
            fn cast(x: $wide, imaginary: f64) -> Self { Complex::new(x as f32, imaginary as f32) }
        }
        impl Target<$wide> for Complex<f64> {
            #[inline(always)]
            fn cast(x: $wide, imaginary: f64) -> Self { Complex::new(x as f64, imaginary) }
        })*
    };
}

other_targets! {
    i32, 0;
    i64, 0;
    u64, 0;
    f32, 0.0;
    f64, 0.0;
}

/// The kernel for one pair of types. It is not generic over them, because there are more than two hundred pairs.
struct Cast {
    from: DType,
    to: DType,
    convert: fn(&Tensor, &mut Tensor) -> Result<()>,
    word: fn(u64) -> u64,
}

impl Cast {
    /// Returns a tensor with the elements of `x` cast.
    fn tensor(&self, alloc: &Allocator, x: &Tensor) -> Result<Tensor> {
        let mut out = alloc.uninit(self.to, x.shape().clone())?;
        (self.convert)(x, &mut out)?;
        Ok(out)
    }
}

#[inline(always)]
fn cast<S: Source, D: Target<S::Wide>>(x: S) -> D {
    D::cast(x.wide(), x.imaginary())
}

fn convert<S: Source, D: Target<S::Wide>>(src: &Tensor, dst: &mut Tensor) -> Result<()> {
    let src = src.as_slice::<S>()?;
    for_blocks(dst.as_mut_slice::<D>()?, 1, &|start, block| S::map(&src[start..start + block.len()], block, cast::<S, D>));
    Ok(())
}

fn cast_kernel<S: Source, D: Target<S::Wide>>() -> Cast {
    let convert: fn(&Tensor, &mut Tensor) -> Result<()> = match (S::DTYPE, D::DTYPE) {
        (DType::F16, DType::F32) => widen_halves::<f16>,
        (DType::BF16, DType::F32) => widen_halves::<bf16>,
        (DType::F32, DType::F16) => narrow_to_halves::<f16>,
        (DType::F32, DType::BF16) => narrow_to_halves::<bf16>,
        _ => convert::<S, D>,
    };
    Cast { from: S::DTYPE, to: D::DTYPE, convert, word: |x| cast::<S, D>(S::from_word(x)).to_word() }
}

/// Converts floats of 16 bits to `f32`, many at a time.
fn widen_halves<H: Word + Float16>(src: &Tensor, dst: &mut Tensor) -> Result<()> {
    let src = src.as_slice::<H>()?;
    for_blocks(dst.as_mut_slice::<f32>()?, 1, &|start, block| H::widen_slice(&src[start..start + block.len()], block));
    Ok(())
}

/// Converts `f32` to floats of 16 bits, many at a time.
fn narrow_to_halves<H: Word + Float16>(src: &Tensor, dst: &mut Tensor) -> Result<()> {
    let src = src.as_slice::<f32>()?;
    for_blocks(dst.as_mut_slice::<H>()?, 1, &|start, block| H::narrow_slice(&src[start..start + block.len()], block));
    Ok(())
}

impl Kernel for Cast {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let scalar = x.scalar_bits(self.from).and_then(|x| Tensor::from_scalar_bits(self.to, (self.word)(x)));
        let out = match scalar {
            Some(out) => out,
            None => self.tensor(ctx.allocator(), x)?,
        };
        ctx.set_output(0, out);
        Ok(())
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        let fits = |t: DType| t.size().is_some_and(|size| size <= 8);
        (fits(self.from) && fits(self.to)).then_some(ScalarOp::Unary { from: self.from, to: self.to, f: self.word })
    }
}

/// A cast to `D` that truncates the significand to the bits that `D` has, instead of rounding.
struct Truncated<D>(PhantomData<D>);

impl UnaryOp<f32> for Truncated<f16> {
    type Out = f16;
    fn apply(x: f32) -> f16 {
        f16::from_f32(if x.is_nan() { x } else { f32::from_bits(x.to_bits() & !0x1fff) })
    }
}

impl UnaryOp<f32> for Truncated<bf16> {
    type Out = bf16;
    fn apply(x: f32) -> bf16 {
        bf16::from_f32(if x.is_nan() { x } else { f32::from_bits(x.to_bits() & !0xffff) })
    }
}

impl UnaryOp<f64> for Truncated<f32> {
    type Out = f32;
    fn apply(x: f64) -> f32 {
        if x.is_nan() { x as f32 } else { f64::from_bits(x.to_bits() & !0x1fff_ffff) as f32 }
    }
}

impl UnaryOp<f64> for Truncated<f16> {
    type Out = f16;
    fn apply(x: f64) -> f16 {
        f16::from_f32(if x.is_nan() { x as f32 } else { f64::from_bits(x.to_bits() & !0x3ff_ffff_ffff) as f32 })
    }
}

impl UnaryOp<Complex<f64>> for Truncated<Complex<f32>> {
    type Out = Complex<f32>;
    fn apply(x: Complex<f64>) -> Complex<f32> {
        Complex::new(Truncated::<f32>::apply(x.re), Truncated::<f32>::apply(x.im))
    }
}

/// A cast to the type of the input.
struct Same(DType);

impl Kernel for Same {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.forward(0, 0)
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        self.0.size().filter(|&size| size <= 8).map(|_| ScalarOp::Unary { from: self.0, to: self.0, f: |x| x })
    }
}

/// A cast from or to a quantised type, which casts the stored numbers.
struct Stored {
    /// The cast between the types that are stored; `None` if they are equal.
    cast: Option<Cast>,
    to: DType,
}

impl Kernel for Stored {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let x = ctx.input(0)?;
        let x = x.clone().bitcast(x.dtype().stored())?;
        let out = match &self.cast {
            None => x,
            Some(cast) => cast.tensor(ctx.allocator(), &x)?,
        };
        ctx.set_output(0, out.bitcast(self.to)?);
        Ok(())
    }
}

fn make_cast(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to) = (init.dtype("SrcT")?, init.dtype("DstT")?);
    if from == to {
        return Ok(Arc::new(Same(from)));
    }
    if from.is_quantized() || to.is_quantized() {
        let cast = if from.stored() == to.stored() { None } else { Some(cast_of(from.stored(), to.stored())?) };
        return Ok(Arc::new(Stored { cast, to }));
    }
    if let Some(small) = small::Small::new(from, to)? {
        return Ok(Arc::new(small));
    }
    if init.attrs.get_or("Truncate", false)? {
        match (from, to) {
            (DType::F32, DType::F16) => return Ok(unary_kernel::<Truncated<f16>, f32>()),
            (DType::F32, DType::BF16) => return Ok(unary_kernel::<Truncated<bf16>, f32>()),
            (DType::F64, DType::F32) => return Ok(unary_kernel::<Truncated<f32>, f64>()),
            (DType::F64, DType::F16) => return Ok(unary_kernel::<Truncated<f16>, f64>()),
            (DType::C128, DType::C64) => return Ok(unary_kernel::<Truncated<Complex<f32>>, Complex<f64>>()),
            _ => {}
        }
    }
    Ok(Arc::new(cast_of(from, to)?))
}

/// Returns a tensor with its elements cast to another type: the tensor itself if it has this type.
///
/// # Errors
/// `Unimplemented` if one of the types is no number.
pub(crate) fn cast_tensor(alloc: &Allocator, x: &Tensor, to: DType) -> Result<Tensor> {
    if x.dtype() == to {
        return Ok(x.clone());
    }
    cast_of(x.dtype(), to)?.tensor(alloc, x)
}

fn cast_of(from: DType, to: DType) -> Result<Cast> {
    for_dtype!(from, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], S => cast_from::<S>(to), _ => None).map_or_else(|| bail!(Unimplemented, "Cast {from} to {to} is not supported"), Ok)
}

/// Makes the kernel for one source type and the target `to`.
fn cast_from<S: Source>(to: DType) -> Option<Cast>
where
    f32: Target<S::Wide>,
    f64: Target<S::Wide>,
    f16: Target<S::Wide>,
    bf16: Target<S::Wide>,
    i8: Target<S::Wide>,
    i16: Target<S::Wide>,
    i32: Target<S::Wide>,
    i64: Target<S::Wide>,
    u8: Target<S::Wide>,
    u16: Target<S::Wide>,
    u32: Target<S::Wide>,
    u64: Target<S::Wide>,
    bool: Target<S::Wide>,
    Complex<f32>: Target<S::Wide>,
    Complex<f64>: Target<S::Wide>,
{
    for_dtype!(to, [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool, Complex<f32>, Complex<f64>], D => Some(cast_kernel::<S, D>()), _ => None)
}
