//! The trees of the views.

use crate::profile::nodes::{CodeFrame, Profiler};
use crate::profile::options::View;
use crate::profile::stats::Stats;
use flowmill_tensor::PartialShape;
use std::collections::{BTreeMap, BTreeSet};

/// The name of the root.
pub(crate) const ROOT: &str = "_TFProfRoot";
/// The levels of a tree. Below the last, all nodes are siblings. Readers of protocol buffers refuse messages that are nested more than 100 times.
pub(crate) const MAX_LEVELS: usize = 80;

/// A row of a view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) own: Stats,
    /// Its own and those of all rows below.
    pub(crate) total: Stats,
    /// True if its own statistics count.
    pub(crate) is_accounted: bool,
    pub(crate) types: BTreeSet<String>,
    pub(crate) devices: BTreeSet<String>,
    pub(crate) output_shapes: Vec<PartialShape>,
    pub(crate) input_shapes: Vec<PartialShape>,
    /// The nodes of a row by op or by code.
    pub(crate) members: Vec<Row>,
    pub(crate) children: Vec<Row>,
}

/// Builds the tree of a view, with the statistics of one step or the mean of all.
pub(crate) fn build(profiler: &Profiler, view: View, step: i64) -> Row {
    let children = match view {
        View::Scope => scopes(profiler, step),
        View::Graph => dataflow(profiler, step),
        View::Op => ops(profiler, step),
        View::Code => code(profiler, step),
    };
    Row { name: ROOT.to_owned(), children, ..Row::default() }
}

fn row(profiler: &Profiler, name: &str, step: i64) -> Row {
    let Some(node) = profiler.nodes.get(name) else { return Row { name: name.to_owned(), ..Row::default() } };
    Row {
        name: name.to_owned(),
        own: profiler.stats(node, step),
        types: node.types.clone(),
        devices: node.devices.clone(),
        output_shapes: node.output_shapes.clone(),
        input_shapes: node.input_shapes.clone(),
        ..Row::default()
    }
}

/// Name scopes. A scope has the row of the node of its name, if there is one.
fn scopes(profiler: &Profiler, step: i64) -> Vec<Row> {
    #[derive(Default)]
    struct Scope<'a>(BTreeMap<&'a str, Scope<'a>>);
    let mut root = Scope::default();
    for name in profiler.nodes.keys() {
        let ends = name.match_indices('/').map(|(i, _)| i).take(MAX_LEVELS - 1).chain([name.len()]);
        let mut scope = &mut root;
        for path in ends.filter_map(|end| name.get(..end)).filter(|path| !path.is_empty()) {
            scope = scope.0.entry(path).or_default();
        }
    }
    fn rows(profiler: &Profiler, scope: &Scope<'_>, step: i64) -> Vec<Row> {
        let of_scope = |(path, inner): (&&str, &Scope<'_>)| Row { children: rows(profiler, inner, step), ..row(profiler, path, step) };
        scope.0.iter().map(of_scope).collect()
    }
    rows(profiler, &root, step)
}

/// Nodes that no other consumes, with the producers of their inputs below. A node is below its first consumer.
fn dataflow(profiler: &Profiler, step: i64) -> Vec<Row> {
    struct Walk<'a> {
        profiler: &'a Profiler,
        step: i64,
        seen: BTreeSet<&'a str>,
    }
    impl<'a> Walk<'a> {
        fn rows(&mut self, names: impl Iterator<Item = &'a str>, level: usize) -> Vec<Row> {
            let mut found = Vec::new();
            // Names whose rows are siblings: more than the given ones on the last level.
            let mut pending: Vec<&str> = names.collect();
            pending.reverse();
            while let Some(name) = pending.pop() {
                let Some((name, node)) = self.profiler.nodes.get_key_value(name) else { continue };
                if !self.seen.insert(name) {
                    continue;
                }
                let mut made = row(self.profiler, name, self.step);
                let inputs = node.inputs.iter().map(String::as_str);
                if level < MAX_LEVELS {
                    made.children = self.rows(inputs, level + 1);
                } else {
                    pending.extend(inputs.rev());
                }
                found.push(made);
            }
            found
        }
    }
    let consumed: BTreeSet<&str> = profiler.nodes.values().flat_map(|node| node.inputs.iter().map(String::as_str)).collect();
    let mut walk = Walk { profiler, step, seen: BTreeSet::new() };
    let roots: Vec<&str> = profiler.nodes.keys().map(String::as_str).filter(|name| !consumed.contains(name)).collect();
    let mut found = walk.rows(roots.into_iter(), 1);
    // Nodes of loops that nothing outside consumes.
    let rest: Vec<&str> = profiler.nodes.keys().map(String::as_str).collect();
    found.extend(walk.rows(rest.into_iter(), 1));
    found
}

/// One row per op.
fn ops(profiler: &Profiler, step: i64) -> Vec<Row> {
    let mut by_op: BTreeMap<&str, Row> = BTreeMap::new();
    for (name, node) in &profiler.nodes {
        let op = if node.op.is_empty() { "unknown" } else { &node.op };
        let group = by_op.entry(op).or_insert_with(|| Row { name: op.to_owned(), ..Row::default() });
        group.add_member(row(profiler, name, step));
    }
    by_op.into_values().collect()
}

/// The calls that made nodes, from the outermost to the innermost. Nodes without a stack are left out.
fn code(profiler: &Profiler, step: i64) -> Vec<Row> {
    #[derive(Default)]
    struct Call<'a> {
        members: Vec<&'a str>,
        /// The calls that its function made.
        inner: BTreeMap<&'a CodeKey, Call<'a>>,
    }
    type CodeKey = (String, u32, String, String);
    let key = |frame: &CodeFrame| -> CodeKey { (frame.file.clone(), frame.line, frame.function.clone(), frame.text.clone()) };
    let keys: Vec<(&str, Vec<CodeKey>)> = profiler
        .nodes
        .iter()
        .filter(|(_, node)| !node.trace.is_empty())
        .map(|(name, node)| (name.as_str(), node.trace.iter().rev().take(MAX_LEVELS).rev().map(key).collect()))
        .collect();
    let mut root = Call::default();
    for (name, path) in &keys {
        let call = path.iter().fold(&mut root, |call, key| call.inner.entry(key).or_default());
        call.members.push(name);
    }
    fn rows(profiler: &Profiler, call: &Call<'_>, step: i64) -> Vec<Row> {
        let of_call = |((file, line, function, text), inner): (&&CodeKey, &Call<'_>)| {
            let children = rows(profiler, inner, step);
            let mut made = Row { name: format!("{file}:{line}:{function}:{text}"), children, ..Row::default() };
            inner.members.iter().for_each(|name| made.add_member(row(profiler, name, step)));
            made
        };
        call.inner.iter().map(of_call).collect()
    }
    rows(profiler, &root, step)
}

impl Row {
    /// Counts a node among those of the row.
    fn add_member(&mut self, member: Row) {
        self.own.add(member.own);
        self.types.extend(member.types.iter().cloned());
        self.devices.extend(member.devices.iter().cloned());
        self.members.push(member);
    }
}
