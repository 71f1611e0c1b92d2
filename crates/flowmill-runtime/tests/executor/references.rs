//! Reference variables on edges.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{DirectPlan, FrameId, NodeKind, OutputType, PlanEdge, PlanNodeId};
use flowmill_runtime::program::{FuseOptions, fuse};
use flowmill_runtime::{Cost, Kernel, KernelContext, Plan, RefVariable};
use flowmill_tensor::{Code, DType, Error, PartialShape, Result, Tensor};
use std::sync::Arc;

const ROOT: FrameId = FrameId::ROOT;
const INT_REF: OutputType = OutputType { dtype: DType::I64, is_ref: true };

fn variable(b: &mut Builder, variable: &Arc<RefVariable>) -> PlanEdge {
    let variable = variable.clone();
    let kernel = fun(move |ctx| {
        ctx.set_output(0, variable.to_edge("v"));
        Ok(())
    });
    let node = b.node("VariableV2", NodeKind::Op, ROOT, &[], 1, kernel);
    b.node_mut(node).outputs[0] = INT_REF;
    out(node)
}

fn assign_add(b: &mut Builder, reference: PlanEdge, value: PlanEdge) -> PlanEdge {
    let add: Arc<dyn Kernel> = Arc::new(Fun(
        |ctx: &mut KernelContext<'_>| {
            let added = ctx.input(1)?.to_scalar::<i64>()?;
            {
                let mut value = ctx.ref_input(0)?.lock();
                let old = value.as_ref().map_or(Ok(0), |t| t.to_scalar::<i64>())?;
                *value = Some(int(old + added));
            }
            ctx.forward(0, 0)
        },
        Cost::Expensive,
    ));
    let node = b.node("AssignAdd", NodeKind::Op, ROOT, &[reference, value], 1, Some(add));
    b.node_mut(node).takes_ref = vec![true, false];
    b.node_mut(node).outputs[0] = INT_REF;
    out(node)
}

fn new_variable(value: Option<i64>) -> Arc<RefVariable> {
    let variable = Arc::new(RefVariable::new(DType::I64, PartialShape::unknown()));
    *variable.lock() = value.map(int);
    variable
}

#[test]
fn behaviour_4_racing_additions_to_a_variable_all_count() {
    let mut b = Builder::new();
    let state = new_variable(Some(0));
    let reference = variable(&mut b, &state);
    let one = b.constant(ROOT, 1);
    for _ in 0..1024 {
        assign_add(&mut b, reference, one);
    }
    let plan = b.plan();
    for (i, options) in all_options().into_iter().enumerate() {
        plan.run(&Arc::new(step()), vec![], options).unwrap();
        assert_eq!(state.get().unwrap().to_scalar::<i64>().unwrap(), 1024 * (i as i64 + 1));
    }
}

#[test]
fn a_consumer_of_values_reads_the_variable_when_it_starts() {
    let mut b = Builder::new();
    let state = new_variable(Some(5));
    let reference = variable(&mut b, &state);
    let two = b.constant(ROOT, 2);
    let added = assign_add(&mut b, reference, two);
    // The handle passes through an Identity-like node unread; the value is read after the addition.
    let same = b.pass(ROOT, reference);
    b.node_mut(same).takes_ref = vec![true];
    b.node_mut(same).outputs[0] = INT_REF;
    let after = b.pass(ROOT, out(same));
    b.node_mut(after).controls = vec![control(added.node)];
    b.ret(out(after));
    b.ret(added);
    let plan = b.plan();
    assert_eq!(run_with(&plan, &[], RunOptions::default()).unwrap(), [Some(7), Some(7)]);
}

#[test]
fn an_uninitialised_variable_is_named() {
    let mut b = Builder::new();
    let reference = variable(&mut b, &new_variable(None));
    let read = b.pass(ROOT, reference);
    b.ret(out(read));
    let error = run_error(&b, &[]);
    assert_eq!(error.code(), Code::FailedPrecondition);
    assert!(error.message().contains("Attempting to use uninitialized value v"), "{error}");
    assert_eq!(error.op(), Some("Identity"));
}

/// The fused forms of a plan, run.
fn fused_forms(b: &Builder) -> Vec<Result<Vec<Option<Tensor>>>> {
    let run = |single_thread| {
        let fused = fuse(b.graph.clone(), FuseOptions { single_thread, ..FuseOptions::ALL }).unwrap();
        assert!(fused.nodes.iter().any(|n| matches!(n.kind, NodeKind::Program)), "nothing was fused");
        match DirectPlan::of(&fused) {
            Some(plan) => plan.run(&Arc::new(step()), vec![]),
            None => Arc::new(Plan::new(fused).unwrap()).run(&Arc::new(step()), vec![], RunOptions::default()),
        }
    };
    vec![run(false), run(true)]
}

/// The error of the plan and of its fused forms.
fn errors_in_every_form(b: &Builder) -> Vec<Error> {
    let mut errors = vec![run_error(b, &[])];
    errors.extend(fused_forms(b).into_iter().map(Result::unwrap_err));
    errors
}

#[track_caller]
fn assert_named(b: &Builder, node: PlanNodeId) {
    for error in errors_in_every_form(b) {
        assert_eq!(error.code(), Code::FailedPrecondition);
        assert_eq!(error.node(), Some(&*b.graph.nodes[node.0 as usize].name), "{error}");
    }
}

/// The error for an uninitialised variable names the node that reads it, also if that node is an instruction of a strand or the entry of a loop. It
/// does not name the strand.
#[test]
fn the_node_that_reads_a_variable_is_named_in_every_form() {
    // A node without a kernel at the edge of a strand.
    let mut b = Builder::new();
    let reference = variable(&mut b, &new_variable(None));
    let read = b.pass(ROOT, reference);
    let sum = b.add(ROOT, out(read), out(read));
    b.ret(out(sum));
    assert_named(&b, read);

    // A kernel, with the variable outside of the strand's first node.
    let mut b = Builder::new();
    let one = b.constant(ROOT, 1);
    let two = b.add(ROOT, one, one);
    let reference = variable(&mut b, &new_variable(None));
    let sum = b.add(ROOT, out(two), reference);
    b.ret(out(sum));
    assert_named(&b, sum);

    // A switch and a merge.
    let mut b = Builder::new();
    let reference = variable(&mut b, &new_variable(None));
    let one = b.constant(ROOT, 1);
    let switch = b.switch(ROOT, reference, one);
    let merge = b.merge(ROOT, &[out(switch), edge(switch, 1)]);
    b.ret(out(merge));
    assert_named(&b, switch);
    let mut b = Builder::new();
    let reference = variable(&mut b, &new_variable(None));
    let merge = b.merge(ROOT, &[reference]);
    let sum = b.add(ROOT, out(merge), out(merge));
    b.ret(out(sum));
    assert_named(&b, merge);

    // The entry of a loop.
    let mut b = Builder::new();
    let reference = variable(&mut b, &new_variable(None));
    let exits = b.while_loop(ROOT, 1, &[reference], |_, _, v| v[0], |b, f, v| vec![out(b.add(f, v[0], v[0]))]);
    b.ret(exits[0]);
    let enter = b.graph.nodes.iter().position(|n| matches!(n.kind, NodeKind::Enter { .. })).unwrap();
    assert_named(&b, PlanNodeId(enter as u32));
}

/// A node in a branch that was not taken reads no variable, whatever makes it dead.
#[test]
fn a_dead_node_reads_no_variable() {
    for shape in 0..4 {
        let mut b = Builder::new();
        let reference = variable(&mut b, &new_variable(None));
        let (seven, no) = (b.constant(ROOT, 7), b.constant(ROOT, 0));
        let switch = b.switch(ROOT, seven, no);
        let dead = b.pass(ROOT, edge(switch, 1));
        let read = match shape {
            0 => b.pass(ROOT, reference),
            1 => b.add(ROOT, reference, reference),
            2 => b.add(ROOT, reference, out(dead)),
            _ => b.switch(ROOT, reference, out(dead)),
        };
        if shape < 2 {
            b.node_mut(read).controls = vec![control(dead)];
        }
        let merge = b.merge(ROOT, &[out(switch), out(read)]);
        b.ret(out(merge));
        assert_eq!(run(&b, &[]), [Some(7)], "shape {shape}");
        for values in fused_forms(&b) {
            assert_eq!(values.unwrap()[0].as_ref().unwrap().to_scalar::<i64>().unwrap(), 7, "shape {shape}");
        }
    }
}

#[test]
fn a_panic_inside_of_a_strand_names_the_node() {
    let mut b = Builder::new();
    let one = b.constant(ROOT, 1);
    let two = b.add(ROOT, one, one);
    let bad = b.op(ROOT, &[out(two)], pure(|_| panic!("oh")));
    let after = b.add(ROOT, out(bad), one);
    b.ret(out(after));
    for error in errors_in_every_form(&b) {
        assert_eq!((error.code(), error.message()), (Code::Internal, "the kernel panicked: oh"));
        assert_eq!(error.node(), Some(&*b.graph.nodes[bad.0 as usize].name));
    }
}
