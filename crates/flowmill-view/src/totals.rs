//! Sums over the nodes of each scope.

use crate::facts::{Facts, NodeCost};
use crate::flat::FlatGraph;
use crate::scope_tree::{Child, ScopeTree};
use flowmill_graph::FxHashMap;

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

/// Returns the measured costs of the graph's nodes by their numbers. Nodes that a pass has inlined from a call have its name as a prefix: their costs are
/// those of the call, unless that was measured itself.
fn measured(flat: &FlatGraph<'_>, facts: &Facts) -> FxHashMap<u32, NodeCost> {
    let mut measured: FxHashMap<u32, NodeCost> = FxHashMap::default();
    if facts.costs.is_empty() {
        return measured;
    }
    let of_graph = (0..flat.nodes.len() as u32).filter(|&number| flat.node(number).0.function.is_none());
    let numbers: FxHashMap<&str, u32> = of_graph.map(|number| (flat.node(number).1.name(), number)).collect();
    for (name, cost) in &facts.costs {
        let own = numbers.get(name.as_str()).copied();
        let call = || {
            let prefixes = name.rmatch_indices('/').filter_map(|(end, _)| Some((&name[..end], *numbers.get(&name[..end])?)));
            let mut calls = prefixes.filter(|&(_, number)| calls_functions(flat, number));
            calls.next().filter(|(call, _)| !facts.costs.contains_key(*call)).map(|(_, number)| number)
        };
        if let Some(number) = own.or_else(call) {
            measured.entry(number).or_default().add(cost);
        }
    }
    measured
}

fn calls_functions(flat: &FlatGraph<'_>, number: u32) -> bool {
    let (part, node) = flat.node(number);
    part.graph.library().get(node.op()).is_some() || node.attrs().values().any(|value| !value.functions().is_empty())
}

/// Returns the values of each node.
pub(crate) fn of_nodes(flat: &FlatGraph<'_>, facts: &Facts) -> Vec<Totals> {
    let costs = measured(flat, facts);
    let of_node = |number: u32| {
        let (part, node) = flat.node(number);
        let estimate = part.costs.as_ref().and_then(|costs| costs.estimate(node.id()));
        let cost = costs.get(&number).copied().unwrap_or_default();
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
