//! Calls of asynchronous kernels.

use super::block::IterationRef;
use super::run::{Item, Run};
use crate::function::Caller;
use crate::kernel::{AsyncContext, AsyncKernel, CallDone};
use flowmill_tensor::{Result, Tensor, error};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null;
use std::sync::Arc;

/// The result of an asynchronous kernel: its outputs or its error.
pub(super) type Completed = Result<Vec<Option<Tensor>>>;

thread_local! {
    /// The call that this thread is starting: its run, its iteration and its node.
    static STARTING: Cell<Call> = const { Cell::new((null(), null(), 0)) };
    /// The result of the call that this thread is starting, if the call has ended on this thread before its kernel returned.
    static ENDED: RefCell<Option<Completed>> = const { RefCell::new(None) };
}

type Call = (*const Run, *const super::block::Iteration, u32);

/// The end of a call that has not come yet. However the kernel lets go of it, the run hears of it once.
pub(crate) struct OutstandingCall {
    run: Option<Arc<Run>>,
    item: Item,
}

impl OutstandingCall {
    pub(crate) fn complete(&mut self, result: Completed) {
        let Some(run) = self.run.take() else { return };
        if STARTING.get() == call_of(&run, self.item) {
            ENDED.set(Some(result));
        } else {
            run.complete(self.item, result);
        }
    }
}

impl Drop for OutstandingCall {
    fn drop(&mut self) {
        self.complete(Err(error!(Internal, "an asynchronous kernel ended without a result")));
    }
}

fn call_of(run: &Arc<Run>, item: Item) -> Call {
    (Arc::as_ptr(run), item.iteration, item.node)
}

/// Starts the kernel. Returns its result if it has ended already. Otherwise the item's reference and one count among the living belong to the
/// call from now on.
pub(super) fn start(run: &Arc<Run>, item: Item, kernel: &dyn AsyncKernel, inputs: Vec<Tensor>) -> Option<Completed> {
    /// Goes back to the call that this thread was starting before, when this one is started.
    struct Started(Call, Option<Completed>);
    impl Drop for Started {
        fn drop(&mut self) {
            STARTING.set(self.0);
            ENDED.set(self.1.take());
        }
    }
    let outstanding = OutstandingCall { run: Some(run.clone()), item };
    let caller = Caller::new(run.device_step.clone(), Some(run.crew.clone()), run.depth);
    let _started = Started(STARTING.replace(call_of(run, item)), ENDED.take());
    // SAFETY: the item holds a reference of its iteration.
    let iteration = unsafe { IterationRef::new(item.iteration) }.path();
    let context = AsyncContext::of(inputs, caller, iteration, CallDone::Node(outstanding));
    let started = catch_unwind(AssertUnwindSafe(|| kernel.start(context)));
    match (started, ENDED.take()) {
        (Err(payload), Some(_)) => Some(Err(crate::panics::error_of(payload))),
        (_, ended) => ended,
    }
}
