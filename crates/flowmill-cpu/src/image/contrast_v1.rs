//! `AdjustContrast`, the first version, whose result is clipped.

use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, bail, for_dtype};
use num_traits::AsPrimitive;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("AdjustContrast", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("T")?, [u8, i8, i16, i32, i64, f32, f64], T => from_fn(contrast::<T>), _ => init.unsupported())
}

/// Scales the distance of each channel from its mean over the image, then clips. Inputs: images, factor, least and greatest value.
fn contrast<T: Element + AsPrimitive<f32>>(ctx: &mut KernelContext<'_>) -> Result<()> {
    let images = ctx.input(0)?;
    let &[.., height, width, channels] = images.shape().dims() else {
        bail!(InvalidArgument, "input must be at least 3-D, got shape{}", images.shape());
    };
    let scalar = |i: usize, name: &str| -> Result<f32> {
        match ctx.input(i)?.to_scalar::<f32>() {
            Ok(value) => Ok(value),
            Err(_) => bail!(InvalidArgument, "{name} must be scalar"),
        }
    };
    let (factor, least, greatest) = (scalar(1, "contrast_factor")?, scalar(2, "min_value")?, scalar(3, "max_value")?);
    let mut out = ctx.allocator().zeros(DType::F32, images.shape().clone())?;
    let len = height * width * channels;
    if out.num_elements() > 0 {
        for (image, out) in images.as_slice::<T>()?.chunks_exact(len).zip(out.as_mut_slice::<f32>()?.chunks_exact_mut(len)) {
            for c in 0..channels {
                let sum: f64 = image[c..].iter().step_by(channels).map(|x| f64::from(x.as_())).sum();
                let mean = (sum / (height * width) as f64) as f32;
                for (out, x) in out[c..].iter_mut().step_by(channels).zip(image[c..].iter().step_by(channels)) {
                    *out = ((x.as_() - mean) * factor + mean).min(greatest).max(least);
                }
            }
        }
    }
    ctx.set_output(0, out);
    Ok(())
}
