//! Elementwise functions of one tensor.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::ElementwiseFunction;

pub(crate) const OPS: &[Op] = &[
    op("Abs", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Abs)
        .gradient(gradient::abs)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64}")
        .shape(|c| shape::unchanged_of(c, i64::checked_abs)),
    op("Neg", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Neg)
        .gradient(gradient::neg)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(|c| shape::unchanged_of(c, i64::checked_neg)),
    op("Sign", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Sign)
        .gradient(gradient::steps)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(shape::unchanged),
    op("Square", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Square)
        .gradient(gradient::square)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}")
        .shape(shape::unchanged),
    op("Sqrt", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Sqrt)
        .gradient(gradient::sqrt)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Rsqrt", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Rsqrt)
        .gradient(gradient::rsqrt)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Reciprocal", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Reciprocal)
        .gradient(gradient::reciprocal)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(shape::unchanged),
    op("Inv", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Reciprocal)
        .gradient(gradient::reciprocal)
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(shape::unchanged),
    op("Exp", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Exp)
        .gradient(gradient::exp)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Expm1", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Expm1)
        .gradient(gradient::expm1)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Log", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Log)
        .gradient(gradient::log)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Log1p", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Log1p)
        .gradient(gradient::log1p)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Sin", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Sin)
        .gradient(gradient::sin)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Cos", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Cos)
        .gradient(gradient::cos)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Tan", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Tan)
        .gradient(gradient::tan)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Sinh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Sinh)
        .gradient(gradient::sinh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Cosh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Cosh)
        .gradient(gradient::cosh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Tanh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Tanh)
        .gradient(gradient::tanh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Asin", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Asin)
        .gradient(gradient::asin)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Acos", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Acos)
        .gradient(gradient::acos)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Atan", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Atan)
        .gradient(gradient::atan)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Asinh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Asinh)
        .gradient(gradient::asinh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Acosh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Acosh)
        .gradient(gradient::acosh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Atanh", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Atanh)
        .gradient(gradient::atanh)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Erf", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Erf)
        .gradient(gradient::erf)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Erfc", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Erfc)
        .gradient(gradient::erfc)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Erfinv", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Erfinv)
        .gradient(gradient::erfinv)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Ndtri", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Ndtri)
        .gradient(gradient::ndtri)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Lgamma", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Lgamma)
        .gradient(gradient::lgamma)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Digamma", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Digamma)
        .gradient(gradient::digamma)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Sigmoid", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Sigmoid)
        .gradient(gradient::sigmoid)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("Ceil", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Ceil)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Floor", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Floor)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Round", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Round)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(shape::unchanged),
    op("Rint", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Rint)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("IsNan", "(x: T) -> (y: bool)")
        .elementwise(ElementwiseFunction::IsNan)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("IsInf", "(x: T) -> (y: bool)")
        .elementwise(ElementwiseFunction::IsInf)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("IsFinite", "(x: T) -> (y: bool)")
        .elementwise(ElementwiseFunction::IsFinite)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("LogicalNot", "(x: bool) -> (y: bool)").elementwise(ElementwiseFunction::LogicalNot).not_differentiable().shape(shape::unchanged),
    op("Invert", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Invert)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .shape(shape::unchanged),
    op("Cast", "(x: SrcT) -> (y: DstT)")
        .elementwise(ElementwiseFunction::Cast)
        .gradient(gradient::cast)
        .attrs("SrcT: type; DstT: type; Truncate: bool = false")
        .shape(shape::cast),
    op("Real", "(input: T) -> (output: Tout)")
        .elementwise(ElementwiseFunction::Real)
        .gradient(gradient::real)
        .attrs("T: {complex64, complex128} = complex64; Tout: {float, double} = float")
        .shape(shape::unchanged),
    op("Imag", "(input: T) -> (output: Tout)")
        .elementwise(ElementwiseFunction::Imag)
        .gradient(gradient::imag)
        .attrs("T: {complex64, complex128} = complex64; Tout: {float, double} = float")
        .shape(shape::unchanged),
    op("Conj", "(input: T) -> (output: T)")
        .elementwise(ElementwiseFunction::Conj)
        .gradient(gradient::conj)
        .attrs("T: {complex64, complex128, variant} = complex64")
        .shape(shape::unchanged),
    op("Angle", "(input: T) -> (output: Tout)")
        .elementwise(ElementwiseFunction::Angle)
        .gradient(gradient::angle)
        .attrs("T: {complex64, complex128} = complex64; Tout: {float, double} = float")
        .shape(shape::unchanged),
    op("ComplexAbs", "(x: T) -> (y: Tout)")
        .elementwise(ElementwiseFunction::ComplexAbs)
        .gradient(gradient::complex_abs)
        .attrs("T: {complex64, complex128} = complex64; Tout: {float, double} = float")
        .shape(shape::unchanged),
    op("SqrtGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::SqrtGrad)
        .gradient(gradient::sqrt_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("RsqrtGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::RsqrtGrad)
        .gradient(gradient::rsqrt_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("TanhGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::TanhGrad)
        .gradient(gradient::tanh_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("SigmoidGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::SigmoidGrad)
        .gradient(gradient::sigmoid_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("ReciprocalGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::ReciprocalGrad)
        .gradient(gradient::reciprocal_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("InvGrad", "(y: T, dy: T) -> (z: T)")
        .elementwise(ElementwiseFunction::ReciprocalGrad)
        .gradient(gradient::reciprocal_grad)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::unchanged),
    op("BesselI0", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselI0)
        .gradient(gradient::bessel_i0)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselI0e", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselI0e)
        .gradient(gradient::bessel_i0e)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselI1", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselI1)
        .gradient(gradient::bessel_i1)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselI1e", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselI1e)
        .gradient(gradient::bessel_i1e)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselJ0", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselJ0)
        .gradient(gradient::bessel_j0)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselJ1", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselJ1)
        .gradient(gradient::bessel_j1)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselK0", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselK0)
        .gradient(gradient::bessel_k0)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselK0e", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselK0e)
        .gradient(gradient::bessel_k0e)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselK1", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselK1)
        .gradient(gradient::bessel_k1)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselK1e", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselK1e)
        .gradient(gradient::bessel_k1e)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselY0", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselY0)
        .gradient(gradient::bessel_y0)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("BesselY1", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::BesselY1)
        .gradient(gradient::bessel_y1)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Dawsn", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Dawsn)
        .gradient(gradient::dawsn)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Expint", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Expint)
        .gradient(gradient::expint)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("FresnelCos", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::FresnelCos)
        .gradient(gradient::fresnel_cos)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("FresnelSin", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::FresnelSin)
        .gradient(gradient::fresnel_sin)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("Spence", "(x: T) -> (y: T)")
        .elementwise(ElementwiseFunction::Spence)
        .gradient(gradient::spence)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::unchanged),
    op("PopulationCount", "(x: T) -> (y: uint8)")
        .elementwise(ElementwiseFunction::PopulationCount)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .shape(shape::unchanged),
];
