//! What the walk back leaves out, and its options.

use crate::{check, numbers};
use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, GraphBuilder, Scope};
use flowmill::{Code, OutputId, SessionOptions, Tensor};

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
    let mut b = GraphBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(1.0f64)).unwrap();
    let z = b.constant("z", &Tensor::scalar(1.0f64)).unwrap();
    let stopped = b.call("StopGradient", &[x]).unwrap();
    let y = b.call("Mul", &[stopped, x]).unwrap();
    let none = GradientOptions::default();
    assert_eq!(add_gradients(&mut b, &[y], &[z], &[], &none).unwrap(), [None]);
    let stops = GradientOptions { stop_gradients: vec![y], ..GradientOptions::default() };
    assert_eq!(add_gradients(&mut b, &[y], &[x], &[], &stops).unwrap(), [None]);
    let error = {
        let y = b.op("MatrixInverse").input(x).output();
        let y = y.or_else(|_| b.call("Betainc", &[x, x, x])).unwrap();
        add_gradients(&mut b, &[y], &[x], &[], &none).unwrap_err()
    };
    assert_eq!(error.code(), Code::NotFound);
    assert!(error.message().starts_with("No gradient defined for operation '"), "{error}");
    let integer = b.scalar(1i32).unwrap();
    let error = add_gradients(&mut b, &[integer], &[x], &[], &none).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

/// The gradient of `x * w` with respect to both, and the graph.
fn of_product(options: &GradientOptions) -> (flowmill::Graph, Vec<OutputId>) {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = GraphBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
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
