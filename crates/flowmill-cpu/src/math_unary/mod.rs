//! Functions of one tensor, element by element.

mod arithmetic;
mod complex;
mod float;
mod gradients;

pub(crate) use float::{Exp, Expm1, Log, Log1p, Sigmoid};

use crate::elementwise::{Function, binary, unary};
use arithmetic::{Abs, Invert, IsFinite, IsInf, IsNan, LogicalNot, Neg, PopulationCount, Sign, Square};
use complex::{Angle, ComplexAbs, Imag, Real};
use float::*;
use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry, MakeKernel};
use flowmill_tensor::{Complex, DType, Result, bf16, f16};
use gradients::{ReciprocalGrad, RsqrtGrad, SigmoidGrad, SqrtGrad, TanhGrad};
use std::sync::Arc;

/// Returns the code of a function of this family on `float32` that can be fused with others.
pub(crate) fn function(function: ElementwiseFunction) -> Option<Function> {
    Some(match function {
        ElementwiseFunction::Abs => Function::one::<Abs>(),
        ElementwiseFunction::Ceil => Function::one::<Ceil>(),
        ElementwiseFunction::Cos => Function::one::<Cos>(),
        ElementwiseFunction::Erf => Function::one::<Erf>(),
        ElementwiseFunction::Exp => Function::one::<Exp>(),
        ElementwiseFunction::Expm1 => Function::one::<Expm1>(),
        ElementwiseFunction::Floor => Function::one::<Floor>(),
        ElementwiseFunction::Log => Function::one::<Log>(),
        ElementwiseFunction::Log1p => Function::one::<Log1p>(),
        ElementwiseFunction::Neg => Function::one::<Neg>(),
        ElementwiseFunction::Reciprocal => Function::one::<Reciprocal>(),
        ElementwiseFunction::Rsqrt => Function::one::<Rsqrt>(),
        ElementwiseFunction::Sigmoid => Function::one::<Sigmoid>(),
        ElementwiseFunction::Sin => Function::one::<Sin>(),
        ElementwiseFunction::Sqrt => Function::one::<Sqrt>(),
        ElementwiseFunction::Square => Function::one::<Square>(),
        ElementwiseFunction::Tanh => Function::one::<Tanh>(),
        _ => return None,
    })
}

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    macro_rules! with_complex {
        ($($name:literal $make:ident $op:ty;)*) => { $(registry.add($name, $make!($op, [f16, bf16, f32, f64, Complex<f32>, Complex<f64>]));)* };
    }
    macro_rules! floats {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, unary!($op, [f16, bf16, f32, f64]));)* };
    }
    with_complex! {
        "Acos" unary Acos;
        "Acosh" unary Acosh;
        "Asin" unary Asin;
        "Asinh" unary Asinh;
        "Atan" unary Atan;
        "Atanh" unary Atanh;
        "Cos" unary Cos;
        "Cosh" unary Cosh;
        "Exp" unary Exp;
        "Expm1" unary Expm1;
        "Inv" unary Reciprocal;
        "InvGrad" binary ReciprocalGrad;
        "Log" unary Log;
        "Log1p" unary Log1p;
        "Reciprocal" unary Reciprocal;
        "ReciprocalGrad" binary ReciprocalGrad;
        "Rsqrt" unary Rsqrt;
        "RsqrtGrad" binary RsqrtGrad;
        "Sigmoid" unary Sigmoid;
        "SigmoidGrad" binary SigmoidGrad;
        "Sin" unary Sin;
        "Sinh" unary Sinh;
        "Sqrt" unary Sqrt;
        "SqrtGrad" binary SqrtGrad;
        "Tan" unary Tan;
        "Tanh" unary Tanh;
        "TanhGrad" binary TanhGrad;
    }
    floats! {
        "BesselI0" BesselI0;
        "BesselI0e" BesselI0e;
        "BesselI1" BesselI1;
        "BesselI1e" BesselI1e;
        "BesselJ0" BesselJ0;
        "BesselJ1" BesselJ1;
        "BesselK0" BesselK0;
        "BesselK0e" BesselK0e;
        "BesselK1" BesselK1;
        "BesselK1e" BesselK1e;
        "BesselY0" BesselY0;
        "BesselY1" BesselY1;
        "Ceil" Ceil;
        "Dawsn" Dawsn;
        "Digamma" Digamma;
        "Erf" Erf;
        "Erfc" Erfc;
        "Erfinv" Erfinv;
        "Expint" Expint;
        "Floor" Floor;
        "FresnelCos" FresnelCos;
        "FresnelSin" FresnelSin;
        "IsFinite" IsFinite;
        "IsInf" IsInf;
        "IsNan" IsNan;
        "Lgamma" Lgamma;
        "Ndtri" Ndtri;
        "Rint" Round;
        "Spence" Spence;
    }
    registry.add("Abs", unary!(Abs, [f16, bf16, f32, f64, i8, i16, i32, i64]));
    registry.add("Angle", |init| of_parts(init, unary!(Angle, [Complex<f32>, Complex<f64>])));
    registry.add("ComplexAbs", |init| of_parts(init, unary!(ComplexAbs, [Complex<f32>, Complex<f64>])));
    registry.add("Conj", complex::make_conj);
    registry.add("Imag", |init| of_parts(init, unary!(Imag, [Complex<f32>, Complex<f64>])));
    registry.add("Invert", unary!(Invert, [i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("LogicalNot", |_| Ok(crate::elementwise::unary_kernel::<LogicalNot, bool>()));
    registry.add("Neg", unary!(Neg, [f16, bf16, f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>]));
    registry.add("PopulationCount", unary!(PopulationCount, [i8, i16, i32, i64, u8, u16, u32, u64]));
    registry.add("Real", |init| of_parts(init, unary!(Real, [Complex<f32>, Complex<f64>])));
    registry.add("Round", unary!(Round, [f16, bf16, f32, f64, i32, i64]));
    registry.add("Sign", unary!(Sign, [f16, bf16, f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>]));
    registry.add("Square", unary!(Square, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>]));
}

/// Makes the kernel of an op from complex numbers to their parts, where `Tout` is the type of the parts of `T`.
fn of_parts(init: &KernelInit<'_>, make: MakeKernel) -> Result<Arc<dyn Kernel>> {
    match (init.input_types, init.output_types) {
        ([DType::C64], [DType::F64]) | ([DType::C128], [DType::F32]) => init.unsupported(),
        _ => make(init),
    }
}
