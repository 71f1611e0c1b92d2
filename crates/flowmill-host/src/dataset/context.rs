//! The context in which iterators run: the session's resources, a cancellation of their own, threads; and the functions that they call.

use super::args::Args;
use super::element::Element;
use super::seeds::SeedLog;
use super::threads::Threads;
use flowmill_graph::Attrs;
use flowmill_proto::NameAttrList;
use flowmill_runtime::{
    CancelToken, Device, DeviceStep, FunctionHandle, FunctionLibraryRuntime, KernelContext, KernelInit, ResourceManager, Step, intra_op,
};
use flowmill_tensor::sync::{Condvar, Mutex};
use flowmill_tensor::{DType, Result, Tensor, bail, error};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The context of one iterator and of the iterators that it is made of.
pub(super) struct IteratorContext {
    /// The session's resources.
    pub(super) resources: Arc<ResourceManager>,
    /// The cancellation that ends the iterator's threads and calls.
    pub(super) cancel: CancelToken,
    /// Threads for work ahead of the consumer.
    pub(super) threads: Threads,
    /// The device that functions of elements run on.
    pub(super) device: Arc<dyn Device>,
    /// The seeds that were drawn so far.
    pub(super) seeds: SeedLog,
}

impl IteratorContext {
    /// Returns a new context in the session of `step`.
    pub(super) fn new(step: &DeviceStep) -> Arc<IteratorContext> {
        IteratorContext::with_seeds(step, SeedLog::default())
    }

    /// Like [`IteratorContext::new`], with seeds that are drawn before new ones.
    pub(super) fn with_seeds(step: &DeviceStep, seeds: SeedLog) -> Arc<IteratorContext> {
        let (device, resources) = (step.device.clone(), step.resources.clone());
        Arc::new(IteratorContext { device, resources, cancel: CancelToken::new(), threads: Threads::new(), seeds })
    }

    /// Waits for `time`, or until the iterator is closed.
    ///
    /// # Errors
    /// Returns `Cancelled` if the iterator is closed.
    pub(super) fn sleep(&self, time: Duration) -> Result<()> {
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let opened = gate.clone();
        let _on_close = self.cancel.on_cancel(move |_| {
            *opened.0.lock() = true;
            opened.1.notify_all();
        });
        let until = Instant::now() + time;
        let (mut is_closed, mut is_over) = (gate.0.lock(), time.is_zero());
        while !*is_closed && !is_over {
            (is_closed, is_over) = gate.1.wait_for(is_closed, until.saturating_duration_since(Instant::now()));
        }
        drop(is_closed);
        self.cancel.check()
    }

    /// Cancels everything that runs in this context. It ends soon afterwards.
    pub(super) fn close(&self) {
        self.cancel.cancel(error!(Cancelled, "Iterator was cancelled"));
        self.threads.close();
    }
}

/// A function that a dataset calls, with the tensors that it captured.
pub(super) struct Function {
    handle: FunctionHandle,
    /// The function's library, held so that it lives as long as the function.
    library: Arc<FunctionLibraryRuntime>,
    captured: Vec<Tensor>,
}

impl Function {
    /// Calls the function in a step of its own, on this thread.
    ///
    /// # Errors
    /// Returns the error of the body, or `Cancelled` once the iterator is closed.
    pub(super) fn call(&self, ctx: &IteratorContext, args: Vec<Tensor>) -> Result<Element> {
        let cancel = CancelToken::new();
        let their_cancel = cancel.clone();
        // An error of the body ends its step, but not the iterator.
        let _on_close = ctx.cancel.on_cancel(move |reason| their_cancel.cancel(reason.clone()));
        self.run(ctx, cancel, args)
    }

    /// Like [`Function::call`], for a call that is made even if the iterator is closed.
    ///
    /// # Errors
    /// Returns the error of the body.
    pub(super) fn call_to_end(&self, ctx: &IteratorContext, args: Vec<Tensor>) -> Result<Element> {
        self.run(ctx, CancelToken::new(), args)
    }

    fn run(&self, ctx: &IteratorContext, cancel: CancelToken, mut args: Vec<Tensor>) -> Result<Element> {
        args.extend(self.captured.iter().cloned());
        let step = DeviceStep {
            step: Arc::new(Step::with_cancel(cancel)),
            device: ctx.device.clone(),
            resources: ctx.resources.clone(),
            functions: self.library.clone(),
        };
        intra_op::alone(|| self.handle.call(args, &Arc::new(step)))
    }

    /// Calls a predicate.
    ///
    /// # Errors
    /// Returns an error of [`Function::call`], or `InvalidArgument` with `message` if the result is not one truth value.
    pub(super) fn test(&self, ctx: &IteratorContext, args: Vec<Tensor>, message: &str) -> Result<bool> {
        match &self.call(ctx, args)?[..] {
            [result] if result.dtype() == DType::Bool && result.rank() == 0 => result.to_scalar(),
            _ => bail!(InvalidArgument, "{message}"),
        }
    }

    /// Calls a function that returns one integer.
    ///
    /// # Errors
    /// Returns an error of [`Function::call`], or `InvalidArgument` with `message` if the result is something else.
    pub(super) fn integer(&self, ctx: &IteratorContext, args: Vec<Tensor>, message: &str) -> Result<i64> {
        match &self.call(ctx, args)?[..] {
            [result] if result.dtype() == DType::I64 && result.num_elements() == 1 => result.to_i64(),
            _ => bail!(InvalidArgument, "{message}"),
        }
    }
}

/// A function that a node's attribute names, before a step has computed its captured inputs.
#[derive(Clone)]
pub(super) struct FunctionAttr {
    handle: FunctionHandle,
    library: Arc<FunctionLibraryRuntime>,
    captured: Range<usize>,
}

impl FunctionAttr {
    /// Reads attribute `attr`. Argument `captured` of the op has the function's captured inputs.
    ///
    /// # Errors
    /// Returns `NotFound` if the library has no such function.
    pub(super) fn new(init: &KernelInit<'_>, attr: &str, captured: &str) -> Result<FunctionAttr> {
        let function: &NameAttrList = init.attrs.get(attr)?;
        let handle = init.functions.instantiate(&function.name, &Attrs::from(function.attr.clone()))?;
        Ok(FunctionAttr { handle, library: init.functions.clone(), captured: Args::of(init)?.range(captured)? })
    }

    /// Returns the function with the captured inputs of a call.
    ///
    /// # Errors
    /// Returns `Internal` if there are fewer inputs.
    pub(super) fn capture(&self, ctx: &KernelContext<'_>) -> Result<Arc<Function>> {
        let captured = self.captured.clone().map(|i| ctx.input(i)?.clone().into_owned()).collect::<Result<_>>()?;
        Ok(self.with(captured))
    }

    /// Returns the function with its captured inputs, which are among `inputs`.
    ///
    /// # Errors
    /// Returns `Internal` if there are fewer inputs.
    pub(super) fn capture_of(&self, inputs: &[Tensor]) -> Result<Arc<Function>> {
        let captured = inputs.get(self.captured.clone()).ok_or_else(|| error!(Internal, "captured inputs are missing"))?;
        Ok(self.with(captured.to_vec()))
    }

    fn with(&self, captured: Vec<Tensor>) -> Arc<Function> {
        Arc::new(Function { handle: self.handle.clone(), library: self.library.clone(), captured })
    }
}
