//! Elementwise functions of several tensors, with broadcasting.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::ElementwiseFunction;

pub(crate) const OPS: &[Op] = &[
    op("Add", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Add)
        .gradient(gradient::add)
        .attrs("T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}")
        .shape(|c| shape::broadcast_binary_of(c, i64::checked_add)),
    op("AddV2", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Add)
        .gradient(gradient::add)
        .attrs("T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, complex128}")
        .commutative()
        .aggregate()
        .shape(|c| shape::broadcast_binary_of(c, i64::checked_add)),
    op("AddN", "(inputs: N * T) -> (sum: T)")
        .elementwise(ElementwiseFunction::AddN)
        .gradient(gradient::add_n)
        .attrs(
            "N: int >= 1;
                T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16,
                    complex128, half, uint32, uint64, variant}",
        )
        .commutative()
        .aggregate()
        .shape(shape::add_n),
    op("AccumulateNV2", "(inputs: N * T) -> (sum: T)")
        .gradient(gradient::add_n)
        .attrs("N: int >= 1; T: number; shape: shape")
        .commutative()
        .aggregate()
        .shape(shape::shape_attr),
    op("Sub", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Sub)
        .gradient(gradient::sub)
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, uint32, uint64}")
        .shape(|c| shape::broadcast_binary_of(c, i64::checked_sub)),
    op("Mul", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Mul)
        .gradient(gradient::mul)
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .commutative()
        .shape(|c| shape::broadcast_binary_of(c, i64::checked_mul)),
    op("MulNoNan", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::MulNoNan)
        .gradient(gradient::mul_no_nan)
        .attrs("T: {bfloat16, half, float, double, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("Div", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Div)
        .gradient(gradient::div)
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("RealDiv", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::RealDiv)
        .gradient(gradient::div)
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("DivNoNan", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::DivNoNan)
        .gradient(gradient::div_no_nan)
        .attrs("T: {half, float, bfloat16, double, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("FloorDiv", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::FloorDiv)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .shape(|c| shape::broadcast_binary_of(c, shape::value::floor_div)),
    op("FloorMod", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::FloorMod)
        .gradient(gradient::floor_mod)
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}")
        .shape(|c| shape::broadcast_binary_of(c, shape::value::floor_mod)),
    op("Mod", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Mod)
        .attrs("T: {int32, int64, half, half, bfloat16, float, double}")
        .shape(shape::broadcast_binary),
    op("TruncateDiv", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::TruncateDiv)
        .not_differentiable()
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("TruncateMod", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::TruncateMod)
        .attrs("T: {int32, int64, bfloat16, half, float, double}")
        .shape(shape::broadcast_binary),
    op("Maximum", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Maximum)
        .gradient(gradient::maximum)
        .attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
        .shape(|c| shape::broadcast_binary_of(c, |a, b| Some(a.max(b)))),
    op("Minimum", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Minimum)
        .gradient(gradient::minimum)
        .attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}")
        .shape(|c| shape::broadcast_binary_of(c, |a, b| Some(a.min(b)))),
    op("Pow", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Pow)
        .gradient(gradient::pow)
        .attrs("T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("SquaredDifference", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::SquaredDifference)
        .gradient(gradient::squared_difference)
        .attrs("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
        .commutative()
        .shape(shape::broadcast_binary),
    op("Atan2", "(y: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Atan2)
        .gradient(gradient::atan2)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::broadcast_binary),
    op("Xdivy", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Xdivy)
        .gradient(gradient::xdivy)
        .attrs("T: {half, bfloat16, float, double, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("Xlogy", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Xlogy)
        .gradient(gradient::xlogy)
        .attrs("T: {half, bfloat16, float, double, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("Xlog1py", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Xlog1py)
        .gradient(gradient::xlog1py)
        .attrs("T: {half, bfloat16, float, double, complex64, complex128}")
        .shape(shape::broadcast_binary),
    op("Igamma", "(a: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Igamma)
        .gradient(gradient::igamma)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::broadcast_binary),
    op("IgammaGradA", "(a: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::IgammaGradA)
        .attrs("T: {float, double}")
        .shape(shape::broadcast_binary),
    op("Igammac", "(a: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Igammac)
        .gradient(gradient::igammac)
        .attrs("T: {bfloat16, half, float, double}")
        .shape(shape::broadcast_binary),
    op("Betainc", "(a: T, b: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Betainc)
        .gradient(gradient::betainc)
        .attrs("T: {float, double}")
        .shape(shape::betainc),
    op("Zeta", "(x: T, q: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Zeta)
        .gradient(gradient::zeta)
        .attrs("T: {float, double}")
        .shape(shape::broadcast_binary),
    op("Polygamma", "(a: T, x: T) -> (z: T)")
        .elementwise(ElementwiseFunction::Polygamma)
        .gradient(gradient::polygamma)
        .attrs("T: {float, double}")
        .shape(shape::broadcast_binary),
    op("Equal", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::Equal)
        .not_differentiable()
        .attrs("T: type; incompatible_shape_error: bool = true")
        .commutative()
        .shape(shape::equality),
    op("NotEqual", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::NotEqual)
        .not_differentiable()
        .attrs("T: type; incompatible_shape_error: bool = true")
        .commutative()
        .shape(shape::equality),
    op("Less", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::Less)
        .not_differentiable()
        .attrs("T: real")
        .shape(shape::broadcast_binary),
    op("LessEqual", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::LessEqual)
        .not_differentiable()
        .attrs("T: real")
        .shape(shape::broadcast_binary),
    op("Greater", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::Greater)
        .not_differentiable()
        .attrs("T: real")
        .shape(shape::broadcast_binary),
    op("GreaterEqual", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::GreaterEqual)
        .not_differentiable()
        .attrs("T: real")
        .shape(shape::broadcast_binary),
    op("ApproximateEqual", "(x: T, y: T) -> (z: bool)")
        .elementwise(ElementwiseFunction::ApproximateEqual)
        .not_differentiable()
        .attrs("T: number; tolerance: float = 1e-5")
        .commutative()
        .shape(shape::merged),
    op("LogicalAnd", "(x: bool, y: bool) -> (z: bool)")
        .elementwise(ElementwiseFunction::LogicalAnd)
        .not_differentiable()
        .commutative()
        .shape(shape::broadcast_binary),
    op("LogicalOr", "(x: bool, y: bool) -> (z: bool)")
        .elementwise(ElementwiseFunction::LogicalOr)
        .not_differentiable()
        .commutative()
        .shape(shape::broadcast_binary),
    op("BitwiseAnd", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::BitwiseAnd)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .commutative()
        .shape(shape::broadcast_binary),
    op("BitwiseOr", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::BitwiseOr)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .commutative()
        .shape(shape::broadcast_binary),
    op("BitwiseXor", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::BitwiseXor)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .commutative()
        .shape(shape::broadcast_binary),
    op("LeftShift", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::LeftShift)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .shape(shape::broadcast_binary),
    op("RightShift", "(x: T, y: T) -> (z: T)")
        .elementwise(ElementwiseFunction::RightShift)
        .not_differentiable()
        .attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}")
        .shape(shape::broadcast_binary),
    op("Select", "(condition: bool, t: T, e: T) -> (output: T)").gradient(gradient::select).attrs("T: type").shape(shape::select),
    op("SelectV2", "(condition: bool, t: T, e: T) -> (output: T)")
        .elementwise(ElementwiseFunction::SelectV2)
        .gradient(gradient::select_v2)
        .attrs("T: type")
        .shape(shape::select_v2),
    op("ClipByValue", "(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)")
        .elementwise(ElementwiseFunction::ClipByValue)
        .gradient(gradient::clip_by_value)
        .attrs("T: number")
        .shape(shape::unchanged),
    op("Complex", "(real: T, imag: T) -> (out: Tout)")
        .elementwise(ElementwiseFunction::Complex)
        .gradient(gradient::complex)
        .attrs("T: {float, double} = float; Tout: {complex64, complex128} = complex64")
        .shape(shape::broadcast_binary),
    op("NextAfter", "(x1: T, x2: T) -> (output: T)")
        .elementwise(ElementwiseFunction::NextAfter)
        .gradient(gradient::next_after)
        .attrs("T: {double, float} = float")
        .shape(shape::broadcast_binary),
    op("Cross", "(a: T, b: T) -> (product: T)").gradient(gradient::cross).attrs("T: real").shape(shape::cross),
];
