//! The object behind a queue's handle: elements, and calls that wait for room or for elements.

use crate::array::item::{Item, for_item};
use crate::array::nd::{for_each_index, row_major};
use crate::blocks::concat_blocks;
use flowmill_runtime::{AsyncContext, Registration};
use flowmill_tensor::{DType, Error, PartialShape, Resource, Result, Shape, Tensor, bail, error};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// What a queue is made with.
pub(super) struct Options {
    /// `FIFOQueue`, `PaddingFIFOQueue`, `PriorityQueue` or `RandomShuffleQueue`, for messages.
    pub(super) kind: &'static str,
    /// The types of an element's components.
    pub(super) types: Vec<DType>,
    /// Their shapes; without them elements cannot be taken in batches. Sizes are unknown only where batches are padded.
    pub(super) shapes: Option<Vec<PartialShape>>,
    /// In which order elements leave.
    pub(super) order: Order,
    /// How many elements fit.
    pub(super) capacity: usize,
}

/// In which order elements leave a queue.
pub(super) enum Order {
    /// As they came.
    FirstInFirstOut,
    /// The least number in the first component first, of equals the first that came.
    Priority,
    /// Any; `min_after_dequeue` stay for choice until the queue is closed.
    Random {
        /// How many stay.
        min_after_dequeue: usize,
        /// Where the order starts.
        seed: u64,
    },
}

/// A queue of tuples of tensors.
///
/// Calls are served in order. Each call that ends another one's wait also completes it, after the lock is released.
pub(in crate::data_flow) struct Queue {
    name: String,
    options: Options,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    elements: VecDeque<Vec<Tensor>>,
    closed: bool,
    enqueues_cancelled: bool,
    random: u64,
    next_id: u64,
    waiting: VecDeque<Waiter>,
}

struct Waiter {
    id: u64,
    request: Request,
    ctx: AsyncContext,
    /// Keeps the step's cancellation connected; `None` until it is.
    registration: Option<Registration>,
}

/// What a call wants.
pub(super) enum Request {
    /// To add these elements.
    Enqueue(VecDeque<Vec<Tensor>>),
    /// To take one element.
    DequeueOne,
    /// To take `count` elements, stacked; with `up_to`, fewer at the end of a closed queue.
    DequeueMany {
        /// How many.
        count: usize,
        /// Fewer will do when the queue is closed.
        up_to: bool,
        /// Those it has already.
        taken: Vec<Vec<Tensor>>,
    },
}

type Outcome = Result<Vec<Option<Tensor>>>;

impl Resource for Queue {
    fn type_name(&self) -> &'static str {
        self.options.kind
    }
}

impl Queue {
    pub(super) fn new(name: &str, options: Options) -> Queue {
        let random = if let Order::Random { seed, .. } = options.order { seed } else { 0 };
        let state = State { random, ..State::default() };
        Queue { name: name.to_owned(), options, state: Mutex::new(state) }
    }

    /// Kind and name, for messages.
    pub(super) fn describe(&self) -> String {
        format!("{} '{}'", self.options.kind, self.name)
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// Serves a request now or later; `ctx` ends exactly once, with an error when its step is cancelled.
    pub(super) fn submit(self: &Arc<Self>, request: Request, ctx: AsyncContext) {
        let cancel = ctx.step().cancel.clone();
        let id = {
            let mut state = self.state.lock();
            let id = state.next_id;
            state.next_id += 1;
            state.waiting.push_back(Waiter { id, request, ctx, registration: None });
            id
        };
        self.progress();
        if !self.state.lock().waiting.iter().any(|waiter| waiter.id == id) {
            return;
        }
        let queue = self.clone();
        let registration = cancel.on_cancel(move |reason| queue.cancel(id, reason));
        // Where the call ended in between, the registration is dropped here, outside the lock.
        let mut state = self.state.lock();
        if let Some(waiter) = state.waiting.iter_mut().find(|waiter| waiter.id == id) {
            waiter.registration = registration;
        } else {
            drop(state);
            drop(registration);
        }
    }

    /// Ends the call `id` because its step is cancelled; what it took already goes back.
    fn cancel(&self, id: u64, reason: &Error) {
        let waiter = {
            let mut state = self.state.lock();
            let Some(at) = state.waiting.iter().position(|waiter| waiter.id == id) else { return };
            let waiter = state.waiting.remove(at);
            waiter.map(|mut waiter| {
                state.give_back(&mut waiter.request);
                waiter
            })
        };
        if let Some(waiter) = waiter {
            finish(waiter, Err(reason.clone().derived()));
        }
        self.progress();
    }

    /// No more elements; with `cancel_pending_enqueues`, not those of waiting calls either.
    ///
    /// # Errors
    /// `Cancelled` where the queue is closed already.
    pub(super) fn close(&self, cancel_pending_enqueues: bool) -> Result<()> {
        let cancelled = {
            let mut state = self.state.lock();
            if state.closed && (!cancel_pending_enqueues || state.enqueues_cancelled) {
                bail!(Cancelled, "Queue '{}' is already closed.", self.name);
            }
            state.closed = true;
            state.enqueues_cancelled |= cancel_pending_enqueues;
            let waiting = std::mem::take(&mut state.waiting);
            let (cancelled, kept): (VecDeque<_>, _) =
                waiting.into_iter().partition(|waiter| cancel_pending_enqueues && matches!(waiter.request, Request::Enqueue(_)));
            state.waiting = kept;
            cancelled
        };
        for waiter in cancelled {
            finish(waiter, Err(error!(Cancelled, "Enqueue operation was cancelled")));
        }
        self.progress();
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().elements.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }

    /// Serves waiting calls until none can go on.
    fn progress(&self) {
        loop {
            let done = self.state.lock().step(self);
            let Some((waiter, outcome)) = done else { return };
            finish(waiter, outcome);
        }
    }

    fn closed_error(&self, requested: usize, size: usize) -> Error {
        error!(OutOfRange, "{} is closed and has insufficient elements (requested {requested}, current size {size})", self.describe())
    }

    /// Elements as one batch: each component stacked.
    fn batch(&self, elements: &[Vec<Tensor>]) -> Outcome {
        let shapes = self.options.shapes.iter().flatten();
        let stack = |(i, (&dtype, shape)): (usize, (&DType, &PartialShape))| {
            let parts = elements.iter().filter_map(|element| element.get(i));
            let Some(mut stacked) = shape.to_shape() else { return padded(dtype, shape, &parts.collect::<Vec<_>>()).map(Some) };
            stacked.insert(0, elements.len());
            concat_blocks(dtype, stacked, parts.map(|part| (part, 0..part.num_elements()))).map(Some)
        };
        self.options.types.iter().zip(shapes).enumerate().map(stack).collect()
    }
}

/// Ends a call outside the lock: its cancellation is disconnected first.
fn finish(waiter: Waiter, outcome: Outcome) {
    drop(waiter.registration);
    waiter.ctx.done(outcome);
}

impl State {
    /// Lets the first enqueue and the first dequeue go as far as they can; gives the first call that is complete.
    fn step(&mut self, queue: &Queue) -> Option<(Waiter, Outcome)> {
        loop {
            let mut moved = false;
            if let Some(at) = self.waiting.iter().position(|waiter| matches!(waiter.request, Request::Enqueue(_))) {
                match self.enqueue(at, &queue.options) {
                    Progress::Done => return self.waiting.remove(at).map(|waiter| (waiter, Ok(Vec::new()))),
                    Progress::Moved => moved = true,
                    Progress::Stuck => {}
                }
            }
            if let Some(at) = self.waiting.iter().position(|waiter| !matches!(waiter.request, Request::Enqueue(_)))
                && let Some(outcome) = self.dequeue(at, queue, &mut moved)
            {
                return self.waiting.remove(at).map(|waiter| (waiter, outcome));
            }
            if !moved {
                return None;
            }
        }
    }

    fn enqueue(&mut self, at: usize, options: &Options) -> Progress {
        let Some(Waiter { request: Request::Enqueue(tuples), .. }) = self.waiting.get_mut(at) else { return Progress::Stuck };
        let before = tuples.len();
        while self.elements.len() < options.capacity
            && let Some(tuple) = tuples.pop_front()
        {
            let place = match options.order {
                Order::Priority => self.elements.partition_point(|other| priority(other) <= priority(&tuple)),
                _ => self.elements.len(),
            };
            self.elements.insert(place, tuple);
        }
        match tuples.len() {
            0 => Progress::Done,
            after if after < before => Progress::Moved,
            _ => Progress::Stuck,
        }
    }

    /// The outcome of the call at `at`, if it is complete.
    fn dequeue(&mut self, at: usize, queue: &Queue, moved: &mut bool) -> Option<Outcome> {
        let enqueues_wait = self.waiting.iter().any(|waiter| matches!(waiter.request, Request::Enqueue(_)));
        let ended = self.closed && !enqueues_wait;
        let reserve = match queue.options.order {
            Order::Random { min_after_dequeue, .. } if !self.closed => min_after_dequeue,
            _ => 0,
        };
        let mut request = self.waiting.get_mut(at).map(|waiter| std::mem::replace(&mut waiter.request, Request::DequeueOne))?;
        let outcome = match &mut request {
            Request::DequeueOne if self.elements.len() > reserve => self.take(queue).map(|tuple| Ok(tuple.into_iter().map(Some).collect())),
            Request::DequeueOne if ended => Some(Err(queue.closed_error(1, 0))),
            Request::DequeueMany { count, up_to, taken } => {
                while taken.len() < *count && self.elements.len() > reserve {
                    taken.extend(self.take(queue));
                    *moved = true;
                }
                if taken.len() == *count || (ended && *up_to && !taken.is_empty()) {
                    Some(queue.batch(taken))
                } else if ended {
                    Some(Err(queue.closed_error(*count, taken.len())))
                } else {
                    None
                }
            }
            _ => None,
        };
        if matches!(outcome, Some(Err(_))) {
            self.give_back(&mut request);
        }
        if let Some(waiter) = self.waiting.get_mut(at) {
            waiter.request = request;
        }
        outcome
    }

    /// The next element: the first, or in a shuffled queue any.
    fn take(&mut self, queue: &Queue) -> Option<Vec<Tensor>> {
        if !matches!(queue.options.order, Order::Random { .. }) {
            return self.elements.pop_front();
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        let len = self.elements.len().max(1) as u64;
        self.elements.swap_remove_back((bits % len) as usize)
    }

    /// Puts elements that a call took without getting enough back to the front.
    fn give_back(&mut self, request: &mut Request) {
        if let Request::DequeueMany { taken, .. } = request {
            taken.drain(..).rev().for_each(|tuple| self.elements.push_front(tuple));
        }
    }
}

/// The number that an element of a priority queue is ordered by.
fn priority(element: &[Tensor]) -> i64 {
    element.first().and_then(|first| first.to_i64().ok()).unwrap_or(i64::MAX)
}

/// Tensors of one rank stacked, each filled up with zeros to the greatest of their sizes.
fn padded(dtype: DType, shape: &PartialShape, parts: &[&Tensor]) -> Result<Tensor> {
    fn fill<T: Item>(dtype: DType, stacked: Shape, parts: &[&Tensor]) -> Result<Tensor> {
        let zero = T::zero()?;
        T::build(dtype, stacked.clone(), std::slice::from_ref(&zero), |out| {
            out.fill(zero.clone());
            let each = stacked[1..].iter().product::<usize>();
            let strides = row_major(&stacked[1..]);
            for (part, out) in parts.iter().zip(out.chunks_exact_mut(each.max(1))) {
                let items = T::items(part)?;
                for_each_index(part.shape(), (0, &row_major(part.shape())), (0, &strides), |from, to| out[to] = items[from].clone());
            }
            Ok(())
        })
    }
    let rank = shape.rank().unwrap_or(0);
    let size = |d: usize| parts.iter().filter_map(|part| part.shape().get(d).copied()).max().or(shape.dim(d)).unwrap_or(0);
    let mut stacked: Shape = (0..rank).map(size).collect();
    stacked.insert(0, parts.len());
    stacked.checked_num_elements()?;
    for_item!(dtype, T => fill::<T>(dtype, stacked, parts))
}

enum Progress {
    Done,
    Moved,
    Stuck,
}
