//! Graphs that TensorFlow wrote: they come back byte for byte, read back from text, and their functions become graphs.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill_graph::text::{ConstantTable, parse_graph};
use flowmill_graph::{
    Attrs, ControlFlow, ExportOptions, Graph, ImportOptions, OpRegistry, ShapeRefiner, import_graph_def, instantiate_function,
};
use flowmill_proto::{GraphDef, Message, SavedModel};
use flowmill_tensor::Code;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

fn registry() -> Arc<OpRegistry> {
    static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    REGISTRY.clone()
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn import(def: GraphDef) -> Graph {
    let mut graph = Graph::new(registry());
    import_graph_def(&mut graph, def, &ImportOptions { validate_shape: true, ..Default::default() }).unwrap();
    graph
}

fn check(what: &str, graph: &Graph) {
    graph.validate().unwrap();
    ControlFlow::new(graph).unwrap();
    let text = graph.to_string();
    let mut with_functions = OpRegistry::clone(&registry());
    for function in graph.library().iter() {
        with_functions.add(flowmill_graph::OpDef::clone(function.op_def())).unwrap();
    }
    let again = parse_graph(&text, &Arc::new(with_functions), &ConstantTable::of_graph(graph).unwrap()).unwrap();
    assert_eq!(again.to_string(), text, "{what}");
}

#[test]
fn frozen_graphs_come_back_byte_for_byte() {
    for model in ["bert_small", "lstm_small"] {
        let bytes = std::fs::read(repository(&format!("tests/data/models/{model}.pb"))).unwrap();
        let graph = import(GraphDef::decode(&*bytes).unwrap());
        assert!(graph.to_graph_def().encode_to_vec() == bytes, "{model}");
        check(model, &graph);
        let mut shapes = ShapeRefiner::new();
        shapes.infer_graph(&graph).unwrap();
        let known = graph
            .op_nodes()
            .flat_map(|n| (0..n.num_outputs()).map(|i| n.id().output(i as u32)))
            .filter(|&o| shapes.shape(o).rank().is_some());
        assert!(known.count() > graph.num_nodes() / 2, "{model}");
    }
}

#[test]
fn saved_models_come_back_and_their_functions_become_graphs() {
    let mut functions = 0;
    for model in ["examples/digits/1", "tests/data/saved_models/v1_table", "tests/data/saved_models/v2_table_loop"] {
        let bytes = std::fs::read(repository(model).join("saved_model.pb")).unwrap();
        let saved = SavedModel::decode(&*bytes).unwrap();
        for meta in saved.meta_graphs {
            let strip_default_attrs = meta.meta_info_def.is_some_and(|info| info.stripped_default_attrs);
            let def = meta.graph_def.unwrap();
            let graph = import(def.clone());
            let exported = graph.to_graph_def_with(&ExportOptions { strip_default_attrs, ..Default::default() });
            assert!(exported.encode_to_vec() == def.encode_to_vec(), "{model}");
            check(model, &graph);
            for function in graph.library().iter() {
                let body = match instantiate_function(function, &Attrs::default(), graph.library(), &registry()) {
                    Ok(body) => body,
                    // Functions that save the model have ops that the catalogue may lack.
                    Err(e) if e.code() == Code::NotFound && function.name().contains("_traced_save_") => continue,
                    Err(e) => panic!("{e}"),
                };
                check(function.name(), &body.graph);
                assert_eq!(body.args.len(), function.op_def().inputs.len());
                functions += 1;
            }
        }
    }
    assert!(functions > 5, "{functions}");
}

/// Imports and, if that succeeds, checks that what came in is a legal graph that comes back.
fn import_anything(bytes: &[u8]) {
    let Ok(def) = GraphDef::decode(bytes) else { return };
    let mut graph = Graph::new(registry());
    let options = ImportOptions { validate_shape: true, ..Default::default() };
    if import_graph_def(&mut graph, def, &options).is_err() {
        assert_eq!((graph.num_nodes(), graph.num_edges()), (2, 1));
        return;
    }
    graph.validate().unwrap();
    let _ = ControlFlow::new(&graph);
    let exported = graph.to_graph_def();
    let mut again = Graph::new(registry());
    import_graph_def(&mut again, exported.clone(), &ImportOptions::default()).unwrap();
    assert!(again.to_graph_def().encode_to_vec() == exported.encode_to_vec());
    let _ = graph.to_string();
    for function in graph.library().iter() {
        let _ = instantiate_function(function, &Attrs::default(), graph.library(), &registry());
    }
}

fn graph_with_functions() -> Vec<u8> {
    let bytes = std::fs::read(repository("tests/data/saved_models/v2_table_loop/saved_model.pb")).unwrap();
    SavedModel::decode(&*bytes).unwrap().meta_graphs[0].graph_def.as_ref().unwrap().encode_to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        import_anything(&bytes);
    }

    #[test]
    fn damaged_graphs_are_refused_or_legal(with_functions: bool, damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut bytes = if with_functions { graph_with_functions() } else { std::fs::read(repository("tests/data/models/lstm_small.pb")).unwrap() };
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        import_anything(&bytes);
    }

    /// Nodes exchanged, dropped and repeated, names and inputs mixed up.
    #[test]
    fn shuffled_graphs_are_refused_or_legal(changes in proptest::collection::vec((0..5u8, any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4)) {
        let bytes = std::fs::read(repository("tests/data/models/lstm_small.pb")).unwrap();
        let mut def = GraphDef::decode(&*bytes).unwrap();
        for (kind, a, b) in changes {
            let (a, b) = (a.index(def.node.len()), b.index(def.node.len()));
            match kind {
                0 => def.node.swap(a, b),
                1 => drop(def.node.remove(a)),
                2 => def.node[a].input = def.node[b].input.clone(),
                3 => def.node[a].attr = def.node[b].attr.clone(),
                _ => def.node[a].op = def.node[b].op.clone(),
            }
        }
        import_anything(&def.encode_to_vec());
    }
}
