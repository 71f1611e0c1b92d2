//! `UnbatchGrad`, which combines the gradients of the calls of a batch for the call that has the batch.

use crate::blocks::concat_rows;
use crate::data_flow::wait_list::{Calls, Ended, Serve, WaitList};
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit};
use flowmill_tensor::{Resource, Result, Shape, Tensor, bail, error};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(UnbatchGrad { container: init.attrs.get_or("container", "")?.to_owned(), name: resource_name(init)?.to_owned() }))
}

/// Gradients whose batches were not requested yet, and calls that wait for the gradients of their batches.
struct Gradients(WaitList<State>);

#[derive(Default)]
struct State {
    available: BTreeMap<i64, Tensor>,
}

/// The ids of the calls whose gradients form a batch.
struct Request(Vec<i64>);

impl Serve for State {
    type Request = Request;
    type Next = Vec<Tensor>;

    fn next(&mut self, calls: &mut Calls<Request>) -> Option<(Ended<Request>, Vec<Tensor>)> {
        let at = calls.position(|call| call.0.iter().all(|id| self.available.contains_key(id)))?;
        let ids = std::mem::take(&mut calls.get_mut(at)?.0);
        let gradients = ids.iter().filter_map(|id| self.available.remove(id)).collect();
        calls.remove(at).map(|call| (call, gradients))
    }

    fn go_on(call: Ended<Request>, gradients: Vec<Tensor>) {
        call.end(concat_rows(gradients.iter()).map(|batch| vec![Some(batch)]));
    }
}

impl Resource for Gradients {
    fn type_name(&self) -> &'static str {
        "UnbatchGradResource"
    }
}

/// The kernel of `UnbatchGrad`. Inputs: the batch, rows `[id, start, end]` for each of its calls, gradient, id. Output: the gradients of all calls
/// of the batch, or a tensor without rows for a call that has no batch.
struct UnbatchGrad {
    container: String,
    name: String,
}

impl Kernel for UnbatchGrad {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "unbatching is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for UnbatchGrad {
    fn start(&self, ctx: AsyncContext) {
        let create = || Ok(Gradients(WaitList::new(State::default())));
        let gradients = match ctx.resources().lookup_or_create(&self.container, &self.name, create) {
            Ok(gradients) => gradients,
            Err(e) => return ctx.done(Err(e)),
        };
        match add(&gradients, ctx.inputs()) {
            Err(e) => ctx.done(Err(e)),
            Ok(Some(ids)) => gradients.0.wait(Request(ids), ctx),
            Ok(None) => {
                let empty = ctx.inputs().get(2).map(without_rows).unwrap_or_else(|| Err(error!(Internal, "Missing input 2")));
                ctx.done(empty.map(|empty| vec![Some(empty)]));
                gradients.0.progress();
            }
        }
    }
}

/// Stores a call's gradient. Returns the ids of the calls in its batch, if it has one.
fn add(gradients: &Gradients, inputs: &[Tensor]) -> Result<Option<Vec<i64>>> {
    let [data, index, gradient, id] = inputs else { bail!(Internal, "UnbatchGrad has four inputs") };
    if id.rank() != 0 {
        bail!(InvalidArgument, "Expected `id` to be scalar. Received a tensor of shape {}", id.shape());
    }
    let id: i64 = id.to_scalar()?;
    let mut ids = None;
    if data.num_elements() > 0 {
        if index.num_elements() == 0 {
            bail!(InvalidArgument, "batch_index is empty while the tensor isn't.");
        }
        let num_parts = index.shape().first().copied().unwrap_or(0);
        if Some(index.num_elements()) != num_parts.checked_mul(3) {
            bail!(
                InvalidArgument,
                "batch_index should contain {} elements. Received {}",
                num_parts.saturating_mul(3),
                index.num_elements()
            );
        }
        let all: Vec<i64> = index.as_slice::<i64>()?.iter().step_by(3).copied().collect();
        let mut sorted = all.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            bail!(Internal, "bad bookkeeping of available tensors.");
        }
        ids = Some(all);
    }
    let mut inner = gradients.0.lock();
    if inner.state.available.contains_key(&id) {
        bail!(InvalidArgument, "Two runs with the same batch key.");
    }
    let is_wanted = |other: &Request| ids.iter().flatten().any(|id| other.0.contains(id));
    if inner.calls.any(is_wanted) {
        bail!(InvalidArgument, "Missing tensor wanted by more than one batch.");
    }
    inner.state.available.insert(id, gradient.clone());
    Ok(ids)
}

/// Returns a tensor like `gradient`, but without rows.
fn without_rows(gradient: &Tensor) -> Result<Tensor> {
    let Some(inner) = gradient.shape().get(1..) else { bail!(InvalidArgument, "The gradient must have at least one dimension") };
    let mut shape = Shape::new(&[0]);
    inner.iter().for_each(|&dim| shape.push(dim));
    gradient.allocator().zeros(gradient.dtype(), shape)
}
