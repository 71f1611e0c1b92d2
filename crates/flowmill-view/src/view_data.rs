//! The data of one graph as the page reads it: `page/data.js` is the other side.
//!
//! The scopes are in *chunks*, each of which the page unpacks when one of its scopes is opened. A chunk has scopes that follow each other in depth-first
//! order. Nodes are numbered in the same order, so that those of a scope, and those below it, have consecutive numbers.

use crate::arrange::{Arrangement, arrange};
use crate::blocks::Blocks;
use crate::details::Details;
use crate::facets::{Facet, Facets};
use crate::facts::{Change, Facts};
use crate::flat::{EdgeKind, FlatGraph};
use crate::layout::Style;
use crate::meta_edges::{MetaEdge, MetaEdges};
use crate::notes::notes;
use crate::scope_tree::{Child, ROOT, ScopeId, ScopeKind, ScopeTree};
use crate::totals::{self, Totals};
use crate::{View, series};
use flowmill_graph::{Node, Role};
use serde::Serialize;

/// A chunk ends after this many children and edges.
const CHUNK_SIZE: usize = 4000;

/// The description of a graph that the page needs at once.
#[derive(Serialize)]
pub(crate) struct ViewSummary {
    name: String,
    about: String,
    ops: Vec<String>,
    devices: Vec<String>,
    dtypes: Vec<String>,
    passes: Vec<String>,
    num_nodes: usize,
    num_edges: usize,
    num_scopes: usize,
    num_chunks: usize,
    skipped_functions: usize,
    totals: TotalsData,
    root: SubScope,
    /// The greatest time and the greatest bytes of a node.
    max_nanoseconds: u64,
    max_bytes: u64,
    is_measured: bool,
    /// The passes that ran, with their numbers of changes.
    pass_report: Vec<(String, usize)>,
}

#[derive(Serialize)]
struct TotalsData {
    n: u64,
    t: u64,
    b: u64,
    ops: f64,
    res: u64,
    out: u64,
}

impl From<&Totals> for TotalsData {
    fn from(totals: &Totals) -> TotalsData {
        let Totals { num_nodes, resident_bytes, operations, output_bytes, nanoseconds, bytes } = *totals;
        TotalsData { n: num_nodes, t: nanoseconds, b: bytes, ops: operations, res: resident_bytes, out: output_bytes }
    }
}

/// A scope as its parent shows it.
#[derive(Serialize)]
struct SubScope {
    id: ScopeId,
    name: String,
    kind: u8,
    chunk: u32,
    /// The number of its first node.
    first: u32,
    #[serde(flatten)]
    totals: TotalsData,
    ops_of: Vec<(u32, u32)>,
    devices: Vec<(u32, u32)>,
    dtypes: Vec<(u32, u32)>,
    passes: Vec<(u32, u32)>,
    /// A loop's frame, or a conditional.
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// A scope with its children, edges and layout.
#[derive(Serialize)]
struct ScopeData {
    id: ScopeId,
    parent: ScopeId,
    /// The number of the first node.
    first: u32,
    names: Vec<String>,
    ops: Vec<u32>,
    devices: Vec<u32>,
    dtypes: Vec<u32>,
    roles: Vec<u8>,
    passes: Vec<u32>,
    changes: Vec<u8>,
    /// 1 for each node of a loop; empty if there are none.
    loops: Vec<u8>,
    times: Vec<u64>,
    bytes: Vec<u64>,
    operations: Vec<u64>,
    scopes: Vec<SubScope>,
    #[serde(rename = "src")]
    edge_src: Vec<i32>,
    #[serde(rename = "dst")]
    edge_dst: Vec<i32>,
    #[serde(rename = "kinds")]
    edge_kinds: Vec<u8>,
    #[serde(rename = "counts")]
    edge_counts: Vec<u32>,
    #[serde(rename = "labels")]
    edge_labels: Vec<String>,
    /// The number of bends of each edge, and 1 for an edge that points up.
    bends: Vec<u32>,
    up: Vec<u8>,
    is_grid: bool,
    widths: Vec<u32>,
    rows: Vec<Vec<i64>>,
    xs: Vec<Vec<i32>>,
    hubs: Vec<u32>,
    attached: Vec<(u32, u32)>,
}

/// Adds a view's blocks, whose names begin with `prefix`. Returns its description.
pub(crate) fn write(view: &View<'_>, prefix: &str, blocks: &mut Blocks) -> ViewSummary {
    let flat = FlatGraph::new(view.graph);
    let mut tree = ScopeTree::new(&flat);
    let mut edges = MetaEdges::new(&flat, &tree);
    if series::group(&flat, &mut tree, &edges) {
        edges = MetaEdges::new(&flat, &tree);
    }
    let nodes = totals::of_nodes(&flat, view.facts);
    let scopes = totals::of_scopes(&tree, &nodes);
    let writer = Writer::new(flat, tree, edges, nodes, scopes, view.facts);
    writer.write_chunks(prefix, blocks);
    writer.write_index(prefix, blocks);
    let Writer { flat, totals_of_nodes, facets, chunks, .. } = &writer;
    ViewSummary {
        name: view.name.to_owned(),
        about: view.about.to_owned(),
        root: writer.sub_scope(ROOT),
        totals: (&writer.totals_of_scopes[ROOT as usize]).into(),
        ops: facets.values(Facet::Op).to_vec(),
        devices: facets.values(Facet::Device).to_vec(),
        dtypes: facets.values(Facet::DType).to_vec(),
        passes: facets.values(Facet::Pass).to_vec(),
        num_nodes: flat.nodes.len(),
        num_edges: flat.edges.len(),
        num_scopes: writer.preorder.len(),
        num_chunks: chunks.last().map_or(0, |&last| last as usize + 1),
        skipped_functions: flat.skipped_functions.len(),
        max_nanoseconds: totals_of_nodes.iter().map(|t| t.nanoseconds).max().unwrap_or(0),
        max_bytes: totals_of_nodes.iter().map(|t| t.bytes).max().unwrap_or(0),
        is_measured: !view.facts.costs.is_empty(),
        pass_report: view.passes.to_vec(),
    }
}

struct Writer<'a> {
    flat: FlatGraph<'a>,
    tree: ScopeTree,
    edges: MetaEdges,
    totals_of_nodes: Vec<Totals>,
    totals_of_scopes: Vec<Totals>,
    facts: &'a Facts,
    facets: Facets,
    /// The scopes from the root in depth-first order.
    preorder: Vec<ScopeId>,
    /// The chunk of each scope of `preorder`.
    chunks: Vec<u32>,
    chunk_of: Vec<u32>,
    /// The number of each node on the page.
    numbers: Vec<u32>,
    /// The number of the first node of each scope on the page.
    firsts: Vec<u32>,
    notes: Vec<String>,
}

impl<'a> Writer<'a> {
    fn new(
        flat: FlatGraph<'a>,
        tree: ScopeTree,
        edges: MetaEdges,
        totals_of_nodes: Vec<Totals>,
        totals_of_scopes: Vec<Totals>,
        facts: &'a Facts,
    ) -> Writer<'a> {
        let (preorder, n) = (tree.preorder(), tree.scopes.len());
        let (mut numbers, mut firsts, mut next) = (vec![0; flat.nodes.len()], vec![0; n], 0u32);
        let (mut chunks, mut chunk_of, mut chunk, mut size) = (Vec::with_capacity(n), vec![0; n], 0, 0);
        for &scope in &preorder {
            firsts[scope as usize] = next;
            let children = &tree.scopes[scope as usize].children;
            for child in children {
                if let Child::Node(node) = child {
                    numbers[*node as usize] = next;
                    next += 1;
                }
            }
            if size > CHUNK_SIZE {
                (chunk, size) = (chunk + 1, 0);
            }
            size += children.len() + edges.of(scope).len();
            chunks.push(chunk);
            chunk_of[scope as usize] = chunk;
        }
        Writer {
            facets: Facets::new(&flat, &tree, &preorder, facts),
            notes: notes(&flat, &tree),
            flat,
            tree,
            edges,
            totals_of_nodes,
            totals_of_scopes,
            facts,
            preorder,
            chunks,
            chunk_of,
            numbers,
            firsts,
        }
    }

    fn write_chunks(&self, prefix: &str, blocks: &mut Blocks) {
        let mut start = 0;
        for group in self.chunks.chunk_by(|a, b| a == b) {
            let scopes = &self.preorder[start..start + group.len()];
            start += group.len();
            let chunk = group.first().copied().unwrap_or(0);
            let data: Vec<ScopeData> = scopes.iter().map(|&scope| self.scope(scope)).collect();
            blocks.add_json(&format!("{prefix}c{chunk}"), &data);
            let nodes = scopes.iter().flat_map(|&scope| self.nodes(scope));
            let details: Vec<Details> = nodes.map(|node| Details::new(&self.flat, node)).collect();
            blocks.add_json(&format!("{prefix}d{chunk}"), &details);
        }
    }

    fn nodes(&self, scope: ScopeId) -> impl Iterator<Item = u32> + Clone {
        self.tree.scopes[scope as usize].children.iter().filter_map(|child| match *child {
            Child::Node(node) => Some(node),
            Child::Scope(_) => None,
        })
    }

    fn scope(&self, scope: ScopeId) -> ScopeData {
        let edges = self.edges.of(scope);
        let Arrangement { style, widths, rows, centres, hubs, attached, routes } =
            arrange(&self.flat, &self.tree, &self.totals_of_scopes, scope, edges);
        let nodes = self.nodes(scope);
        let facets = |facet: Facet| nodes.clone().map(|node| self.facets.of_node(node, facet)).collect();
        let totals = |f: fn(&Totals) -> u64| {
            let values: Vec<u64> = nodes.clone().map(|node| f(&self.totals_of_nodes[node as usize])).collect();
            if values.iter().all(|&value| value == 0) { Vec::new() } else { values }
        };
        let is_function = |node: u32| self.flat.node(node).0.function.is_some();
        let change = |node: u32| {
            let found = self.facts.changes.get(self.flat.node(node).1.name()).filter(|_| !is_function(node));
            found.map_or(0, |(_, change)| match change {
                Change::Added => 1,
                Change::Changed => 2,
                Change::Removed => 3,
            })
        };
        let loops: Vec<u8> = nodes.clone().map(|node| u8::from(self.flat.frame(node).is_some())).collect();
        let scopes = self.tree.scopes[scope as usize].children.iter().filter_map(|child| match *child {
            Child::Scope(child) => Some(self.sub_scope(child)),
            Child::Node(_) => None,
        });
        ScopeData {
            id: scope,
            parent: self.tree.scopes[scope as usize].parent,
            first: self.firsts[scope as usize],
            names: nodes.clone().map(|node| self.tree.label(&self.flat, node)).collect(),
            ops: facets(Facet::Op),
            devices: facets(Facet::Device),
            dtypes: facets(Facet::DType),
            roles: nodes.clone().map(|node| shape(self.flat.node(node).1)).collect(),
            passes: facets(Facet::Pass),
            changes: nodes.clone().map(change).collect(),
            loops: if loops.contains(&1) { loops } else { Vec::new() },
            times: totals(|t| t.nanoseconds),
            bytes: totals(|t| t.bytes),
            operations: totals(|t| t.operations as u64),
            scopes: scopes.collect(),
            edge_src: edges.iter().map(|e| e.src).collect(),
            edge_dst: edges.iter().map(|e| e.dst).collect(),
            edge_kinds: edges.iter().map(|e| e.kind as u8).collect(),
            edge_counts: edges.iter().map(|e| e.count).collect(),
            edge_labels: edges.iter().map(|e| self.edge_label(e)).collect(),
            bends: routes.iter().map(|(bends, _)| *bends).collect(),
            up: routes.iter().map(|(_, up)| u8::from(*up)).collect(),
            is_grid: style == Style::Grid,
            widths: widths.iter().map(|w| w.round() as u32).collect(),
            rows,
            xs: centres.iter().map(|row| row.iter().map(|x| x.round() as i32).collect()).collect(),
            hubs,
            attached,
        }
    }

    fn edge_label(&self, edge: &MetaEdge) -> String {
        match (edge.kind, edge.num_tensors) {
            (EdgeKind::Control, _) => String::new(),
            (_, 1) => self.flat.tensor_text(edge.tensor.0, edge.tensor.1),
            (_, n) => format!("{n} tensors"),
        }
    }

    fn sub_scope(&self, scope: ScopeId) -> SubScope {
        let of_tree = &self.tree.scopes[scope as usize];
        SubScope {
            id: scope,
            name: of_tree.name.clone(),
            kind: match of_tree.kind {
                ScopeKind::Names => 0,
                ScopeKind::Function => 1,
                ScopeKind::Series => 2,
            },
            chunk: self.chunk_of[scope as usize],
            first: self.firsts[scope as usize],
            totals: (&self.totals_of_scopes[scope as usize]).into(),
            ops_of: self.facets.counts(scope, Facet::Op),
            devices: self.facets.counts(scope, Facet::Device),
            dtypes: self.facets.counts(scope, Facet::DType),
            passes: self.facets.counts(scope, Facet::Pass),
            note: self.notes[scope as usize].clone(),
        }
    }

    /// Writes what search and paths need: the names of all nodes and scopes, the tree, and the edges between nodes.
    fn write_index(&self, prefix: &str, blocks: &mut Blocks) {
        #[derive(Serialize)]
        struct Names {
            nodes: String,
            scopes: Vec<String>,
            /// The numbers of the scopes in depth-first order.
            preorder: Vec<ScopeId>,
        }
        let order: Vec<u32> = self.preorder.iter().flat_map(|&scope| self.nodes(scope)).collect();
        let labels: Vec<String> = order.iter().map(|&node| self.tree.label(&self.flat, node).replace('\n', " ")).collect();
        let scopes = self.preorder.iter().map(|&scope| self.tree.scopes[scope as usize].name.clone()).collect();
        blocks.add_json(&format!("{prefix}n"), &Names { nodes: labels.join("\n"), scopes, preorder: self.preorder.clone() });
        let rows = self.preorder.iter().flat_map(|&scope| {
            let of_tree = &self.tree.scopes[scope as usize];
            let kind = u32::from(of_tree.kind == ScopeKind::Series);
            [of_tree.parent, self.firsts[scope as usize], self.nodes(scope).count() as u32, self.chunk_of[scope as usize], kind]
        });
        blocks.add_numbers(&format!("{prefix}s"), rows);
        blocks.add_numbers(&format!("{prefix}o"), order.iter().map(|&node| self.facets.of_node(node, Facet::Op)));
        let mut ends: Vec<(u32, u32)> =
            self.flat.edges.iter().map(|e| (self.numbers[e.src as usize], self.numbers[e.dst as usize])).collect();
        ends.sort_unstable();
        ends.dedup();
        blocks.add_numbers(&format!("{prefix}e"), ends.into_iter().flat_map(|(src, dst)| [src, dst]));
    }
}

/// Returns the number of the shape that the page draws a node in.
fn shape(node: &Node) -> u8 {
    match node.role() {
        Role::Const => 1,
        Role::Placeholder | Role::PlaceholderWithDefault | Role::Arg => 2,
        Role::Retval => 3,
        Role::NoOp | Role::ControlTrigger => 4,
        Role::Switch => 5,
        Role::Merge => 6,
        Role::Enter => 7,
        Role::Exit => 8,
        Role::NextIteration => 9,
        Role::LoopCond => 10,
        Role::Call | Role::SymbolicGradient => 11,
        Role::If | Role::Case => 12,
        Role::While | Role::For => 13,
        Role::Send => 14,
        Role::Recv => 15,
        Role::Kernel if node.attrs().values().any(|value| !value.functions().is_empty()) => 11,
        Role::Kernel if node.op_def().is_stateful() => 16,
        Role::Kernel => 0,
    }
}
