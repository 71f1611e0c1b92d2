//! An op with its kernel outside of Flowmill: `Lerp(start, end) = start + weight (end - start)`, for floats of two widths.
//!
//! ```
//! use flowmill::prelude::*;
//!
//! # fn main() -> flowmill::Result<()> {
//! let ops = flowmill::OpSet::standard()?.with(flowmill_example_custom_op::lerp_op())?;
//! let b = ops.graph_builder();
//! let middle = flowmill_example_custom_op::lerp(&b, b.constant([0.0f32, 2.0])?, [4.0, 4.0], 0.5)?;
//! let session = b.session(SessionOptions::default())?;
//! assert_eq!(session.runner().fetch(middle)?.as_slice::<f32>()?, [2.0, 3.0]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs, unreachable_pub)]

use flowmill::builder::ScopedBuilder;
use flowmill::builder::gradients::{Backward, Grad};
use flowmill::graph::InferenceContext;
use flowmill::kernel::{Kernel, KernelContext, KernelInit, from_fn};
use flowmill::{CustomOp, DType, Element, GraphBuilder, Input, Output, Result, Tensor};
use std::ops::{Add, Mul, Sub};
use std::sync::Arc;

/// Returns the op: its signature, shape function, gradient and kernel.
pub fn lerp_op() -> CustomOp {
    CustomOp::new("Lerp", "(start: T, end: T) -> (y: T)")
        .attrs("T: {float, double}; weight: float = 0.5")
        .shape(shape)
        .gradient(gradient)
        .kernel(make_kernel)
}

/// Adds a `Lerp` node.
///
/// # Errors
/// `InvalidArgument` if `start` and `end` differ in type or shape.
pub fn lerp<'b>(b: &'b GraphBuilder, start: impl Into<Input<'b>>, end: impl Into<Input<'b>>, weight: f32) -> Result<Output<'b>> {
    b.op("Lerp").input(start).input(end).attr("weight", weight).output()
}

/// The output has the shape that both inputs have.
fn shape(context: &mut InferenceContext<'_>) -> Result<()> {
    let shape = context.input(0).merge(&context.input(1))?;
    context.set_output(0, shape);
    Ok(())
}

/// `start` gets the part `1 - weight` of the gradient, `end` the part `weight`.
fn gradient(scoped: &mut ScopedBuilder<'_>, op: &Backward) -> Result<Vec<Option<Grad>>> {
    let weight: f32 = scoped.graph()[op.node].attrs().get("weight")?;
    let dy = op.dy(scoped, 0)?;
    GraphBuilder::lend(scoped, |b| {
        let to_end = b.output(dy) * weight;
        let to_start = b.output(dy) - to_end;
        Ok(vec![Some(to_start.ok()?.id().into()), Some(to_end.ok()?.id().into())])
    })
}

/// The attributes of a node are read once, when its kernel is made.
fn make_kernel(node: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let weight: f32 = node.attrs.get("weight")?;
    match node.dtype("T")? {
        DType::F32 => from_fn(move |context| compute(context, weight)),
        DType::F64 => from_fn(move |context| compute(context, f64::from(weight))),
        _ => node.unsupported(),
    }
}

fn compute<T>(context: &mut KernelContext<'_>, weight: T) -> Result<()>
where
    T: Element + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let (start, end) = (context.input(0)?, context.input(1)?);
    if start.shape() != end.shape() {
        return Err(flowmill::Error::invalid_argument(format!("shapes {} and {} differ", start.shape(), end.shape())));
    }
    let ends = end.as_slice::<T>()?;
    let values: Vec<T> = start.as_slice::<T>()?.iter().zip(ends).map(|(&start, &end)| start + weight * (end - start)).collect();
    let y = Tensor::from_slice(start.shape().clone(), &values)?;
    context.set_output(0, y);
    Ok(())
}
