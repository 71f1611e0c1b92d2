//! `QuantizedAvgPool` and `QuantizedMaxPool`, which pool the integers and keep their range.

use super::range::{Quantized, Range, integers};
use crate::from_fn::from_fn;
use crate::pool::Pool;
use flowmill_numeric::pool::{Pooled, avg_pool, max_pool};
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Result, Tensor};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("QuantizedAvgPool", |init| make(init, average::<u8>, average::<i8>));
    registry.add("QuantizedMaxPool", |init| make(init, greatest::<u8>, greatest::<i8>));
}

type Compute = fn(&KernelContext<'_>, &Pool) -> Result<Tensor>;

fn make(init: &KernelInit<'_>, unsigned: Compute, signed: Compute) -> Result<Arc<dyn Kernel>> {
    let compute = match init.dtype("T")? {
        DType::QU8 => unsigned,
        DType::QI8 => signed,
        _ => return init.unsupported(),
    };
    let pool = Pool::new(init)?;
    from_fn(move |ctx| {
        let range = Range::of(ctx, 1, ["min_input", "max_input"])?;
        let output = compute(ctx, &pool)?;
        ctx.set_output(0, output);
        range.set(ctx, 1);
        Ok(())
    })
}

fn greatest<T: Quantized + Pooled>(ctx: &KernelContext<'_>, pool: &Pool) -> Result<Tensor> {
    let input = integers::<T>(ctx, 0)?;
    let (window, shape) = pool.window(input.shape())?;
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    if out.num_elements() > 0 {
        max_pool::<T>(&window.volume(), input.as_slice()?, out.as_mut_slice()?, T::LOWEST);
    }
    out.bitcast(T::QUANTIZED)
}

/// Computes averages, rounded towards zero.
fn average<T: Quantized>(ctx: &KernelContext<'_>, pool: &Pool) -> Result<Tensor> {
    let input = integers::<T>(ctx, 0)?;
    let (window, shape) = pool.window(input.shape())?;
    let mut out = ctx.allocator().uninit(T::DTYPE, shape)?;
    if out.num_elements() > 0 {
        let _reserved = ctx.allocator().reserve::<i32>(input.num_elements().saturating_add(out.num_elements()))?;
        let wide: Vec<i32> = input.as_slice::<T>()?.iter().map(|&x| T::wide(x) as i32).collect();
        let mut averages = vec![0; out.num_elements()];
        avg_pool::<i32>(&window.volume(), &wide, &mut averages);
        out.as_mut_slice::<T>()?.iter_mut().zip(averages).for_each(|(out, x)| *out = T::saturated(i64::from(x)));
    }
    out.bitcast(T::QUANTIZED)
}
