//! Kernels that call functions.

use crate::function::FunctionHandle;
use crate::kernel::{AsyncContext, AsyncKernel, Cost, Kernel, KernelContext};
use flowmill_tensor::{Result, Tensor, bail};

/// A kernel that calls a function with its inputs and returns the function's results.
pub struct FunctionCall {
    function: FunctionHandle,
    num_outputs: usize,
}

impl FunctionCall {
    /// Makes a call of `function` for a node with `num_outputs` outputs.
    pub fn new(function: FunctionHandle, num_outputs: usize) -> FunctionCall {
        FunctionCall { function, num_outputs }
    }
}

impl Kernel for FunctionCall {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "calls are asynchronous")
    }

    /// The run time of a function is not known.
    fn cost(&self) -> Option<Cost> {
        Some(Cost::Expensive)
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for FunctionCall {
    fn start(&self, ctx: AsyncContext) {
        ctx.end_with_call(0, &self.function, self.num_outputs);
    }
}

impl AsyncContext {
    /// Calls `function` with the inputs from number `first` on, and ends the kernel's call with the function's results, of which there must be
    /// `num_outputs`.
    pub fn end_with_call(mut self, first: usize, function: &FunctionHandle, num_outputs: usize) {
        let (args, caller) = (self.take_inputs(first), self.caller().clone());
        function.start(args, &caller, move |results| self.end_with_results(results, num_outputs));
    }

    /// Ends the kernel's call with a function's results, of which there must be `num_outputs`, or its error.
    pub fn end_with_results(self, results: Result<Vec<Tensor>>, num_outputs: usize) {
        let outputs = |results: Vec<Tensor>| {
            if results.len() != num_outputs {
                bail!(InvalidArgument, "The function returned {} values. Expected: {num_outputs}.", results.len());
            }
            Ok(results.into_iter().map(Some).collect())
        };
        self.done(results.and_then(outputs));
    }
}
