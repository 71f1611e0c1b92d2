//! Serves a model from many threads at once: `cargo run -p flowmill --example serve`.
//!
//! A signature's function may be cloned and shared; calls do not wait for each other. Kernels run on one thread here, since the requests keep the cores
//! busy.

use flowmill::prelude::*;
use std::sync::mpsc;
use std::time::Instant;

const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/1");
const NUM_THREADS: usize = 4;
const NUM_REQUESTS: usize = 50;

pub fn main() -> flowmill::Result<()> {
    let options = SessionOptions { intra_op_threads: 1, inter_op_threads: 1, ..SessionOptions::default() };
    let model = SavedModel::load(DIGITS, &["serve"], options)?;
    let function = model.signature("serving_default")?;
    let request = |value: f32| Ok([("images", Tensor::from_slice([1, 8, 8, 1], &[value; 64])?)]);

    // The first call prepares the plan that all calls share; after it the model prepares nothing else.
    let expected = function.call(request(8.0)?)?;
    model.session().finalize();

    let (sender, answers) = mpsc::channel();
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..NUM_THREADS {
            let (function, sender) = (function.clone(), sender.clone());
            scope.spawn(move || {
                for _ in 0..NUM_REQUESTS {
                    let answer = request(8.0).and_then(|inputs| function.call(inputs));
                    if sender.send(answer).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
    });
    let mut num_answers = 0;
    for answer in answers {
        assert_eq!(answer?["probabilities"].as_slice::<f32>()?, expected["probabilities"].as_slice::<f32>()?);
        num_answers += 1;
    }
    assert_eq!(num_answers, NUM_THREADS * NUM_REQUESTS);
    println!("{num_answers} requests from {NUM_THREADS} threads in {:.1?}", start.elapsed());
    Ok(())
}
