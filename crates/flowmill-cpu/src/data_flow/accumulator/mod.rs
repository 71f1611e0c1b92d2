//! Accumulators of gradients: `ConditionalAccumulator`, `SparseConditionalAccumulator` and the ops on them.
//!
//! A gradient counts where it is not older than the accumulator's step. Whoever takes the sum, or the mean, waits for a number of gradients.

mod sum;

use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry, Registration};
use flowmill_tensor::{DType, Error, PartialShape, Resource, ResourceHandle, Result, Tensor, bail, error};
use parking_lot::Mutex;
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use sum::Sum;

/// Registers the family. Handles are references or resources; kernels are the same.
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
    dtype: DType,
    shape: PartialShape,
    sparse: bool,
    mean: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    step: i64,
    count: usize,
    sum: Option<Sum>,
    next_id: u64,
    waiting: VecDeque<Waiter>,
}

/// A call that waits for `required` gradients.
struct Waiter {
    id: u64,
    required: usize,
    ctx: AsyncContext,
    registration: Option<Registration>,
}

impl Resource for Accumulator {
    fn type_name(&self) -> &'static str {
        if self.sparse { "SparseConditionalAccumulator" } else { "ConditionalAccumulator" }
    }
}

/// The session's accumulator of the node's name.
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
    let accumulator = init
        .resources
        .lookup_or_create(container, name, || Ok(Accumulator { dtype, shape: shape.clone(), sparse, mean, state: Mutex::default() }))?;
    if (accumulator.dtype, accumulator.sparse) != (dtype, sparse) {
        bail!(InvalidArgument, "Shared conditional accumulator '{name}' has another type or kind than the node");
    }
    let handle = Tensor::resource(ResourceHandle::new(container, name, Some(accumulator), Vec::new()));
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

fn accumulator(handle: Option<&Tensor>) -> Result<Arc<Accumulator>> {
    let handles = handle.and_then(|tensor| tensor.as_resources().ok());
    let object = handles.and_then(|handles| handles.first()?.object().cloned());
    let found = object.and_then(|object: Arc<dyn Resource>| (object as Arc<dyn Any + Send + Sync>).downcast::<Accumulator>().ok());
    found.ok_or_else(|| error!(InvalidArgument, "Input 0 is not the handle of a conditional accumulator"))
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
        let count = accumulator(Some(ctx.input(0)?))?.state.lock().count;
        ctx.set_output(0, Tensor::scalar(i32::try_from(count).unwrap_or(i32::MAX)));
        Ok(())
    })
}

fn make_set_global_step(_: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    from_fn(|ctx| {
        let step = scalar_argument(ctx, 1, "new_global_step")?;
        accumulator(Some(ctx.input(0)?))?.state.lock().step = step;
        Ok(())
    })
}

/// Inputs: handle, step, gradient; of a sparse one indices, values and shape.
fn make_apply(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let known_shape = init.attrs.get_or("has_known_shape", true)?;
    from_fn(move |ctx| {
        let accumulator = accumulator(Some(ctx.input(0)?))?;
        let step = scalar_argument(ctx, 1, "local_step")?;
        if accumulator.sparse == (ctx.num_inputs() == 3) {
            bail!(InvalidArgument, "the gradient is not of the kind of a {}", accumulator.type_name());
        }
        let gradient = if accumulator.sparse {
            let shape = if known_shape { Some(ctx.input(4)?) } else { None };
            Sum::sparse(ctx.input(2)?, ctx.input(3)?, shape, &accumulator.shape)?
        } else {
            Sum::dense(ctx.input(2)?, &accumulator.shape)?
        };
        if gradient.dtype() != accumulator.dtype {
            bail!(InvalidArgument, "Expected gradient to have dtype {}, got {}", accumulator.dtype.cpp_name(), gradient.dtype().cpp_name());
        }
        accumulator.apply(step, gradient)
    })
}

impl Accumulator {
    /// Adds a gradient that is not out of date.
    fn apply(&self, step: i64, gradient: Sum) -> Result<()> {
        {
            let mut state = self.state.lock();
            if step < state.step {
                return Ok(());
            }
            match &mut state.sum {
                Some(sum) => sum.add(&gradient)?,
                none => *none = Some(gradient),
            }
            state.count += 1;
        }
        self.progress();
        Ok(())
    }

    /// Ends the calls that have enough gradients, first come first served.
    fn progress(&self) {
        loop {
            let (waiter, outcome) = {
                let mut state = self.state.lock();
                if state.waiting.front().is_none_or(|first| first.required > state.count) {
                    return;
                }
                let Some(waiter) = state.waiting.pop_front() else { return };
                let count = std::mem::take(&mut state.count);
                state.step += 1;
                let outcome = match state.sum.take() {
                    Some(sum) => sum.into_outputs(if self.mean { Some(count) } else { None }, &self.shape),
                    None => Err(error!(Internal, "gradients were counted and not kept")),
                };
                (waiter, outcome)
            };
            drop(waiter.registration);
            waiter.ctx.done(outcome);
        }
    }

    fn take(self: &Arc<Self>, required: usize, ctx: AsyncContext) {
        let cancel = ctx.step().cancel.clone();
        let id = {
            let mut state = self.state.lock();
            let id = state.next_id;
            state.next_id += 1;
            state.waiting.push_back(Waiter { id, required, ctx, registration: None });
            id
        };
        self.progress();
        if !self.state.lock().waiting.iter().any(|waiter| waiter.id == id) {
            return;
        }
        let accumulator = self.clone();
        let registration = cancel.on_cancel(move |reason| accumulator.cancel(id, reason));
        // Where the call ended in between, the registration is dropped here, outside the lock.
        let mut state = self.state.lock();
        if let Some(waiter) = state.waiting.iter_mut().find(|waiter| waiter.id == id) {
            waiter.registration = registration;
        } else {
            drop(state);
            drop(registration);
        }
    }

    /// Ends the call `id` because its step is cancelled.
    fn cancel(&self, id: u64, reason: &Error) {
        let waiter = {
            let mut state = self.state.lock();
            let at = state.waiting.iter().position(|waiter| waiter.id == id);
            at.and_then(|at| state.waiting.remove(at))
        };
        if let Some(waiter) = waiter {
            drop(waiter.registration);
            waiter.ctx.done(Err(reason.clone().derived()));
        }
        self.progress();
    }
}

/// Inputs: handle, number of gradients.
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
        match required.and_then(|required| Ok((accumulator(ctx.inputs().first())?, required))) {
            Ok((accumulator, required)) => accumulator.take(required, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}
