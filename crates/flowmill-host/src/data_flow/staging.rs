//! `Stage`, `Unstage` and the ops on their buffer, a queue of tuples.

use super::staging_area::{Limits, Tuples, make_clear, make_size, num_bytes, waiting};
use super::wait_list::{Calls, Ended, Outcome, Serve};
use flowmill_runtime::KernelRegistry;
use flowmill_tensor::{Result, Tensor, bail, error};
use std::collections::VecDeque;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("Stage", |init| waiting::<State>(init, |inputs| Ok((Request::Put(inputs.to_vec()), 0))));
    registry.add("Unstage", |init| {
        let num_outputs = init.output_types.len();
        waiting::<State>(init, move |_| Ok((Request::Take, num_outputs)))
    });
    registry.add("StagePeek", |init| {
        let num_outputs = init.output_types.len();
        waiting::<State>(init, move |inputs| Ok((peek(inputs)?, num_outputs)))
    });
    registry.add("StageSize", |init| make_size(init, |state: &State| state.tuples.len()));
    registry.add("StageClear", make_clear::<State>);
}

/// The tuples of a buffer.
struct State {
    limits: Limits,
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

impl Tuples for State {
    const TYPE_NAME: &'static str = "StagingBuffer";

    fn new(limits: Limits) -> State {
        State { limits, tuples: VecDeque::new(), bytes: 0 }
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn added_by((request, _): &Self::Request) -> &[Tensor] {
        if let Request::Put(tuple) = request { tuple } else { &[] }
    }
}

impl State {
    fn can_go_on(&self, request: &Request) -> bool {
        match request {
            Request::Put(tuple) => {
                self.limits.capacity.is_none_or(|capacity| self.tuples.len() < capacity) && self.limits.have_room_for(self.bytes, tuple)
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
    /// The operation, and the number of the call's outputs.
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

fn peek(inputs: &[Tensor]) -> Result<Request> {
    match inputs {
        [index] if index.rank() == 0 => match usize::try_from(index.to_i64()?) {
            Ok(index) => Ok(Request::Peek(index)),
            Err(_) => bail!(InvalidArgument, "index must not be negative"),
        },
        _ => bail!(InvalidArgument, "index must be scalar"),
    }
}
