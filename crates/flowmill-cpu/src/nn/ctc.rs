//! `CTCGreedyDecoder`: the most likely class at each time, without repetitions and blanks.

use crate::from_fn::from_fn;
use crate::number::Ordered;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, Tensor, bail, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CTCGreedyDecoder", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (merge, blank) = (init.attrs.get_or("merge_repeated", false)?, init.attrs.get_or("blank_index", -1i64)?);
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| decode::<T>(ctx, merge, blank)), _ => init.unsupported())
}

/// Inputs are `[time, batch, classes]` and the batch's lengths; the result is a sparse matrix and the negated sums of the greatest inputs.
fn decode<T: Ordered>(ctx: &mut KernelContext<'_>, merge: bool, blank: i64) -> Result<()> {
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
    let blank = if blank < 0 { blank + classes as i64 } else { blank };
    if blank < 0 || blank >= classes as i64 {
        bail!(InvalidArgument, "blank_index expected to be between 0 and {}, got {blank}", classes - 1);
    }
    let (x, lengths) = (inputs.as_slice::<T>()?, lengths.to_i64_vec()?);
    if let Some(b) = lengths.iter().position(|&len| len > times as i64) {
        bail!(FailedPrecondition, "sequence_length({b}) <= {times}");
    }
    let (mut indices, mut values, mut sums) = (Vec::new(), Vec::new(), Vec::with_capacity(batch));
    let mut longest = 0;
    for (b, &len) in lengths.iter().enumerate() {
        let (mut sum, mut previous, mut count) = (T::ZERO, None, 0i64);
        for t in 0..usize::try_from(len).unwrap_or(0) {
            let row = &x[(t * batch + b) * classes..][..classes];
            let best = (1..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            sum = sum.minus(row[best]);
            if best as i64 != blank && !(merge && previous == Some(best)) {
                indices.extend([b as i64, count]);
                values.push(best as i64);
                count += 1;
            }
            previous = Some(best);
        }
        longest = longest.max(count);
        sums.push(sum);
    }
    let outputs = [
        Tensor::from_slice([values.len(), 2], &indices)?,
        Tensor::vector(&values)?,
        Tensor::vector(&[batch as i64, longest])?,
        Tensor::from_slice([batch, 1], &sums)?,
    ];
    outputs.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
    Ok(())
}
