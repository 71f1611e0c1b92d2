//! Clustering: `KmeansPlusPlusInitialization` and `KMC2ChainInitialization` choose initial centres, `NearestNeighbors` finds the centres nearest to points.
//!
//! Equal seeds produce the same random numbers as in TensorFlow. Sums of squares may differ from TensorFlow's in the last bits.

#![forbid(unsafe_code)]

use crate::from_fn::from_fn;
use crate::parallel;
use crate::random::philox::{Numbers, Philox};
use flowmill_runtime::{KernelContext, KernelRegistry};
use flowmill_tensor::{Allocator, DType, Result, Tensor, bail};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("KmeansPlusPlusInitialization", |_| from_fn(plus_plus));
    registry.add("KMC2ChainInitialization", |_| from_fn(chain));
    registry.add("NearestNeighbors", |_| from_fn(nearest));
}

/// The rows of a matrix.
#[derive(Clone, Copy)]
struct Points<'a> {
    values: &'a [f32],
    count: usize,
    width: usize,
}

impl<'a> Points<'a> {
    fn new(alloc: &Allocator, tensor: &'a Tensor, name: &str) -> Result<Points<'a>> {
        let &[count, width] = tensor.shape().dims() else { bail!(InvalidArgument, "Input {name} should be a matrix.") };
        alloc.reserve::<f32>(count).map(drop)?;
        Ok(Points { values: tensor.as_slice()?, count, width })
    }

    fn row(&self, i: usize) -> &'a [f32] {
        &self.values[i * self.width..][..self.width]
    }

    /// Returns half of the squared length of each row.
    fn half_squares(&self) -> Vec<f32> {
        (0..self.count).map(|i| 0.5 * dot(self.row(i), self.row(i))).collect()
    }
}

/// Returns the sum of products. It is accumulated in lanes, which are added at the end.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0f32; LANES];
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a_lanes.remainder().iter().zip(b_lanes.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_lanes.zip(b_lanes) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

fn scalar(ctx: &KernelContext<'_>, i: usize, name: &str) -> Result<i64> {
    let tensor = ctx.input(i)?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "Input {name} should be a scalar.");
    }
    tensor.to_i64()
}

/// Chooses points as initial centres, each with a probability in proportion to its squared distance from the points chosen before.
fn plus_plus(ctx: &mut KernelContext<'_>) -> Result<()> {
    let points = Points::new(ctx.allocator(), ctx.input(0)?, "points")?;
    let (wanted, seed) = (scalar(ctx, 1, "num_to_sample")?, scalar(ctx, 2, "seed")?);
    let retries = match scalar(ctx, 3, "num_retries_per_sample")? {
        retries if retries >= 0 => retries,
        _ => 2 + (wanted.max(1) as f64).ln() as i64,
    };
    if points.count == 0 {
        bail!(InvalidArgument, "Expected points.rows() > 0.");
    }
    if wanted <= 0 {
        bail!(InvalidArgument, "Expected num_to_sample > 0.");
    }
    if wanted as u64 > points.count as u64 {
        bail!(InvalidArgument, "Expected num_to_sample <= points.rows(). {wanted} vs {}.", points.count);
    }
    if retries >= i64::from(i32::MAX) {
        bail!(InvalidArgument, "num_retries_per_sample is out of range for an int32: {retries}");
    }
    let mut sampler = Sampler::new(points, seed as u64);
    let mut out = ctx.allocator().zeros(DType::F32, [wanted as usize, points.width])?;
    for row in 0..wanted as usize {
        let chosen = sampler.choose(ctx, retries)?;
        out.as_mut_slice::<f32>()?[row * points.width..][..points.width].copy_from_slice(points.row(chosen));
    }
    ctx.set_output(0, out);
    Ok(())
}

/// The state of [`plus_plus`].
struct Sampler<'a> {
    points: Points<'a>,
    half_squares: Vec<f32>,
    is_chosen: Vec<bool>,
    /// Half of the squared distance of each point from the nearest chosen point.
    distances: Vec<f32>,
    /// The cumulative sums of the distances.
    sums: Vec<f32>,
    numbers: Numbers,
}

impl<'a> Sampler<'a> {
    fn new(points: Points<'a>, seed: u64) -> Sampler<'a> {
        Sampler {
            points,
            half_squares: points.half_squares(),
            is_chosen: vec![false; points.count],
            distances: vec![f32::INFINITY; points.count],
            sums: Vec::new(),
            numbers: Numbers::new(Philox::from_seeds(seed, 0)),
        }
    }

    /// Draws `1 + retries` points and chooses the one that minimises the sum of distances.
    fn choose(&mut self, ctx: &KernelContext<'_>, retries: i64) -> Result<usize> {
        if !self.sums.is_empty() || self.is_chosen.contains(&true) {
            self.sums.clear();
            let mut sum = 0.0;
            self.sums.extend(self.distances.iter().map(|&distance| {
                sum += distance;
                sum
            }));
        }
        let (mut chosen, mut best, mut least) = (0, None, f32::INFINITY);
        for _ in 0..=retries {
            ctx.step().cancel.check()?;
            let drawn = self.draw(ctx)?;
            let distances = self.distances_with(drawn);
            let sum: f32 = distances.iter().sum();
            if retries == 0 || sum < least {
                (chosen, best, least) = (drawn, Some(distances), sum);
            }
        }
        if let Some(best) = best {
            self.distances = best;
        }
        self.is_chosen[chosen] = true;
        Ok(chosen)
    }

    /// Draws a point that was not chosen yet. If all such points have distance zero, the last one is drawn.
    fn draw(&mut self, ctx: &KernelContext<'_>) -> Result<usize> {
        let last = self.points.count - 1;
        let Some(&sum) = self.sums.last() else { return Ok(self.numbers.below_long(self.points.count as u64) as usize) };
        loop {
            let wanted = self.numbers.uniform() * sum;
            let drawn = self.sums.partition_point(|&sum| sum <= wanted || sum.is_nan() || wanted.is_nan());
            if drawn > last || !self.is_chosen[drawn] {
                return Ok(drawn.min(last));
            }
            ctx.step().cancel.check()?;
            let before = std::iter::once(0.0).chain(self.sums.iter().copied());
            let mut candidates = self.sums.iter().zip(before).zip(&self.is_chosen);
            if !candidates.any(|((sum, before), is_chosen)| !is_chosen && *sum > before) {
                return Ok(last);
            }
        }
    }

    /// Returns the distances after point `i` is chosen, too.
    fn distances_with(&self, i: usize) -> Vec<f32> {
        let (row, half_square) = (self.points.row(i), self.half_squares[i]);
        let of = |(j, &distance): (usize, &f32)| {
            let to_row = (self.half_squares[j] - dot(self.points.row(j), row)) + half_square;
            if to_row < distance { to_row } else { distance }
        };
        self.distances.iter().enumerate().map(of).collect()
    }
}

/// Runs a Markov chain over candidates. The probability of a move to a candidate is the ratio of its distance to that of the current one.
fn chain(ctx: &mut KernelContext<'_>) -> Result<()> {
    let distances = ctx.input(0)?;
    if distances.rank() != 1 {
        bail!(InvalidArgument, "Input distances should be a vector.");
    }
    let seed = scalar(ctx, 1, "seed")?;
    let distances = distances.as_slice::<f32>()?;
    let Some((&first, rest)) = distances.split_first() else { bail!(InvalidArgument, "Expected distances_tensor.size() > 0.") };
    let mut numbers = Numbers::new(Philox::from_seeds(seed as u64, 0));
    let (mut chosen, mut distance) = (0i64, first);
    for (i, &candidate) in (1..).zip(rest) {
        if candidate > numbers.uniform() * distance {
            (chosen, distance) = (i, candidate);
        }
    }
    ctx.set_output(0, Tensor::scalar(chosen));
    Ok(())
}

/// Outputs for each point its `k` nearest centres, nearest first and those with lower indices first among equals, and the squares of their distances.
fn nearest(ctx: &mut KernelContext<'_>) -> Result<()> {
    let (points, centers) =
        (Points::new(ctx.allocator(), ctx.input(0)?, "points")?, Points::new(ctx.allocator(), ctx.input(1)?, "centers")?);
    let k = scalar(ctx, 2, "k")?;
    if points.count == 0 {
        bail!(InvalidArgument, "Expected points.rows() > 0.");
    }
    if points.width != centers.width {
        bail!(InvalidArgument, "Expected point_dimensions == center_dimensions: {} vs {}.", points.width, centers.width);
    }
    let Ok(k) = usize::try_from(k.min(centers.count as i64)) else { bail!(InvalidArgument, "k must not be negative, got {k}") };
    let (mut indices, mut distances) =
        (ctx.allocator().zeros(DType::I64, [points.count, k])?, ctx.allocator().zeros(DType::F32, [points.count, k])?);
    if k > 0 {
        let center_squares = centers.half_squares();
        let found = find(points, centers, &center_squares, k);
        let (indices, distances) = (indices.as_mut_slice::<i64>()?, distances.as_mut_slice::<f32>()?);
        for (i, (distance, center)) in found.into_iter().enumerate() {
            (indices[i], distances[i]) = (center as i64, distance);
        }
    }
    ctx.set_output(0, indices);
    ctx.set_output(1, distances);
    Ok(())
}

/// Returns the `k` nearest centres of each point with their distances, on several threads.
fn find(points: Points<'_>, centers: Points<'_>, center_squares: &[f32], k: usize) -> Vec<(f32, usize)> {
    let mut found = vec![(0.0f32, 0usize); points.count * k];
    let nanoseconds_per_point = centers.count * (points.width / 8 + 4);
    let total = nanoseconds_per_point.saturating_mul(points.count);
    let rows = if parallel::is_worth_forking(total) { 20_000usize.div_ceil(nanoseconds_per_point.max(1)) } else { points.count };
    parallel::chunks(&mut found, rows.max(1).saturating_mul(k), |chunk, found| {
        let mut all: Vec<(f32, usize)> = Vec::with_capacity(centers.count);
        for (i, nearest) in found.chunks_exact_mut(k).enumerate() {
            let point = points.row(chunk * rows.max(1) + i);
            let half_square = 0.5 * dot(point, point);
            all.clear();
            all.extend(center_squares.iter().enumerate().map(|(j, square)| (square - dot(point, centers.row(j)), j)));
            let order = |a: &(f32, usize), b: &(f32, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if k < all.len() {
                all.select_nth_unstable_by(k - 1, order);
            }
            all[..k].sort_unstable_by(order);
            for (to, &(distance, j)) in nearest.iter_mut().zip(&all) {
                *to = (2.0 * (half_square + distance), j);
            }
        }
    });
    found
}
