//! `RandomGamma`, `RandomPoisson` and the stateless ops, which draw numbers until one is accepted, sample for sample as in TensorFlow.

use super::distribution::{RESERVED_PER_ELEMENT, normal_f64};
use super::philox::{Philox, uniform_f64};
use super::stateful::{SharedGenerator, shape_input};
use super::stateless::{Generator, keyed, seeded};
use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Element, Result, Shape, Tensor, bail, f16, for_dtype};
use num_traits::{NumCast, ToPrimitive};
use std::ops::Range;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("RandomGamma", make_gamma);
    registry.add("RandomPoisson", make_poisson);
    registry.add("RandomPoissonV2", make_poisson);
    registry.add("StatelessRandomGammaV2", |init| make_stateless_gamma(init, seeded, 2));
    registry.add("StatelessRandomGammaV3", |init| make_stateless_gamma(init, keyed, 4));
    registry.add("StatelessRandomPoisson", make_stateless_poisson);
}

/// The random numbers of one sample. Each sample has its own part of the stream.
pub(super) struct Draws {
    generator: Philox,
    uniform: ([f64; 2], usize),
    normal: ([f64; 2], usize),
}

impl Draws {
    /// Returns the numbers from block `skip` on.
    pub(super) fn new(mut generator: Philox, skip: u64) -> Draws {
        generator.skip(skip);
        Draws { generator, uniform: ([0.0; 2], 0), normal: ([0.0; 2], 0) }
    }

    pub(super) fn uniform(&mut self) -> f64 {
        if self.uniform.1 == 0 {
            let x = self.generator.next();
            self.uniform = ([uniform_f64(x[0], x[1]), uniform_f64(x[2], x[3])], 2);
        }
        self.uniform.1 -= 1;
        self.uniform.0[self.uniform.1]
    }

    fn normal(&mut self) -> f64 {
        if self.normal.1 == 0 {
            self.normal = (normal_f64(self.generator.next()), 2);
        }
        self.normal.1 -= 1;
        self.normal.0[self.normal.1]
    }
}

/// The number of rejected draws after which a sample is given up, because some parameters accept almost nothing.
pub(super) const MAX_ATTEMPTS: usize = 1 << 12;

/// Draws a gamma sample (Marsaglia and Tsang: "A simple method for generating gamma variables", ACM TOMS 26, 2000).
fn gamma(alpha: f64, mut draws: Draws) -> f64 {
    if alpha.is_nan() {
        return alpha;
    }
    if alpha == 1.0 {
        return -(-draws.uniform()).ln_1p();
    }
    let small = alpha < 1.0;
    let d = alpha + if small { 2.0 / 3.0 } else { -1.0 / 3.0 };
    let c = 1.0 / 3.0 / d.sqrt();
    for _ in 0..MAX_ATTEMPTS {
        let x = draws.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = draws.uniform();
        if u < 1.0 - 0.0331 * (x * x) * (x * x) || u.ln() < 0.5 * x * x + d * (1.0 - v + v.ln()) {
            let sample = d * v;
            return if small { sample * draws.uniform().powf(1.0 / alpha) } else { sample };
        }
    }
    f64::NAN
}

/// Draws a Poisson sample: for rates below ten by Knuth's products, otherwise by Hörmann's transformed rejection (Insurance: Mathematics and
/// Economics 12, 1993). `highest` is the largest number that the result may have.
fn poisson(rate: f64, highest: f64, mut draws: Draws) -> f64 {
    if rate < 10.0 {
        let limit = (-rate).exp();
        let (mut product, mut count) = (1.0, 0.0);
        for _ in 0..MAX_ATTEMPTS {
            product *= draws.uniform();
            if product <= limit && count <= highest {
                return count;
            }
            count += 1.0;
        }
        return f64::NAN;
    }
    if rate.is_infinite() {
        return rate;
    }
    // The limit is ten standard deviations below the mean.
    if rate.is_nan() || rate - 10.0 * rate.sqrt() > highest {
        return f64::NAN;
    }
    let log_rate = rate.ln();
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    for _ in 0..MAX_ATTEMPTS {
        let u = draws.uniform() - 0.5;
        let v = draws.uniform();
        let shifted = 0.5 - u.abs();
        let k = ((2.0 * a / shifted + b) * u + rate + 0.43).floor();
        if k > highest {
            continue;
        }
        if shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2.0) {
            return k;
        }
        if k < 0.0 || (shifted < 0.013 && v > shifted) {
            continue;
        }
        let s = (v * inverse_alpha / (a / (shifted * shifted) + b)).ln();
        if s <= -rate + k * log_rate - libm::lgamma(k + 1.0) {
            return k;
        }
    }
    f64::NAN
}

/// Draws samples of one distribution for each of `count` parameters. Samples of one parameter are a row apart. `sample` gets the index of the
/// parameter and the number of the sample, which for sample `i` of parameter `p` is `p` times the number of samples per parameter, plus `i`.
pub(super) fn samples<O: Element + NumCast + Default>(
    alloc: &Allocator,
    shape: Shape,
    count: usize,
    sample: impl Fn(usize, u64) -> f64 + Sync,
) -> Result<Tensor> {
    let mut out = alloc.zeros(O::DTYPE, shape)?;
    let each = out.num_elements() / count.max(1);
    if out.num_elements() > 0 {
        let piece = count.saturating_mul((1 << 10) / count.max(1) + 1);
        parallel::chunks(out.as_mut_slice::<O>()?, piece, |chunk, out| {
            for (at, value) in (chunk * piece..).zip(out) {
                let (i, p) = (at / count, at % count);
                *value = converted(sample(p, (p * each + i) as u64));
            }
        });
    }
    Ok(out)
}

/// Converts a sample to the requested type. A sample that is too large for the type becomes 0.
fn converted<O: Element + NumCast + Default>(sample: f64) -> O {
    // TensorFlow rounds twice, too.
    let sample = if O::DTYPE == DType::F16 { (sample as f32).into() } else { sample };
    O::from(sample).unwrap_or_default()
}

/// Like [`samples`], with a separate part of the random stream for each sample.
fn drawn<O: Element + NumCast + Default>(
    alloc: &Allocator,
    generator: Philox,
    shape: Shape,
    parameters: &[f64],
    sample: impl Fn(f64, Draws) -> f64 + Sync,
) -> Result<Tensor> {
    samples::<O>(alloc, shape, parameters.len(), |p, number| {
        sample(parameters[p], Draws::new(generator, RESERVED_PER_ELEMENT.wrapping_mul(number)))
    })
}

/// Draws samples for a stateful op. Inputs: shape, parameters. Each parameter gets samples of the shape.
fn stateful<O: Element + NumCast + Default>(
    ctx: &mut KernelContext<'_>,
    shared: &SharedGenerator,
    sample: impl Fn(f64, Draws) -> f64 + Sync,
) -> Result<()> {
    let parameters = as_f64(ctx.allocator(), ctx.input(1)?)?;
    let shape: Shape = shape_input(ctx, 0)?.iter().chain(ctx.input(1)?.shape().iter()).copied().collect();
    let generator = shared.reserve(shape.checked_num_elements()?);
    let out = drawn::<O>(ctx.allocator(), generator, shape, &parameters, sample)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Draws samples for a stateless op. Input 0 is the shape of all samples, which ends with the shape of the parameters in input `parameters`.
fn stateless<O: Element + NumCast + Default>(
    ctx: &mut KernelContext<'_>,
    generator: Generator,
    parameters: usize,
    sample: impl Fn(f64, Draws) -> f64 + Sync,
) -> Result<()> {
    let (generator, shape, parameters) = (generator(ctx)?, shape_input(ctx, 0)?, ctx.input(parameters)?);
    if shape.num_elements() > 0 {
        expect_end(&shape, parameters.shape())?;
    }
    let out = drawn::<O>(ctx.allocator(), generator, shape, &as_f64(ctx.allocator(), parameters)?, sample)?;
    ctx.set_output(0, out);
    Ok(())
}

/// Checks that the samples' shape ends with that of the distributions.
fn expect_end(shape: &Shape, end: &Shape) -> Result<()> {
    if !shape.ends_with(end) {
        bail!(InvalidArgument, "Shape passed in must end with broadcasted shape.");
    }
    Ok(())
}

/// Returns the shape of all samples, which is in input `shape`, and that of the distributions, with which it must end. The distributions' shape is
/// that to which their parameters broadcast; `names` are the names of the parameters in errors.
pub(super) fn sample_shapes(ctx: &KernelContext<'_>, shape: usize, parameters: Range<usize>, names: &str) -> Result<(Shape, Shape)> {
    let parameters = parameters.map(|i| Ok(ctx.input(i)?.shape())).collect::<Result<Vec<_>>>()?;
    let Some(distributions) = parameters.iter().try_fold(Shape::scalar(), |all, shape| Shape::broadcast(&all, shape)) else {
        let shapes: Vec<String> = parameters.iter().map(ToString::to_string).collect();
        bail!(InvalidArgument, "{names} must have compatible batch dimensions: {}", shapes.join(" vs. "));
    };
    if ctx.input(shape)?.rank() != 1 {
        bail!(InvalidArgument, "Input shape should be a vector, got shape: {}", ctx.input(shape)?.shape());
    }
    let shape = shape_input(ctx, shape)?;
    expect_end(&shape, &distributions)?;
    Ok((shape, distributions))
}

/// Returns the elements of a tensor of parameters.
pub(super) fn as_f64(alloc: &Allocator, tensor: &Tensor) -> Result<Vec<f64>> {
    fn widened<T: Element + ToPrimitive>(alloc: &Allocator, tensor: &Tensor) -> Result<Vec<f64>> {
        let _reserved = alloc.reserve::<f64>(tensor.num_elements())?;
        Ok(tensor.as_slice::<T>()?.iter().map(|v| v.to_f64().unwrap_or(f64::NAN)).collect())
    }
    for_dtype!(tensor.dtype(), [f16, f32, f64, i32, i64], T => widened::<T>(alloc, tensor),
        _ => bail!(InvalidArgument, "no distribution has parameters of type {}", tensor.dtype()))
}

fn make_gamma(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    for_dtype!(init.dtype("T")?, [f16, f32, f64], T => from_fn(move |ctx| stateful::<T>(ctx, &generator, gamma)), _ => init.unsupported())
}

fn make_stateless_gamma(init: &KernelInit<'_>, generator: Generator, alpha: usize) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, f32, f64], T => from_fn(move |ctx| stateless::<T>(ctx, generator, alpha, gamma)),
        _ => init.unsupported())
}

fn make_poisson(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let generator = SharedGenerator::from_attrs(init)?;
    let dtype = if init.op_def.name == "RandomPoisson" { init.dtype("dtype")? } else { init.attrs.get_or("dtype", DType::I64)? };
    for_dtype!(dtype, [f16, f32, f64, i32, i64], T => from_fn(move |ctx| {
        let highest = highest(<T as Element>::DTYPE);
        stateful::<T>(ctx, &generator, |rate, draws| poisson(rate, highest, draws))
    }), _ => init.unsupported())
}

fn make_stateless_poisson(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.dtype("dtype")?, [f16, f32, f64, i32, i64], T => from_fn(move |ctx| {
        let highest = highest(<T as Element>::DTYPE);
        stateless::<T>(ctx, seeded, 2, |rate, draws| poisson(rate, highest, draws))
    }), _ => init.unsupported())
}

/// Returns the largest finite number of a type.
fn highest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::MAX.to_f64(),
        DType::F32 => f32::MAX as f64,
        DType::I32 => i32::MAX as f64,
        DType::I64 => i64::MAX as f64,
        _ => f64::MAX,
    }
}
