//! Calls of asynchronous kernels.

use super::run::{Item, Run};
use crate::kernel::{AsyncContext, AsyncKernel};
use flowmill_tensor::{Result, Tensor, error};
use std::sync::Arc;

/// What an asynchronous kernel gave.
pub(super) type Completed = Result<Vec<Option<Tensor>>>;

/// The end of a call that has not come yet. However the kernel lets go of it, the run hears of it once.
struct Outstanding {
    run: Arc<Run>,
    item: Item,
    completed: bool,
}

impl Outstanding {
    fn complete(mut self, result: Completed) {
        self.completed = true;
        self.run.complete(self.item, result);
    }
}

impl Drop for Outstanding {
    fn drop(&mut self) {
        if !self.completed {
            self.run.complete(self.item, Err(error!(Internal, "an asynchronous kernel ended without a result")));
        }
    }
}

/// Starts the kernel. The item's reference and one count among the living belong to the call from now on.
pub(super) fn start(run: &Arc<Run>, item: Item, kernel: &dyn AsyncKernel, inputs: Vec<Tensor>) {
    let outstanding = Outstanding { run: run.clone(), item, completed: false };
    kernel.start(AsyncContext::new(inputs, run.step.clone(), Box::new(move |result| outstanding.complete(result))));
}
