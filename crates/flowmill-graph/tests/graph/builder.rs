//! Building nodes, scopes, conditionals and loops.
#![allow(clippy::unwrap_used)]

use flowmill_graph::builder::{BuilderState, Scope, ScopedBuilder, WhileOptions, check_scope_name};
use flowmill_graph::{Graph, ImportOptions, NodeId, OpRegistry, OutputId, import_graph_def};
use flowmill_proto::NodeDef;
use flowmill_proto::control_flow_context_def::Ctxt;
use flowmill_tensor::{Code, PartialShape, Result, Tensor};
use std::sync::Arc;

fn build(f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<()>) -> Graph {
    let mut graph = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let mut state = BuilderState::default();
    f(&mut ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap()).unwrap();
    graph.validate().unwrap();
    graph
}

fn error(f: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<()>) -> flowmill_tensor::Error {
    let mut graph = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let mut state = BuilderState::default();
    f(&mut ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap()).unwrap_err()
}

fn node(name: &str, op: &str, inputs: &[&str]) -> NodeDef {
    let mut def = NodeDef { name: name.into(), op: op.into(), input: inputs.iter().map(|&i| i.into()).collect(), ..NodeDef::default() };
    def.attr.insert("T".into(), flowmill_proto::DataType::DtFloat.into());
    def
}

/// `name = op(inputs) ^controls`, in the order of the nodes' ids.
fn lines(graph: &Graph) -> Vec<String> {
    let line = |id: NodeId| {
        let node = &graph[id];
        let inputs: Vec<String> = graph.inputs(id).map(|i| graph.tensor_name(i).trim_end_matches(":0").to_owned()).collect();
        let controls: String =
            graph.control_inputs(id).filter(|&c| c != NodeId::SOURCE).map(|c| format!(" ^{}", graph[c].name())).collect();
        format!("{} = {}({}){controls}", node.name(), node.op(), inputs.join(", "))
    };
    graph.op_node_ids().into_iter().map(line).collect()
}

fn scalar(b: &mut ScopedBuilder<'_>, name: &str, value: f32) -> Result<OutputId> {
    b.constant(name, &Tensor::scalar(value))
}

#[test]
fn names_are_unique_whatever_their_case() {
    let graph = build(|b| {
        for name in ["x", "X", "x", "x_1", "a/x", "x"] {
            scalar(b, name, 0.0)?;
        }
        b.within_name("a", |b| scalar(b, "x", 0.0).map(drop))?;
        b.within_name("a", |b| scalar(b, "x", 0.0).map(drop))
    });
    let names: Vec<&str> = graph.op_nodes().map(|n| n.name()).collect();
    assert_eq!(names, ["x", "X_1", "x_2", "x_1_1", "a/x", "x_3", "a/x_1", "a_1/x"]);
}

#[test]
fn a_slash_at_the_end_gives_the_whole_name() {
    let graph = build(|b| b.within_name("outer", |b| scalar(b, "elsewhere/x/", 0.0).map(drop)));
    assert_eq!(graph.op_nodes().next().unwrap().name(), "elsewhere/x");
}

#[test]
fn attributes_follow_from_inputs_and_shapes_from_both() {
    build(|b| {
        let x = b.constant("x", &Tensor::zeros(flowmill_tensor::DType::I32, vec![2, 3])?)?;
        let packed = b.op("Pack").inputs(&[x, x]).attr("axis", 1i64).output()?;
        assert_eq!(b.shape(packed), PartialShape::new(&[2, 2, 3]));
        assert_eq!(b.graph()[packed.node].attrs().get::<i64>("N")?, 2);
        assert_eq!(b.dtype(packed), flowmill_tensor::DType::I32);
        Ok(())
    });
}

#[test]
fn a_node_that_fails_leaves_no_trace_but_its_name() {
    build(|b| {
        let x = b.vector(&[1.0f32, 2.0])?;
        let y = b.vector(&[1.0f32, 2.0, 3.0])?;
        let before = b.graph().num_nodes();
        let error = b.call("AddV2", &[x, y]).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert_eq!(error.node(), Some("AddV2"));
        let error = b.call("AddV2", &[x]).unwrap_err();
        assert_eq!(error.message(), "Node 'AddV2_1' (op 'AddV2') lacks input 1 of 2");
        let error = b.call("Nonsense", &[x]).unwrap_err();
        assert_eq!(error.code(), Code::NotFound);
        assert_eq!(b.graph().num_nodes(), before);
        Ok(())
    });
}

#[test]
fn control_dependencies_reach_what_does_not_wait_already() {
    let graph = build(|b| {
        let gate = b.op("NoOp").name("gate").finish()?;
        let x = scalar(b, "x", 1.0)?;
        let scope = b.scope().after(&[gate]);
        b.within(scope, |b| {
            let y = b.op("Neg").name("y").input(x).output()?;
            b.op("Neg").name("z").input(y).output()?;
            let free = b.scope().unconditional();
            b.within(free, |b| b.op("Neg").name("free").input(x).output().map(drop))
        })
    });
    assert_eq!(lines(&graph), ["gate = NoOp()", "x = Const()", "y = Neg(x) ^gate", "z = Neg(y)", "free = Neg(x)"]);
}

#[test]
fn colocation_names_the_group_and_takes_the_device() {
    let graph = build(|b| {
        let scope = b.scope().on_device("/device:CPU:1");
        let x = b.within(scope, |b| scalar(b, "x", 1.0))?;
        let scope = b.scope().colocated_with([x.node]);
        b.within(scope, |b| {
            let y = b.op("Neg").name("y").input(x).finish()?;
            let scope = b.scope().colocated_with([y]);
            b.within(scope, |b| b.op("Neg").name("z").input(x).finish().map(drop))
        })
    });
    for name in ["y", "z"] {
        let node = graph.find_node(name).unwrap();
        assert_eq!(node.attrs().list::<&str>("_class").unwrap(), ["loc:@x"], "{name}");
        assert_eq!(node.device(), "/device:CPU:1");
    }
}

#[test]
fn a_conditional_guards_what_comes_from_outside_once() {
    let graph = build(|b| {
        let p = b.op("Placeholder").name("p").attr("dtype", flowmill_proto::DataType::DtBool).output()?;
        let x = scalar(b, "x", 1.0)?;
        let out = b.cond(
            "cond",
            p,
            |b| {
                let y = b.op("Add").name("y").inputs(&[x, x]).output()?;
                let c = scalar(b, "c", 2.0)?;
                Ok(vec![b.op("Add").name("z").inputs(&[y, c]).output()?])
            },
            |_| Ok(vec![x]),
        )?;
        assert_eq!(out.len(), 1);
        assert!(!b.state().is_fetchable(b.graph().find_node("cond/y").unwrap().id()));
        assert!(b.state().is_fetchable(out[0].node));
        Ok(())
    });
    let expected = [
        "p = Placeholder()",
        "x = Const()",
        "cond/Switch = Switch(p, p)",
        "cond/switch_t = Identity(cond/Switch:1)",
        "cond/switch_f = Identity(cond/Switch)",
        "cond/pred_id = Identity(p)",
        "cond/y/Switch = Switch(x, cond/pred_id)",
        "cond/y = Add(cond/y/Switch:1, cond/y/Switch:1)",
        "cond/c = Const() ^cond/switch_t",
        "cond/z = Add(cond/y, cond/c)",
        "cond/Switch_1 = Switch(x, cond/pred_id)",
        "cond/Merge = Merge(cond/Switch_1, cond/z)",
    ];
    assert_eq!(lines(&graph), expected);
}

/// `while i < n: i += step`, with `n` and `step` from outside.
fn counting(b: &mut ScopedBuilder<'_>, n: OutputId, step: OutputId) -> Result<OutputId> {
    let zero = scalar(b, "zero", 0.0)?;
    let exits = b.while_loop(
        "while",
        &[zero],
        &WhileOptions::default(),
        |b, vars| b.op("Less").inputs(&[vars[0], n]).output(),
        |b, vars| Ok(vec![b.op("Add").inputs(&[vars[0], step]).output()?]),
    )?;
    Ok(exits[0])
}

#[test]
fn a_loop_enters_what_comes_from_outside_as_an_invariant() {
    let graph = build(|b| {
        let n = scalar(b, "n", 10.0)?;
        let step = scalar(b, "step", 1.0)?;
        counting(b, n, step).map(drop)
    });
    let expected = [
        "n = Const()",
        "step = Const()",
        "zero = Const()",
        "while/Enter = Enter(zero)",
        "while/Merge = Merge(while/Enter, while/NextIteration)",
        "while/Less/Enter = Enter(n)",
        "while/Less = Less(while/Merge, while/Less/Enter)",
        "while/LoopCond = LoopCond(while/Less)",
        "while/Switch = Switch(while/Merge, while/LoopCond)",
        "while/Identity = Identity(while/Switch:1)",
        "while/Add/Enter = Enter(step)",
        "while/Add = Add(while/Identity, while/Add/Enter)",
        "while/NextIteration = NextIteration(while/Add)",
        "while/Exit = Exit(while/Switch)",
    ];
    assert_eq!(lines(&graph), expected);
    let enter = graph.find_node("while/Add/Enter").unwrap();
    assert!(enter.attrs().get::<bool>("is_constant").unwrap());
    assert_eq!(enter.attrs().get::<&str>("frame_name").unwrap(), "while/while_context");
}

#[test]
fn loops_nest_and_their_constants_wait_for_the_iteration() {
    let graph = build(|b| {
        let n = scalar(b, "n", 3.0)?;
        let zero = scalar(b, "zero", 0.0)?;
        b.while_loop(
            "outer",
            &[zero],
            &WhileOptions::default(),
            |b, vars| b.call("Less", &[vars[0], n]),
            |b, vars| {
                let one = scalar(b, "one", 1.0)?;
                let inner = b.while_loop(
                    "inner",
                    &[vars[0]],
                    &WhileOptions::default(),
                    |b, vars| b.call("Less", &[vars[0], n]),
                    |b, vars| Ok(vec![b.call("Add", &[vars[0], one])?]),
                )?;
                Ok(vec![b.call("Add", &[inner[0], one])?])
            },
        )?;
        Ok(())
    });
    let lines = lines(&graph);
    for line in [
        "outer/one = Const() ^outer/Identity",
        "outer/inner/Enter = Enter(outer/Identity)",
        // What comes from outside of both loops enters them one after the other, and once each.
        "outer/inner/Less/Enter = Enter(outer/Less/Enter)",
        "outer/inner/Less = Less(outer/inner/Merge, outer/inner/Less/Enter)",
        "outer/inner/Add = Add(outer/inner/Identity, outer/inner/Add/Enter)",
        "outer/Add = Add(outer/inner/Exit, outer/one)",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line}\n{}", lines.join("\n"));
    }
    flowmill_graph::ControlFlow::new(&graph).unwrap();
}

#[test]
fn a_loop_variable_that_grows_needs_an_invariant() {
    let grow = |b: &mut ScopedBuilder<'_>, invariants: Vec<PartialShape>| {
        let x = b.vector(&[1.0f32])?;
        let options = WhileOptions { shape_invariants: invariants, ..WhileOptions::default() };
        let exits = b.while_loop(
            "while",
            &[x],
            &options,
            |b, _| b.constant("go_on", &Tensor::scalar(true)),
            |b, vars| {
                let axis = b.scalar(0i32)?;
                Ok(vec![b.call("ConcatV2", &[vars[0], vars[0], axis])?])
            },
        )?;
        Ok(b.shape(exits[0]))
    };
    let refused = error(|b| grow(b, Vec::new()).map(drop));
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().contains("enters the loop with shape (1,), but has shape (2,) after one iteration"), "{refused}");
    build(|b| {
        assert_eq!(grow(b, vec![PartialShape::new(&[-1])])?, PartialShape::new(&[-1]));
        Ok(())
    });
    let refused = error(|b| grow(b, vec![PartialShape::new(&[7])]).map(drop));
    assert!(refused.message().contains("enters the loop with shape (1,), but the specified shape invariant is (7,)"), "{refused}");
}

/// A loop with a conditional in it, one of whose branches gives a tensor that entered the loop already.
fn conditional_in_loop(b: &mut ScopedBuilder<'_>) -> Result<()> {
    let (zero, step) = (scalar(b, "zero", 0.0)?, scalar(b, "step", 1.0)?);
    let options = WhileOptions { back_prop: false, swap_memory: true, ..WhileOptions::default() };
    b.while_loop(
        "while",
        &[zero],
        &options,
        |b, vars| b.call("Less", &[vars[0], step]),
        |b, vars| {
            let pred = b.call("Less", &[vars[0], step])?;
            b.cond("cond", pred, |b| Ok(vec![b.call("Neg", &[vars[0]])?]), |_| Ok(vec![step]))
        },
    )?;
    Ok(())
}

#[test]
fn what_entered_a_loop_passes_one_switch_on_its_way_out_of_a_branch() {
    let lines = lines(&build(conditional_in_loop));
    let merge = "while/cond/Merge = Merge(while/cond/Switch_1, while/cond/Neg)";
    assert!(lines.iter().any(|l| l == merge), "{}", lines.join("\n"));
    let switch = "while/cond/Switch_1 = Switch(while/Less/Enter, while/cond/pred_id)";
    assert!(lines.iter().any(|l| l == switch), "{}", lines.join("\n"));
}

#[test]
fn contexts_become_messages_and_come_back() {
    let mut graph = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    conditional_in_loop(&mut b).unwrap();
    let context = |b: &ScopedBuilder<'_>, name: &str| b.context_of(b.graph().find_node(name).unwrap().id()).unwrap();
    let looped = context(&b, "while/LoopCond");
    let def = b.context_def(looped).unwrap();
    let Some(Ctxt::WhileCtxt(message)) = &def.ctxt else { panic!("{def:?}") };
    assert_eq!(message.context_name, "while/while_context");
    assert_eq!((message.back_prop, message.swap_memory, message.parallel_iterations), (false, true, 10));
    assert_eq!(message.pivot_name, "while/LoopCond:0");
    assert_eq!(message.loop_exit_names, ["while/Exit:0"]);
    assert_eq!(message.nested_contexts.len(), 2);

    // In another graph with the same nodes.
    let nodes = b.graph().to_graph_def();
    let mut copy = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let options = ImportOptions { prefix: "import".to_owned(), ..ImportOptions::default() };
    import_graph_def(&mut copy, nodes, &options).unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut copy, &mut state, Scope::root()).unwrap();
    let made = b.add_context_def(&def, "import").unwrap();
    assert_eq!(b.context_name(made), "import/while/while_context");
    assert_eq!(context(&b, "import/while/LoopCond"), made);
    let branch = context(&b, "import/while/cond/Neg");
    assert_eq!(b.outer_context(branch), Some(made));
    // As in TensorFlow: only what was built in a context is withheld.
    assert!(b.state().is_fetchable(b.graph().find_node("import/while/cond/Neg").unwrap().id()));
    let missing = b.add_context_def(&def, "elsewhere").unwrap_err();
    assert!(missing.message().contains("which is not in the graph"), "{missing}");
}

#[test]
fn scope_names_are_checked() {
    check_scope_name("", "a.b/c_1").unwrap();
    check_scope_name("a", "_b").unwrap();
    check_scope_name("", "").unwrap();
    assert_eq!(check_scope_name("", "_b").unwrap_err().message(), "'_b' is not a valid root scope name");
    assert_eq!(check_scope_name("a", "b c").unwrap_err().message(), "'b c' is not a valid scope name");
}

#[test]
fn nodes_of_others_are_seen() {
    let mut graph = Graph::new(Arc::new(OpRegistry::new(flowmill_ops::catalogue()).unwrap()));
    let mut state = BuilderState::default();
    let x = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap().vector(&[1.0f32, 2.0]).unwrap();
    let y = graph.add_node(node("Neg", "Neg", &["Const"])).unwrap();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    assert_eq!(b.shape(y.output(0)), PartialShape::new(&[2]));
    let z = b.call("Neg", &[x]).unwrap();
    assert_eq!(b.graph()[z.node].name(), "Neg_1");
}
