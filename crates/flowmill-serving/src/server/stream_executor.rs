//! Runs the requests of an HTTP/2 connection.

use hyper::rt::Executor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};

/// Runs a request on the connection's own task as far as it goes without waiting, and the rest of it as a task of its own.
///
/// A task costs an allocation, and often the wake-up of another thread and back, which is more than a small request takes. Of several requests that arrive together only
/// the first one runs here; the others become tasks, which idle threads take.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamExecutor {
    reads: FreshReads,
}

/// The number of reads of a connection that returned bytes, and that number when a request last ran on the connection's task.
#[derive(Clone, Debug, Default)]
pub(super) struct FreshReads(Arc<(AtomicUsize, AtomicUsize)>);

impl FreshReads {
    /// Counts a read that returned bytes.
    pub(super) fn record(&self) {
        self.0.0.fetch_add(1, Relaxed);
    }

    /// Returns true once after each read.
    fn take(&self) -> bool {
        let count = self.0.0.load(Relaxed);
        self.0.1.swap(count, Relaxed) != count
    }
}

impl StreamExecutor {
    /// Returns the counter that the connection's reads are to be recorded in.
    pub(super) fn reads(&self) -> &FreshReads {
        &self.reads
    }
}

impl<F> Executor<F> for StreamExecutor
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, request: F) {
        if !self.reads.take() {
            tokio::spawn(request);
            return;
        }
        let mut request = Box::pin(request);
        // A task polls the request again if it has to wait, and is the one to be woken.
        let poll = || request.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(drop);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Ready(())) => (),
            Ok(Poll::Pending) => {
                tokio::spawn(request);
            }
            // Ends the stream, as the end of its task would.
            Err(_) => tracing::error!("a request panicked"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn the_first_request_of_a_read_runs_at_once() {
        let executor = StreamExecutor::default();
        let run = |executor: &StreamExecutor| {
            let (sender, mut receiver) = oneshot::channel();
            executor.execute(async move { sender.send(()).unwrap() });
            (receiver.try_recv().is_ok(), receiver)
        };
        executor.reads().record();
        assert!(run(&executor).0);
        let (at_once, later) = run(&executor);
        assert!(!at_once);
        later.await.unwrap();
        executor.reads().record();
        assert!(run(&executor).0);
    }

    #[tokio::test]
    async fn a_request_that_waits_goes_on_as_a_task() {
        let executor = StreamExecutor::default();
        executor.reads().record();
        let ((open, gate), (sender, receiver)) = (oneshot::channel(), oneshot::channel());
        executor.execute(async move { sender.send(gate.await.unwrap()).unwrap() });
        open.send(7).unwrap();
        assert_eq!(receiver.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_ends_its_request_alone() {
        let executor = StreamExecutor::default();
        executor.reads().record();
        let (sender, receiver) = oneshot::channel::<()>();
        executor.execute(async move {
            let _sender = sender;
            panic!("expected");
        });
        assert!(receiver.await.is_err());
    }
}
