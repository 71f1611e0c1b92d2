//! Parts of complex numbers.

use crate::elementwise::{TRANSCENDENTAL, UnaryOp, unary_kernel};
use flowmill_numeric::elementwise::complex::modulus;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Complex, DType, Result, for_dtype};
use std::sync::Arc;

/// The real part.
pub(super) struct Real;
/// The imaginary part.
pub(super) struct Imag;
/// The angle in radians, between -π and π.
pub(super) struct Angle;
/// The absolute value.
pub(super) struct ComplexAbs;
/// The conjugate.
pub(super) struct Conj;

macro_rules! parts {
    ($($op:ident, $cost:expr, |$z:ident| $body:expr;)*) => {
        $(parts!(@each $op, $cost, |$z| $body, f32); parts!(@each $op, $cost, |$z| $body, f64);)*
    };
    (@each $op:ident, $cost:expr, |$z:ident| $body:expr, $t:ty) => {
        impl UnaryOp<Complex<$t>> for $op {
            type Out = $t;
            const COST: usize = $cost;
            #[inline(always)]
            fn apply($z: Complex<$t>) -> $t { $body }
        }
    };
}

parts! {
    Real, 1, |z| z.re;
    Imag, 1, |z| z.im;
    Angle, TRANSCENDENTAL, |z| z.im.atan2(z.re);
}

parts!(@each ComplexAbs, 4, |z| modulus(z), f32);
parts!(@each ComplexAbs, 4, |z| z.re.hypot(z.im), f64);

impl UnaryOp<Complex<f32>> for Conj {
    type Out = Complex<f32>;
    fn apply(z: Complex<f32>) -> Complex<f32> {
        z.conj()
    }
}

impl UnaryOp<Complex<f64>> for Conj {
    type Out = Complex<f64>;
    fn apply(z: Complex<f64>) -> Complex<f64> {
        z.conj()
    }
}

/// Makes the kernel of `Conj`; variants are forwarded unchanged.
pub(super) fn make_conj(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    match init.dtype("T")? {
        DType::Variant => Ok(Arc::new(Forward)),
        t => for_dtype!(t, [Complex<f32>, Complex<f64>], T => Ok(unary_kernel::<Conj, T>()), _ => init.unsupported()),
    }
}

struct Forward;

impl Kernel for Forward {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.forward(0, 0)
    }
}
