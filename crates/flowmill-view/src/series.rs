//! Groups of similar siblings, each of which becomes a scope of its own.
//!
//! Two scopes are similar if their names differ in the number at the end and their nodes have the same ops in the same scopes, such as the layers of a
//! network. Two nodes are similar if they have the same op, names that differ in the number at the end, and the same row in the layout of their scope, so that
//! no path leads from one to the other.

use crate::flat::FlatGraph;
use crate::layout::{self, Boxes};
use crate::meta_edges::MetaEdges;
use crate::scope_tree::{Child, ROOT, Scope, ScopeId, ScopeKind, ScopeTree};
use flowmill_graph::Role;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fewest siblings that become a series.
pub const MIN_SERIES: usize = 5;

/// The key of similar siblings: a digest of the structure, the row for nodes, and the name without its number.
type Similarity = (u64, u32, String);

/// Puts similar siblings of all scopes into scopes of their own. Returns true if there are any.
pub(crate) fn group(flat: &FlatGraph<'_>, tree: &mut ScopeTree, edges: &MetaEdges) -> bool {
    let digests = digests(flat, tree);
    let mut is_changed = false;
    for scope in tree.preorder() {
        if tree.scopes[scope as usize].children.len() < MIN_SERIES {
            continue;
        }
        let ranks = ranks(tree, edges, scope);
        let mut groups: BTreeMap<Similarity, Vec<usize>> = BTreeMap::new();
        for (place, &child) in tree.scopes[scope as usize].children.iter().enumerate() {
            let key = match child {
                Child::Scope(child) => {
                    let Scope { name, kind: ScopeKind::Names, .. } = &tree.scopes[child as usize] else { continue };
                    if child == ROOT || name == crate::flat::FUNCTIONS {
                        continue;
                    }
                    (digests[child as usize], u32::MAX, base(name).to_owned())
                }
                Child::Node(node) => {
                    let of_graph = flat.node(node).1;
                    if matches!(of_graph.role(), Role::Const | Role::NoOp | Role::Arg | Role::Retval) {
                        continue;
                    }
                    (digest(of_graph.op()), ranks[place], base(&tree.label(flat, node)).to_owned())
                }
            };
            groups.entry(key).or_default().push(place);
        }
        groups.retain(|_, members| members.len() >= MIN_SERIES);
        // A scope that consists of one series needs no other scope around it.
        let num_children = tree.scopes[scope as usize].children.len();
        groups.retain(|_, members| members.len() < num_children);
        if !groups.is_empty() {
            is_changed = true;
            make_series(flat, tree, scope, groups);
        }
    }
    if is_changed {
        tree.number();
    }
    is_changed
}

fn make_series(flat: &FlatGraph<'_>, tree: &mut ScopeTree, scope: ScopeId, groups: BTreeMap<Similarity, Vec<usize>>) {
    let mut children = std::mem::take(&mut tree.scopes[scope as usize].children);
    let mut is_moved = vec![false; children.len()];
    let mut series: Vec<(usize, String, Vec<usize>)> =
        groups.into_iter().map(|((_, _, name), members)| (members[0], name, members)).collect();
    series.sort_by_key(|(first, ..)| *first);
    let mut added = Vec::new();
    for (_, name, members) in series {
        let id = tree.scopes.len() as ScopeId;
        let moved: Vec<Child> = members.iter().map(|&place| children[place]).collect();
        for child in &moved {
            if let Child::Scope(child) = child {
                tree.scopes[*child as usize].parent = id;
            }
        }
        members.iter().for_each(|&place| is_moved[place] = true);
        let label = |child: &Child| match *child {
            Child::Node(node) => tree.label(flat, node),
            Child::Scope(child) => tree.scopes[child as usize].name.clone(),
        };
        let (first, last) = (moved.first().map(label).unwrap_or_default(), moved.last().map(label).unwrap_or_default());
        let number = |label: &str| label[base(label).len()..].trim_start_matches('_').to_owned();
        let (first, last) = (number(&first), number(&last));
        let name = format!("{name}[{}…{last}]", if first.is_empty() { "0" } else { &first });
        tree.scopes.push(Scope { name, kind: ScopeKind::Series, parent: scope, children: moved });
        added.push(Child::Scope(id));
    }
    let mut place = 0;
    children.retain(|_| {
        place += 1;
        !is_moved[place - 1]
    });
    children.extend(added);
    tree.scopes[scope as usize].children = children;
}

/// Returns a name without the number at its end, and without the underscore before that.
fn base(name: &str) -> &str {
    let without = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if without.len() < name.len() { without.strip_suffix('_').unwrap_or(without) } else { name }
}

fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Returns a digest of the ops and scopes in each scope. Their order and names do not count.
fn digests(flat: &FlatGraph<'_>, tree: &ScopeTree) -> Vec<u64> {
    let mut digests = vec![0u64; tree.scopes.len()];
    for scope in tree.preorder().into_iter().rev() {
        let of_child = |child: &Child| match *child {
            Child::Node(node) => digest(flat.node(node).1.op()),
            Child::Scope(child) => digest(digests[child as usize]),
        };
        let sum = tree.scopes[scope as usize].children.iter().map(of_child).fold(1u64, u64::wrapping_add);
        digests[scope as usize] = digest(sum);
    }
    digests
}

fn ranks(tree: &ScopeTree, edges: &MetaEdges, scope: ScopeId) -> Vec<u32> {
    let between = edges.of(scope).iter().filter(|edge| edge.src >= 0 && edge.dst >= 0);
    let (ends, is_back): (Vec<(u32, u32)>, Vec<bool>) = between.map(|e| ((e.src as u32, e.dst as u32), e.is_back)).unzip();
    let widths = vec![0.0; tree.scopes[scope as usize].children.len()];
    layout::ranks(&Boxes { widths: &widths, edges: &ends, is_back: &is_back, ..Boxes::default() })
}
