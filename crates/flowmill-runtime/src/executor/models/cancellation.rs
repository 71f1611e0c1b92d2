//! A run is cancelled while two threads move tokens; its blocks are freed when nobody uses them any more.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// Work is handed over before it counts.
    OfferBeforeCount,
    /// A worker that stops drops the references of its items, so that iterations complete although others were left undone.
    ReleaseOnStop,
}

struct Run {
    design: Design,
    live: Live,
    cancelled: AtomicBool,
    offered: AtomicBool,
    refs: Refs,
    block: UnsafeCell<u32>,
    visits: [UnsafeCell<u32>; 2],
    completed: AtomicU32,
    destroyed: AtomicU32,
}

impl Run {
    /// Fires an item in the iteration, which has two.
    fn fire(&self, item: usize) {
        if self.cancelled.load(Ordering::Relaxed) {
            if self.design == Design::ReleaseOnStop && self.refs.release(1, true) {
                self.complete();
            }
            return;
        }
        self.block.with(|_| ());
        self.visits[item].with_mut(|visit| unsafe { *visit += 1 });
        if self.refs.release(1, true) {
            self.complete();
        }
    }

    fn complete(&self) {
        self.visits.iter().for_each(|visit| visit.with(|visit| assert_eq!(unsafe { *visit }, 1, "complete without its work")));
        self.completed.fetch_add(1, Ordering::Relaxed);
    }

    /// Both threads find the end; the caller's thread frees the blocks then.
    fn destroy(&self) {
        self.block.with_mut(|block| unsafe { *block = u32::MAX });
        self.visits.iter().for_each(|visit| visit.with_mut(|visit| unsafe { *visit = 0 }));
        self.destroyed.fetch_add(1, Ordering::Relaxed);
    }
}

fn cancelled_run(design: Design) {
    let run = Arc::new(Run {
        design,
        live: Live::new(),
        cancelled: AtomicBool::new(false),
        offered: AtomicBool::new(false),
        refs: Refs::new(2),
        block: UnsafeCell::new(0),
        visits: [0; 2].map(UnsafeCell::new),
        completed: AtomicU32::new(0),
        destroyed: AtomicU32::new(0),
    });
    let canceller = run.clone();
    let canceller = loom::thread::spawn(move || canceller.cancelled.store(true, Ordering::Relaxed));
    let helper = run.clone();
    let helper = loom::thread::spawn(move || {
        if helper.offered.swap(false, Ordering::AcqRel) {
            helper.fire(1);
            if helper.live.finish() {
                helper.destroy();
            }
        }
    });
    // The caller's thread hands one item over and fires the other one.
    if design == Design::OfferBeforeCount {
        run.offered.swap(true, Ordering::AcqRel);
        run.live.add();
    } else {
        run.live.add();
        run.offered.swap(true, Ordering::AcqRel);
    }
    run.fire(0);
    if run.offered.swap(false, Ordering::AcqRel) {
        run.fire(1);
        assert!(!run.live.finish());
    }
    if run.live.finish() {
        run.destroy();
    }
    canceller.join().unwrap();
    helper.join().unwrap();
    assert!(run.live.has_ended());
    assert_eq!(run.destroyed.load(Ordering::Relaxed), 1);
    assert!(run.completed.load(Ordering::Relaxed) <= 1);
}

#[test]
fn blocks_outlive_their_users() {
    check(|| cancelled_run(Design::Sound));
}

#[test]
fn rejected_offer_before_count() {
    rejects(|| cancelled_run(Design::OfferBeforeCount));
}

#[test]
fn rejected_release_on_stop() {
    rejects(|| cancelled_run(Design::ReleaseOnStop));
}
