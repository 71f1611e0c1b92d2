//! Cycles on import.

use super::{Plan, SourceNode};
use flowmill_proto::NodeDef;
use flowmill_tensor::{Result, bail};

/// Names that a message about a cycle lists.
const NAMES_SHOWN: usize = 10;

/// Returns true if an edge between two nodes of the message closes a loop, which is not a cycle: from `NextIteration` into `Merge`.
pub(super) fn is_back_edge(nodes: &[NodeDef], src: usize, dst: usize) -> bool {
    matches!(&*nodes[dst].op, "Merge" | "RefMerge") && matches!(&*nodes[src].op, "NextIteration" | "RefNextIteration")
}

/// Checks that there are no cycles but loops.
pub(super) fn check_cycles(nodes: &[NodeDef], plan: &Plan) -> Result<()> {
    // Messages are nearly always in an order that shows it.
    let is_later = |i: usize| {
        plan.sources(i).iter().any(|s| matches!(s.node, SourceNode::Imported(p) if p as usize >= i && !is_back_edge(nodes, p as usize, i)))
    };
    if (0..nodes.len()).any(is_later) { check_by_counting(nodes, plan) } else { Ok(()) }
}

/// Takes away nodes whose inputs are all taken away; what is left is on a cycle or behind one.
fn check_by_counting(nodes: &[NodeDef], plan: &Plan) -> Result<()> {
    let inputs = |i: usize| {
        let imported = plan.sources(i).iter().filter_map(|s| match s.node {
            SourceNode::Imported(place) => Some(place as usize),
            SourceNode::Existing(_) => None,
        });
        imported.filter(move |&src| !is_back_edge(nodes, src, i))
    };
    let mut pending = vec![0u32; nodes.len()];
    let mut starts = vec![0usize; nodes.len() + 1];
    for (i, count) in pending.iter_mut().enumerate() {
        for src in inputs(i) {
            *count += 1;
            starts[src + 1] += 1;
        }
    }
    for i in 0..nodes.len() {
        starts[i + 1] += starts[i];
    }
    let mut consumers = vec![0u32; starts[nodes.len()]];
    let mut next = starts.clone();
    for i in 0..nodes.len() {
        for src in inputs(i) {
            consumers[next[src]] = i as u32;
            next[src] += 1;
        }
    }
    let mut ready: Vec<u32> = (0..nodes.len() as u32).filter(|&i| pending[i as usize] == 0).collect();
    let mut done = 0;
    while let Some(i) = ready.pop() {
        done += 1;
        for &consumer in &consumers[starts[i as usize]..starts[i as usize + 1]] {
            pending[consumer as usize] -= 1;
            if pending[consumer as usize] == 0 {
                ready.push(consumer);
            }
        }
    }
    let left = nodes.len() - done;
    if left == 0 {
        return Ok(());
    }
    let names: Vec<&str> = (0..nodes.len()).filter(|&i| pending[i] > 0).take(NAMES_SHOWN).map(|i| &*nodes[i].name).collect();
    let more = if left > NAMES_SHOWN { ", …" } else { "" };
    bail!(InvalidArgument, "Graph is invalid, contains a cycle with {left} nodes, including: {}{more}", names.join(", "))
}
