//! Calling the graph's functions from kernels: `PartitionedCall`, `While`, `If` and their kin.

use crate::step::StepContext;
use flowmill_graph::Attrs;
use flowmill_tensor::{Result, Tensor, bail};
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    /// How deep the calls on this thread's stack nest.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// How deep the calls nest that led to this thread's work.
pub(crate) fn depth() -> u32 {
    DEPTH.get()
}

/// Calls `f`, which continues work of another thread where calls nest to `depth`.
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

/// The functions that kernels may call. Made by a session from its graph's library.
pub struct FunctionLibraryRuntime {
    instantiate: Box<dyn Fn(&str, &Attrs) -> Result<FunctionHandle> + Send + Sync>,
}

/// A function ready to be called; its plan is made at the first call, so that recursive functions can be instantiated.
#[derive(Clone)]
pub struct FunctionHandle(Arc<dyn CallableFunction>);

/// What stands behind a [`FunctionHandle`].
pub trait CallableFunction: Send + Sync {
    /// Runs the function within the caller's step.
    ///
    /// # Errors
    /// What its body gives.
    fn call(&self, args: Vec<Tensor>, step: &Arc<StepContext>) -> Result<Vec<Tensor>>;
}

impl FunctionLibraryRuntime {
    /// The deepest nesting of calls; a deeper one is `ResourceExhausted`, not a stack overflow.
    pub const MAX_DEPTH: u32 = 200;

    /// A library that instantiates by calling `instantiate(name, attrs)`.
    pub fn new(instantiate: impl Fn(&str, &Attrs) -> Result<FunctionHandle> + Send + Sync + 'static) -> FunctionLibraryRuntime {
        FunctionLibraryRuntime { instantiate: Box::new(instantiate) }
    }

    /// The function `name` with these attributes.
    ///
    /// # Errors
    /// `NotFound` where there is no such function.
    pub fn instantiate(&self, name: &str, attrs: &Attrs) -> Result<FunctionHandle> {
        (self.instantiate)(name, attrs)
    }
}

impl FunctionHandle {
    /// Wraps a function.
    pub fn new(function: Arc<dyn CallableFunction>) -> FunctionHandle {
        FunctionHandle(function)
    }

    /// Calls it within the caller's step, on this thread (its kernels may use others).
    ///
    /// # Errors
    /// What its body gives; `ResourceExhausted` where calls nest deeper than [`FunctionLibraryRuntime::MAX_DEPTH`].
    pub fn call(&self, args: Vec<Tensor>, step: &Arc<StepContext>) -> Result<Vec<Tensor>> {
        let depth = DEPTH.get();
        if depth >= FunctionLibraryRuntime::MAX_DEPTH {
            bail!(ResourceExhausted, "function calls nest deeper than {}", FunctionLibraryRuntime::MAX_DEPTH);
        }
        at_depth(depth + 1, || self.0.call(args, step))
    }
}
