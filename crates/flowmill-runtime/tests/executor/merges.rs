//! Merges whose inputs arrive on several threads at once, and loops that a GraphDef can hold but no builder makes.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind, OutputType, PlanEdge};
use flowmill_runtime::{Cost, Kernel, KernelContext, Plan, RefVariable};
use flowmill_tensor::{DType, PartialShape, Result, Shape, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ROOT: FrameId = FrameId::ROOT;

fn expensive(f: impl Fn(&mut KernelContext<'_>) -> Result<()> + Send + Sync + 'static) -> Option<Arc<dyn Kernel>> {
    Some(Arc::new(Fun(f, Cost::Expensive)))
}

/// Takes long enough to count as expensive.
fn work() {
    let start = Instant::now();
    while start.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
}

/// Expensive nodes that end at the same time where each has a thread of its own: node `i` gives `values[i]`.
fn together(b: &mut Builder, values: &[Tensor]) -> Vec<PlanEdge> {
    let started = Arc::new(AtomicUsize::new(0));
    let count = values.len();
    let nodes = values.iter().map(|value| {
        let (started, value) = (started.clone(), value.clone());
        let kernel = expensive(move |ctx| {
            work();
            let mine = started.fetch_add(1, Ordering::SeqCst);
            let start = Instant::now();
            while started.load(Ordering::SeqCst) < mine / count * count + count && start.elapsed() < Duration::from_millis(5) {
                std::hint::spin_loop();
            }
            ctx.set_output(0, value.clone());
            Ok(())
        });
        out(b.node("Big", NodeKind::Op, ROOT, &[], 1, kernel))
    });
    nodes.collect()
}

/// A tensor on the heap, whose references can be counted.
fn on_heap(value: i64) -> Tensor {
    Tensor::from_slice(Shape::new(&[64]), &[value; 64]).unwrap()
}

/// Runs the plan many times on two and three threads.
fn run_often(plan: &Arc<Plan>, times: usize, check: impl Fn(&[Option<Tensor>])) {
    let pool = flowmill_runtime::intra_op::pool(3).unwrap();
    for num_threads in [2, 3] {
        for _ in 0..times {
            let options = RunOptions { num_threads, pool: Some(&pool), stats: None };
            check(&plan.run(&Arc::new(step()), vec![], options).unwrap());
        }
    }
}

/// Checks that nobody else holds the value. A helper that finds no more work lets go of the run, and of the plan, a moment after its end.
fn assert_released(value: &mut Tensor) {
    let start = Instant::now();
    while !value.is_unique() {
        assert!(start.elapsed() < Duration::from_secs(20), "a value was not dropped");
        std::thread::yield_now();
    }
}

fn first(value: &Tensor) -> i64 {
    value.as_slice::<i64>().unwrap()[0]
}

#[test]
fn a_dead_and_a_live_enter_reach_a_merge_at_once() {
    let mut b = Builder::new();
    let frame = b.frame(ROOT, 4);
    let mut value = on_heap(7);
    let inputs = together(&mut b, &[int(0), value.clone()]);
    let (never, live) = (inputs[0], inputs[1]);
    let switch = b.switch(ROOT, never, never);
    let dead = edge(switch, 1);
    for i in 0..64 {
        // The value may arrive first or second, by the order of Enters, and at the Merge's first or second input.
        let inputs = if i % 2 == 0 { [dead, live] } else { [live, dead] };
        let enters = inputs.map(|input| b.enter(ROOT, frame, input));
        let merge = b.merge(frame, &enters);
        let exit = b.exit(frame, out(merge));
        b.ret(exit);
    }
    let plan = b.plan();
    run_often(&plan, 150, |results| assert!(results.iter().flatten().all(|t| first(t) == 7)));
    drop((plan, b));
    assert_released(&mut value);
}

#[test]
fn live_inputs_reach_a_merge_at_once() {
    let mut b = Builder::new();
    let mut values = [1, 2].map(on_heap);
    let inputs = together(&mut b, &values);
    for i in 0..64 {
        let merge = b.merge(ROOT, &[inputs[i % 2], inputs[1 - i % 2]]);
        b.ret(out(merge));
        b.ret(edge(merge, 1));
    }
    let plan = b.plan();
    run_often(&plan, 150, |results| {
        for (i, pair) in results.chunks(2).enumerate() {
            let winner = pair[1].as_ref().unwrap().to_scalar::<i32>().unwrap() as usize;
            assert_eq!(first(pair[0].as_ref().unwrap()), 1 + ((i % 2) ^ winner) as i64);
        }
    });
    drop((plan, b, inputs));
    values.iter_mut().for_each(assert_released);
}

/// A Merge of references reads the winner's variable alone: the other input may be on its way still.
#[test]
fn references_reach_a_merge_of_values_at_once() {
    let mut b = Builder::new();
    let variables = [1, 2].map(|value| {
        let variable = Arc::new(RefVariable::new(DType::I64, PartialShape::unknown()));
        *variable.lock() = Some(on_heap(value));
        variable
    });
    let inputs = together(&mut b, &[variables[0].to_edge("a"), variables[1].to_edge("b")]);
    for input in &inputs {
        b.node_mut(input.node).outputs[0] = OutputType { dtype: DType::I64, is_ref: true };
    }
    for i in 0..64 {
        let merge = b.merge(ROOT, &[inputs[i % 2], inputs[1 - i % 2]]);
        b.ret(out(merge));
        b.ret(edge(merge, 1));
    }
    run_often(&b.plan(), 150, |results| {
        for (i, pair) in results.chunks(2).enumerate() {
            let winner = pair[1].as_ref().unwrap().to_scalar::<i32>().unwrap() as usize;
            assert_eq!(first(pair[0].as_ref().unwrap()), 1 + ((i % 2) ^ winner) as i64);
        }
    });
}

/// Restarting a block hands its parked tokens to the next iteration before other threads can fire that iteration's roots. With one iteration at a
/// time both use the same block, so a root that fires too early would park a new token in a place that is still taken.
#[test]
fn roots_of_an_iteration_do_not_overtake_its_tokens() {
    const VARIABLES: usize = 600;
    const ITERATIONS: i64 = 60;
    let mut b = Builder::new();
    let calls = Arc::new(AtomicI64::new(0));
    let frame = b.frame(ROOT, 1);
    let start = b.constant(ROOT, 0);
    let unused = b.invariant(ROOT, frame, start);
    let idle = expensive(|ctx| {
        work();
        ctx.forward(0, 0)
    });
    // The first expensive node that is ready is kept by its thread, the second one goes to another.
    b.op(frame, &[unused], idle);
    let count = calls.clone();
    let counting = expensive(move |ctx| {
        work();
        ctx.set_output(0, int(count.fetch_add(1, Ordering::SeqCst)));
        Ok(())
    });
    let number = out(b.op(frame, &[unused], counting));
    let test = out(b.op(frame, &[number], pure(|x| i64::from(x[0] < ITERATIONS))));
    let mut exits = Vec::new();
    for i in 0..VARIABLES {
        let enter = b.enter(ROOT, frame, start);
        let merge = b.merge(frame, &[enter, enter]);
        let switch = b.switch(frame, out(merge), test);
        exits.push(b.exit(frame, edge(switch, 0)));
        // The last variable is the number of the iteration before.
        let value = if i < VARIABLES - 1 { edge(switch, 1) } else { edge(b.switch(frame, number, test), 1) };
        let next = b.next_iteration(frame, value);
        b.node_mut(merge).inputs[1] = out(next);
    }
    b.ret(exits[0]);
    b.ret(exits[VARIABLES - 1]);
    let plan = b.plan();
    for options in all_options() {
        calls.store(0, Ordering::SeqCst);
        assert_eq!(run_with(&plan, &[], options).unwrap(), [Some(0), Some(ITERATIONS - 1)]);
    }
}

/// Frames nested deeper than any stack, which never end, because one Enter of the innermost never fires.
#[test]
fn a_stuck_tower_of_frames_is_freed() {
    const DEPTH: usize = 50_000;
    let mut b = Builder::new();
    let mut value = b.constant(ROOT, 1);
    let mut frame = ROOT;
    for _ in 0..DEPTH {
        let inner = b.frame(frame, 2);
        value = b.enter(frame, inner, value);
        frame = inner;
    }
    // Waits for a second iteration, which never comes.
    let next = b.next_iteration(frame, value);
    let late = b.add(frame, value, out(next));
    let inner = b.frame(frame, 2);
    b.enter(frame, inner, out(late));
    b.enter(frame, inner, value);
    let plan = b.plan();
    run_with(&plan, &[], all_options()[0]).unwrap();
}
