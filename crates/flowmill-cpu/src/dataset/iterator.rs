//! Iterators as resources of a session, and the calls that wait for their elements.

use super::context::IteratorContext;
use super::element::{DatasetRef, Element, Elements, Signature};
use crate::data_flow::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use flowmill_runtime::{AsyncContext, StepContext};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Resource, Result, bail, error};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Turns what the iterator returned into what the call's kernel returns.
pub(super) type Convert = Box<dyn FnOnce(Option<Element>) -> Outcome + Send>;

/// A place in a dataset, which all steps of a session share.
pub(super) struct IteratorResource {
    signature: Signature,
    current: Mutex<Option<Arc<Current>>>,
    /// Held while a dataset factory runs, so that it runs once.
    pub(super) making: Mutex<()>,
}

/// One iteration: from one initialisation to the next.
struct Current {
    ctx: Arc<IteratorContext>,
    calls: WaitList<Served>,
    elements: Mutex<Elements>,
}

/// The requests and answers that calls wait for.
struct Served {
    /// The elements that arrived for calls cancelled before.
    ready: VecDeque<Result<Option<Element>>>,
    /// The process in which a job works on the next element.
    server: Option<u32>,
}

impl Serve for Served {
    type Request = Option<Convert>;
    type Next = Result<Option<Element>>;

    fn next(&mut self, calls: &mut Calls<Option<Convert>>) -> Option<(Ended<Option<Convert>>, Self::Next)> {
        if !calls.any(|_| true) {
            return None;
        }
        let element = self.ready.pop_front()?;
        calls.remove(0).map(|call| (call, element))
    }

    fn go_on(call: Ended<Option<Convert>>, element: Self::Next) {
        let (convert, ctx) = call.into_parts();
        let Some(convert) = convert else { return };
        ctx.done(element.and_then(convert));
    }
}

impl Resource for IteratorResource {
    fn type_name(&self) -> &'static str {
        "tensorflow::data::IteratorResource"
    }
}

impl IteratorResource {
    /// An iterator over elements of this signature that is not initialised.
    pub(super) fn new(signature: Signature) -> IteratorResource {
        IteratorResource { signature, current: Mutex::new(None), making: Mutex::new(()) }
    }

    /// The signature of its elements.
    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns true if a dataset was set.
    pub(super) fn is_initialized(&self) -> bool {
        self.current.lock().is_some()
    }

    /// Goes to the beginning of `dataset`.
    ///
    /// # Errors
    /// `InvalidArgument` if the dataset's elements are of another signature; what the dataset's iterator gives.
    pub(super) fn set(&self, dataset: &DatasetRef, step: &StepContext) -> Result<()> {
        self.signature.check(&dataset.signature)?;
        let ctx = IteratorContext::new(step);
        let elements = Mutex::new(dataset.elements(&ctx)?);
        let calls = WaitList::new(Served { ready: VecDeque::new(), server: None });
        let old = self.current.lock().replace(Arc::new(Current { ctx, calls, elements }));
        if let Some(old) = old.filter(|old| !old.calls.lock().calls.any(|_| true)) {
            old.ctx.close();
        }
        Ok(())
    }

    /// Ends the iteration. The iterator is not initialised any more.
    pub(super) fn clear(&self) {
        if let Some(old) = self.current.lock().take() {
            old.ctx.close();
        }
    }

    /// Ends `call` with the next element, once there is one.
    pub(super) fn get_next(&self, call: AsyncContext, convert: Convert) {
        let current = self.current.lock().clone();
        let Some(current) = current else {
            let e = error!(
                FailedPrecondition,
                "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this iterator before getting the next element."
            );
            return call.done(Err(e));
        };
        if let Err(e) = current.check_server() {
            return call.done(Err(e));
        }
        current.calls.wait(Some(convert), call);
        current.pump();
    }
}

impl Drop for IteratorResource {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.ctx.close();
    }
}

impl Current {
    /// Checks that the job that works on the next element, if any, is in this process.
    ///
    /// # Errors
    /// `FailedPrecondition` if this process was forked while a thread made an element, which this process does not have.
    fn check_server(&self) -> Result<()> {
        match self.calls.lock().state.server {
            Some(process) if process != std::process::id() => self.ctx.threads.check_process(),
            _ => Ok(()),
        }
    }

    /// Starts a job if calls wait and none runs.
    fn pump(self: &Arc<Self>) {
        let mut inner = self.calls.lock();
        if inner.state.server.is_some() || !inner.wants_element() {
            return;
        }
        inner.state.server = Some(std::process::id());
        drop(inner);
        if self.ctx.threads.check_process().is_err() {
            // In a process that was forked, what works without threads goes on.
            return self.serve();
        }
        let this = self.clone();
        if let Err(e) = self.ctx.threads.spawn(move || this.serve()) {
            let mut inner = self.calls.lock();
            inner.state.server = None;
            inner.state.ready.push_back(Err(e));
            drop(inner);
            self.calls.progress();
        }
    }

    /// Makes elements as long as calls wait.
    fn serve(&self) {
        loop {
            let element = catch_unwind(AssertUnwindSafe(|| self.elements.lock().next()));
            let element = element.unwrap_or_else(|_| Err(error!(Internal, "an iterator panicked")));
            let mut inner = self.calls.lock();
            inner.state.ready.push_back(element);
            // Under the lock that the element arrives with: once its call has ended, the process may fork, and its child has no server.
            let goes_on = inner.wants_element();
            if !goes_on {
                inner.state.server = None;
            }
            drop(inner);
            self.calls.progress();
            if !goes_on {
                return;
            }
        }
    }
}

impl Inner<Served> {
    /// Returns true if more calls wait than elements are ready.
    fn wants_element(&self) -> bool {
        self.calls.len() > self.state.ready.len()
    }
}

/// The outputs of a kernel for an element that must be there.
///
/// # Errors
/// `OutOfRange` at the end; `InvalidArgument` if the element is of another signature.
pub(super) fn element_outputs(signature: &Signature, element: Option<Element>) -> Outcome {
    let Some(element) = element else { bail!(OutOfRange, "End of sequence") };
    signature.check_element(&element)?;
    Ok(element.into_iter().map(Some).collect())
}
