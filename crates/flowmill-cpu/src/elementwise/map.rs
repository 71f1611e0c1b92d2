use super::Word;
use flowmill_numeric::elementwise::{map, map_in_place};
use flowmill_runtime::{Kernel, KernelContext, ScalarOp};
use flowmill_tensor::{Allocator, Result, Tensor};
use std::sync::Arc;

/// A function of one element.
pub(crate) trait UnaryOp<T: Word>: 'static {
    /// The result's type.
    type Out: Word;
    /// The cost per element, in simple operations.
    const COST: usize = 1;
    /// Computes the function.
    fn apply(x: T) -> Self::Out;
    /// Computes `dst[i] = apply(src[i])`.
    fn map(src: &[T], dst: &mut [Self::Out]) {
        T::map(src, dst, Self::apply);
    }
}

/// The kernel of a function of one element.
#[derive(Clone)]
pub(crate) struct Unary<A: Word, D: Word> {
    /// Computes `dst[i] = f(src[i])`.
    pub(super) map: fn(&[A], &mut [D]),
    word: fn(u64) -> u64,
    pub(super) cost: usize,
}

/// Makes the kernel of `O` for elements of `T`.
pub(crate) fn unary_kernel<O: UnaryOp<T>, T: Word>() -> Arc<dyn Kernel> {
    Arc::new(Unary::of::<O>())
}

impl<A: Word, D: Word> Unary<A, D> {
    /// Returns the kernel of `O`.
    pub(crate) fn of<O: UnaryOp<A, Out = D>>() -> Unary<A, D> {
        Unary { map: O::map, word: |x| O::apply(A::from_word(x)).to_word(), cost: O::COST }
    }

    /// Returns the result for a whole tensor. The tensor's memory is reused if nothing else refers to it and the result has the same type.
    pub(crate) fn transform(&self, alloc: &Allocator, mut x: Tensor) -> Result<Tensor> {
        if A::DTYPE == D::DTYPE && x.is_unique() {
            map_in_place(self.map, self.cost, x.as_mut_slice::<D>()?);
            return Ok(x);
        }
        let mut out = alloc.uninit(D::DTYPE, x.shape().clone())?;
        map(self.map, self.cost, x.as_slice::<A>()?, out.as_mut_slice::<D>()?);
        Ok(out)
    }
}

impl<A: Word, D: Word> Kernel for Unary<A, D> {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let x = ctx.take(0)?;
        let scalar = x.scalar_bits(A::DTYPE).and_then(|x| Tensor::from_scalar_bits(D::DTYPE, (self.word)(x)));
        let out = match scalar {
            Some(out) => out,
            None => self.transform(ctx.allocator(), x)?,
        };
        ctx.set_output(0, out);
        Ok(())
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        (size_of::<A>() <= 8 && size_of::<D>() <= 8).then_some(ScalarOp::Unary { from: A::DTYPE, to: D::DTYPE, f: self.word })
    }
}
