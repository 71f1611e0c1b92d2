//! Lists of calls that wait for a resource: a queue, an accumulator, a reader, a mutex.
//!
//! A call is in the list until it is removed, under the list's lock: by the resource, because the call can proceed, or by the cancellation of the
//! call's step. Whoever removes a call continues it after releasing the lock, so each call ends once. Ending a call may run much of the program,
//! which may use the resource again.

use flowmill_runtime::{AsyncContext, Registration};
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{Allocator, Result, Tensor};
use std::collections::VecDeque;
use std::sync::Arc;

/// The result with which an asynchronous kernel ends.
pub(crate) type Outcome = Result<Vec<Option<Tensor>>>;

/// A resource's state, which determines the waiting call that can proceed next.
pub(crate) trait Serve: Send + Sized + 'static {
    /// The operation that a call requests.
    type Request: Send + 'static;
    /// The data that [`Self::next`] passes to [`Self::go_on`].
    type Next;

    /// Removes the next call that can proceed, or returns `None` if all have to wait.
    fn next(&mut self, calls: &mut Calls<Self::Request>) -> Option<(Ended<Self::Request>, Self::Next)>;

    /// Continues a call that [`Self::next`] has removed. The list is not locked.
    fn go_on(call: Ended<Self::Request>, next: Self::Next);

    /// Takes back what a call has received so far, because its step is cancelled.
    fn give_back(&mut self, _request: &mut Self::Request) {}
}

/// A resource's state with the calls that wait for it.
pub(crate) struct WaitList<S: Serve>(Arc<Mutex<Inner<S>>>);

/// The data that the list's lock protects.
pub(crate) struct Inner<S: Serve> {
    pub(crate) state: S,
    pub(crate) calls: Calls<S::Request>,
}

/// The waiting calls, in the order in which they were added.
pub(crate) struct Calls<R> {
    next_id: u64,
    waiting: VecDeque<Waiting<R>>,
}

struct Waiting<R> {
    id: u64,
    request: R,
    ctx: AsyncContext,
    /// The registration for the cancellation of the step; `None` until it is made.
    registration: Option<Registration>,
}

/// A call that was removed from the list, so that only its owner can end it. It must be ended without holding the lock.
#[must_use = "the call's step waits for its end"]
pub(crate) struct Ended<R>(Waiting<R>);

impl<R> Ended<R> {
    /// Ends the call.
    pub(crate) fn end(self, outcome: Outcome) {
        self.into_parts().1.done(outcome);
    }

    /// Returns the allocator of the call's outputs.
    pub(crate) fn allocator(&self) -> &Allocator {
        self.0.ctx.allocator()
    }

    /// Returns the request and the call. The cancellation of its step no longer ends the call.
    pub(crate) fn into_parts(self) -> (R, AsyncContext) {
        let Waiting { request, ctx, registration, .. } = self.0;
        drop(registration);
        (request, ctx)
    }
}

impl<R> Calls<R> {
    /// Returns the request of the call at `at`.
    pub(crate) fn get_mut(&mut self, at: usize) -> Option<&mut R> {
        self.waiting.get_mut(at).map(|call| &mut call.request)
    }

    /// Returns the request of the call at `at`, and the allocator of its outputs.
    pub(crate) fn with_allocator(&mut self, at: usize) -> Option<(&mut R, &Allocator)> {
        self.waiting.get_mut(at).map(|call| (&mut call.request, call.ctx.allocator()))
    }

    /// Returns the position of the first call for whose request `is_such` returns true.
    pub(crate) fn position(&self, is_such: impl Fn(&R) -> bool) -> Option<usize> {
        self.waiting.iter().position(|call| is_such(&call.request))
    }

    /// Returns the number of waiting calls.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if `is_such` returns true for the request of a waiting call.
    pub(crate) fn any(&self, is_such: impl Fn(&R) -> bool) -> bool {
        self.position(is_such).is_some()
    }

    /// Removes and returns the calls for whose requests `is_such` returns true.
    pub(crate) fn remove_all(&mut self, is_such: impl Fn(&R) -> bool) -> Vec<Ended<R>> {
        let (removed, kept): (VecDeque<_>, _) = self.waiting.drain(..).partition(|call| is_such(&call.request));
        self.waiting = kept;
        removed.into_iter().map(Ended).collect()
    }

    /// Removes and returns the call at `at`.
    pub(crate) fn remove(&mut self, at: usize) -> Option<Ended<R>> {
        self.waiting.remove(at).map(Ended)
    }

    fn push(&mut self, request: R, ctx: AsyncContext) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.waiting.push_back(Waiting { id, request, ctx, registration: None });
        id
    }

    /// Returns the position of the call `id`. The list is sorted by id.
    fn find(&self, id: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&id, |call| call.id).ok()
    }
}

impl<S: Serve> WaitList<S> {
    /// Returns an empty list.
    pub(crate) fn new(state: S) -> WaitList<S> {
        let calls = Calls { next_id: 0, waiting: VecDeque::new() };
        WaitList(Arc::new(Mutex::new(Inner { state, calls })))
    }

    /// Locks the state. After a change to it, the caller drops the guard and calls [`Self::progress`].
    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner<S>> {
        self.0.lock()
    }

    /// Continues calls until all remaining ones have to wait.
    pub(crate) fn progress(&self) {
        while let Some((call, next)) = self.next() {
            S::go_on(call, next);
        }
    }

    /// Removes and returns the next call that can proceed.
    pub(crate) fn next(&self) -> Option<(Ended<S::Request>, S::Next)> {
        let mut inner = self.lock();
        let Inner { state, calls } = &mut *inner;
        state.next(calls)
    }

    /// Adds a call to the list's end and continues the calls that can proceed. `ctx` is ended exactly once, with an error if its step is cancelled
    /// while it waits.
    pub(crate) fn wait(&self, request: S::Request, ctx: AsyncContext) {
        let cancel = ctx.step().cancel.clone();
        let id = self.lock().calls.push(request, ctx);
        self.progress();
        if self.lock().calls.find(id).is_none() {
            return;
        }
        let list = WaitList(self.0.clone());
        let registration = cancel.on_cancel(move |reason| {
            let cancelled = {
                let mut inner = list.lock();
                let cancelled = inner.calls.find(id).and_then(|at| inner.calls.remove(at));
                cancelled.map(|mut call| {
                    inner.state.give_back(&mut call.0.request);
                    call
                })
            };
            if let Some(call) = cancelled {
                call.end(Err(reason.clone().derived()));
                list.progress();
            }
        });
        let mut inner = self.lock();
        match inner.calls.find(id).and_then(|at| inner.calls.waiting.get_mut(at)) {
            Some(call) => call.registration = registration,
            // The call has ended meanwhile. The registration is dropped after the lock is released, because dropping it may take the lock.
            None => drop((inner, registration)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowmill_runtime::{CancelToken, DeviceStep, FunctionLibraryRuntime, Step};
    use flowmill_tensor::{Code, bail, error};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// A resource with a number of items. A call takes as many as it requests, possibly a few at a time.
    #[derive(Default)]
    struct Heap {
        len: usize,
    }

    struct Request {
        wanted: usize,
        taken: usize,
    }

    impl Serve for Heap {
        type Request = Request;
        type Next = usize;

        fn next(&mut self, calls: &mut Calls<Request>) -> Option<(Ended<Request>, usize)> {
            let first = calls.get_mut(0)?;
            let taken = self.len.min(first.wanted - first.taken);
            self.len -= taken;
            first.taken += taken;
            if first.taken < first.wanted {
                return None;
            }
            let wanted = first.wanted;
            calls.remove(0).map(|call| (call, wanted))
        }

        fn go_on(call: Ended<Request>, _: usize) {
            call.end(Ok(Vec::new()));
        }

        fn give_back(&mut self, request: &mut Request) {
            self.len += std::mem::take(&mut request.taken);
        }
    }

    #[derive(Default)]
    struct Ends {
        served: AtomicUsize,
        cancelled: AtomicUsize,
    }

    impl Ends {
        fn counts(&self) -> (usize, usize) {
            (self.served.load(Ordering::SeqCst), self.cancelled.load(Ordering::SeqCst))
        }
    }

    fn wait(list: &WaitList<Heap>, wanted: usize, cancel: &CancelToken, ends: &Arc<Ends>) {
        let ends = ends.clone();
        let done = move |outcome: Outcome| {
            let counter = match outcome {
                Ok(_) => &ends.served,
                Err(e) => {
                    assert_eq!((e.code(), e.is_derived()), (Code::Cancelled, true));
                    &ends.cancelled
                }
            };
            counter.fetch_add(1, Ordering::SeqCst);
        };
        let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
        let step =
            DeviceStep { step: Arc::new(Step::with_cancel(cancel.clone())), ..DeviceStep::on_host(Arc::default(), Arc::new(functions)) };
        let step = Arc::new(step);
        list.wait(Request { wanted, taken: 0 }, AsyncContext::new(Vec::new(), step, Box::new(done)));
    }

    fn add(list: &WaitList<Heap>, len: usize) {
        list.lock().state.len += len;
        list.progress();
    }

    #[test]
    fn calls_go_on_in_order_and_what_a_cancelled_one_had_goes_to_the_next() {
        let (list, ends) = (WaitList::new(Heap::default()), Arc::new(Ends::default()));
        let (first, second) = (CancelToken::new(), CancelToken::new());
        wait(&list, 5, &first, &ends);
        wait(&list, 3, &second, &ends);
        add(&list, 4);
        assert_eq!((ends.counts(), list.lock().calls.waiting.len()), ((0, 0), 2), "the first call has four of five, the second none");
        first.cancel(error!(Cancelled, "stop"));
        assert_eq!((ends.counts(), list.lock().state.len), ((1, 1), 1));
        second.cancel(error!(Cancelled, "too late"));
        assert_eq!(ends.counts(), (1, 1));
        wait(&list, 2, &second, &ends);
        assert_eq!((ends.counts(), list.lock().calls.waiting.len()), ((1, 2), 0), "the step was cancelled before the call");
    }

    #[test]
    fn a_call_that_is_served_and_cancelled_at_once_ends_once() {
        for _ in 0..2_000 {
            let (list, ends, cancel) = (WaitList::new(Heap::default()), Arc::new(Ends::default()), CancelToken::new());
            std::thread::scope(|scope| {
                scope.spawn(|| add(&list, 2));
                scope.spawn(|| cancel.cancel(error!(Cancelled, "stop")));
                wait(&list, 2, &cancel, &ends);
            });
            let (served, cancelled) = ends.counts();
            assert_eq!(served + cancelled, 1);
            let inner = list.lock();
            assert_eq!((inner.state.len, inner.calls.waiting.len()), (2 * cancelled, 0), "what a cancelled call had was given back");
            drop(inner);
            assert_eq!(Arc::strong_count(&list.0), 1, "nothing is left registered");
        }
    }
}
