//! A loop in a loop: the inner frame lives in an iteration of the outer one, passes values out of it and ends before it.

use super::*;
use std::ptr::{null, null_mut};

#[derive(Clone, Copy, PartialEq)]
enum Design {
    Sound,
    /// A frame holds no reference of the iteration around it.
    NoParentReference,
    /// The reference of the iteration around a frame is dropped before its dead Exits are delivered.
    ParentFirst,
    /// The end of a frame does not look which Exits were live.
    AllExitsDead,
    /// The frame's entry is cleared after the reference of the iteration around it is dropped.
    EntryClearedLast,
}

const LEVELS: u32 = 2;

/// An iteration with its place for one child frame; and the frame of one iteration that it belongs to.
struct Level {
    depth: u32,
    parent: *const Level,
    refs: Refs,
    enters: Enters,
    child: AtomicPtr<Level>,
    exited: [AtomicBool; 2],
    /// The values that the child's Exits delivered here: nothing, live or dead.
    delivered: [UnsafeCell<u32>; 2],
    is_free: UnsafeCell<bool>,
}

const LIVE: u32 = 1;
const DEAD: u32 = 2;

struct Run {
    design: Design,
    root: *const Level,
    /// Free blocks: their memory stays until the end, so that a mutant does not crash before loom rejects it.
    blocks: std::sync::Mutex<Vec<*mut Level>>,
    complete: AtomicU32,
    ended: AtomicU32,
}

// Loom's cells and atomics are all that threads share of it.
unsafe impl Send for Run {}
unsafe impl Sync for Run {}

fn level(depth: u32, parent: *const Level) -> *mut Level {
    Box::into_raw(Box::new(Level {
        depth,
        parent,
        refs: Refs::new(2),
        enters: Enters::new(2),
        child: AtomicPtr::new(null_mut()),
        exited: [(), ()].map(|()| AtomicBool::new(false)),
        delivered: [0; 2].map(UnsafeCell::new),
        is_free: UnsafeCell::new(false),
    }))
}

/// A block in use.
fn block<'a>(at: *const Level) -> &'a Level {
    let block = unsafe { &*at };
    block.is_free.with(|is_free| assert!(!unsafe { *is_free }, "use of a free block"));
    block
}

impl Run {
    /// Enters fire from an iteration in which this thread has an item down to the innermost frame. A live value comes back up.
    fn descend(&self, at: *const Level, token: usize, is_live: bool) {
        if block(at).depth == LEVELS {
            return self.ascend(at, token, is_live);
        }
        let child = self.child(at);
        // The Enter's reference of the child's iteration is that of an item from now on.
        block(child).enters.arrive(true);
        self.release(at);
        self.descend(child, token, is_live);
    }

    /// Exits fire from a frame in which this thread has an item up to the root.
    fn ascend(&self, at: *const Level, token: usize, is_live: bool) {
        let here = block(at);
        let parent = here.parent;
        if !is_live || parent.is_null() {
            return self.release(at);
        }
        assert!(!here.exited[token].swap(true, Ordering::Relaxed));
        self.deliver(parent, token, LIVE);
        // The item that is ready there.
        block(parent).refs.add(1, true);
        self.release(at);
        self.ascend(parent, token, is_live);
    }

    /// The child frame of an iteration, made by the first who needs it.
    fn child(&self, at: *const Level) -> *const Level {
        let here = block(at);
        let frame = here.child.load(Ordering::Acquire);
        if !frame.is_null() {
            return frame;
        }
        let new = level(here.depth + 1, at);
        match here.child.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                if self.design != Design::NoParentReference {
                    here.refs.add(1, true);
                }
                new
            }
            Err(other) => {
                self.free(new);
                other
            }
        }
    }

    fn deliver(&self, to: *const Level, token: usize, value: u32) {
        block(to).delivered[token]
            .with_mut(|slot| assert_eq!(std::mem::replace(unsafe { &mut *slot }, value), 0, "an Exit delivers twice"));
    }

    fn free(&self, at: *mut Level) {
        block(at).is_free.with_mut(|is_free| unsafe { *is_free = true });
        self.blocks.lock().unwrap().push(at);
    }

    fn release(&self, at: *const Level) {
        let here = block(at);
        if !here.refs.release(1, true) {
            return;
        }
        assert!(here.enters.all_arrived() || here.depth == LEVELS || here.depth == 0, "complete before an Enter");
        assert!(here.child.load(Ordering::Relaxed).is_null(), "complete before its child frame");
        if here.parent.is_null() {
            here.delivered.iter().enumerate().for_each(|(token, slot)| {
                slot.with(|slot| assert_eq!(unsafe { *slot }, if token == 0 { LIVE } else { DEAD }));
            });
            self.complete.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let parent = here.parent;
        if self.design == Design::ParentFirst {
            self.release(parent);
        }
        for token in 0..2 {
            if self.design == Design::AllExitsDead || !here.exited[token].load(Ordering::Relaxed) {
                self.deliver(parent, token, DEAD);
            }
        }
        if self.design != Design::EntryClearedLast {
            block(parent).child.store(null_mut(), Ordering::Relaxed);
        }
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.free(at.cast_mut());
        if !matches!(self.design, Design::ParentFirst | Design::NoParentReference) {
            self.release(parent);
        }
        if self.design == Design::EntryClearedLast {
            block(parent).child.store(null_mut(), Ordering::Relaxed);
        }
    }
}

/// Two tokens enter two nested frames on two threads; one comes out live.
fn two_tokens(design: Design) {
    let root = level(0, null());
    let run = Arc::new(Run { design, root, blocks: Default::default(), complete: AtomicU32::new(0), ended: AtomicU32::new(0) });
    let other = run.clone();
    let thread = loom::thread::spawn(move || other.descend(other.root, 1, false));
    run.descend(run.root, 0, true);
    thread.join().unwrap();
    assert_eq!(run.complete.load(Ordering::Relaxed), 1, "the outermost iteration completes once");
    assert_eq!(run.ended.load(Ordering::Relaxed), LEVELS);
    run.free(root);
    run.blocks.lock().unwrap().drain(..).for_each(|block| drop(unsafe { Box::from_raw(block) }));
}

#[test]
fn frames_end_from_the_inside() {
    check(|| two_tokens(Design::Sound));
}

#[test]
fn rejected_no_parent_reference() {
    rejects(|| two_tokens(Design::NoParentReference));
}

#[test]
fn rejected_parent_released_first() {
    rejects(|| two_tokens(Design::ParentFirst));
}

#[test]
fn rejected_all_exits_dead() {
    rejects(|| two_tokens(Design::AllExitsDead));
}

#[test]
fn rejected_entry_cleared_last() {
    rejects(|| two_tokens(Design::EntryClearedLast));
}
