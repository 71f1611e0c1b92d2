//! The calling thread runs out of work, leaves, sleeps and comes back: for work that no helper takes, and for the end of the run.

use super::*;
use crate::executor::wake::Wake;
use loom::sync::{Condvar, Mutex};

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// A notification is lost if nobody sleeps yet.
    NotificationNotKept,
    /// A thread sleeps without saying so.
    WaiterNotAnnounced,
    /// A thread says that it sleeps, and no longer looks for a notification that came before.
    AnnouncedTooLate,
    /// The end of the run wakes nobody.
    EndNotNotified,
    /// Work that no helper can be sent for wakes nobody.
    FullNotNotified,
    /// A helper whose thread is inside of another kernel goes away without a word.
    BouncedSilently,
    /// The caller does not take its place back.
    NoRejoin,
}

/// The fate of a helper that the caller requested.
#[derive(Clone, Copy, PartialEq)]
enum Helper {
    Works,
    /// Its thread is inside of a kernel that waits.
    Bounces,
    /// All places are taken, by a thread that is busy for ever.
    None,
}

struct Run {
    design: Design,
    helper: Helper,
    live: Live,
    participants: Participants,
    wake: Wake,
    mutant: MutantWake,
    queue: AtomicBool,
    done: AtomicU32,
    is_done: Wake,
}

const LIMIT: u32 = 2;

/// A [`Wake`] with the flaw of a design.
struct MutantWake {
    /// True once notified, and true while a thread waits.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl MutantWake {
    fn new() -> MutantWake {
        MutantWake { state: Mutex::new((false, false)), changed: Condvar::new() }
    }

    fn notify(&self, design: Design) {
        let mut state = self.state.lock().unwrap();
        let (_, has_waiter) = *state;
        state.0 = design != Design::NotificationNotKept;
        if has_waiter {
            self.changed.notify_one();
        }
    }

    fn wait(&self, design: Design) {
        if design == Design::AnnouncedTooLate && self.state.lock().unwrap().0 {
            return;
        }
        let mut state = self.state.lock().unwrap();
        state.1 = design != Design::WaiterNotAnnounced;
        if design == Design::AnnouncedTooLate || !state.0 {
            state = self.changed.wait(state).unwrap();
        }
        *state = (false, false);
    }
}

impl Run {
    fn has_mutant_wake(&self) -> bool {
        matches!(self.design, Design::NotificationNotKept | Design::WaiterNotAnnounced | Design::AnnouncedTooLate)
    }

    fn notify(&self) {
        if self.has_mutant_wake() { self.mutant.notify(self.design) } else { self.wake.notify() }
    }

    fn wait(&self) {
        if self.has_mutant_wake() { self.mutant.wait(self.design) } else { drop(self.wake.wait(None)) }
    }

    fn finish_live(&self) {
        if self.live.finish() && self.design != Design::EndNotNotified {
            self.notify();
        }
    }

    /// Does what is in the queue.
    fn work(&self) {
        while self.queue.swap(false, Ordering::AcqRel) {
            self.done.fetch_add(1, Ordering::Relaxed);
            self.is_done.notify();
            self.finish_live();
        }
    }

    /// A job of the pool.
    fn help(&self) {
        if self.helper == Helper::Bounces {
            self.participants.leave();
            if self.design != Design::BouncedSilently {
                self.notify();
            }
            return;
        }
        loop {
            self.work();
            self.participants.leave();
            if !self.queue.load(Ordering::Acquire) || !self.participants.join(LIMIT) {
                return;
            }
        }
    }

    /// A thread at work hands over something that its own kernel waits for.
    fn offer_and_wait(self: &Arc<Run>) {
        self.live.add();
        self.queue.swap(true, Ordering::AcqRel);
        let mut job = None;
        if self.participants.join(LIMIT) {
            let run = self.clone();
            job = Some(loom::thread::spawn(move || run.help()));
        } else if self.design != Design::FullNotNotified {
            self.notify();
        }
        self.is_done.wait(None);
        self.finish_live();
        self.participants.leave();
        job.into_iter().for_each(|job| job.join().unwrap());
    }

    /// The calling thread has nothing more to do.
    fn wait_for_end(&self) {
        self.finish_live();
        loop {
            self.work();
            if self.live.has_ended() {
                return;
            }
            self.participants.leave();
            if !self.queue.load(Ordering::Acquire) && !self.live.has_ended() {
                self.wait();
            }
            if self.design != Design::NoRejoin {
                self.participants.rejoin();
            }
        }
    }
}

fn caller_and_worker(design: Design, helper: Helper) {
    let run = Arc::new(Run {
        design,
        helper,
        live: Live::new(),
        participants: Participants::new(),
        wake: Wake::default(),
        mutant: MutantWake::new(),
        queue: AtomicBool::new(false),
        done: AtomicU32::new(0),
        is_done: Wake::default(),
    });
    run.live.add();
    run.participants.rejoin();
    if helper == Helper::None {
        run.participants.rejoin();
    }
    let other = run.clone();
    let worker = loom::thread::spawn(move || other.offer_and_wait());
    run.wait_for_end();
    worker.join().unwrap();
    assert_eq!(run.done.load(Ordering::Relaxed), 1);
    assert_eq!(run.participants.0.load(Ordering::Relaxed), if helper == Helper::None { 2 } else { 1 }, "a place was lost");
}

#[test]
fn a_helper_comes() {
    check(|| caller_and_worker(Design::Sound, Helper::Works));
}

#[test]
fn a_helper_bounces() {
    check(|| caller_and_worker(Design::Sound, Helper::Bounces));
}

#[test]
fn no_helper_can_be_sent_for() {
    check(|| caller_and_worker(Design::Sound, Helper::None));
}

#[test]
fn rejected_notification_not_kept() {
    rejects(|| caller_and_worker(Design::NotificationNotKept, Helper::None));
}

#[test]
fn rejected_waiter_not_announced() {
    rejects(|| caller_and_worker(Design::WaiterNotAnnounced, Helper::None));
}

#[test]
fn rejected_announced_too_late() {
    rejects(|| caller_and_worker(Design::AnnouncedTooLate, Helper::None));
}

#[test]
fn rejected_end_not_notified() {
    rejects(|| caller_and_worker(Design::EndNotNotified, Helper::Works));
}

#[test]
fn rejected_full_not_notified() {
    rejects(|| caller_and_worker(Design::FullNotNotified, Helper::None));
}

#[test]
fn rejected_bounced_silently() {
    rejects(|| caller_and_worker(Design::BouncedSilently, Helper::Bounces));
}

#[test]
fn rejected_no_rejoin() {
    rejects(|| caller_and_worker(Design::NoRejoin, Helper::Works));
}
