//! `QuantizedRelu`, `QuantizedRelu6`, `QuantizedReluX`, which clamp integers that represent numbers less than zero or greater than a bound.

use super::range::{Quantized, Range, integers, quantized, scalar};
use crate::from_fn::linear_from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedRelu", |init| make(init, Bound::None));
    registry.add("QuantizedRelu6", |init| make(init, Bound::Six));
    registry.add("QuantizedReluX", |init| make(init, Bound::Input));
}

/// The upper bound of the numbers.
#[derive(Clone, Copy)]
enum Bound {
    None,
    Six,
    /// The number in input 1.
    Input,
}

fn make(init: &KernelInit<'_>, bound: Bound) -> Result<Arc<dyn Kernel>> {
    match (init.dtype("Tinput")?, init.attrs.get_or("out_type", DType::QU8)?) {
        (DType::QU8, DType::QU8) => linear_from_fn(init, move |ctx| clamp::<u8>(ctx, bound)),
        (DType::QI32, DType::QI32) => linear_from_fn(init, move |ctx| clamp::<i32>(ctx, bound)),
        _ => init.unsupported(),
    }
}

fn clamp<T: Quantized>(ctx: &mut KernelContext<'_>, bound: Bound) -> Result<()> {
    let (most, at) = match bound {
        Bound::None => (None, 1),
        Bound::Six => (Some(6.0), 1),
        Bound::Input => (Some(scalar(ctx, 1, "max_value")?), 2),
    };
    let range = Range::of(ctx, at, ["min_input", "max_input"])?;
    let least = range.quantized::<T>(0.0);
    let most = most.map_or(T::saturated(i64::MAX), |most| range.quantized::<T>(most));
    let input = integers::<T>(ctx, 0)?;
    let x = input.as_slice::<T>()?;
    let out = quantized::<T>(ctx.allocator(), input.shape().clone(), |out| {
        out.iter_mut().zip(x).for_each(|(out, &x)| *out = x.max(least).min(most));
    })?;
    ctx.set_output(0, out);
    range.set(ctx, 1);
    Ok(())
}
