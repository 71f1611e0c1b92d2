//! Elementwise functions of several tensors, with broadcasting.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("Add", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}"),
    op("AddV2", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, complex64, complex128}")
        .commutative()
        .aggregate(),
    op("AddN", "(inputs: N * T) -> (sum: T)")
        .attrs("N: int >= 1;
                T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, variant}")
        .commutative()
        .aggregate(),
    op("AccumulateNV2", "(inputs: N * T) -> (sum: T)").attrs("N: int >= 1; T: number; shape: shape").commutative().aggregate(),
    op("Sub", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, complex128, uint32, uint64}"),
    op("Mul", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}")
        .commutative(),
    op("MulNoNan", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, half, float, double, complex64, complex128}"),
    op("Div", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"),
    op("RealDiv", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"),
    op("DivNoNan", "(x: T, y: T) -> (z: T)").attrs("T: {half, float, bfloat16, double, complex64, complex128}"),
    op("FloorDiv", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"),
    op("FloorMod", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}"),
    op("Mod", "(x: T, y: T) -> (z: T)").attrs("T: {int32, int64, half, half, bfloat16, float, double}"),
    op("TruncateDiv", "(x: T, y: T) -> (z: T)")
        .attrs("T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"),
    op("TruncateMod", "(x: T, y: T) -> (z: T)").attrs("T: {int32, int64, bfloat16, half, float, double}"),
    op("Maximum", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}"),
    op("Minimum", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}"),
    op("Pow", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}"),
    op("SquaredDifference", "(x: T, y: T) -> (z: T)").attrs("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}").commutative(),
    op("Atan2", "(y: T, x: T) -> (z: T)").attrs("T: {bfloat16, half, float, double}"),
    op("Xdivy", "(x: T, y: T) -> (z: T)").attrs("T: {half, bfloat16, float, double, complex64, complex128}"),
    op("Xlogy", "(x: T, y: T) -> (z: T)").attrs("T: {half, bfloat16, float, double, complex64, complex128}"),
    op("Xlog1py", "(x: T, y: T) -> (z: T)").attrs("T: {half, bfloat16, float, double, complex64, complex128}"),
    op("Igamma", "(a: T, x: T) -> (z: T)").attrs("T: {bfloat16, half, float, double}"),
    op("Igammac", "(a: T, x: T) -> (z: T)").attrs("T: {bfloat16, half, float, double}"),
    op("Betainc", "(a: T, b: T, x: T) -> (z: T)").attrs("T: {float, double}"),
    op("Zeta", "(x: T, q: T) -> (z: T)").attrs("T: {float, double}"),
    op("Polygamma", "(a: T, x: T) -> (z: T)").attrs("T: {float, double}"),
    op("Equal", "(x: T, y: T) -> (z: bool)").attrs("T: type; incompatible_shape_error: bool = true").commutative(),
    op("NotEqual", "(x: T, y: T) -> (z: bool)").attrs("T: type; incompatible_shape_error: bool = true").commutative(),
    op("Less", "(x: T, y: T) -> (z: bool)").attrs("T: real"),
    op("LessEqual", "(x: T, y: T) -> (z: bool)").attrs("T: real"),
    op("Greater", "(x: T, y: T) -> (z: bool)").attrs("T: real"),
    op("GreaterEqual", "(x: T, y: T) -> (z: bool)").attrs("T: real"),
    op("ApproximateEqual", "(x: T, y: T) -> (z: bool)").attrs("T: number; tolerance: float = 1e-5").commutative(),
    op("LogicalAnd", "(x: bool, y: bool) -> (z: bool)").commutative(),
    op("LogicalOr", "(x: bool, y: bool) -> (z: bool)").commutative(),
    op("BitwiseAnd", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").commutative(),
    op("BitwiseOr", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").commutative(),
    op("BitwiseXor", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}").commutative(),
    op("LeftShift", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"),
    op("RightShift", "(x: T, y: T) -> (z: T)").attrs("T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"),
    op("Select", "(condition: bool, t: T, e: T) -> (output: T)").attrs("T: type"),
    op("SelectV2", "(condition: bool, t: T, e: T) -> (output: T)").attrs("T: type"),
    op("ClipByValue", "(t: T, clip_value_min: T, clip_value_max: T) -> (output: T)").attrs("T: number"),
    op("Complex", "(real: T, imag: T) -> (out: Tout)").attrs("T: {float, double} = float; Tout: {complex64, complex128} = complex64"),
    op("NextAfter", "(x1: T, x2: T) -> (output: T)").attrs("T: {double, float} = float"),
    op("Cross", "(a: T, b: T) -> (product: T)").attrs("T: real"),
];
