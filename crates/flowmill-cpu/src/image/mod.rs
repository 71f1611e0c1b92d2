//! Kernels on images: resizing, cropping, drawing of boxes, suppression of overlapping boxes, colours.

#![forbid(unsafe_code)]

mod color;
mod contrast_v1;
mod crop;
mod crop_grad;
mod distorted_box;
mod draw;
mod glimpse;
mod non_max_suppression;
mod projective;
mod proposals;
mod random_crop;
pub(crate) mod resize;
mod resize_grad;
mod resize_smooth;
mod scale_and_translate;

use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Result, Tensor, bail};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    color::register(registry);
    contrast_v1::register(registry);
    crop::register(registry);
    crop_grad::register(registry);
    distorted_box::register(registry);
    draw::register(registry);
    glimpse::register(registry);
    non_max_suppression::register(registry);
    projective::register(registry);
    proposals::register(registry);
    random_crop::register(registry);
    resize::register(registry);
    resize_grad::register(registry);
    resize_smooth::register(registry);
    scale_and_translate::register(registry);
}

/// Returns the height and width in an `int32` vector of two.
fn size_of(tensor: &Tensor, name: &str) -> Result<(usize, usize)> {
    if tensor.rank() != 1 || tensor.num_elements() != 2 {
        bail!(InvalidArgument, "{name} must have two elements: {}", tensor.shape());
    }
    match tensor.as_slice::<i32>()? {
        &[height, width] if height > 0 && width > 0 => Ok((height as usize, width as usize)),
        sizes => bail!(InvalidArgument, "{name} must be positive, not {sizes:?}"),
    }
}

/// Returns the batch, height, width and channels of images.
fn image_dims(images: &Tensor) -> Result<[usize; 4]> {
    match images.shape().dims() {
        &[batch, height, width, channels] => Ok([batch, height, width, channels]),
        _ => bail!(InvalidArgument, "input must be 4-dimensional {}", images.shape()),
    }
}
