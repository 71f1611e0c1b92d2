//! `MutexV2`, `MutexLock` and `ConsumeMutexLock`: a lock that travels as a variant and ends with the last tensor that holds it.
//!
//! A call that has to wait takes no thread: whoever lets the lock go hands it to the first that waits.

use super::wait_list::{Calls, Ended, Serve, WaitList};
use crate::from_fn::from_fn;
use crate::state::resource_name;
use flowmill_runtime::{AsyncContext, AsyncKernel, Kernel, KernelContext, KernelInit, KernelRegistry};
use flowmill_tensor::{Resource, ResourceHandle, Result, Tensor, Variant, VariantValue, bail, error};
use std::any::Any;
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
        let handles = ctx.inputs().first().and_then(|tensor| tensor.as_resources().ok());
        let object = handles.and_then(|handles| handles.first()?.object().cloned());
        let found = object.and_then(|object: Arc<dyn Resource>| (object as Arc<dyn Any + Send + Sync>).downcast::<Mutex>().ok());
        match found {
            Some(mutex) => mutex.list.wait(mutex.clone(), ctx),
            None => ctx.done(Err(error!(InvalidArgument, "Input 0 is not the handle of a mutex"))),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{Call, run1};
    use flowmill_runtime::{FunctionLibraryRuntime, ResourceManager, StepContext};
    use std::sync::mpsc::{Receiver, TryRecvError, channel};

    type Outcome = Result<Vec<Option<Tensor>>>;

    fn mutex() -> Arc<Mutex> {
        Arc::default()
    }

    /// Asks for the lock in a step of its own.
    fn acquire(mutex: &Arc<Mutex>) -> (Arc<StepContext>, Receiver<Outcome>) {
        let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
        let step = Arc::new(StepContext::new(Arc::new(ResourceManager::new()), Arc::new(functions)));
        let (sender, receiver) = channel();
        let handle = Tensor::resource(ResourceHandle::new("", "m", Some(mutex.clone()), Vec::new()));
        Acquire.start(AsyncContext::new(vec![handle], step.clone(), Box::new(move |result| drop(sender.send(result)))));
        (step, receiver)
    }

    fn lock(receiver: &Receiver<Outcome>) -> Tensor {
        receiver.try_recv().unwrap().unwrap().remove(0).unwrap()
    }

    #[test]
    fn the_lock_goes_from_hand_to_hand_in_order() {
        let mutex = mutex();
        let ((_a, a), (_b, b), (_c, c)) = (acquire(&mutex), acquire(&mutex), acquire(&mutex));
        let first = lock(&a);
        let copy = first.clone();
        drop(first);
        assert_eq!(b.try_recv().unwrap_err(), TryRecvError::Empty, "a copy holds the lock");
        Call::new("ConsumeMutexLock").input(copy).run().unwrap();
        let second = lock(&b);
        assert_eq!(c.try_recv().unwrap_err(), TryRecvError::Empty);
        drop(second);
        drop(lock(&c));
        drop(lock(&acquire(&mutex).1));
    }

    #[test]
    fn a_cancelled_step_waits_no_longer_and_leaves_the_others_alone() {
        let mutex = mutex();
        let ((_a, a), (b_step, b), (_c, c)) = (acquire(&mutex), acquire(&mutex), acquire(&mutex));
        let held = lock(&a);
        b_step.cancel.cancel(error!(DeadlineExceeded, "too late"));
        let e = b.try_recv().unwrap().unwrap_err();
        assert_eq!((e.message(), e.is_derived()), ("too late", true));
        drop(held);
        drop(lock(&c));
        // One that is cancelled before it asks for a lock that is held.
        let held = lock(&acquire(&mutex).1);
        let (step, late) = acquire(&mutex);
        step.cancel.cancel(error!(Cancelled, "over"));
        assert!(late.try_recv().unwrap().is_err());
        drop(held);
        assert!(!mutex.list.lock().state.is_held);
    }

    #[test]
    fn only_a_lock_is_consumed() {
        let none = run1("OptionalNone", &[], vec![]).unwrap();
        let e = Call::new("ConsumeMutexLock").input(none).run().unwrap_err();
        assert_eq!(e.message(), "Expected input to contain a SharedLockReleaser object, but saw variant: 'tensorflow::data::Optional'");
        assert!(Call::new("MutexLock").input(Tensor::scalar(1i32)).run().is_err());
    }

    #[test]
    fn nodes_of_one_name_share_a_mutex() {
        let resources = Arc::new(ResourceManager::new());
        let handle = |name: &str| Call::new("MutexV2").attr("shared_name", name).resources(&resources).run1().unwrap();
        let same = |a: &Tensor, b: &Tensor| {
            Arc::ptr_eq(a.as_resources().unwrap()[0].object().unwrap(), b.as_resources().unwrap()[0].object().unwrap())
        };
        assert!(same(&handle("x"), &handle("x")));
        assert!(!same(&handle("x"), &handle("y")));
    }
}
