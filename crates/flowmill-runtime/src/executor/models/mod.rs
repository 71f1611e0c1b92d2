//! Loom models of the state words: every interleaving of two or three threads, within a bound on preemptions, and with every value that the
//! memory model lets a load see. Each protocol has mutants, which loom must reject: a model that accepts them would prove nothing.
//!
//! The `unsafe` blocks read and write loom's cells, which check every access for a race.

mod calls;
mod cancellation;
mod frames;
mod iterations;
mod leaving;
mod merges;
mod nested;
mod pending_counts;
mod restart;
mod sleeping;

use super::{Arrival, Counter, Enters, Live, Parked, Participants, Refs, RingEntry, RingWord, merge, ordinary};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Runs the model with all interleavings of at most `preemptions` switches away from a thread that could go on.
fn bounded(preemptions: usize, model: impl Fn() + Send + Sync + 'static) -> std::thread::Result<()> {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    catch_unwind(AssertUnwindSafe(|| builder.check(model)))
}

fn check(model: impl Fn() + Send + Sync + 'static) {
    bounded(4, model).unwrap();
}

fn rejects(model: impl Fn() + Send + Sync + 'static) {
    assert!(bounded(4, model).is_err(), "loom accepts a mutant");
}
