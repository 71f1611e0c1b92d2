//! Signatures that are called within the process.
#![allow(clippy::unwrap_used)]

mod common;

use common::{DIGITS, MLP};
use flowmill::{Code, Tensor};
use flowmill_serving::batching::BatchingOptions;
use flowmill_serving::model::{Call, ModelOptions};
use flowmill_serving::{Predictor, PredictorOptions};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

fn batched(options: BatchingOptions) -> PredictorOptions {
    PredictorOptions { model: ModelOptions { batching: Some(options), ..ModelOptions::default() }, ..PredictorOptions::default() }
}

fn images(rows: usize) -> Vec<(String, Tensor)> {
    let values: Vec<f32> = (0..rows * 64).map(|i| (i % 17) as f32).collect();
    vec![("images".to_owned(), Tensor::from_slice([rows, 8, 8, 1], &values).unwrap())]
}

#[test]
fn threads_share_batches_and_have_their_own_answers() {
    let alone = Predictor::load(DIGITS, &PredictorOptions::default()).unwrap();
    let options = BatchingOptions { max_batch_size: 16, batch_timeout: Duration::from_millis(20), ..BatchingOptions::default() };
    let together = Arc::new(Predictor::load(DIGITS, &batched(options)).unwrap());
    assert!(together.signature().is_batched() && !alone.signature().is_batched());
    let expected = alone.predict(images(1), Call::default(), None).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let predictor = together.clone();
            std::thread::spawn(move || predictor.predict(images(1), Call::default(), None).unwrap())
        })
        .collect();
    for outcome in threads.into_iter().map(|thread| thread.join().unwrap()) {
        assert_eq!(outcome.outputs.len(), expected.outputs.len());
        for ((name, value), (_, wanted)) in outcome.outputs.iter().zip(&expected.outputs) {
            assert_eq!(value.shape(), wanted.shape(), "{name}");
        }
    }
}

#[test]
fn calls_need_no_thread_that_waits() {
    let predictor = Predictor::load(DIGITS, &PredictorOptions::default()).unwrap();
    let (sender, answers) = mpsc::channel();
    for rows in 1..=4 {
        let sender = sender.clone();
        predictor.submit(images(rows), Call::default(), move |result| sender.send(result.map(|outcome| outcome.rows)).unwrap());
    }
    let mut rows: Vec<usize> = (0..4).map(|_| answers.recv_timeout(Duration::from_secs(60)).unwrap().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [1, 2, 3, 4]);
}

#[test]
fn wrong_calls_and_models_say_what_is_wrong() {
    let predictor = Predictor::load(MLP, &PredictorOptions::default()).unwrap();
    let error = predictor.predict(images(1), Call::default(), None).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let late = Call { deadline: Some(Instant::now()), ..Call::default() };
    let digits = Predictor::load(DIGITS, &PredictorOptions::default()).unwrap();
    assert_eq!(digits.predict(images(1), late, None).unwrap_err().code(), Code::DeadlineExceeded);
    let unknown = PredictorOptions { signature: "none".to_owned(), ..PredictorOptions::default() };
    assert_eq!(Predictor::load(DIGITS, &unknown).unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(Predictor::load("no/model", &PredictorOptions::default()).unwrap_err().code(), Code::NotFound);
}
