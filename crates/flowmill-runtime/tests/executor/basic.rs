//! Graphs without loops.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind, PlanNodeId};
use flowmill_runtime::{Cost, Kernel, StatsCollector};
use flowmill_tensor::{Code, DType};
use std::sync::Arc;

const ROOT: FrameId = FrameId::ROOT;

#[test]
fn a_sum_of_an_argument_and_a_constant() {
    let mut b = Builder::new();
    let (x, c) = (b.arg(), b.constant(ROOT, 40));
    let sum = b.add(ROOT, x, c);
    b.ret(out(sum));
    assert_eq!(run(&b, &[2]), [Some(42)]);
}

#[test]
fn behaviour_2_one_tensor_feeds_both_inputs_of_a_node() {
    let mut b = Builder::new();
    let mut x = b.arg();
    for _ in 0..10 {
        x = out(b.add(ROOT, x, x));
    }
    b.ret(x);
    assert_eq!(run(&b, &[1]), [Some(1024)]);
}

#[test]
fn behaviour_3_a_tree_of_4096_leaves_gives_the_exact_sum() {
    for cost in [Cost::Cheap, Cost::Expensive] {
        let add: Arc<dyn Kernel> = Arc::new(Fun(
            |ctx: &mut flowmill_runtime::KernelContext<'_>| {
                let sum = ctx.input(0)?.to_scalar::<i64>()? + ctx.input(1)?.to_scalar::<i64>()?;
                ctx.set_output(0, int(sum));
                Ok(())
            },
            cost,
        ));
        let mut b = Builder::new();
        let mut level: Vec<_> = (0..4096).map(|i| b.constant(ROOT, i * i)).collect();
        while level.len() > 1 {
            level = level.chunks(2).map(|pair| out(b.node("Add", NodeKind::Op, ROOT, pair, 1, Some(add.clone())))).collect();
        }
        b.ret(level[0]);
        assert_eq!(run(&b, &[]), [Some((0..4096).map(|i| i * i).sum())]);
    }
}

#[test]
fn behaviour_5_a_switch_kills_one_side_and_a_merge_revives() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let ten = b.constant(ROOT, 10);
    let off = b.add(ROOT, edge(s, 0), ten);
    let on = b.add(ROOT, edge(s, 1), edge(s, 1));
    let m = b.merge(ROOT, &[out(off), out(on)]);
    let index = b.op(
        ROOT,
        &[edge(m, 1)],
        fun(|ctx| {
            let index = ctx.input(0)?.to_scalar::<i32>()?;
            ctx.set_output(0, int(index.into()));
            Ok(())
        }),
    );
    for value in [edge(s, 0), edge(s, 1), out(off), out(on), out(m), out(index)] {
        b.ret(value);
    }
    assert_eq!(run(&b, &[7, 0]), [Some(7), None, Some(17), None, Some(17), Some(0)]);
    assert_eq!(run(&b, &[7, 1]), [None, Some(7), None, Some(14), Some(14), Some(1)]);
}

#[test]
fn a_merge_of_dead_inputs_is_dead() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let (u, v) = (b.pass(ROOT, edge(s, 0)), b.pass(ROOT, edge(s, 0)));
    let m = b.merge(ROOT, &[out(u), out(v)]);
    let after = b.pass(ROOT, out(m));
    b.ret(out(after));
    assert_eq!(run(&b, &[1, 1]), [None]);
}

#[test]
fn control_inputs_gate_a_merge_but_do_not_kill_it() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let one = b.constant(ROOT, 1);
    let slow = b.add(ROOT, x, one);
    let dead_on_true = b.pass(ROOT, edge(s, 0));
    let m = b.merge(ROOT, &[edge(s, 0), edge(s, 1)]);
    b.node_mut(m).controls = vec![control(slow), control(dead_on_true)];
    b.ret(out(m));
    assert_eq!(run(&b, &[5, 0]), [Some(5)]);
    assert_eq!(run(&b, &[5, 1]), [Some(5)]);
}

#[test]
fn control_edges_carry_deadness_except_into_a_control_trigger() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let side = b.pass(ROOT, edge(s, 1));
    let after = b.pass(ROOT, x);
    b.node_mut(after).controls = vec![control(side)];
    // The switch itself was executed, its output 1 only where it is live.
    let after_switch = b.pass(ROOT, x);
    b.node_mut(after_switch).controls = vec![control(s)];
    let after_output = b.pass(ROOT, x);
    b.node_mut(after_output).controls = vec![edge(s, 1)];
    let trigger = b.node("ControlTrigger", NodeKind::ControlTrigger, ROOT, &[], 0, None);
    b.node_mut(trigger).controls = vec![control(side)];
    let after_trigger = b.pass(ROOT, x);
    b.node_mut(after_trigger).controls = vec![control(trigger)];
    let gated = b.node("Const", NodeKind::Const(int(9)), ROOT, &[], 1, None);
    b.node_mut(gated).controls = vec![control(side)];
    for node in [after, after_switch, after_output, after_trigger, gated] {
        b.ret(out(node));
    }
    assert_eq!(run(&b, &[3, 1]), [Some(3), Some(3), Some(3), Some(3), Some(9)]);
    assert_eq!(run(&b, &[3, 0]), [None, Some(3), None, Some(3), None]);
}

#[test]
fn constants_can_compete_at_a_merge() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let c = b.constant(ROOT, 4);
    let m = b.merge(ROOT, &[edge(s, 0), c]);
    b.ret(out(m));
    assert_eq!(run(&b, &[4, 0]), [Some(4)]);
    assert_eq!(run(&b, &[4, 1]), [Some(4)]);
}

#[test]
fn a_program_sees_dead_inputs_and_decides_by_itself() {
    let mut b = Builder::new();
    let (x, p) = (b.arg(), b.arg());
    let s = b.switch(ROOT, x, p);
    let program = fun(|ctx| {
        let live = (0..3).filter(|&i| ctx.input(i).is_ok()).fold(0, |bits, i| bits | 1 << i);
        ctx.set_output(0, int(live));
        if live & 1 != 0 {
            ctx.set_output(1, int(1));
        }
        Ok(())
    });
    let on = b.pass(ROOT, edge(s, 1));
    let node = b.node("Program", NodeKind::Program, ROOT, &[edge(s, 0), edge(s, 1), control(on)], 2, program);
    b.ret(out(node));
    b.ret(edge(node, 1));
    assert_eq!(run(&b, &[3, 0]), [Some(1), Some(1)]);
    assert_eq!(run(&b, &[3, 1]), [Some(6), None]);
}

#[test]
fn behaviour_8_nodes_without_inputs_run_and_nothing_need_be_fetched() {
    let mut b = Builder::new();
    b.node("NoOp", NodeKind::Op, ROOT, &[], 0, None);
    assert_eq!(run(&b, &[]), []);
    let seven = b.op(ROOT, &[], pure(|_| 7));
    b.ret(out(seven));
    assert_eq!(run(&b, &[]), [Some(7)]);
}

#[test]
fn argument_types_and_counts_are_checked() {
    let mut b = Builder::new();
    let x = b.arg();
    b.ret(x);
    let plan = b.plan();
    assert_eq!(run_with(&plan, &[], Default::default()).unwrap_err().code(), Code::InvalidArgument);
    let wrong = plan.run(&Arc::new(step()), vec![flowmill_tensor::Tensor::scalar(1f32)], Default::default()).unwrap_err();
    assert!(wrong.message().contains("Argument 0"), "{wrong}");
}

#[test]
fn behaviour_35_an_output_left_unset_is_an_error() {
    let mut b = Builder::new();
    let dark = b.op(ROOT, &[], fun(|_| Ok(())));
    b.ret(out(dark));
    let error = run_error(&b, &[]);
    assert_eq!(error.code(), Code::Internal);
    assert!(error.message().starts_with("Missing 0-th output from {{node Op0}}"), "{error}");
}

#[test]
fn behaviour_7_an_output_of_another_type_is_an_error() {
    let mut b = Builder::new();
    let wrong = b.op(ROOT, &[], pure(|_| 1));
    b.node_mut(wrong).outputs[0].dtype = DType::F32;
    assert_eq!(run_error(&b, &[]).code(), Code::Internal);
    b.node_mut(wrong).outputs[0] = flowmill_runtime::plan::OutputType { dtype: DType::I64, is_ref: true };
    assert_eq!(run(&b, &[]), []);
    b.node_mut(wrong).outputs[0] = flowmill_runtime::plan::OutputType { dtype: DType::F32, is_ref: true };
    assert_eq!(run_error(&b, &[]).code(), Code::Internal);
}

#[test]
fn behaviour_9_statistics_are_in_order_and_complete() {
    let mut b = Builder::new();
    let x = b.arg();
    let first = b.add(ROOT, x, x);
    let second = b.add(ROOT, out(first), x);
    b.ret(out(second));
    let plan = b.plan();
    for options in all_options() {
        let stats = Arc::new(StatsCollector::new());
        let options = RunOptions { stats: Some(&stats), ..options };
        assert_eq!(run_with(&plan, &[5], options).unwrap(), [Some(15)]);
        let nodes = stats.take();
        assert_eq!(nodes.iter().map(|n| &*n.name).collect::<Vec<_>>(), ["Add1", "Add2", "_Retval3"]);
        assert!(nodes.iter().all(|n| n.scheduled <= n.start && n.start <= n.end));
        assert_eq!((&*nodes[0].op, nodes[0].output_bytes), ("Add", 8));
        assert!(nodes[0].end <= nodes[1].start);
    }
}

#[test]
fn the_plan_refuses_what_is_not_a_graph() {
    let mut b = Builder::new();
    let x = b.arg();
    let child = b.frame(ROOT, 10);
    let entered = b.enter(ROOT, child, x);
    let mixed = b.add(child, entered, x);
    let error = flowmill_runtime::Plan::new(b.graph.clone()).err().unwrap();
    assert_eq!((error.code(), error.node()), (Code::InvalidArgument, Some("Add2")));
    assert!(error.message().contains("has inputs from different frames"), "{error}");
    b.node_mut(mixed).inputs[1] = entered;
    assert!(flowmill_runtime::Plan::new(b.graph.clone()).is_ok());

    let mut b = Builder::new();
    let x = b.arg();
    let first = b.add(ROOT, x, x);
    let second = b.add(ROOT, out(first), x);
    b.node_mut(first).inputs[1] = out(second);
    let error = flowmill_runtime::Plan::new(b.graph.clone()).err().unwrap();
    assert!(error.message().contains("cycle") && error.message().contains("Add"), "{error}");
    b.node_mut(first).inputs[1] = out(PlanNodeId(99));
    assert_eq!(flowmill_runtime::Plan::new(b.graph.clone()).err().unwrap().code(), Code::Internal);
}
