//! Notes on scopes that are loops or conditionals.

use crate::flat::FlatGraph;
use crate::scope_tree::{Child, ROOT, ScopeId, ScopeTree};
use flowmill_graph::{FxHashMap, NodeId, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Returns notes on the scopes that hold loops, or the two ends of a conditional.
pub(crate) fn notes(flat: &FlatGraph<'_>, tree: &ScopeTree) -> Vec<String> {
    let mut notes = vec![String::new(); tree.scopes.len()];
    for (scope, loops) in loops(flat, tree).into_iter().filter(|(scope, _)| *scope != ROOT) {
        notes[scope as usize] = match &loops[..] {
            [first] => first.clone(),
            [first, ..] => format!("{first}, and {} more", loops.len() - 1),
            [] => continue,
        };
    }
    for (id, scope) in tree.scopes.iter().enumerate().skip(1) {
        let has = |role: Role| {
            scope
                .children
                .iter()
                .any(|child| matches!(child, Child::Node(node) if flat.node(*node).1.role() == role && flat.frame(*node).is_none()))
        };
        if notes[id].is_empty() && has(Role::Merge) && has(Role::Switch) {
            notes[id] = "conditional".to_owned();
        }
    }
    notes
}

/// Returns the loops of each scope: those whose conditions, from the `Merge`s to the `LoopCond`, are in the scope. Other nodes of a loop may be elsewhere: a
/// gradient adds counters and stacks to the loop that it differentiates.
fn loops(flat: &FlatGraph<'_>, tree: &ScopeTree) -> BTreeMap<ScopeId, Vec<String>> {
    let mut loops: BTreeMap<ScopeId, Vec<String>> = BTreeMap::new();
    let conditions: Vec<u32> = (0..flat.nodes.len() as u32).filter(|&number| flat.node(number).1.role() == Role::LoopCond).collect();
    if conditions.is_empty() {
        return loops;
    }
    let numbers: FxHashMap<(u32, NodeId), u32> = flat.nodes.iter().zip(0..).map(|(node, number)| ((node.part, node.id), number)).collect();
    for condition in conditions {
        let Some((part, frame)) = flat.frame(condition) else { continue };
        let Some(frames) = &flat.parts[part as usize].frames else { continue };
        let mut scope = tree.places[condition as usize].0;
        let (mut seen, mut stack) = (BTreeSet::from([condition]), vec![condition]);
        while let Some(node) = stack.pop() {
            scope = tree.common(scope, tree.places[node as usize].0);
            if flat.node(node).1.role() == Role::Merge {
                continue;
            }
            let inputs = flat.parts[part as usize].graph.inputs(flat.nodes[node as usize].id);
            let inputs = inputs.filter_map(|tensor| numbers.get(&(part, tensor.node)).copied());
            stack.extend(inputs.filter(|&input| flat.frame(input) == Some((part, frame)) && seen.insert(input)));
        }
        let frame = &frames.frames()[frame.0 as usize];
        let note = format!("loop {}, {} iterations in parallel", frame.name, frame.parallel_iterations);
        loops.entry(scope).or_default().push(note);
    }
    loops
}
