//! Functions of two or more tensors, element by element, with NumPy's broadcasting.

mod arithmetic;
mod comparison;
mod select;
mod special;
mod sum;

pub(crate) use arithmetic::{Add, Mul};

use crate::elementwise::{Function, binary, binary_kernel};
use arithmetic::{
    Div, DivNoNan, FloorDiv, FloorMod, Maximum, Minimum, MulNoNan, Pow, RealDiv, SquaredDifference, Sub, TruncateDiv, TruncateMod,
};
use comparison::{BitwiseAnd, BitwiseOr, BitwiseXor, Greater, GreaterEqual, LeftShift, Less, LessEqual, LogicalAnd, LogicalOr, RightShift};
use flowmill_graph::ElementwiseFunction;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry, MakeKernel};
use flowmill_tensor::{Complex, DType, Result, bf16, f16};
use special::{Atan2, Igamma, IgammaGradA, Igammac, MakeComplex, NextAfter, Polygamma, RandomGammaGrad, Xdivy, Xlog1py, Xlogy, Zeta};
use std::sync::Arc;

/// Returns the code of a function of this family on `float32` that can be fused with others.
pub(crate) fn function(function: ElementwiseFunction) -> Option<Function> {
    Some(match function {
        ElementwiseFunction::Add => Function::two::<Add>(),
        ElementwiseFunction::Div | ElementwiseFunction::RealDiv => Function::two::<RealDiv>(),
        ElementwiseFunction::Maximum => Function::two::<Maximum>(),
        ElementwiseFunction::Minimum => Function::two::<Minimum>(),
        ElementwiseFunction::Mul => Function::two::<Mul>(),
        ElementwiseFunction::SquaredDifference => Function::two::<SquaredDifference>(),
        ElementwiseFunction::Sub => Function::two::<Sub>(),
        _ => return None,
    })
}

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    macro_rules! numbers {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>]));)* };
    }
    macro_rules! reals {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64]));)* };
    }
    macro_rules! wide_reals {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [f16, bf16, f32, f64, i32, i64]));)* };
    }
    macro_rules! floats {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [f16, bf16, f32, f64, Complex<f32>, Complex<f64>]));)* };
    }
    macro_rules! integers {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [i8, i16, i32, i64, u8, u16, u32, u64]));)* };
    }
    macro_rules! singles_and_doubles {
        ($($name:literal $op:ty;)*) => { $(registry.add($name, binary!($op, [f32, f64]));)* };
    }
    numbers! {
        "Div" Div;
        "Mul" Mul;
        "Sub" Sub;
    }
    reals! {
        "FloorDiv" FloorDiv;
        "FloorMod" FloorMod;
        "Greater" Greater;
        "GreaterEqual" GreaterEqual;
        "Less" Less;
        "LessEqual" LessEqual;
        "Maximum" Maximum;
        "Minimum" Minimum;
        "TruncateDiv" TruncateDiv;
    }
    // The ops take no shorter and no unsigned integers.
    wide_reals! {
        "Mod" TruncateMod;
        "TruncateMod" TruncateMod;
    }
    floats! {
        "DivNoNan" DivNoNan;
        "MulNoNan" MulNoNan;
        "RealDiv" RealDiv;
        "Xdivy" Xdivy;
        "Xlog1py" Xlog1py;
        "Xlogy" Xlogy;
    }
    integers! {
        "BitwiseAnd" BitwiseAnd;
        "BitwiseOr" BitwiseOr;
        "BitwiseXor" BitwiseXor;
        "LeftShift" LeftShift;
        "RightShift" RightShift;
    }
    singles_and_doubles! {
        "Igamma" Igamma;
        "IgammaGradA" IgammaGradA;
        "Igammac" Igammac;
        "NextAfter" NextAfter;
        "Polygamma" Polygamma;
        "RandomGammaGrad" RandomGammaGrad;
        "Zeta" Zeta;
    }
    registry.add("AccumulateNV2", sum::make_add_n);
    registry.add("Add", sum::make_add);
    registry.add("AddN", sum::make_add_n);
    registry.add("AddV2", sum::make_add);
    registry.add("ApproximateEqual", comparison::make_approximate_equal);
    registry.add("Complex", |init| of_complex(init, binary!(MakeComplex, [f32, f64])));
    registry.add("Atan2", binary!(Atan2, [f16, bf16, f32, f64]));
    registry.add("Betainc", special::make_betainc);
    registry.add("ClipByValue", select::make_clip);
    registry.add("Cross", sum::make_cross);
    registry.add("Equal", comparison::make_equal);
    registry.add("LogicalAnd", |_| Ok(binary_kernel::<LogicalAnd, bool>()));
    registry.add("LogicalOr", |_| Ok(binary_kernel::<LogicalOr, bool>()));
    registry.add("NotEqual", comparison::make_not_equal);
    registry.add("SquaredDifference", binary!(SquaredDifference, [f16, bf16, f32, f64, i32, i64, Complex<f32>, Complex<f64>]));
    registry.add("Pow", binary!(Pow, [f16, bf16, f32, f64, i8, i16, i32, i64, Complex<f32>, Complex<f64>]));
    registry.add("Select", select::make_select);
    registry.add("SelectV2", select::make_select_v2);
}

/// Makes the kernel of `Complex`, where `Tout` is the type whose parts have type `T`.
fn of_complex(init: &KernelInit<'_>, make: MakeKernel) -> Result<Arc<dyn Kernel>> {
    match (init.input_types, init.output_types) {
        ([DType::F32, _], [DType::C128]) | ([DType::F64, _], [DType::C64]) => init.unsupported(),
        _ => make(init),
    }
}
