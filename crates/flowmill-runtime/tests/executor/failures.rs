//! Errors, cancellation, deadlines, panics, asynchronous kernels.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{AsyncContext, Cost, Kernel, KernelContext, Poll, Step};
use flowmill_tensor::{Code, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROOT: FrameId = FrameId::ROOT;

/// Loops within loops, in which `kernel` is called on every sum of indices; results are never reached.
fn nest(b: &mut Builder, k: u32, kernel: Option<Arc<dyn Kernel>>) {
    let zero = b.arg();
    let less = |limit: i64| pure(move |x| i64::from(x[0] < limit));
    let exits = b.while_loop(
        ROOT,
        k,
        &[zero],
        |b, f, v| out(b.op(f, &[v[0]], less(1000))),
        |b, f, v| {
            let inner = b.while_loop(
                f,
                k,
                &[v[0]],
                |b, g, w| out(b.op(g, &[w[0]], less(500))),
                |b, g, w| {
                    let called = b.node("Called", NodeKind::Op, g, &[w[0]], 1, kernel);
                    vec![out(b.op(g, &[out(called)], pure(|x| x[0] + 1)))]
                },
            );
            let i = b.op(f, &[v[0]], pure(|x| x[0] + 1));
            let seen = b.add(f, out(i), inner[0]);
            let _ = seen;
            vec![out(i)]
        },
    );
    b.ret(exits[0]);
}

#[test]
fn a_failure_inside_nested_loops_names_the_node() {
    for k in [1, 2, 10] {
        let mut b = Builder::new();
        let kernel: Arc<dyn Kernel> = Arc::new(Fun(
            |ctx: &mut KernelContext<'_>| {
                if ctx.input(0)?.to_scalar::<i64>()? == 400 {
                    return Err(Error::out_of_range("past the end"));
                }
                ctx.forward(0, 0)
            },
            Cost::Expensive,
        ));
        nest(&mut b, k, Some(kernel));
        let error = run_error(&b, &[0]);
        assert_eq!((error.code(), error.op()), (Code::OutOfRange, Some("Called")), "k={k}");
        assert_eq!(error.message(), "past the end");
    }
}

#[test]
fn the_first_underived_error_wins() {
    let mut b = Builder::new();
    let waits: Arc<dyn Kernel> = Arc::new(AsyncFun(|ctx: AsyncContext| {
        std::thread::spawn(move || {
            eventually(|| ctx.step().cancel.is_cancelled());
            let error = ctx.step().cancel.check().unwrap_err();
            assert!(error.is_derived());
            ctx.done(Err(error));
        });
    }));
    let fails = b.op(ROOT, &[], fun(|_| Err(Error::data_loss("broken"))));
    b.ret(out(fails));
    for _ in 0..3 {
        let node = b.node("Wait", NodeKind::Op, ROOT, &[], 1, Some(waits.clone()));
        b.ret(out(node));
    }
    let error = run_error(&b, &[]);
    assert_eq!((error.code(), error.op()), (Code::DataLoss, Some("Op")));
}

#[test]
fn a_panic_is_an_error() {
    for k in [1, 10] {
        let mut b = Builder::new();
        let kernel = fun(|ctx| {
            assert!(ctx.input(0)?.to_scalar::<i64>()? < 20, "a broken kernel");
            ctx.forward(0, 0)
        });
        nest(&mut b, k, kernel);
        let error = run_error(&b, &[0]);
        assert_eq!((error.code(), error.op()), (Code::Internal, Some("Called")));
        assert!(error.message().contains("a broken kernel"), "{error}");
    }
}

#[test]
fn behaviour_38_a_deadline_ends_a_busy_loop() {
    for k in [1, 10] {
        let mut b = Builder::new();
        let zero = b.arg();
        let exits = b.while_loop(ROOT, k, &[zero], |b, f, v| out(b.op(f, &[v[0]], pure(|_| 1))), |b, f, v| vec![out(b.pass(f, v[0]))]);
        b.ret(exits[0]);
        let plan = b.plan();
        for options in all_options() {
            let step = step_of(Step { deadline: Some(Instant::now() + Duration::from_millis(30)), ..Step::new() });
            let error = plan.run(&Arc::new(step), vec![int(0)], options).unwrap_err();
            assert_eq!((error.code(), error.message()), (Code::DeadlineExceeded, "Timed out waiting for notification"));
        }
        let late = step_of(Step { deadline: Some(Instant::now() - Duration::from_millis(1)), ..Step::new() });
        assert_eq!(plan.run(&Arc::new(late), vec![int(0)], RunOptions::default()).unwrap_err().code(), Code::DeadlineExceeded);
    }
}

#[test]
fn behaviour_37_a_cancelled_step_ends_and_waits_for_its_asynchronous_kernels() {
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut b = Builder::new();
    let kernel = {
        let (started, ended) = (started.clone(), ended.clone());
        AsyncFun(move |ctx: AsyncContext| {
            started.fetch_add(1, Ordering::SeqCst);
            let ended = ended.clone();
            let step = ctx.step().clone();
            std::thread::spawn(move || {
                eventually(|| step.cancel.is_cancelled());
                // Long enough for a run that does not wait to be found out.
                std::thread::sleep(Duration::from_millis(20));
                ended.fetch_add(1, Ordering::SeqCst);
                ctx.done(Err(step.cancel.check().unwrap_err()));
            });
        })
    };
    let node = b.op(ROOT, &[], Some(Arc::new(kernel)));
    b.ret(out(node));
    let plan = b.plan();
    for (runs, options) in all_options().into_iter().enumerate() {
        let step = step();
        let (cancel, started) = (step.step.cancel.clone(), started.clone());
        let canceller = std::thread::spawn(move || {
            eventually(|| started.load(Ordering::SeqCst) > runs);
            cancel.cancel(Error::cancelled("stopped by its caller"));
        });
        let error = plan.run(&Arc::new(step), vec![], options).unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
        assert!(error.message().contains("stopped by its caller"));
        assert_eq!(ended.load(Ordering::SeqCst), runs + 1);
        canceller.join().unwrap();
    }
}

#[test]
fn asynchronous_kernels_complete_from_other_threads() {
    for k in [1, 3, 10] {
        let mut b = Builder::new();
        let zero = b.arg();
        let twice: Arc<dyn Kernel> = Arc::new(AsyncFun(|ctx: AsyncContext| {
            let value = ctx.inputs()[0].to_scalar::<i64>().unwrap();
            // Some complete at once, on the same thread.
            if value % 3 == 0 {
                return ctx.done(Ok(vec![Some(int(value * 2))]));
            }
            std::thread::spawn(move || ctx.done(Ok(vec![Some(int(value * 2))])));
        }));
        let exits = b.while_loop(
            ROOT,
            k,
            &[zero, zero],
            |b, f, v| out(b.op(f, &[v[0]], pure(|x| i64::from(x[0] < 50)))),
            |b, f, v| {
                let doubled = b.op(f, &[v[0]], Some(twice.clone()));
                let again = b.op(f, &[v[0]], Some(twice));
                let both = b.add(f, out(doubled), out(again));
                let sum = b.add(f, v[1], out(both));
                vec![out(b.op(f, &[v[0]], pure(|x| x[0] + 1))), out(sum)]
            },
        );
        b.ret(exits[1]);
        assert_eq!(run(&b, &[0]), [Some((0..50).map(|i| 4 * i).sum())], "k={k}");
    }
}

#[test]
fn a_dead_value_from_an_asynchronous_receive() {
    let mut b = Builder::new();
    let kernel: Arc<dyn Kernel> = Arc::new(AsyncFun(|ctx: AsyncContext| ctx.done(Ok(vec![None]))));
    let recv = b.node("_Recv", NodeKind::Op, ROOT, &[], 1, Some(kernel.clone()));
    b.ret(out(recv));
    assert_eq!(run(&b, &[]), [None]);
    let other = b.node("Other", NodeKind::Op, ROOT, &[], 1, Some(kernel));
    b.ret(out(other));
    assert!(run_error(&b, &[]).message().starts_with("Missing 0-th output"));
}

#[test]
fn an_asynchronous_kernel_that_lets_go_is_an_error_not_a_hang() {
    for panics in [false, true] {
        let mut b = Builder::new();
        let kernel = AsyncFun(move |ctx: AsyncContext| {
            drop(ctx);
            assert!(!panics, "in start");
        });
        let node = b.op(ROOT, &[], Some(Arc::new(kernel)));
        b.ret(out(node));
        assert_eq!(run_error(&b, &[]).code(), Code::Internal);
    }
}

#[test]
fn behaviour_6_a_failing_step_aborts_its_rendezvous() {
    let mut b = Builder::new();
    let fails = b.op(ROOT, &[], fun(|_| Err(Error::aborted("gone"))));
    b.ret(out(fails));
    let plan = b.plan();
    let step = Arc::new(step());
    let heard = Arc::new(AtomicUsize::new(0));
    let hears = heard.clone();
    step.step.rendezvous.recv_async(&"key".into(), move |result| {
        assert_eq!(result.unwrap_err().code(), Code::Aborted);
        hears.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(plan.run(&step, vec![], RunOptions::default()).unwrap_err().code(), Code::Aborted);
    assert_eq!(heard.load(Ordering::SeqCst), 1);
}

#[test]
fn a_plan_runs_after_it_failed() {
    let mut b = Builder::new();
    let x = b.arg();
    let checked = b.op(
        ROOT,
        &[x],
        fun(|ctx| if ctx.input(0)?.to_scalar::<i64>()? < 0 { Err(Error::invalid_argument("negative")) } else { ctx.forward(0, 0) }),
    );
    b.ret(out(checked));
    let plan = b.plan();
    for options in all_options() {
        assert_eq!(run_with(&plan, &[-1], options).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(run_with(&plan, &[4], options).unwrap(), [Some(4)]);
    }
}

#[test]
fn the_caller_looks_up_from_a_busy_loop_and_from_waiting() {
    let mut busy = Builder::new();
    let zero = busy.arg();
    let exits = busy.while_loop(ROOT, 2, &[zero], |b, f, v| out(b.op(f, &[v[0]], pure(|_| 1))), |b, f, v| vec![out(b.pass(f, v[0]))]);
    busy.ret(exits[0]);
    let mut waiting = Builder::new();
    let zero = waiting.arg();
    let kernel = AsyncFun(|ctx: AsyncContext| {
        std::thread::spawn(move || {
            eventually(|| ctx.step().cancel.is_cancelled());
            let error = ctx.step().cancel.check().unwrap_err();
            ctx.done(Err(error));
        });
    });
    let recv = waiting.node("_Recv", NodeKind::Op, ROOT, &[zero], 1, Some(Arc::new(kernel)));
    waiting.ret(out(recv));
    for builder in [busy, waiting] {
        let plan = builder.plan();
        for options in [RunOptions { num_threads: 1, ..RunOptions::default() }, RunOptions::default()] {
            let mut step = Step::new();
            let cancel = step.cancel.clone();
            step.poll = Some(Poll::new(move || cancel.cancel(Error::cancelled("Ctrl-C"))));
            let result = plan.run(&Arc::new(step_of(step)), vec![int(0)], options);
            assert_eq!(result.unwrap_err().code(), Code::Cancelled);
        }
    }
}
