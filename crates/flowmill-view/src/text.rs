//! The tree of scopes as text and as HTML.

use crate::facts::Facts;
use crate::flat::FlatGraph;
use crate::meta_edges::MetaEdges;
use crate::page::escape;
use crate::scope_tree::{Child, ROOT, ScopeId, ScopeTree};
use crate::series;
use crate::totals::{self, Totals};
use flowmill_graph::Graph;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The limits of a tree of scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeOptions {
    /// The levels of scopes below the root.
    pub max_depth: usize,
    /// The most lines per scope. A further line counts the children that are left out.
    pub max_children: usize,
    /// True to list nodes, too.
    pub lists_nodes: bool,
}

impl Default for TreeOptions {
    fn default() -> TreeOptions {
        TreeOptions { max_depth: 2, max_children: 20, lists_nodes: false }
    }
}

/// The names of the most frequent ops that a line has.
const NUM_OPS: usize = 3;

/// One scope of a summary, or a node.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// The number of scopes around it. The root has 0.
    pub depth: usize,
    /// The name in its scope; empty for the root.
    pub name: String,
    /// The op of a node, or `None` for a scope.
    pub op: Option<String>,
    /// The most frequent ops with their numbers.
    pub ops: Vec<(String, usize)>,
    /// The sums of the scope, or the values of the node.
    pub totals: Totals,
    /// The children that are not listed after it.
    pub num_hidden: usize,
}

/// Returns the tree of a graph's scopes, each before its children, which are sorted by the number of nodes. The functions of the library are a scope of their
/// own.
pub fn tree(graph: &Graph, facts: &Facts, options: &TreeOptions) -> Vec<TreeRow> {
    let flat = FlatGraph::new(graph);
    let mut tree = ScopeTree::new(&flat);
    let edges = MetaEdges::new(&flat, &tree);
    series::group(&flat, &mut tree, &edges);
    let nodes = totals::of_nodes(&flat, facts);
    let scopes = totals::of_scopes(&tree, &nodes);
    let lister = Lister { flat: &flat, tree: &tree, nodes: &nodes, scopes: &scopes, ops: ops_of_scopes(&flat, &tree), options };
    let mut rows = Vec::new();
    lister.list(&mut rows);
    rows
}

struct Lister<'a> {
    flat: &'a FlatGraph<'a>,
    tree: &'a ScopeTree,
    nodes: &'a [Totals],
    scopes: &'a [Totals],
    ops: Vec<Vec<(String, usize)>>,
    options: &'a TreeOptions,
}

impl Lister<'_> {
    fn list(&self, rows: &mut Vec<TreeRow>) {
        let mut stack = vec![(Child::Scope(ROOT), 0)];
        while let Some((child, depth)) = stack.pop() {
            let scope = match child {
                Child::Node(node) => {
                    let op = self.flat.node(node).1.op().to_owned();
                    let (name, totals) = (self.tree.label(self.flat, node), self.nodes[node as usize]);
                    rows.push(TreeRow { depth, name, op: Some(op), ops: Vec::new(), totals, num_hidden: 0 });
                    continue;
                }
                Child::Scope(scope) => scope,
            };
            let shown = if depth < self.options.max_depth { self.children(scope) } else { Vec::new() };
            let of_tree = &self.tree.scopes[scope as usize];
            let num_listable = of_tree.children.iter().filter(|child| self.is_listed(child)).count();
            rows.push(TreeRow {
                depth,
                name: of_tree.name.clone(),
                op: None,
                ops: self.ops[scope as usize].clone(),
                totals: self.scopes[scope as usize],
                num_hidden: num_listable - shown.len(),
            });
            stack.extend(shown.into_iter().rev().map(|child| (child, depth + 1)));
        }
    }

    fn is_listed(&self, child: &Child) -> bool {
        self.options.lists_nodes || matches!(child, Child::Scope(_))
    }

    /// Returns the children that are listed, the largest first.
    fn children(&self, scope: ScopeId) -> Vec<Child> {
        let mut children: Vec<Child> =
            self.tree.scopes[scope as usize].children.iter().copied().filter(|child| self.is_listed(child)).collect();
        let num_nodes = |child: &Child| match *child {
            Child::Node(_) => 0,
            Child::Scope(scope) => self.scopes[scope as usize].num_nodes,
        };
        children.sort_by_key(|child| u64::MAX - num_nodes(child));
        children.truncate(self.options.max_children);
        children
    }
}

/// Returns the most frequent ops of each scope.
fn ops_of_scopes(flat: &FlatGraph<'_>, tree: &ScopeTree) -> Vec<Vec<(String, usize)>> {
    let mut counts: Vec<BTreeMap<&str, usize>> = vec![BTreeMap::new(); tree.scopes.len()];
    let order = tree.preorder();
    for &scope in order.iter().rev() {
        let mut sum = std::mem::take(&mut counts[scope as usize]);
        for child in &tree.scopes[scope as usize].children {
            match *child {
                Child::Node(node) => *sum.entry(flat.node(node).1.op()).or_default() += 1,
                Child::Scope(child) => counts[child as usize].iter().for_each(|(op, n)| *sum.entry(op).or_default() += n),
            }
        }
        counts[scope as usize] = sum;
    }
    let most = |counts: BTreeMap<&str, usize>| {
        let mut sorted: Vec<(String, usize)> = counts.into_iter().map(|(op, n)| (op.to_owned(), n)).collect();
        sorted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        sorted.truncate(NUM_OPS);
        sorted
    };
    counts.into_iter().map(most).collect()
}

/// Returns the tree as a table: names, nodes, weights, estimated operations, measured times if there are any, and the most frequent ops.
pub fn tree_text(rows: &[TreeRow]) -> String {
    let is_measured = rows.iter().any(|row| row.totals.nanoseconds > 0);
    let name = |row: &TreeRow| {
        let name = if row.depth == 0 { "graph" } else { &row.name };
        format!("{}{name}{}", "  ".repeat(row.depth), if row.op.is_none() && row.depth > 0 { "/" } else { "" })
    };
    let width = rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0).max(5);
    let mut text = String::new();
    let time = if is_measured { format!(" {:>9}", "time") } else { String::new() };
    let _ = writeln!(text, "{:<width$} {:>9} {:>9} {:>9}{time}  ops", "scope", "nodes", "weights", "work");
    for row in rows {
        let totals = &row.totals;
        let ops = match &row.op {
            Some(op) => op.clone(),
            None => row.ops.iter().map(|(op, n)| format!("{op} {n}")).collect::<Vec<_>>().join(", "),
        };
        let time = if is_measured { format!(" {:>9}", of_time(totals.nanoseconds)) } else { String::new() };
        let (weights, work) = (of_bytes(totals.resident_bytes), of_operations(totals.operations));
        let _ = writeln!(text, "{:<width$} {:>9} {weights:>9} {work:>9}{time}  {ops}", name(row), totals.num_nodes);
        if row.num_hidden > 0 && row.op.is_none() {
            let noun = if row.num_hidden == 1 { "child" } else { "children" };
            let _ = writeln!(text, "{}… {} more {noun}", "  ".repeat(row.depth + 1), row.num_hidden);
        }
    }
    text
}

/// Returns the tree as HTML for a notebook: elements that open and close.
pub fn tree_html(title: &str, rows: &[TreeRow]) -> String {
    let mut html = format!("<div><strong>{}</strong>", escape(title));
    let mut open: Vec<usize> = Vec::new();
    for row in rows {
        while open.last().is_some_and(|&depth| depth >= row.depth) {
            open.pop();
            html.push_str("</div></details>");
        }
        let totals = &row.totals;
        let mut facts = vec![format!("{} nodes", totals.num_nodes)];
        if totals.resident_bytes > 0 {
            facts.push(format!("{} of weights", of_bytes(totals.resident_bytes)));
        }
        if totals.operations > 0.0 {
            facts.push(format!("{} operations", of_operations(totals.operations)));
        }
        facts.extend(row.ops.iter().map(|(op, n)| format!("{n} {op}")));
        let name = if row.depth == 0 { "graph" } else { &row.name };
        let is_open = if row.depth == 0 { " open" } else { "" };
        let _ = write!(
            html,
            "<details{is_open}><summary>{} <small>{}</small></summary><div style=\"margin-left:1.2em\">",
            escape(name),
            escape(&facts.join(", "))
        );
        if row.num_hidden > 0 {
            let _ = write!(html, "<small>{} scopes are not listed</small>", row.num_hidden);
        }
        open.push(row.depth);
    }
    open.iter().for_each(|_| html.push_str("</div></details>"));
    html + "</div>"
}

fn in_units(value: f64, step: f64, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, 0);
    while value >= step && unit + 1 < units.len() {
        (value, unit) = (value / step, unit + 1);
    }
    if unit == 0 { format!("{value:.0}{}", units[0]) } else { format!("{value:.1}{}", units[unit]) }
}

fn of_bytes(bytes: u64) -> String {
    in_units(bytes as f64, 1024.0, &[" B", " KiB", " MiB", " GiB", " TiB"])
}

fn of_operations(operations: f64) -> String {
    in_units(operations, 1000.0, &["", " k", " M", " G", " T"])
}

fn of_time(nanoseconds: u64) -> String {
    in_units(nanoseconds as f64, 1000.0, &[" ns", " µs", " ms", " s"])
}
