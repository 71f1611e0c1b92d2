//! Accumulators of gradients: `ConditionalAccumulator`, `SparseConditionalAccumulator` and the ops on them.
//!
//! A gradient is added unless it is older than the accumulator's step. A call that takes the sum, or the mean, waits for a number of gradients.

mod sum;

use super::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, ResourceManager};
use flowmill_tensor::{DType, PartialShape, Resource, Result, Tensor, bail, error};
use std::sync::Arc;
use sum::Sum;

/// Registers the kernels of this family, which are the same for handles that are references and resources.
pub(super) fn register(registry: &mut KernelRegistry) {
    for op in ["ConditionalAccumulator", "ResourceConditionalAccumulator", "SparseConditionalAccumulator"] {
        registry.add(op, make_accumulator);
    }
    for op in ["AccumulatorNumAccumulated", "ResourceAccumulatorNumAccumulated"] {
        registry.add(op, make_num_accumulated);
    }
    for op in ["AccumulatorSetGlobalStep", "ResourceAccumulatorSetGlobalStep"] {
        registry.add(op, make_set_global_step);
    }
    for op in ["AccumulatorApplyGradient", "ResourceAccumulatorApplyGradient", "SparseAccumulatorApplyGradient"] {
        registry.add(op, make_apply);
    }
    for op in ["AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient", "SparseAccumulatorTakeGradient"] {
        registry.add(op, |_| Ok(Arc::new(Take)));
    }
}

struct Accumulator {
    kind: Kind,
    list: WaitList<State>,
}

/// The properties that an accumulator is made with.
#[derive(Clone)]
struct Kind {
    dtype: DType,
    shape: PartialShape,
    sparse: bool,
    mean: bool,
}

struct State {
    kind: Kind,
    step: i64,
    count: usize,
    sum: Option<Sum>,
}

impl Resource for Accumulator {
    fn type_name(&self) -> &'static str {
        if self.kind.sparse { "SparseConditionalAccumulator" } else { "ConditionalAccumulator" }
    }
}

/// Makes the kernel of `ConditionalAccumulator`, whose output is the session's accumulator under the node's name.
fn make_accumulator(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let attrs = init.attrs;
    let (dtype, sparse) = (init.dtype("dtype")?, init.op_def.name.starts_with("Sparse"));
    if !matches!(dtype, DType::F16 | DType::F32 | DType::F64) {
        return init.unsupported();
    }
    let mean = match attrs.get_or("reduction_type", "MEAN")? {
        "MEAN" => true,
        "SUM" => false,
        other => bail!(InvalidArgument, "Invalid reduction type: {other}"),
    };
    let shape: PartialShape = attrs.get("shape")?;
    let (container, name) = (attrs.get_or("container", "")?, resource_name(init)?);
    let kind = Kind { dtype, shape, sparse, mean };
    let accumulator = init.resources.lookup_or_create(container, name, || {
        let state = State { kind: kind.clone(), step: 0, count: 0, sum: None };
        Ok(Accumulator { kind, list: WaitList::new(state) })
    })?;
    if (accumulator.kind.dtype, accumulator.kind.sparse) != (dtype, sparse) {
        bail!(InvalidArgument, "Shared conditional accumulator '{name}' has another type or kind than the node");
    }
    let handle = init.resources.handle(container, name, Some(accumulator), Vec::new());
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

fn accumulator(handle: Option<&Tensor>, resources: &ResourceManager) -> Result<Arc<Accumulator>> {
    super::object_of(handle, resources, "a conditional accumulator")
}

fn scalar_argument(ctx: &KernelContext<'_>, i: usize, name: &str) -> Result<i64> {
    let tensor = ctx.input(i)?;
    if tensor.rank() != 0 {
        bail!(InvalidArgument, "Argument {name} must be scalar, got shape {}", tensor.shape());
    }
    tensor.to_i64()
}

fn make_num_accumulated(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let count = accumulator(Some(ctx.input(0)?), ctx.resources())?.list.lock().state.count;
        ctx.set_output(0, Tensor::scalar(i32::try_from(count).unwrap_or(i32::MAX)));
        Ok(())
    })
}

fn make_set_global_step(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let step = scalar_argument(ctx, 1, "new_global_step")?;
        accumulator(Some(ctx.input(0)?), ctx.resources())?.list.lock().state.step = step;
        Ok(())
    })
}

/// Makes the kernel of `AccumulatorApplyGradient`. Inputs: handle, step, gradient. A sparse gradient has indices, values and shape.
fn make_apply(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let known_shape = init.attrs.get_or("has_known_shape", true)?;
    from_fn(move |ctx| {
        let accumulator = accumulator(Some(ctx.input(0)?), ctx.resources())?;
        let step = scalar_argument(ctx, 1, "local_step")?;
        if accumulator.kind.sparse == (ctx.num_inputs() == 3) {
            bail!(InvalidArgument, "the gradient is not of the kind of a {}", accumulator.type_name());
        }
        let gradient = if accumulator.kind.sparse {
            let shape = if known_shape { Some(ctx.input(4)?) } else { None };
            Sum::sparse(ctx.input(2)?, ctx.input(3)?, shape, &accumulator.kind.shape)?
        } else {
            Sum::dense(ctx.input(2)?, &accumulator.kind.shape)?
        };
        if gradient.dtype() != accumulator.kind.dtype {
            bail!(
                InvalidArgument,
                "Expected gradient to have dtype {}, got {}",
                accumulator.kind.dtype.cpp_name(),
                gradient.dtype().cpp_name()
            );
        }
        accumulator.apply(step, gradient)
    })
}

impl Accumulator {
    /// Adds a gradient unless it is out of date.
    fn apply(&self, step: i64, gradient: Sum) -> Result<()> {
        {
            let Inner { state, .. } = &mut *self.list.lock();
            if step < state.step {
                return Ok(());
            }
            match &mut state.sum {
                Some(sum) => sum.add(&gradient)?,
                none => *none = Some(gradient),
            }
            state.count += 1;
        }
        self.list.progress();
        Ok(())
    }
}

impl Serve for State {
    /// The number of gradients that a call waits for.
    type Request = usize;
    type Next = Outcome;

    /// Calls are served in the order in which they came.
    fn next(&mut self, calls: &mut Calls<usize>) -> Option<(Ended<usize>, Outcome)> {
        if *calls.get_mut(0)? > self.count {
            return None;
        }
        let call = calls.remove(0)?;
        let count = std::mem::take(&mut self.count);
        self.step += 1;
        let outcome = match self.sum.take() {
            Some(sum) => sum.into_outputs(call.allocator(), self.kind.mean.then_some(count), &self.kind.shape),
            None => Err(error!(Internal, "gradients were counted, but there is no sum of them")),
        };
        Some((call, outcome))
    }

    fn go_on(call: Ended<usize>, outcome: Outcome) {
        call.end(outcome);
    }
}

/// The kernel of `AccumulatorTakeGradient`. Inputs: handle, number of gradients.
struct Take;

impl Kernel for Take {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "accumulators are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Take {
    fn start(&self, ctx: AsyncContext) {
        let required = ctx.inputs().get(1).map_or(Ok(0), Tensor::to_i64).and_then(|n| match usize::try_from(n) {
            Ok(required @ 1..) => Ok(required),
            _ => bail!(InvalidArgument, "Argument num_required must be positive, got {n}"),
        });
        match required.and_then(|required| Ok((accumulator(ctx.inputs().first(), ctx.resources())?, required))) {
            Ok((accumulator, required)) => accumulator.list.wait(required, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}
