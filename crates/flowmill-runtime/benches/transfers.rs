//! The cost of a tensor that goes from one part of a step to another: the rendezvous alone, and within steps of two parts on one thread.
//!
//! `valgrind --tool=callgrind --toggle-collect='transfers::step_of_two_parts'` counts the instructions of `cargo bench --bench transfers -- once`, and
//! those of receives that wait with `-- once receives-first`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/executor/support.rs"]
#[allow(dead_code)]
mod support;

use flowmill_runtime::executor::{Plan, PlanCall, run_parts};
use flowmill_runtime::kernel::AsyncKernel;
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{AsyncContext, IterationPath, Kernel, KernelContext, Parcel, Rendezvous, Step, Transfers};
use flowmill_tensor::{Result, Tensor};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::*;

const NUM_TENSORS: u32 = 1000;

/// Sends its input.
struct Send(u32);

impl Kernel for Send {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let parcel = Parcel { tensor: ctx.take(0)?, device: None };
        ctx.step().rendezvous.transfers().unwrap().send(self.0, &ctx.iteration(), Some(parcel))
    }

    fn depends_on_iteration(&self) -> bool {
        true
    }
}

/// Receives a tensor.
struct Recv(u32);

impl Kernel for Recv {
    fn compute(&self, _: &mut KernelContext<'_>) -> Result<()> {
        Ok(())
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Recv {
    fn try_finish(&self, ctx: &mut KernelContext<'_>) -> Option<Result<()>> {
        let parcel = ctx.step().rendezvous.transfers()?.try_receive(self.0, &ctx.iteration())??;
        ctx.set_output(0, parcel.tensor);
        Some(Ok(()))
    }

    fn start(&self, ctx: AsyncContext) {
        let (step, iteration) = (ctx.step().clone(), ctx.iteration().clone());
        let done = move |received: Result<Option<Parcel>>| ctx.done(received.map(|parcel| vec![parcel.map(|parcel| parcel.tensor)]));
        step.rendezvous.transfers().unwrap().receive(self.0, &iteration, done);
    }
}

/// A plan that sends its argument many times, and one that receives as often.
fn plans() -> [Arc<Plan>; 2] {
    let (mut sender, mut receiver) = (Builder::new(), Builder::new());
    let x = sender.arg();
    for number in 0..NUM_TENSORS {
        sender.node("Send", NodeKind::Op, FrameId::ROOT, &[x], 0, Some(Arc::new(Send(number))));
        let received = receiver.node("Recv", NodeKind::Op, FrameId::ROOT, &[], 1, Some(Arc::new(Recv(number))));
        if number == 0 {
            receiver.ret(out(received));
        }
    }
    [sender.plan(), receiver.plan()]
}

fn new_step(names: &Arc<[String]>) -> Step {
    Step { rendezvous: Rendezvous::with_transfers(Transfers::new(names.clone())), ..Step::new() }
}

/// Runs the plans in this order, as parts of one step.
#[inline(never)]
fn step_of_two_parts(plans: &[Arc<Plan>; 2], receive_first: bool, names: &Arc<[String]>) -> Duration {
    let step = Arc::new(step_of(new_step(names)));
    let args = [vec![int(1)], Vec::new()];
    let mut calls: Vec<_> = plans.iter().zip(args).map(|(plan, args)| PlanCall { plan: plan.clone(), step: step.clone(), args }).collect();
    if receive_first {
        calls.reverse();
    }
    let before = Instant::now();
    run_parts(calls, None).unwrap();
    before.elapsed()
}

/// Sends and receives each tensor, the receive first or second.
fn meetings(receive_first: bool, iteration: &IterationPath, names: &Arc<[String]>) -> Duration {
    let transfers = Transfers::new(names.clone());
    let parcel = || Some(Parcel { tensor: Tensor::scalar(1i64), device: None });
    let before = Instant::now();
    for number in 0..NUM_TENSORS {
        if receive_first {
            transfers.receive(number, iteration, |received| drop(std::hint::black_box(received)));
            transfers.send(number, iteration, parcel()).unwrap();
        } else {
            transfers.send(number, iteration, parcel()).unwrap();
            drop(std::hint::black_box(transfers.try_receive(number, iteration)));
        }
    }
    before.elapsed()
}

fn measure(name: &str, mut run: impl FnMut() -> Duration) {
    let (start, mut best) = (Instant::now(), Duration::MAX);
    while start.elapsed() < Duration::from_millis(700) {
        best = best.min(run());
    }
    println!("{name:<56} {:>9.1} ns a tensor", best.as_nanos() as f64 / f64::from(NUM_TENSORS));
}

fn main() {
    let names: Arc<[String]> = (0..NUM_TENSORS).map(|number| format!("x{number}:0")).collect();
    let plans = plans();
    let has_arg = |wanted: &str| std::env::args().any(|arg| arg == wanted);
    if has_arg("once") {
        step_of_two_parts(&plans, has_arg("receives-first"), &names);
        return;
    }
    let (outside, in_loop) = (IterationPath::new(), IterationPath::from_slice(&[3]));
    measure("a send and a receive meet, outside of loops", || meetings(false, &outside, &names));
    measure("a receive and a send meet, outside of loops", || meetings(true, &outside, &names));
    measure("a send and a receive meet, in a loop", || meetings(false, &in_loop, &names));
    measure("a receive and a send meet, in a loop", || meetings(true, &in_loop, &names));
    measure("a step of two parts, sends first", || step_of_two_parts(&plans, false, &names));
    measure("a step of two parts, receives first", || step_of_two_parts(&plans, true, &names));
}
