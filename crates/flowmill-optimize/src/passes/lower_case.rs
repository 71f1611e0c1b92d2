//! Replaces `Case` by its branches, between `_SwitchN` and `Merge` nodes.
//!
//! Before: `y = Case(i, x) {branches=[@f, @g, @h]}`. After: `s:3 = _SwitchN(x, i)`, the bodies on its outputs, a `Merge` of their results.
//!
//! Sound for the reasons given in `lower_if`. An index out of range selects the last branch, which `_SwitchN` does as well.
//!
//! Needs nothing to run before it.

use crate::lowering::{Body, Branch, CallColocation, Functions, Reason, lower_branches};
use flowmill_graph::{Graph, NodeId, Role};
use flowmill_proto::NameAttrList;
use flowmill_tensor::{Result, bail};
use std::sync::Arc;

pub(crate) fn run(graph: &mut Graph, functions: &mut Functions) -> Result<usize> {
    let nodes = functions.candidates(graph, |n| n.role() == Role::Case);
    if nodes.is_empty() {
        return Ok(0);
    }
    let liveness = functions.liveness(graph)?;
    let mut count = 0;
    for id in nodes {
        match branches(graph, functions, id) {
            Ok(bodies) => {
                let Some(index) = graph.input(id, 0) else { bail!(Internal, "a Case without an index") };
                let branches: Vec<Branch> =
                    bodies.into_iter().enumerate().map(|(i, body)| Branch { name: format!("branch{i}"), body }).collect();
                let colocation = CallColocation::of(graph, id);
                lower_branches(graph, functions, id, (index, "_SwitchN"), &branches, &liveness)?;
                colocation.pass_on(graph)?;
                count += 1;
            }
            Err(reason) => functions.leave(id, reason),
        }
    }
    Ok(count)
}

fn branches(graph: &Graph, functions: &mut Functions, id: NodeId) -> std::result::Result<Vec<Arc<Body>>, Reason> {
    let node = graph.get(id).ok_or(Reason::NotAFunction)?;
    let branches = node.attrs().list::<&NameAttrList>("branches").map_err(|_| Reason::NotAFunction)?;
    let mut bodies = Vec::with_capacity(branches.len());
    for function in branches {
        let body = functions.body(graph, id, function)?;
        if !body.fits(node, 1..) {
            return Err(Reason::OtherTypes);
        }
        bodies.push(body);
    }
    if bodies.is_empty() { Err(Reason::NotAFunction) } else { Ok(bodies) }
}
