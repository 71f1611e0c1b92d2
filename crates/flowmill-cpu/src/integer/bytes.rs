//! `_ToBytes`, `_FromBytes` and `_AddBytes`: element-wise functions of bytes.

use super::{limits, zero_byte};
use crate::from_fn::linear_from_fn;
use crate::parallel;
use flowmill_numeric::fake_quant::QuantizedValues;
use flowmill_numeric::integer::{add_bytes, to_bytes, to_floats};
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("_ToBytes", make_to_bytes);
    registry.add("_FromBytes", make_from_bytes);
    registry.add("_AddBytes", make_add);
}

/// The elements that a thread computes at a time, about 5 µs of work.
const GRAIN: usize = 1 << 15;

fn make_to_bytes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let zero = zero_byte(attrs.get("zero")?)?;
    let values = QuantizedValues {
        min: attrs.get("min")?,
        max: attrs.get("max")?,
        scale: attrs.get("scale")?,
        inverse: attrs.get("inverse")?,
        zero: f32::from(zero),
    };
    let divides = attrs.get_or("divides", false)?;
    element_wise(init, move |bytes: &mut [u8], x: &[f32]| to_bytes(bytes, x, values, divides))
}

fn make_from_bytes(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (scale, zero): (f32, u8) = (init.attrs.get("scale")?, zero_byte(init.attrs.get("zero")?)?);
    element_wise(init, move |x: &mut [f32], bytes: &[u8]| to_floats(x, bytes, scale, zero))
}

/// Makes a kernel that computes elements of `B` from as many of `A`.
fn element_wise<A: Element, B: Element>(
    init: &KernelInit<'_>,
    f: impl Fn(&mut [B], &[A]) + Send + Sync + 'static,
) -> Result<Arc<dyn Kernel>> {
    linear_from_fn(init, move |ctx| {
        let input = ctx.take(0)?;
        let mut out = ctx.allocator().uninit(B::DTYPE, input.shape().clone())?;
        let x = input.as_slice::<A>()?;
        parallel::chunks(out.as_mut_slice::<B>()?, GRAIN, |i, out| f(out, &x[i * GRAIN..]));
        ctx.set_output(0, out);
        Ok(())
    })
}

fn make_add(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (low, high) = limits(init, true)?;
    let bias: f32 = init.attrs.get("bias")?;
    let (&[a, b], &[first, second]) = (&init.attrs.list::<i64>("zeros")?[..], &init.attrs.list::<f32>("factors")?[..]) else {
        bail!(InvalidArgument, "there must be a zero point and a factor for each of two tensors")
    };
    let zeros = [zero_byte(a)?, zero_byte(b)?];
    linear_from_fn(init, move |ctx| {
        let (a, b) = (ctx.take(0)?, ctx.take(1)?);
        if a.shape() != b.shape() {
            bail!(InvalidArgument, "Incompatible shapes: {} vs. {}", a.shape(), b.shape());
        }
        let mut out = ctx.allocator().uninit(DType::U8, a.shape().clone())?;
        let (a, b) = (a.as_slice::<u8>()?, b.as_slice::<u8>()?);
        parallel::chunks(out.as_mut_slice::<u8>()?, GRAIN, |i, out| {
            add_bytes(out, &a[i * GRAIN..], &b[i * GRAIN..], zeros, [first, second], bias, low, high);
        });
        ctx.set_output(0, out);
        Ok(())
    })
}
