//! Writes the page of a frozen graph, or of a generated one: `page GRAPH.pb OUT.html`, or `page generate:NODES OUT.html`.

use flowmill_graph::{Graph, ImportOptions, import_graph_def};
use flowmill_proto::{GraphDef, Message};
use flowmill_view::{Facts, View, page};
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, source, target] = &arguments[..] else { return Err("usage: page GRAPH.pb OUT.html".into()) };
    let def = GraphDef::decode(&*std::fs::read(source)?)?;
    let mut graph = Graph::new(Arc::new(flowmill_ops::registry()?));
    import_graph_def(&mut graph, def, &ImportOptions::default())?;
    let (start, facts) = (Instant::now(), Facts::default());
    let text = page(source, &[View { name: "graph", about: "", graph: &graph, facts: &facts, passes: &[] }]);
    println!("{} nodes, {} bytes, {:.2} s", graph.num_nodes(), text.len(), start.elapsed().as_secs_f64());
    std::fs::write(target, text)?;
    Ok(())
}
