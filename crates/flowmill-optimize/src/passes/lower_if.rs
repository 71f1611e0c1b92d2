//! Replaces `If` by its branches, between `Switch` and `Merge` nodes.
//!
//! Before: `y = If(p, x) {then_branch=@f, else_branch=@g}`. After: `s:2 = Switch(x, p)`, the bodies of `f` on `s:1` and of `g` on `s:0`,
//! and a `Merge` of their results.
//!
//! Sound because the nodes of the branch that is not taken are dead: each has an input from a `Switch`, or waits for a pivot, which is an `Identity`
//! of the `Switch` of the predicate. The predicate waits for what the `If` waited for, and nodes that waited for the `If` wait for the effects of the
//! branch that is taken. A predicate of another type is converted to a truth value as TensorFlow does (`ToBool`). Branches that `inline_calls` would not
//! inline are not lowered, except that a branch marked `_noinline` becomes a call between the `Switch`es and the `Merge`s.
//!
//! Needs nothing to run before it.

use crate::lowering::{Body, Branch, CallColocation, Functions, Reason, add, lower_branches, type_attr};
use flowmill_graph::{Graph, NodeId, OutputId, Role};
use flowmill_proto::NameAttrList;
use flowmill_tensor::{DType, Result, bail};
use std::sync::Arc;

pub(crate) fn run(graph: &mut Graph, functions: &mut Functions) -> Result<usize> {
    let nodes = functions.candidates(graph, |n| n.role() == Role::If);
    if nodes.is_empty() {
        return Ok(0);
    }
    let liveness = functions.liveness(graph)?;
    let mut count = 0;
    for id in nodes {
        // By the output of the Switch that they take.
        let branches = ["else_branch", "then_branch"].map(|attr| branch(graph, functions, id, attr));
        match branches {
            [Ok(else_branch), Ok(then_branch)] => {
                let Some(predicate) = graph.input(id, 0) else { bail!(Internal, "an If without a predicate") };
                let colocation = CallColocation::of(graph, id);
                let truth = truth(graph, id, predicate)?;
                let branches = [Branch { name: "else".into(), body: else_branch }, Branch { name: "then".into(), body: then_branch }];
                lower_branches(graph, functions, id, (truth, "Switch"), &branches, &liveness)?;
                colocation.pass_on(graph)?;
                count += 1;
            }
            [Err(reason), _] | [_, Err(reason)] => functions.leave(id, reason),
        }
    }
    Ok(count)
}

/// Returns the predicate of an `If` as a truth value.
fn truth(graph: &mut Graph, id: NodeId, predicate: OutputId) -> Result<OutputId> {
    let dtype = graph.output_type(predicate)?.dtype;
    if dtype == DType::Bool {
        return Ok(predicate);
    }
    let (name, device) = (graph.node(id)?.name().to_owned(), graph.node(id)?.device().to_owned());
    Ok(add(graph, "ToBool", &format!("{name}/predicate"), &device, &[("T", type_attr(dtype))], &[predicate], &[])?.output(0))
}

fn branch(graph: &Graph, functions: &mut Functions, id: NodeId, attr: &str) -> std::result::Result<Arc<Body>, Reason> {
    let node = graph.get(id).ok_or(Reason::NotAFunction)?;
    let function = node.attrs().get::<&NameAttrList>(attr).map_err(|_| Reason::NotAFunction)?;
    let body = functions.body(graph, id, function)?;
    if body.fits(node, 1..) { Ok(body) } else { Err(Reason::OtherTypes) }
}
