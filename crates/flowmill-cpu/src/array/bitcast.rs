//! `Bitcast`, which reinterprets a tensor's bytes as elements of another type.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Bytes, Result, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Bitcast", make_bitcast);
}

/// Makes the kernel. For a smaller type an innermost dimension is added; for a larger one the innermost dimension, which must have as many elements
/// as fit, is removed.
fn make_bitcast(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (from, to) = (init.dtype("T")?, init.dtype("type")?);
    let (Some(from_size), Some(to_size)) = (from.size(), to.size()) else { return init.unsupported() };
    from_fn(move |ctx| {
        let mut shape = ctx.input(0)?.shape().clone();
        if from_size > to_size {
            shape.push(from_size / to_size);
        } else if from_size < to_size {
            match shape.split_last() {
                Some((&last, outer)) if last == to_size / from_size => shape = outer.into(),
                _ => bail!(InvalidArgument, "Cannot bitcast from {} to {}", from.number(), to.number()),
            }
        }
        let input = ctx.take(0)?;
        let output = if from_size == to_size {
            input.bitcast(to)?
        } else {
            Tensor::from_bytes(to, shape, Bytes::copy_from_slice(input.as_bytes()?))?
        };
        ctx.set_output(0, output);
        Ok(())
    })
}
