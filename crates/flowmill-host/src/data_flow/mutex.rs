//! `MutexV2`, `MutexLock` and `ConsumeMutexLock`: a lock whose guard is a variant, and which is released when the last tensor that holds the guard
//! is dropped.
//!
//! A call that waits does not occupy a thread: whoever releases the lock passes it to the first waiting call.

use super::wait_list::{Calls, Ended, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, Result, Tensor, TensorArithmetic, Variant, VariantValue, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MutexV2", make_mutex);
    registry.add("MutexLock", |_| Ok(Arc::new(Acquire)));
    registry.add("ConsumeMutexLock", |_| from_fn(consume));
}

/// The mutex that a handle refers to.
struct Mutex {
    list: WaitList<State>,
}

struct State {
    is_held: bool,
}

impl Default for Mutex {
    fn default() -> Mutex {
        Mutex { list: WaitList::new(State { is_held: false }) }
    }
}

impl Serve for State {
    type Request = Arc<Mutex>;
    type Next = ();

    fn next(&mut self, calls: &mut Calls<Arc<Mutex>>) -> Option<(Ended<Arc<Mutex>>, ())> {
        let first = if self.is_held { None } else { calls.remove(0) }?;
        self.is_held = true;
        Some((first, ()))
    }

    fn go_on(call: Ended<Arc<Mutex>>, (): ()) {
        let (mutex, ctx) = call.into_parts();
        ctx.done(Ok(vec![Some(Tensor::variant(Variant::new(Lock(mutex))))]));
    }
}

impl Resource for Mutex {
    fn type_name(&self) -> &'static str {
        "Mutex"
    }
}

/// The guard of a locked mutex, which releases the mutex when it is dropped.
struct Lock(Arc<Mutex>);

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.release();
    }
}

impl VariantValue for Lock {
    fn type_name(&self) -> &'static str {
        "tensorflow::Mutex::SharedLockReleaser"
    }

    fn zeros_like(&self, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(InvalidArgument, "No unary variant unary_op function found for op ZEROS_LIKE Variant type_name: {}", self.type_name())
    }

    fn add(&self, _: &Variant, _: &dyn TensorArithmetic) -> Result<Variant> {
        bail!(InvalidArgument, "No binary variant binary_op function found for op ADD Variant type_name: {}", self.type_name())
    }
}

impl Mutex {
    /// Passes the lock to the first waiting call, or unlocks the mutex if no call waits.
    fn release(&self) {
        self.list.lock().state.is_held = false;
        self.list.progress();
    }
}

/// Makes the kernel of `MutexV2`, whose output is the session's mutex under the node's name.
fn make_mutex(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (container, name) = (init.attrs.get_or("container", "")?, resource_name(init)?);
    let mutex = init.resources.lookup_or_create(container, name, || Ok(Mutex::default()))?;
    let handle = init.resources.handle(container, name, Some(mutex), Vec::new());
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// The kernel of `MutexLock`. Input: handle. Output: the guard.
struct Acquire;

impl Kernel for Acquire {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        bail!(Internal, "mutexes are asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Acquire {
    fn start(&self, ctx: AsyncContext) {
        match super::object_of::<Mutex>(ctx.inputs().first(), ctx.resources(), "a mutex") {
            Ok(mutex) => mutex.list.wait(mutex.clone(), ctx),
            Err(error) => ctx.done(Err(error)),
        }
    }
}

/// Drops the guard in input 0, which releases the lock unless another tensor holds the guard too.
fn consume(ctx: &mut KernelContext<'_>) -> Result<()> {
    let input = ctx.take(0)?;
    if input.rank() != 0 {
        bail!(InvalidArgument, "Expected input to be a scalar, saw shape: {}", input.shape());
    }
    let Some(variant) = input.as_variants()?.first() else {
        bail!(InvalidArgument, "Expected input to contain a SharedLockReleaser object, but saw nothing");
    };
    if variant.get::<Lock>().is_none() {
        bail!(InvalidArgument, "Expected input to contain a SharedLockReleaser object, but saw variant: '{}'", variant.value().type_name());
    }
    Ok(())
}
