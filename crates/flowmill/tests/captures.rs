//! Functions whose bodies use tensors of the graphs around them: what is captured, what calls return, and gradients inside and outside of bodies.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::prelude::*;
use flowmill::{Code, Function, PartialShape, Result};

fn scalar(dtype: DType) -> (DType, PartialShape) {
    (dtype, PartialShape::scalar())
}

#[track_caller]
fn check<const N: usize>(outputs: [Output<'_>; N], expected: [f32; N]) {
    let session = outputs[0].builder().session(SessionOptions::default()).unwrap();
    let values = session.runner().fetch(outputs).unwrap();
    for (i, (value, expected)) in values.iter().zip(expected).enumerate() {
        let value = value.to_scalar::<f32>().unwrap();
        assert!((value - expected).abs() <= 1e-5 * expected.abs(), "output {i}: {value}, not {expected}");
    }
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: Result<T>, parts: &[&str]) {
    let error = result.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "'{part}' is not in: {error}");
    }
}

/// Returns a function of a scalar, called `f`.
fn function<'b>(b: &'b GraphBuilder, body: impl FnOnce(Output<'b>) -> Result<Output<'b>>) -> Function<'b, 1, 1> {
    b.function("f", [scalar(DType::F32)], |[x]| Ok([body(x)?])).unwrap()
}

#[test]
fn a_captured_scalar_is_one_argument_of_each_call() {
    let b = GraphBuilder::new().unwrap();
    let w = b.constant(3.0f32).unwrap();
    let f = function(&b, |x| Ok(x * w + w));
    assert_eq!(f.captured().iter().map(|c| c.id()).collect::<Vec<_>>(), [w.id()]);
    let [y] = f.call([b.constant(2.0f32).unwrap()]).unwrap();
    let [z] = f.call([y]).unwrap();
    check([y, z], [9.0, 30.0]);
    let graph = b.graph().unwrap();
    let call = graph.node(y.node()).unwrap();
    assert_eq!((call.op(), call.num_inputs()), ("PartitionedCall", 2));
}

#[test]
fn a_captured_variable_is_read_and_assigned_in_the_body() {
    let b = GraphBuilder::new().unwrap();
    let v = b.variable("v", 2.0f32).unwrap();
    // No result depends on the assignment, which runs in each call.
    let f = function(&b, |x| {
        let product = x * v.read()?;
        b.after(&[product.ok()?.node()], || v.assign_add(1.0))?;
        Ok(product)
    });
    let [y] = f.call([b.constant(10.0f32).unwrap()]).unwrap();
    assert_eq!(b.graph().unwrap().node(y.node()).unwrap().op(), "StatefulPartitionedCall");
    let session = b.session(SessionOptions::default()).unwrap();
    session.runner().target(v.initializer()).run().unwrap();
    for expected in [20.0f32, 30.0, 40.0] {
        assert_eq!(session.runner().fetch(y).unwrap().to_scalar::<f32>().unwrap(), expected);
    }
}

#[test]
fn an_assignment_that_other_nodes_of_the_body_wait_for_runs_in_each_call() {
    let b = GraphBuilder::new().unwrap();
    let v = b.variable("v", 2.0f32).unwrap();
    let read_after = function(&b, |x| {
        let added = v.assign_add(x)?;
        // The node between the assignment and the read has no tensors.
        let group = b.after(&[added], || b.op("NoOp").finish())?;
        b.after(&[group], || v.read())
    });
    let nobody_reads = function(&b, |x| {
        let added = v.assign_add(x)?;
        b.after(&[added], || b.op("NoOp").finish())?;
        Ok(x)
    });
    let ten = b.constant(10.0f32).unwrap();
    let ([sum], [same]) = (read_after.call([ten]).unwrap(), nobody_reads.call([ten]).unwrap());
    let session = b.session(SessionOptions::default()).unwrap();
    session.runner().target(v.initializer()).run().unwrap();
    let value = |output: Output<'_>| session.runner().fetch(output).unwrap().to_scalar::<f32>().unwrap();
    assert_eq!([value(sum), value(same), value(sum)], [12.0, 10.0, 32.0]);
}

#[test]
fn a_loop_in_a_branch_in_a_body_uses_outer_tensors() {
    let b = GraphBuilder::new().unwrap();
    let w = b.constant(2.0f32).unwrap();
    let steps = b.constant(3i32).unwrap();
    let f = function(&b, |x| {
        let looped = || {
            let start = [b.constant(0i32)?, x];
            let [_, last] = b.while_loop(start, |[i, _]| b.less(i, steps), |[i, a]| Ok([i + 1, a * w]))?;
            Ok([last])
        };
        let [y] = b.cond(b.greater(x, w)?, looped, || Ok([w]))?;
        Ok(y)
    });
    assert_eq!(f.captured().len(), 2);
    let [long] = f.call([b.constant(5.0f32).unwrap()]).unwrap();
    let [short] = f.call([b.constant(1.0f32).unwrap()]).unwrap();
    let [slope] = b.gradients(long, [w]).unwrap();
    check([long, short, slope], [40.0, 2.0, 60.0]);
}

#[test]
fn bodies_nest_and_capture_through_each_other() {
    let b = GraphBuilder::new().unwrap();
    let (v, w) = (b.constant(3.0f32).unwrap(), b.constant(5.0f32).unwrap());
    let outer = function(&b, |x| {
        let z = x * v;
        let inner = b.function("inner", [scalar(DType::F32)], |[a]| Ok([a * z + w]))?;
        let [y] = inner.call([x])?;
        Ok(y)
    });
    // The inner function's w is captured by the outer body, too, when that calls it.
    assert_eq!(outer.captured().iter().map(|c| c.id()).collect::<Vec<_>>(), [v.id(), w.id()]);
    let x = b.constant(2.0f32).unwrap();
    let [y] = outer.call([x]).unwrap();
    let [by_x, by_v, by_w] = b.gradients(y, [x, v, w]).unwrap();
    check([y, by_x, by_v, by_w], [17.0, 12.0, 4.0, 1.0]);
}

#[test]
fn gradients_in_a_body_reach_what_captured_tensors_depend_on() {
    let b = GraphBuilder::new().unwrap();
    let v = b.constant(3.0f32).unwrap();
    let w = b.square(v).unwrap();
    let f = b.function("f", [scalar(DType::F32)], |[x]| {
        let y = x * w;
        let inner = b.function("inner", [], |[]| {
            let z = y * y * v;
            b.gradients(z, [x, w, v])
        })?;
        let [by_x, by_w, by_v] = inner.call([])?;
        // w and v are reached through the body around and the graph.
        let [again] = b.gradients(y * v, [v])?;
        Ok([by_x, by_w, by_v, again])
    });
    let outputs = f.unwrap().call([b.constant(2.0f32).unwrap()]).unwrap();
    // z = x² v⁵ = x² w² v, of which the derivative by v counts the dependence of w; y v = x v³.
    check(outputs, [2.0 * 2.0 * 243.0, 4.0 * 2.0 * 9.0 * 3.0, 4.0 * 5.0 * 81.0, 2.0 * 27.0]);
}

#[test]
fn gradients_in_a_body_reach_through_loops_and_calls_outside() {
    let b = GraphBuilder::new().unwrap();
    let v = b.constant(1.5f32).unwrap();
    let start = [b.constant(0i32).unwrap(), v];
    let [_, looped] = b.while_loop(start, |[i, _]| b.less(i, 3), |[i, a]| Ok([i + 1, a * v])).unwrap();
    let [called] = function(&b, |x| b.exp(x * v)).call([v]).unwrap();
    let slopes = b.function("slopes", [], |[]| {
        let [by_loop] = b.gradients(looped * looped, [v])?;
        let [by_call] = b.gradients(called, [v])?;
        Ok([by_loop, by_call])
    });
    let slopes = slopes.unwrap().call([]).unwrap();
    let v = 1.5f32;
    check(slopes, [8.0 * v.powi(7), 2.0 * v * (v * v).exp()]);
    // What the gradients have added outside leaves the results there as they are.
    check([looped, called], [v.powi(4), (v * v).exp()]);
}

#[test]
fn gradients_of_outer_tensors_are_taken_in_a_body() {
    let b = GraphBuilder::new().unwrap();
    let v = b.constant(3.0f32).unwrap();
    let w = b.square(v).unwrap();
    let f = b.function("f", [], |[]| b.gradients(w, [v])).unwrap();
    check(f.call([]).unwrap(), [6.0]);
}

#[test]
fn a_tensor_of_a_body_that_has_ended_is_an_error() {
    let b = GraphBuilder::new().unwrap();
    let x = b.constant(2.0f32).unwrap();
    let mut leaked = None;
    let first = b.function("first", [scalar(DType::F32)], |[a]| {
        leaked = Some(a);
        Ok([a + 1.0])
    });
    let leaked = leaked.unwrap();
    let parts = ["input 0", "function 'first'"];
    check_error(b.function("second", [scalar(DType::F32)], |[a]| Ok([b.mul(a, leaked)?])), &["input 1", "function 'first'"]);
    check_error(b.neg(leaked), &parts);
    check_error(b.gradients(x, [leaked]), &parts[1..]);
    check_error(leaked.name(), &parts[1..]);
    check_error(b.session(SessionOptions::default()).unwrap().runner().fetch(leaked), &parts[1..]);
    // The builder goes on after the errors, in the graph.
    let [y] = first.unwrap().call([x]).unwrap();
    check([y], [3.0]);
}

#[test]
fn a_function_that_captures_tensors_of_a_body_is_called_there_only() {
    let b = GraphBuilder::new().unwrap();
    let mut inner = None;
    let outer = function(&b, |x| {
        inner = Some(b.function("inner", [], |[]| Ok([x * x]))?);
        Ok(x)
    });
    check_error(inner.unwrap().call([]), &["function 'f'"]);
    check(outer.call([b.constant(1.0f32).unwrap()]).unwrap(), [1.0]);
}

#[test]
fn bad_arguments_names_and_variables_are_errors() {
    let b = GraphBuilder::new().unwrap();
    let other = GraphBuilder::new().unwrap();
    let theirs = other.constant(1.0f32).unwrap();
    let f = b.function("f", [(DType::F32, PartialShape::new(&[2]))], |[x]| Ok([x])).unwrap();
    check_error(f.call([b.constant(1i32).unwrap()]), &["argument 0", "'f_", "int32"]);
    check_error(f.call([b.constant([1.0f32, 2.0, 3.0]).unwrap()]), &["argument 0"]);
    check_error(b.function("", [], |[]| Ok([])), &["name"]);
    check_error(b.function("g", [scalar(DType::F32)], |[x]| Ok([x * theirs])), &["another builder"]);
    let b = GraphBuilder::new().unwrap();
    check_error(b.function("h", [], |[]| Ok([b.variable("v", 1.0f32)?.value()])), &["variable 'v'"]);
    check_error(b.function("k", [], |[]| -> Result<[Output<'_>; 1]> { b.gradients(b.constant(1i32)?, [b.constant(1.0f32)?]) }), &[]);
}
