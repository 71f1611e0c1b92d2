//! Compares the catalogue's gradients with those that TensorFlow has.

use flowmill::builder::gradients::OpGradient;
use std::collections::BTreeMap;

/// The entries of TensorFlow 2.21's registry of gradients: an op and `fn`, or `none` for one that is not differentiable.
const TENSORFLOW: &str = include_str!("tensorflow.txt");
/// Ops of the catalogue that have no gradient where TensorFlow has one, and why.
const MISSING: &str = include_str!("missing.txt");

#[test]
fn what_has_no_gradient_is_listed_with_a_reason() {
    let graph = flowmill::new_graph().unwrap();
    // Of an op that is not declared here, nothing but the signature is known.
    let declared = graph.registry().names();
    let mut missing = Vec::new();
    for line in TENSORFLOW.lines() {
        let (op, kind) = line.split_once(' ').unwrap();
        let Some(op_def) = graph.op_def(op).ok().filter(|_| declared.contains(&op)) else { continue };
        // What the walk itself differentiates.
        let is_control_flow = matches!(
            op.trim_start_matches("Ref").trim_start_matches("Stateless"),
            "Switch" | "Merge" | "Enter" | "Exit" | "NextIteration" | "LoopCond" | "If" | "Case" | "While"
        );
        let agrees = match (op_def.gradient, kind) {
            (OpGradient::Undefined, _) => is_control_flow,
            (OpGradient::NotDifferentiable, _) => true,
            // That of StopGradient says so.
            (OpGradient::Function(_), kind) => kind == "fn" || op == "StopGradient",
        };
        if !agrees {
            missing.push(op);
        }
    }
    let reasons: BTreeMap<&str, &str> = MISSING.lines().map(|line| line.split_once(": ").unwrap()).collect();
    assert_eq!(missing, reasons.keys().copied().collect::<Vec<_>>(), "missing, and listed as missing");
}
