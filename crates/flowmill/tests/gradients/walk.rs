//! Tests where the walk back stops, and its options.

use crate::{check, numbers};
use flowmill::builder::gradients::{Aggregation, Grad, GradientOptions, GradientWalk, Step, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder, WhileOptions};
use flowmill::{Code, Error, Graph, OutputId, Result, SessionOptions, Tensor};
use flowmill_graph::text::{ConstantTable, parse_graph};

#[test]
fn second_derivatives() {
    let x = numbers(&[3]);
    for op in ["Tanh", "Sigmoid", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Log", "Sin"] {
        check(op, std::slice::from_ref(&x), |b, x| {
            let y = b.call(op, &[x[0]])?;
            let square = b.call("Square", &[y])?;
            let cube = b.call("Mul", &[square, y])?;
            let grads = add_gradients(b, &[cube], x, &[], &GradientOptions::default())?;
            b.densify(grads[0].as_ref().unwrap())
        });
    }
}

#[test]
fn what_does_not_depend_has_no_gradient() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(1.0f64)).unwrap();
    let z = b.constant("z", &Tensor::scalar(1.0f64)).unwrap();
    let stopped = b.call("StopGradient", &[x]).unwrap();
    let y = b.call("Mul", &[stopped, x]).unwrap();
    let none = GradientOptions::default();
    assert_eq!(add_gradients(&mut b, &[y], &[z], &[], &none).unwrap(), [None]);
    let stops = GradientOptions { stop_gradients: vec![y], ..GradientOptions::default() };
    assert_eq!(add_gradients(&mut b, &[y], &[x], &[], &stops).unwrap(), [None]);
    let error = {
        let y = b.call("SoftsignGrad", &[x, x]).unwrap();
        add_gradients(&mut b, &[y], &[x], &[], &none).unwrap_err()
    };
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().starts_with("No gradient defined for operation '"), "{error}");
    let integer = b.scalar(1i32).unwrap();
    assert_eq!(add_gradients(&mut b, &[integer], &[x], &[], &none).unwrap(), [None]);
    let text = b.call("AsString", &[x]).unwrap();
    let error = add_gradients(&mut b, &[text], &[x], &[], &none).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

/// The gradient of `x * w` with respect to both, and the graph.
fn of_product(options: &GradientOptions) -> (flowmill::Graph, Vec<OutputId>) {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(2.0f64)).unwrap();
    let w = b.constant("w", &Tensor::scalar(3.0f64)).unwrap();
    let y = b.op("Mul").name("y").inputs(&[x, w]).output().unwrap();
    let grads = add_gradients(&mut b, &[y], &[x, w], &[], options).unwrap();
    let grads = grads.iter().map(|g| b.densify(g.as_ref().unwrap()).unwrap()).collect();
    (graph, grads)
}

#[test]
fn gradients_share_the_devices_of_their_forward_nodes_where_asked() {
    let groups = |graph: &flowmill::Graph, grad: OutputId| -> Vec<String> {
        graph[grad.node].attrs().list::<&str>("_class").unwrap_or_default().into_iter().map(str::to_owned).collect()
    };
    let (graph, grads) = of_product(&GradientOptions { colocate: true, ..GradientOptions::default() });
    assert!(grads.iter().all(|&g| groups(&graph, g) == ["loc:@y"]));
    let (graph, grads) = of_product(&GradientOptions::default());
    assert!(grads.iter().all(|&g| groups(&graph, g).is_empty()));
}

#[test]
fn gated_gradients_wait_for_each_other() {
    let (graph, grads) = of_product(&GradientOptions { gate: true, ..GradientOptions::default() });
    let names: Vec<String> = grads.iter().map(|&g| graph.tensor_name(g)).collect();
    let gates: Vec<_> = grads.iter().flat_map(|&g| graph.control_inputs(g.node)).collect();
    assert_eq!(gates.len(), 2);
    assert_eq!(gates[0], gates[1]);
    assert_eq!(graph.control_inputs(gates[0]).count(), 2, "the gate waits for both products");
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let values = session.run(&[], &[&names[0], &names[1]], &[]).unwrap();
    assert_eq!(values.iter().map(|v| v.to_scalar::<f64>().unwrap()).collect::<Vec<_>>(), [3.0, 2.0]);
}

fn custom(kinds: &[&str]) -> GradientOptions {
    GradientOptions { custom: kinds.iter().map(|&k| k.to_owned()).collect(), ..GradientOptions::default() }
}

/// `Square` of `x`, with `kind` as the name of its gradient.
fn marked_square(b: &mut ScopedBuilder<'_>, x: OutputId, kind: &str) -> Result<OutputId> {
    b.op("Square").name("outer/marked/").input(x).attr("_gradient_op_type", kind).output()
}

/// Walks with a builder of its own for each step, as a caller does that lets go of the graph in between.
/// Custom gradients are `factor` times what comes.
fn walk_in_steps(graph: &mut Graph, state: &mut BuilderState, walk: &mut GradientWalk, factor: f64) -> Result<Vec<Option<Grad>>> {
    loop {
        let step = walk.advance(&mut ScopedBuilder::new(graph, state, Scope::root())?)?;
        let (grads, scope) = match step {
            Step::Done(grads) => return Ok(grads),
            Step::Custom { grads, scope, .. } => (grads, scope),
        };
        let mut b = ScopedBuilder::new(graph, state, scope)?;
        let dy = b.densify(grads[0].as_ref().unwrap())?;
        let factor = b.scalar(factor)?;
        let dx = b.call("Mul", &[dy, factor])?;
        walk.resume(vec![Some(dx.into())])?;
    }
}

#[test]
fn a_custom_gradient_replaces_the_op_s_own() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(3.0f64)).unwrap();
    let y = marked_square(&mut b, x, "Seven").unwrap();
    let y = b.call("Square", &[y]).unwrap();
    let mut walk = GradientWalk::new(&mut b, &[y], &[x], &[], custom(&["Seven"])).unwrap();
    let grads = walk_in_steps(&mut graph, &mut state, &mut walk, 7.0).unwrap();
    let Some(Grad::Dense(grad)) = grads[0] else { panic!("{grads:?}") };
    assert_eq!(graph.tensor_name(grad), "gradients/outer/marked_grad/Mul:0");
    let name = graph.tensor_name(grad);
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let value = session.run(&[], &[&name], &[]).unwrap().remove(0).to_scalar::<f64>().unwrap();
    assert_eq!(value, 2.0 * 9.0 * 7.0, "Square's own gradient of 3² = 9, times 7");
}

#[test]
fn a_custom_gradient_in_a_loop_is_made_in_the_backward_loop() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(1.5f64)).unwrap();
    let zero = b.scalar(0i32).unwrap();
    let exits = b.while_loop(
        "while",
        &[zero, x],
        &WhileOptions::default(),
        |b, vars| {
            let three = b.scalar(3i32)?;
            b.call("Less", &[vars[0], three])
        },
        |b, vars| {
            let one = b.scalar(1i32)?;
            Ok(vec![b.call("AddV2", &[vars[0], one])?, marked_square(b, vars[1], "Five")?])
        },
    );
    let y = exits.unwrap()[1];
    let mut walk = GradientWalk::new(&mut b, &[y], &[x], &[], custom(&["Five"])).unwrap();
    let grads = walk_in_steps(&mut graph, &mut state, &mut walk, 5.0).unwrap();
    let Some(Grad::Dense(grad)) = grads[0] else { panic!("{grads:?}") };
    let name = graph.tensor_name(grad);
    graph.validate().unwrap();
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let value = session.run(&[], &[&name], &[]).unwrap().remove(0).to_scalar::<f64>().unwrap();
    assert_eq!(value, 125.0, "three iterations");
}

/// The gradient of `Square` of 3 that is marked with `kind`.
fn of_marked(kind: &str, options: GradientOptions, answer: impl Fn(&mut GradientWalk) -> Result<()>) -> Result<Option<f64>> {
    let mut graph = flowmill::new_graph()?;
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
    let x = b.constant("x", &Tensor::scalar(3.0f64))?;
    let y = marked_square(&mut b, x, kind)?;
    let mut walk = GradientWalk::new(&mut b, &[y], &[x], &[], options)?;
    let grads = loop {
        match walk.advance(&mut b)? {
            Step::Done(grads) => break grads,
            Step::Custom { .. } => answer(&mut walk)?,
        }
    };
    let Some(Grad::Dense(grad)) = grads[0] else { return Ok(None) };
    let name = graph.tensor_name(grad);
    let session = flowmill::session(graph, SessionOptions::default())?;
    Ok(Some(session.run(&[], &[&name], &[])?.remove(0).to_scalar()?))
}

#[test]
fn gradients_are_found_by_name() {
    let nothing = |_: &mut GradientWalk| -> Result<()> { panic!("nothing is custom") };
    assert_eq!(of_marked("Exp", GradientOptions::default(), nothing).unwrap(), Some(9.0), "e^x's gradient: the output");
    let listed = GradientOptions { not_differentiable: ["Constant".to_owned()].into(), ..GradientOptions::default() };
    assert_eq!(of_marked("Constant", listed, nothing).unwrap(), None);
    let error = of_marked("Unheard", GradientOptions::default(), nothing).unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert_eq!(error.message(), "No gradient defined for operation 'outer/marked' (op type: Square).");
}

#[test]
fn wrong_answers_are_errors() {
    let with = |answer: fn(&mut GradientWalk) -> Result<()>| -> Error { of_marked("Custom", custom(&["Custom"]), answer).unwrap_err() };
    let error = with(|walk| walk.resume(vec![None, None]));
    assert_eq!(error.message(), "Num gradients 2 generated for op outer/marked do not match num inputs 1");
    assert_eq!(with(|_| Ok(())).code(), Code::FailedPrecondition, "no answer");
    let twice = |walk: &mut GradientWalk| walk.resume(vec![None]).and_then(|()| walk.resume(vec![None]));
    assert_eq!(with(twice).code(), Code::FailedPrecondition);
    assert_eq!(of_marked("Custom", custom(&["Custom"]), |walk| walk.resume(vec![None])).unwrap(), None);
}

#[test]
fn gradients_are_summed_at_once_or_in_pairs() {
    for (aggregation, num_sums) in [(Aggregation::AddN, 1), (Aggregation::Pairwise, 2)] {
        let mut graph = flowmill::new_graph().unwrap();
        let mut state = BuilderState::default();
        let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
        let x = b.constant("x", &Tensor::scalar(2.0f64)).unwrap();
        let parts = ["Square", "Neg", "Exp"].map(|op| b.call(op, &[x]).unwrap());
        let options = GradientOptions { aggregation, name: Some("back".to_owned()), ..GradientOptions::default() };
        let grads = add_gradients(&mut b, &parts, &[x], &[], &options).unwrap();
        let Some(Grad::Dense(grad)) = grads[0] else { panic!("{grads:?}") };
        let name = graph.tensor_name(grad);
        assert!(name.starts_with("back/AddN"), "{name}");
        assert_eq!(graph.op_nodes().filter(|n| n.is_op("AddN")).count(), num_sums);
        let session = flowmill::session(graph, SessionOptions::default()).unwrap();
        let value = session.run(&[], &[&name], &[]).unwrap().remove(0).to_scalar::<f64>().unwrap();
        assert!((value - (4.0 - 1.0 + 2f64.exp())).abs() < 1e-12, "{value}");
    }
}

/// The handle's loop has its variable's last value in front of its first, as somebody may write it: going back through it ends.
#[test]
fn a_stack_whose_handle_goes_round_in_a_loop() {
    let text = "size = Const() {value=i32[]{3}}
more = Const() {value=bool[]{true}}
x = Const() {value=f32[]{1.0}}
stack = StackV2(size) {elem_type=f32}
enter = Enter(stack) {frame_name=\"l\"}
inside = Enter(x) {frame_name=\"l\", is_constant=true}
go = Enter(more) {frame_name=\"l\", is_constant=true}
merge:2 = Merge(next, enter)
push = StackPushV2(merge, inside)
cond = LoopCond(go)
switch:2 = Switch(merge, cond)
next = NextIteration(switch:1)
exit = Exit(push)
";
    let mut graph = parse_graph(text, &flowmill::registry().unwrap(), &ConstantTable::new()).unwrap();
    let [x, y] = ["x", "exit"].map(|name| graph.find_node(name).unwrap().id().output(0));
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    drop(add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default()));
}
