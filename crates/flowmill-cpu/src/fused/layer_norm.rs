//! `_FusedLayerNorm`, which normalises the last dimension, then scales and shifts it.

use crate::from_fn::from_fn;
use crate::simd::rows::layer_norm;
use flowmill_runtime::{Kernel, KernelContext, KernelInit};
use flowmill_tensor::{DType, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    if init.dtype("T")? != DType::F32 {
        return init.unsupported();
    }
    let epsilon: f32 = init.attrs.get("epsilon")?;
    from_fn(move |ctx| {
        let y = normalised(ctx, epsilon)?;
        ctx.set_output(0, y);
        Ok(())
    })
}

fn normalised(ctx: &KernelContext<'_>, epsilon: f32) -> Result<Tensor> {
    let (x, gamma, beta) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
    let Some(&width) = x.shape().last() else {
        bail!(InvalidArgument, "Invalid reduction dimension (-1 for input with 0 dimension(s)");
    };
    let n = gamma.num_elements();
    if gamma.rank() != 1 || beta.shape() != gamma.shape() || (width != n && width != 1 && n != 1) {
        bail!(InvalidArgument, "Incompatible shapes: {} vs. {} and {}", x.shape(), gamma.shape(), beta.shape());
    }
    let (x, gamma, beta, shape) = (x.as_slice::<f32>()?, gamma.as_slice::<f32>()?, beta.as_slice::<f32>()?, x.shape());
    let mut shape = shape.clone();
    if width == n {
        let mut y = ctx.allocator().uninit(DType::F32, shape)?;
        layer_norm(y.as_mut_slice()?, x, width, Some(gamma), Some(beta), epsilon);
        return Ok(y);
    }
    let mut plain = vec![0.0; x.len()];
    layer_norm(&mut plain, x, width, None, None, epsilon);
    if let Some(last) = shape.last_mut() {
        *last = if width == 1 { n } else { width };
    }
    // One of the two operands has one element for all elements of the other.
    let mut y = ctx.allocator().uninit(DType::F32, shape.clone())?;
    let columns = shape.last().copied().unwrap_or(1).max(1);
    for (y, x) in y.as_mut_slice::<f32>()?.chunks_exact_mut(columns).zip(plain.chunks_exact(width.max(1))) {
        for (j, y) in y.iter_mut().enumerate() {
            *y = x[j % x.len()] * gamma[j % n] + beta[j % n];
        }
    }
    Ok(y)
}
