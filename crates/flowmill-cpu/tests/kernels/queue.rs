//! Queues. Each expected value was compared with TensorFlow 2.21.
use crate::testing::{Call, run, run1, types};
use flowmill_proto::attr_value::{ListValue, Value};
use flowmill_proto::{AttrValue, TensorShapeProto};
use flowmill_tensor::{Code, DType, Result, Tensor};

fn queue(op: &str, capacity: i64, shaped: bool) -> Tensor {
    let shape = if shaped { vec![TensorShapeProto::of([])] } else { Vec::new() };
    let shapes: AttrValue = Value::List(Box::new(ListValue { shape, ..ListValue::default() })).into();
    run1(
        op,
        &[("component_types", types(&[DType::F32])), ("shapes", shapes), ("capacity", capacity.into()), ("min_after_dequeue", 1i64.into())],
        vec![],
    )
    .unwrap()
}

fn fifo() -> Tensor {
    queue("FIFOQueueV2", -1, true)
}

fn enqueue_many(queue: &Tensor, values: &[f32]) -> Result<()> {
    run("QueueEnqueueManyV2", &[], vec![queue.clone(), Tensor::vector(values).unwrap()]).map(drop)
}

fn dequeue(queue: &Tensor) -> Result<f32> {
    run1("QueueDequeueV2", &[], vec![queue.clone()])?.to_scalar()
}

fn batch(op: &str, queue: &Tensor, n: i32) -> Result<Vec<f32>> {
    Ok(run1(op, &[], vec![queue.clone(), Tensor::scalar(n)])?.as_slice()?.to_vec())
}

fn close(queue: &Tensor, cancel_pending_enqueues: bool) -> Result<()> {
    run("QueueCloseV2", &[("cancel_pending_enqueues", cancel_pending_enqueues.into())], vec![queue.clone()]).map(drop)
}

fn failure<T: std::fmt::Debug>(result: Result<T>) -> (Code, String) {
    let e = result.unwrap_err();
    (e.code(), e.message().to_owned())
}

#[test]
fn elements_leave_in_order() {
    let q = fifo();
    enqueue_many(&q, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(dequeue(&q).unwrap(), 1.0);
    assert_eq!(batch("QueueDequeueManyV2", &q, 2).unwrap(), [2.0, 3.0]);
    assert_eq!(batch("QueueDequeueManyV2", &q, 0).unwrap(), []);
    assert_eq!(run1("QueueSizeV2", &[], vec![q]).unwrap().to_scalar::<i32>().unwrap(), 1);
}

#[test]
fn a_closed_queue_gives_what_it_has() {
    let q = fifo();
    enqueue_many(&q, &[1.0, 2.0, 3.0]).unwrap();
    close(&q, false).unwrap();
    let many = failure(batch("QueueDequeueManyV2", &q, 4));
    assert_eq!(many, (Code::OutOfRange, "FIFOQueue 'n' is closed and has insufficient elements (requested 4, current size 3)".to_owned()));
    assert_eq!(dequeue(&q).unwrap(), 1.0);
    assert_eq!(batch("QueueDequeueUpToV2", &q, 4).unwrap(), [2.0, 3.0]);
    assert_eq!(failure(dequeue(&q)).1, "FIFOQueue 'n' is closed and has insufficient elements (requested 1, current size 0)");
    assert_eq!(failure(enqueue_many(&q, &[1.0])), (Code::Cancelled, "FIFOQueue 'n' is closed.".to_owned()));
    assert_eq!(failure(close(&q, false)), (Code::Cancelled, "Queue 'n' is already closed.".to_owned()));
    close(&q, true).unwrap();
    assert!(run1("QueueIsClosedV2", &[], vec![q]).unwrap().to_scalar::<bool>().unwrap());
}

#[test]
fn calls_wait_for_elements_and_for_room() {
    let q = queue("FIFOQueueV2", 2, true);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| batch("QueueDequeueManyV2", &q, 5).unwrap());
        enqueue_many(&q, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(taken.join().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0]);
    });
    assert_eq!(dequeue(&q).unwrap(), 6.0);
}

#[test]
fn closing_ends_dequeues_that_wait_and_those_that_come_later() {
    for _ in 0..50 {
        let q = queue("FIFOQueueV2", 2, true);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| dequeue(&q));
            std::thread::yield_now();
            close(&q, false).unwrap();
            assert_eq!(waiting.join().unwrap().unwrap_err().code(), Code::OutOfRange);
        });
    }
}

#[test]
fn closing_may_cancel_waiting_enqueues() {
    let q = queue("FIFOQueueV2", 1, true);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| enqueue_many(&q, &[1.0, 2.0]));
        while run1("QueueSizeV2", &[], vec![q.clone()]).unwrap().to_scalar::<i32>().unwrap() == 0 {
            std::thread::yield_now();
        }
        close(&q, true).unwrap();
        assert_eq!(failure(waiting.join().unwrap()), (Code::Cancelled, "Enqueue operation was cancelled".to_owned()));
    });
    assert_eq!(dequeue(&q).unwrap(), 1.0);
}

#[test]
fn a_shuffled_queue_keeps_some_elements_until_it_is_closed() {
    let q = queue("RandomShuffleQueueV2", -1, true);
    enqueue_many(&q, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let mut taken = batch("QueueDequeueManyV2", &q, 3).unwrap();
    close(&q, false).unwrap();
    taken.push(dequeue(&q).unwrap());
    taken.sort_by(f32::total_cmp);
    assert_eq!(taken, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn elements_are_checked() {
    let q = fifo();
    let enqueue = |value: Tensor| run("QueueEnqueueV2", &[], vec![q.clone(), value]);
    assert_eq!(failure(enqueue(Tensor::vector(&[1f32]).unwrap())).1, "Shape mismatch in tuple component 0. Expected [], got [1]");
    assert_eq!(failure(enqueue(Tensor::scalar(1i32))).1, "Signature mismatch, have: resource, int32-> expected: resource, float->");
    assert_eq!(failure(batch("QueueDequeueManyV2", &q, -1)).1, "DequeueManyOp requested -1 < 0 elements");
    let unshaped = failure(batch("QueueDequeueManyV2", &queue("FIFOQueueV2", -1, false), 1)).1;
    assert_eq!(unshaped, "FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
    assert_eq!(Call::new("QueueDequeueV2").input(Tensor::scalar(1f32)).run().unwrap_err().code(), Code::InvalidArgument);
}
