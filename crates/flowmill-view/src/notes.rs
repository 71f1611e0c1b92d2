//! Notes on scopes that are loops or conditionals.

use crate::flat::FlatGraph;
use crate::scope_tree::{Child, ROOT, ScopeId, ScopeTree};
use flowmill_graph::Role;
use std::collections::BTreeMap;

/// Returns notes on the scopes that hold a whole loop, or the two ends of a conditional.
pub(crate) fn notes(flat: &FlatGraph<'_>, tree: &ScopeTree) -> Vec<String> {
    let mut notes = vec![String::new(); tree.scopes.len()];
    let mut around: BTreeMap<(u32, u32), ScopeId> = BTreeMap::new();
    for number in 0..flat.nodes.len() as u32 {
        if let Some((part, frame)) = flat.frame(number) {
            let scope = tree.places[number as usize].0;
            let common = around.get(&(part, frame.0)).map_or(scope, |&other| tree.common(scope, other));
            around.insert((part, frame.0), common);
        }
    }
    for ((part, frame), scope) in around {
        let Some(frames) = &flat.parts[part as usize].frames else { continue };
        let frame = &frames.frames()[frame as usize];
        if scope != ROOT && notes[scope as usize].is_empty() {
            notes[scope as usize] = format!("loop {}, {} iterations in parallel", frame.name, frame.parallel_iterations);
        }
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
