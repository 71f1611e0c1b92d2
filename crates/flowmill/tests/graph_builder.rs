//! The builder that owns its graph: methods of ops, operators, scopes, control flow, gradients, and sessions on what it builds.
#![allow(clippy::unwrap_used)]

use flowmill::builder::gradients::{Backward, Grad, GradientOptions};
use flowmill::builder::{ScopedBuilder, WhileOptions};
use flowmill::prelude::*;
use flowmill::{Code, CustomOp, Element, Error, OpSet, PartialShape, Result};
use std::time::Duration;

fn run(b: &GraphBuilder, y: Output<'_>) -> Tensor {
    b.session(SessionOptions::default()).unwrap().runner().fetch(y).unwrap()
}

#[track_caller]
fn check<T: Element>(y: Output<'_>, expected: &[T]) {
    let value = run(y.builder(), y);
    assert_eq!((value.as_slice::<T>().unwrap(), value.dtype()), (expected, T::DTYPE));
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: Result<T>, code: Code, parts: &[&str]) -> Error {
    let error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "'{part}' is not in: {error}");
    }
    error
}

#[test]
fn operators_add_nodes_and_numbers_take_the_type_of_the_tensor() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant([7.0f32, -7.0]).unwrap();
    let y = b.constant([2.0f32, 4.0]).unwrap();
    check(x + y, &[9.0f32, -3.0]);
    check(x - 1, &[6.0f32, -8.0]);
    check(0.5 * x / y, &[1.75f32, -0.875]);
    check(1 - x, &[-6.0f32, 8.0]);
    check(-x % 4.0, &[-3.0f32, 3.0]);
    check(x * [1.0, 2.0], &[7.0f32, -14.0]);
    let wide = b.constant([0.1f64]).unwrap();
    check(wide + 0.1, &[0.2f64]);
}

#[test]
fn integers_and_booleans_have_rusts_operators() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant([7i64, -7]).unwrap();
    check(x / 2, &[3i64, -3]);
    check(x % 4, &[3i64, -3]);
    check(x & 3, &[7i64 & 3, -7 & 3]);
    check(x | 8, &[15i64, -7 | 8]);
    check(!x, &[!7i64, !-7]);
    let p = b.constant([true, false]).unwrap();
    check(!p & true, &[false, true]);
    check(p | false, &[true, false]);
}

#[test]
fn an_operators_error_is_kept_until_someone_can_return_it() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant([1.0f32, 2.0]).unwrap();
    let bad = x + [1.0, 2.0, 3.0];
    let worse = bad * 2.0 - "text";
    for result in [bad.ok().map(drop), worse.ok().map(drop), b.relu(worse).map(drop), b.gradients(worse, [x]).map(drop), b.check()] {
        check_error(result, Code::InvalidArgument, &["AddV2", "[2]", "[3]"]);
    }
    check_error(b.session(SessionOptions::default()).map(drop), Code::InvalidArgument, &["AddV2"]);
    assert!(format!("{bad:?}").contains("AddV2"));
}

#[test]
fn numbers_that_a_type_cannot_hold_are_refused() {
    let b = GraphBuilder::new().unwrap();
    let bytes = b.constant([1u8, 2]).unwrap();
    check(b.add_v2(bytes, 255).unwrap(), &[0u8, 1]);
    check_error(b.add_v2(bytes, 256), Code::InvalidArgument, &["AddV2", "'y'", "256"]);
    check_error(b.add_v2(bytes, -1), Code::InvalidArgument, &["'y'", "-1"]);
    // A fraction does not become an integer, and a tensor keeps its type.
    check_error(b.add_v2(bytes, 0.5), Code::InvalidArgument, &["AddV2"]);
    check_error(b.add_v2(bytes, Tensor::scalar(1i32)), Code::InvalidArgument, &["AddV2"]);
}

#[test]
fn required_attributes_are_arguments_and_others_are_set_before() {
    let b = GraphBuilder::new().unwrap();
    let image = b.constant(Tensor::from_slice([1, 4, 4, 1], &[1.0f32; 16]).unwrap()).unwrap();
    let filter = b.constant(Tensor::from_slice([3, 3, 1, 1], &[1.0f32; 9]).unwrap()).unwrap();
    let dilated = b.node().name("dilated").attr("dilations", &[1, 2, 2, 1]).conv2d(image, filter, &[1, 1, 1, 1], "SAME").unwrap();
    assert_eq!(dilated.name().unwrap(), "dilated:0");
    let value = run(&b, dilated);
    assert_eq!(value.as_slice::<f32>().unwrap()[..4], [4.0; 4]);
    let w = b.constant([[1.0f32, 2.0]]).unwrap();
    check(b.node().attr("transpose_b", true).mat_mul(w, w).unwrap(), &[5.0f32]);
    check(b.cast(w, DType::I32).unwrap(), &[1, 2]);
    check(b.node().name("sum").add(w, 1).unwrap(), &[2.0f32, 3.0]);
    check_error(b.node().attr("transposed", true).mat_mul(w, w), Code::InvalidArgument, &["MatMul", "'transposed'", "transpose_b"]);
    check_error(b.conv2d(image, filter, &[1, 1], "SAME"), Code::InvalidArgument, &["Conv2D"]);
}

#[test]
fn lists_of_tensors_are_slices_and_several_outputs_arrays() {
    let b = GraphBuilder::new().unwrap();
    let (x, y) = (b.constant([3, 1, 2]).unwrap(), b.constant([5, 4]).unwrap());
    let all = b.concat_v2(&[x, y], 0).unwrap();
    check(all, &[3, 1, 2, 5, 4]);
    let [values, indices] = b.top_k_v2(all, 2).unwrap();
    check(values, &[5, 4]);
    check(indices, &[3, 4]);
    let parts = b.split(0, b.constant([1i64, 2, 3, 4]).unwrap(), 2).unwrap();
    check(parts[1], &[3i64, 4]);
    // Lists of different lengths, one after the other.
    let [indices, values, shapes] = b.sparse_split(0i64, b.constant([[0i64], [3]]).unwrap(), [7.0f32, 8.0], [4i64], 2).unwrap();
    assert_eq!((indices.len(), values.len(), shapes.len()), (2, 2, 2));
    check(values[1], &[8.0f32]);
    check(indices[1], &[1i64]);
    check_error(b.op("Pack").input(x).output(), Code::InvalidArgument, &["Pack", "'values' is a list"]);
    check_error(b.op("Relu").input_list(&[x]).output(), Code::InvalidArgument, &["'features' is one tensor"]);
    check_error(b.op("Relu").output(), Code::InvalidArgument, &["0 inputs for 1 (features)"]);
    check_error(b.op("NoSuchOp").input(x).output(), Code::NotFound, &["NoSuchOp"]);
    check_error(b.op("TopKV2").input(x).input(1).output(), Code::InvalidArgument, &["2 outputs, not 1"]);
}

#[test]
fn scopes_are_closures_and_end_with_them() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant(1.0f32).unwrap();
    let inner = b
        .name_scope("outer", || {
            let first = b.node().name("first").no_op()?;
            b.with_device("/device:CPU:0", || b.after(&[first], || b.name_scope("inner", || b.add_v2(x, x))))
        })
        .unwrap();
    assert_eq!(inner.name().unwrap(), "outer/inner/AddV2:0");
    check_error(b.name_scope("failing", || b.mat_mul(x, x)), Code::InvalidArgument, &["MatMul"]);
    check_error(b.name_scope("no spaces", || Ok(())), Code::InvalidArgument, &["'no spaces'"]);
    let outside = b.add_v2(x, 1.0).unwrap();
    let graph = b.graph().unwrap();
    let node = &graph[inner.node()];
    assert_eq!(node.device(), "/device:CPU:0");
    let controls: Vec<&str> = graph.control_inputs(inner.node()).map(|id| graph[id].name()).collect();
    assert_eq!(controls, ["outer/first"]);
    assert_eq!((graph[outside.node()].name(), graph[outside.node()].device()), ("AddV2", ""));
    assert!(graph.find_node("AddV2/y").is_some_and(|n| n.is_op("Const")));
}

#[test]
fn a_panic_in_a_scope_ends_it() {
    let b = GraphBuilder::new().unwrap();
    let panics = std::panic::AssertUnwindSafe(|| b.name_scope("a", || -> Result<()> { std::panic::resume_unwind(Box::new(())) }));
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(b.scope().name(), "");
}

#[test]
fn branches_and_bodies_take_tensors_from_outside() {
    let b = GraphBuilder::new().unwrap();
    let n = b.node().name("n").placeholder(DType::I32, []).unwrap();
    let step = b.constant(2i32).unwrap();
    let [sum, _] = b
        .while_loop(
            [b.constant(0i32).unwrap(), b.constant(0i32).unwrap()],
            |[_, i]| b.less(i, n),
            |[sum, i]| {
                let [added] = b.cond(b.equal(i % 2, 0)?, || Ok([sum + i]), || Ok([sum]))?;
                Ok([added, i + step - 1])
            },
        )
        .unwrap();
    let session = b.session(SessionOptions::default()).unwrap();
    let value = session.runner().feed(n, Tensor::scalar(7i32)).fetch(sum).unwrap();
    assert_eq!(value.to_scalar::<i32>().unwrap(), 2 + 4 + 6);
}

#[test]
fn errors_of_branches_and_bodies_leave_the_builder_usable() {
    let b = GraphBuilder::new().unwrap();
    let (x, i) = (b.constant(1.0f32).unwrap(), b.constant(0i32).unwrap());
    check_error(b.cond(x, || Ok([x]), || Ok([x])), Code::InvalidArgument, &["boolean"]);
    let p = b.constant(true).unwrap();
    check_error(b.cond(p, || Ok([x]), || Ok([i])), Code::InvalidArgument, &["same type"]);
    check_error(b.cond(p, || Ok([b.mat_mul(x, x)?]), || Ok([x])), Code::InvalidArgument, &["MatMul"]);
    check_error(b.while_loop([i], |[i]| b.less(i, 3), |[_]| Err(Error::aborted("given up"))), Code::Aborted, &["given up"]);
    check_error(b.while_loop([i], |[i]| Ok(i), |[i]| Ok([i])), Code::InvalidArgument, &["boolean"]);
    let start = b.constant([1.0f32]).unwrap();
    let grows = b.while_loop([start], |[v]| b.less(b.size(v)?, 8), |[v]| Ok([b.concat_v2(&[v, v], 0)?]));
    check_error(grows, Code::InvalidArgument, &["shape"]);
    assert_eq!((b.scope().name(), b.scope().context()), ("", None));

    let options = WhileOptions { shape_invariants: vec![PartialShape::new(&[-1])], ..WhileOptions::default() };
    let [grown] = b.while_loop_with(&options, [start], |[v]| b.less(b.size(v)?, 8), |[v]| Ok([b.concat_v2(&[v, v], 0)?])).unwrap();
    check(grown, &[1.0f32; 8]);
}

#[test]
fn gradients_are_dense_unless_asked_for_as_they_are() {
    let b = GraphBuilder::new().unwrap();
    let (x, other) = (b.constant([1.0f32, 2.0, 3.0]).unwrap(), b.constant(1.0f32).unwrap());
    let rows = b.gather_v2(x, [0, 2, 2], 0).unwrap();
    let [dense] = b.gradients(rows * rows, [x]).unwrap();
    check(dense, &[2.0f32, 0.0, 12.0]);
    let weights = b.constant([1.0f32, 10.0, 100.0]).unwrap();
    let weighted = b.gradients_with(x * x, &[x, other], &[Some(weights)], &GradientOptions::default()).unwrap();
    let [Some(Grad::Dense(weighted)), None] = weighted[..] else { unreachable!("{weighted:?}") };
    check(b.output(weighted), &[2.0f32, 40.0, 600.0]);
    let sparse = b.gradients_with(rows, &[x], &[], &GradientOptions::default()).unwrap();
    assert!(matches!(sparse[..], [Some(Grad::Slices(_))]), "{sparse:?}");
    check_error(b.gradients([rows, x], [other]), Code::InvalidArgument, &["do not depend on", "Const_1:0"]);
}

/// A gradient function that fails in an operator, is given back its graph, and adds what it should.
fn twice_gradient(scoped: &mut ScopedBuilder<'_>, op: &Backward) -> Result<Vec<Option<Grad>>> {
    let dy = op.dy(scoped, 0)?;
    let scope = scoped.scope().name().to_owned();
    let num_nodes = scoped.graph().num_nodes();
    let failed = GraphBuilder::lend(scoped, |b| {
        let _ = b.output(dy) + "text";
        Ok(())
    });
    check_error(failed, Code::InvalidArgument, &["AddV2"]);
    assert_eq!(scoped.scope().name(), scope);
    assert!(scoped.graph().num_nodes() >= num_nodes);
    GraphBuilder::lend(scoped, |b| Ok(vec![Some((b.output(dy) * 2.0).ok()?.id().into())]))
}

#[test]
fn gradient_functions_of_custom_ops_use_the_owning_builder() {
    let twice = CustomOp::new("Twice", "(x: float) -> (y: float)").gradient(twice_gradient);
    let b = OpSet::standard().unwrap().with(twice).unwrap().graph_builder();
    let x = b.constant(1.0f32).unwrap();
    let y = b.op("Twice").input(x).output().unwrap();
    let [slope] = b.gradients(y * 5.0, [x]).unwrap();
    assert_eq!(slope.name().unwrap(), "gradients/Twice_grad/Mul:0");
    // The op itself has no kernel, so its output is fed.
    let session = b.session(SessionOptions::default()).unwrap();
    check_error(session.runner().fetch(y), Code::NotFound, &["No registered", "Twice"]);
    let value = session.runner().feed(y, Tensor::scalar(2.0f32)).fetch(slope).unwrap();
    assert_eq!(value.to_scalar::<f32>().unwrap(), 10.0);
}

#[test]
fn a_tensor_of_another_builder_is_refused() {
    let (b, other) = (GraphBuilder::new().unwrap(), GraphBuilder::new().unwrap());
    let theirs = other.constant(1.0f32).unwrap();
    let ours = b.constant(1.0f32).unwrap();
    check_error(b.add_v2(ours, theirs), Code::InvalidArgument, &["'y'", "another builder"]);
    check_error((ours * theirs).ok(), Code::InvalidArgument, &["another builder"]);
    assert!(other.check().is_ok());
}

#[test]
fn tensors_are_fed_and_fetched_by_handle_id_and_name() {
    let b = GraphBuilder::new().unwrap();
    let x = b.node().name("x").placeholder(DType::F32, [2]).unwrap();
    let y = b.node().name("y").mul(x, 2.0).unwrap();
    let session = b.session(SessionOptions::default()).unwrap();
    let value = Tensor::vector(&[1.0f32, 2.0]).unwrap();
    let doubled = [2.0f32, 4.0];
    let [by_handle, same] = session.runner().feed(x, value.clone()).fetch([y, y]).unwrap();
    let by_id = session.runner().feed(x.id(), value.clone()).fetch(y.id()).unwrap();
    let by_name = session.runner().feed("x", value.clone()).fetch(vec!["y:0".to_owned()]).unwrap().remove(0);
    for found in [by_handle, same, by_id, by_name] {
        assert_eq!(found.as_slice::<f32>().unwrap(), doubled);
    }
    let callable = session.callable([x], ["y"]).unwrap();
    assert_eq!(callable.run(vec![value.clone()]).unwrap()[0].as_slice::<f32>().unwrap(), doubled);
    assert_eq!(b.tensor("y:0").unwrap().id(), y.id());
    check_error(b.tensor("y:1"), Code::NotFound, &["'y:1'"]);
    check_error(b.tensor("^y"), Code::InvalidArgument, &["'^y'"]);
    check_error(session.runner().fetch("nothing"), Code::NotFound, &["nothing"]);
    check_error(session.runner().fetch(y).map(drop), Code::InvalidArgument, &["'x'"]);
    let strangers = GraphBuilder::new().unwrap();
    let mut far = strangers.constant(0i32).unwrap();
    for _ in 0..10 {
        far = strangers.identity(far).unwrap();
    }
    check_error(session.runner().feed(far.id(), value).fetch(y), Code::NotFound, &["not in the graph"]);
}

#[test]
fn a_session_runs_what_is_added_after_it_was_made() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant(2.0f32).unwrap();
    let session = b.session(SessionOptions::default()).unwrap();
    assert_eq!(session.runner().fetch(x).unwrap().to_scalar::<f32>().unwrap(), 2.0);
    let y = x * x;
    assert_eq!(session.runner().fetch(y).unwrap().to_scalar::<f32>().unwrap(), 4.0);
}

#[test]
fn a_loaded_graph_is_built_on() {
    let first = GraphBuilder::new().unwrap();
    let x = first.node().name("x").placeholder(DType::F32, []).unwrap();
    first.node().name("y").square(x).unwrap();
    let b = GraphBuilder::with_graph(first.ops().clone(), first.graph().unwrap());
    let y = b.tensor("y").unwrap();
    assert_eq!(y.shape().to_string(), "[]");
    let z = y + 1.0;
    let session = b.session(SessionOptions::default()).unwrap();
    assert_eq!(session.runner().feed("x", Tensor::scalar(3.0f32)).fetch(z).unwrap().to_scalar::<f32>().unwrap(), 10.0);
}

#[test]
fn variables_keep_their_values_between_steps() {
    let b = GraphBuilder::new().unwrap();
    let v = b.variable("v", [1.0f32, 2.0]).unwrap();
    let doubled = v.assign(v.value() * 2.0).unwrap();
    let read = b.after(&[doubled], || v.read()).unwrap();
    let session = b.session(SessionOptions::default()).unwrap();
    let error = check_error(session.runner().fetch(v.value()), Code::FailedPrecondition, &["v"]);
    assert!(error.node().is_some());
    session.runner().target(v.initializer()).run().unwrap();
    let value = session.runner().timeout(Duration::from_secs(60)).fetch(read).unwrap();
    assert_eq!(value.as_slice::<f32>().unwrap(), [2.0, 4.0]);
    // The name scope of a second one is made unique, and so is the variable.
    let second = b.variable("v", 5i32).unwrap();
    assert_eq!(second.handle().name().unwrap(), "v_1:0");
    session.runner().target("v_1/Assign").run().unwrap();
    assert_eq!(session.runner().fetch(second.value()).unwrap().to_scalar::<i32>().unwrap(), 5);
    assert_eq!(session.runner().fetch(v.value()).unwrap().as_slice::<f32>().unwrap(), [2.0, 4.0]);
}

#[test]
fn a_builder_moves_to_another_thread() {
    let b = GraphBuilder::new().unwrap();
    let id = b.constant(1.0f32).unwrap().id();
    let (b, sum) = std::thread::spawn(move || {
        let sum = (b.output(id) + 1.0).id();
        (b, sum)
    })
    .join()
    .unwrap();
    check(b.output(sum), &[2.0f32]);
}

#[test]
fn a_signature_is_called_by_the_names_of_its_inputs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/1");
    let model = SavedModel::load(path, &["serve"], SessionOptions::default()).unwrap();
    let function = model.signature("serving_default").unwrap();
    let images = Tensor::zeros(DType::F32, [2, 8, 8, 1]).unwrap();
    let outputs = function.call([("images", images.clone())]).unwrap();
    assert_eq!(outputs["probabilities"].shape().dims(), [2, 10]);
    let map = std::collections::HashMap::from([("images".to_owned(), images.clone())]);
    assert_eq!(function.call(map).unwrap()["probabilities"].as_bytes().unwrap(), outputs["probabilities"].as_bytes().unwrap());
    check_error(function.call([("pictures", images)]), Code::InvalidArgument, &["serving_default", "'pictures'", "images"]);
    check_error(function.call::<&str>([]), Code::InvalidArgument, &["serving_default", "'images'"]);
    check_error(model.signature("other"), Code::NotFound, &["'other'", "serving_default"]);
}
