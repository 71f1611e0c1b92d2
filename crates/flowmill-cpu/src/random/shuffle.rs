//! `RandomShuffle` and `StatelessShuffle`, which shuffle the rows of a tensor.

use super::philox::{Numbers, Philox};
use super::stateful::SharedGenerator;
use super::stateless::keyed;
use crate::array::args::product;
use crate::array::item::{Item, for_item};
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::Result;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RandomShuffle", make_random_shuffle);
    registry.add("StatelessShuffle", make_stateless_shuffle);
}

fn make_random_shuffle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| shuffle::<T>(ctx, |numbers| generator.reserve_blocks(numbers.div_ceil(4)))))
}

fn make_stateless_shuffle(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_item!(init.dtype("T")?, T => from_fn(move |ctx| {
        let generator = keyed(ctx)?;
        shuffle::<T>(ctx, |_| generator)
    }))
}

/// Shuffles the rows of input 0. `generator` gets the number of random numbers that are drawn.
fn shuffle<T: Item>(ctx: &mut KernelContext<'_>, generator: impl FnOnce(u64) -> Philox) -> Result<()> {
    let input = ctx.input(0)?;
    let rows = input.shape().first().copied().unwrap_or(1);
    if rows <= 1 || input.num_elements() <= 1 {
        return ctx.forward(0, 0);
    }
    let mut numbers = Numbers::new(generator(rows as u64 - 1));
    let mut order: Vec<usize> = (0..rows).collect();
    for i in 0..rows - 1 {
        // TensorFlow draws 32 bits, regardless of the number of rows left.
        let left = (rows - i) as u32;
        order.swap(i, i + (numbers.next() % left.max(1)) as usize);
    }
    let run = product(&input.shape()[1..]);
    let source = T::items(input)?;
    let output = T::build(ctx.allocator(), input.dtype(), input.shape().clone(), source, |out| {
        if run > 0 {
            out.chunks_exact_mut(run).zip(&order).for_each(|(to, &row)| to.clone_from_slice(&source[row * run..][..run]));
        }
        Ok(())
    })?;
    ctx.set_output(0, output);
    Ok(())
}
