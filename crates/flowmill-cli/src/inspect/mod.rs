//! `flowmill inspect`.

mod devices;
mod scopes;
mod support;

use crate::print_json;
use flowmill::files::{self, CheckpointReader, ModelPath};
use flowmill::{Result, TensorSpec, proto, signatures};
use flowmill_view::{TreeRow, tree_text};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use support::{Step, Support};

#[derive(clap::Args)]
pub(crate) struct InspectArgs {
    /// The model.
    path: PathBuf,
    /// List all ops, not only the most frequent.
    #[arg(long)]
    all: bool,
    /// Levels of name scopes of the tree.
    #[arg(long, default_value_t = 2)]
    depth: usize,
    /// Tell which nodes a session with one GPU would run on the CPU, and why. No GPU is needed.
    #[arg(long)]
    devices: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The facts about one graph, and the tree of its scopes, which is empty if the graph does not load.
struct Inspected {
    value: Value,
    scopes: Vec<TreeRow>,
}

/// Shows what a path holds.
pub(crate) fn inspect(args: &InspectArgs) -> Result<()> {
    let (kind, graphs) = match ModelPath::detect(&args.path)? {
        ModelPath::SavedModel(path) => {
            let model = files::SavedModel::open(path)?;
            ("SavedModel", model.meta_graphs().iter().map(|meta| meta_graph(meta, args)).collect::<Result<Vec<_>>>()?)
        }
        ModelPath::Graph(path) => ("GraphDef", vec![frozen(&files::load_graph_def(path)?.0, args)?]),
        ModelPath::MetaGraph(path) => ("MetaGraphDef", vec![meta_graph(&files::load_meta_graph(path)?, args)?]),
        ModelPath::Checkpoint(path) => {
            let value = json!({"kind": "checkpoint", "variables": checkpoint(&CheckpointReader::open(path)?)?});
            if args.json {
                print_json(&value)
            } else {
                print_text(&value, &[], args.all)
            }
            return Ok(());
        }
    };
    let (values, trees): (Vec<Value>, Vec<Vec<TreeRow>>) = graphs.into_iter().map(|graph| (graph.value, graph.scopes)).unzip();
    let value = json!({"kind": kind, "graphs": values});
    if args.json {
        print_json(&value)
    } else {
        print_text(&value, &trees, args.all)
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

fn frozen(def: &proto::GraphDef, args: &InspectArgs) -> Result<Inspected> {
    graph(def, &[], &[support::step_of_graph(def)], args)
}

fn meta_graph(meta: &proto::MetaGraphDef, args: &InspectArgs) -> Result<Inspected> {
    let empty = proto::GraphDef::default();
    let def = meta.graph_def.as_ref().unwrap_or(&empty);
    let ops = meta.meta_info_def.as_ref().and_then(|info| info.stripped_op_list.as_ref()).map_or(&[][..], |ops| &ops.op);
    let Inspected { mut value, scopes } = graph(def, ops, &support::steps_of_meta_graph(meta)?, args)?;
    let ports = |specs: &BTreeMap<String, TensorSpec>| {
        let port = |s: &TensorSpec| json!({"tensor": s.tensor, "dtype": s.dtype.name(), "shape": s.shape.to_string()});
        specs.iter().map(|(name, spec)| (name.clone(), port(spec))).collect::<serde_json::Map<_, _>>()
    };
    let signatures: serde_json::Map<String, Value> = signatures(meta)?
        .iter()
        .map(|(name, s)| (name.clone(), json!({"method": s.method, "inputs": ports(&s.inputs), "outputs": ports(&s.outputs)})))
        .collect();
    let info = meta.meta_info_def.clone().unwrap_or_default();
    value["tags"] = json!(info.tags);
    value["tensorflow_version"] = json!(info.tensorflow_version);
    value["signatures"] = Value::Object(signatures);
    Ok(Inspected { value, scopes })
}

fn graph(def: &proto::GraphDef, producer_ops: &[proto::OpDef], steps: &[Step], args: &InspectArgs) -> Result<Inspected> {
    let library = def.library.as_ref();
    let bodies = || library.iter().flat_map(|library| &library.function);
    let functions: Vec<&str> = bodies().filter_map(|f| f.signature.as_ref()).map(|s| s.name.as_str()).collect();
    let mut ops: BTreeMap<&str, usize> = BTreeMap::new();
    for node in def.node.iter().chain(bodies().flat_map(|f| &f.node_def)) {
        *ops.entry(&node.op).or_default() += 1;
    }
    let bytes: usize = def.node.iter().filter_map(|n| n.attr.get("value")).map(proto::Message::encoded_len).sum();
    let Support { unsupported, not_needed, folded, unknown } = Support::of(def, producer_ops, steps)?;
    let (scopes, load_error) = match scopes::rows(def, producer_ops, args.depth) {
        Ok(rows) => (rows, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let mut value = json!({
        "nodes": def.node.len(),
        "producer": def.versions.as_ref().map(|v| v.producer),
        "constant_bytes": bytes,
        "functions": functions,
        "ops": ops,
        "unsupported": unsupported,
        "not_needed": not_needed,
        "folded": folded,
        "unknown": unknown,
        "load_error": &load_error,
        "scopes": scopes.iter().map(scopes::to_json).collect::<Vec<_>>(),
    });
    if args.devices && load_error.is_none() {
        value["devices"] = devices::placement(def, producer_ops)?;
    }
    Ok(Inspected { value, scopes })
}

fn print_text(value: &Value, trees: &[Vec<TreeRow>], all: bool) {
    const FREQUENT: usize = 20;
    say!("{}", text(&value["kind"]));
    for variable in value["variables"].as_array().into_iter().flatten() {
        say!("  {}  {} {}", text(&variable["name"]), text(&variable["dtype"]), variable["shape"]);
    }
    for (i, graph) in value["graphs"].as_array().into_iter().flatten().enumerate() {
        let tags = graph["tags"].as_array().map(|t| t.iter().map(text).collect::<Vec<_>>().join(", "));
        say!(
            "\ngraph{}: {} nodes, {} bytes of constants",
            tags.map(|t| format!(" [{t}]")).unwrap_or_default(),
            graph["nodes"],
            graph["constant_bytes"]
        );
        for (name, signature) in graph["signatures"].as_object().into_iter().flatten() {
            say!("  signature {name}");
            for direction in ["inputs", "outputs"] {
                for (port, info) in signature[direction].as_object().into_iter().flatten() {
                    say!(
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
            say!("  {functions} functions");
        }
        let mut ops: Vec<(&String, u64)> =
            graph["ops"].as_object().into_iter().flatten().map(|(k, v)| (k, v.as_u64().unwrap_or(0))).collect();
        ops.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        let shown = if all { ops.len() } else { ops.len().min(FREQUENT) };
        say!("  ops: {}", ops[..shown].iter().map(|(op, n)| format!("{op} {n}")).collect::<Vec<_>>().join(", "));
        if shown < ops.len() {
            say!("       and {} more kinds (--all lists them)", ops.len() - shown);
        }
        print_support(graph);
        devices::print(&graph["devices"]);
        if let Some(error) = graph["load_error"].as_str() {
            say!("  does not load: {error}");
        }
        if let Some(rows) = trees.get(i).filter(|rows| !rows.is_empty()) {
            say!("\n{}", tree_text(rows).trim_end());
        }
    }
}

/// The ops of a graph that have no kernel here, and the consequences.
fn print_support(graph: &Value) {
    const LINES: [(&str, &str, &str); 4] = [
        ("unknown", "UNKNOWN", "no definition, so the graph does not load"),
        ("unsupported", "UNSUPPORTED", "no kernel, and a signature needs it"),
        ("folded", "folded away", "no kernel, but the passes leave it out"),
        ("not_needed", "not needed", "no kernel, but no signature needs it"),
    ];
    let mut is_complete = true;
    for (key, label, meaning) in LINES {
        for (op, nodes) in graph[key].as_object().into_iter().flatten() {
            let count = nodes.as_array().map_or(0, Vec::len);
            say!("  {label} {op}: {meaning}; {count} nodes, such as {}", text(&nodes[0]));
            is_complete &= !matches!(key, "unknown" | "unsupported");
        }
    }
    if is_complete && graph["load_error"].is_null() {
        say!("  Flowmill runs all of it");
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
