use crate::testing::Call;
use flowmill_proto::NameAttrList;
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_runtime::{CallableFunction, DeviceStep, FunctionHandle, FunctionLibraryRuntime};
use flowmill_tensor::{Code, Element, Result, Tensor, bail, error};
use std::sync::Arc;

type Body = fn(Vec<Tensor>) -> Result<Vec<Tensor>>;

struct Rust(Body);

impl CallableFunction for Rust {
    fn call(&self, args: Vec<Tensor>, _: &Arc<DeviceStep>) -> Result<Vec<Tensor>> {
        (self.0)(args)
    }
}

fn at<T: Element>(args: &[Tensor], i: usize) -> T {
    args[i].to_scalar().unwrap()
}

/// Returns a library of functions that are written in Rust.
fn library() -> Arc<FunctionLibraryRuntime> {
    Arc::new(FunctionLibraryRuntime::new(|name, _| {
        let body: Body = match name {
            "increment" => |args| Ok(vec![Tensor::scalar(at::<f32>(&args, 0) + 1.0)]),
            "decrement" => |args| Ok(vec![Tensor::scalar(at::<f32>(&args, 0) - 1.0)]),
            "below_ten" => |args| Ok(vec![Tensor::scalar(at::<f32>(&args, 0) < 10.0)]),
            "twice" => |args| Ok(vec![args[0].clone(), args[0].clone()]),
            "add_index" => |args| Ok(vec![Tensor::scalar(at::<f32>(&args, 1) + at::<i32>(&args, 0) as f32)]),
            "fail" => |_| bail!(OutOfRange, "the end"),
            // Doubles its argument in place, and fails if it does not own the argument.
            "double_in_place" => |mut args| {
                if !args[0].is_unique() {
                    bail!(Internal, "shared");
                }
                args[0].as_mut_slice::<f32>()?.iter_mut().for_each(|x| *x *= 2.0);
                Ok(args)
            },
            "first_below_ten" => |args| Ok(vec![Tensor::scalar(args[0].as_slice::<f32>()?[0] < 10.0)]),
            _ => return Err(error!(NotFound, "Function {name} is not defined.")),
        };
        Ok(FunctionHandle::new(Arc::new(Rust(body))))
    }))
}

fn func(name: &str) -> NameAttrList {
    NameAttrList { name: name.to_owned(), ..NameAttrList::default() }
}

fn call(op: &str, functions: &[(&str, &str)], inputs: Vec<Tensor>) -> Result<Tensor> {
    let call = Call::new(op).functions(&library()).inputs(inputs).outputs(1);
    functions.iter().fold(call, |call, (attr, name)| call.attr(attr, func(name))).run1()
}

fn f32_of(result: Result<Tensor>) -> f32 {
    result.unwrap().to_scalar().unwrap()
}

#[test]
fn if_takes_any_tensor_for_a_condition() {
    let vector = |v: &[f32]| Tensor::vector(v).unwrap();
    for (condition, truth) in [
        (Tensor::scalar(true), true),
        (Tensor::scalar(false), false),
        (Tensor::scalar(0i32), false),
        (Tensor::scalar(-3i64), true),
        (Tensor::scalar(2u8), true),
        (Tensor::scalar(-0.0f32), false),
        (Tensor::scalar(f64::NAN), true),
        (Tensor::string(""), false),
        (Tensor::string("a"), true),
        (vector(&[]), false),
        (vector(&[0.0]), true),
        (Tensor::vector(&[false]).unwrap(), true),
    ] {
        let text = format!("{condition:?}");
        let out = call("If", &[("then_branch", "increment"), ("else_branch", "decrement")], vec![condition, Tensor::scalar(1f32)]);
        assert_eq!(f32_of(out), if truth { 2.0 } else { 0.0 }, "{text}");
    }
    let e = call("If", &[("then_branch", "increment"), ("else_branch", "decrement")], vec![Tensor::scalar(1u16), Tensor::scalar(1f32)]);
    assert_eq!(e.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn to_bool_is_the_truth_that_if_takes() {
    for (value, truth) in [
        (Tensor::scalar(true), true),
        (Tensor::scalar(false), false),
        (Tensor::scalar(-2i32), true),
        (Tensor::scalar(0i64), false),
        (Tensor::scalar(0.5f32), true),
        (Tensor::string(""), false),
        (Tensor::vector(&[0.0f32]).unwrap(), true),
    ] {
        let (dtype, text) = (value.dtype(), format!("{value:?}"));
        let out = Call::new("ToBool").attr("T", Value::Type(dtype.number())).inputs(vec![value]).outputs(1).run1();
        assert_eq!(out.unwrap().to_scalar::<bool>().unwrap(), truth, "{text}");
    }
}

#[test]
fn case_takes_the_last_branch_out_of_range() {
    let branches = ListValue { func: vec![func("increment"), func("decrement")], ..ListValue::default() };
    for (index, value) in [(0, 2.0), (1, 0.0), (2, 0.0), (-1, 0.0)] {
        let inputs = vec![Tensor::scalar(index), Tensor::scalar(1f32)];
        let out = Call::new("Case")
            .functions(&library())
            .attr("branches", Value::List(Box::new(branches.clone())))
            .inputs(inputs)
            .outputs(1)
            .run1();
        assert_eq!(f32_of(out), value, "branch {index}");
    }
}

#[test]
fn while_runs_its_body_as_long_as_the_condition_holds() {
    let run = |cond, body, x: f32| call("While", &[("cond", cond), ("body", body)], vec![Tensor::scalar(x)]);
    assert_eq!(f32_of(run("below_ten", "increment", 1.5)), 10.5);
    assert_eq!(f32_of(run("below_ten", "increment", 11.0)), 11.0);
    assert_eq!(
        run("twice", "increment", 1.0).unwrap_err().message(),
        "Expected a single scalar return value from WhileOp cond, got 2 tensors."
    );
    assert_eq!(run("below_ten", "twice", 1.0).unwrap_err().message(), "While loop body returned 2 arguments. Expected: 1.");
    assert_eq!(run("below_ten", "fail", 1.0).unwrap_err().code(), Code::OutOfRange);
    assert_eq!(run("below_ten", "missing", 1.0).unwrap_err().code(), Code::NotFound);
}

#[test]
fn the_body_of_a_while_owns_its_arguments() {
    let x = Tensor::vector(&vec![1f32; 100]).unwrap();
    let out = call("While", &[("cond", "first_below_ten"), ("body", "double_in_place")], vec![x]).unwrap();
    assert_eq!(out.as_slice::<f32>().unwrap(), [16f32; 100]);
}

#[test]
fn for_counts_up_and_down() {
    let run = |bounds: [i32; 3]| {
        call("For", &[("body", "add_index")], bounds.map(Tensor::scalar).into_iter().chain([Tensor::scalar(1f32)]).collect())
    };
    assert_eq!(f32_of(run([0, 5, 2])), 7.0);
    assert_eq!(f32_of(run([5, 0, -2])), 10.0);
    assert_eq!(f32_of(run([5, 5, 0])), 1.0);
    assert_eq!(f32_of(run([i32::MAX - 1, i32::MAX, 7])), 1.0 + (i32::MAX - 1) as f32);
    assert_eq!(run([0, 5, -2]).unwrap_err().message(), "Invalid start/limit/delta: 0 5 -2");
    assert_eq!(run([4, 5, 0]).unwrap_err().message(), "Invalid start/limit/delta: 4 5 0");
}

#[test]
fn a_call_has_as_many_results_as_outputs() {
    assert_eq!(f32_of(call("PartitionedCall", &[("f", "increment")], vec![Tensor::scalar(1f32)])), 2.0);
    let e = call("StatefulPartitionedCall", &[("f", "twice")], vec![Tensor::scalar(1f32)]).unwrap_err();
    assert_eq!(e.message(), "The function returned 2 values. Expected: 1.");
}
