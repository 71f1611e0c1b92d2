//! `CTCGreedyDecoder`: the most likely class at each time, without repetitions and blanks.

use super::{decoder_sizes, sparse};
use crate::from_fn::from_fn;
use crate::number::Ordered;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail, for_dtype};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("CTCGreedyDecoder", make);
}

fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (merge, blank) = (init.attrs.get_or("merge_repeated", false)?, init.attrs.get_or("blank_index", -1i64)?);
    for_dtype!(init.dtype("T")?, [f32, f64], T => from_fn(move |ctx| decode::<T>(ctx, merge, blank)), _ => init.unsupported())
}

/// Computes the op. Inputs: `[time, batch, classes]` and the batch's lengths. The outputs are a sparse matrix and the negated sums of the greatest inputs.
fn decode<T: Ordered>(ctx: &mut KernelContext<'_>, merge: bool, blank: i64) -> Result<()> {
    let ([_, batch, classes], lengths) = decoder_sizes(ctx)?;
    let blank = if blank < 0 { blank.saturating_add(classes as i64) } else { blank };
    if blank < 0 || blank >= classes as i64 {
        bail!(InvalidArgument, "blank_index expected to be between 0 and {}, got {blank}", classes - 1);
    }
    let x = ctx.input(0)?.as_slice::<T>()?;
    let (mut sequences, mut sums) = (vec![Vec::new(); batch], vec![T::ZERO; batch]);
    for (b, (sequence, sum)) in sequences.iter_mut().zip(&mut sums).enumerate() {
        let mut previous = None;
        for t in 0..usize::try_from(lengths[b]).unwrap_or(0) {
            let row = &x[(t * batch + b) * classes..][..classes];
            let best = (1..classes).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            *sum = sum.minus(row[best]);
            if best as i64 != blank && !(merge && previous == Some(best)) {
                sequence.push(best as i64);
            }
            previous = Some(best);
        }
    }
    let sums = ctx.allocator().from_slice([batch, 1], &sums)?;
    sparse(ctx.allocator(), &sequences)?.into_iter().enumerate().for_each(|(i, output)| ctx.set_output(i, output));
    ctx.set_output(3, sums);
    Ok(())
}
