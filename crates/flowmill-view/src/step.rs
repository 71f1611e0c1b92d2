//! The page of a graph and of one of its steps.

use crate::facts::{Change, Facts};
use crate::{View, page};
use flowmill_graph::{FxHashMap, Graph};
use flowmill_optimize::Report;
use flowmill_session::StepGraphs;

/// Returns the page of a graph and, if there is one, of a step of it: the part of the graph that the step needs, before all passes, and the graph of each
/// device after them. Nodes have the last pass that changed them.
pub fn step_page(title: &str, graph: &Graph, facts: Facts, step: Option<&StepGraphs>) -> String {
    let Some(StepGraphs { before, parts, report }) = step else {
        return page(title, &[View { name: "graph", about: "", graph, facts: &facts, passes: &[] }]);
    };
    let passes: Vec<(String, usize)> = report.passes.iter().map(|pass| (pass.name.to_owned(), pass.num_changes)).collect();
    let facts = Facts { changes: changes(report), ..facts };
    let mut views = vec![
        View { name: "graph", about: "The whole graph, before any pass.", graph, facts: &facts, passes: &[] },
        View {
            name: "step before passes",
            about: "The part of the graph that the step needs.",
            graph: before,
            facts: &facts,
            passes: &passes,
        },
    ];
    let of_part = |(device, part): &(String, Graph)| {
        let short = device.rsplit("/device:").next().unwrap_or(device);
        let devices = part.op_nodes().map(|node| (node.name().to_owned(), device.clone())).collect();
        let name = if parts.len() == 1 { "step after passes".to_owned() } else { format!("step on {short}, after passes") };
        (name, format!("The graph that runs on {device}."), Facts { devices, ..facts.clone() })
    };
    let of_parts: Vec<(String, String, Facts)> = parts.iter().map(of_part).collect();
    for ((name, about, facts), (_, part)) in of_parts.iter().zip(parts) {
        views.push(View { name, about, graph: part, facts, passes: &passes });
    }
    page(title, &views)
}

/// Returns the last change of each node, with the pass that made it.
fn changes(report: &Report) -> FxHashMap<String, (String, Change)> {
    let mut changes = FxHashMap::default();
    for pass in &report.passes {
        let lists = [(&pass.nodes.added, Change::Added), (&pass.nodes.changed, Change::Changed), (&pass.nodes.removed, Change::Removed)];
        for (name, change) in lists.into_iter().flat_map(|(names, change)| names.iter().map(move |name| (name, change))) {
            changes.insert(name.to_string(), (pass.name.to_owned(), change));
        }
    }
    changes
}
