//! The graph nodes that memory is allocated for, which errors for a full memory name.

use flowmill_runtime::{AsyncKernel, Cost, Kernel, KernelContext, ScalarOp, TransferName};
use flowmill_tensor::Result;
use std::cell::RefCell;
use std::sync::Arc;

thread_local! {
    /// The node whose kernel this thread runs.
    static CURRENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// Returns the node whose kernel this thread runs. Copies from the host and constants have none.
pub(super) fn current() -> Option<Arc<str>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A kernel whose allocations are attributed to its node.
pub(crate) struct Accounted {
    node: Arc<str>,
    kernel: Arc<dyn Kernel>,
}

impl Accounted {
    pub(crate) fn new(node: &str, kernel: Arc<dyn Kernel>) -> Accounted {
        Accounted { node: node.into(), kernel }
    }
}

/// Puts back the node that was current before, also after a panic.
struct Restore(Option<Arc<str>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

impl Kernel for Accounted {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let _restore = Restore(CURRENT.replace(Some(self.node.clone())));
        self.kernel.compute(ctx)
    }

    fn cost(&self) -> Option<Cost> {
        self.kernel.cost()
    }

    fn scalar_op(&self) -> Option<ScalarOp> {
        self.kernel.scalar_op()
    }

    fn batched_inputs(&self) -> u32 {
        self.kernel.batched_inputs()
    }

    fn depends_on_iteration(&self) -> bool {
        self.kernel.depends_on_iteration()
    }

    fn algorithm(&self) -> Option<&'static str> {
        self.kernel.algorithm()
    }

    fn transfer(&self) -> Option<TransferName> {
        self.kernel.transfer()
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        self.kernel.as_async()
    }
}
