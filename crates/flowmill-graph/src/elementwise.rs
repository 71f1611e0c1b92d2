//! The element-wise functions that ops compute and that fused kernels apply.

mod program;
mod reduction;

pub use program::{ElementwiseInstruction, ElementwisePiece, ElementwiseProgram};
pub use reduction::{ReductionInstruction, ReductionProgram};

use flowmill_proto::AttrValue;
use flowmill_tensor::{Bytes, Error, Result, error};
use std::fmt;
use std::str::FromStr;

macro_rules! functions {
    ($($(#[$doc:meta])+ $name:ident,)* ops: $($op:ident,)*) => {
        /// A function that computes each element of a tensor from the elements at the same place of its operands, which are broadcast.
        ///
        /// Ops declare theirs in [`OpTraits::elementwise`](crate::OpTraits::elementwise); several ops may have one function, as `Add` and `AddV2`.
        /// Fused ops name functions in attributes, by [`name`](Self::name) and [`FromStr`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ElementwiseFunction {
            $($(#[$doc])+ $name,)*
            $(#[doc = concat!("The function of the op `", stringify!($op), "`.")] $op,)*
        }

        impl ElementwiseFunction {
            /// All functions.
            pub const ALL: &[ElementwiseFunction] = &[$(Self::$name,)* $(Self::$op,)*];

            /// Returns the name in attributes of fused ops. It is that of an op, if an op computes the function alone.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                    $(Self::$op => stringify!($op),)*
                }
            }
        }
    };
}

functions! {
    /// Starts each sum of a matrix product with an element of a tensor. No op has this trait, and only a product can be fused with it.
    Accumulate,
    /// Starts each sum of a matrix product with the products of a part of the row, which lies to the left of the left operand and was read from what
    /// `_HoistedMatMul` returns. No op has this trait, and only a product can be fused with it.
    AccumulatePart,
    /// Adds a vector along the last dimension, the channels. No op has this trait: `BiasAdd` computes it only if its channels are last.
    BiasAdd,
    /// `x / 2 * (1 + erf(x / sqrt(2)))`, the exact GELU. The ops of this function and the next ones have an underscore before its name.
    GeluExact,
    /// The approximation of [`GeluExact`](Self::GeluExact) by `tanh`.
    GeluApproximate,
    /// `x * sigmoid(x)`, also called swish.
    Silu,
    /// `min(max(x + 3, 0), 6) / 6`.
    HardSigmoid,
    /// `x * min(max(x + 3, 0), 6) / 6`.
    HardSwish,
    /// `x * tanh(ln(1 + exp(x)))`.
    Mish,
    ops:
    Abs,
    Acos,
    Acosh,
    Add,
    AddN,
    Angle,
    ApproximateEqual,
    Asin,
    Asinh,
    Atan,
    Atan2,
    Atanh,
    BesselI0,
    BesselI0e,
    BesselI1,
    BesselI1e,
    BesselJ0,
    BesselJ1,
    BesselK0,
    BesselK0e,
    BesselK1,
    BesselK1e,
    BesselY0,
    BesselY1,
    Betainc,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    Cast,
    Ceil,
    ClipByValue,
    Complex,
    ComplexAbs,
    Conj,
    Cos,
    Cosh,
    Dawsn,
    Digamma,
    Div,
    DivNoNan,
    Elu,
    EluGrad,
    Equal,
    Erf,
    Erfc,
    Erfinv,
    Exp,
    Expint,
    Expm1,
    Floor,
    FloorDiv,
    FloorMod,
    FresnelCos,
    FresnelSin,
    Greater,
    GreaterEqual,
    Igamma,
    IgammaGradA,
    Igammac,
    Imag,
    Invert,
    IsFinite,
    IsInf,
    IsNan,
    LeakyRelu,
    LeakyReluGrad,
    LeftShift,
    Less,
    LessEqual,
    Lgamma,
    Log,
    Log1p,
    LogicalAnd,
    LogicalNot,
    LogicalOr,
    Maximum,
    Minimum,
    Mod,
    Mul,
    MulNoNan,
    Ndtri,
    Neg,
    NextAfter,
    NotEqual,
    OnesLike,
    Polygamma,
    PopulationCount,
    Pow,
    Real,
    RealDiv,
    Reciprocal,
    ReciprocalGrad,
    Relu,
    Relu6,
    Relu6Grad,
    ReluGrad,
    RightShift,
    Rint,
    Round,
    Rsqrt,
    RsqrtGrad,
    SelectV2,
    Selu,
    SeluGrad,
    Sigmoid,
    SigmoidGrad,
    Sign,
    Sin,
    Sinh,
    Softplus,
    SoftplusGrad,
    Softsign,
    SoftsignGrad,
    Spence,
    Sqrt,
    SqrtGrad,
    Square,
    SquaredDifference,
    Sub,
    Tan,
    Tanh,
    TanhGrad,
    TruncateDiv,
    TruncateMod,
    Xdivy,
    Xlog1py,
    Xlogy,
    ZerosLike,
    Zeta,
}

impl ElementwiseFunction {
    /// Returns the approximate number of operations per element: 1 for what one instruction computes, more for divisions and roots, most for functions
    /// that are sums of many terms.
    pub const fn operations(self) -> u16 {
        use ElementwiseFunction::*;
        match self {
            Abs | Accumulate | AccumulatePart | Add | AddN | BiasAdd | BitwiseAnd | BitwiseOr | BitwiseXor | Cast | Ceil | ClipByValue
            | Complex | Conj | Equal | Floor | Greater | GreaterEqual | Imag | Invert | IsFinite | IsInf | IsNan | LeakyRelu
            | LeakyReluGrad | LeftShift | Less | LessEqual | LogicalAnd | LogicalNot | LogicalOr | Maximum | Minimum | Mul | MulNoNan
            | Neg | NotEqual | OnesLike | Real | Relu | Relu6 | Relu6Grad | ReluGrad | RightShift | Rint | Round | SelectV2 | Sign
            | Square | Sub | ZerosLike => 1,
            ApproximateEqual | NextAfter | PopulationCount | ReciprocalGrad | SigmoidGrad | SoftplusGrad | SoftsignGrad
            | SquaredDifference | TanhGrad | EluGrad | SeluGrad | HardSigmoid | HardSwish => 3,
            ComplexAbs | Div | DivNoNan | FloorDiv | FloorMod | Mod | RealDiv | Reciprocal | Rsqrt | RsqrtGrad | Softsign | Sqrt
            | SqrtGrad | TruncateDiv | TruncateMod => 6,
            Betainc | Digamma | Igamma | IgammaGradA | Igammac | Lgamma | Polygamma | Zeta => 100,
            _ => 20,
        }
    }

    /// Returns true if the function, of one operand, is its own inverse: `f(f(x))` is `x`, to the last bit.
    pub const fn is_involution(self) -> bool {
        use ElementwiseFunction::*;
        matches!(self, Conj | Invert | LogicalNot | Neg)
    }

    /// Returns true if the function, of one operand, changes no value of its own: `f(f(x))` is `f(x)`, to the last bit.
    pub const fn is_idempotent(self) -> bool {
        use ElementwiseFunction::*;
        matches!(self, Abs | Ceil | Floor | Relu | Relu6 | Rint | Round | Sign)
    }

    /// Returns true if the function, of one operand, ignores the sign: `f(-x)` is `f(x)`, to the last bit.
    pub const fn is_even(self) -> bool {
        use ElementwiseFunction::*;
        matches!(self, Abs | Square)
    }

    /// Returns true if the function, of two operands, selects one of them or does as if: `f(x, x)` is `x`, to the last bit.
    pub const fn keeps_equal_operands(self) -> bool {
        use ElementwiseFunction::*;
        matches!(self, BitwiseAnd | BitwiseOr | LogicalAnd | LogicalOr | Maximum | Minimum)
    }

    /// Returns true if the function never fails: its operands need only shapes that can be broadcast.
    pub const fn is_total(self) -> bool {
        use ElementwiseFunction::*;
        // Integers cannot be divided by zero, nor raised to negative powers.
        !matches!(self, AddN | ApproximateEqual | ClipByValue | Div | FloorDiv | FloorMod | Mod | Pow | TruncateDiv | TruncateMod)
    }

    /// Returns an attribute of type `list(string)` with the names of these functions.
    pub fn attr_of(functions: &[ElementwiseFunction]) -> AttrValue {
        functions.iter().map(|function| Bytes::from_static(function.name().as_bytes())).collect::<Vec<_>>().into()
    }
}

impl fmt::Display for ElementwiseFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ElementwiseFunction {
    type Err = Error;

    /// Returns the function of this name.
    ///
    /// # Errors
    /// Returns `Unimplemented` for any other name, as TensorFlow does for a fusion that it does not have.
    fn from_str(name: &str) -> Result<ElementwiseFunction> {
        let found = Self::ALL.iter().find(|function| function.name() == name);
        found.copied().ok_or_else(|| error!(Unimplemented, "Fusion is not implemented: '{name}' is not an element-wise function"))
    }
}

/// An associative function that reduces many elements to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReductionFunction {
    /// The greatest element, or NaN if there is one.
    Max,
    /// The mean.
    Mean,
    /// The least element, or NaN if there is one.
    Min,
    /// The sum.
    Sum,
}

impl ReductionFunction {
    /// Returns the function that the op of this name computes, or `None` for other ops.
    pub fn of_op(name: &str) -> Option<ReductionFunction> {
        [Self::Max, Self::Mean, Self::Min, Self::Sum].into_iter().find(|function| function.name() == name)
    }

    /// Returns the name of the op that computes the function alone.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Max => "Max",
            Self::Mean => "Mean",
            Self::Min => "Min",
            Self::Sum => "Sum",
        }
    }
}
