use super::{Binary, BinaryOp, Operands, Unary, UnaryOp};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};

/// A function of one or two elements of `float32`, for slices and for whole tensors. Its results are bit for bit those of the op's own kernel.
#[derive(Clone)]
pub(crate) enum Function {
    /// A function of one element.
    One(Unary<f32, f32>),
    /// A function of two elements, whose operands broadcast against each other.
    Two(Binary<f32, f32>),
}

impl Function {
    /// Returns the function `O` of one element.
    pub(crate) fn one<O: UnaryOp<f32, Out = f32>>() -> Function {
        Function::One(Unary::of::<O>())
    }

    /// Returns the function `O` of two elements.
    pub(crate) fn two<O: BinaryOp<f32, Out = f32>>() -> Function {
        const {
            assert!(
                O::CHECK.is_none() && matches!(O::OPERANDS, Operands::Broadcast),
                "functions of blocks neither look at their operands nor refuse to broadcast"
            )
        };
        Function::Two(Binary::of::<O>())
    }

    /// Returns the number of operands.
    pub(crate) fn num_operands(&self) -> usize {
        match self {
            Function::One(_) => 1,
            Function::Two(_) => 2,
        }
    }

    /// Returns the cost per element, in simple operations.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Function::One(f) => f.cost,
            Function::Two(f) => f.cost,
        }
    }

    /// Computes `dst[i] = f(a[i])` or `f(a[i], b[i])`; a function of one element does not read `b`.
    #[inline]
    pub(crate) fn apply(&self, a: &[f32], b: &[f32], dst: &mut [f32]) {
        match self {
            Function::One(f) => (f.map)(a, dst),
            Function::Two(f) => (f.zip)(a, b, dst),
        }
    }

    /// Returns the shape of the result for operands of these shapes.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the shapes do not broadcast.
    pub(crate) fn shape(&self, operands: &[&Shape]) -> Result<Shape> {
        match (self, operands) {
            (_, [a]) => Ok((*a).clone()),
            (_, [a, b]) if a == b => Ok((*a).clone()),
            (_, [a, b]) => super::broadcast_shape(a, b),
            _ => bail!(Internal, "a function of one or two operands got {}", operands.len()),
        }
    }

    /// Returns the result for whole tensors.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the shapes do not broadcast.
    pub(crate) fn whole(&self, alloc: &Allocator, operands: &[&Tensor]) -> Result<Tensor> {
        match (self, operands) {
            (Function::One(f), [a]) => f.transform(alloc, (*a).clone()),
            (Function::Two(f), [a, b]) => f.combine(alloc, (*a).clone(), (*b).clone()),
            _ => bail!(Internal, "a function of one or two operands got {}", operands.len()),
        }
    }
}
