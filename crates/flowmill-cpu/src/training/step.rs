//! What all optimizers' kernels share: checks, locks and the walk over the elements.

use crate::from_fn::from_fn;
use crate::number::Number;
use crate::state::Variable;
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::{Result, Shape, Tensor, bail};
use std::sync::Arc;

/// The inputs of an optimizer's kernel. The variable and its slots come first, then hyperparameters and the gradient.
#[derive(Clone, Copy)]
pub(super) struct Signature<const V: usize, const S: usize> {
    /// Names of the variable and its slots.
    pub(super) variables: [&'static str; V],
    /// Inputs and names of the hyperparameters, which are scalars.
    pub(super) scalars: [(usize, &'static str); S],
    /// Input and name of the gradient.
    pub(super) gradient: (usize, &'static str),
}

impl<const V: usize, const S: usize> Signature<V, S> {
    fn scalars<T: Number>(&self, ctx: &KernelContext<'_>) -> Result<[T::Acc; S]> {
        let mut values = [T::Acc::ZERO; S];
        for (value, &(input, name)) in values.iter_mut().zip(&self.scalars) {
            let tensor = ctx.input(input)?;
            if tensor.rank() != 0 {
                bail!(InvalidArgument, "{name} is not a scalar: {}", tensor.shape());
            }
            *value = tensor.to_scalar::<T>()?.widen();
        }
        Ok(values)
    }

    /// Locks the variables and calls `body` with their shape, which all of them have, and their elements.
    fn with_variables<T: Number>(&self, ctx: &KernelContext<'_>, body: impl FnOnce(&Shape, [&mut [T]; V]) -> Result<()>) -> Result<()> {
        let variables = (0..V).map(|i| Variable::from_input(ctx, i)).collect::<Result<Vec<_>>>()?;
        let Ok(variables) = <[Variable<'_>; V]>::try_from(variables) else { bail!(Internal, "an optimizer lost a variable") };
        let mut guards = Variable::lock_all(variables)?;
        let mut shape: Option<Shape> = None;
        let mut slices = Vec::with_capacity(V);
        for ((guard, variable), name) in guards.iter_mut().zip(&variables).zip(self.variables) {
            let Some(value) = guard.as_mut() else { return Err(variable.uninitialized()) };
            if value.dtype() != T::DTYPE {
                bail!(InvalidArgument, "Trying to update variable {} of type {} as {}", variable.name(), value.dtype(), T::DTYPE);
            }
            let shape = shape.get_or_insert_with(|| value.shape().clone());
            if shape != value.shape() {
                bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", self.variables[0], value.shape());
            }
            slices.push(value.as_mut_slice::<T>()?);
        }
        match (shape, <[&mut [T]; V]>::try_from(slices)) {
            (Some(shape), Ok(slices)) => body(&shape, slices),
            _ => bail!(Internal, "an optimizer lost a variable"),
        }
    }
}

/// One element of each variable, updated by one element of the gradient.
fn update_element<T: Number, const V: usize>(
    slices: &mut [&mut [T]; V],
    i: usize,
    gradient: T::Acc,
    rule: impl Fn([T::Acc; V], T::Acc) -> [T::Acc; V],
) {
    let mut values = [T::Acc::ZERO; V];
    for (value, slice) in values.iter_mut().zip(slices.iter()) {
        *value = slice[i].widen();
    }
    for (slice, value) in slices.iter_mut().zip(rule(values, gradient)) {
        slice[i] = T::narrow(value);
    }
}

/// Passes a reference on, for the ops that return the variable.
fn forward_reference(ctx: &mut KernelContext<'_>) -> Result<()> {
    if ctx.num_outputs() > 0 { ctx.forward(0, 0) } else { Ok(()) }
}

/// A kernel that updates every element of its variables: `prepare` makes a rule of the hyperparameters.
pub(super) fn dense<T: Number, R, const V: usize, const S: usize>(
    signature: Signature<V, S>,
    prepare: impl Fn([T::Acc; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>>
where
    R: Fn([T::Acc; V], T::Acc) -> [T::Acc; V],
{
    from_fn(move |ctx| {
        let rule = prepare(signature.scalars::<T>(ctx)?);
        let (input, name) = signature.gradient;
        let gradient = ctx.input(input)?;
        signature.with_variables::<T>(ctx, |shape, mut slices| {
            if gradient.shape() != shape {
                bail!(InvalidArgument, "{} and {name} do not have the same shape{shape} {}", signature.variables[0], gradient.shape());
            }
            for (i, g) in gradient.as_slice::<T>()?.iter().enumerate() {
                update_element(&mut slices, i, g.widen(), &rule);
            }
            Ok(())
        })?;
        forward_reference(ctx)
    })
}

/// A kernel that updates the rows of its variables that the input after the gradient names, one after the other; rows may repeat.
pub(super) fn sparse<T: Number, R, const V: usize, const S: usize>(
    signature: Signature<V, S>,
    prepare: impl Fn([T::Acc; S]) -> R + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>>
where
    R: Fn([T::Acc; V], T::Acc) -> [T::Acc; V],
{
    from_fn(move |ctx| {
        let rule = prepare(signature.scalars::<T>(ctx)?);
        let (input, name) = signature.gradient;
        let (gradient, indices) = (ctx.input(input)?, ctx.input(input + 1)?);
        let rows = row_numbers(indices)?;
        signature.with_variables::<T>(ctx, |shape, mut slices| {
            let Some((&limit, inner)) = shape.split_first() else {
                bail!(InvalidArgument, "{} must be at least 1 dimensional", signature.variables[0])
            };
            let expected: Shape = std::iter::once(rows.len()).chain(inner.iter().copied()).collect();
            if *gradient.shape() != expected {
                bail!(
                    InvalidArgument,
                    "{name} must be the same size as indices in the first dimension and as {} in the others: {} for {expected}",
                    signature.variables[0],
                    gradient.shape()
                );
            }
            let width: usize = inner.iter().product();
            let values = gradient.as_slice::<T>()?;
            if let Some(at) = rows.iter().position(|&row| row < 0 || row as usize >= limit) {
                bail!(InvalidArgument, "Index {} at offset {at} in indices is out of range", rows[at]);
            }
            for (&row, values) in rows.iter().zip(values.chunks_exact(width.max(1))) {
                for (i, g) in values.iter().enumerate() {
                    update_element(&mut slices, row as usize * width + i, g.widen(), &rule);
                }
            }
            Ok(())
        })?;
        forward_reference(ctx)
    })
}

fn row_numbers(indices: &Tensor) -> Result<Vec<i64>> {
    if indices.rank() != 1 {
        bail!(InvalidArgument, "indices must be one-dimensional");
    }
    indices.to_i64_vec()
}
