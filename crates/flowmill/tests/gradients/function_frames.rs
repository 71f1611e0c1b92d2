//! Functions whose bodies have loops of frames, and conditionals of `Switch` and `Merge`.

use crate::{check, numbers, type_attr};
use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder, WhileOptions};
use flowmill::{DType, OutputId, Result, SessionOptions, Tensor};
use flowmill_graph::{FunctionArg, FunctionPart, function_def};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, NameAttrList};

const F64: DType = DType::F64;

fn types(count: usize) -> AttrValue {
    Value::List(Box::new(ListValue { r#type: vec![F64.number(); count], ..ListValue::default() })).into()
}

/// A call of a function that does what `f` does.
fn call(
    b: &mut ScopedBuilder<'_>,
    x: &[OutputId],
    f: impl FnOnce(&mut ScopedBuilder<'_>, &[OutputId]) -> Result<OutputId>,
) -> Result<OutputId> {
    let mut graph = flowmill::new_graph()?;
    let mut state = BuilderState::default();
    let mut body = ScopedBuilder::new(&mut graph, &mut state, Scope::root())?;
    let arg = |body: &mut ScopedBuilder<'_>, i: usize| body.op("_Arg").name("x").attr("T", type_attr(F64)).attr("index", i as i64).output();
    let args = (0..x.len()).map(|i| arg(&mut body, i)).collect::<Result<Vec<_>>>()?;
    let y = f(&mut body, &args)?;
    let args = args.iter().map(|&a| FunctionArg::new(body.graph(), body.state().shapes(), a)).collect::<Result<Vec<_>>>()?;
    let kept: Vec<_> = body.graph().op_nodes().filter(|n| n.op_def().is_stateful() && !n.is_op("_Arg")).map(|n| n.id()).collect();
    let part = FunctionPart { args: &args, results: &[y], kept: &kept, ..FunctionPart::default() };
    let def = function_def(body.graph(), "f", &part)?;
    let name = def.signature.as_ref().map(|s| s.name.clone()).unwrap_or_default();
    if b.graph().library().get(&name).is_none() {
        b.graph_mut().library_mut().add(def)?;
    }
    let f = AttrValue::from(NameAttrList { name, ..NameAttrList::default() });
    b.op("StatefulPartitionedCall").inputs(x).attr("Tin", types(x.len())).attr("Tout", types(1)).attr("f", f).output()
}

/// `for i in 0..times { x = body(i, x) }`
fn repeat(
    b: &mut ScopedBuilder<'_>,
    times: i32,
    x: OutputId,
    body: impl FnOnce(&mut ScopedBuilder<'_>, OutputId, OutputId) -> Result<OutputId>,
) -> Result<OutputId> {
    let zero = b.scalar(0i32)?;
    let exits = b.while_loop(
        "while",
        &[zero, x],
        &WhileOptions::default(),
        |b, vars| {
            let limit = b.scalar(times)?;
            b.call("Less", &[vars[0], limit])
        },
        |b, vars| {
            let one = b.scalar(1i32)?;
            Ok(vec![b.call("AddV2", &[vars[0], one])?, body(b, vars[0], vars[1])?])
        },
    )?;
    Ok(exits[1])
}

/// `tanh(x w)` a number of times
fn power(b: &mut ScopedBuilder<'_>, x: &[OutputId], times: i32) -> Result<OutputId> {
    let w = x[1];
    repeat(b, times, x[0], |b, _, x| {
        let product = b.call("Mul", &[x, w])?;
        b.call("Tanh", &[product])
    })
}

#[test]
fn loops() {
    let xs = [numbers(&[2]), numbers(&[2])];
    for times in [0, 1, 4] {
        check(&format!("a loop of {times}"), &xs, |b, x| {
            let y = call(b, x, |b, x| power(b, x, times))?;
            b.call("Mul", &[y, x[1]])
        });
    }
    check("one loop after another", &xs, |b, x| {
        call(b, x, |b, x| {
            let y = power(b, x, 2)?;
            power(b, &[x[1], y], 3)
        })
    });
    check("a loop in a loop", &xs, |b, x| {
        call(b, x, |b, x| {
            let w = x[1];
            repeat(b, 3, x[0], |b, i, x| {
                let zero = b.scalar(0i32)?;
                let inner = b.while_loop(
                    "inner",
                    &[zero, x],
                    &WhileOptions::default(),
                    |b, vars| b.call("LessEqual", &[vars[0], i]),
                    |b, vars| {
                        let one = b.scalar(1i32)?;
                        let product = b.call("Mul", &[vars[1], w])?;
                        Ok(vec![b.call("AddV2", &[vars[0], one])?, b.call("Sin", &[product])?])
                    },
                )?;
                b.call("AddV2", &[inner[1], x])
            })
        })
    });
    check("a variable that grows", &[numbers(&[2])], |b, x| {
        call(b, x, |b, x| {
            let y = repeat(b, 3, x[0], |b, _, y| {
                let axis = b.scalar(0i32)?;
                let sine = b.call("Sin", &[y])?;
                b.call("ConcatV2", &[y, sine, axis])
            })?;
            let all = b.vector(&[0i32])?;
            b.call("Prod", &[y, all])
        })
    });
}

#[test]
fn gradients_of_gradients() {
    check("a loop, twice", &[numbers(&[2]), numbers(&[2])], |b, x| {
        let y = call(b, x, |b, x| power(b, x, 3))?;
        let grads = add_gradients(b, &[y], x, &[], &GradientOptions::default())?;
        let grads = grads.iter().flatten().map(|g| b.densify(g)).collect::<Result<Vec<_>>>()?;
        b.call("Mul", &grads)
    });
}

#[test]
fn conditionals() {
    for limit in [0.0, 100.0] {
        check("a conditional", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let y = call(b, x, |b, x| choose(b, x[0], x[1], limit))?;
            b.call("Mul", &[y, x[1]])
        });
        check("a loop in a conditional", &[numbers(&[2]), numbers(&[2])], |b, x| {
            call(b, x, |b, x| {
                let pred = greater(b, x[0], limit)?;
                let all = x.to_vec();
                let chosen = b.cond("cond", pred, |b| Ok(vec![power(b, &all, 3)?]), |b| Ok(vec![b.call("Mul", &all)?]))?;
                b.call("Sin", &[chosen[0]])
            })
        });
    }
    check("a conditional in a loop", &[numbers(&[2]), numbers(&[2])], |b, x| {
        call(b, x, |b, x| {
            let w = x[1];
            repeat(b, 4, x[0], |b, i, x| {
                let two = b.scalar(2i32)?;
                let (odd, one) = (b.call("FloorMod", &[i, two])?, b.scalar(1i32)?);
                let pred = b.call("Equal", &[odd, one])?;
                let chosen = b.cond("cond", pred, |b| Ok(vec![b.call("Mul", &[x, w])?]), |b| Ok(vec![b.call("Cos", &[x])?]))?;
                Ok(chosen[0])
            })
        })
    });
}

fn greater(b: &mut ScopedBuilder<'_>, x: OutputId, limit: f64) -> Result<OutputId> {
    let all = b.vector(&[0i32])?;
    let (sum, limit) = (b.call("Sum", &[x, all])?, b.scalar(limit)?);
    b.call("Greater", &[sum, limit])
}

fn choose(b: &mut ScopedBuilder<'_>, x: OutputId, w: OutputId, limit: f64) -> Result<OutputId> {
    let pred = greater(b, x, limit)?;
    let chosen = b.cond(
        "cond",
        pred,
        |b| {
            let product = b.call("Mul", &[x, w])?;
            Ok(vec![b.call("Tanh", &[product])?])
        },
        |b| {
            let square = b.call("Square", &[x])?;
            Ok(vec![b.call("Sin", &[square])?])
        },
    )?;
    Ok(chosen[0])
}

/// The derivative by `x` of what is `x` times something random is that, as the forward part drew it.
#[test]
fn random_numbers_of_a_loop_are_those_of_the_gradient() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.constant("x", &Tensor::scalar(2.0f64)).unwrap();
    let y = call(&mut b, &[x], |b, x| {
        repeat(b, 3, x[0], |b, _, x| {
            let shape = b.vector::<i32>(&[])?;
            let noise = b.op("RandomUniform").input(shape).attr("dtype", type_attr(F64)).attr("T", type_attr(DType::I32)).output()?;
            b.call("Mul", &[x, noise])
        })
    })
    .unwrap();
    let grads = add_gradients(&mut b, &[y], &[x], &[], &GradientOptions::default()).unwrap();
    let grad = b.densify(grads[0].as_ref().unwrap()).unwrap();
    let names = [b.graph().tensor_name(y), b.graph().tensor_name(grad)];
    graph.validate().unwrap();
    for optimize in [true, false] {
        let session = flowmill::session(graph.clone(), SessionOptions { optimize, lower: optimize, ..SessionOptions::default() }).unwrap();
        let values = session.run(&[], &[&names[0], &names[1]], &[]).unwrap();
        let values: Vec<f64> = values.iter().map(|v| v.to_scalar().unwrap()).collect();
        assert!(values[0] > 0.0 && (values[0] - 2.0 * values[1]).abs() < 1e-12, "{values:?}");
    }
}
