//! `Stage`, `Unstage` and the ops on their buffer: tuples of tensors, kept between the steps of a session.
//!
//! A buffer belongs to the session, by container and name. Calls wait, without a thread, for room or for a tuple; they end if their step is cancelled.

use super::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, Result, Tensor, bail, error};
use std::collections::VecDeque;
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Stage", |init| waiting(init, |inputs| Ok(Request::Put(inputs.to_vec()))));
    registry.add("Unstage", |init| waiting(init, |_| Ok(Request::Take)));
    registry.add("StagePeek", |init| waiting(init, peek));
    registry.add("StageSize", make_size);
    registry.add("StageClear", make_clear);
}

/// The buffer that all nodes of one name share.
struct StagingBuffer(WaitList<State>);

impl Resource for StagingBuffer {
    fn type_name(&self) -> &'static str {
        "StagingBuffer"
    }
}

struct State {
    /// The number of tuples that fit, or `None` for no limit.
    capacity: Option<usize>,
    /// The number of bytes that fit, or `None` for no limit.
    memory_limit: Option<usize>,
    tuples: VecDeque<Vec<Tensor>>,
    bytes: usize,
}

/// The operation that a call requests.
enum Request {
    /// Adds a tuple.
    Put(Vec<Tensor>),
    /// Removes and returns the first tuple.
    Take,
    /// Returns the tuple at an index, which stays in the buffer.
    Peek(usize),
}

/// Returns the number of bytes of a tuple's elements; handles and variants count as none.
pub(super) fn num_bytes(tuple: &[Tensor]) -> usize {
    let of = |tensor: &Tensor| match tensor.as_strings() {
        Ok(strings) => strings.iter().map(|s| s.len() + size_of::<[usize; 3]>()).sum(),
        Err(_) => tensor.dtype().size().unwrap_or(0).saturating_mul(tensor.num_elements()),
    };
    tuple.iter().map(of).fold(0, usize::saturating_add)
}

impl State {
    fn can_go_on(&self, request: &Request) -> bool {
        match request {
            Request::Put(tuple) => {
                self.capacity.is_none_or(|capacity| self.tuples.len() < capacity)
                    && self.memory_limit.is_none_or(|limit| self.bytes.saturating_add(num_bytes(tuple)) <= limit)
            }
            Request::Take => !self.tuples.is_empty(),
            Request::Peek(index) => *index < self.tuples.len(),
        }
    }

    /// Executes a request that need not wait.
    fn serve(&mut self, request: &mut Request) -> Vec<Tensor> {
        match request {
            Request::Put(tuple) => {
                self.bytes = self.bytes.saturating_add(num_bytes(tuple));
                self.tuples.push_back(std::mem::take(tuple));
                Vec::new()
            }
            Request::Take => {
                let tuple = self.tuples.pop_front().unwrap_or_default();
                self.bytes = self.bytes.saturating_sub(num_bytes(&tuple));
                tuple
            }
            Request::Peek(index) => self.tuples.get(*index).cloned().unwrap_or_default(),
        }
    }
}

impl Serve for State {
    type Request = (Request, usize);
    type Next = Outcome;

    fn next(&mut self, calls: &mut Calls<Self::Request>) -> Option<(Ended<Self::Request>, Outcome)> {
        let at = calls.position(|(request, _)| self.can_go_on(request))?;
        let (request, num_outputs) = calls.get_mut(at)?;
        let (tuple, num_outputs) = (self.serve(request), *num_outputs);
        let outcome = if tuple.len() == num_outputs {
            Ok(tuple.into_iter().map(Some).collect())
        } else {
            Err(error!(InvalidArgument, "Mismatch stage/unstage: {} vs. {num_outputs}", tuple.len()))
        };
        calls.remove(at).map(|call| (call, outcome))
    }

    fn go_on(call: Ended<Self::Request>, outcome: Outcome) {
        call.end(outcome);
    }
}

/// Returns the session's buffer under the node's name. It is made with the attributes of the first node of that name.
fn buffer(init: &KernelInit<'_>) -> Result<Arc<StagingBuffer>> {
    let limit = |name: &str| -> Result<Option<usize>> { Ok(usize::try_from(init.attrs.get_or(name, 0i64)?).ok().filter(|&n| n > 0)) };
    let (capacity, memory_limit) = (limit("capacity")?, limit("memory_limit")?);
    init.resources.lookup_or_create(init.attrs.get_or("container", "")?, resource_name(init)?, || {
        Ok(StagingBuffer(WaitList::new(State { capacity, memory_limit, tuples: VecDeque::new(), bytes: 0 })))
    })
}

/// A kernel whose calls wait for the buffer.
struct Waiting {
    buffer: Arc<StagingBuffer>,
    num_outputs: usize,
    request: fn(&[Tensor]) -> Result<Request>,
}

fn waiting(init: &KernelInit<'_>, request: fn(&[Tensor]) -> Result<Request>) -> Result<Arc<dyn Kernel>> {
    Ok(Arc::new(Waiting { buffer: buffer(init)?, num_outputs: init.output_types.len(), request }))
}

fn peek(inputs: &[Tensor]) -> Result<Request> {
    match inputs {
        [index] if index.rank() == 0 => match usize::try_from(index.to_i64()?) {
            Ok(index) => Ok(Request::Peek(index)),
            Err(_) => bail!(InvalidArgument, "index must not be negative"),
        },
        _ => bail!(InvalidArgument, "index must be scalar"),
    }
}

impl Kernel for Waiting {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "staging areas are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Waiting {
    fn start(&self, ctx: AsyncContext) {
        let request = (self.request)(ctx.inputs()).and_then(|request| {
            if let Request::Put(tuple) = &request {
                let (bytes, limit) = (num_bytes(tuple), self.buffer.0.lock().state.memory_limit);
                if let Some(limit) = limit.filter(|&limit| bytes > limit) {
                    bail!(
                        ResourceExhausted,
                        "Attempted to insert tensors with combined size of '{bytes}' bytes into Staging Area with a memory limit of '{limit}'."
                    );
                }
            }
            Ok(request)
        });
        match request {
            Ok(request) => self.buffer.0.wait((request, self.num_outputs), ctx),
            Err(e) => ctx.done(Err(e)),
        }
    }
}

fn make_size(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let buffer = buffer(init)?;
    from_fn(move |ctx| {
        let len = buffer.0.lock().state.tuples.len();
        ctx.set_output(0, Tensor::scalar(i32::try_from(len).unwrap_or(i32::MAX)));
        Ok(())
    })
}

fn make_clear(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let buffer = buffer(init)?;
    from_fn(move |_| {
        let dropped = {
            let Inner { state, .. } = &mut *buffer.0.lock();
            state.bytes = 0;
            std::mem::take(&mut state.tuples)
        };
        drop(dropped);
        buffer.0.progress();
        Ok(())
    })
}
