//! Tensors that go from one part of a step to another under the numbers of partitioning.

use crate::support::*;
use flowmill_runtime::executor::{PlanCall, run_parts};
use flowmill_runtime::kernel::AsyncKernel;
use flowmill_runtime::plan::{FrameId, NodeKind};
use flowmill_runtime::{AsyncContext, IterationPath, Parcel, Received, Rendezvous, Step, Transfers};
use flowmill_tensor::{Code, Error, Tensor};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn transfers(count: usize) -> Transfers {
    Transfers::new((0..count).map(|i| format!("x{i}:0")).collect())
}

fn parcel(value: i64) -> Option<Parcel> {
    Some(Parcel { tensor: Tensor::scalar(value), device: None })
}

/// Outside of loops, in a loop, and in a loop within.
fn iterations() -> [IterationPath; 3] {
    [vec![], vec![0], vec![2, 1]].map(IterationPath::from_vec)
}

type Inbox = Arc<Mutex<Vec<Result<Option<i64>, Error>>>>;

/// Collects what is received, `None` for a dead tensor.
fn inbox() -> (Inbox, impl Fn(Received) + Clone + Send + 'static) {
    let inbox = Inbox::default();
    let to = inbox.clone();
    let value = |parcel: Option<Parcel>| parcel.map(|parcel| parcel.tensor.to_scalar::<i64>().unwrap());
    (inbox, move |received: Received| to.lock().unwrap().push(received.map(value)))
}

#[test]
fn a_tensor_arrives_whether_the_send_or_the_receive_comes_first() {
    for iteration in iterations() {
        let (transfers, (inbox, done)) = (transfers(3), inbox());
        transfers.send(0, &iteration, parcel(7)).unwrap();
        assert_eq!(transfers.try_receive(0, &iteration).unwrap().unwrap().tensor, Tensor::scalar(7i64));
        assert!(transfers.try_receive(1, &iteration).is_none());
        transfers.receive(1, &iteration, done.clone());
        assert!(inbox.lock().unwrap().is_empty());
        transfers.send(1, &iteration, parcel(8)).unwrap();
        transfers.send(2, &iteration, None).unwrap();
        transfers.receive(2, &iteration, done);
        assert_eq!(*inbox.lock().unwrap(), [Ok(Some(8)), Ok(None)], "a dead tensor arrives as one");
    }
}

#[test]
fn iterations_do_not_mix() {
    let transfers = transfers(1);
    let paths: Vec<IterationPath> = (0..3u64).flat_map(|i| (0..3u64).map(move |j| IterationPath::from_slice(&[i, j]))).collect();
    for (i, path) in paths.iter().enumerate() {
        transfers.send(0, path, parcel(i as i64)).unwrap();
    }
    for (i, path) in paths.iter().enumerate().rev() {
        assert_eq!(transfers.try_receive(0, path).unwrap().unwrap().tensor, Tensor::scalar(i as i64));
    }
}

#[test]
fn a_second_send_or_receive_is_an_error() {
    for iteration in iterations() {
        let (transfers, (inbox, done)) = (transfers(2), inbox());
        transfers.send(0, &iteration, parcel(1)).unwrap();
        assert_eq!(transfers.send(0, &iteration, parcel(2)).unwrap_err().code(), Code::Internal);
        transfers.receive(1, &iteration, done.clone());
        transfers.receive(1, &iteration, done);
        assert!(matches!(&inbox.lock().unwrap()[..], [Err(e)] if e.code() == Code::Internal && e.message().contains("x1:0")));
        assert_eq!(transfers.send(9, &IterationPath::new(), None).unwrap_err().code(), Code::Internal, "there is no such transfer");
    }
}

#[test]
fn an_abort_ends_what_waits_and_what_comes_later() {
    let (transfers, (inbox, done)) = (transfers(4), inbox());
    let [outside, inside, within] = iterations();
    transfers.receive(2, &outside, done.clone());
    transfers.receive(1, &inside, done.clone());
    transfers.receive(1, &within, done.clone());
    transfers.send(0, &outside, parcel(1)).unwrap();
    transfers.abort(&Error::aborted("the step ended"));
    transfers.abort(&Error::internal("a later reason"));
    transfers.receive(3, &outside, done.clone());
    transfers.receive(3, &inside, done);
    let received = inbox.lock().unwrap();
    assert_eq!(received.len(), 5);
    assert!(received.iter().all(|r| r.as_ref().is_err_and(|e| e.message() == "the step ended")));
    for iteration in iterations() {
        assert_eq!(transfers.send(3, &iteration, None).unwrap_err().message(), "the step ended");
    }
    assert_eq!(transfers.awaited(), ["x1:0", "x2:0"]);
}

#[test]
fn threads_that_send_and_receive_get_each_tensor_once() {
    const COUNT: usize = 2000;
    for iteration in iterations() {
        let (transfers, (inbox, done)) = (transfers(COUNT), inbox());
        std::thread::scope(|scope| {
            for half in 0..2 {
                let (transfers, iteration, done) = (&transfers, &iteration, done.clone());
                scope.spawn(move || (half..COUNT).step_by(2).for_each(|i| transfers.send(i as u32, iteration, parcel(i as i64)).unwrap()));
                scope.spawn(move || {
                    for i in (half..COUNT).step_by(2).map(|i| i as u32) {
                        match transfers.try_receive(i, iteration) {
                            Some(value) => done(Ok(value)),
                            None => transfers.receive(i, iteration, done.clone()),
                        }
                    }
                });
            }
        });
        let mut received: Vec<i64> = inbox.lock().unwrap().iter().map(|r| r.clone().unwrap().unwrap()).collect();
        received.sort_unstable();
        assert_eq!(received, (0..COUNT as i64).collect::<Vec<_>>());
    }
}

#[test]
fn the_error_of_a_deadline_names_what_was_waited_for() {
    let kernel = AsyncFun(move |ctx: AsyncContext| {
        let step = ctx.step().clone();
        let done = move |received: Received| ctx.done(received.map(|parcel| vec![parcel.map(|parcel| parcel.tensor)]));
        step.rendezvous.transfers().unwrap().receive(0, &IterationPath::new(), done);
    });
    let mut waits = Builder::new();
    let received = waits.node("Recv", NodeKind::Op, FrameId::ROOT, &[], 1, Some(Arc::new(kernel)));
    waits.ret(out(received));
    let deadline = Some(Instant::now() + Duration::from_millis(30));
    let step = Arc::new(step_of(Step { deadline, rendezvous: Rendezvous::with_transfers(transfers(1)), ..Step::new() }));
    let error = run_parts(vec![PlanCall { plan: waits.plan(), step, args: Vec::new() }], None).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert!(error.message().ends_with(" (while waiting for x0:0)"), "{error}");
}

/// Finishes at once in every second iteration, and on another thread in the others.
struct Sometimes;

impl flowmill_runtime::Kernel for Sometimes {
    fn compute(&self, _: &mut flowmill_runtime::KernelContext<'_>) -> flowmill_tensor::Result<()> {
        unreachable!("the kernel is asynchronous")
    }

    fn as_async(&self) -> Option<&dyn AsyncKernel> {
        Some(self)
    }
}

impl AsyncKernel for Sometimes {
    fn try_finish(&self, ctx: &mut flowmill_runtime::KernelContext<'_>) -> Option<flowmill_tensor::Result<()>> {
        let x = ctx.input(0).unwrap().to_scalar::<i64>().unwrap();
        match x % 3 {
            0 => {
                ctx.set_output(0, int(x + 1));
                Some(Ok(()))
            }
            _ if x == 100 => Some(Err(Error::data_loss("torn"))),
            _ => None,
        }
    }

    fn start(&self, ctx: AsyncContext) {
        let x = ctx.inputs()[0].to_scalar::<i64>().unwrap();
        std::thread::spawn(move || ctx.done(Ok(vec![Some(int(x + 1))])));
    }
}

#[test]
fn an_asynchronous_kernel_may_finish_at_once() {
    for (end, expected) in [(20, Ok([Some(20)])), (200, Err(Code::DataLoss))] {
        for options in all_options() {
            let mut b = Builder::new();
            let zero = b.arg();
            let exits = b.while_loop(
                FrameId::ROOT,
                4,
                &[zero],
                |b, f, v| out(b.op(f, &[v[0]], pure(move |x| i64::from(x[0] < end)))),
                |b, f, v| vec![out(b.op(f, &[v[0]], Some(Arc::new(Sometimes))))],
            );
            b.ret(exits[0]);
            let result = run_with(&b.plan(), &[0], options).map_err(|e| e.code());
            assert_eq!(result, expected.map(Vec::from));
        }
    }
}
