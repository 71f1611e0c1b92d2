//! Builds a network, differentiates its loss, and trains it to compute the exclusive or: `cargo run -p flowmill --example train`.

use flowmill::prelude::*;

const STEPS: usize = 2000;

/// Returns a layer: `x W + b`. Its variables are appended to `variables`.
fn dense<'b>(b: &'b GraphBuilder, x: Output<'b>, weights: Tensor, variables: &mut Vec<Variable<'b>>) -> flowmill::Result<Output<'b>> {
    let zeros = Tensor::zeros(DType::F32, [weights.shape()[1]])?;
    let (weights, bias) = (b.variable("weights", weights)?, b.variable("bias", zeros)?);
    variables.extend([weights, bias]);
    b.bias_add(b.mat_mul(x, weights)?, bias)
}

pub fn main() -> flowmill::Result<()> {
    let b = GraphBuilder::new()?;
    let x = b.node().name("x").placeholder(DType::F32, [-1, 2])?;
    let expected = b.node().name("expected").placeholder(DType::F32, [-1, 1])?;

    let mut variables = Vec::new();
    // Fixed first weights, so that every run prints the same.
    let first = Tensor::from_slice([2, 4], &[0.8f32, -0.6, 0.4, 0.9, -0.7, 0.5, 0.6, 0.8])?;
    let second = Tensor::from_slice([4, 1], &[0.7f32, 0.5, -0.4, -0.9])?;
    let hidden = b.name_scope("hidden", || b.tanh(dense(&b, x, first, &mut variables)?))?;
    let y = b.name_scope("output", || b.sigmoid(dense(&b, hidden, second, &mut variables)?))?;

    let loss = b.name_scope("loss", || b.mean(b.squared_difference(y, expected)?, [0, 1]))?;
    let values: [Output<'_>; 4] = std::array::from_fn(|i| variables[i].value());
    let gradients = b.gradients(loss, values)?;
    let updates = variables.iter().zip(gradients).map(|(v, g)| v.assign_sub(g * 2.0)).collect::<flowmill::Result<Vec<_>>>()?;
    let train = b.after(&updates, || b.node().name("train").no_op())?;
    let initializers: Vec<_> = variables.iter().map(|v| v.initializer()).collect();
    let initialize = b.after(&initializers, || b.node().name("initialize").no_op())?;

    let session = b.session(SessionOptions::default())?;
    session.runner().target(initialize).run()?;
    let inputs = Tensor::from_slice([4, 2], &[0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0])?;
    let outputs = Tensor::from_slice([4, 1], &[0.0f32, 1.0, 1.0, 0.0])?;
    for step in 0..STEPS {
        let runner = session.runner().feed(x, inputs.clone()).feed(expected, outputs.clone()).target(train);
        let loss = runner.fetch(loss)?.to_scalar::<f32>()?;
        if step % 500 == 0 {
            println!("step {step}: loss {loss:.4}");
        }
    }
    let found = session.runner().feed(x, inputs).fetch(y)?;
    println!("0 xor 0, 0 xor 1, 1 xor 0, 1 xor 1: {:.3?}", found.as_slice::<f32>()?);
    for (found, expected) in found.as_slice::<f32>()?.iter().zip(outputs.as_slice::<f32>()?) {
        assert!((found - expected).abs() < 0.2, "{found} is not {expected}");
    }
    Ok(())
}
