//! Training of linear models by stochastic dual coordinate ascent: `SdcaOptimizer`, `SdcaOptimizerV2`, `SdcaShrinkL1`, `SdcaFprint`.
//!
//! The method is that of Shalev-Shwartz and Zhang, "Stochastic Dual Coordinate Ascent Methods for Regularized Loss Minimization" (2013), for
//! examples that may be distributed over several machines as in "Adding vs. Averaging in Distributed Primal-Dual Optimization" (Ma and others, 2015).

mod examples;
mod loss;
mod order;

use crate::from_fn::from_fn;
use examples::{Examples, Groups};
use flowmill_kernels::farmhash::fingerprint128;
use flowmill_kernels::variable::Variable;
use flowmill_runtime::{Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Result, bail};
use loss::Loss;
use order::Order;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Registers the kernels of this family.
pub(crate) fn register(registry: &mut KernelRegistry) {
    registry.add("SdcaFprint", make_fingerprint);
    registry.add("SdcaOptimizer", |init| make_optimizer(init, "adaptative"));
    registry.add("SdcaOptimizerV2", |init| make_optimizer(init, "adaptive"));
    registry.add("SdcaShrinkL1", make_shrink);
}

/// The strengths of the regularisation of weights.
#[derive(Clone, Copy)]
struct Regularization {
    l2: f32,
    /// The distance by which weights are moved towards zero.
    shrinkage: f64,
}

impl Regularization {
    fn new(init: &KernelInit<'_>) -> Result<Regularization> {
        let (l1, l2): (f32, f32) = (init.attrs.get("l1")?, init.attrs.get("l2")?);
        Ok(Regularization { l2, shrinkage: f64::from(l1 / l2) })
    }

    fn shrunk(self, weight: f64) -> f64 {
        let size = (weight.abs() - self.shrinkage).max(0.0);
        if size > 0.0 { size.copysign(weight) } else { 0.0 }
    }

    fn shrunk_single(self, weight: f32) -> f32 {
        let size = (weight.abs() - self.shrinkage as f32).max(0.0);
        if weight == 0.0 { 0.0 } else { weight.signum() * size }
    }
}

struct Optimizer {
    loss: Loss,
    adaptive: bool,
    groups: Groups,
    partitions: f32,
    regularization: Regularization,
    /// The number of times that the optimiser ran. Each run uses another order of the examples.
    runs: AtomicU64,
}

fn make_optimizer(init: &KernelInit<'_>, adaptive: &str) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let count = |name: &str| -> Result<usize> {
        let count: i64 = attrs.get(name)?;
        match usize::try_from(count).ok().filter(|&count| count < 1 << 31) {
            Some(count) => Ok(count),
            None => bail!(InvalidArgument, "{name} must be a count of features, not {count}"),
        }
    };
    let groups = Groups {
        sparse: count("num_sparse_features")?,
        with_values: count("num_sparse_features_with_values")?,
        dense: count("num_dense_features")?,
    };
    if groups.sparse + groups.dense == 0 {
        bail!(InvalidArgument, "Requires at least one feature to train.");
    }
    let optimizer = Optimizer {
        loss: Loss::of(attrs.get("loss_type")?)?,
        adaptive: attrs.get_or(adaptive, false)?,
        groups,
        partitions: count("num_loss_partitions")? as f32,
        regularization: Regularization::new(init)?,
        runs: AtomicU64::new(0),
    };
    from_fn(move |ctx| optimizer.step(ctx))
}

impl Optimizer {
    /// Processes each of the examples once.
    fn step(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut examples = Examples::new(ctx, self.groups)?;
        let count = examples.len();
        let state = ctx.input(self.groups.state())?;
        if state.rank() != 2 {
            bail!(InvalidArgument, "example_state_data must be rank 2 but is rank {}", state.rank());
        }
        if state.shape()[..] != [count, 4] {
            bail!(InvalidArgument, "Expected shape [{count},4] for example_state_data, got {}", state.shape());
        }
        let mut state = state.clone();
        let mut order = Order::new(self.runs.fetch_add(1, Ordering::Relaxed));
        let order =
            if self.adaptive { order.by_weights(&self.probabilities(&examples, state.as_slice::<f32>()?)) } else { order.shuffled(count) };
        let rows = state.as_mut_slice::<f32>()?;
        let l2 = f64::from(self.regularization.l2);
        for i in order {
            let example = examples.example(i);
            let label = f64::from(self.loss.label(example.label)?);
            let weight = f64::from(example.weight);
            let (sum, sum_before) = examples.sums(i, self.partitions, self.regularization);
            let row = &mut rows[4 * i..4 * i + 4];
            let dual = f64::from(row[0]);
            let pull = f64::from(self.partitions) * (example.squared_norm / l2) * weight;
            let updated = self.loss.updated_dual(label, dual, sum, pull);
            examples.add(i, (updated - dual) * weight / l2);
            row[0] = updated as f32;
            row[1] = self.loss.primal(sum_before, label, weight) as f32;
            row[2] = self.loss.dual(dual, label, weight) as f32;
            row[3] = weight as f32;
        }
        for (i, output) in std::iter::once(state).chain(examples.into_deltas(ctx.allocator())?).enumerate() {
            ctx.set_output(i, output);
        }
        Ok(())
    }

    /// Returns weights for choosing examples, by the improvement that each may bring.
    fn probabilities(&self, examples: &Examples<'_>, state: &[f32]) -> Vec<f64> {
        let smoothness = f64::from(self.regularization.l2) * self.loss.smoothness();
        (0..examples.len())
            .map(|i| {
                let example = examples.example(i);
                let label = f64::from(self.loss.label(example.label).unwrap_or(example.label));
                let (sum, _) = examples.sums(i, self.partitions, self.regularization);
                let residual = f64::from(state[4 * i]) + self.loss.primal_derivative(sum, label);
                f64::from(example.weight) * (example.squared_norm + smoothness).sqrt() * residual.abs()
            })
            .collect()
    }
}

fn make_shrink(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let regularization = Regularization::new(init)?;
    from_fn(move |ctx| {
        for i in 0..ctx.num_inputs() {
            Variable::from_input(ctx, i)?.update(|weights| {
                weights.as_mut_slice::<f32>()?.iter_mut().for_each(|w| *w = regularization.shrunk_single(*w));
                Ok(())
            })?;
        }
        Ok(())
    })
}

/// Makes the kernel of `SdcaFprint`: two words for each string, the first of which is never 0 or 1.
fn make_fingerprint(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let input = ctx.input(0)?;
        if input.rank() != 1 {
            bail!(InvalidArgument, "Input must be a vector, got shape {}", input.shape());
        }
        let words: Vec<i64> = input
            .as_strings()?
            .iter()
            .flat_map(|text| {
                let [low, high] = fingerprint128(text);
                let low = if low >= 2 { low } else { low.wrapping_add(!1) };
                [low as i64, high as i64]
            })
            .collect();
        let output = ctx.allocator().from_slice([input.num_elements(), 2], &words)?;
        ctx.set_output(0, output);
        Ok(())
    })
}
