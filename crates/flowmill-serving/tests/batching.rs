//! Requests that are run in batches, by a step that doubles its input.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::{CancelToken, Code, DType, Error, Result, RunOptions, Tensor};
use flowmill_serving::batching::{BatchQueue, BatchScheduler, BatchStep, BatchingOptions, Request};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Doubles its first input. Fails if a value is negative, and waits for a token if it has a gate.
#[derive(Default)]
struct Double {
    rows: Mutex<Vec<usize>>,
    gate: Option<Mutex<mpsc::Receiver<()>>>,
    started: Option<Mutex<mpsc::Sender<()>>>,
    is_constant: bool,
    num_steps: AtomicUsize,
}

impl BatchStep for Double {
    fn run(&self, inputs: Vec<Tensor>, _: &RunOptions) -> Result<Vec<Tensor>> {
        self.num_steps.fetch_add(1, Ordering::SeqCst);
        if let Some(started) = &self.started {
            started.lock().unwrap().send(()).unwrap();
        }
        if let Some(gate) = &self.gate {
            gate.lock().unwrap().recv().unwrap();
        }
        let values = inputs[0].as_slice::<f32>()?;
        if values.iter().any(|value| *value < 0.0) {
            return Err(Error::invalid_argument("a negative value"));
        }
        self.rows.lock().unwrap().push(inputs[0].shape().dims()[0]);
        if self.is_constant {
            return Ok(vec![Tensor::scalar(1.0f32)]);
        }
        let doubled: Vec<f32> = values.iter().map(|value| value * 2.0).collect();
        Ok(vec![Tensor::from_slice(inputs[0].shape().clone(), &doubled)?])
    }
}

fn request(values: &[f32]) -> Request {
    let inputs = vec![Tensor::from_slice([values.len(), 1], values).unwrap()];
    Request { inputs, deadline: None, priority: 0, cancel: CancelToken::new() }
}

fn queue(step: &Arc<Double>, options: BatchingOptions) -> (Arc<BatchScheduler>, BatchQueue) {
    let scheduler = BatchScheduler::start(1).unwrap();
    let queue = scheduler.queue(step.clone(), Arc::new(options));
    (scheduler, queue)
}

/// A step that says when it starts and goes on when it is told to.
fn gated() -> (Arc<Double>, mpsc::Receiver<()>, mpsc::Sender<()>) {
    let ((started, is_started), (open, gate)) = (mpsc::channel(), mpsc::channel());
    let step = Double { gate: Some(Mutex::new(gate)), started: Some(Mutex::new(started)), ..Double::default() };
    (Arc::new(step), is_started, open)
}

fn values(served: Result<flowmill_serving::batching::Served>) -> Vec<f32> {
    served.unwrap().outputs[0].as_slice::<f32>().unwrap().to_vec()
}

#[test]
fn requests_that_wait_share_a_batch() {
    let (step, started, open) = gated();
    let (_scheduler, queue) = queue(&step, BatchingOptions { max_batch_size: 4, ..BatchingOptions::default() });
    let first = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    let rest = [vec![2.0], vec![3.0, 4.0], vec![5.0, 6.0]].map(|values| queue.add(request(&values)).unwrap());
    for _ in 0..3 {
        open.send(()).unwrap();
    }
    assert_eq!(values(first.blocking_recv().unwrap()), [2.0]);
    assert_eq!(rest.map(|answer| values(answer.blocking_recv().unwrap())), [vec![4.0], vec![6.0, 8.0], vec![10.0, 12.0]]);
    assert_eq!(*step.rows.lock().unwrap(), [1, 3, 2]);
    assert_eq!(queue.num_waiting_rows(), 0);
}

#[test]
fn a_batch_waits_for_its_timeout_or_until_it_is_full() {
    let step = Arc::new(Double::default());
    let options = BatchingOptions { max_batch_size: 2, batch_timeout: Duration::from_millis(50), ..BatchingOptions::default() };
    let (_scheduler, queue) = queue(&step, options);
    let start = Instant::now();
    assert_eq!(values(queue.add(request(&[1.0])).unwrap().blocking_recv().unwrap()), [2.0]);
    assert!(start.elapsed() >= Duration::from_millis(50));
    let pair = [queue.add(request(&[1.0])).unwrap(), queue.add(request(&[2.0])).unwrap()];
    assert_eq!(pair.map(|answer| answer.blocking_recv().unwrap().unwrap().batch_rows), [2, 2]);
}

#[test]
fn requests_of_other_shapes_and_types_have_other_batches() {
    let (step, started, open) = gated();
    let (_scheduler, queue) = queue(&step, BatchingOptions::default());
    let first = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    let wide = Request { inputs: vec![Tensor::zeros(DType::F32, [1, 3]).unwrap()], ..request(&[]) };
    let wide = queue.add(wide).unwrap();
    let narrow = queue.add(request(&[2.0])).unwrap();
    for _ in 0..3 {
        open.send(()).unwrap();
    }
    for answer in [first, wide, narrow] {
        assert_eq!(answer.blocking_recv().unwrap().unwrap().batch_rows, 1);
    }
}

#[test]
fn batches_are_padded_to_an_allowed_size() {
    let step = Arc::new(Double::default());
    let options = BatchingOptions { max_batch_size: 4, allowed_batch_sizes: vec![2, 4], ..BatchingOptions::default() };
    let (_scheduler, queue) = queue(&step, options);
    assert_eq!(values(queue.add(request(&[1.0, 2.0, 3.0])).unwrap().blocking_recv().unwrap()), [2.0, 4.0, 6.0]);
    assert_eq!(*step.rows.lock().unwrap(), [4]);
}

#[test]
fn one_bad_request_fails_alone() {
    let (step, started, open) = gated();
    let (_scheduler, queue) = queue(&step, BatchingOptions::default());
    let first = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    let [good, bad] = [queue.add(request(&[1.0])).unwrap(), queue.add(request(&[-1.0])).unwrap()];
    for _ in 0..4 {
        open.send(()).unwrap();
    }
    assert_eq!(values(first.blocking_recv().unwrap()), [2.0]);
    assert_eq!(values(good.blocking_recv().unwrap()), [2.0]);
    assert_eq!(bad.blocking_recv().unwrap().unwrap_err().message(), "a negative value");
}

#[test]
fn urgent_requests_go_first() {
    let (step, started, open) = gated();
    let (_scheduler, queue) = queue(&step, BatchingOptions { max_batch_size: 1, ..BatchingOptions::default() });
    let _first = queue.add(request(&[0.0])).unwrap();
    started.recv().unwrap();
    let finished = Arc::new(Mutex::new(Vec::new()));
    let answers = [(1.0, 0), (2.0, 2), (3.0, 1)].map(|(value, priority)| queue.add(Request { priority, ..request(&[value]) }).unwrap());
    let threads: Vec<_> = answers
        .into_iter()
        .map(|answer| {
            let finished = finished.clone();
            std::thread::spawn(move || {
                let value = values(answer.blocking_recv().unwrap())[0];
                finished.lock().unwrap().push(value);
            })
        })
        .collect();
    for num_finished in 0..4 {
        open.send(()).unwrap();
        if num_finished < 3 {
            started.recv().unwrap();
        }
        while finished.lock().unwrap().len() < num_finished {
            std::thread::yield_now();
        }
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(*finished.lock().unwrap(), [6.0, 4.0, 2.0]);
}

#[test]
fn requests_beyond_the_limit_are_refused() {
    let (step, started, open) = gated();
    let options = BatchingOptions { max_batch_size: 2, max_enqueued_batches: 1, ..BatchingOptions::default() };
    let (_scheduler, queue) = queue(&step, options);
    let _running = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    let _waiting = queue.add(request(&[1.0, 2.0])).unwrap();
    assert_eq!(queue.add(request(&[3.0])).unwrap_err().code(), Code::ResourceExhausted);
    assert_eq!(queue.add(request(&[1.0, 2.0, 3.0])).unwrap_err().code(), Code::InvalidArgument);
    open.send(()).unwrap();
    open.send(()).unwrap();
}

#[test]
fn requests_that_nobody_waits_for_do_not_run() {
    let (step, started, open) = gated();
    let (_scheduler, queue) = queue(&step, BatchingOptions { max_batch_size: 1, ..BatchingOptions::default() });
    let first = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    drop(queue.add(request(&[2.0])).unwrap());
    let late = queue.add(Request { deadline: Some(Instant::now()), ..request(&[3.0]) }).unwrap();
    let cancelled = request(&[4.0]);
    let cancel = cancelled.cancel.clone();
    let cancelled = queue.add(cancelled).unwrap();
    cancel.cancel(Error::cancelled("the client has gone"));
    open.send(()).unwrap();
    assert_eq!(values(first.blocking_recv().unwrap()), [2.0]);
    assert_eq!(late.blocking_recv().unwrap().unwrap_err().code(), Code::DeadlineExceeded);
    assert_eq!(cancelled.blocking_recv().unwrap().unwrap_err().code(), Code::Cancelled);
    assert_eq!(step.num_steps.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn large_requests_are_split_if_the_options_say_so() {
    let step = Arc::new(Double::default());
    let options = BatchingOptions { max_batch_size: 2, enable_large_batch_splitting: true, ..BatchingOptions::default() };
    let (_scheduler, queue) = queue(&step, options);
    let input: Vec<f32> = (0..5).map(|i| i as f32).collect();
    assert_eq!(values(queue.run(request(&input)).await), [0.0, 2.0, 4.0, 6.0, 8.0]);
    assert!(step.rows.lock().unwrap().iter().all(|rows| *rows <= 2));
}

#[test]
fn outputs_that_do_not_follow_the_rows_are_an_error() {
    let step = Arc::new(Double { is_constant: true, ..Double::default() });
    let (_scheduler, queue) = queue(&step, BatchingOptions::default());
    let error = queue.add(request(&[1.0])).unwrap().blocking_recv().unwrap().unwrap_err();
    assert_eq!(error.code(), Code::FailedPrecondition);
}

#[test]
fn waiting_requests_are_answered_when_their_model_goes() {
    let (step, started, open) = gated();
    let (scheduler, queue) = queue(&step, BatchingOptions { max_batch_size: 1, ..BatchingOptions::default() });
    let _first = queue.add(request(&[1.0])).unwrap();
    started.recv().unwrap();
    let waiting = queue.add(request(&[2.0])).unwrap();
    drop(queue);
    assert_eq!(waiting.blocking_recv().unwrap().unwrap_err().code(), Code::Unavailable);
    open.send(()).unwrap();
    drop(scheduler);
}

#[test]
fn files_of_tensorflow_serving_are_read() {
    let text =
        "max_batch_size { value: 128 } batch_timeout_micros { value: 500 } num_batch_threads { value: 2 } allowed_batch_sizes: [32, 128]";
    let options = BatchingOptions::from_text(text).unwrap();
    let expected = BatchingOptions {
        max_batch_size: 128,
        batch_timeout: Duration::from_micros(500),
        num_batch_threads: 2,
        allowed_batch_sizes: vec![32, 128],
        ..BatchingOptions::default()
    };
    assert_eq!(options, expected);
    assert_eq!([3, 32, 33].map(|rows| options.padded_rows(rows)), [32, 32, 128]);
    for bad in [
        "max_batch_size { value: -1 }",
        "max_batch_size { value: 0 }",
        "allowed_batch_sizes: [4, 2]",
        "allowed_batch_sizes: [4]",
        "max_batch_size: 3",
        "no_such_field: 3",
    ] {
        assert_eq!(BatchingOptions::from_text(bad).unwrap_err().code(), Code::InvalidArgument, "{bad}");
    }
}
