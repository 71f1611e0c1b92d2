//! Reference variables on edges.

use crate::support::*;
use flowmill_runtime::executor::RunOptions;
use flowmill_runtime::plan::{FrameId, NodeKind, OutputType, PlanEdge};
use flowmill_runtime::{Cost, Kernel, KernelContext, RefVariable};
use flowmill_tensor::{Code, DType, PartialShape};
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
fn racing_additions_to_a_variable_all_count() {
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
