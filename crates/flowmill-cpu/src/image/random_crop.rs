//! `RandomCrop`, which crops an image at a random position.

use crate::array::item::{Item, for_item};
use crate::from_fn::from_fn;
use crate::random::philox::Numbers;
use crate::random::stateful::SharedGenerator;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Shape, Tensor, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RandomCrop", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    from_fn(move |ctx| crop(ctx, &generator))
}

/// Crops to the size in input 1. Equal seeds produce the same positions as in TensorFlow.
fn crop(ctx: &mut KernelContext<'_>, generator: &SharedGenerator) -> Result<()> {
    let (image, size) = (ctx.input(0)?, ctx.input(1)?);
    let &[height, width, channels] = image.shape().dims() else {
        bail!(InvalidArgument, "input must be 3-dimensional{}", image.shape());
    };
    if size.rank() != 1 {
        bail!(InvalidArgument, "shape_t must be 1-dimensional{}", size.shape());
    }
    let &[tall, wide] = size.as_slice::<i64>()? else { bail!(InvalidArgument, "shape_t must have two elements{}", size.shape()) };
    let (Ok(tall), Ok(wide)) = (usize::try_from(tall), usize::try_from(wide)) else {
        bail!(InvalidArgument, "sizes must not be negative: {tall}, {wide}");
    };
    if wide > width {
        bail!(FailedPrecondition, "width must be >= target_width: width = {width}, target_width = {wide}");
    }
    if tall > height {
        bail!(FailedPrecondition, "height must be >= target_height: height = {height}, target_height = {tall}");
    }
    let mut numbers = Numbers::new(generator.reserve_blocks(1));
    let mut start = |left_over: usize| if left_over > 0 { numbers.next() as usize % (left_over + 1) } else { 0 };
    let left = start(width - wide);
    let top = start(height - tall);
    let part = cut(ctx.allocator(), image, [top, left], [tall, wide], [width, channels])?;
    ctx.set_output(0, part);
    Ok(())
}

fn cut(
    alloc: &Allocator,
    image: &Tensor,
    [top, left]: [usize; 2],
    [tall, wide]: [usize; 2],
    [width, channels]: [usize; 2],
) -> Result<Tensor> {
    for_item!(image.dtype(), T => {
        let items = T::items(image)?;
        T::build(alloc, image.dtype(), Shape::from([tall, wide, channels]), items, |out| {
            for (y, row) in out.chunks_exact_mut((wide * channels).max(1)).enumerate() {
                row.clone_from_slice(&items[((top + y) * width + left) * channels..][..wide * channels]);
            }
            Ok(())
        })
    })
}
