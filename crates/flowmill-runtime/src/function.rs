//! Calls of the graph's functions from kernels such as `PartitionedCall`, `While` and `If`.

use crate::executor::Crew;
use crate::step::{DeviceStep, Step};
use flowmill_graph::Attrs;
use flowmill_tensor::{Result, Tensor, bail};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// The number of nested function calls on this thread's stack.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Returns the number of nested function calls that led to this thread's work.
pub(crate) fn depth() -> u32 {
    DEPTH.get()
}

/// Calls `f`, which continues work of another thread whose function calls are nested `depth` deep.
pub(crate) fn at_depth<R>(depth: u32, f: impl FnOnce() -> R) -> R {
    struct Reset(u32);
    impl Drop for Reset {
        fn drop(&mut self) {
            DEPTH.set(self.0);
        }
    }
    let _reset = Reset(DEPTH.replace(depth));
    f()
}

/// The functions that kernels may call. A session makes it from its graph's library.
pub struct FunctionLibraryRuntime {
    instantiate: Box<dyn Fn(&str, &Attrs) -> Result<FunctionHandle> + Send + Sync>,
}

/// A function ready to be called. Its plan is made at the first call, so that recursive functions can be instantiated.
#[derive(Clone)]
pub struct FunctionHandle(Arc<dyn CallableFunction>);

/// A callback that receives the results of a function.
pub type FunctionDone = Box<dyn FnOnce(Result<Vec<Tensor>>) + Send>;

/// The code of a function behind a [`FunctionHandle`].
pub trait CallableFunction: Send + Sync {
    /// Runs the function within the caller's step and waits for it.
    ///
    /// # Errors
    /// Returns the error of the first node of the body that fails.
    fn call(&self, args: Vec<Tensor>, step: &Arc<DeviceStep>) -> Result<Vec<Tensor>>;

    /// Returns the number of arguments that the function's signature has, if it is known.
    fn num_args(&self) -> Option<usize> {
        None
    }

    /// Returns true if [`CallableFunction::call`] with these arguments runs on this thread alone, waits for nothing and takes little time.
    ///
    /// # Errors
    /// Returns the error that compiling the function's body ends with, such as `NotFound` for an op without a kernel.
    fn is_direct(&self, _args: &[Tensor], _step: &Arc<DeviceStep>) -> Result<bool> {
        Ok(true)
    }

    /// Starts the function within the caller's step and returns. `done` is called with the results on any thread of the step. A function that is not
    /// direct blocks no thread while it waits.
    fn start(&self, args: Vec<Tensor>, caller: &Caller, done: FunctionDone) {
        done(self.call(args, caller.device_step()));
    }
}

/// The context in which a kernel calls functions: the step, its threads, and the depth of nested calls.
#[derive(Clone)]
pub struct Caller {
    step: Arc<DeviceStep>,
    /// The threads of the step; `None` outside of a plan.
    crew: Option<Arc<Crew>>,
    depth: u32,
}

impl Caller {
    pub(crate) fn new(step: Arc<DeviceStep>, crew: Option<Arc<Crew>>, depth: u32) -> Caller {
        Caller { step, crew, depth }
    }

    /// Returns the step.
    pub fn step(&self) -> &Arc<Step> {
        &self.step.step
    }

    /// Returns the step on the kernel's device.
    pub fn device_step(&self) -> &Arc<DeviceStep> {
        &self.step
    }

    pub(crate) fn crew(&self) -> Option<&Arc<Crew>> {
        self.crew.as_ref()
    }

    /// Calls `f` on this thread with the depth of nested calls one greater. `f` runs a function that the caller calls.
    pub fn nested<R>(&self, f: impl FnOnce() -> R) -> R {
        at_depth(self.depth + 1, f)
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Returns true if the caller is in a plan, whose other work may be waiting for this thread.
    pub fn has_others(&self) -> bool {
        self.crew.is_some()
    }

    /// Calls `go_on` on any thread of the step after the work that is in the step's queue now. A kernel that runs for long uses this to share its
    /// thread. Outside of a plan there is no queue, and `go_on` is called at once.
    pub fn yield_now(&self, go_on: impl FnOnce() + Send + 'static) {
        match &self.crew {
            Some(crew) => crew.yield_now(Box::new(go_on)),
            None => go_on(),
        }
    }
}

impl FunctionLibraryRuntime {
    /// The greatest depth of nested calls. A deeper call returns `ResourceExhausted` instead of overflowing the stack.
    pub const MAX_DEPTH: u32 = 200;

    /// Makes a library that instantiates functions with `instantiate(name, attrs)`.
    pub fn new(instantiate: impl Fn(&str, &Attrs) -> Result<FunctionHandle> + Send + Sync + 'static) -> FunctionLibraryRuntime {
        FunctionLibraryRuntime { instantiate: Box::new(instantiate) }
    }

    /// Instantiates the function `name` with these attributes.
    ///
    /// # Errors
    /// Returns `NotFound` if there is no such function.
    pub fn instantiate(&self, name: &str, attrs: &Attrs) -> Result<FunctionHandle> {
        (self.instantiate)(name, attrs)
    }
}

impl FunctionHandle {
    /// Wraps a function.
    pub fn new(function: Arc<dyn CallableFunction>) -> FunctionHandle {
        FunctionHandle(function)
    }

    /// Returns the number of arguments that the function's signature has, if it is known.
    pub fn num_args(&self) -> Option<usize> {
        self.0.num_args()
    }

    /// Calls the function within the caller's step and waits for it. A kernel that uses this has [`Cost::Blocking`](crate::Cost::Blocking). An
    /// asynchronous kernel uses [`FunctionHandle::start`] instead, which blocks no thread.
    ///
    /// # Errors
    /// Returns `ResourceExhausted` if calls nest deeper than [`FunctionLibraryRuntime::MAX_DEPTH`], and the errors of the function's body.
    pub fn call(&self, args: Vec<Tensor>, step: &Arc<DeviceStep>) -> Result<Vec<Tensor>> {
        self.call_at(args, step, DEPTH.get())
    }

    fn call_at(&self, args: Vec<Tensor>, step: &Arc<DeviceStep>, depth: u32) -> Result<Vec<Tensor>> {
        check_depth(depth)?;
        at_depth(depth + 1, || self.0.call(args, step))
    }

    /// Starts the function within the caller's step and returns. `done` is called once with the results, on any thread of the step.
    ///
    /// `done` may be called before this returns. A caller that calls many functions one after the other tries [`FunctionHandle::try_call`] first, so
    /// that its stack does not grow.
    pub fn start(&self, args: Vec<Tensor>, caller: &Caller, done: impl FnOnce(Result<Vec<Tensor>>) + Send + 'static) {
        match check_depth(caller.depth) {
            Ok(()) => self.0.start(args, caller, Box::new(done)),
            Err(e) => done(Err(e)),
        }
    }

    /// Calls the function if it waits for nothing and takes little time, and returns its results or its error.
    ///
    /// # Errors
    /// Returns the arguments, for [`FunctionHandle::start`], if the function may wait or take long.
    pub fn try_call(&self, args: Vec<Tensor>, caller: &Caller) -> std::result::Result<Result<Vec<Tensor>>, Vec<Tensor>> {
        match self.0.is_direct(&args, &caller.step) {
            Ok(true) => Ok(self.call_at(args, &caller.step, caller.depth)),
            Ok(false) => Err(args),
            Err(e) => Ok(Err(e)),
        }
    }
}

fn check_depth(depth: u32) -> Result<()> {
    if depth >= FunctionLibraryRuntime::MAX_DEPTH {
        bail!(ResourceExhausted, "function calls nest deeper than {}", FunctionLibraryRuntime::MAX_DEPTH);
    }
    Ok(())
}
