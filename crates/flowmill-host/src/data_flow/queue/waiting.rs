//! The object behind a queue's handle: its elements, and the calls that wait for room or for elements.

use crate::array::item::{Item, for_item};
use crate::array::nd::{for_each_index, row_major};
use crate::blocks::concat_blocks;
use crate::data_flow::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use flowmill_kernels::philox::{Numbers, Philox};
use flowmill_runtime::AsyncContext;
use flowmill_tensor::{Allocator, DType, Error, PartialShape, Resource, Result, Shape, Tensor, bail, error};
use std::collections::VecDeque;
use std::sync::Arc;

/// The options that a queue is made with.
#[derive(Clone)]
pub(in crate::data_flow) struct Options {
    /// `FIFOQueue`, `PaddingFIFOQueue`, `PriorityQueue` or `RandomShuffleQueue`, for messages.
    pub(in crate::data_flow) kind: &'static str,
    /// The types of an element's components.
    pub(in crate::data_flow) types: Vec<DType>,
    /// The shapes of the components; without them, elements cannot be dequeued in batches. Sizes are unknown only if batches are padded.
    pub(in crate::data_flow) shapes: Option<Vec<PartialShape>>,
    /// The order in which elements are dequeued.
    pub(in crate::data_flow) order: Order,
    /// The number of elements that fit.
    pub(in crate::data_flow) capacity: usize,
}

/// The order in which elements are dequeued.
#[derive(Clone)]
pub(in crate::data_flow) enum Order {
    /// The order in which elements were enqueued.
    FirstInFirstOut,
    /// The order of the numbers in the first component, least first; equal ones in the order in which they were enqueued.
    Priority,
    /// Random; until the queue is closed, at least `min_after_dequeue` elements stay to choose from.
    Random {
        /// The number of elements that stay.
        min_after_dequeue: usize,
        /// The seeds that the queue's node has; zeros if it has none.
        seeds: [i64; 2],
        /// The initial state of the random generator that chooses elements.
        generator: Philox,
    },
}

/// A queue of tuples of tensors. Calls are served in the order in which they came.
pub(in crate::data_flow) struct Queue {
    made: Arc<Made>,
    list: WaitList<State>,
}

/// The properties of a queue that do not change.
struct Made {
    name: String,
    options: Options,
}

struct State {
    made: Arc<Made>,
    elements: VecDeque<Vec<Tensor>>,
    closed: bool,
    enqueues_cancelled: bool,
    /// The random numbers with which a shuffled queue chooses elements.
    numbers: Option<Numbers>,
}

/// The operation that a call requests.
pub(in crate::data_flow) enum Request {
    /// Adds these elements.
    Enqueue(VecDeque<Vec<Tensor>>),
    /// Takes one element.
    DequeueOne,
    /// Takes `count` elements, stacked; with `up_to`, fewer at the end of a closed queue.
    DequeueMany {
        /// The number of elements.
        count: usize,
        /// If true, fewer elements are returned when the queue is closed.
        up_to: bool,
        /// The elements that the call has taken so far.
        taken: Vec<Vec<Tensor>>,
    },
}

impl Resource for Queue {
    fn type_name(&self) -> &'static str {
        self.made.options.kind
    }
}

impl Queue {
    pub(in crate::data_flow) fn new(name: &str, options: Options) -> Queue {
        let numbers = if let Order::Random { generator, .. } = options.order { Some(Numbers::new(generator)) } else { None };
        let made = Arc::new(Made { name: name.to_owned(), options });
        let state = State { made: made.clone(), elements: VecDeque::new(), closed: false, enqueues_cancelled: false, numbers };
        Queue { made, list: WaitList::new(state) }
    }

    /// Returns the kind and the name of the queue, for messages.
    pub(super) fn describe(&self) -> String {
        self.made.describe()
    }

    pub(super) fn options(&self) -> &Options {
        &self.made.options
    }

    /// Executes a request now or later. `ctx` is ended exactly once, with an error if its step is cancelled.
    pub(in crate::data_flow) fn submit(&self, request: Request, ctx: AsyncContext) {
        self.list.wait(request, ctx);
    }

    /// Closes the queue for new elements. With `cancel_pending_enqueues`, waiting calls cannot add theirs either.
    ///
    /// # Errors
    /// Returns `Cancelled` if the queue is closed already.
    pub(super) fn close(&self, cancel_pending_enqueues: bool) -> Result<()> {
        let cancelled = {
            let Inner { state, calls } = &mut *self.list.lock();
            if state.closed && (!cancel_pending_enqueues || state.enqueues_cancelled) {
                bail!(Cancelled, "Queue '{}' is already closed.", self.made.name);
            }
            state.closed = true;
            state.enqueues_cancelled |= cancel_pending_enqueues;
            calls.remove_all(|request| cancel_pending_enqueues && is_enqueue(request))
        };
        for call in cancelled {
            call.end(Err(error!(Cancelled, "Enqueue operation was cancelled")));
        }
        self.list.progress();
        Ok(())
    }

    /// Adds elements to a queue regardless of its capacity, and closes it if `close`. Waiting calls do not continue before [`Self::progress`], so
    /// the caller may hold a lock.
    pub(in crate::data_flow) fn put(&self, elements: Vec<Vec<Tensor>>, close: bool) {
        let Inner { state, .. } = &mut *self.list.lock();
        elements.into_iter().for_each(|element| state.insert(element));
        state.closed |= close;
    }

    /// Continues waiting calls after [`Self::put`].
    pub(in crate::data_flow) fn progress(&self) {
        self.list.progress();
    }

    pub(in crate::data_flow) fn len(&self) -> usize {
        self.list.lock().state.elements.len()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.list.lock().state.closed
    }
}

fn is_enqueue(request: &Request) -> bool {
    matches!(request, Request::Enqueue(_))
}

impl Made {
    fn describe(&self) -> String {
        format!("{} '{}'", self.options.kind, self.name)
    }

    fn closed_error(&self, requested: usize, size: usize) -> Error {
        error!(OutOfRange, "{} is closed and has insufficient elements (requested {requested}, current size {size})", self.describe())
    }

    /// Returns elements as one batch, with each component stacked.
    fn batch(&self, alloc: &Allocator, elements: &[Vec<Tensor>]) -> Outcome {
        let shapes = self.options.shapes.iter().flatten();
        let stack = |(i, (&dtype, shape)): (usize, (&DType, &PartialShape))| {
            let parts = elements.iter().filter_map(|element| element.get(i));
            let Some(mut stacked) = shape.to_shape() else { return padded(alloc, dtype, shape, &parts.collect::<Vec<_>>()).map(Some) };
            stacked.insert(0, elements.len());
            concat_blocks(alloc, dtype, stacked, parts.map(|part| (part, 0..part.num_elements()))).map(Some)
        };
        self.options.types.iter().zip(shapes).enumerate().map(stack).collect()
    }
}

impl Serve for State {
    type Request = Request;
    type Next = Outcome;

    /// Executes the first enqueue and the first dequeue as far as possible.
    fn next(&mut self, calls: &mut Calls<Request>) -> Option<(Ended<Request>, Outcome)> {
        loop {
            let mut moved = false;
            if let Some(at) = calls.position(is_enqueue) {
                match self.enqueue(calls.get_mut(at)) {
                    Progress::Done => return calls.remove(at).map(|call| (call, Ok(Vec::new()))),
                    Progress::Moved => moved = true,
                    Progress::Stuck => {}
                }
            }
            let ended = self.closed && !calls.any(is_enqueue);
            if let Some(at) = calls.position(|request| !is_enqueue(request))
                && let Some(outcome) = calls.with_allocator(at).and_then(|(request, alloc)| self.dequeue(alloc, request, ended, &mut moved))
            {
                return calls.remove(at).map(|call| (call, outcome));
            }
            if !moved {
                return None;
            }
        }
    }

    fn go_on(call: Ended<Request>, outcome: Outcome) {
        call.end(outcome);
    }

    /// Puts the elements that an incomplete call took back to the front.
    fn give_back(&mut self, request: &mut Request) {
        if let Request::DequeueMany { taken, .. } = request {
            taken.drain(..).rev().for_each(|tuple| self.elements.push_front(tuple));
        }
    }
}

impl State {
    fn insert(&mut self, element: Vec<Tensor>) {
        let place = match self.made.options.order {
            Order::Priority => self.elements.partition_point(|other| priority(other) <= priority(&element)),
            _ => self.elements.len(),
        };
        self.elements.insert(place, element);
    }

    fn enqueue(&mut self, request: Option<&mut Request>) -> Progress {
        let Some(Request::Enqueue(tuples)) = request else { return Progress::Stuck };
        let before = tuples.len();
        while self.elements.len() < self.made.options.capacity
            && let Some(tuple) = tuples.pop_front()
        {
            self.insert(tuple);
        }
        match tuples.len() {
            0 => Progress::Done,
            after if after < before => Progress::Moved,
            _ => Progress::Stuck,
        }
    }

    /// Returns the outcome of a call if it is complete; `ended` means that no more elements will be added.
    fn dequeue(&mut self, alloc: &Allocator, request: &mut Request, ended: bool, moved: &mut bool) -> Option<Outcome> {
        let reserve = match self.made.options.order {
            Order::Random { min_after_dequeue, .. } if !self.closed => min_after_dequeue,
            _ => 0,
        };
        let outcome = match request {
            Request::DequeueOne if self.elements.len() > reserve => self.take().map(|tuple| Ok(tuple.into_iter().map(Some).collect())),
            Request::DequeueOne if ended => Some(Err(self.made.closed_error(1, 0))),
            Request::DequeueMany { count, up_to, taken } => {
                // A batch is in the order of priorities, so it begins when the queue holds all of it, unless the queue cannot.
                let begins = match self.made.options.order {
                    Order::Priority => ended || self.elements.len() >= *count || *count > self.made.options.capacity,
                    _ => true,
                };
                while begins && taken.len() < *count && self.elements.len() > reserve {
                    taken.extend(self.take());
                    *moved = true;
                }
                if taken.len() == *count || (ended && *up_to && !taken.is_empty()) {
                    Some(self.made.batch(alloc, taken))
                } else if ended {
                    Some(Err(self.made.closed_error(*count, taken.len())))
                } else {
                    None
                }
            }
            _ => None,
        };
        if matches!(outcome, Some(Err(_))) {
            self.give_back(request);
        }
        outcome
    }

    /// Removes the next element: the first, or in a shuffled queue the one that TensorFlow chooses, which is replaced by the last element.
    fn take(&mut self) -> Option<Vec<Tensor>> {
        let Some(numbers) = &mut self.numbers else { return self.elements.pop_front() };
        if self.elements.is_empty() {
            return None;
        }
        let place = u64::from(numbers.next()) % self.elements.len() as u64;
        self.elements.swap_remove_back(place as usize)
    }
}

/// Returns the number by which an element of a priority queue is ordered.
fn priority(element: &[Tensor]) -> i64 {
    element.first().and_then(|first| first.to_i64().ok()).unwrap_or(i64::MAX)
}

/// Stacks tensors of one rank, each padded with zeros to the greatest of their sizes.
fn padded(alloc: &Allocator, dtype: DType, shape: &PartialShape, parts: &[&Tensor]) -> Result<Tensor> {
    fn fill<T: Item>(alloc: &Allocator, dtype: DType, stacked: Shape, parts: &[&Tensor]) -> Result<Tensor> {
        let zero = T::zero()?;
        T::build(alloc, dtype, stacked.clone(), std::slice::from_ref(&zero), |out| {
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
    for_item!(dtype, T => fill::<T>(alloc, dtype, stacked, parts))
}

enum Progress {
    Done,
    Moved,
    Stuck,
}
