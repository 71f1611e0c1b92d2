//! `flowmill inspect`.

use crate::print_json;
use flowmill::files::{self, CheckpointReader, ModelPath};
use flowmill::{PartialShape, Result, kernels, proto, registry};
use flowmill_runtime::plan::is_runnable;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The model.
    path: PathBuf,
    /// List all ops, not only the most frequent.
    #[arg(long)]
    all: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Shows what a path holds.
pub(crate) fn inspect(args: &InspectArgs) -> Result<()> {
    let value = match ModelPath::detect(&args.path)? {
        ModelPath::SavedModel(path) => {
            let model = files::SavedModel::open(path)?;
            json!({"kind": "SavedModel", "graphs": model.meta_graphs().iter().map(meta_graph).collect::<Result<Vec<_>>>()?})
        }
        ModelPath::Graph(path) => json!({"kind": "GraphDef", "graphs": [graph(&files::load_graph_def(path)?.0)?]}),
        ModelPath::MetaGraph(path) => json!({"kind": "MetaGraphDef", "graphs": [meta_graph(&files::load_meta_graph(path)?)?]}),
        ModelPath::Checkpoint(path) => json!({"kind": "checkpoint", "variables": checkpoint(&CheckpointReader::open(path)?)?}),
    };
    if args.json {
        print_json(&value)
    } else {
        print_text(&value, args.all)
    }
    Ok(())
}

fn checkpoint(reader: &CheckpointReader) -> Result<Vec<Value>> {
    let mut variables = Vec::new();
    for name in reader.names() {
        let (dtype, shape) = reader.dtype_and_shape(name)?;
        variables.push(json!({"name": name, "dtype": dtype.name(), "shape": shape.to_i64()}));
    }
    Ok(variables)
}

fn meta_graph(meta: &proto::MetaGraphDef) -> Result<Value> {
    let mut value = graph(meta.graph_def.as_ref().unwrap_or(&proto::GraphDef::default()))?;
    let port = |info: &proto::TensorInfo| {
        let shape = info.tensor_shape.as_ref().map_or_else(PartialShape::unknown, PartialShape::from_proto);
        let tensor = match &info.encoding {
            Some(proto::tensor_info::Encoding::Name(name)) => name.as_str(),
            _ => "",
        };
        let dtype = flowmill::DType::from_number(info.dtype).map_or("unknown", |t| t.name());
        json!({"tensor": tensor, "dtype": dtype, "shape": shape.to_string()})
    };
    let ports =
        |infos: &BTreeMap<String, proto::TensorInfo>| infos.iter().map(|(k, v)| (k.clone(), port(v))).collect::<serde_json::Map<_, _>>();
    let signatures: serde_json::Map<String, Value> = meta
        .signature_def
        .iter()
        .filter(|(name, _)| !name.starts_with("__saved_model"))
        .map(|(name, s)| (name.clone(), json!({"method": s.method_name, "inputs": ports(&s.inputs), "outputs": ports(&s.outputs)})))
        .collect();
    let info = meta.meta_info_def.clone().unwrap_or_default();
    value["tags"] = json!(info.tags);
    value["tensorflow_version"] = json!(info.tensorflow_version);
    value["signatures"] = Value::Object(signatures);
    Ok(value)
}

fn graph(def: &proto::GraphDef) -> Result<Value> {
    let (registry, kernels) = (registry()?, kernels());
    let library = def.library.clone().unwrap_or_default();
    let functions: Vec<String> = library.function.iter().filter_map(|f| f.signature.as_ref()).map(|s| s.name.clone()).collect();
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unsupported: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in def.node.iter().chain(library.function.iter().flat_map(|f| &f.node_def)) {
        *ops.entry(&node.op).or_default() += 1;
        let known = functions.contains(&node.op) || (registry.get(&node.op).is_some() && is_runnable(&node.op, &kernels));
        if !known {
            unsupported.entry(&node.op).or_default().push(&node.name);
        }
    }
    let bytes: usize = def.node.iter().filter_map(|n| n.attr.get("value")).map(proto::Message::encoded_len).sum();
    Ok(json!({
        "nodes": def.node.len(),
        "producer": def.versions.as_ref().map(|v| v.producer),
        "constant_bytes": bytes,
        "functions": functions,
        "ops": ops,
        "unsupported": unsupported,
    }))
}

fn print_text(value: &Value, all: bool) {
    const FREQUENT: usize = 20;
    println!("{}", text(&value["kind"]));
    for variable in value["variables"].as_array().into_iter().flatten() {
        println!("  {}  {} {}", text(&variable["name"]), text(&variable["dtype"]), variable["shape"]);
    }
    for graph in value["graphs"].as_array().into_iter().flatten() {
        let tags = graph["tags"].as_array().map(|t| t.iter().map(text).collect::<Vec<_>>().join(", "));
        println!(
            "\ngraph{}: {} nodes, {} bytes of constants",
            tags.map(|t| format!(" [{t}]")).unwrap_or_default(),
            graph["nodes"],
            graph["constant_bytes"]
        );
        for (name, signature) in graph["signatures"].as_object().into_iter().flatten() {
            println!("  signature {name}");
            for direction in ["inputs", "outputs"] {
                for (port, info) in signature[direction].as_object().into_iter().flatten() {
                    println!(
                        "    {:<8} {port}: {} {}  ({})",
                        direction.trim_end_matches('s'),
                        text(&info["dtype"]),
                        text(&info["shape"]),
                        text(&info["tensor"])
                    );
                }
            }
        }
        let functions = graph["functions"].as_array().map_or(0, Vec::len);
        if functions > 0 {
            println!("  {functions} functions");
        }
        let mut ops: Vec<(&String, u64)> =
            graph["ops"].as_object().into_iter().flatten().map(|(k, v)| (k, v.as_u64().unwrap_or(0))).collect();
        ops.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let shown = if all { ops.len() } else { ops.len().min(FREQUENT) };
        println!("  ops: {}", ops[..shown].iter().map(|(op, n)| format!("{op} {n}")).collect::<Vec<_>>().join(", "));
        if shown < ops.len() {
            println!("       and {} more kinds (--all lists them)", ops.len() - shown);
        }
        let unsupported: Vec<_> = graph["unsupported"].as_object().into_iter().flatten().collect();
        if unsupported.is_empty() {
            println!("  Flowmill has every op of it");
        }
        for (op, nodes) in unsupported {
            let count = nodes.as_array().map_or(0, Vec::len);
            println!("  UNSUPPORTED {op}: {count} nodes, such as {}", text(&nodes[0]));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
