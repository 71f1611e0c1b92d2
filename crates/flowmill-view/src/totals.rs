//! Sums over the nodes of each scope.

use crate::facts::Facts;
use crate::flat::FlatGraph;
use crate::scope_tree::{Child, ScopeTree};

/// The sums of one scope, or the values of one node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The number of nodes.
    pub num_nodes: u64,
    /// The bytes of constants and variables, estimated.
    pub resident_bytes: u64,
    /// The arithmetic operations per step, estimated.
    pub operations: f64,
    /// The bytes of all outputs per step, estimated.
    pub output_bytes: u64,
    /// The measured nanoseconds.
    pub nanoseconds: u64,
    /// The measured bytes.
    pub bytes: u64,
}

impl Totals {
    /// Adds other sums.
    pub fn add(&mut self, other: &Totals) {
        self.num_nodes += other.num_nodes;
        self.resident_bytes = self.resident_bytes.saturating_add(other.resident_bytes);
        self.operations += other.operations;
        self.output_bytes = self.output_bytes.saturating_add(other.output_bytes);
        self.nanoseconds = self.nanoseconds.saturating_add(other.nanoseconds);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Returns the values of each node.
pub(crate) fn of_nodes(flat: &FlatGraph<'_>, facts: &Facts) -> Vec<Totals> {
    let of_node = |number: u32| {
        let (part, node) = flat.node(number);
        let estimate = part.costs.as_ref().and_then(|costs| costs.estimate(node.id()));
        let cost = if part.function.is_none() { facts.costs.get(node.name()).copied().unwrap_or_default() } else { Default::default() };
        Totals {
            num_nodes: 1,
            resident_bytes: estimate.map_or(0, |e| e.resident),
            operations: estimate.map_or(0.0, |e| e.operations),
            output_bytes: estimate.map_or(0, |e| e.outputs.iter().copied().fold(0, u64::saturating_add)),
            nanoseconds: cost.nanoseconds,
            bytes: cost.bytes,
        }
    };
    (0..flat.nodes.len() as u32).map(of_node).collect()
}

/// Returns the sums of each scope.
pub(crate) fn of_scopes(tree: &ScopeTree, nodes: &[Totals]) -> Vec<Totals> {
    let mut totals = vec![Totals::default(); tree.scopes.len()];
    for scope in tree.preorder().into_iter().rev() {
        let mut sum = Totals::default();
        for child in &tree.scopes[scope as usize].children {
            sum.add(match *child {
                Child::Node(node) => &nodes[node as usize],
                Child::Scope(child) => &totals[child as usize],
            });
        }
        totals[scope as usize] = sum;
    }
    totals
}
