//! The element-wise functions of GPUs, as CUDA C.

use flowmill_tensor::DType;

/// An element-wise function of values of one type.
#[derive(Debug)]
pub(crate) struct Function {
    /// The name in programs, which is the op's if an op computes the function alone.
    pub(crate) name: &'static str,
    /// The number of arguments.
    pub(crate) arity: usize,
    pub(crate) types: Types,
    /// The value, where `a`, `b` and `c` are the arguments, `C` is their type, and `p` is a parameter.
    text: &'static str,
    /// The value for integers if it is another one.
    integer_text: Option<&'static str>,
    /// True if the value is a `bool`.
    pub(crate) is_predicate: bool,
}

/// The types of a function's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    Floats,
    /// Floats of at least 32 bits.
    WideFloats,
    Numbers,
    Integers,
    Booleans,
    All,
}

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];
const INTEGERS: [DType; 8] = [DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16, DType::U32, DType::U64];
const NUMBERS: [DType; 12] = join(FLOATS, INTEGERS);
const ALL: [DType; 13] = join(NUMBERS, [DType::Bool]);

const fn join<const A: usize, const B: usize, const N: usize>(a: [DType; A], b: [DType; B]) -> [DType; N] {
    let mut all = [DType::F32; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < A { a[i] } else { b[i - A] };
        i += 1;
    }
    all
}

impl Types {
    pub(crate) fn list(self) -> &'static [DType] {
        match self {
            Types::Floats => &FLOATS,
            Types::WideFloats => &[DType::F32, DType::F64],
            Types::Numbers => &NUMBERS,
            Types::Integers => &INTEGERS,
            Types::Booleans => &[DType::Bool],
            Types::All => &ALL,
        }
    }
}

impl Function {
    /// Returns the text of the value for arguments of a type.
    pub(crate) fn text_for(&self, dtype: DType) -> &'static str {
        match self.integer_text {
            Some(text) if !dtype.is_floating() => text,
            _ => self.text,
        }
    }

    /// Returns the function with this name.
    pub(crate) fn of(name: &str) -> Option<&'static Function> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// Returns true if no op computes the function alone for all shapes that can be broadcast to each other.
    pub(crate) fn is_of_programs_only(&self) -> bool {
        matches!(self.name, "Betainc" | "SelectNumber") || PRIVATE_OPS.iter().any(|(_, name)| *name == self.name)
    }
}

const fn of(name: &'static str, arity: usize, types: Types, text: &'static str) -> Function {
    Function { name, arity, types, text, integer_text: None, is_predicate: false }
}

const fn number(name: &'static str, arity: usize, text: &'static str, integer_text: &'static str) -> Function {
    Function { name, arity, types: Types::Numbers, text, integer_text: Some(integer_text), is_predicate: false }
}

const fn predicate(name: &'static str, arity: usize, types: Types, text: &'static str) -> Function {
    Function { name, arity, types, text, integer_text: None, is_predicate: true }
}

use Types::{All, Booleans, Floats, Integers, Numbers, WideFloats};

/// Ops that the optimizer makes, and their functions.
pub(crate) const PRIVATE_OPS: [(&str, &str); 6] = [
    ("_GeluApproximate", "GeluApproximate"),
    ("_GeluExact", "GeluExact"),
    ("_HardSigmoid", "HardSigmoid"),
    ("_HardSwish", "HardSwish"),
    ("_Mish", "Mish"),
    ("_Silu", "Silu"),
];

/// All functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    number("Abs", 1, "fabs(a)", "a < 0 ? -a : a"),
    of("Acos", 1, Floats, "acos(a)"),
    of("Acosh", 1, Floats, "acosh(a)"),
    of("Add", 2, Numbers, "a + b"),
    of("AddV2", 2, Numbers, "a + b"),
    of("Asin", 1, Floats, "asin(a)"),
    of("Asinh", 1, Floats, "asinh(a)"),
    of("Atan", 1, Floats, "atan(a)"),
    of("Atan2", 2, Floats, "atan2(a, b)"),
    of("Atanh", 1, Floats, "atanh(a)"),
    of("BesselI0", 1, Floats, "(C)special_bessel_i0(a)"),
    of("BesselI0e", 1, Floats, "(C)special_bessel_i0e(a)"),
    of("BesselI1", 1, Floats, "(C)special_bessel_i1(a)"),
    of("BesselI1e", 1, Floats, "(C)special_bessel_i1e(a)"),
    of("BesselJ0", 1, Floats, "(C)special_bessel_j0(a)"),
    of("BesselJ1", 1, Floats, "(C)special_bessel_j1(a)"),
    of("BesselK0", 1, Floats, "(C)special_bessel_k0(a)"),
    of("BesselK0e", 1, Floats, "(C)special_bessel_k0e(a)"),
    of("BesselK1", 1, Floats, "(C)special_bessel_k1(a)"),
    of("BesselK1e", 1, Floats, "(C)special_bessel_k1e(a)"),
    of("BesselY0", 1, Floats, "(C)special_bessel_y0(a)"),
    of("BesselY1", 1, Floats, "(C)special_bessel_y1(a)"),
    of("Betainc", 3, WideFloats, "(C)special_betainc(a, b, c)"),
    of("BitwiseAnd", 2, Integers, "a & b"),
    of("BitwiseOr", 2, Integers, "a | b"),
    of("BitwiseXor", 2, Integers, "a ^ b"),
    of("Ceil", 1, Floats, "ceil(a)"),
    of("Cos", 1, Floats, "cos(a)"),
    of("Cosh", 1, Floats, "cosh(a)"),
    of("Dawsn", 1, Floats, "(C)special_dawsn(a)"),
    of("Digamma", 1, Floats, "(C)special_digamma(a)"),
    number("Div", 2, "a / b", "truncated_quotient<C>(a, b)"),
    of("DivNoNan", 2, Floats, "b == 0 ? (C)0 : a / b"),
    of("Elu", 1, Floats, "a < 0 ? expm1(a) : a"),
    of("EluGrad", 2, Floats, "b < 0 ? a * (b + 1) : a"),
    predicate("Equal", 2, All, "a == b"),
    of("Erf", 1, Floats, "erf(a)"),
    of("Erfc", 1, Floats, "erfc(a)"),
    of("Erfinv", 1, Floats, "(C)special_erfinv(a)"),
    of("Exp", 1, Floats, "exp(a)"),
    of("Expint", 1, Floats, "(C)special_expint(a)"),
    of("Expm1", 1, Floats, "expm1(a)"),
    of("Floor", 1, Floats, "floor(a)"),
    of("FloorDiv", 2, Numbers, "floored_quotient<C>(a, b)"),
    of("FloorMod", 2, Numbers, "floored_remainder<C>(a, b)"),
    of("FresnelCos", 1, Floats, "(C)special_fresnel_cos(a)"),
    of("FresnelSin", 1, Floats, "(C)special_fresnel_sin(a)"),
    of("GeluApproximate", 1, Floats, "(C)0.5 * a * (1 + tanh((C)0.7978845608028653559 * (a + (C)0.044715 * a * a * a)))"),
    of("GeluExact", 1, Floats, "(C)0.5 * a * (1 + erf(a * (C)0.70710678118654752440))"),
    predicate("Greater", 2, Numbers, "a > b"),
    predicate("GreaterEqual", 2, Numbers, "a >= b"),
    of("HardSigmoid", 1, Floats, "fmin(fmax(a + 3, (C)0), (C)6) / 6"),
    of("HardSwish", 1, Floats, "a * (fmin(fmax(a + 3, (C)0), (C)6) / 6)"),
    of("Igamma", 2, WideFloats, "(C)special_igamma(a, b)"),
    of("IgammaGradA", 2, WideFloats, "(C)special_igamma_grad_a(a, b)"),
    of("Igammac", 2, WideFloats, "(C)special_igammac(a, b)"),
    of("Inv", 1, Floats, "1 / a"),
    of("Invert", 1, Integers, "~a"),
    predicate("IsFinite", 1, Floats, "a - a == 0"),
    predicate("IsInf", 1, Floats, "a == lowest<C>() || a == highest<C>()"),
    predicate("IsNan", 1, Floats, "a != a"),
    of("LeftShift", 2, Integers, "shifted_left<C>(a, b)"),
    of("LeakyRelu", 1, Floats, "a > 0 ? a : a * p"),
    of("LeakyReluGrad", 2, Floats, "b > 0 ? a : a * p"),
    predicate("Less", 2, Numbers, "a < b"),
    predicate("LessEqual", 2, Numbers, "a <= b"),
    of("Lgamma", 1, Floats, "lgamma(a)"),
    of("Log", 1, Floats, "log(a)"),
    of("Log1p", 1, Floats, "log1p(a)"),
    predicate("LogicalAnd", 2, Booleans, "a && b"),
    predicate("LogicalNot", 1, Booleans, "!a"),
    predicate("LogicalOr", 2, Booleans, "a || b"),
    of("Maximum", 2, Numbers, "larger<C>(a, b)"),
    of("Minimum", 2, Numbers, "smaller<C>(a, b)"),
    of("Mish", 1, Floats, "a * tanh(a > 0 ? a + log1p(exp(-a)) : log1p(exp(a)))"),
    number("Mod", 2, "fmod(a, b)", "truncated_remainder<C>(a, b)"),
    of("Mul", 2, Numbers, "a * b"),
    of("MulNoNan", 2, Floats, "b == 0 ? (C)0 : a * b"),
    of("Neg", 1, Numbers, "-a"),
    predicate("NotEqual", 2, All, "a != b"),
    number("Pow", 2, "pow(a, b)", "integer_power<C>(a, b)"),
    number("RealDiv", 2, "a / b", "truncated_quotient<C>(a, b)"),
    of("Reciprocal", 1, Floats, "1 / a"),
    of("ReciprocalGrad", 2, Floats, "-b * a * a"),
    of("InvGrad", 2, Floats, "-b * a * a"),
    of("Ndtri", 1, Floats, "(C)special_ndtri(a)"),
    of("NextAfter", 2, WideFloats, "nextafter(a, b)"),
    of("Polygamma", 2, WideFloats, "(C)special_polygamma(a, b)"),
    of("RandomGammaGrad", 2, WideFloats, "(C)special_gamma_sample_slope(a, b)"),
    of("Relu", 1, Numbers, "a < 0 ? (C)0 : a"),
    of("Relu6", 1, Numbers, "a < 0 ? (C)0 : a > 6 ? (C)6 : a"),
    of("Relu6Grad", 2, Numbers, "b > 0 && b < 6 ? a : (C)0"),
    of("ReluGrad", 2, Numbers, "b > 0 ? a : (C)0"),
    of("RightShift", 2, Integers, "shifted_right<C>(a, b)"),
    of("Rint", 1, Floats, "rint(a)"),
    number("Round", 1, "rint(a)", "a"),
    of("Rsqrt", 1, Floats, "rsqrt(a)"),
    of("RsqrtGrad", 2, Floats, "(C)-0.5 * b * a * a * a"),
    // A select whose condition is a number.
    of("SelectNumber", 3, Floats, "a != 0 ? b : c"),
    of("Selu", 1, Floats, "a < 0 ? (C)1.7580993408473768599 * expm1(a) : (C)1.0507009873554804934 * a"),
    of("SeluGrad", 2, Floats, "b < 0 ? a * (b + (C)1.7580993408473768599) : a * (C)1.0507009873554804934"),
    of("Sigmoid", 1, Floats, "1 / (1 + exp(-a))"),
    of("SigmoidGrad", 2, Floats, "b * a * (1 - a)"),
    of("Silu", 1, Floats, "a / (1 + exp(-a))"),
    number("Sign", 1, "a != a ? a : (C)((a > 0) - (a < 0))", "(C)((a > 0) - (a < 0))"),
    of("Sin", 1, Floats, "sin(a)"),
    of("Sinh", 1, Floats, "sinh(a)"),
    of("Softplus", 1, Floats, "a > 0 ? a + log1p(exp(-a)) : log1p(exp(a))"),
    of("SoftplusGrad", 2, Floats, "a / (1 + exp(-b))"),
    of("Softsign", 1, Floats, "a / (1 + fabs(a))"),
    of("SoftsignGrad", 2, Floats, "a / ((1 + fabs(b)) * (1 + fabs(b)))"),
    of("Spence", 1, Floats, "(C)special_spence(a)"),
    of("Sqrt", 1, Floats, "sqrt(a)"),
    of("SqrtGrad", 2, Floats, "(C)0.5 * b / a"),
    of("Square", 1, Numbers, "a * a"),
    of("SquaredDifference", 2, Numbers, "(a - b) * (a - b)"),
    of("Sub", 2, Numbers, "a - b"),
    of("Tan", 1, Floats, "tan(a)"),
    of("Tanh", 1, Floats, "tanh(a)"),
    of("TanhGrad", 2, Floats, "b * (1 - a * a)"),
    number("TruncateDiv", 2, "trunc(a / b)", "truncated_quotient<C>(a, b)"),
    number("TruncateMod", 2, "fmod(a, b)", "truncated_remainder<C>(a, b)"),
    of("Xdivy", 2, Floats, "a == 0 ? (C)0 : a / b"),
    of("Xlog1py", 2, Floats, "a == 0 ? (C)0 : a * log1p(b)"),
    of("Xlogy", 2, Floats, "a == 0 ? (C)0 : a * log(b)"),
    of("Zeta", 2, WideFloats, "(C)special_zeta(a, b)"),
];
