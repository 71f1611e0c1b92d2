//! Conditionals, loops, and either in the other.

use crate::{check, numbers};
use flowmill::builder::gradients::{GradientOptions, add_gradients};
use flowmill::builder::{BuilderState, Scope, ScopedBuilder, WhileOptions};
use flowmill::{OutputId, Result, SessionOptions, Tensor};

fn greater(b: &mut ScopedBuilder<'_>, x: OutputId, limit: f64) -> Result<OutputId> {
    let all = b.vector(&[0i32])?;
    let sum = b.call("Sum", &[x, all])?;
    let limit = b.scalar(limit)?;
    b.call("Greater", &[sum, limit])
}

#[test]
fn conditionals() {
    for limit in [0.0, 100.0] {
        check("cond", &[numbers(&[3]), numbers(&[3])], |b, x| {
            let (x, y) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond(
                "cond",
                pred,
                |b| Ok(vec![b.call("Mul", &[x, y])?]),
                |b| {
                    let square = b.call("Square", &[x])?;
                    Ok(vec![b.call("Mul", &[square, y])?])
                },
            )?;
            b.call("Mul", &[out[0], y])
        });
        // A branch that one of the tensors does not come into.
        check("cond of one", &[numbers(&[3]), numbers(&[3])], |b, x| {
            let (x, y) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond("cond", pred, |b| Ok(vec![b.call("Square", &[x])?]), |_| Ok(vec![y]))?;
            b.call("Mul", &[out[0], out[0]])
        });
    }
}

/// `for _ in 0..times { vars = body(vars) }`
fn repeat(
    b: &mut ScopedBuilder<'_>,
    times: i32,
    vars: &[OutputId],
    options: &WhileOptions,
    body: impl FnOnce(&mut ScopedBuilder<'_>, OutputId, &[OutputId]) -> Result<Vec<OutputId>>,
) -> Result<Vec<OutputId>> {
    let mut all = vec![b.scalar(0i32)?];
    all.extend_from_slice(vars);
    let mut exits = b.while_loop(
        "while",
        &all,
        options,
        |b, vars| {
            let limit = b.scalar(times)?;
            b.call("Less", &[vars[0], limit])
        },
        |b, vars| {
            let one = b.scalar(1i32)?;
            let next = b.call("AddV2", &[vars[0], one])?;
            let mut results = vec![next];
            results.extend(body(b, vars[0], &vars[1..])?);
            Ok(results)
        },
    )?;
    exits.remove(0);
    Ok(exits)
}

#[test]
fn loops() {
    for parallel_iterations in [1, 10] {
        let options = WhileOptions { parallel_iterations, ..WhileOptions::default() };
        check("a power", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 4, &[x[0]], &options, |b, _, vars| {
                let y = b.call("Mul", &[vars[0], w])?;
                Ok(vec![b.call("Tanh", &[y])?])
            })?;
            Ok(out[0])
        });
        check("two variables, one of which does not matter at the end", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let out = repeat(b, 3, &[x[0], x[1]], &options, |b, _, vars| {
                let product = b.call("Mul", &[vars[0], vars[1]])?;
                let sine = b.call("Sin", &[vars[1]])?;
                Ok(vec![product, sine])
            })?;
            Ok(out[0])
        });
        check("a loop that does not run", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 0, &[x[0]], &options, |b, _, vars| Ok(vec![b.call("Mul", &[vars[0], w])?]))?;
            let weighted = b.call("Mul", &[out[0], w])?;
            Ok(weighted)
        });
        check("a nested loop", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 3, &[x[0]], &options, |b, i, vars| {
                let scaled = b.call("Mul", &[vars[0], w])?;
                // The inner loop runs once, twice, three times.
                let (zero, start) = (b.scalar(0i32)?, scaled);
                let inner = b.while_loop(
                    "inner",
                    &[zero, start],
                    &options,
                    |b, vars| b.call("LessEqual", &[vars[0], i]),
                    |b, vars| {
                        let one = b.scalar(1i32)?;
                        let product = b.call("Mul", &[vars[1], w])?;
                        let next = b.call("AddV2", &[vars[0], one])?;
                        Ok(vec![next, b.call("Sin", &[product])?])
                    },
                )?;
                Ok(vec![b.call("AddV2", &[inner[1], vars[0]])?])
            })?;
            Ok(out[0])
        });
        check("a conditional in a loop", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let w = x[1];
            let out = repeat(b, 4, &[x[0]], &options, |b, i, vars| {
                let two = b.scalar(2i32)?;
                let odd = b.call("FloorMod", &[i, two])?;
                let one = b.scalar(1i32)?;
                let pred = b.call("Equal", &[odd, one])?;
                let var = vars[0];
                let chosen = b.cond(
                    "cond",
                    pred,
                    |b| Ok(vec![b.call("Mul", &[var, w])?]),
                    |b| {
                        let square = b.call("Square", &[var])?;
                        Ok(vec![b.call("Cos", &[square])?])
                    },
                )?;
                Ok(chosen)
            })?;
            Ok(out[0])
        });
    }
}

#[test]
fn a_loop_in_a_conditional() {
    for limit in [0.0, 100.0] {
        check("loop in cond", &[numbers(&[2]), numbers(&[2])], |b, x| {
            let (x, w) = (x[0], x[1]);
            let pred = greater(b, x, limit)?;
            let out = b.cond(
                "cond",
                pred,
                |b| repeat(b, 3, &[x], &WhileOptions::default(), |b, _, vars| Ok(vec![b.call("Mul", &[vars[0], w])?])),
                |b| Ok(vec![b.call("Mul", &[x, x])?]),
            )?;
            b.call("Mul", &[out[0], w])
        });
    }
}

#[test]
fn rows_gathered_in_a_loop_are_summed() {
    check("embedding", &[numbers(&[4, 2])], |b, x| {
        let table = x[0];
        let start = b.constant("start", &Tensor::vector(&[0.3f64, 0.4])?)?;
        let out = repeat(b, 6, &[start], &WhileOptions::default(), |b, i, vars| {
            let (four, axis) = (b.scalar(3i32)?, b.scalar(0i32)?);
            let row = b.call("FloorMod", &[i, four])?;
            let row = b.call("GatherV2", &[table, row, axis])?;
            let sum = b.call("AddV2", &[vars[0], row])?;
            Ok(vec![b.call("Sin", &[sum])?])
        })?;
        Ok(out[0])
    });
}

#[test]
fn the_gradient_of_a_loop_has_gradients() {
    let mut graph = flowmill::new_graph().unwrap();
    let mut state = BuilderState::default();
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let x = b.scalar(1.5f64).unwrap();
    let y = repeat(&mut b, 3, &[x], &WhileOptions::default(), |b, _, vars| Ok(vec![b.call("Square", &[vars[0]])?])).unwrap();
    let mut ys = vec![y[0]];
    for _ in 0..3 {
        let grads = add_gradients(&mut b, &ys[ys.len() - 1..], &[x], &[], &GradientOptions::default()).unwrap();
        ys.push(b.densify(grads[0].as_ref().unwrap()).unwrap());
    }
    let names: Vec<String> = ys.iter().map(|&y| b.graph().tensor_name(y)).collect();
    let session = flowmill::session(graph, SessionOptions::default()).unwrap();
    let fetches: Vec<&str> = names.iter().map(String::as_str).collect();
    let found = session.run(&[], &fetches, &[]).unwrap();
    // x⁸ and its derivatives.
    for (order, (value, factor)) in found.iter().zip([1.0, 8.0, 56.0, 336.0]).enumerate() {
        let expected = factor * 1.5f64.powi(8 - order as i32);
        assert!((value.as_slice::<f64>().unwrap()[0] - expected).abs() < 1e-9 * expected, "{order}: {value:?}, not {expected}");
    }
}
