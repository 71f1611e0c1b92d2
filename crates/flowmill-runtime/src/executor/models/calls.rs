//! An asynchronous call ends on another thread while the thread that started it goes on; the last of the two ends the run.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// The call is started before it counts among the living.
    StartBeforeCount,
    /// Counts are dropped without ordering.
    RelaxedFinish,
    /// The thread that started the call goes on as if the run were its own.
    PlainAfterStart,
}

struct Run {
    design: Design,
    live: Live,
    refs: Refs,
    started: AtomicBool,
    /// Written once by each of the two threads, like a run's blocks; the end of the run checks that both writes are visible.
    visits: [UnsafeCell<u32>; 2],
    completed: AtomicU32,
    ended: AtomicU32,
}

impl Run {
    fn finish(&self) {
        let last = match self.design {
            Design::RelaxedFinish => self.live.0.fetch_sub(1, Ordering::Relaxed) == 1,
            _ => self.live.finish(),
        };
        if last {
            // The blocks are freed and the results are passed on.
            self.visits.iter().for_each(|visit| visit.with(|visit| assert_eq!(unsafe { *visit }, 1, "an end before the work")));
            self.ended.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Does the work of an item, which holds a reference of the iteration.
    fn fire(&self, item: usize, shared: bool) {
        self.visits[item].with_mut(|visit| unsafe { *visit += 1 });
        if self.refs.release(1, shared) {
            self.completed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn call(design: Design) {
    let run = Arc::new(Run {
        design,
        live: Live::new(),
        refs: Refs::new(1),
        started: AtomicBool::new(false),
        visits: [0; 2].map(UnsafeCell::new),
        completed: AtomicU32::new(0),
        ended: AtomicU32::new(0),
    });
    let elsewhere = {
        let run = run.clone();
        loom::thread::spawn(move || {
            // The call has come through the queue, or not yet.
            if !run.started.load(Ordering::Acquire) {
                return false;
            }
            run.fire(1, true);
            run.finish();
            true
        })
    };
    // The first thread alone has the run until here.
    run.refs.add(1, false);
    if design != Design::StartBeforeCount {
        run.live.add();
    }
    run.started.store(true, Ordering::Release);
    if design == Design::StartBeforeCount {
        run.live.add();
    }
    run.fire(0, design != Design::PlainAfterStart);
    run.finish();
    if !elsewhere.join().unwrap() {
        run.fire(1, true);
        run.finish();
    }
    assert_eq!((run.completed.load(Ordering::Relaxed), run.ended.load(Ordering::Relaxed)), (1, 1));
}

#[test]
fn a_call_and_its_caller_end_the_run_once() {
    check(|| call(Design::Sound));
}

#[test]
fn rejected_start_before_count() {
    rejects(|| call(Design::StartBeforeCount));
}

#[test]
fn rejected_relaxed_finish() {
    rejects(|| call(Design::RelaxedFinish));
}

#[test]
fn rejected_plain_after_start() {
    rejects(|| call(Design::PlainAfterStart));
}
