//! Calls, and conditionals and loops by functions.

use crate::{check, numbers, type_attr};
use flowmill::builder::gradients::{Grad, GradientOptions, GradientWalk, Step, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder};
use flowmill::{Code, DType, OutputId, Result, SessionOptions, Tensor};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::op_def::ArgDef;
use flowmill_proto::{AttrValue, FunctionDef, GradientDef, NameAttrList, NodeDef, OpDef};

const F64: DType = DType::F64;

fn types(dtypes: &[DType]) -> AttrValue {
    let r#type = dtypes.iter().map(|t| t.number()).collect();
    Value::List(Box::new(ListValue { r#type, ..ListValue::default() })).into()
}

fn named(name: &str) -> AttrValue {
    Value::Func(Box::new(NameAttrList { name: name.to_owned(), ..NameAttrList::default() })).into()
}

/// A function's node: name, op, inputs as a FunctionDef writes them, attributes.
type Line<'a> = (&'a str, &'a str, &'a [&'a str], Vec<(&'a str, AttrValue)>);

/// Adds a function to the graph's library.
fn define(
    b: &mut ScopedBuilder<'_>,
    name: &str,
    args: &[(&str, DType)],
    lines: &[Line<'_>],
    results: &[(&str, DType, &str)],
) -> Result<()> {
    let arg = |name: &str, dtype: DType| ArgDef { name: name.to_owned(), r#type: dtype.number(), ..ArgDef::default() };
    let signature = OpDef {
        name: name.to_owned(),
        input_arg: args.iter().map(|&(n, t)| arg(n, t)).collect(),
        output_arg: results.iter().map(|&(n, t, _)| arg(n, t)).collect(),
        ..OpDef::default()
    };
    let node_def = lines.iter().map(|(name, op, input, attrs)| NodeDef {
        name: (*name).to_owned(),
        op: (*op).to_owned(),
        input: input.iter().map(|&i| i.to_owned()).collect(),
        attr: attrs.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect(),
        ..NodeDef::default()
    });
    let def = FunctionDef {
        node_def: node_def.collect(),
        ret: results.iter().map(|&(n, _, from)| (n.to_owned(), from.to_owned())).collect(),
        signature: Some(signature),
        ..FunctionDef::default()
    };
    b.graph_mut().library_mut().add(def)
}

fn t(dtype: DType) -> Vec<(&'static str, AttrValue)> {
    vec![("T", type_attr(dtype))]
}

fn constant(value: &Tensor) -> Vec<(&'static str, AttrValue)> {
    vec![("dtype", type_attr(value.dtype())), ("value", value.to_proto().unwrap().into())]
}

/// `product(x, y) = x sin(y)`
fn define_product(b: &mut ScopedBuilder<'_>) -> Result<()> {
    let lines: [Line<'_>; 2] = [("sine", "Sin", &["y"], t(F64)), ("product", "Mul", &["x", "sine:y:0"], t(F64))];
    define(b, "product", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "product:z:0")])
}

fn call(b: &mut ScopedBuilder<'_>, f: &str, inputs: &[OutputId]) -> Result<OutputId> {
    let tin = types(&vec![F64; inputs.len()]);
    b.op("PartitionedCall").inputs(inputs).attr("Tin", tin).attr("Tout", types(&[F64])).attr("f", named(f)).output()
}

#[test]
fn calls() {
    let shapes = [numbers(&[3]), numbers(&[3])];
    check("a call", &shapes, |b, x| {
        define_product(b)?;
        let y = call(b, "product", x)?;
        b.call("Square", &[y])
    });
    check("a function as an op", &shapes, |b, x| {
        define_product(b)?;
        let y = b.call("product", x)?;
        b.call("Square", &[y])
    });
    check("a function in a function", &shapes, |b, x| {
        define_product(b)?;
        let inner = vec![("Tin", types(&[F64, F64])), ("Tout", types(&[F64])), ("f", named("product"))];
        let lines: [Line<'_>; 2] = [("inner", "PartitionedCall", &["x", "y"], inner), ("square", "Square", &["inner:output:0"], t(F64))];
        define(b, "outer", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "square:y:0")])?;
        call(b, "outer", x)
    });
}

#[test]
fn symbolic_gradients() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    define_product(&mut b).unwrap();
    let (x, y, dz) = (0.4f64, 0.7f64, 3.0f64);
    let inputs = [x, y, dz].map(|v| b.scalar(v).unwrap());
    let node = b.op("SymbolicGradient").inputs(&inputs).attr("Tin", types(&[F64; 3])).attr("Tout", types(&[F64; 2]));
    let node = node.attr("f", named("product")).finish().unwrap();
    let names = [0, 1].map(|slot| b.graph().tensor_name(node.output(slot)));
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let values = session.run(&[], &[&names[0], &names[1]], &[]).unwrap();
    for (value, expected) in values.iter().zip([dz * y.sin(), dz * x * y.cos()]) {
        assert!((value.to_scalar::<f64>().unwrap() - expected).abs() < 1e-12, "{value:?}, not {expected}");
    }
}

#[test]
fn a_gradient_function_of_the_library_is_called() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    define_product(&mut b).unwrap();
    let lines: [Line<'_>; 1] = [("minus", "Neg", &["dz"], t(F64))];
    let args = [("x", F64), ("y", F64), ("dz", F64)];
    define(&mut b, "product_grad", &args, &lines, &[("dx", F64, "minus:y:0"), ("dy", F64, "x")]).unwrap();
    let gradient = GradientDef { function_name: "product".into(), gradient_func: "product_grad".into(), ..GradientDef::default() };
    b.graph_mut().library_mut().add_gradient(gradient).unwrap();
    let x = b.constant("x", &Tensor::scalar(3.0f64)).unwrap();
    let y = b.constant("y", &Tensor::scalar(5.0f64)).unwrap();
    let z = call(&mut b, "product", &[x, y]).unwrap();
    let grads = add_gradients(&mut b, &[z], &[x, y], &[], &GradientOptions::default()).unwrap();
    let symbolic = b.op("SymbolicGradient").inputs(&[x, y, x]).attr("Tin", types(&[F64; 3])).attr("Tout", types(&[F64; 2]));
    let symbolic = symbolic.attr("f", named("product")).finish().unwrap();
    let mut names: Vec<String> = grads.iter().map(|g| b.densify(g.as_ref().unwrap()).map(|g| b.graph().tensor_name(g)).unwrap()).collect();
    names.push(b.graph().tensor_name(symbolic.output(0)));
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let values = session.run(&[], &names, &[]).unwrap();
    assert_eq!(values.iter().map(|v| v.to_scalar::<f64>().unwrap()).collect::<Vec<_>>(), [-1.0, 3.0, -3.0]);
}

#[test]
fn custom_gradients_in_functions_are_asked_for() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let mut attrs = t(F64);
    attrs.push(("_gradient_op_type", "Nine".into()));
    let lines: [Line<'_>; 1] = [("marked", "Square", &["x"], attrs)];
    define(&mut b, "f", &[("x", F64)], &lines, &[("y", F64, "marked:y:0")]).unwrap();
    let x = b.constant("x", &Tensor::scalar(3.0f64)).unwrap();
    let y = call(&mut b, "f", &[x]).unwrap();
    let options = GradientOptions { custom: ["Nine".to_owned()].into(), ..GradientOptions::default() };
    let mut walk = GradientWalk::new(&mut b, &[y], &[x], &[], options).unwrap();
    let Step::Custom { kind, scope, .. } = walk.advance(&mut b).unwrap() else { panic!("nothing was asked for") };
    assert_eq!(kind, "Nine");
    let nine = walk.body().unwrap().build(scope, |b| b.scalar(9.0f64)).unwrap();
    walk.resume(vec![Some(nine.into())]).unwrap();
    let Step::Done(grads) = walk.advance(&mut b).unwrap() else { panic!("not done") };
    let Some(Grad::Dense(grad)) = grads[0] else { panic!("{grads:?}") };
    let name = b.graph().tensor_name(grad);
    assert_eq!(numbers_of(graph, &[name]), [9.0]);
}

/// The values of scalars in one step.
fn numbers_of(graph: flowmill::Graph, names: &[String]) -> Vec<f64> {
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    session.run(&[], &names, &[]).unwrap().iter().map(|v| v.to_scalar::<f64>().unwrap()).collect()
}

/// `noisy(x, y) = x r y` for a random number `r`
fn define_noisy(b: &mut ScopedBuilder<'_>) -> Result<()> {
    let random = vec![("dtype", type_attr(F64)), ("T", type_attr(DType::I32))];
    let lines: [Line<'_>; 4] = [
        ("shape", "Const", &[], constant(&Tensor::vector::<i32>(&[])?)),
        ("random", "RandomUniform", &["shape:output:0"], random),
        ("noise", "Mul", &["x", "random:output:0"], t(F64)),
        ("product", "Mul", &["noise:z:0", "y"], t(F64)),
    ];
    define(b, "noisy", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "product:z:0")])
}

/// The derivative by `x` of what is `x` times something random is that, as the forward part drew it: `f` gives `y` of `x`.
fn check_random(what: &str, f: impl FnOnce(&mut ScopedBuilder<'_>, OutputId) -> Result<OutputId>) {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(2.0f64)).unwrap();
    define_noisy(&mut b).unwrap();
    let y = f(&mut b, x).unwrap();
    let grads = add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default()).unwrap();
    let grad = b.densify(grads[0].as_ref().unwrap()).unwrap();
    let names = [b.graph().tensor_name(y), b.graph().tensor_name(grad)];
    graph.validate().unwrap();
    let values = numbers_of(graph, &names);
    assert!(values[0] > 0.0 && (values[0] - 2.0 * values[1]).abs() < 1e-12, "{what}: {values:?}");
}

#[test]
fn random_numbers_of_the_forward_part_are_those_of_the_gradient() {
    let three = |b: &mut ScopedBuilder<'_>| b.scalar(3.0f64);
    check_random("a call", |b, x| {
        let y = three(b)?;
        let node = b.op("StatefulPartitionedCall").inputs(&[x, y]).attr("Tin", types(&[F64; 2])).attr("Tout", types(&[F64]));
        node.attr("f", named("noisy")).output()
    });
    check_random("a function as an op", |b, x| {
        let y = three(b)?;
        b.call("noisy", &[x, y])
    });
    for pred in [true, false] {
        check_random("If", |b, x| {
            let (y, pred) = (three(b)?, b.scalar(pred)?);
            define_product(b)?;
            let lines: [Line<'_>; 1] = [("r", "noisy", &["x", "y"], vec![])];
            define(b, "nested", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "r:z:0")])?;
            let node = b.op("If").input(pred).inputs(&[x, y]).attr("Tin", types(&[F64; 2])).attr("Tout", types(&[F64]));
            node.attr("then_branch", named("nested")).attr("else_branch", named("noisy")).output()
        });
    }
    check_random("While", |b, x| {
        let int = DType::I32;
        let args = [("i", int), ("x", F64)];
        let cond: [Line<'_>; 2] =
            [("limit", "Const", &[], constant(&Tensor::scalar(4i32))), ("less", "Less", &["i", "limit:output:0"], t(int))];
        define(b, "cond", &args, &cond, &[("go_on", DType::Bool, "less:z:0")])?;
        let body: [Line<'_>; 4] = [
            ("one", "Const", &[], constant(&Tensor::scalar(1i32))),
            ("two", "Const", &[], constant(&Tensor::scalar(2.0f64))),
            ("next", "AddV2", &["i", "one:output:0"], t(int)),
            ("product", "noisy", &["x", "two:output:0"], vec![]),
        ];
        define(b, "body", &args, &body, &[("i2", int, "next:z:0"), ("x2", F64, "product:z:0")])?;
        let zero = b.scalar(0i32)?;
        let node = b.op("While").inputs(&[zero, x]).attr("T", types(&[int, F64]));
        Ok(node.attr("cond", named("cond")).attr("body", named("body")).finish()?.output(1))
    });
}

/// The sum of the squares of the gradients of `y`, of that for `order` 3, and `y` itself for 1.
fn derived(b: &mut ScopedBuilder<'_>, y: OutputId, x: &[OutputId], order: usize) -> Result<OutputId> {
    let mut y = y;
    for _ in 1..order {
        let grads = add_gradients(b, &[y], x, &[], &GradientOptions::default())?;
        let mut terms = Vec::new();
        for grad in grads.iter().flatten() {
            let grad = b.densify(grad)?;
            terms.push(b.call("Square", &[grad])?);
        }
        y = b.call("AddN", &terms)?;
    }
    Ok(y)
}

#[test]
fn gradients_of_gradients() {
    let shapes = [numbers(&[3]), numbers(&[3])];
    for order in [2, 3] {
        check(&format!("a call, {order}"), &shapes, |b, x| {
            define_product(b)?;
            let y = call(b, "product", x)?;
            let y = b.call("Square", &[y])?;
            derived(b, y, x, order)
        });
        for taken in [true, false] {
            check(&format!("If, {order}"), &shapes, |b, x| {
                define_product(b)?;
                let lines: [Line<'_>; 2] = [("square", "Square", &["x"], t(F64)), ("product", "Mul", &["square:y:0", "y"], t(F64))];
                define(b, "square", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "product:z:0")])?;
                let pred = b.scalar(taken)?;
                let y = b.op("StatelessIf").input(pred).inputs(x).attr("Tin", types(&[F64; 2])).attr("Tout", types(&[F64]));
                let y = y.attr("then_branch", named("product")).attr("else_branch", named("square")).output()?;
                derived(b, y, x, order)
            });
        }
        for op in ["While", "StatelessWhile"] {
            check(&format!("{op}, {order}"), &shapes, |b, x| {
                define_loop(b)?;
                let [y, w] = while_node(b, op, x[0], x[1])?;
                let y = b.call("Mul", &[y, w])?;
                derived(b, y, x, order)
            });
        }
    }
}

#[test]
fn a_second_gradient_of_a_loop_uses_the_lists_of_the_first() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    define_loop(&mut b).unwrap();
    let x = b.constant("x", &Tensor::scalar(0.5f64)).unwrap();
    let w = b.constant("w", &Tensor::scalar(0.7f64)).unwrap();
    let [y, _] = while_node(&mut b, "While", x, w).unwrap();
    let outputs = |b: &ScopedBuilder<'_>| b.graph()[y.node].num_outputs();
    let mut counts = vec![outputs(&b)];
    for _ in 0..2 {
        add_gradients(&mut b, &[y], &[x, w], &[], &GradientOptions::default()).unwrap();
        counts.push(outputs(&b));
    }
    // The tangent's value, and the variable that each product is of.
    assert_eq!(counts, [3, 5, 5]);
}

#[test]
fn functions_that_call_themselves_are_refused() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let call_self = vec![("Tin", types(&[F64])), ("Tout", types(&[F64])), ("f", named("f"))];
    let lines: [Line<'_>; 1] = [("again", "PartitionedCall", &["x"], call_self)];
    define(&mut b, "f", &[("x", F64)], &lines, &[("y", F64, "again:output:0")]).unwrap();
    let x = b.constant("x", &Tensor::scalar(3.0f64)).unwrap();
    let y = call(&mut b, "f", &[x]).unwrap();
    let error = add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented, "{error}");
}

#[test]
fn conditionals() {
    for limit in [0.0, 100.0] {
        for op in ["If", "StatelessIf"] {
            check(op, &[numbers(&[3]), numbers(&[3])], |b, x| {
                define_product(b)?;
                let lines: [Line<'_>; 1] = [("square", "Square", &["x"], t(F64))];
                define(b, "square", &[("x", F64), ("y", F64)], &lines, &[("z", F64, "square:y:0")])?;
                let axes = b.vector(&[0i32])?;
                let sum = b.call("Sum", &[x[0], axes])?;
                let limit = b.scalar(limit)?;
                let pred = b.call("Greater", &[sum, limit])?;
                let y = b.op(op).input(pred).inputs(x).attr("Tin", types(&[F64; 2])).attr("Tout", types(&[F64]));
                let y = y.attr("then_branch", named("product")).attr("else_branch", named("square")).output()?;
                // The other argument's gradient is there for both branches.
                let z = b.call("Mul", &[y, x[1]])?;
                b.call("Mul", &[z, y])
            });
        }
    }
    for index in 0..3 {
        check("Case", &[numbers(&[3]), numbers(&[3])], |b, x| {
            define_product(b)?;
            for op in ["Square", "Exp"] {
                let lines: [Line<'_>; 2] = [("f", op, &["x"], t(F64)), ("g", "Mul", &["f:y:0", "y"], t(F64))];
                let name = format!("{op}_times");
                define(b, &name, &[("x", F64), ("y", F64)], &lines, &[("z", F64, "g:z:0")])?;
            }
            let func =
                ["product", "Square_times", "Exp_times"].map(|name| NameAttrList { name: name.into(), ..NameAttrList::default() }).to_vec();
            let branches = AttrValue::from(Value::List(Box::new(ListValue { func, ..ListValue::default() })));
            let index = b.scalar(index)?;
            let y = b.op("StatelessCase").input(index).inputs(x).attr("Tin", types(&[F64; 2])).attr("Tout", types(&[F64]));
            y.attr("branches", branches).output()
        });
    }
}

/// `while (i < 4) { x = tanh(x w); i += 1 }`, where `w` is handed on.
fn define_loop(b: &mut ScopedBuilder<'_>) -> Result<()> {
    let int = DType::I32;
    let args = [("i", int), ("x", F64), ("w", F64)];
    let cond: [Line<'_>; 2] =
        [("limit", "Const", &[], constant(&Tensor::scalar(4i32))), ("less", "Less", &["i", "limit:output:0"], t(int))];
    define(b, "cond", &args, &cond, &[("go_on", DType::Bool, "less:z:0")])?;
    let body: [Line<'_>; 5] = [
        ("one", "Const", &[], constant(&Tensor::scalar(1i32))),
        ("next", "AddV2", &["i", "one:output:0"], t(int)),
        ("product", "Mul", &["x", "w"], t(F64)),
        ("tanh", "Tanh", &["product:z:0"], t(F64)),
        ("same", "Identity", &["w"], t(F64)),
    ];
    define(b, "body", &args, &body, &[("i2", int, "next:z:0"), ("x2", F64, "tanh:y:0"), ("w2", F64, "same:output:0")])
}

fn while_node(b: &mut ScopedBuilder<'_>, op: &str, x: OutputId, w: OutputId) -> Result<[OutputId; 2]> {
    let zero = b.scalar(0i32)?;
    let node = b.op(op).inputs(&[zero, x, w]).attr("T", types(&[DType::I32, F64, F64]));
    let node = node.attr("cond", named("cond")).attr("body", named("body")).finish()?;
    Ok([node.output(1), node.output(2)])
}

#[test]
fn loops() {
    for op in ["While", "StatelessWhile"] {
        check(op, &[numbers(&[2]), numbers(&[2])], |b, x| {
            define_loop(b)?;
            let [y, w] = while_node(b, op, x[0], x[1])?;
            b.call("Mul", &[y, w])
        });
    }
    check("While in a loop of frames", &[numbers(&[2]), numbers(&[2])], |b, x| {
        define_loop(b)?;
        let zero = b.scalar(0i32)?;
        let w = x[1];
        let exits = b.while_loop(
            "while",
            &[zero, x[0]],
            &flowmill::builder::WhileOptions::default(),
            |b, vars| {
                let two = b.scalar(2i32)?;
                b.call("Less", &[vars[0], two])
            },
            |b, vars| {
                let one = b.scalar(1i32)?;
                let [y, _] = while_node(b, "While", vars[1], w)?;
                Ok(vec![b.call("AddV2", &[vars[0], one])?, b.call("AddV2", &[y, vars[1]])?])
            },
        )?;
        Ok(exits[1])
    });
}

/// Each function calls the next one twice: together they are 2²⁹ copies of the last.
#[test]
fn functions_that_double_with_every_call_are_refused() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    define(&mut b, "f29", &[("x", F64)], &[("y", "Sin", &["x"], t(F64))], &[("y", F64, "y:y:0")]).unwrap();
    for i in (0..29).rev() {
        let next = || vec![("Tin", types(&[F64])), ("Tout", types(&[F64])), ("f", named(&format!("f{}", i + 1)))];
        let lines: [Line<'_>; 2] = [("a", "PartitionedCall", &["x"], next()), ("b", "PartitionedCall", &["a:output:0"], next())];
        define(&mut b, &format!("f{i}"), &[("x", F64)], &lines, &[("y", F64, "b:output:0")]).unwrap();
    }
    let x = b.scalar(1.0f64).unwrap();
    let y = call(&mut b, "f0", &[x]).unwrap();
    let error = add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default()).unwrap_err();
    assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
}
