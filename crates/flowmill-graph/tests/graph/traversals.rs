//! Walks, feeds and fetches, frames, shapes.
#![allow(clippy::unwrap_used)]

use crate::support::*;
use flowmill_graph::traverse::{
    Neighbours, Visit, depth_first, post_order, prune, reverse_depth_first, reverse_post_order, topological_order,
};
use flowmill_graph::{
    ControlFlow, Graph, ImportOptions, InferenceContext, NodeId, OpDef, OpRegistry, OutputId, ShapeRefiner, import_graph_def,
    part_for_execution, rewrite_for_execution, rewrite_with_connections,
};
use flowmill_proto::{NodeDef, TensorShapeProto};
use flowmill_tensor::{Code, DType, PartialShape, Result, Tensor};
use std::sync::Arc;

fn names(graph: &Graph, nodes: &[NodeId]) -> Vec<String> {
    nodes.iter().filter(|n| **n > NodeId::SINK).map(|&n| graph[n].name().to_owned()).collect()
}

fn id(graph: &Graph, name: &str) -> NodeId {
    graph.find_node(name).unwrap().id()
}

/// A diamond: d(b(a), c(a)), added in another order than that of the names.
fn diamond(second: &str, third: &str) -> Graph {
    import([node("a", "Placeholder", &[]), node(second, "Neg", &["a"]), node(third, "Neg", &["a"]), node("d", "Add", &["b", "c"])])
}

#[test]
fn behaviour_14_orders_are_stable_by_name_and_respect_the_filter() {
    for graph in [diamond("b", "c"), diamond("c", "b")] {
        assert_eq!(names(&graph, &reverse_post_order(&graph, Neighbours::ByName, |_| true)), ["a", "c", "b", "d"]);
        assert_eq!(names(&graph, &post_order(&graph, Neighbours::ByName, |_| true)), ["d", "b", "c", "a"]);
        let b = id(&graph, "b");
        let without_b = reverse_post_order(&graph, Neighbours::ByName, |e| e.src != b);
        assert_eq!(names(&graph, &without_b), ["a", "c", "d", "b"]);
    }
}

#[test]
fn depth_first_walks_enter_and_leave() {
    let graph = diamond("b", "c");
    let mut steps = Vec::new();
    let mut log = |v: Visit| {
        steps.push(match v {
            Visit::Enter(n) => format!("+{}", graph[n].name()),
            Visit::Leave(n) => format!("-{}", graph[n].name()),
        })
    };
    depth_first(&graph, &[id(&graph, "a")], Neighbours::ByName, |_| true, &mut log);
    reverse_depth_first(&graph, &[id(&graph, "c")], Neighbours::AsAdded, |_| true, &mut log);
    assert_eq!(steps.concat(), "+a+b+d-d-b+c-c-a+c+a-a-c");
}

#[test]
fn topological_order_leaves_out_back_edges() {
    let nodes = counting_loop("", "f");
    let graph = import(nodes.iter().rev().cloned());
    let order = topological_order(&graph).unwrap();
    let place = |name: &str| order.iter().position(|&n| n == id(&graph, name)).unwrap();
    for node in nodes.iter().filter(|n| n.name != "merge") {
        for input in &node.input {
            let input = input.trim_start_matches('^').split(':').next().unwrap();
            assert!(place(input) < place(&node.name), "{input} before {}", node.name);
        }
    }
    let mut cyclic = import([node("p", "Placeholder", &[]), node("a", "Add", &["p", "p"]), node("b", "Neg", &["a"])]);
    let (a, b) = (id(&cyclic, "a"), id(&cyclic, "b"));
    cyclic.update_edge(b.output(0), a, 0).unwrap();
    let e = topological_order(&cyclic).unwrap_err();
    assert!(e.message().contains("contains a cycle with 2 nodes, including: a, b"), "{e}");
    assert!(cyclic.to_string().contains("a = Add(b, p)"));
}

#[test]
fn pruning_keeps_what_targets_need() {
    let mut graph =
        import([node("p", "Placeholder", &[]), node("x", "Neg", &["p"]), node("w", "NoOp", &[]), node("y", "Neg", &["p", "^w"])]);
    let y = id(&graph, "y");
    assert_eq!(prune(&mut graph, &[y]).unwrap(), 1);
    assert_eq!(graph.op_nodes().map(|n| n.name()).collect::<Vec<_>>(), ["p", "w", "y"]);
}

fn rewritten(nodes: Vec<NodeDef>, feeds: &[&str], fetches: &[&str], targets: &[&str]) -> Result<String> {
    let whole = import(nodes);
    executed(&whole, feeds, fetches, targets, &[])
}

/// Returns the nodes that a step runs, as text; checks that the part of the graph that the step may need has the same.
fn executed(whole: &Graph, feeds: &[&str], fetches: &[&str], targets: &[&str], connections: &[(&str, &str)]) -> Result<String> {
    let mut part = part_for_execution(whole, feeds, fetches, targets, connections);
    assert!(part.num_nodes() <= whole.num_nodes() && part.num_node_ids() == whole.num_node_ids());
    let of_part = rewrite_with_connections(&mut part, feeds, fetches, targets, connections);
    let mut graph = whole.clone();
    let of_whole = rewrite_with_connections(&mut graph, feeds, fetches, targets, connections);
    assert_eq!(of_part.map_err(|e| e.to_string()), of_whole.clone().map_err(|e| e.to_string()));
    of_whole?;
    graph.validate()?;
    part.validate()?;
    assert_eq!(part.to_string(), graph.to_string());
    Ok(graph.to_string())
}

fn feed_example() -> Vec<NodeDef> {
    vec![
        node("p", "Placeholder", &[]),
        node("x", "Neg", &["p"]),
        node("y", "Add", &["x", "x"]),
        node("z", "Neg", &["y", "^p"]),
        node("t", "NoOp", &["^x"]),
    ]
}

#[test]
fn behaviour_31_feeds_and_fetches_cut_the_graph() {
    let text = rewritten(feed_example(), &["x:0"], &["y"], &[]).unwrap();
    let expected =
        "_arg_x_0_0 = _Arg() {T=f32, index=0}\ny = Add(_arg_x_0_0, _arg_x_0_0) {T=f32}\n_retval_y_0_0:0 = _Retval(y) {T=f32, index=0}\n";
    let lines = |t: &str| {
        let mut lines: Vec<String> = t.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&text), lines(expected));
    // Waiting for a fed placeholder is waiting for the feed; waiting for another fed node is waiting for that node.
    let text = rewritten(feed_example(), &["p"], &["z"], &["t"]).unwrap();
    assert!(text.contains("z = Neg(y) {T=f32} ^_arg_p_0_0\n") && text.contains("t:0 = NoOp() ^x\n"), "{text}");
    let text = rewritten(feed_example(), &["x"], &[], &["t"]).unwrap();
    assert!(text.contains("t:0 = NoOp() ^x\n") && text.contains("x = Neg(p)"), "{text}");
}

#[test]
fn only_the_part_of_a_graph_that_a_step_needs_is_copied() {
    let graph = import(feed_example());
    let part = |feeds: &[&str], fetches: &[&str], targets: &[&str]| {
        let part = part_for_execution(&graph, feeds, fetches, targets, &[]);
        part.op_nodes().map(|n| n.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(part(&[], &["x"], &[]), ["p", "x"]);
    assert_eq!(part(&["x"], &["y"], &[]), ["x", "y"], "a fed node stays to be replaced, what it needs does not");
    assert_eq!(part(&["x"], &["z"], &[]), ["p", "x", "y", "z"], "it waits for p");
    assert_eq!(part(&["x"], &[], &["t"]), ["p", "x", "t"], "t waits for x itself");
    assert_eq!(part(&[], &["q"], &["r"]), Vec::<String>::new(), "names that do not exist");
}

#[test]
fn behaviour_31_mistakes_have_tensorflows_words() {
    let failed = |feeds: &[&str], fetches: &[&str], targets: &[&str], code: Code, part: &str| {
        let e = rewritten(feed_example(), feeds, fetches, targets).unwrap_err();
        assert_eq!(e.code(), code, "{e}");
        assert!(e.message().contains(part), "{e}");
    };
    failed(&["x", "x:0"], &["y"], &[], Code::InvalidArgument, "Endpoint \"x:0\" fed more than once.");
    failed(&["q"], &["y"], &[], Code::NotFound, "FeedInputs: unable to find feed output q");
    failed(&["x:1"], &["y"], &[], Code::InvalidArgument, "FeedInputs: x:1 should have output index < 1");
    failed(&[], &["q:0"], &[], Code::NotFound, "FetchOutputs node q:0: not found");
    failed(&[], &["y:2"], &[], Code::InvalidArgument, "output index too large, must be < 1");
    failed(&[], &["t"], &[], Code::InvalidArgument, "Tried to fetch data for 't', which has no output.");
    failed(&[], &[], &["q", "t", "r"], Code::NotFound, "Some target nodes not found: q r");
    failed(&["x"], &[], &[], Code::InvalidArgument, "Must specify at least one target to fetch or execute.");
}

/// Tensors of a step that replace others: `y = x + x`, `z = -y`.
#[test]
fn behaviour_32_tensor_connections() {
    let nodes = || {
        [
            node("p", "Placeholder", &[]),
            node("x", "Neg", &["p"]),
            node("y", "Add", &["x", "x"]),
            node("z", "Neg", &["y"]),
            node("t", "NoOp", &[]),
        ]
    };
    let connected = |feeds: &[&str], fetches: &[&str], connections: &[(&str, &str)]| -> Result<String> {
        executed(&import(nodes()), feeds, fetches, &[], connections)
    };
    let text = connected(&[], &["z"], &[("p", "x:0")]).unwrap();
    assert!(text.contains("_identity_x_0 = Identity(p)") && text.contains("y = Add(_identity_x_0, _identity_x_0)"), "{text}");
    assert!(!text.contains("= Neg(p)"), "what is not needed any more is left out: {text}");
    // A fed tensor is connected by its feed, a fetched one by the tensor that replaces it.
    let text = connected(&["p"], &["x"], &[("p", "x")]).unwrap();
    assert!(text.contains("_identity_x_0 = Identity(_arg_p_0_0)") && text.contains("_Retval(_identity_x_0)"), "{text}");

    let failed = |connections: &[(&str, &str)], code: Code, part: &str| {
        let e = connected(&["p"], &["z"], connections).unwrap_err();
        assert_eq!(e.code(), code, "{e}");
        assert!(e.message().contains(part), "{e}");
    };
    failed(&[("y", "x")], Code::InvalidArgument, "between nodes \"x\" and \"y\" would create a cycle");
    failed(&[("y", "y")], Code::InvalidArgument, "would create a cycle");
    failed(&[("p", "x"), ("p", "x:0")], Code::InvalidArgument, "Endpoint \"x:0\" fed more than once.");
    failed(&[("x", "p")], Code::InvalidArgument, "Endpoint \"p\" fed more than once.");
    failed(&[("q:0", "x")], Code::InvalidArgument, "Requested tensor connection from unknown node: \"q:0\"");
    failed(&[("p:1", "x")], Code::InvalidArgument, "from unknown edge: \"p:1\" (actual number of outputs = 1)");
    failed(&[("t", "x")], Code::InvalidArgument, "(actual number of outputs = 0)");
    failed(&[("p", "q:0")], Code::NotFound, "FeedInputs: unable to find feed output q:0");
}

#[test]
fn behaviour_31_a_fed_reference_is_a_value() {
    let nodes = || {
        let shape = TensorShapeProto::of([]);
        vec![node("v", "Variable", &[]).with("shape", shape), node("n", "Neg", &["v"]), node("a", "Assign", &["v", "n"])]
    };
    let text = rewritten(nodes(), &["v"], &["n"], &[]).unwrap();
    assert!(text.contains("n = Neg(_arg_v_0_0)"), "{text}");
    let e = rewritten(nodes(), &["v"], &["a"], &[]).unwrap_err();
    assert_eq!(e.message(), "Input 0 of node a was passed float from _arg_v_0_0:0 incompatible with expected float_ref.");
}

#[test]
fn behaviour_32_a_tensor_may_be_fetched_twice_and_fed_tensors_fetched() {
    let mut graph = import(feed_example());
    let made = rewrite_for_execution(&mut graph, &["x", "z"], &["y", "y", "x"], &[]).unwrap();
    assert_eq!(
        made.retvals.iter().map(|&r| graph.input_node(r, 0).unwrap()).map(|n| graph[n].name().to_owned()).collect::<Vec<_>>(),
        ["y", "y", "_arg_x_0_0"]
    );
    assert_eq!(made.args[1], None, "nothing takes the second feed");
    assert_eq!(made.arg_types, [DType::F32; 2]);
    assert!(graph.find_node("p").is_none());
}

#[test]
fn behaviour_13_frames() {
    let mut nodes = counting_loop("", "outer");
    nodes.push(node("inner", "Enter", &["body"]).with("frame_name", "inner").with("parallel_iterations", 3i64));
    nodes.push(node("leave", "Exit", &["inner"]));
    let graph = import(nodes);
    let flow = ControlFlow::new(&graph).unwrap();
    let frame = |name: &str| &*flow.frame(flow.frame_of(id(&graph, name))).name;
    assert_eq!(
        [frame("zero"), frame("enter"), frame("merge"), frame("one"), frame("exit"), frame("inner"), frame("leave")],
        ["", "", "outer", "outer", "outer", "outer", "inner"]
    );
    let outputs = |name: &str| &*flow.frame(flow.output_frame_of(id(&graph, name))).name;
    assert_eq!([outputs("enter"), outputs("exit"), outputs("leave")], ["outer", "", "outer"]);
    let inner = flow.frames().iter().find(|f| &*f.name == "inner").unwrap();
    assert_eq!((flow.frame(inner.parent.unwrap()).name.as_ref(), inner.parallel_iterations, inner.loop_cond), ("outer", 3, None));
    assert_eq!(flow.frames()[1].loop_cond, Some(id(&graph, "cond")));
    assert!(flow.has_loops());
}

#[test]
fn behaviour_13_frames_that_do_not_fit() {
    let failed = |more: Vec<NodeDef>, part: &str| {
        let mut nodes = counting_loop("", "f");
        nodes.extend(more);
        let e = ControlFlow::new(&import(nodes)).unwrap_err();
        assert_eq!(e.code(), Code::InvalidArgument);
        assert!(e.message().contains(part), "{e}");
    };
    failed(
        vec![node("bad", "Add", &["body", "zero"])],
        "{{node bad}} has inputs from different frames. The input {{node body}} is in frame 'f'. The input {{node zero}} is in frame ''.",
    );
    failed(
        vec![node("bad", "Enter", &["body"]).with("frame_name", "f")],
        "Invalid loop structure: Mismatched parent frames for \"f\": \"\" vs \"f\"",
    );
    failed(vec![node("bad", "LoopCond", &["less"])], "Loop \"f\" has more than one LoopCond node: {{node bad}} and {{node cond}}");
    failed(vec![node("bad", "Exit", &["zero"])], "{{node bad}} is an Exit outside of a loop");
    let other = node("e", "Enter", &["zero"]).with("frame_name", "g");
    failed(
        vec![other, node("n", "NextIteration", &["e"]), node("bad", "Merge", &["body", "n"])],
        "{{node bad}} has inputs from different frames",
    );
}

/// Ops whose shape functions show what the refiner gives them.
fn shaped_registry() -> Arc<OpRegistry> {
    fn same(c: &mut InferenceContext<'_>) -> Result<()> {
        c.set_output(0, c.input(0));
        Ok(())
    }
    fn merge(c: &mut InferenceContext<'_>) -> Result<()> {
        let shape = (1..c.num_inputs()).fold(c.input(0), |s, i| s.relax(&c.input(i)));
        c.set_output(0, shape);
        c.set_output(1, PartialShape::scalar());
        Ok(())
    }
    fn both(c: &mut InferenceContext<'_>) -> Result<()> {
        c.set_output(0, c.input(0));
        c.set_output(1, c.input(0));
        Ok(())
    }
    fn broadcast(c: &mut InferenceContext<'_>) -> Result<()> {
        c.set_output(0, PartialShape::broadcast(&c.input(0), &c.input(1))?);
        Ok(())
    }
    /// The shape its argument's value says.
    fn from_value(c: &mut InferenceContext<'_>) -> Result<()> {
        c.set_output(0, c.input_as_shape(0)?);
        Ok(())
    }
    fn grow(c: &mut InferenceContext<'_>) -> Result<()> {
        c.set_output(0, c.input(0).concat(&PartialShape::new(&[1])));
        Ok(())
    }
    let mut ops: Vec<OpDef> = registry().sorted().into_iter().map(|op| OpDef::clone(op)).collect();
    for op in &mut ops {
        op.shape_fn = match &*op.name {
            "Identity" | "Neg" | "Enter" | "Exit" | "NextIteration" => Some(same),
            "Switch" => Some(both),
            "Merge" => Some(merge),
            "Add" => Some(broadcast),
            _ => None,
        };
    }
    ops.push(OpDef { shape_fn: Some(from_value), ..op("Fill", "dims:int32 -> y:float32", "") });
    ops.push(OpDef { shape_fn: Some(grow), ..op("Grow", "x:T -> y:T", "T:type") });
    Arc::new(OpRegistry::new(ops).unwrap())
}

fn shaped(nodes: Vec<NodeDef>) -> (Graph, Result<ShapeRefiner>) {
    let mut graph = Graph::new(shaped_registry());
    import_graph_def(&mut graph, graph_def(nodes), &ImportOptions::default()).unwrap();
    let mut refiner = ShapeRefiner::new();
    let result = refiner.infer_graph(&graph);
    (graph, result.map(|()| refiner))
}

fn shape_of(graph: &Graph, refiner: &ShapeRefiner, name: &str) -> String {
    refiner.shape(OutputId { node: id(graph, name), slot: 0 }).to_string()
}

#[test]
fn behaviour_30_small_constants_are_seen_as_values() {
    let dims = Tensor::vector(&[2i32, -1]).unwrap();
    let large = Tensor::vector(&[1i32; 1000]).unwrap();
    let fed = node("d", "PlaceholderWithDefault", &["c"]).with("shape", TensorShapeProto::of([2])).with("dtype", dtype(DType::I32));
    let nodes = vec![
        constant("c", &dims),
        node("f", "Fill", &["c"]),
        constant("l", &large),
        node("g", "Fill", &["l"]),
        fed,
        node("h", "Fill", &["d"]),
    ];
    let (graph, refiner) = shaped(nodes);
    let refiner = refiner.unwrap();
    let shape = |name| shape_of(&graph, &refiner, name);
    assert_eq!((shape("c"), shape("f")), ("[2]".into(), "[2,?]".into()));
    assert_eq!((shape("l"), shape("g")), ("[1000]".into(), "<unknown>".into()));
    assert_eq!(shape("h"), "<unknown>", "what may be fed is no constant");
}

#[test]
fn shapes_in_loops_hold_for_every_iteration() {
    let (graph, refiner) = shaped(counting_loop("", "f"));
    let refiner = refiner.unwrap();
    for name in ["merge", "body", "exit", "next"] {
        assert_eq!(shape_of(&graph, &refiner, name), "[]", "{name}");
        assert!(refiner.value(id(&graph, name).output(0)).unwrap().constant.is_none());
    }
    // A loop variable that grows by a dimension each time has no static rank; one that is broadcast once has no static size.
    let mut nodes = counting_loop("", "f");
    nodes[10] = node("add", "Grow", &["body"]).with("T", dtype(DType::F32));
    let (graph, refiner) = shaped(nodes);
    let refiner = refiner.unwrap();
    assert_eq!((shape_of(&graph, &refiner, "merge"), shape_of(&graph, &refiner, "exit")), ("<unknown>".into(), "<unknown>".into()));
    let mut nodes = counting_loop("", "f");
    nodes[0] = constant("zero", &Tensor::zeros(DType::F32, [1]).unwrap());
    nodes[9] = NodeDef { input: vec!["^body".into()], ..constant("one", &Tensor::zeros(DType::F32, [3]).unwrap()) };
    let (graph, refiner) = shaped(nodes);
    let refiner = refiner.unwrap();
    assert_eq!((shape_of(&graph, &refiner, "merge"), shape_of(&graph, &refiner, "next")), ("[?]".into(), "[3]".into()));
}

#[test]
fn contradicting_shapes_name_the_node() {
    let c = |name: &str, n: usize| constant(name, &Tensor::zeros(DType::F32, [n]).unwrap());
    let nodes = vec![c("a", 2), c("b", 3), node("s", "Add", &["a", "b"])];
    let (_, result) = shaped(nodes.clone());
    let e = result.map(|_| ()).unwrap_err();
    assert_eq!((e.code(), e.node()), (Code::InvalidArgument, Some("s")));
    assert!(e.message().contains("Dimensions must be equal, but are 2 and 3"), "{e}");
    let mut graph = Graph::new(shaped_registry());
    let before = graph.to_graph_def();
    let options = ImportOptions { validate_shape: true, ..Default::default() };
    assert!(import_graph_def(&mut graph, graph_def(nodes), &options).is_err());
    assert_eq!((graph.to_graph_def(), graph.num_nodes(), graph.num_edges()), (before, 2, 1));
}

#[test]
fn a_refiner_follows_a_graph_that_grows() {
    let mut graph = Graph::new(shaped_registry());
    let mut refiner = ShapeRefiner::new();
    let mut add = |graph: &mut Graph, def| {
        let id = graph.add_node(def).unwrap();
        refiner.add_node(graph, id).unwrap();
        id
    };
    let p = add(&mut graph, node("p", "Placeholder", &[]));
    refiner.merge_shape(p.output(0), &PartialShape::new(&[-1, 3])).unwrap();
    let n = graph.add_node(node("n", "Neg", &["p"])).unwrap();
    refiner.add_node(&graph, n).unwrap();
    assert_eq!(refiner.shape(n.output(0)).to_string(), "[?,3]");
    assert!(refiner.merge_shape(p.output(0), &PartialShape::new(&[-1, 4])).is_err());
    assert_eq!(refiner.shape(n.output(7)), PartialShape::unknown());
}
