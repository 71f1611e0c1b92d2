use super::{Operand, Word};
use flowmill_numeric::elementwise::{InPlace, zip, zip_in_place};
use flowmill_runtime::{Kernel, KernelContext, ScalarOp};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use std::sync::Arc;

/// A function of two elements.
pub(crate) trait BinaryOp<T: Word>: 'static {
    /// The result's type.
    type Out: Word;
    /// The cost per element, in simple operations.
    const COST: usize = 1;
    /// Computes the function. Its result does not matter if [`BinaryOp::CHECK`] rejects the operands.
    fn apply(a: T, b: T) -> Self::Out;
    /// Computes `dst[i] = apply(a[i], b[i])`.
    fn zip(a: &[T], b: &[T], dst: &mut [Self::Out]) {
        T::zip(a, b, dst, Self::apply);
    }
    /// The shapes that the operands may have.
    const OPERANDS: Operands = Operands::Broadcast;
    /// Checks for operands that are an error in TensorFlow, such as a zero divisor.
    const CHECK: Option<Check<T>> = None;
}

/// The shapes that the operands of a function may have.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Operands {
    /// Shapes that broadcast against each other.
    Broadcast,
    /// Shapes with equally many elements; the result has the first one's shape.
    SameCount,
    /// Equal shapes.
    SameShape,
}

/// A check that returns an error for invalid operands of a binary function.
pub(crate) type Check<T> = fn(&[T], &[T]) -> Result<()>;

/// The kernel of a function of two elements, whose operands broadcast against each other.
#[derive(Clone)]
pub(crate) struct Binary<A: Word, D: Word> {
    /// Computes `dst[i] = f(a[i], b[i])`.
    pub(super) zip: fn(&[A], &[A], &mut [D]),
    word: fn(u64, u64) -> u64,
    check: Option<Check<A>>,
    operands: Operands,
    pub(super) cost: usize,
}

/// Makes the kernel of `O` for elements of `T`.
pub(crate) fn binary_kernel<O: BinaryOp<T>, T: Word>() -> Arc<dyn Kernel> {
    Arc::new(Binary::of::<O>())
}

/// Returns the shape of the result.
///
/// # Errors
/// Returns `InvalidArgument` if the shapes do not broadcast.
pub(crate) fn broadcast_shape(a: &Shape, b: &Shape) -> Result<Shape> {
    match Shape::broadcast(a, b) {
        Some(shape) => Ok(shape),
        None => bail!(InvalidArgument, "Incompatible shapes: {a} vs. {b}"),
    }
}

impl<A: Word, D: Word> Binary<A, D> {
    /// Returns the kernel of `O`.
    pub(crate) fn of<O: BinaryOp<A, Out = D>>() -> Binary<A, D> {
        Binary {
            zip: O::zip,
            word: |a, b| O::apply(A::from_word(a), A::from_word(b)).to_word(),
            check: O::CHECK,
            operands: O::OPERANDS,
            cost: O::COST,
        }
    }

    /// Returns the result for two tensors.
    pub(crate) fn combine(&self, alloc: &Allocator, mut a: Tensor, mut b: Tensor) -> Result<Tensor> {
        let broadcasts = self.operands == Operands::Broadcast;
        if self.operands == Operands::SameShape && a.shape() != b.shape() {
            bail!(InvalidArgument, "The two arguments must be the same size, got {} and {}", a.shape(), b.shape());
        }
        if !broadcasts && a.num_elements() != b.num_elements() {
            bail!(
                InvalidArgument,
                "The two arguments to a cwise op must have same number of elements, got {} and {}",
                a.num_elements(),
                b.num_elements()
            );
        }
        let shape = if a.shape() == b.shape() || !broadcasts { a.shape().clone() } else { broadcast_shape(a.shape(), b.shape())? };
        shape.checked_num_elements()?;
        if let Some(check) = self.check {
            check(a.as_slice()?, b.as_slice()?)?;
        }
        if A::DTYPE == D::DTYPE {
            if *a.shape() == shape && a.is_unique() {
                self.zip_in_place(&mut a, &b, InPlace::Left)?;
                return Ok(a);
            }
            if *b.shape() == shape && b.is_unique() {
                self.zip_in_place(&mut b, &a, InPlace::Right)?;
                return Ok(b);
            }
        }
        let mut out = alloc.uninit(D::DTYPE, shape.clone())?;
        let left = Operand::<A>::new(a.as_slice()?, a.shape(), &shape);
        let right = Operand::<A>::new(b.as_slice()?, b.shape(), &shape);
        zip(self.zip, self.cost, &left, &right, out.as_mut_slice::<D>()?);
        Ok(out)
    }

    /// Computes the result in the memory of `target`, which is the operand that `side` names and has the result's shape.
    fn zip_in_place(&self, target: &mut Tensor, other: &Tensor, side: InPlace) -> Result<()> {
        let other = Operand::<A>::new(other.as_slice()?, other.shape(), target.shape());
        zip_in_place(self.zip, self.cost, target.as_mut_slice::<D>()?, &other, side);
        Ok(())
    }
}

impl<A: Word, D: Word> Kernel for Binary<A, D> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (a, b) = (ctx.take(0)?, ctx.take(1)?);
        if self.check.is_none()
            && let (Some(x), Some(y)) = (a.scalar_bits(A::DTYPE), b.scalar_bits(A::DTYPE))
            && let Some(out) = Tensor::from_scalar_bits(D::DTYPE, (self.word)(x, y))
        {
            ctx.set_output(0, out);
            return Ok(());
        }
        let out = self.combine(ctx.allocator(), a, b)?;
        ctx.set_output(0, out);
        Ok(())
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        let fits = size_of::<A>() <= 8 && size_of::<D>() <= 8;
        (fits && self.check.is_none()).then_some(ScalarOp::Binary { from: A::DTYPE, to: D::DTYPE, f: self.word })
    }
}
