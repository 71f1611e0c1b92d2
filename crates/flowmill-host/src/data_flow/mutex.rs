//! `MutexV2`, `MutexLock` and `ConsumeMutexLock`: a lock that travels as a variant and ends with the last tensor that holds it.
//!
//! A call that has to wait takes no thread: whoever lets the lock go hands it to the first that waits.

use super::wait_list::{Calls, Ended, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, ResourceHandle, Result, Tensor, Variant, VariantValue, bail};
use std::sync::Arc;

pub(super) fn register(registry: &mut KernelRegistry) {
    registry.add("MutexV2", make_mutex);
    registry.add("MutexLock", |_| Ok(Arc::new(Acquire)));
    registry.add("ConsumeMutexLock", |_| from_fn(consume));
}

/// What the handle stands for.
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

/// The lock: whoever drops it lets the mutex go.
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

    fn zeros_like(&self) -> Result<Variant> {
        bail!(InvalidArgument, "No unary variant unary_op function found for op ZEROS_LIKE Variant type_name: {}", self.type_name())
    }

    fn add(&self, _: &Variant) -> Result<Variant> {
        bail!(InvalidArgument, "No binary variant binary_op function found for op ADD Variant type_name: {}", self.type_name())
    }

    fn owned(&self) -> Result<Option<Variant>> {
        Ok(None)
    }
}

impl Mutex {
    /// Passes the lock on to the first that waits, and frees it where nobody does.
    fn release(&self) {
        self.list.lock().state.is_held = false;
        self.list.progress();
    }
}

/// The session's mutex of the node's name.
fn make_mutex(init: &KernelInit<'_>) -> Result<Arc<dyn Kernel>> {
    let (container, name) = (init.attrs.get_or("container", "")?, resource_name(init)?);
    let mutex = init.resources.lookup_or_create(container, name, || Ok(Mutex::default()))?;
    let handle = Tensor::resource(ResourceHandle::new(container, name, Some(mutex), Vec::new()));
    from_fn(move |ctx| {
        ctx.set_output(0, handle.clone());
        Ok(())
    })
}

/// Input: handle. Output: the lock.
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
        match super::object_of::<Mutex>(ctx.inputs().first(), "a mutex") {
            Ok(mutex) => mutex.list.wait(mutex.clone(), ctx),
            Err(error) => ctx.done(Err(error)),
        }
    }
}

/// Lets go of the lock in input 0, unless somebody else holds it too.
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
