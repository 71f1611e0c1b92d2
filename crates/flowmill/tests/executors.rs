//! The threads that sessions run on, and who shares them.
#![allow(clippy::unwrap_used)]

use flowmill::kernel::{blocking_from_fn, from_fn};
use flowmill::prelude::*;
use flowmill::{Code, CustomOp, Executor, OpSet, PartialShape, RunOptions, ThreadPoolOption};
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::Duration;

/// An op whose result is a number of the thread that computed it.
fn ops() -> OpSet {
    let op = CustomOp::new("WhichThread", "() -> (thread: int64)").stateful().kernel(|_| {
        blocking_from_fn(|context| {
            context.set_output(0, Tensor::scalar(number(std::thread::current().id())));
            Ok(())
        })
    });
    OpSet::standard().unwrap().with(op).unwrap()
}

fn number(thread: ThreadId) -> i64 {
    format!("{thread:?}").chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap()
}

fn session_with(options: SessionOptions) -> (GraphBuilder, Arc<Session>, flowmill::OutputId) {
    let b = ops().graph_builder();
    let thread = b.op("WhichThread").output().unwrap().id();
    let session = b.session(options).unwrap();
    (b, session, thread)
}

/// The threads that steps ran on, of so many that some thread serves several.
fn threads_of(session: &Session, thread: flowmill::OutputId, pool: i32) -> Vec<i64> {
    let mut threads: Vec<i64> = (0..40)
        .map(|_| {
            let options = RunOptions { inter_op_thread_pool: pool, ..RunOptions::default() };
            session.runner().options(options).fetch::<flowmill::OutputId>(thread).unwrap().to_scalar::<i64>().unwrap()
        })
        .collect();
    threads.sort_unstable();
    threads.dedup();
    threads
}

#[test]
fn sessions_share_an_executor_by_its_handle() {
    let executor = Executor::new(2).unwrap();
    let options = || SessionOptions { executor: Some(executor.clone()), ..SessionOptions::default() };
    let (_a, a, in_a) = session_with(options());
    let (_b, b, in_b) = session_with(options());
    let mut all = [threads_of(&a, in_a, 0), threads_of(&b, in_b, 0)].concat();
    all.sort_unstable();
    all.dedup();
    assert!(all.len() <= 2, "two threads serve both sessions: {all:?}");
    assert!(!all.contains(&number(std::thread::current().id())), "the caller's thread runs no costly node");
}

#[test]
fn pools_with_a_name_are_their_own() {
    let pools = |name: &str, num_threads| SessionOptions {
        thread_pools: vec![
            ThreadPoolOption { num_threads, global_name: name.to_owned() },
            ThreadPoolOption { num_threads, global_name: String::new() },
        ],
        ..SessionOptions::default()
    };
    let (_a, a, in_a) = session_with(pools("executors_a", 2));
    let (_b, b, in_b) = session_with(pools("executors_b", 2));
    let (_c, c, in_c) = session_with(pools("executors_a", 2));
    let (a_named, a_unnamed, b_named) = (threads_of(&a, in_a, 0), threads_of(&a, in_a, 1), threads_of(&b, in_b, 0));
    let mut both = [a_named.clone(), threads_of(&c, in_c, 0)].concat();
    both.sort_unstable();
    both.dedup();
    assert!(both.len() <= 2, "one name is one pool: {both:?}");
    assert!(a_named.iter().all(|thread| !a_unnamed.contains(thread) && !b_named.contains(thread)));
    let b = ops().graph_builder();
    let error = b.session(pools("executors_a", 3)).err().unwrap();
    assert_eq!(error.code(), Code::InvalidArgument, "{error}");
}

#[test]
fn an_executor_of_one_thread_is_the_callers() {
    let (_b, session, thread) = session_with(SessionOptions { executor: Some(Executor::new(1).unwrap()), ..SessionOptions::default() });
    assert_eq!(threads_of(&session, thread, 0), [number(std::thread::current().id())]);
    assert_eq!(threads_of(&session, thread, -1), [number(std::thread::current().id())]);
}

#[test]
fn one_thread_inside_of_kernels_leaves_the_others_to_other_nodes() {
    let op = CustomOp::new("KernelThreads", "() -> (threads: int64)").stateful().kernel(|_| {
        blocking_from_fn(|context| {
            context.set_output(0, Tensor::scalar(flowmill_runtime::intra_op::threads() as i64));
            Ok(())
        })
    });
    let ops = OpSet::standard().unwrap().with(op).unwrap();
    for (intra_op_threads, inter_op_threads, expected) in [(1, 2, 1), (2, 2, 2), (2, 1, 2), (1, 1, 1)] {
        let b = ops.graph_builder();
        let threads = b.op("KernelThreads").output().unwrap().id();
        let session = b.session(SessionOptions { intra_op_threads, inter_op_threads, ..SessionOptions::default() }).unwrap();
        let found = session.runner().fetch::<flowmill::OutputId>(threads).unwrap().to_scalar::<i64>().unwrap();
        assert_eq!(found, expected, "{intra_op_threads} {inter_op_threads}");
    }
}

/// A session of two threads with a node that sleeps for as long as it is told and returns its thread.
struct Sleeper {
    session: Arc<Session>,
    duration: flowmill::OutputId,
    /// An input of a product, which makes steps costly because its shape is unknown.
    matrix: flowmill::OutputId,
    fetches: Vec<flowmill::OutputId>,
    _graph: GraphBuilder,
}

impl Sleeper {
    fn new(is_costly: bool) -> Sleeper {
        let op = CustomOp::new("WhichThreadAfter", "(microseconds: int64) -> (thread: int64)").stateful().kernel(|_| {
            from_fn(|context| {
                std::thread::sleep(Duration::from_micros(context.input(0)?.to_scalar::<i64>()?.unsigned_abs()));
                context.set_output(0, Tensor::scalar(number(std::thread::current().id())));
                Ok(())
            })
        });
        let b = OpSet::standard().unwrap().with(op).unwrap().graph_builder();
        let duration = b.placeholder(DType::I64, PartialShape::scalar()).unwrap();
        let matrix = b.placeholder(DType::F32, PartialShape::default()).unwrap();
        let mut fetches = vec![b.op("WhichThreadAfter").input(duration).output().unwrap().id()];
        if is_costly {
            fetches.push(b.op("MatMul").input(matrix).input(matrix).output().unwrap().id());
        }
        let session = b.session(SessionOptions { executor: Some(Executor::new(2).unwrap()), ..SessionOptions::default() }).unwrap();
        Sleeper { session, duration: duration.id(), matrix: matrix.id(), fetches, _graph: b }
    }

    /// Returns how many of `count` steps run on this thread.
    fn on_the_callers(&self, microseconds: i64, count: usize) -> usize {
        let me = number(std::thread::current().id());
        let matrix = Tensor::from_slice([2, 2], &[1.0f32; 4]).unwrap();
        let step = || {
            let runner = self.session.runner().feed(self.duration, Tensor::scalar(microseconds)).feed(self.matrix, matrix.clone());
            runner.fetch::<Vec<flowmill::OutputId>>(self.fetches.clone()).unwrap()[0].to_scalar::<i64>().unwrap()
        };
        (0..count).filter(|_| step() == me).count()
    }
}

/// The cost of a node whose shapes are unknown is a guess.
#[test]
fn steps_that_turn_out_to_be_long_leave_the_callers_thread() {
    let sleeper = Sleeper::new(false);
    assert_eq!(sleeper.on_the_callers(0, 1), 1);
    sleeper.on_the_callers(2_000, 40);
    assert_eq!(sleeper.on_the_callers(2_000, 5), 0, "long steps run on an executor");
}

#[test]
fn costly_steps_that_are_short_are_tried_on_the_callers_thread() {
    let sleeper = Sleeper::new(true);
    assert_eq!(sleeper.on_the_callers(0, 2), 0, "costly steps begin on an executor");
    // In several turns, because the hand-over to an executor may take long on a machine that is busy.
    assert!((0..32).any(|_| sleeper.on_the_callers(0, 64) >= 5));
    assert_eq!(Sleeper::new(true).on_the_callers(2_000, 60), 0, "long steps are not tried");
}
