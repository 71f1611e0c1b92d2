//! Connectionist temporal classification (Graves: "Supervised sequence labelling with recurrent neural networks", chapter 7): the loss for labels
//! whose positions in time are unknown, and decoders.

mod beam;
mod greedy;
mod loss;

use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{Allocator, Result, Tensor, bail};

pub(super) fn register(registry: &mut KernelRegistry) {
    greedy::register(registry);
    beam::register(registry);
    loss::register(registry);
}

/// Returns decoded labels, item by item of the batch, as a sparse matrix: indices, values and shape.
fn sparse(alloc: &Allocator, sequences: &[Vec<i64>]) -> Result<[Tensor; 3]> {
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for (b, sequence) in sequences.iter().enumerate() {
        for (t, &label) in sequence.iter().enumerate() {
            indices.extend([b as i64, t as i64]);
            values.push(label);
        }
    }
    let longest = sequences.iter().map(Vec::len).max().unwrap_or(0);
    Ok([alloc.from_slice([values.len(), 2], &indices)?, alloc.vector(&values)?, alloc.vector(&[sequences.len() as i64, longest as i64])?])
}

/// Returns the sizes of a decoder's inputs: the number of times, of items and of classes, and the items' lengths.
fn decoder_sizes(ctx: &KernelContext<'_>) -> Result<([usize; 3], Vec<i64>)> {
    let (inputs, lengths) = (ctx.input(0)?, ctx.input(1)?);
    let &[times, batch, classes] = inputs.shape().dims() else { bail!(InvalidArgument, "inputs is not a 3-Tensor") };
    if times == 0 {
        bail!(InvalidArgument, "max_time is 0");
    }
    if classes == 0 || classes > i32::MAX as usize {
        bail!(InvalidArgument, "num_classes cannot be 0 or exceed max int: {classes}");
    }
    if lengths.rank() != 1 {
        bail!(InvalidArgument, "sequence_length is not a vector");
    }
    if lengths.num_elements() != batch {
        bail!(
            FailedPrecondition,
            "len(sequence_length) != batch_size.  len(sequence_length):  {} batch_size: {batch}",
            lengths.num_elements()
        );
    }
    let lengths = lengths.to_i64_vec()?;
    if let Some(b) = lengths.iter().position(|&len| len > times as i64) {
        bail!(FailedPrecondition, "sequence_length({b}) <= {times}");
    }
    Ok(([times, batch, classes], lengths))
}
