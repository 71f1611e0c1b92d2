//! The values by which the page filters and colours nodes, as numbers.

use crate::facts::Facts;
use crate::flat::FlatGraph;
use crate::scope_tree::{Child, ScopeId, ScopeTree};
use flowmill_graph::FxHashMap;
use std::collections::BTreeMap;

/// A property of a node with few values in a graph.
#[derive(Clone, Copy)]
pub(crate) enum Facet {
    Op,
    Device,
    /// The type of the first output.
    DType,
    /// The first pass that changed the node: 0 for none, else the number of the pass plus 1.
    Pass,
}

const NUM_FACETS: usize = 4;

/// The facets of the nodes of a graph, and how often scopes have each value, with the scopes below them.
pub(crate) struct Facets {
    values: [Texts; NUM_FACETS],
    of_nodes: Vec<[u32; NUM_FACETS]>,
    of_scopes: Vec<[BTreeMap<u32, u32>; NUM_FACETS]>,
}

impl Facets {
    /// Finds the facets. `preorder` has a scope before those in it.
    pub(crate) fn new(flat: &FlatGraph<'_>, tree: &ScopeTree, preorder: &[ScopeId], facts: &Facts) -> Facets {
        let mut values: [Texts; NUM_FACETS] = Default::default();
        let mut of_nodes = Vec::with_capacity(flat.nodes.len());
        for number in 0..flat.nodes.len() as u32 {
            let (part, node) = flat.node(number);
            let is_in_graph = part.function.is_none();
            let device = facts.devices.get(node.name()).filter(|_| is_in_graph).map_or(node.device(), String::as_str);
            let change = facts.changes.get(node.name()).filter(|_| is_in_graph);
            let [ops, devices, dtypes, passes] = &mut values;
            of_nodes.push([
                ops.number(node.op()),
                devices.number(device),
                dtypes.number(node.output_types().first().map_or("", |t| t.dtype.name())),
                change.map_or(0, |(pass, _)| passes.number(pass) + 1),
            ]);
        }
        let mut of_scopes: Vec<[BTreeMap<u32, u32>; NUM_FACETS]> = vec![Default::default(); tree.scopes.len()];
        for scope in preorder.iter().rev().map(|&scope| scope as usize) {
            let mut sums: [BTreeMap<u32, u32>; NUM_FACETS] = Default::default();
            for child in &tree.scopes[scope].children {
                for (facet, sum) in sums.iter_mut().enumerate() {
                    match *child {
                        Child::Node(node) => *sum.entry(of_nodes[node as usize][facet]).or_default() += 1,
                        Child::Scope(child) => {
                            of_scopes[child as usize][facet].iter().for_each(|(value, n)| *sum.entry(*value).or_default() += n);
                        }
                    }
                }
            }
            of_scopes[scope] = sums;
        }
        Facets { values, of_nodes, of_scopes }
    }

    /// Returns the texts of the values, by their numbers.
    pub(crate) fn values(&self, facet: Facet) -> &[String] {
        &self.values[facet as usize].texts
    }

    /// Returns the number of a node's value.
    pub(crate) fn of_node(&self, node: u32, facet: Facet) -> u32 {
        self.of_nodes[node as usize][facet as usize]
    }

    /// Returns the values of the nodes in a scope with the numbers of their nodes, the most frequent first.
    pub(crate) fn counts(&self, scope: ScopeId, facet: Facet) -> Vec<(u32, u32)> {
        let counts = &self.of_scopes[scope as usize][facet as usize];
        let mut sorted: Vec<(u32, u32)> = counts.iter().map(|(value, n)| (*value, *n)).collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        sorted
    }
}

/// Numbers of texts that occur often.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
