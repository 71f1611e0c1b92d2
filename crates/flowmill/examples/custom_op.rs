//! Declares an op with a shape function, a gradient and a kernel, and uses it in a graph: `cargo run -p flowmill --example custom_op`.

use flowmill::kernel::from_fn;
use flowmill::prelude::*;
use flowmill::{CustomOp, OpSet};

/// `Softsign2(x) = x / sqrt(1 + x²)`, for elements of type float.
fn softsign2() -> CustomOp {
    CustomOp::new("Softsign2", "(x: float) -> (y: float)")
        .shape(|context| {
            context.set_output(0, context.input(0));
            Ok(())
        })
        // dx = dy / (1 + x²)^1.5
        .gradient(|scoped, op| {
            let dy = op.dy(scoped, 0)?;
            GraphBuilder::lend(scoped, |b| {
                let (x, dy) = (b.output(op.inputs[0]), b.output(dy));
                let dx = dy * b.pow(x * x + 1.0, -1.5)?;
                Ok(vec![Some(dx.ok()?.id().into())])
            })
        })
        .kernel(|_node| {
            from_fn(|context| {
                let x = context.input(0)?;
                let values: Vec<f32> = x.as_slice::<f32>()?.iter().map(|x| x / (1.0 + x * x).sqrt()).collect();
                let y = Tensor::from_slice(x.shape().clone(), &values)?;
                context.set_output(0, y);
                Ok(())
            })
        })
}

pub fn main() -> flowmill::Result<()> {
    let ops = OpSet::standard()?.with(softsign2())?;
    let b = ops.graph_builder();
    let x = b.node().name("x").placeholder(DType::F32, [-1])?;
    let y = b.op("Softsign2").input(x).output()?;
    let [slope] = b.gradients(y, [x])?;

    let session = b.session(SessionOptions::default())?;
    let values = Tensor::vector(&[-1.0f32, 0.0, 2.0])?;
    let [y, slope] = session.runner().feed(x, values.clone()).fetch([y, slope])?;
    println!("y = {:?}, dy/dx = {:?}", y.as_slice::<f32>()?, slope.as_slice::<f32>()?);
    for (i, &x) in values.as_slice::<f32>()?.iter().enumerate() {
        assert!((y.as_slice::<f32>()?[i] - x / x.hypot(1.0)).abs() < 1e-6);
        assert!((slope.as_slice::<f32>()?[i] - x.hypot(1.0).powi(-3)).abs() < 1e-6);
    }
    Ok(())
}
