//! Loads a SavedModel and calls its signature: `cargo run -p flowmill --example load_and_run [DIRECTORY]`.

use flowmill::prelude::*;

/// A model that recognises handwritten digits in images of 8 by 8 pixels.
const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/1");

pub fn main() -> flowmill::Result<()> {
    let path = std::env::args().nth(1).filter(|path| std::path::Path::new(path).is_dir()).unwrap_or_else(|| DIGITS.to_owned());
    let model = SavedModel::load(path, &["serve"], SessionOptions::default())?;
    let function = model.signature("serving_default")?;
    for (name, input) in &function.signature().inputs {
        println!("input {name}: {}{}", input.dtype, input.shape);
    }

    // A vertical stroke, which looks like a one. Pixels are between 0 and 16.
    let mut pixels = [0.0f32; 64];
    for row in pixels.chunks_exact_mut(8) {
        row[3..5].fill(16.0);
    }
    let image = Tensor::from_slice([1, 8, 8, 1], &pixels)?;
    let outputs = function.call([("images", image)])?;
    let probabilities = outputs["probabilities"].as_slice::<f32>()?;
    let digit = (0..10).max_by(|&i, &j| probabilities[i].total_cmp(&probabilities[j])).unwrap_or_default();
    println!("this is a {digit}, with a probability of {:.2}", probabilities[digit]);
    assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    Ok(())
}
