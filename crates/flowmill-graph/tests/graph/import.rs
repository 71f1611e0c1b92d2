//! Importing: what is legal, what is answered with which words, and what comes out again. Numbers of behaviours are those of
//! TensorFlow's own tests of its importer.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use flowmill_graph::{CONTROL_SLOT, Graph, ImportOptions, NodeId, import_graph_def};
use flowmill_proto::attr_value::ListValue;
use flowmill_proto::{FunctionDef, FunctionDefLibrary, GradientDef, GraphDef, Message, NodeDef, OpDef, VersionDef};
use flowmill_tensor::{Bytes, Code, DType, Error, Tensor};

fn placeholder(name: &str) -> NodeDef {
    node(name, "Placeholder", &[])
}

fn colocated(name: &str, with: &str) -> NodeDef {
    node(name, "NoOp", &[]).with("_class", ListValue { s: vec![format!("loc:@{with}").into()], ..Default::default() })
}

#[track_caller]
fn assert_error(e: Error, code: Code, part: &str) {
    assert_eq!(e.code(), code, "{e}");
    assert!(e.message().contains(part), "{part:?} is not in: {e}");
}

#[track_caller]
fn assert_invalid(nodes: impl IntoIterator<Item = NodeDef>, part: &str) {
    assert_error(import_error(nodes), Code::InvalidArgument, part);
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.op_nodes().map(|n| n.name()).collect()
}

fn prefix(prefix: &str) -> ImportOptions {
    ImportOptions { prefix: prefix.into(), ..Default::default() }
}

#[test]
fn a_message_comes_back_as_it_was() {
    let first = import(counting_loop("a/", "frame")).to_graph_def();
    let mut with_all = first.clone();
    with_all.node[2].device = "/device:CPU:0".into();
    with_all.node[3].experimental_debug_info =
        Some(flowmill_proto::node_def::ExperimentalDebugInfo { original_node_names: vec!["o".into()], ..Default::default() });
    let function = FunctionDef { signature: Some(OpDef { name: "f".into(), ..Default::default() }), ..Default::default() };
    with_all.library = Some(FunctionDefLibrary { function: vec![function], ..Default::default() });
    with_all.versions.as_mut().unwrap().bad_consumers = vec![7];
    let mut bytes = with_all.encode_to_vec();
    // Fields that nobody knows, of the graph and of a node.
    bytes.extend_from_slice(&[0xa0, 0xbf, 0x06, 0x05]);
    let mut unknown_node = with_all.node[0].encode_to_vec();
    unknown_node.extend_from_slice(&[0xa0, 0xbf, 0x06, 0x06]);
    with_all.node[0] = NodeDef::decode(&*unknown_node).unwrap();
    let mut def = GraphDef::decode(&*bytes).unwrap();
    def.node[0] = with_all.node[0].clone();

    let mut graph = graph();
    import_graph_def(&mut graph, def.clone(), &ImportOptions::default()).unwrap();
    assert_eq!(graph.to_graph_def().encode_to_vec(), def.encode_to_vec());
    assert_eq!(names(&graph)[..3], ["a/zero", "a/enter", "a/merge"]);
    graph.validate().unwrap();
}

#[test]
fn constants_are_not_copied() {
    let content = Bytes::from(vec![1u8; 4000]);
    let tensor =
        flowmill_proto::TensorProto { tensor_content: content.clone(), ..Tensor::vector(&vec![0f32; 1000]).unwrap().to_proto().unwrap() };
    let graph = import([node("c", "Const", &[]).with("value", tensor)]);
    let value: &flowmill_proto::TensorProto = graph.find_node("c").unwrap().attrs().get("value").unwrap();
    assert_eq!(value.tensor_content.as_ptr(), content.as_ptr());
}

#[test]
fn behaviour_16_validate_duplicates_and_attrs() {
    assert_invalid([placeholder("p"), placeholder("p")], "Node 'p' is not unique");
    let missing = NodeDef { attr: Default::default(), ..node("n", "Neg", &["p"]) };
    assert_invalid([placeholder("p"), missing], "NodeDef missing attr 'T' from Op<name=Neg; signature=x:T -> y:T; attr=T:type");
    let graph = import([placeholder("p"), node("m", "MatMul", &["p", "p"])]);
    assert!(!graph.find_node("m").unwrap().attrs().get::<bool>("transpose_a").unwrap());
}

#[test]
fn behaviour_17_bad_names_and_inputs() {
    for name in ["p q", "", "_p", "p:0", "^p"] {
        assert_invalid([placeholder(name)], "Node name contains invalid characters");
    }
    assert_invalid([node("n", "", &[])], "Node 'n' does not specify an operation");
    assert_invalid([node("n", "Neg", &["q"])], "Node 'n': Unknown input node 'q'");
    assert_invalid([node("n", "Neg", &["q:"])], "Node 'n': Malformed input 'q:'");
    assert_invalid(
        [placeholder("p"), node("n", "Neg", &["p:3"])],
        "Node 'n': Connecting to invalid output 3 of source node p which has 1 outputs.",
    );
    assert_invalid([placeholder("p"), node("n", "Neg", &["p:99999999999"])], "Malformed input");
    assert_invalid(
        [placeholder("p"), node("n", "Neg", &["p", "p"])],
        "NodeDef expected inputs 'float' do not match 2 inputs specified; Op<name=Neg;",
    );
    assert_invalid([placeholder("p"), node("n", "Neg", &["^p"])], "do not match 0 inputs specified");
}

#[test]
fn unknown_ops_are_listed_at_once() {
    let e = import_error([node("a", "Foo", &[]), node("b", "Bar", &[]), node("c", "Foo", &["a"]), node("d", "NoOp", &[])]);
    assert_error(e.clone(), Code::NotFound, "Op type not registered 'Bar': b");
    assert_error(e, Code::NotFound, "Op type not registered 'Foo': a, c");
}

#[test]
fn ops_without_a_definition_get_one_that_fits_their_nodes() {
    let stand_ins = ImportOptions { stand_ins: true, ..Default::default() };
    let nodes = [
        placeholder("p"),
        node("a", "Foo", &["p", "b:1", "^p"]).with("size", 3i64),
        node("b", "Bar", &["p"]).with("kind", dtype(DType::I32)),
        node("c", "Less", &["a:2", "a:2"]).with("T", dtype(DType::I64)),
        node("d", "Foo", &["c", "a"]),
    ];
    let mut graph = graph();
    import_into(&mut graph, nodes, &stand_ins).unwrap();
    graph.validate().unwrap();
    let outputs = |name: &str| graph.find_node(name).unwrap().output_types().iter().map(|t| t.dtype).collect::<Vec<_>>();
    let inputs = |name: &str| graph.find_node(name).unwrap().input_types().iter().map(|t| t.dtype).collect::<Vec<_>>();
    // What `Less` expects is known, and what `Bar` says of itself.
    assert_eq!((inputs("a"), outputs("a")), (vec![DType::F32, DType::I32], vec![DType::F32, DType::F32, DType::I64]));
    assert_eq!((inputs("b"), outputs("b")), (vec![DType::F32], vec![DType::I32; 2]));
    assert_eq!((inputs("d"), outputs("d")), (vec![DType::Bool, DType::F32], vec![DType::F32]));
    assert_eq!(graph.find_node("d").unwrap().attrs().get::<i64>("size").unwrap(), 3);
    // Other errors stay, and a message of a few bytes does not make millions of outputs.
    let error = |nodes: [NodeDef; 2]| import_into(&mut crate::support::graph(), nodes, &stand_ins).unwrap_err();
    let much = error([node("a", "Foo", &[]), node("b", "Foo", &["a:2000000000"])]);
    assert_error(much, Code::InvalidArgument, "Connecting to invalid output 2000000000 of source node a");
    assert_error(error([node("a", "Foo", &[]), node("b", "Neg", &["z"])]), Code::InvalidArgument, "Unknown input node 'z'");
}

#[test]
fn behaviour_18_control_inputs_follow_data_inputs() {
    assert_invalid(
        [placeholder("p"), node("n", "Neg", &["^p", "p"])],
        "Node 'n': Control dependencies must come after regular dependencies",
    );
    let graph = import([placeholder("p"), node("q", "NoOp", &[]), node("n", "Neg", &["p", "^q", "^p", "^q"])]);
    assert_eq!(graph.to_graph_def().node[2].input, ["p", "^q", "^p"]);
}

#[test]
fn behaviour_19_back_edges_and_cycles() {
    import(counting_loop("", "f")).validate().unwrap();
    let cycle = [node("a", "Neg", &["b"]), node("b", "Neg", &["a"]), placeholder("p")];
    assert_invalid(cycle, "contains a cycle with 2 nodes, including: a, b");
    assert_invalid([node("a", "Neg", &["n"]), node("n", "NextIteration", &["a"])], "contains a cycle");
    assert_invalid([node("m", "Merge", &["a"]), node("a", "Neg", &["m"])], "contains a cycle");
    assert_invalid([node("a", "NoOp", &["^a"])], "contains a cycle with 1 nodes");
    let reversed: Vec<NodeDef> = counting_loop("", "f").into_iter().rev().collect();
    import(reversed).validate().unwrap();
}

#[test]
fn behaviour_20_versions_both_ways() {
    let import = |versions: VersionDef| {
        let def = GraphDef { versions: Some(versions), ..graph_def([placeholder("p")]) };
        import_graph_def(&mut graph(), def, &ImportOptions::default())
    };
    let v = |producer, min_consumer| VersionDef { producer, min_consumer, ..Default::default() };
    assert!(import(v(9999, 0)).is_ok(), "a newer producer is read");
    assert_error(import(v(-1, 0)).unwrap_err(), Code::InvalidArgument, "GraphDef producer version -1 below min producer 0 supported");
    assert_error(import(v(5, 99999)).unwrap_err(), Code::InvalidArgument, "GraphDef min consumer version 99999 above current version 2474");
    let bad = VersionDef { bad_consumers: vec![2474], ..v(5, 0) };
    assert_error(import(bad).unwrap_err(), Code::InvalidArgument, "GraphDef disallows consumer version 2474");
}

#[test]
fn behaviour_21_missing_attrs_take_defaults_and_values_are_checked() {
    let graph = import([placeholder("p"), node("c", "Conv", &["p"]).with("strides", ListValue { i: vec![1, 1], ..Default::default() })]);
    assert_eq!(graph.find_node("c").unwrap().attrs().get::<&str>("data_format").unwrap(), "NHWC");
    let conv = || node("c", "Conv", &["p"]).with("strides", ListValue { i: vec![1, 1], ..Default::default() });
    let bad = |n: NodeDef, part: &str| assert_invalid([placeholder("p"), n], part);
    bad(
        conv().with("data_format", "NHCW"),
        "Value for attr 'data_format' of \"NHCW\" is not in the list of allowed values: \"NHWC\", \"NCHW\"",
    );
    bad(
        conv().with("strides", ListValue { i: vec![1], ..Default::default() }),
        "Length for attr 'strides' of 1 must be at least minimum 2",
    );
    bad(conv().with("strides", 3i64), "AttrValue had value with type 'int' when 'list(int)' expected");
    bad(conv().with("T", flowmill_proto::AttrValue::default()), "AttrValue missing value with expected type 'type'");
    let neg = |ty: i32| node("c", "Neg", &["p"]).with("T", flowmill_proto::attr_value::Value::Type(ty));
    bad(neg(7), "Value for attr 'T' of string is not in the list of allowed values: float, double, int32");
    bad(neg(7), "; NodeDef: {{node c}}; Op<name=Neg;");
    bad(neg(101), "AttrValue must not have reference type value of float_ref");
    bad(neg(0), "AttrValue has invalid DataType enum");
    bad(node("c", "AddN", &["p"]).with("N", 0i64), "Value for attr 'N' of 0 must be at least minimum 1");
    bad(node("c", "AddN", &["p"]).with("N", i64::MAX), "is not between 0 and");
}

#[test]
fn a_small_message_cannot_ask_for_endless_outputs() {
    let split = |i: usize| node(&format!("s{i}"), "Split", &["a", "p"]).with("num_split", 1i64 << 20);
    let start = [constant("a", &Tensor::scalar(0i32)), placeholder("p")];
    let e = import_error(start.into_iter().chain((0..17).map(split)));
    assert_error(e, Code::ResourceExhausted, "outputs together");
}

#[test]
fn attributes_that_the_op_does_not_have_are_kept() {
    let graph = import([node("n", "NoOp", &[]).with("_mark", 1i64).with("newer", 2i64)]);
    let attrs = graph.find_node("n").unwrap().attrs();
    assert_eq!((attrs.get::<i64>("_mark").unwrap(), attrs.get::<i64>("newer").unwrap()), (1, 2));
}

#[test]
fn behaviour_22_deprecated_ops_depend_on_the_producer() {
    let import = |producer| {
        let def = GraphDef { versions: Some(VersionDef { producer, ..Default::default() }), ..graph_def([node("o", "Old", &[])]) };
        import_graph_def(&mut graph(), def, &ImportOptions::default())
    };
    assert!(import(19).is_ok());
    assert_error(
        import(20).unwrap_err(),
        Code::Unimplemented,
        "Op Old is not available in GraphDef version 20. It has been removed in version 20. Use New.",
    );
}

#[test]
fn behaviour_23_types_at_both_ends_of_an_edge() {
    let int = || node("n", "Neg", &["p"]).with("T", dtype(DType::I32));
    assert_invalid([placeholder("p"), int()], "Input 0 of node n was passed float from p:0 incompatible with expected int32.");
    let assign = node("a", "Assign", &["p", "p"]);
    assert_invalid([placeholder("p"), assign], "Input 0 of node a was passed float from p:0 incompatible with expected float_ref.");
    let shape = flowmill_proto::TensorShapeProto::of([]);
    import([node("v", "Variable", &[]).with("shape", shape), node("n", "Neg", &["v"]), node("a", "Assign", &["v", "n"])]);
}

#[test]
fn behaviour_24_prefix_and_unique_names() {
    let mut graph = import([placeholder("p"), placeholder("c/d")]);
    import_into(&mut graph, [placeholder("p"), node("n", "Neg", &["p"])], &prefix("s/")).unwrap();
    assert_eq!(names(&graph), ["p", "c/d", "s/p", "s/n"]);
    assert_eq!(graph.to_graph_def().node[3].input, ["s/p"]);
    let e = import_into(&mut graph, [placeholder("p")], &ImportOptions::default()).unwrap_err();
    assert_error(e, Code::InvalidArgument, "Node name 'p' already exists in the Graph");
    let e = import_into(&mut graph, [placeholder("p")], &prefix("a b")).unwrap_err();
    assert_error(e, Code::InvalidArgument, "Imported node name prefix 'a b/' would lead to invalid node names");

    let mut graph = import([placeholder("p"), placeholder("c/d")]);
    let unique = ImportOptions { uniquify_names: true, ..Default::default() };
    let nodes = [placeholder("p"), placeholder("c"), placeholder("c_1"), node("d", "Neg", &["p"])];
    import_into(&mut graph, nodes, &unique).unwrap();
    assert_eq!(names(&graph), ["p", "c/d", "p_1", "c_2", "c_1", "d"], "as TensorFlow names them");
    assert_eq!(graph.to_graph_def().node[5].input, ["p_1"]);
    let unique = ImportOptions { uniquify_prefix: true, ..prefix("c") };
    import_into(&mut graph, [placeholder("p")], &unique).unwrap();
    assert!(graph.find_node("c_3/p").is_some(), "{:?}", names(&graph));
}

#[test]
fn a_prefix_reaches_frames() {
    let mut graph = import(counting_loop("", "f"));
    import_into(&mut graph, counting_loop("", "f"), &prefix("s")).unwrap();
    assert_eq!(graph.find_node("s/enter").unwrap().attrs().get::<&str>("frame_name").unwrap(), "s/f");
}

fn map(entries: &[(&str, &str)]) -> ImportOptions {
    ImportOptions { input_map: entries.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(), ..prefix("s") }
}

#[test]
fn behaviour_24_input_map() {
    let mut graph =
        import([placeholder("x"), node("y", "NoOp", &[]), node("sw", "IdentityN", &["x", "x"]).with("T", types(&[DType::F32; 2]))]);
    let nodes = || [placeholder("p"), node("q", "NoOp", &[]), node("n", "Add", &["p", "p:0", "^q"])];
    import_into(&mut graph, nodes(), &map(&[("p:0", "sw:1"), ("^q", "^y")])).unwrap();
    assert_eq!(graph.node_def(graph.find_node("s/n").unwrap().id()).unwrap().input, ["sw:1", "sw:1", "^y"]);

    let mut graph = import([placeholder("x")]);
    let results = import_into(&mut graph, nodes(), &map(&[("p", "x"), ("nope", "x"), ("p:7", "x"), ("n", "x")])).unwrap();
    assert_eq!(results.missing_unused_input_map_keys, ["nope", "p:7"]);
    let failed = |entries: &[(&str, &str)], part: &str| {
        let e = import_into(&mut import([placeholder("x")]), nodes(), &map(entries)).unwrap_err();
        assert_error(e, Code::InvalidArgument, part);
    };
    failed(&[("p", "nope")], "node 'nope' in input_map does not exist in graph (input_map entry: p->nope)");
    failed(&[("^p", "x")], "input_map entry ^p->x between control edge and non-control edge");
    failed(&[("p", "x:4")], "names an output that node 'x' does not have");
    let int = node("x", "Placeholder", &[]).with("dtype", dtype(DType::I32));
    let e = import_into(&mut import([int]), nodes(), &map(&[("p", "x")])).unwrap_err();
    assert_error(e, Code::InvalidArgument, "Input 0 of node n was passed int32 from x:0 incompatible with expected float.");
}

#[test]
fn behaviour_24_skip_mapped_nodes() {
    let mut graph = import([placeholder("x")]);
    let options = ImportOptions { skip_mapped_nodes: true, return_tensors: vec!["p:0".into(), "n".into()], ..map(&[("p", "x")]) };
    let nodes = [placeholder("p"), node("n", "Neg", &["p", "^p"])];
    let results = import_into(&mut graph, nodes, &options).unwrap();
    assert_eq!(names(&graph), ["x", "s/n"]);
    assert_eq!(graph.node_def(results.nodes[0]).unwrap().input, ["x", "^x"]);
    assert_eq!(results.return_tensors, [graph.find_node("x").unwrap().id().output(0), results.nodes[0].output(0)]);
}

#[test]
fn behaviour_24_return_tensors_and_nodes() {
    let nodes = || [placeholder("p"), node("n", "Neg", &["p"])];
    let with = |tensors: &[&str], nodes: &[&str]| ImportOptions {
        return_tensors: tensors.iter().map(|t| t.to_string()).collect(),
        return_nodes: nodes.iter().map(|t| t.to_string()).collect(),
        ..prefix("s")
    };
    let results = import_into(&mut graph(), nodes(), &with(&["n", "p:0"], &["p"])).unwrap();
    assert_eq!(results.return_tensors, [NodeId(3).output(0), NodeId(2).output(0)]);
    assert_eq!(results.return_nodes, [NodeId(2)]);
    let failed = |options, part| assert_error(import_into(&mut graph(), nodes(), &options).unwrap_err(), Code::InvalidArgument, part);
    failed(with(&["q:0"], &[]), "Requested return tensor 'q:0' not found in graph def");
    failed(with(&[], &["q"]), "Requested return node 'q' not found in graph def");
    failed(with(&["p:3"], &[]), "Invalid return output 3 of node 'p', which has 1 output(s)");
}

#[test]
fn behaviour_24_control_dependencies_go_to_sources_only() {
    let mut graph = import([node("w", "NoOp", &[]), placeholder("x")]);
    let options = ImportOptions { control_dependencies: vec!["w".into()], ..map(&[("q", "x")]) };
    let nodes = [placeholder("p"), placeholder("q"), node("n", "Neg", &["p"]), node("m", "Neg", &["q"])];
    import_into(&mut graph, nodes, &options).unwrap();
    let inputs = |name: &str| graph.node_def(graph.find_node(name).unwrap().id()).unwrap().input;
    assert_eq!(inputs("s/p"), ["^w"]);
    assert_eq!(inputs("s/n"), ["s/p"]);
    assert_eq!(inputs("s/m"), ["x", "^w"]);
    let missing = ImportOptions { control_dependencies: vec!["nope".into()], ..Default::default() };
    let e = import_into(&mut crate::support::graph(), [placeholder("p")], &missing).unwrap_err();
    assert_error(e, Code::InvalidArgument, "node 'nope' in control_dependencies does not exist in graph");
}

#[test]
fn behaviour_25_failure_leaves_the_graph_unchanged() {
    let mut graph = import([placeholder("x")]);
    let before = (graph.to_graph_def(), graph.num_node_ids(), graph.num_edge_ids(), graph.change_count());
    let failures = [
        vec![placeholder("y"), node("n", "Neg", &["nope"])],
        vec![placeholder("y"), node("n", "Foo", &["y"])],
        vec![placeholder("y"), placeholder("x")],
        vec![placeholder("y"), node("n", "Neg", &["n"])],
        vec![placeholder("y"), colocated("n", "nope")],
    ];
    for nodes in failures {
        let function = FunctionDef { signature: Some(OpDef { name: "f".into(), ..Default::default() }), ..Default::default() };
        let library = Some(FunctionDefLibrary { function: vec![function], ..Default::default() });
        let def = GraphDef { library, ..graph_def(nodes) };
        assert!(import_graph_def(&mut graph, def, &ImportOptions::default()).is_err());
        assert_eq!((graph.to_graph_def(), graph.num_node_ids(), graph.num_edge_ids(), graph.change_count()), before);
    }
}

#[test]
fn behaviour_26_colocation_names() {
    let mut graph = import([placeholder("p")]);
    import_into(&mut graph, [placeholder("p"), colocated("n", "p")], &prefix("s")).unwrap();
    let group = |name: &str| graph.find_node(name).unwrap().attrs().list::<&str>("_class").unwrap().concat();
    assert_eq!(group("s/n"), "loc:@s/p");
    assert_invalid([colocated("n", "nope")], "Node 'n' expects to be colocated with unknown node 'nope'");
    let lenient = ImportOptions { validate_colocation: false, ..prefix("s") };
    let mut graph = crate::support::graph();
    import_into(&mut graph, [colocated("n", "nope")], &lenient).unwrap();
    assert_eq!(graph.find_node("s/n").unwrap().attrs().list::<&str>("_class").unwrap(), ["loc:@s/nope"]);
    let unique = ImportOptions { uniquify_names: true, ..Default::default() };
    let mut graph = import([placeholder("p")]);
    import_into(&mut graph, [placeholder("p"), colocated("n", "p")], &unique).unwrap();
    assert_eq!(graph.find_node("n").unwrap().attrs().list::<&str>("_class").unwrap(), ["loc:@p_1"]);
}

#[test]
fn behaviour_27_default_device_only_where_empty() {
    let mut graph = graph();
    let options = ImportOptions { default_device: "/cpu:1".into(), ..Default::default() };
    import_into(&mut graph, [placeholder("p"), NodeDef { device: "/gpu:0".into(), ..placeholder("q") }], &options).unwrap();
    assert_eq!(graph.op_nodes().map(|n| n.device()).collect::<Vec<_>>(), ["/cpu:1", "/gpu:0"]);
}

#[test]
fn behaviour_28_functions_with_gradients() {
    let function = |name: &str, control: &str| FunctionDef {
        signature: Some(OpDef { name: name.into(), control_output: vec![control.into()], ..Default::default() }),
        ..Default::default()
    };
    let gradient = |of: &str, g: &str| GradientDef { function_name: of.into(), gradient_func: g.into(), ..Default::default() };
    let with = |functions: Vec<FunctionDef>, gradients: Vec<GradientDef>, nodes: Vec<NodeDef>| {
        let library = FunctionDefLibrary { function: functions, gradient: gradients, ..Default::default() };
        GraphDef { library: Some(library), ..graph_def(nodes) }
    };
    let mut graph = graph();
    let call = NodeDef { op: "f".into(), name: "call".into(), ..Default::default() };
    let def = with(vec![function("f", "a"), function("g", "b")], vec![gradient("f", "g")], vec![call.clone()]);
    import_graph_def(&mut graph, def.clone(), &ImportOptions::default()).unwrap();
    assert_eq!(graph.library().gradient("f"), Some("g"));
    assert_eq!(graph.find_node("call").unwrap().op_def().control_outputs, ["a"]);
    import_graph_def(&mut graph, def, &prefix("again")).unwrap();
    assert_eq!(graph.library().len(), 2);
    let mut failed = |def, part| assert_error(import_graph_def(&mut graph, def, &prefix("s")).unwrap_err(), Code::InvalidArgument, part);
    let different = "Cannot add function 'f' because a different function with the same name already exists.";
    failed(with(vec![function("f", "other")], vec![], vec![]), different);
    let other = "Cannot assign gradient function 'h' to 'f' because it already has gradient function 'g'";
    failed(with(vec![], vec![gradient("f", "h")], vec![]), other);
    failed(with(vec![function("Neg", "a")], vec![], vec![]), "Cannot add function 'Neg' because an op with the same name already exists.");
    failed(with(vec![FunctionDef::default()], vec![], vec![]), "FunctionDef without a signature");
}

#[test]
fn behaviour_29_versions_are_merged() {
    let mut graph = import([placeholder("p")]);
    assert_eq!((graph.versions().producer, graph.versions().min_consumer), (2000, 12));
    let versions = VersionDef { producer: 1500, min_consumer: 20, bad_consumers: vec![3], ..Default::default() };
    let def = GraphDef { versions: Some(versions), ..graph_def([placeholder("q")]) };
    import_graph_def(&mut graph, def, &ImportOptions::default()).unwrap();
    let merged = graph.versions();
    assert_eq!((merged.producer, merged.min_consumer, merged.bad_consumers), (1500, 20, vec![3]));
}

#[test]
fn part_of_a_graph_can_be_exported() {
    let graph = import([placeholder("p"), node("n", "Neg", &["p"]), node("m", "Neg", &["n"])]);
    let ids: Vec<NodeId> = ["m", "n"].iter().map(|n| graph.find_node(n).unwrap().id()).collect();
    let def = graph.subgraph_to_graph_def(&ids).unwrap();
    assert_eq!(def.node.iter().map(|n| (&*n.name, &*n.input[0])).collect::<Vec<_>>(), [("n", "p"), ("m", "n")]);
    assert!(graph.in_edges(ids[0]).all(|e| e.src_output != CONTROL_SLOT));
}

#[test]
fn the_producers_ops_explain_what_is_not_known_here() {
    let attr = |name: &str, kind: &str, default: Option<i64>| flowmill_proto::op_def::AttrDef {
        name: name.into(),
        r#type: kind.into(),
        default_value: default.map(flowmill_proto::AttrValue::from),
        ..Default::default()
    };
    let arg = |name: &str| flowmill_proto::op_def::ArgDef { name: name.into(), r#type: 1, ..Default::default() };
    let no_op = flowmill_proto::OpDef {
        name: "NoOp".into(),
        attr: vec![attr("newer", "int", Some(2)), attr("changed", "int", Some(2))],
        ..Default::default()
    };
    let foreign = flowmill_proto::OpDef { name: "Foreign".into(), output_arg: vec![arg("y"), arg("z")], ..Default::default() };
    let producer_ops = vec![no_op, foreign];
    let nodes = [node("n", "NoOp", &[]).with("newer", 2i64).with("changed", 3i64).with("_newer", 2i64), node("f", "Foreign", &["^n"])];
    let mut graph = graph();
    assert_eq!(import_graph_def(&mut graph, graph_def(nodes.clone()), &ImportOptions::default()).unwrap_err().code(), Code::NotFound);
    assert!(graph.op_def("Foreign").is_err(), "a failure leaves the graph as it was");
    let options = ImportOptions { producer_ops, ..ImportOptions::default() };
    import_graph_def(&mut graph, graph_def(nodes), &options).unwrap();
    let attrs = graph.find_node("n").unwrap().attrs();
    assert_eq!((attrs.contains("newer"), attrs.get::<i64>("changed").unwrap(), attrs.contains("_newer")), (false, 3, true));
    assert_eq!(graph.find_node("f").unwrap().num_outputs(), 2);
    assert!(graph.to_graph_def().library.is_none_or(|library| library.function.is_empty()));
}
