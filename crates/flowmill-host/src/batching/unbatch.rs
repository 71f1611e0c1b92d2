//! `Unbatch`, which outputs to each call its rows of a batch that one of the calls has.

use crate::blocks::rows;
use crate::data_flow::wait_list::{Calls, Ended, Serve, WaitList};
use crate::state::resource_name;
use flowmill_runtime::{Alarm, AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, call_at};
use flowmill_tensor::{Resource, Result, Tensor, bail, error};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

pub(super) fn make(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Unbatch {
        container: init.attrs.get_or("container", "")?.to_owned(),
        name: resource_name(init)?.to_owned(),
        timeout: Duration::from_micros(u64::try_from(init.attrs.get::<i64>("timeout_micros")?).unwrap_or(0)),
    }))
}

/// Rows that were not requested yet, and calls that wait for their rows.
struct Unbatcher {
    timeout: Duration,
    list: WaitList<State>,
}

#[derive(Default)]
struct State {
    /// The rows of calls, by the ids of the calls. The alarm drops them after the timeout.
    rows: BTreeMap<i64, (Tensor, Alarm)>,
}

struct Request {
    id: i64,
    /// The timer that ends the call.
    _alarm: Alarm,
}

impl Serve for State {
    type Request = Request;
    type Next = Tensor;

    fn next(&mut self, calls: &mut Calls<Request>) -> Option<(Ended<Request>, Tensor)> {
        let at = calls.position(|call| self.rows.contains_key(&call.id))?;
        let id = calls.get_mut(at)?.id;
        let (rows, _) = self.rows.remove(&id)?;
        calls.remove(at).map(|call| (call, rows))
    }

    fn go_on(call: Ended<Request>, rows: Tensor) {
        call.end(Ok(vec![Some(rows)]));
    }
}

impl Resource for Unbatcher {
    fn type_name(&self) -> &'static str {
        "UnbatchResource"
    }
}

impl Unbatcher {
    /// Stores the rows of other calls, and waits for the rows of this call.
    fn submit(self: &Arc<Unbatcher>, id: i64, batch: Vec<(i64, Tensor)>, ctx: AsyncContext) {
        let at = Instant::now() + self.timeout;
        let fault = {
            let mut inner = self.list.lock();
            let is_served = inner.state.rows.contains_key(&id);
            if !is_served && inner.calls.any(|call| call.id == id) {
                Some("Multiple session runs with the same batch key.")
            } else if !is_served && batch.iter().any(|(id, _)| inner.state.rows.contains_key(id)) {
                Some("Multiple tensors returned for same batch key.")
            } else {
                // If the rows of this call were available already, the rows of other calls are dropped.
                for (id, rows) in batch.into_iter().filter(|_| !is_served) {
                    let alarm = call_at(at, self.on_alarm(move |this| drop(this.list.lock().state.rows.remove(&id))));
                    inner.state.rows.insert(id, (rows, alarm));
                }
                None
            }
        };
        if let Some(fault) = fault {
            return ctx.done(Err(error!(AlreadyExists, "{fault}")));
        }
        let alarm = call_at(at, self.on_alarm(move |this| this.end_late(id)));
        self.list.wait(Request { id, _alarm: alarm }, ctx);
        if at <= Instant::now() {
            // The alarm may have fired before the call was added to the list.
            self.end_late(id);
        }
    }

    /// Ends the calls with this id that still wait, because their timeout has passed.
    fn end_late(&self, id: i64) {
        let late = self.list.lock().calls.remove_all(|call| call.id == id);
        for call in late {
            call.end(Err(error!(DeadlineExceeded, "Batched data did not arrive within timeout window.")));
        }
    }

    fn on_alarm(self: &Arc<Unbatcher>, f: impl FnOnce(&Unbatcher) + Send + 'static) -> impl FnOnce() + Send + 'static {
        let this: Weak<Unbatcher> = Arc::downgrade(self);
        move || {
            if let Some(this) = this.upgrade() {
                f(&this);
            }
        }
    }
}

/// The kernel of `Unbatch`. Inputs: batch, rows `[id, start, end]` for each of its calls, id. Output: the rows of the call with that id.
struct Unbatch {
    container: String,
    name: String,
    timeout: Duration,
}

impl Kernel for Unbatch {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "unbatching is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Unbatch {
    fn start(&self, ctx: AsyncContext) {
        let create = || Ok(Unbatcher { timeout: self.timeout, list: WaitList::new(State::default()) });
        let unbatcher = ctx.resources().lookup_or_create(&self.container, &self.name, create);
        match unbatcher.and_then(|unbatcher| parts(ctx.inputs()).map(|parts| (unbatcher, parts))) {
            Ok((unbatcher, (id, batch))) => unbatcher.submit(id, batch, ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

/// Returns the call's id, and the rows of each call that are in the batch.
fn parts(inputs: &[Tensor]) -> Result<(i64, Vec<(i64, Tensor)>)> {
    let [data, index, id] = inputs else { bail!(Internal, "Unbatch has three inputs") };
    let (Some(&num_rows), &[num_parts, ref width @ ..]) = (data.shape().first(), index.shape().dims()) else {
        bail!(InvalidArgument, "The batched tensor and its index must have at least one dimension");
    };
    if num_parts > num_rows {
        bail!(
            InvalidArgument,
            "Wrong shape for index tensor. Expected 0th dimension size to be no greater than {num_rows}; Got: {num_parts}."
        );
    }
    if width.first() != Some(&3) {
        let width = width.first().map_or_else(|| "none".to_owned(), ToString::to_string);
        bail!(InvalidArgument, "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: {width}.");
    }
    if id.rank() != 0 {
        bail!(InvalidArgument, "Input id should be scalar; Got: a tensor of shape {}.", id.shape());
    }
    if width.len() != 1 {
        bail!(InvalidArgument, "Wrong shape for index tensor. Expected 2 dimensions; Got: {}.", index.shape());
    }
    let mut start = 0usize;
    let mut parts = Vec::with_capacity(num_parts);
    for part in index.as_slice::<i64>()?.chunks_exact(3) {
        let &[id, from, to] = part else { continue };
        let size = to.checked_sub(from).and_then(|size| usize::try_from(size).ok());
        let Some(size) = size.filter(|&size| size <= num_rows - start) else {
            bail!(InvalidArgument, "Sum of split sizes must not exceed dim0-size of input tensor");
        };
        parts.push((id, rows(data, start, size)?));
        start += size;
    }
    Ok((id.to_scalar()?, parts))
}
