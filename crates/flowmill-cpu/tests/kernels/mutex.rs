use crate::testing::{Call, run1};
use flowmill_runtime::{AsyncContext, DeviceStep, FunctionLibraryRuntime, ResourceManager};
use flowmill_tensor::{Result, Tensor, bail, error};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

type Outcome = Result<Vec<Option<Tensor>>>;

/// Returns the handle of a mutex.
fn mutex() -> Tensor {
    run1("MutexV2", &[], vec![]).unwrap()
}

/// Requests the lock in a step of its own.
fn acquire(mutex: &Tensor) -> (Arc<DeviceStep>, Receiver<Outcome>) {
    let functions = FunctionLibraryRuntime::new(|name, _| bail!(NotFound, "Function {name} is not defined."));
    let step = Arc::new(DeviceStep::on_host(Arc::new(ResourceManager::new()), Arc::new(functions)));
    let (sender, receiver) = channel();
    let kernel = Call::new("MutexLock").kernel().unwrap();
    let done = Box::new(move |result| drop(sender.send(result)));
    kernel.as_async().unwrap().start(AsyncContext::new(vec![mutex.clone()], step.clone(), done));
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
    b_step.step.cancel.cancel(error!(DeadlineExceeded, "too late"));
    let e = b.try_recv().unwrap().unwrap_err();
    assert_eq!((e.message(), e.is_derived()), ("too late", true));
    drop(held);
    drop(lock(&c));
    // This step is cancelled before it requests a lock that is held.
    let held = lock(&acquire(&mutex).1);
    let (step, late) = acquire(&mutex);
    step.step.cancel.cancel(error!(Cancelled, "over"));
    assert!(late.try_recv().unwrap().is_err());
    drop(held);
    // The lock is free now.
    drop(lock(&acquire(&mutex).1));
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
