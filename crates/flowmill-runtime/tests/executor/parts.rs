//! Steps of several plans, and kernels that know the iteration that they run in.

use crate::support::*;
use flowmill_runtime::executor::{PlanCall, run_parts, start_parts};
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{AsyncContext, DeviceStep, Executor, IterationPath, Kernel, KernelContext, Plan, RendezvousKey, Step};
use flowmill_tensor::{Code, Error, Result, Tensor};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

const ROOT: FrameId = FrameId::ROOT;

/// Sends its input under `name`.
fn send(b: &mut Builder, name: &'static str, input: flowmill_runtime::plan::PlanEdge) {
    b.node("Send", NodeKind::Op, ROOT, &[input], 0, fun(move |ctx| ctx.step().rendezvous.send(&name.into(), Some(ctx.take(0)?))));
}

/// Receives what is sent under `name`.
fn receive(b: &mut Builder, name: &'static str) -> flowmill_runtime::plan::PlanEdge {
    let kernel = AsyncFun(move |ctx: AsyncContext| {
        let step = ctx.step().clone();
        step.rendezvous.recv_async(&name.into(), move |value| ctx.done(value.map(|value| vec![value])));
    });
    out(b.node("Recv", NodeKind::Op, ROOT, &[], 1, Some(Arc::new(kernel))))
}

/// Two plans that need each other: the first sends its argument, the second doubles it and sends it back.
fn there_and_back(double: Option<Arc<dyn Kernel>>) -> [Arc<Plan>; 2] {
    let mut first = Builder::new();
    let x = first.arg();
    send(&mut first, "there", x);
    let back = receive(&mut first, "back");
    first.ret(back);
    let mut second = Builder::new();
    let x = receive(&mut second, "there");
    let doubled = second.op(ROOT, &[x], double);
    send(&mut second, "back", out(doubled));
    [first.plan(), second.plan()]
}

fn calls(plans: [Arc<Plan>; 2], step: Step) -> Vec<PlanCall> {
    let step = Arc::new(step_of(step));
    let args = [vec![int(21)], vec![]];
    plans.into_iter().zip(args).map(|(plan, args)| PlanCall { plan, step: step.clone(), args }).collect()
}

/// Runs on this thread alone, and in an executor.
fn run_both_ways(plans: &[Arc<Plan>; 2]) -> [Result<Vec<Vec<Option<Tensor>>>>; 2] {
    let alone = run_parts(calls(plans.clone(), Step::new()), None);
    let executor = Executor::new(3).unwrap();
    let (sender, results) = mpsc::channel();
    let calls = calls(plans.clone(), Step::new());
    let first: Arc<DeviceStep> = calls[0].step.clone();
    let outcome = executor.other_threads().unwrap().unwrap().run(&first.step, move |done| {
        let done = move |all: Result<Vec<Vec<Option<Tensor>>>>| {
            sender.send(all.clone()).unwrap();
            done(all.map(|all| all.into_iter().flatten().collect()));
        };
        start_parts(calls, 0, None, Box::new(done));
    });
    let in_pool = results.recv().unwrap();
    assert_eq!(outcome.is_ok(), in_pool.is_ok());
    [alone, in_pool]
}

#[test]
fn the_plans_of_a_step_wait_for_each_other() {
    let plans = there_and_back(pure(|x| 2 * x[0]));
    for _ in 0..50 {
        for results in run_both_ways(&plans) {
            assert_eq!(results.unwrap(), [vec![Some(int(42))], vec![]]);
        }
    }
}

#[test]
fn the_first_error_of_a_plan_ends_all_of_them() {
    let plans = there_and_back(fun(|_| Err(Error::data_loss("torn"))));
    for results in run_both_ways(&plans) {
        let error = results.unwrap_err();
        assert_eq!((error.code(), error.message()), (Code::DataLoss, "torn"));
    }
}

#[test]
fn a_step_of_several_plans_is_cancelled_as_one() {
    let mut waits = Builder::new();
    let x = waits.arg();
    let never = receive(&mut waits, "never");
    waits.ret(never);
    let _ = x;
    let mut cancels = Builder::new();
    cancels.op(
        ROOT,
        &[],
        fun(|ctx| {
            let reason = Error::cancelled("by the other plan");
            ctx.step().cancel.cancel(reason.clone());
            ctx.step().rendezvous.abort(reason);
            Ok(())
        }),
    );
    for results in run_both_ways(&[waits.plan(), cancels.plan()]) {
        assert_eq!(results.unwrap_err().message(), "by the other plan");
    }
}

#[test]
fn a_step_of_several_plans_ends_at_its_deadline() {
    let mut endless = Builder::new();
    let zero = endless.arg();
    let exits = endless.while_loop(ROOT, 2, &[zero], |b, f, v| out(b.op(f, &[v[0]], pure(|_| 1))), |b, f, v| vec![out(b.pass(f, v[0]))]);
    endless.ret(exits[0]);
    let mut short = Builder::new();
    short.op(ROOT, &[], pure(|_| 0));
    let step = || Step { deadline: Some(Instant::now() + Duration::from_millis(30)), ..Step::new() };
    let plans = [endless.plan(), short.plan()];
    assert_eq!(run_parts(calls(plans.clone(), step()), None).unwrap_err().code(), Code::DeadlineExceeded);
    let calls = calls(plans, step());
    let step = calls[0].step.clone();
    let outcome = Executor::new(2).unwrap().other_threads().unwrap().unwrap().run(&step.step, move |done| {
        start_parts(calls, 0, None, Box::new(|all| done(all.map(|all| all.into_iter().flatten().collect()))));
    });
    assert_eq!(outcome.unwrap_err().code(), Code::DeadlineExceeded);
}

#[test]
fn wrong_arguments_and_no_plan_are_errors() {
    let plans = there_and_back(pure(|x| x[0]));
    let mut wrong = calls(plans, Step::new());
    wrong[1].args = vec![int(1)];
    assert_eq!(run_parts(wrong, None).unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(run_parts(Vec::new(), None).unwrap_err().code(), Code::Internal);
}

/// Passes its input on and notes in which iteration.
struct Notes(Arc<Mutex<Vec<IterationPath>>>);

impl Kernel for Notes {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        self.0.lock().unwrap().push(ctx.iteration());
        ctx.forward(0, 0)
    }

    fn depends_on_iteration(&self) -> bool {
        true
    }
}

#[test]
fn a_kernel_knows_the_iterations_around_it() {
    for options in all_options() {
        let notes = Arc::new(Mutex::new(Vec::new()));
        let kernel: Arc<dyn Kernel> = Arc::new(Notes(notes.clone()));
        let mut b = Builder::new();
        let zero = b.arg();
        let exits = b.while_loop(
            ROOT,
            4,
            &[zero],
            |b, f, v| out(b.op(f, &[v[0]], pure(|x| i64::from(x[0] < 20)))),
            |b, outer, v| {
                let inner = b.while_loop(
                    outer,
                    4,
                    &[v[0]],
                    |b, f, v| out(b.op(f, &[v[0]], pure(|x| i64::from(x[0] % 10 < 3)))),
                    |b, f, v| {
                        let noted = b.op(f, &[v[0]], Some(kernel.clone()));
                        vec![out(b.op(f, &[out(noted)], pure(|x| x[0] + 1)))]
                    },
                );
                vec![out(b.op(outer, &[inner[0]], pure(|x| x[0] + 7)))]
            },
        );
        b.ret(exits[0]);
        assert_eq!(run_with(&b.plan(), &[0], options).unwrap(), [Some(20)]);
        let mut paths: Vec<Vec<u64>> = notes.lock().unwrap().iter().map(|path| path.to_vec()).collect();
        paths.sort();
        assert_eq!(paths, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]].map(Vec::from));
    }
}

#[test]
fn iterations_have_a_meeting_each() {
    let step = Step::new();
    let key = |iteration: u64| RendezvousKey { name: "k".into(), iteration: [iteration].into_iter().collect() };
    step.rendezvous.send(&key(1), Some(int(1))).unwrap();
    assert!(step.rendezvous.try_recv(&key(0)).is_err());
    assert_eq!(step.rendezvous.try_recv(&key(1)).unwrap(), Some(int(1)));
}

#[test]
fn a_step_of_one_thread_goes_on_after_a_kernel_that_another_thread_ends() {
    let mut b = Builder::new();
    let late = AsyncFun(|ctx: AsyncContext| {
        // Long after the thread of the step has found nothing to do and has left.
        drop(std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            ctx.done(Ok(vec![Some(int(20))]));
        }));
    });
    let late = out(b.node("Late", NodeKind::Op, ROOT, &[], 1, Some(Arc::new(late))));
    let result = b.op(ROOT, &[late], pure(|x| x[0] + 1));
    b.ret(out(result));
    let plan = b.plan();
    let executor = Executor::new(2).unwrap();
    let step = Arc::new(step_of(Step { deadline: Some(Instant::now() + Duration::from_secs(60)), ..Step::new() }));
    let steps = step.clone();
    let results = executor.other_threads().unwrap().unwrap().run(&step.step, move |done| plan.start(&steps, Vec::new(), 1, None, done));
    assert_eq!(results.unwrap(), [Some(int(21))]);
}
