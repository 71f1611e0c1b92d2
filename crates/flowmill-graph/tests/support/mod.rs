//! A small op registry and short ways to write nodes, for tests.
#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use flowmill_graph::{
    ArgDef, ArgType, AttrDef, AttrType, Effects, Graph, ImportOptions, ImportResults, OpDef, OpRegistry, OpTraits, Role, import_graph_def,
};
use flowmill_proto::attr_value::ListValue;
use flowmill_proto::{AttrValue, DataType, GraphDef, NodeDef, TensorShapeProto, VersionDef};
use flowmill_tensor::{DType, Error, Tensor};
use std::sync::{Arc, LazyLock};

/// Ops: name, inputs → outputs, attributes. `T` and `N` are attributes; `Ref(…)`, `N*T`, `T...` (a list of types) as in TensorFlow.
const OPS: &[(&str, &str, &str)] = &[
    ("NoOp", "->", ""),
    ("Const", "-> output:dtype", "value:tensor dtype:type"),
    ("Placeholder", "-> output:dtype", "dtype:type shape:shape=?"),
    ("PlaceholderWithDefault", "input:dtype -> output:dtype", "dtype:type shape:shape"),
    ("Identity", "input:T -> output:T", "T:type"),
    ("IdentityN", "input:T... -> output:T...", "T:list(type)>=1"),
    ("Neg", "x:T -> y:T", "T:type{float32,float64,int32}"),
    ("Add", "x:T y:T -> z:T", "T:type"),
    ("AddN", "inputs:N*T -> sum:T", "N:int>=1 T:type"),
    ("MatMul", "a:T b:T -> product:T", "transpose_a:bool=false transpose_b:bool=false T:type{float32,float64}"),
    ("Conv", "x:T -> y:T", "T:type data_format:string{NHWC,NCHW}=NHWC strides:list(int)>=2"),
    ("Split", "axis:int32 value:T -> output:num_split*T", "num_split:int>=1 T:type"),
    ("Less", "x:T y:T -> z:bool", "T:type"),
    ("Variable", "-> ref:Ref(dtype)", "dtype:type shape:shape"),
    ("Assign", "ref:Ref(T) value:T -> output_ref:Ref(T)", "T:type"),
    ("Switch", "data:T pred:bool -> output_false:T output_true:T", "T:type"),
    ("Merge", "inputs:N*T -> output:T value_index:int32", "T:type N:int>=1"),
    ("Enter", "data:T -> output:T", "T:type frame_name:string is_constant:bool=false parallel_iterations:int=10"),
    ("Exit", "data:T -> output:T", "T:type"),
    ("NextIteration", "data:T -> output:T", "T:type"),
    ("LoopCond", "input:bool -> output:bool", ""),
    ("Call", "args:Tin... -> output:Tout...", "Tin:list(type) Tout:list(type) f:func"),
    ("Old", "->", ""),
];

fn attr_type(text: &str) -> AttrType {
    AttrType::from_name(text).unwrap()
}

fn attr_def(text: &str) -> AttrDef {
    let (name, text) = text.split_once(':').unwrap();
    let (text, default) = text.split_once('=').filter(|(t, _)| !t.ends_with('>')).map_or((text, None), |(t, d)| (t, Some(d)));
    let (text, minimum) = text.split_once(">=").map_or((text, None), |(t, m)| (t, Some(m.parse().unwrap())));
    let (text, allowed) = text.split_once('{').map_or((text, ""), |(t, a)| (t, a.trim_end_matches('}')));
    let allowed: Vec<&str> = allowed.split(',').filter(|a| !a.is_empty()).collect();
    let ty = attr_type(text);
    let default = default.map(|d| match ty {
        AttrType::Bool => AttrValue::from(d == "true"),
        AttrType::Int => AttrValue::from(d.parse::<i64>().unwrap()),
        AttrType::String => AttrValue::from(d),
        AttrType::Shape => AttrValue::from(TensorShapeProto { unknown_rank: true, ..Default::default() }),
        _ => panic!("{d}"),
    });
    let (mut allowed_types, mut allowed_strings) = (vec![], vec![]);
    match ty {
        AttrType::String => allowed_strings = allowed.iter().map(|a| a.to_string()).collect(),
        _ => allowed_types = allowed.iter().map(|a| DType::from_name(a).unwrap()).collect(),
    }
    AttrDef { name: name.into(), ty, default, allowed_types, allowed_strings, minimum }
}

fn arg_def(text: &str, attrs: &[AttrDef]) -> ArgDef {
    let (name, ty) = text.split_once(':').unwrap();
    let (ty, is_ref) = ty.strip_prefix("Ref(").map_or((ty, false), |t| (t.trim_end_matches(')'), true));
    let (number_attr, ty) = ty.split_once('*').map_or((None, ty), |(n, t)| (Some(n.to_owned()), t));
    let ty = match ty.strip_suffix("...") {
        Some(list) => ArgType::ListAttr(list.into()),
        None if attrs.iter().any(|a| a.name == ty) => ArgType::Attr(ty.into()),
        None => ArgType::Fixed(DType::from_name(ty).unwrap()),
    };
    ArgDef { name: name.into(), ty, number_attr, is_ref }
}

pub fn op(name: &str, args: &str, attrs: &str) -> OpDef {
    let attrs: Vec<AttrDef> = attrs.split_whitespace().map(attr_def).collect();
    let (inputs, outputs) = args.split_once("->").unwrap();
    let args = |text: &str| text.split_whitespace().map(|a| arg_def(a, &attrs)).collect::<Vec<_>>();
    OpDef {
        name: name.into(),
        inputs: args(inputs),
        outputs: args(outputs),
        attrs: attrs.clone(),
        traits: OpTraits {
            role: role(name),
            effects: if name == "Variable" { Effects::State } else { Effects::None },
            ..Default::default()
        },
        ..Default::default()
    }
}

fn role(op: &str) -> Role {
    match op.strip_prefix("Ref").unwrap_or(op) {
        "Const" => Role::Const,
        "Placeholder" => Role::Placeholder,
        "Switch" => Role::Switch,
        "Merge" => Role::Merge,
        "Enter" => Role::Enter,
        "Exit" => Role::Exit,
        "NextIteration" => Role::NextIteration,
        "LoopCond" => Role::LoopCond,
        _ => Role::Kernel,
    }
}

pub fn registry() -> Arc<OpRegistry> {
    static REGISTRY: LazyLock<Arc<OpRegistry>> = LazyLock::new(|| {
        let mut ops: Vec<OpDef> = OPS.iter().map(|(n, a, t)| op(n, a, t)).collect();
        ops.iter_mut().find(|o| o.name == "Old").unwrap().deprecation =
            Some(flowmill_graph::Deprecation { version: 20, explanation: "Use New".into() });
        Arc::new(OpRegistry::new(ops).unwrap())
    });
    REGISTRY.clone()
}

pub fn graph() -> Graph {
    Graph::new(registry())
}

pub fn types(types: &[DType]) -> AttrValue {
    ListValue { r#type: types.iter().map(|t| t.number()).collect(), ..Default::default() }.into()
}

pub fn dtype(t: DType) -> AttrValue {
    DataType::try_from(t.number()).unwrap().into()
}

/// A node: `node("y", "Neg", &["x"])` with `T` or `dtype` set to float if the op has it and nothing else is given.
pub fn node(name: &str, op: &str, inputs: &[&str]) -> NodeDef {
    let mut def = NodeDef { name: name.into(), op: op.into(), input: inputs.iter().map(|i| i.to_string()).collect(), ..Default::default() };
    if let Some(op) = registry().get(op) {
        for attr in op.attrs.iter().filter(|a| a.ty == AttrType::Type) {
            def.attr.insert(attr.name.clone(), dtype(DType::F32));
        }
        for number in op.inputs.iter().filter_map(|a| a.number_attr.as_ref()) {
            def.attr.insert(number.clone(), (inputs.iter().filter(|i| !i.starts_with('^')).count() as i64).into());
        }
    }
    def
}

pub trait NodeDefExt {
    fn with(self, name: &str, value: impl Into<AttrValue>) -> Self;
}

impl NodeDefExt for NodeDef {
    fn with(mut self, name: &str, value: impl Into<AttrValue>) -> NodeDef {
        self.attr.insert(name.into(), value.into());
        self
    }
}

pub fn constant(name: &str, tensor: &Tensor) -> NodeDef {
    node(name, "Const", &[]).with("dtype", dtype(tensor.dtype())).with("value", tensor.to_proto().unwrap())
}

pub fn graph_def(nodes: impl IntoIterator<Item = NodeDef>) -> GraphDef {
    let versions = VersionDef { producer: 2000, min_consumer: 12, ..Default::default() };
    GraphDef { node: nodes.into_iter().collect(), versions: Some(versions), ..Default::default() }
}

pub fn import(nodes: impl IntoIterator<Item = NodeDef>) -> Graph {
    let mut graph = graph();
    import_graph_def(&mut graph, graph_def(nodes), &ImportOptions::default()).unwrap();
    graph
}

pub fn import_error(nodes: impl IntoIterator<Item = NodeDef>) -> Error {
    import_into(&mut graph(), nodes, &ImportOptions::default()).unwrap_err()
}

pub fn import_into(graph: &mut Graph, nodes: impl IntoIterator<Item = NodeDef>, options: &ImportOptions) -> Result<ImportResults, Error> {
    import_graph_def(graph, graph_def(nodes), options)
}

/// The loop `while i < 10: i = i + 1`, in frame `frame`, with the names under `scope`.
pub fn counting_loop(scope: &str, frame: &str) -> Vec<NodeDef> {
    let n = |s: &str| format!("{scope}{s}");
    let node = |name: &str, op: &str, inputs: &[&str]| {
        let inputs: Vec<String> = inputs.iter().map(|i| i.strip_prefix('^').map_or_else(|| n(i), |c| format!("^{}", n(c)))).collect();
        node(&n(name), op, &inputs.iter().map(|i| &**i).collect::<Vec<_>>())
    };
    let scalar = |x: f32| Tensor::scalar(x);
    vec![
        constant(&n("zero"), &scalar(0.0)),
        node("enter", "Enter", &["zero"]).with("frame_name", frame),
        node("merge", "Merge", &["enter", "next"]),
        NodeDef { input: vec![format!("^{}", n("merge"))], ..constant(&n("ten"), &scalar(10.0)) },
        node("less", "Less", &["merge", "ten"]),
        node("cond", "LoopCond", &["less"]),
        node("switch", "Switch", &["merge", "cond"]),
        node("exit", "Exit", &["switch"]),
        node("body", "Identity", &["switch:1"]),
        NodeDef { input: vec![format!("^{}", n("body"))], ..constant(&n("one"), &scalar(1.0)) },
        node("add", "Add", &["body", "one"]),
        node("next", "NextIteration", &["add"]),
    ]
}
