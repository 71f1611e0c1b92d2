//! Pipelines of datasets, run by sessions: places of iterators, ends, errors, cardinalities, and sessions that are closed meanwhile.
#![allow(clippy::unwrap_used, clippy::panic)]

use flowmill::builder::{BuilderState, Scope, ScopedBuilder};
use flowmill::proto::attr_value::ListValue;
use flowmill::{Code, DType, Graph, OutputId, PartialShape, Result, RunOptions, Session, SessionOptions, Tensor};
use std::sync::Arc;
use std::time::Duration;

fn types() -> ListValue {
    ListValue { r#type: vec![DType::I64.number()], ..ListValue::default() }
}

fn shapes() -> ListValue {
    ListValue { shape: vec![PartialShape::unknown().to_proto()], ..ListValue::default() }
}

/// A graph with the dataset that `build` makes, an iterator over it called `next`, and its initialiser, `init`.
fn graph(build: impl FnOnce(&mut ScopedBuilder<'_>) -> Result<OutputId>) -> Graph {
    let (mut graph, mut state) = (flowmill::new_graph().unwrap(), BuilderState::default());
    let mut b = ScopedBuilder::new(&mut graph, &mut state, Scope::root()).unwrap();
    let dataset = build(&mut b).unwrap();
    let iterator = b.op("IteratorV2").attr("output_types", types()).attr("output_shapes", shapes());
    let iterator = iterator.attr("container", "").attr("shared_name", "").output().unwrap();
    b.op("MakeIterator").name("init").input(dataset).input(iterator).finish().unwrap();
    b.op("IteratorGetNext").name("next").input(iterator).attr("output_types", types()).attr("output_shapes", shapes()).finish().unwrap();
    b.op("DatasetCardinality").name("cardinality").input(dataset).finish().unwrap();
    graph
}

fn number(b: &mut ScopedBuilder<'_>, value: i64) -> Result<OutputId> {
    b.constant("n", &Tensor::scalar(value))
}

fn range(b: &mut ScopedBuilder<'_>, stop: i64) -> Result<OutputId> {
    let (start, stop, step) = (number(b, 0)?, number(b, stop)?, number(b, 1)?);
    b.op("RangeDataset").input(start).input(stop).input(step).attr("output_types", types()).attr("output_shapes", shapes()).output()
}

/// An op of one dataset and numbers.
fn change(b: &mut ScopedBuilder<'_>, op: &str, input: OutputId, numbers: &[i64]) -> Result<OutputId> {
    let numbers = numbers.iter().map(|&n| number(b, n)).collect::<Result<Vec<_>>>()?;
    b.op(op).input(input).inputs(&numbers).attr("output_types", types()).attr("output_shapes", shapes()).output()
}

fn session(graph: Graph) -> Arc<Session> {
    flowmill::session(graph, SessionOptions::default()).unwrap()
}

fn next(session: &Session) -> Result<Vec<i64>> {
    session.run(&[], &["next:0"], &[])?[0].to_i64_vec()
}

#[test]
fn elements_come_in_order_until_the_end_and_again_after_the_initialiser() {
    let session = session(graph(|b| {
        let range = range(b, 5)?;
        change(b, "BatchDataset", range, &[2])
    }));
    assert_eq!(next(&session).unwrap_err().code(), Code::FailedPrecondition);
    for _ in 0..2 {
        session.run(&[], &[], &["init"]).unwrap();
        let batches: Vec<_> = (0..3).map(|_| next(&session).unwrap()).collect();
        assert_eq!(batches, [vec![0, 1], vec![2, 3], vec![4]]);
        let end = next(&session).unwrap_err();
        assert_eq!((end.code(), end.message(), end.node()), (Code::OutOfRange, "End of sequence", Some("next")));
    }
}

#[test]
fn cardinalities_follow_from_the_inputs() {
    let cases: [(&str, &[i64], i64); 8] = [
        ("TakeDataset", &[3], 3),
        ("TakeDataset", &[-1], 7),
        ("SkipDataset", &[3], 4),
        ("RepeatDataset", &[-1], -1),
        ("RepeatDataset", &[2], 14),
        ("BatchDataset", &[2], 4),
        ("ShardDataset", &[3, 1], 2),
        ("ShuffleDataset", &[3, 1, 1], 7),
    ];
    for (op, arguments, expected) in cases {
        let session = session(graph(|b| {
            let range = range(b, 7)?;
            change(b, op, range, arguments)
        }));
        assert_eq!(session.run(&[], &["cardinality:0"], &[]).unwrap()[0].to_scalar::<i64>().unwrap(), expected, "{op}");
    }
}

#[test]
fn bad_arguments_are_errors_that_name_the_node() {
    let cases: [(&str, &[i64], &str); 5] = [
        ("BatchDataset", &[0], "Batch size must be greater than zero."),
        ("ShuffleDataset", &[0, 1, 1], "buffer_size must be greater than zero or UNKNOWN_CARDINALITY"),
        ("ShardDataset", &[0, 0], "Number of shards must be greater than zero (currently num_shards = 0)."),
        ("ShardDataset", &[2, 2], "Index must be between 0 and 1 (currently index = 2)."),
        ("PrefetchDataset", &[-2], "buffer_size must be >= 0 or set buffer_size to be -1 for auto-tuning"),
    ];
    for (op, arguments, message) in cases {
        let session = session(graph(|b| {
            let range = range(b, 7)?;
            change(b, op, range, arguments)
        }));
        let error = session.run(&[], &[], &["init"]).unwrap_err();
        assert_eq!((error.code(), error.message(), error.op()), (Code::InvalidArgument, message, Some(op)));
    }
}

/// The elements that TensorFlow gives for these seeds.
#[test]
fn equal_seeds_give_tensorflows_order() {
    let session = session(graph(|b| {
        let range = range(b, 10)?;
        change(b, "ShuffleDataset", range, &[8, 87_654_321, 1])
    }));
    session.run(&[], &[], &["init"]).unwrap();
    let order: Vec<i64> = (0..10).map(|_| next(&session).unwrap()[0]).collect();
    assert_eq!(order, ORDER);
}

const ORDER: [i64; 10] = [0, 8, 5, 9, 2, 7, 3, 1, 6, 4];

#[test]
fn a_step_that_waits_ends_with_its_session_and_with_its_deadline() {
    // Each element takes a minute.
    let session = session(graph(|b| {
        let range = range(b, 7)?;
        let slow = change(b, "SleepDataset", range, &[60_000_000])?;
        change(b, "PrefetchDataset", slow, &[2])
    }));
    session.run(&[], &[], &["init"]).unwrap();
    let options = RunOptions { timeout: Some(Duration::from_millis(20)), ..RunOptions::default() };
    let error = session.run_with(&[], &["next:0"], &[], &options).map(|outcome| outcome.values).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    let (waiting, closing) = (session.clone(), session);
    let step = std::thread::spawn(move || next(&waiting));
    closing.close();
    assert_eq!(step.join().unwrap().unwrap_err().code(), Code::Cancelled);
}
