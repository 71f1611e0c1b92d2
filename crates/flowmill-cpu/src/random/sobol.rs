//! `SobolSample`: points that fill a cube evenly (Joe and Kuo: "Constructing Sobol sequences with better two-dimensional projections",
//! SIAM Journal on Scientific Computing 30, 2008).

use crate::from_fn::from_fn;
use crate::parallel;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Element, Result, Tensor, bail, for_dtype};
use num_traits::{AsPrimitive, Float};
use sobol::params::JoeKuoD6;
use std::sync::{Arc, OnceLock};

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("SobolSample", make_sobol_sample);
}

/// The number of bits of a coordinate.
const BITS: usize = 32;
/// The approximate number of coordinates that one task computes.
const COORDINATES_PER_TASK: usize = 1 << 14;

/// For each bit of a point's number, the bits of one coordinate that it changes.
type Directions = [u32; BITS];

/// Returns the primitive polynomials and first direction numbers of up to 1000 dimensions.
fn parameters() -> &'static JoeKuoD6 {
    static PARAMETERS: OnceLock<JoeKuoD6> = OnceLock::new();
    PARAMETERS.get_or_init(JoeKuoD6::standard)
}

/// Returns the directions of dimension `dim`, counted from 0.
fn directions(parameters: &JoeKuoD6, dim: usize) -> Directions {
    let Some(polynomial) = dim.checked_sub(1).map(|i| &parameters.dim_params[i]) else {
        return std::array::from_fn(|bit| 1 << (BITS - 1 - bit));
    };
    let degree = polynomial.m.len();
    let mut found = [0; BITS];
    for bit in 0..BITS {
        found[bit] = match polynomial.m.get(bit) {
            Some(&first) => first << (BITS - 1 - bit),
            None => (1..degree)
                .filter(|i| polynomial.a >> (degree - 1 - i) & 1 == 1)
                .fold(found[bit - degree] ^ found[bit - degree] >> degree, |sum, i| sum ^ found[bit - i]),
        };
    }
    found
}

/// Returns the coordinates of the point with this number, in units of 2⁻³².
fn point(number: u32, directions: &[Directions]) -> Vec<u32> {
    let gray = number ^ number >> 1;
    directions.iter().map(|d| (0..BITS).filter(|bit| gray >> bit & 1 == 1).fold(0, |sum, bit| sum ^ d[bit])).collect()
}

/// Returns the values of the inputs: the number of dimensions, of points, and of points to skip.
fn arguments(ctx: &KernelContext<'_>) -> Result<(usize, usize, usize)> {
    const MAX: i64 = i32::MAX as i64;
    let number = |i: usize, name: &str| match ctx.input(i)? {
        input if input.rank() == 0 => input.to_scalar::<i32>().map(i64::from),
        _ => bail!(InvalidArgument, "{name} must be a scalar"),
    };
    let (dim, count, skip) = (number(0, "dim")?, number(1, "num_results")?, number(2, "skip")?);
    if dim < 1 {
        bail!(InvalidArgument, "dim must be at least one");
    }
    if count < 1 {
        bail!(InvalidArgument, "num_results must be at least one");
    }
    if skip < 0 {
        bail!(InvalidArgument, "skip must be non-negative");
    }
    if count >= MAX - skip {
        bail!(InvalidArgument, "num_results+skip must be less than {MAX}");
    }
    if count >= MAX / dim {
        bail!(InvalidArgument, "num_results*dim must be less than {MAX}");
    }
    let most = parameters().dim_params.len() as i64 + 1;
    if dim > most {
        bail!(InvalidArgument, "dim must be at most {most}");
    }
    Ok((dim as usize, count as usize, skip as usize))
}

/// Returns the points of the sequence, without its first point, the origin.
fn sobol_sample<T: Element + Float>(ctx: &KernelContext<'_>) -> Result<Tensor>
where
    u32: AsPrimitive<T>,
{
    let (dim, count, skip) = arguments(ctx)?;
    let mut output = ctx.allocator().zeros(T::DTYPE, [count, dim])?;
    let directions: Vec<Directions> = (0..dim).map(|i| directions(parameters(), i)).collect();
    let unit = T::from(1u64 << BITS).unwrap_or_else(T::one).recip();
    let rows = COORDINATES_PER_TASK / dim + 1;
    parallel::chunks(output.as_mut_slice::<T>()?, rows * dim, |chunk, out| {
        let first = (skip + chunk * rows + 1) as u32;
        let mut coordinates = point(first, &directions);
        for (number, row) in (first..).zip(out.chunks_exact_mut(dim)) {
            row.iter_mut().zip(&coordinates).for_each(|(to, &x)| *to = x.as_() * unit);
            // The Gray code of the next number differs in one bit.
            let bit = number.trailing_ones() as usize;
            coordinates.iter_mut().zip(&directions).for_each(|(x, d)| *x ^= d.get(bit).copied().unwrap_or_default());
        }
    });
    Ok(output)
}

fn make_sobol_sample(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    for_dtype!(init.attrs.get_or("dtype", f32::DTYPE)?, [f32, f64], T => from_fn(|ctx| {
        let output = sobol_sample::<T>(ctx)?;
        ctx.set_output(0, output);
        Ok(())
    }), _ => init.unsupported())
}
