//! Kernels that wait for one another, functions that wait within a step, and steps that wait for a thread of the pool.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{AsyncContext, CallableFunction, Cost, DeviceStep, FunctionHandle, Kernel, KernelContext, Plan, Poll, Step};
use flowmill_tensor::{Code, Error, Result, Tensor};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ROOT: FrameId = FrameId::ROOT;

fn blocking(f: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Arc<dyn Kernel> {
    Arc::new(Fun(f, Cost::Blocking))
}

/// A kernel that waits until `flag` is set.
fn wait_for(flag: &Arc<AtomicBool>) -> Arc<dyn Kernel> {
    let flag = flag.clone();
    blocking(move |ctx| {
        eventually(|| flag.load(Ordering::SeqCst));
        ctx.set_output(0, int(1));
        Ok(())
    })
}

/// A kernel that sets `flag`.
fn set(flag: &Arc<AtomicBool>, cost: Cost) -> Arc<dyn Kernel> {
    let flag = flag.clone();
    let f = move |ctx: &mut KernelContext<'_>| {
        flag.store(true, Ordering::SeqCst);
        ctx.set_output(0, int(1));
        Ok(())
    };
    Arc::new(Fun(f, cost))
}

#[test]
fn a_kernel_waits_for_a_node_that_was_ready_with_it() {
    for waits_first in [true, false] {
        for options in all_options() {
            for _ in 0..20 {
                let flag = Arc::default();
                let mut kernels = vec![wait_for(&flag), set(&flag, Cost::Cheap)];
                if !waits_first {
                    kernels.reverse();
                }
                let mut b = Builder::new();
                let x = b.arg();
                let nodes: Vec<_> = kernels.into_iter().map(|k| out(b.node("Node", NodeKind::Op, ROOT, &[x], 1, Some(k)))).collect();
                let sum = b.op(ROOT, &nodes, pure(|x| x.iter().sum()));
                b.ret(out(sum));
                assert_eq!(run_with(&b.plan(), &[0], options).unwrap(), [Some(2)]);
            }
        }
    }
}

#[test]
fn a_kernel_that_was_fast_is_still_not_called_before_what_it_waits_for() {
    let flag: Arc<AtomicBool> = Arc::new(AtomicBool::new(true));
    let mut b = Builder::new();
    let x = b.arg();
    let nodes = [wait_for(&flag), set(&flag, Cost::Cheap)].map(|k| out(b.node("Node", NodeKind::Op, ROOT, &[x], 1, Some(k))));
    let sum = b.op(ROOT, &nodes, pure(|x| x.iter().sum()));
    b.ret(out(sum));
    let plan = b.plan();
    for options in all_options() {
        flag.store(true, Ordering::SeqCst);
        (0..50).for_each(|_| assert_eq!(run_with(&plan, &[0], options).unwrap(), [Some(2)]));
        flag.store(false, Ordering::SeqCst);
        assert_eq!(run_with(&plan, &[0], options).unwrap(), [Some(2)]);
    }
}

/// A function that runs `plan`, as a session would make it.
struct PlanFunction(Arc<Plan>);

impl CallableFunction for PlanFunction {
    fn call(&self, args: Vec<Tensor>, step: &Arc<DeviceStep>) -> Result<Vec<Tensor>> {
        let results = self.0.run(step, args, RunOptions::default())?;
        results.into_iter().map(|r| r.ok_or_else(|| Error::internal("dead"))).collect()
    }
}

/// A kernel in the middle of a step runs a plan that waits for another node of the step: the helper that was sent for before must not be lost.
#[test]
fn a_plan_within_a_kernel_waits_for_a_node_of_its_step() {
    let (sender, receiver) = channel::<AsyncContext>();
    let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
    let send: Arc<dyn Kernel> = Arc::new(AsyncFun(move |ctx: AsyncContext| sender.lock().unwrap().send(ctx).unwrap()));
    let mut inner = Builder::new();
    let waits = inner.node("Wait", NodeKind::Op, ROOT, &[], 1, Some(send));
    inner.ret(out(waits));
    let function = FunctionHandle::new(Arc::new(PlanFunction(inner.plan())));
    let call = blocking(move |ctx| {
        let results = function.call(vec![], ctx.device_step())?;
        ctx.set_output(0, results[0].clone());
        Ok(())
    });
    let answer = blocking(move |ctx| {
        let waiting = receiver.lock().unwrap().recv_timeout(Duration::from_secs(20)).map_err(|e| Error::internal(e.to_string()))?;
        waiting.done(Ok(vec![Some(int(5))]));
        ctx.set_output(0, int(2));
        Ok(())
    });
    let mut b = Builder::new();
    let nodes = [call, answer].map(|k| out(b.node("Node", NodeKind::Op, ROOT, &[], 1, Some(k))));
    let sum = b.op(ROOT, &nodes, pure(|x| x.iter().sum()));
    b.ret(out(sum));
    let plan = b.plan();
    for _ in 0..100 {
        assert_eq!(run_with(&plan, &[], all_options()[1]).unwrap(), [Some(7)]);
    }
}

/// Steps that keep all threads of a pool inside of a kernel until they are let go.
struct FullPool {
    pool: Arc<rayon::ThreadPool>,
    let_go: Arc<AtomicBool>,
}

impl FullPool {
    fn with<R>(f: impl FnOnce(&FullPool) -> R) -> R {
        let full = FullPool { pool: flowmill_runtime::intra_op::pool(2).unwrap(), let_go: Arc::default() };
        let started = Arc::new(AtomicUsize::new(0));
        let mut b = Builder::new();
        let (let_go, counter) = (full.let_go.clone(), started.clone());
        let kernel = blocking(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            eventually(|| let_go.load(Ordering::SeqCst));
            Ok(())
        });
        b.node("Wait", NodeKind::Op, ROOT, &[], 0, Some(kernel));
        let plan = b.plan();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| run_with(&plan, &[], RunOptions { pool: Some(&full.pool), ..RunOptions::default() }).unwrap());
            }
            eventually(|| started.load(Ordering::SeqCst) == 2);
            let result = f(&full);
            full.let_go.store(true, Ordering::SeqCst);
            result
        })
    }

    /// Runs a step whose kernel must not be called.
    fn run(&self, step: DeviceStep, called: &Arc<AtomicBool>) -> Code {
        let mut b = Builder::new();
        b.node("Never", NodeKind::Op, ROOT, &[], 0, Some(set(called, Cost::Expensive)));
        let options = RunOptions { pool: Some(&self.pool), ..RunOptions::default() };
        b.plan().run(&Arc::new(step), vec![], options).unwrap_err().code()
    }
}

#[test]
fn a_step_that_waits_for_a_thread_ends_at_its_deadline_or_when_it_is_cancelled() {
    let called = Arc::new(AtomicBool::new(false));
    FullPool::with(|full| {
        let late = step_of(Step { deadline: Some(Instant::now() + Duration::from_millis(50)), ..Step::new() });
        assert_eq!(full.run(late, &called), Code::DeadlineExceeded);

        let cancelled = step();
        cancelled.step.cancel.cancel(Error::aborted("before"));
        assert_eq!(full.run(cancelled, &called), Code::Aborted);

        let waits = step();
        let theirs = waits.step.cancel.clone();
        let canceller = std::thread::spawn(move || theirs.cancel(Error::cancelled("from another thread")));
        assert_eq!(full.run(waits, &called), Code::Cancelled);
        canceller.join().unwrap();

        let mut polled = Step::new();
        let theirs = polled.cancel.clone();
        polled.poll = Some(Poll::new(move || theirs.cancel(Error::cancelled("by a signal"))));
        assert_eq!(full.run(step_of(polled), &called), Code::Cancelled);
    });
    assert!(!called.load(Ordering::SeqCst), "a step began that its caller had given up");
}

#[test]
fn a_waiting_step_holds_no_thread_of_the_pool() {
    let pool = flowmill_runtime::intra_op::pool(2).unwrap();
    let (sender, receiver) = channel::<AsyncContext>();
    let sender = Mutex::new(sender);
    let waits: Arc<dyn Kernel> = Arc::new(AsyncFun(move |ctx: AsyncContext| sender.lock().unwrap().send(ctx).unwrap()));
    let mut b = Builder::new();
    let node = b.node("Wait", NodeKind::Op, ROOT, &[], 1, Some(waits));
    b.ret(out(node));
    let plan = b.plan();
    let options = RunOptions { pool: Some(&pool), ..RunOptions::default() };
    std::thread::scope(|scope| {
        let steps: Vec<_> = (0..4).map(|_| scope.spawn(|| run_with(&plan, &[], options).unwrap())).collect();
        let calls: Vec<_> = (0..4).map(|_| receiver.recv_timeout(Duration::from_secs(20)).unwrap()).collect();
        // All threads of the pool are free, at the same time.
        let there = AtomicUsize::new(0);
        pool.broadcast(|_| {
            there.fetch_add(1, Ordering::SeqCst);
            eventually(|| there.load(Ordering::SeqCst) == 2);
        });
        calls.into_iter().for_each(|call| call.done(Ok(vec![Some(int(3))])));
        steps.into_iter().for_each(|s| assert_eq!(s.join().unwrap(), [Some(3)]));
    });
}

/// Kernels that end on a thread outside of the pool send for threads of the pool, of no other.
#[test]
fn a_kernel_that_ends_outside_of_the_pool_continues_in_it() {
    let names: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = names.clone();
    let elsewhere: Arc<dyn Kernel> = Arc::new(AsyncFun(|ctx: AsyncContext| {
        std::thread::spawn(move || ctx.done(Ok(vec![Some(int(1))])));
    }));
    let after: Arc<dyn Kernel> = Arc::new(Fun(
        move |ctx: &mut KernelContext<'_>| {
            seen.lock().unwrap().push(std::thread::current().name().unwrap_or_default().to_owned());
            ctx.forward(0, 0)
        },
        Cost::Expensive,
    ));
    let mut b = Builder::new();
    let node = b.node("Wait", NodeKind::Op, ROOT, &[], 1, Some(elsewhere));
    let after = b.node("After", NodeKind::Op, ROOT, &[out(node)], 1, Some(after));
    b.ret(out(after));
    let plan = b.plan();
    (0..50).for_each(|_| assert_eq!(run_with(&plan, &[], all_options()[1]).unwrap(), [Some(1)]));
    let names = names.lock().unwrap();
    assert!(names.len() == 50 && names.iter().all(|name| name.starts_with("flowmill-")), "{names:?}");
}
