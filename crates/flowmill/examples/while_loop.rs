//! Computes a square root by Newton's method, in a loop that ends when the value is exact enough: `cargo run -p flowmill --example while_loop`.

use flowmill::prelude::*;

pub fn main() -> flowmill::Result<()> {
    let b = GraphBuilder::new()?;
    let x = b.node().name("x").placeholder(DType::F64, [])?;
    let start = [b.constant(0i32)?, b.constant(1.0f64)?];
    let [steps, root] = b.while_loop(
        start,
        |[_, root]| b.greater(b.abs(root * root - x)?, 1e-12 * x),
        |[step, root]| Ok([step + 1, (root + x / root) / 2.0]),
    )?;
    // The derivative is a loop that runs backwards.
    let [slope] = b.gradients(root, [x])?;

    let session = b.session(SessionOptions::default())?;
    for value in [2.0f64, 9.0, 1e6] {
        let [steps, root, slope] = session.runner().feed(x, Tensor::scalar(value)).fetch([steps, root, slope])?;
        let (steps, root, slope) = (steps.to_scalar::<i32>()?, root.to_scalar::<f64>()?, slope.to_scalar::<f64>()?);
        println!("the root of {value} is {root}, found in {steps} steps; its derivative is {slope}");
        assert!((root - value.sqrt()).abs() < 1e-6 * root);
        assert!((slope - 0.5 / value.sqrt()).abs() < 1e-6);
    }
    Ok(())
}
