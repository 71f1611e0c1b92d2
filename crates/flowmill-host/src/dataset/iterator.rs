//! Iterators as resources of a session, and the calls that wait for their elements.

use super::context::IteratorContext;
use super::element::{DatasetRef, Element, Elements, Signature};
use super::seeds::SeedLog;
use crate::data_flow::wait_list::{Calls, Ended, Inner, Outcome, Serve, WaitList};
use flowmill_runtime::{AsyncContext, DeviceStep};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Resource, Result, bail, error};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A function that converts the iterator's result into the outcome of the call's kernel.
pub(super) type Convert = Box<dyn FnOnce(Option<Element>) -> Outcome + Send>;

/// An iterator over a dataset that all steps of a session share.
pub(super) struct IteratorResource {
    signature: Signature,
    current: Mutex<Option<Arc<Current>>>,
    /// A lock that is held while a dataset factory runs, so that it runs once.
    pub(super) making: Mutex<()>,
}

/// One iteration, which lasts from one initialisation to the next.
struct Current {
    ctx: Arc<IteratorContext>,
    calls: WaitList<Served>,
    dataset: DatasetRef,
    elements: Mutex<Elements>,
}

/// The elements for waiting calls, and the state of the job that computes them.
struct Served {
    /// The elements that were computed for calls that were cancelled meanwhile.
    ready: VecDeque<Result<Option<Element>>>,
    /// The id of the process in which a job computes the next element, if one does.
    server: Option<u32>,
    /// The number of elements that were computed or failed.
    num_made: i64,
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
    /// Returns an uninitialised iterator over elements of this signature.
    pub(super) fn new(signature: Signature) -> IteratorResource {
        IteratorResource { signature, current: Mutex::new(None), making: Mutex::new(()) }
    }

    /// Returns the signature of the iterator's elements.
    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Returns true if a dataset was set.
    pub(super) fn is_initialized(&self) -> bool {
        self.current.lock().is_some()
    }

    /// Moves the iterator to the beginning of `dataset`.
    ///
    /// # Errors
    /// Returns `InvalidArgument` if the dataset's elements have another signature; any error of making the dataset's iterator.
    pub(super) fn set(&self, dataset: &DatasetRef, step: &DeviceStep) -> Result<()> {
        self.signature.check(&dataset.signature)?;
        let ctx = IteratorContext::new(step);
        let elements = dataset.elements(&ctx)?;
        self.replace(Current::new(ctx, dataset.clone(), elements, 0));
        Ok(())
    }

    fn replace(&self, current: Current) {
        let old = self.current.lock().replace(Arc::new(current));
        if let Some(old) = old.filter(|old| !old.calls.lock().calls.any(|_| true)) {
            old.ctx.close();
        }
    }

    /// Returns the iterator's position in the dataset: the number of elements that were taken, then the seeds that were drawn, as
    /// [`SeedLog::values`] returns them.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` if no dataset was set.
    pub(super) fn place(&self) -> Result<Vec<i64>> {
        let Some(current) = self.current.lock().clone() else {
            bail!(FailedPrecondition, "Save() failed because the iterator has not been initialized. Run its initializer before saving it.")
        };
        let taken = {
            let inner = current.calls.lock();
            inner.state.num_made - inner.state.ready.len() as i64
        };
        Ok([vec![taken], current.ctx.seeds.values()].concat())
    }

    /// Moves the iterator to a position in its dataset: it starts again with the seeds that were drawn before, and skips the elements that were
    /// taken before.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` if no dataset was set; `DataLoss` if `place` is not the result of [`IteratorResource::place`]; `Cancelled`.
    pub(super) fn restore(&self, place: &[i64], step: &DeviceStep) -> Result<()> {
        let Some((&taken @ 0.., seeds)) = place.split_first() else {
            bail!(DataLoss, "the position in the saved state of an iterator is invalid")
        };
        let Some(old) = self.current.lock().clone() else {
            bail!(
                FailedPrecondition,
                "Restore() failed because the iterator has not been initialized. Run its initializer before restoring it."
            )
        };
        let dataset = old.dataset.clone();
        // Seeds that this session drew after the position was saved are drawn again.
        let drawn = old.ctx.seeds.values();
        let seeds = if drawn.starts_with(seeds) { &drawn } else { seeds };
        // Release what the previous iteration holds, such as a cache's files, because it is needed again.
        drop(old);
        let ctx = IteratorContext::with_seeds(step, SeedLog::of_values(seeds)?);
        let mut elements = dataset.elements(&ctx)?;
        self.clear();
        let closing = ctx.clone();
        let _on_cancel = step.step.cancel.on_cancel(move |_| closing.close());
        for _ in 0..taken {
            let element = elements.next();
            ctx.cancel.check()?;
            if let Ok(None) = element {
                break;
            }
        }
        self.replace(Current::new(ctx, dataset, elements, taken));
        Ok(())
    }

    /// Ends the iteration. The iterator is then uninitialised.
    pub(super) fn clear(&self) {
        if let Some(old) = self.current.lock().take() {
            old.ctx.close();
        }
    }

    /// Ends `call` with the next element once it is available.
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
    /// Returns an iteration from which `num_made` elements were taken.
    fn new(ctx: Arc<IteratorContext>, dataset: DatasetRef, elements: Elements, num_made: i64) -> Current {
        let calls = WaitList::new(Served { ready: VecDeque::new(), server: None, num_made });
        Current { ctx, calls, dataset, elements: Mutex::new(elements) }
    }

    /// Checks that the job that computes the next element, if any, is in this process.
    ///
    /// # Errors
    /// Returns `FailedPrecondition` if this process was forked while a thread computed an element: this process does not have that thread.
    fn check_server(&self) -> Result<()> {
        match self.calls.lock().state.server {
            Some(process) if process != std::process::id() => self.ctx.threads.check_process(),
            _ => Ok(()),
        }
    }

    /// Starts a job if calls wait and no job runs.
    fn pump(self: &Arc<Self>) {
        let mut inner = self.calls.lock();
        if inner.state.server.is_some() || !inner.wants_element() {
            return;
        }
        inner.state.server = Some(std::process::id());
        drop(inner);
        if self.ctx.threads.check_process().is_err() {
            // A forked process continues without threads as far as possible.
            return self.serve();
        }
        let this = self.clone();
        if let Err(e) = self.ctx.threads.spawn(move || this.serve()) {
            let mut inner = self.calls.lock();
            inner.state.server = None;
            inner.state.num_made += 1;
            inner.state.ready.push_back(Err(e));
            drop(inner);
            self.calls.progress();
        }
    }

    /// Computes elements while calls wait.
    fn serve(&self) {
        loop {
            let element = catch_unwind(AssertUnwindSafe(|| self.elements.lock().next()));
            let element = element.unwrap_or_else(|_| Err(error!(Internal, "an iterator panicked")));
            let mut inner = self.calls.lock();
            inner.state.num_made += 1;
            inner.state.ready.push_back(element);
            // This is decided under the lock under which the element is stored: once its call has ended, the process may fork, and its child has no
            // such job.
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
    /// Returns true if more calls wait than elements are available.
    fn wants_element(&self) -> bool {
        self.calls.len() > self.state.ready.len()
    }
}

/// Returns the outputs of a kernel that requires an element.
///
/// # Errors
/// Returns `OutOfRange` at the end; `InvalidArgument` if the element has another signature.
pub(super) fn element_outputs(signature: &Signature, element: Option<Element>) -> Outcome {
    let Some(element) = element else { bail!(OutOfRange, "End of sequence") };
    signature.check_element(&element)?;
    Ok(element.into_iter().map(Some).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::dataset::source::of_elements;
    use flowmill_runtime::FunctionLibraryRuntime;
    use flowmill_tensor::{DType, PartialShape, Tensor};
    use std::sync::mpsc;

    #[test]
    fn nobody_serves_when_the_last_call_ends() {
        let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
        let step = Arc::new(DeviceStep::on_host(Arc::default(), Arc::new(functions)));
        let signature = Signature { types: vec![DType::I64], shapes: vec![PartialShape::scalar()] };
        let elements = (0..3i64).map(|k| vec![Tensor::scalar(k)]).collect();
        let iterator = Arc::new(IteratorResource::new(signature.clone()));
        iterator.set(&Arc::new(of_elements(signature, elements)), &step).unwrap();
        for _ in 0..3 {
            let (send, receive) = mpsc::channel();
            let served = iterator.clone();
            // The code that waits for the call may fork as soon as the call has ended.
            let done = move |outcome: Outcome| {
                let current = served.current.lock().clone().unwrap();
                let server = current.calls.lock().state.server;
                send.send((outcome.is_ok(), server)).unwrap();
            };
            let call = AsyncContext::new(Vec::new(), step.clone(), Box::new(done));
            iterator.get_next(call, Box::new(|element| Ok(element.into_iter().flatten().map(Some).collect())));
            assert_eq!(receive.recv().unwrap(), (true, None));
        }
        assert_eq!(iterator.place().unwrap(), [3]);
    }
}
