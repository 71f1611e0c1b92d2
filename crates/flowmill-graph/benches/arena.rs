//! Measures what a node costs: building and freeing a million, memory, import and export, pruning.
//!
//! Run with `cargo bench -p flowmill-graph`.
#![allow(clippy::unwrap_used)]

use flowmill_graph::{
    ArgDef, ArgType, AttrDef, AttrType, Graph, ImportOptions, NodeId, OpDef, OpRegistry, ShapeRefiner, import_graph_def, traverse,
};
use flowmill_proto::{AttrValue, DataType, GraphDef, Message, NodeDef, TensorProto, TensorShapeProto, VersionDef};
use flowmill_tensor::{Bytes, DType};
use std::hint::black_box;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

const NODES: usize = 1_000_000;
const ROUNDS: usize = 3;

fn registry() -> Arc<OpRegistry> {
    let attr =
        |name: &str, ty| AttrDef { name: name.into(), ty, default: None, allowed_types: vec![], allowed_strings: vec![], minimum: None };
    let arg = |name: &str, ty: ArgType| ArgDef { name: name.into(), ty, number_attr: None, is_ref: false };
    let f32s = || ArgType::Fixed(DType::F32);
    let t = || ArgType::Attr("T".into());
    Arc::new(
        OpRegistry::new([
            OpDef { name: "Start".into(), outputs: vec![arg("y", f32s())], ..Default::default() },
            OpDef {
                name: "Sum".into(),
                inputs: vec![arg("a", f32s()), arg("b", f32s())],
                outputs: vec![arg("y", f32s())],
                ..Default::default()
            },
            OpDef {
                name: "Add".into(),
                inputs: vec![arg("a", t()), arg("b", t())],
                outputs: vec![arg("y", t())],
                attrs: vec![attr("T", AttrType::Type)],
                ..Default::default()
            },
            OpDef {
                name: "Const".into(),
                outputs: vec![arg("y", ArgType::Attr("dtype".into()))],
                attrs: vec![attr("value", AttrType::Tensor), attr("dtype", AttrType::Type)],
                ..Default::default()
            },
        ])
        .unwrap(),
    )
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

fn report(what: &str, time: Duration, per: usize) {
    println!("{what:<44} {:>9.1} ms {:>8.0} ns a node", time.as_secs_f64() * 1e3, time.as_nanos() as f64 / per as f64);
}

/// Returns the least time of several rounds.
fn least<T>(mut f: impl FnMut() -> (Duration, T)) -> (Duration, T) {
    let mut best = f();
    for _ in 1..ROUNDS {
        let next = f();
        if next.0 < best.0 {
            best = next;
        }
    }
    best
}

/// Time this thread has run, which other processes on the machine do not add to; if the system does not say, time that has passed.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = text.and_then(|t| t.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn timed<T>(f: impl FnOnce() -> T) -> (Duration, T) {
    let start = clock();
    let value = f();
    (clock() - start, value)
}

fn build(registry: &Arc<OpRegistry>) -> Graph {
    let mut graph = Graph::new(registry.clone());
    let mut last = graph.add_node(NodeDef { name: "start".into(), op: "Start".into(), ..Default::default() }).unwrap();
    for i in 1..NODES {
        let def = NodeDef { name: format!("node_{i}"), op: "Sum".into(), ..Default::default() };
        last = graph.add_node_with_inputs(def, &[last.output(0), last.output(0)], &[]).unwrap();
    }
    graph
}

fn chain_def() -> GraphDef {
    let ty = AttrValue::from(DataType::DtFloat);
    let node = |i: usize| NodeDef {
        name: format!("scope/node_{i}"),
        op: if i == 0 { "Start".into() } else { "Add".into() },
        input: if i == 0 { vec![] } else { vec![format!("scope/node_{}", i - 1), format!("scope/node_{}", i / 2)] },
        attr: if i == 0 { Default::default() } else { [("T".into(), ty.clone())].into() },
        ..Default::default()
    };
    GraphDef {
        node: (0..NODES).map(node).collect(),
        versions: Some(VersionDef { producer: 2474, ..Default::default() }),
        ..Default::default()
    }
}

/// 20,000 nodes, half of them constants of 10 kB.
fn frozen_def() -> GraphDef {
    let mut node = Vec::new();
    let ty = AttrValue::from(DataType::DtFloat);
    for i in 0..10_000 {
        let value = TensorProto {
            dtype: DType::F32.number(),
            tensor_shape: Some(TensorShapeProto::of([50, 50])),
            tensor_content: Bytes::from(vec![1; 10_000]),
            ..Default::default()
        };
        let attr = [("dtype".to_owned(), ty.clone()), ("value".to_owned(), value.into())].into();
        node.push(NodeDef { name: format!("layer_{i}/kernel"), op: "Const".into(), attr, ..Default::default() });
        let input = vec![if i == 0 { "layer_0/kernel".into() } else { format!("layer_{}/add", i - 1) }, format!("layer_{i}/kernel")];
        node.push(NodeDef {
            name: format!("layer_{i}/add"),
            op: "Add".into(),
            input,
            attr: [("T".to_owned(), ty.clone())].into(),
            ..Default::default()
        });
    }
    GraphDef { node, versions: Some(VersionDef { producer: 2474, ..Default::default() }), ..Default::default() }
}

fn import(registry: &Arc<OpRegistry>, bytes: &Bytes) -> (Duration, Duration, Graph) {
    let (decoding, def) = timed(|| GraphDef::decode(bytes.clone()).unwrap());
    let mut graph = Graph::new(registry.clone());
    let (importing, _) = timed(|| import_graph_def(&mut graph, def, &ImportOptions::default()).unwrap());
    (decoding, importing, graph)
}

fn main() {
    let registry = registry();
    let before = resident();
    let graph = build(&registry);
    println!("{:<44} {:>9} bytes a node, its name and two edges included", "memory of a million nodes", (resident() - before) / NODES);
    let (freeing, ()) = timed(|| drop(graph));
    let (building, mut graph) = least(|| timed(|| build(&registry)));
    report("build a million nodes", building, NODES);
    report("free them", freeing, NODES);
    println!("{:<44} {:>9.2} million", "nodes built a second", NODES as f64 / building.as_secs_f64() / 1e6);
    let (finding, _) = least(|| timed(|| (1..NODES).step_by(7).filter(|i| graph.find_node(&format!("node_{i}")).is_some()).count()));
    report("find by name", finding, NODES / 7);
    let (ordering, _) = least(|| timed(|| traverse::topological_order(&graph).unwrap().len()));
    report("topological order", ordering, NODES);
    let (refining, _) = least(|| timed(|| ShapeRefiner::new().infer_graph(&graph).unwrap()));
    report("shapes", refining, NODES);
    let (removing, ()) = timed(|| (NODES / 2..NODES).rev().for_each(|i| graph.remove_node(NodeId(i as u32 + 2)).unwrap()));
    report("remove half of the nodes one by one", removing, NODES / 2);
    drop(graph);

    let bytes = Bytes::from(chain_def().encode_to_vec());
    let (_, (decoding, importing, graph)) = least(|| timed(|| import(&registry, &bytes)));
    report("decode a million nodes", decoding, NODES);
    report("import them", importing, NODES);
    let (exporting, def) = timed(|| graph.to_graph_def());
    report("export them", exporting, NODES);
    assert_eq!(def.encode_to_vec(), bytes);
    drop((graph, def));

    let bytes = Bytes::from(frozen_def().encode_to_vec());
    let (total, (decoding, importing, _)) = least(|| timed(|| import(&registry, black_box(&bytes))));
    println!("frozen graph of {} MB, 20,000 nodes", bytes.len() / 1_000_000);
    report("  decode", decoding, 20_000);
    report("  import", importing, 20_000);
    report("  both, the graph built and freed", total, 20_000);
}
