//! Functions: the library, and functions as graphs.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use flowmill_graph::{Attrs, FunctionBody, FunctionLibrary, instantiate_function};
use flowmill_proto::attr_value::Value;
use flowmill_proto::op_def::{ArgDef, AttrDef};
use flowmill_proto::{AttrValue, FunctionDef, NameAttrList, NodeDef, OpDef, function_def};
use flowmill_tensor::{DType, Error};
use std::sync::Arc;

fn arg(name: &str, ty: &str) -> ArgDef {
    let mut arg = ArgDef { name: name.into(), ..Default::default() };
    if let Some(list) = ty.strip_suffix("...") {
        arg.type_list_attr = list.into();
    } else if let Some((n, t)) = ty.split_once('*') {
        arg.number_attr = n.into();
        arg.type_attr = t.into();
    } else if let Some(dtype) = DType::from_name(ty) {
        arg.r#type = dtype.number();
    } else {
        arg.type_attr = ty.into();
    }
    arg
}

fn attr(name: &str, ty: &str) -> AttrDef {
    AttrDef { name: name.into(), r#type: ty.into(), ..Default::default() }
}

fn placeholder_attr(name: &str) -> AttrValue {
    AttrValue::from(Value::Placeholder(name.into()))
}

/// `f(x: T, ys: N*T) -> (sum: T, parts: 2*T)`.
fn example() -> FunctionDef {
    FunctionDef {
        signature: Some(OpDef {
            name: "f".into(),
            input_arg: vec![arg("x", "T"), arg("ys", "N*T")],
            output_arg: vec![arg("sum", "T"), arg("parts", "two*T")],
            attr: vec![attr("T", "type"), attr("N", "int"), AttrDef { default_value: Some(2i64.into()), ..attr("two", "int") }],
            control_output: vec!["done".into()],
            ..Default::default()
        }),
        node_def: vec![
            node("add", "AddN", &["ys", "neg:y:0"]).with("T", placeholder_attr("T")).with("N", 3i64),
            node("neg", "Neg", &["x", "^effect", "^ys"]).with("T", placeholder_attr("T")),
            node("axis", "Const", &[])
                .with("value", flowmill_tensor::Tensor::scalar(0i32).to_proto().unwrap())
                .with("dtype", dtype(DType::I32)),
            node("split", "Split", &["axis:output", "add:sum"]).with("T", placeholder_attr("T")).with("num_split", 2i64),
            node("_effect", "NoOp", &[]),
            node("effect", "NoOp", &["^_effect"]),
        ],
        ret: [("sum".into(), "add:sum:0".into()), ("parts".into(), "split:output".into())].into(),
        control_ret: [("done".into(), "effect".into())].into(),
        arg_attr: [(0, function_def::ArgAttrs { attr: [("_mark".into(), 5i64.into())].into(), ..Default::default() })].into(),
        ..Default::default()
    }
}

fn instantiate(def: FunctionDef, attrs: &[(&str, AttrValue)]) -> Result<FunctionBody, Error> {
    let mut library = FunctionLibrary::default();
    let name = def.signature.as_ref().unwrap().name.clone();
    library.add(def).unwrap();
    let attrs = attrs.iter().map(|(n, v)| (n.to_string(), v.clone())).collect::<Attrs>();
    let function = library.get(&name).unwrap().clone();
    instantiate_function(&function, &attrs, &Arc::new(library), &registry())
}

#[test]
fn a_function_becomes_a_graph() {
    let body = instantiate(example(), &[("T", dtype(DType::F64)), ("N", 2i64.into()), ("unrelated", true.into())]).unwrap();
    let graph = &body.graph;
    graph.validate().unwrap();
    assert_eq!(body.arg_types, [DType::F64; 3]);
    assert_eq!(body.retval_types, [DType::F64; 3]);
    let name = |id: &flowmill_graph::NodeId| graph[*id].name().to_owned();
    assert_eq!(body.args.iter().map(name).collect::<Vec<_>>(), ["x", "ys_0", "ys_1"]);
    assert_eq!(body.retvals.iter().map(name).collect::<Vec<_>>(), ["sum_RetVal", "parts_RetVal_0", "parts_RetVal_1"]);
    assert_eq!(body.control_retvals.iter().map(name).collect::<Vec<_>>(), ["effect"]);
    let inputs = |name: &str| graph.node_def(graph.find_node(name).unwrap().id()).unwrap().input;
    assert_eq!(inputs("add"), ["ys_0", "ys_1", "neg"]);
    assert_eq!(inputs("neg"), ["x", "^effect", "^ys_0"]);
    assert_eq!(inputs("parts_RetVal_1"), ["split:1"]);
    assert_eq!(graph[body.args[2]].attrs().get::<i64>("index").unwrap(), 2);
    assert_eq!(graph[body.args[0]].attrs().get::<i64>("_mark").unwrap(), 5);
}

#[test]
fn placeholders_reach_into_functions_in_attributes() {
    let inner = NameAttrList { name: "g".into(), attr: [("U".into(), placeholder_attr("T"))].into(), ..Default::default() };
    let def = FunctionDef {
        signature: Some(OpDef { name: "h".into(), attr: vec![attr("T", "type")], ..Default::default() }),
        node_def: vec![node("c", "Call", &[]).with("Tin", types(&[])).with("Tout", types(&[])).with("f", inner)],
        ..Default::default()
    };
    let body = instantiate(def, &[("T", dtype(DType::I64))]).unwrap();
    let func: &NameAttrList = body.graph.find_node("c").unwrap().attrs().get("f").unwrap();
    assert_eq!(func.attr["U"], dtype(DType::I64));
}

#[test]
fn functions_call_functions_and_themselves() {
    let mut library = FunctionLibrary::default();
    library.add(example()).unwrap();
    let call = NodeDef { attr: [("T".into(), dtype(DType::F32)), ("N".into(), 1i64.into())].into(), ..node("call", "f", &["x", "x"]) };
    let outer = FunctionDef {
        signature: Some(OpDef {
            name: "g".into(),
            input_arg: vec![arg("x", "float32")],
            output_arg: vec![arg("y", "float32")],
            ..Default::default()
        }),
        node_def: vec![call, NodeDef { name: "again".into(), op: "g".into(), input: vec!["call:parts:1".into()], ..Default::default() }],
        ret: [("y".into(), "again:y".into())].into(),
        ..Default::default()
    };
    library.add(outer).unwrap();
    let library = Arc::new(library);
    let body = instantiate_function(library.get("g").unwrap(), &Attrs::default(), &library, &registry()).unwrap();
    let again = body.graph.find_node("again").unwrap();
    assert_eq!(body.graph.node_def(again.id()).unwrap().input, ["call:2"]);
    assert_eq!(body.graph.library().len(), 2);
}

#[test]
fn mistakes_in_functions_are_named() {
    let failed = |def: FunctionDef, attrs: &[(&str, AttrValue)], part: &str| {
        let e = instantiate(def, attrs).map(|_| ()).unwrap_err();
        assert!(e.message().contains(part) && e.message().contains("In function 'f'"), "{e}");
    };
    let bound = [("T", dtype(DType::F64)), ("N", 2i64.into())];
    failed(example(), &bound[..1], "missing attr 'N'");
    failed(example(), &[("T", dtype(DType::F64)), ("N", 1i64.into())], "do not match 2 inputs specified");
    failed(FunctionDef { ret: Default::default(), ..example() }, &bound, "Return 'sum' missing.");
    failed(FunctionDef { control_ret: Default::default(), ..example() }, &bound, "Control output 'done' is not a node");
    let mut def = example();
    def.ret.insert("sum".into(), "axis:output:0".into());
    failed(def, &bound, "Invalid ret types sum : axis:output:0");
    let mut def = example();
    def.node_def[1].input[0] = "nope:y:0".into();
    failed(def, &bound, "input nope:y:0 is not found: no such argument or output of node 'neg'");
    let mut def = example();
    def.node_def[1].attr.insert("T".into(), placeholder_attr("U"));
    failed(def, &bound, "Failed to bind all placeholders in node 'neg'");
    let mut def = example();
    def.node_def[4].op = "Foo".into();
    failed(def, &bound, "Op type not registered 'Foo'");
}

#[test]
fn the_library_keeps_its_order() {
    let mut library = FunctionLibrary::default();
    let named = |name: &str| FunctionDef { signature: Some(OpDef { name: name.into(), ..Default::default() }), ..Default::default() };
    for name in ["z", "a", "m"] {
        library.add(named(name)).unwrap();
    }
    assert!(library.remove("a") && !library.remove("a"));
    library.add(named("a")).unwrap();
    library.replace(FunctionDef { node_def: vec![node("n", "NoOp", &[])], ..named("z") }).unwrap();
    assert_eq!(library.iter().map(|f| f.name()).collect::<Vec<_>>(), ["z", "m", "a"]);
    assert_eq!(library.get("z").unwrap().def().node_def.len(), 1);
    assert_eq!(FunctionLibrary::from_proto(library.to_proto()).unwrap().to_proto(), library.to_proto());
}

#[test]
fn op_definitions_survive_the_wire() {
    for op in registry().sorted() {
        let proto = op.to_proto();
        let again = flowmill_graph::OpDef::from_proto(&proto).unwrap();
        assert_eq!(again.to_proto(), proto, "{op}");
        assert_eq!((again.inputs, again.outputs, again.attrs), (op.inputs.clone(), op.outputs.clone(), op.attrs.clone()));
    }
    let op = flowmill_graph::OpDef::from_proto(&registry().get("Conv").unwrap().to_proto()).unwrap();
    let text = "Op<name=Conv; signature=x:T -> y:T; attr=T:type; attr=data_format:string,default=\"NHWC\",allowed=[\"NHWC\", \"NCHW\"]; attr=strides:list(int),min=2>";
    assert_eq!(op.to_string(), text);
}
