//! Sampling of classes by their logits: `Multinomial`, `StatelessMultinomial`.

use super::distribution::RESERVED_PER_ELEMENT;
use super::philox::{Numbers, Philox, uniform_f64};
use super::stateful::SharedGenerator;
use super::stateless::from_seed;
use crate::array::args::scalar_index;
use crate::elementwise::UnaryOp;
use crate::from_fn::from_fn;
use crate::math_unary::Exp;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{DType, Element, Result, Tensor, bail, bf16, f16, for_dtype};
use num_traits::ToPrimitive;
use std::ops::Range;
use std::sync::Arc;

/// The number of random numbers of a sample.
const NUMBERS_PER_SAMPLE: u64 = 2;
/// The number of blocks that a call reserves per sample.
const RESERVED_PER_SAMPLE: u64 = NUMBERS_PER_SAMPLE * RESERVED_PER_ELEMENT;
/// The number of logits from which one task draws.
const CLASSES_PER_TASK: usize = 1 << 13;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Multinomial", make_multinomial);
    registry.add("StatelessMultinomial", make_stateless_multinomial);
}

fn make_multinomial(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let shared = SharedGenerator::from_attrs(init)?;
    let output_type = init.attrs.get_or("output_dtype", DType::I64)?;
    let to_f64 = conversion(init)?;
    from_fn(move |ctx| {
        let generator = |elements: u64| Ok(shared.reserve_blocks(elements.saturating_mul(RESERVED_PER_SAMPLE)));
        let output = multinomial(ctx, output_type, to_f64, generator)?;
        ctx.set_output(0, output);
        Ok(())
    })
}

fn make_stateless_multinomial(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let output_type = init.attrs.get_or("output_dtype", DType::I64)?;
    let to_f64 = conversion(init)?;
    from_fn(move |ctx| {
        let output = multinomial(ctx, output_type, to_f64, |_| from_seed(ctx.input(2)?))?;
        ctx.set_output(0, output);
        Ok(())
    })
}

/// A function that returns a row of logits, given by the positions of its elements, as `f64`.
type Conversion = fn(logits: &Tensor, row: Range<usize>) -> Result<Vec<f64>>;

/// Returns the conversion for the element type of a node.
fn conversion(init: &KernelInit<'_>) -> Result<Conversion> {
    fn to_f64<T: Element + ToPrimitive>(logits: &Tensor, row: Range<usize>) -> Result<Vec<f64>> {
        Ok(logits.as_slice::<T>()?[row].iter().map(|x| x.to_f64().unwrap_or(f64::NAN)).collect())
    }
    for_dtype!(init.dtype("T")?, [f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64], T => Ok(to_f64::<T>), _ => init.unsupported())
}

/// Returns `num_samples` classes for each row of logits. `generator` gets the number of elements to reserve random numbers for.
fn multinomial(
    ctx: &KernelContext<'_>,
    output_type: DType,
    to_f64: Conversion,
    generator: impl FnOnce(u64) -> Result<Philox>,
) -> Result<Tensor> {
    let (logits, samples) = (ctx.input(0)?, ctx.input(1)?);
    if logits.rank() != 2 {
        bail!(InvalidArgument, "logits should be a matrix, got shape {}", logits.shape());
    }
    if samples.rank() != 0 {
        bail!(InvalidArgument, "num_samples should be a scalar, got shape {}", samples.shape());
    }
    let samples = scalar_index(samples, "num_samples")?;
    let Ok(samples) = usize::try_from(samples) else { bail!(InvalidArgument, "num_samples should be non-negative, got {samples}") };
    let (batch, classes) = (logits.shape()[0], logits.shape()[1]);
    if classes == 0 {
        bail!(InvalidArgument, "num_classes should be positive, got {classes}");
    }
    let Some(count) = batch.checked_mul(samples) else { bail!(InvalidArgument, "too many samples: {batch} times {samples}") };
    // The output is allocated first, which checks the memory limit.
    let mut drawn = ctx.allocator().uninit(DType::I64, [batch, samples])?;
    let generator = generator((batch as u64).saturating_mul(samples.div_ceil(4) as u64 * 4))?;
    let fill = |first: usize, out: &mut [i64]| -> Result<()> {
        for (row, out) in (first..).zip(out.chunks_exact_mut(samples)) {
            draw_row(&to_f64(logits, row * classes..(row + 1) * classes)?, &mut numbers_from(generator, row * samples), out);
        }
        Ok(())
    };
    let rows = (CLASSES_PER_TASK / classes).max(1);
    if count > 0 {
        parallel::try_chunks(drawn.as_mut_slice::<i64>()?, rows * samples, |task, out| fill(task * rows, out))?;
    }
    if output_type == DType::I64 {
        Ok(drawn)
    } else {
        ctx.allocator().index_vector(output_type, drawn.as_slice::<i64>()?)?.reshaped([batch, samples])
    }
}

/// Returns the random numbers of the samples after the first `samples` ones.
fn numbers_from(mut generator: Philox, samples: usize) -> Numbers {
    let before = samples as u64 * NUMBERS_PER_SAMPLE;
    generator.skip(before / 4);
    let mut numbers = Numbers::new(generator);
    for _ in 0..before % 4 {
        numbers.next();
    }
    numbers
}

/// Draws samples by inverting the cumulative sums of the exponentials. Logits that are not finite have probability zero.
fn draw_row(logits: &[f64], numbers: &mut Numbers, out: &mut [i64]) {
    let largest = logits.iter().copied().filter(|x| x.is_finite()).fold(f64::NEG_INFINITY, f64::max);
    let shifted: Vec<f64> = logits.iter().map(|&x| if x.is_finite() { x - largest } else { f64::NEG_INFINITY }).collect();
    let (mut sums, mut total) = (vec![0.0; logits.len()], 0.0);
    <Exp as UnaryOp<f64>>::map(&shifted, &mut sums);
    for sum in &mut sums {
        total += *sum;
        *sum = total;
    }
    for slot in out {
        let (low, high) = (numbers.next(), numbers.next());
        let at = uniform_f64(low, high) * total;
        *slot = sums.partition_point(|&sum| sum <= at) as i64;
    }
}
