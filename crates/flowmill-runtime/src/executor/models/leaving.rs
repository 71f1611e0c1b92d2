//! A helper leaves while work is handed over: somebody looks at the queue.

use super::*;

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    NoFence,
    NoLastLook,
}

fn hand_over(design: Design) {
    let participants = Arc::new(Participants::new());
    participants.rejoin();
    let queue = Arc::new(AtomicBool::new(false));
    let helper = {
        let (participants, queue) = (participants.clone(), queue.clone());
        loom::thread::spawn(move || {
            match design {
                Design::NoFence => drop(participants.0.fetch_sub(1, Ordering::AcqRel)),
                _ => participants.leave(),
            }
            // True where the helper stays for the work.
            design != Design::NoLastLook && queue.load(Ordering::Acquire) && participants.join(2)
        })
    };
    queue.store(true, Ordering::Release);
    let called = match design {
        Design::NoFence => participants.0.load(Ordering::Relaxed) < 2,
        _ => participants.join(2),
    };
    assert!(helper.join().unwrap() || called, "work that nobody looks at");
}

#[test]
fn work_is_seen() {
    check(|| hand_over(Design::Sound));
}

#[test]
fn rejected_no_fence() {
    rejects(|| hand_over(Design::NoFence));
}

#[test]
fn rejected_no_last_look() {
    rejects(|| hand_over(Design::NoLastLook));
}
