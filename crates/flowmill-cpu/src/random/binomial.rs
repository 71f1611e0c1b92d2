//! `StatelessRandomBinomial`, `StatefulRandomBinomial`: the number of trials that succeed, sample for sample as TensorFlow draws them.

use super::distribution::RESERVED_PER_ELEMENT;
use super::gamma::{Draws, MAX_ATTEMPTS, as_f64, sample_shapes, samples};
use super::generator::reserve_blocks;
use super::philox::Philox;
use super::stateless::{scalar_input, seeded};
use crate::elementwise::broadcast_positions;
use crate::from_fn::from_fn;
use flowmill_runtime::{Kernel, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail, f16, for_dtype};
use num_traits::NumCast;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("StatefulRandomBinomial", make_stateful);
    registry.add("StatelessRandomBinomial", make_stateless);
}

/// The number of blocks between the random numbers of consecutive samples if geometric numbers are summed, of which few are needed.
const RESERVED_FOR_SUMS: u64 = 42;
/// The number of elements for which a stateful call reserves numbers, for each distribution and four of its samples.
const RESERVED_PER_FOUR: u64 = 200;
/// The names of the parameters in error messages.
const PARAMETERS: &str = "counts and probs";
/// The number of expected successes from which samples are drawn by rejection.
const MANY: f64 = 10.0;

/// Draws a sample by summing geometric numbers (the trials up to the next success) until they exceed the number of trials.
fn by_sums(count: f64, p: f64, mut draws: Draws) -> f64 {
    let (mut trials, mut successes) = (0.0, 0.0);
    for _ in 0..MAX_ATTEMPTS {
        trials += (draws.uniform().ln() / (-p).ln_1p()).ceil();
        if trials > count {
            return successes;
        }
        successes += 1.0;
    }
    f64::NAN
}

/// Returns the remainder of Stirling's series for `ln k!`, after `(k + ½) ln(k + 1) − (k + 1) + ½ ln 2π`.
fn stirling_rest(k: f64) -> f64 {
    const FIRST: [f64; 10] = [
        0.0810614667953272,
        0.0413406959554092,
        0.0276779256849983,
        0.02079067210376509,
        0.0166446911898211,
        0.0138761288230707,
        0.0118967099458917,
        0.0104112652619720,
        0.00925546218271273,
        0.00833056343336287,
    ];
    if k <= 9.0 {
        return FIRST[k as usize];
    }
    let square = (k + 1.0) * (k + 1.0);
    (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / 1260.0 / square) / square) / (k + 1.0)
}

/// Draws a sample by transformed rejection (Hörmann: "The generation of binomial random variates", Journal of Statistical Computation and
/// Simulation 46, 1993).
fn by_rejection(count: f64, p: f64, mut draws: Draws) -> f64 {
    let deviation = (count * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = count * p + 0.5;
    let inside = 0.92 - 4.2 / b;
    let odds = p / (1.0 - p);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((count + 1.0) * p).floor();
    for _ in 0..MAX_ATTEMPTS {
        let u = draws.uniform();
        let v = draws.uniform();
        let u = u - 0.5;
        let shifted = 0.5 - u.abs();
        let k = ((2.0 * a / shifted + b) * u + c).floor();
        if shifted >= 0.07 && v <= inside {
            return k;
        }
        if k < 0.0 || k > count {
            continue;
        }
        let v = (v * alpha / (a / (shifted * shifted) + b)).ln();
        let bound = (mode + 0.5) * ((mode + 1.0) / (odds * (count - mode + 1.0))).ln()
            + (count + 1.0) * ((count - mode + 1.0) / (count - k + 1.0)).ln()
            + (k + 0.5) * (odds * (count - k + 1.0) / (k + 1.0)).ln()
            + stirling_rest(mode)
            + stirling_rest(count - mode)
            - stirling_rest(k)
            - stirling_rest(count - k);
        if v <= bound {
            return k;
        }
    }
    f64::NAN
}

/// Returns sample `number`; `round` rounds a product to the type of the parameters.
fn binomial(count: f64, p: f64, round: fn(f64) -> f64, generator: Philox, number: u64) -> f64 {
    let drawn = |p: f64| {
        if round(count * p) >= MANY {
            by_rejection(count, p, Draws::new(generator, RESERVED_PER_ELEMENT.wrapping_mul(number)))
        } else {
            by_sums(count, p, Draws::new(generator, RESERVED_FOR_SUMS.wrapping_mul(number)))
        }
    };
    if count <= 0.0 || p <= 0.0 {
        0.0
    } else if count.is_nan() || p.is_nan() {
        f64::NAN
    } else if p >= 1.0 {
        count
    } else if p <= 0.5 {
        drawn(p)
    } else {
        count - drawn(1.0 - p)
    }
}

fn rounding(dtype: DType) -> fn(f64) -> f64 {
    match dtype {
        DType::F16 => |x| f16::from_f32(x as f32).to_f64(),
        DType::F32 => |x| (x as f32).into(),
        _ => |x| x,
    }
}

fn draw<O: Element + NumCast + Default>(
    alloc: &Allocator,
    counts: &Tensor,
    probs: &Tensor,
    shape: Shape,
    distributions: &Shape,
    generator: Philox,
) -> Result<Tensor> {
    if shape.num_elements() == 0 {
        return alloc.zeros(O::DTYPE, shape);
    }
    let _reserved = alloc.reserve::<[f64; 4]>(distributions.num_elements())?;
    let of = |tensor: &Tensor| -> Result<Vec<f64>> {
        let values = as_f64(alloc, tensor)?;
        Ok(broadcast_positions(tensor.shape(), distributions).into_iter().map(|at| values[at]).collect())
    };
    let (counts, ps, round) = (of(counts)?, of(probs)?, rounding(probs.dtype()));
    samples::<O>(alloc, shape, distributions.num_elements(), |d, number| binomial(counts[d], ps[d], round, generator, number))
}

/// Checks that there are kernels for the types of parameters and samples, and returns the latter.
fn check_types(init: &KernelInit<'_>) -> Result<DType> {
    if !matches!(init.attrs.get_or("T", DType::F64)?, DType::F16 | DType::F32 | DType::F64) {
        return init.unsupported();
    }
    init.attrs.get_or("dtype", DType::I64)
}

/// Makes the kernel of `StatelessRandomBinomial`. Inputs: shape, seed, counts, probabilities.
fn make_stateless(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(check_types(init)?, [f16, f32, f64, i32, i64], T => from_fn(move |ctx| {
        let generator = seeded(ctx)?;
        let (shape, distributions) = sample_shapes(ctx, 0, 2..4, PARAMETERS)?;
        let output = draw::<T>(ctx.allocator(), ctx.input(2)?, ctx.input(3)?, shape, &distributions, generator)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}

/// Makes the kernel of `StatefulRandomBinomial`. Inputs: variable, algorithm, shape, counts, probabilities. Unlike other ops, it does not support
/// leaving the choice of the algorithm to the device.
fn make_stateful(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(check_types(init)?, [f16, f32, f64, i32, i64], T => from_fn(move |ctx| {
        let (shape, distributions) = sample_shapes(ctx, 2, 3..5, PARAMETERS)?;
        let algorithm = scalar_input(ctx, 1)?;
        if algorithm != 1 {
            bail!(InvalidArgument, "Unsupported algorithm id: {algorithm}");
        }
        let count = distributions.num_elements() as u64;
        let each = shape.num_elements() as u64 / count.max(1);
        let elements = count.wrapping_mul(each.wrapping_add(3)).wrapping_mul(RESERVED_PER_FOUR) / 4;
        let generator = reserve_blocks(ctx, elements.wrapping_mul(RESERVED_PER_ELEMENT))?;
        let output = draw::<T>(ctx.allocator(), ctx.input(3)?, ctx.input(4)?, shape, &distributions, generator)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}
