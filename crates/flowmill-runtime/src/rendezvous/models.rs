//! Loom models of a cell outside of loops: a sender, a receiver and an abort, in every interleaving and with every value that the memory model lets a
//! load see. Each rule has a mutant, which loom must reject.
//!
//! The `unsafe` blocks read and write loom's cells, which check every access for a race.

use super::cell_state::{CellArrival, CellState};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU32, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Design {
    Sound,
    /// The sender says that the value is there before it writes it.
    SendBeforeWrite,
    /// The receiver says that the waiter is there before it writes it.
    WaitBeforeWrite,
    /// A second send writes the value, too.
    SendWithoutClaim,
    /// A second receive writes the waiter, too.
    ReceiveWithoutClaim,
    /// A receiver takes the value after a look that claims nothing.
    TakeWithoutClaim,
    /// A sender that finds the end calls the waiter that the aborting thread calls.
    SendIgnoresEnd,
    /// A receiver that finds the end waits.
    ReceiveIgnoresEnd,
    /// The abort takes the waiter though a value has come for it.
    AbortIgnoresValue,
    /// The abort leaves the waiter alone.
    AbortWithoutWaiter,
}

struct Cell {
    design: Design,
    state: CellState,
    value: UnsafeCell<u32>,
    waiter: UnsafeCell<u32>,
    /// The number of calls of the waiter with the value, and with an error.
    received: AtomicU32,
    failed: AtomicU32,
}

const VALUE: u32 = 7;
const WAITER: u32 = 9;

impl Cell {
    fn new(design: Design) -> Arc<Cell> {
        let (value, waiter) = (UnsafeCell::new(0), UnsafeCell::new(0));
        Arc::new(Cell { design, state: CellState::new(), value, waiter, received: AtomicU32::new(0), failed: AtomicU32::new(0) })
    }

    fn take_value(&self) {
        self.value.with_mut(|value| assert_eq!(std::mem::take(unsafe { &mut *value }), VALUE, "a value that is not there"));
    }

    fn take_waiter(&self) {
        self.waiter.with_mut(|waiter| assert_eq!(std::mem::take(unsafe { &mut *waiter }), WAITER, "a waiter that is not there"));
    }

    fn count(counter: &AtomicU32) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn send(&self) {
        if !self.state.claim_send() && self.design != Design::SendWithoutClaim {
            return;
        }
        let write = || self.value.with_mut(|value| unsafe { *value = VALUE });
        if self.design != Design::SendBeforeWrite {
            write();
        }
        let met = self.state.send();
        if self.design == Design::SendBeforeWrite {
            write();
        }
        if met == CellArrival::Second || (met == CellArrival::Aborted && self.design == Design::SendIgnoresEnd) {
            self.take_value();
            self.take_waiter();
            Self::count(&self.received);
        }
    }

    fn receive(&self) {
        if !self.state.claim_receive() && self.design != Design::ReceiveWithoutClaim {
            return;
        }
        let write = || self.waiter.with_mut(|waiter| unsafe { *waiter = WAITER });
        if self.design != Design::WaitBeforeWrite {
            write();
        }
        let met = self.state.receive();
        if self.design == Design::WaitBeforeWrite {
            write();
        }
        match met {
            CellArrival::First => {}
            CellArrival::Second => {
                self.take_value();
                self.take_waiter();
                Self::count(&self.received);
            }
            CellArrival::Aborted if self.design == Design::ReceiveIgnoresEnd => {}
            CellArrival::Aborted => {
                self.take_waiter();
                Self::count(&self.failed);
            }
        }
    }

    fn try_receive(&self) -> bool {
        let taken = self.state.take();
        if taken {
            self.take_value();
            Self::count(&self.received);
        }
        taken
    }

    fn look_and_receive(&self) {
        if self.design == Design::TakeWithoutClaim {
            // A look and a take that are not one step: both receivers may find the value.
            if self.state.send_is_done() {
                self.take_value();
                Self::count(&self.received);
            }
        } else if !self.try_receive() {
            self.receive();
        }
    }

    fn abort(&self) {
        let takes_waiter = match self.design {
            Design::AbortIgnoresValue => self.state.abort() | !self.state.claim_receive(),
            Design::AbortWithoutWaiter => {
                self.state.abort();
                false
            }
            _ => self.state.abort(),
        };
        if takes_waiter {
            self.take_waiter();
            Self::count(&self.failed);
        }
    }

    fn calls(&self) -> (u32, u32) {
        (self.received.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed))
    }
}

fn run(actions: &'static [fn(&Cell)], design: Design, assert: fn(&Cell)) -> std::thread::Result<()> {
    let model = move || {
        let cell = Cell::new(design);
        let threads: Vec<_> = actions[1..]
            .iter()
            .map(|&action| {
                let cell = cell.clone();
                loom::thread::spawn(move || action(&cell))
            })
            .collect();
        actions[0](&cell);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert(&cell);
    };
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    catch_unwind(AssertUnwindSafe(|| builder.check(model)))
}

/// A send and a receive: the value arrives once.
fn meet(design: Design) -> std::thread::Result<()> {
    run(&[Cell::send, Cell::receive], design, |cell| assert_eq!(cell.calls(), (1, 0)))
}

/// A send, a receive and an abort: the waiter is called once, with the value or with an error.
fn abort(design: Design) -> std::thread::Result<()> {
    run(&[Cell::send, Cell::receive, Cell::abort], design, |cell| {
        let (received, failed) = cell.calls();
        assert_eq!(received + failed, 1);
    })
}

/// Two sends and a receive, of a malformed graph.
fn send_twice(design: Design) -> std::thread::Result<()> {
    run(&[Cell::send, Cell::send, Cell::receive], design, |cell| assert_eq!(cell.calls(), (1, 0)))
}

/// Two receives and a send, of a malformed graph.
fn receive_twice(design: Design) -> std::thread::Result<()> {
    run(&[Cell::receive, Cell::receive, Cell::send], design, |cell| assert_eq!(cell.calls(), (1, 0)))
}

/// Two receives that first look for the value, and a send.
fn look_first(design: Design) -> std::thread::Result<()> {
    run(&[Cell::look_and_receive, Cell::look_and_receive, Cell::send], design, |cell| assert_eq!(cell.calls(), (1, 0)))
}

/// A receive that first looks for the value, a send and an abort.
fn look_and_abort(design: Design) -> std::thread::Result<()> {
    run(&[Cell::look_and_receive, Cell::send, Cell::abort], design, |cell| {
        let (received, failed) = cell.calls();
        assert_eq!(received + failed, 1);
    })
}

#[test]
fn each_value_arrives_once() {
    for model in [meet, abort, send_twice, receive_twice, look_first, look_and_abort] {
        model(Design::Sound).unwrap();
    }
}

#[test]
fn each_mutant_is_rejected() {
    type Model = fn(Design) -> std::thread::Result<()>;
    let mutants: [(Design, Model); 9] = [
        (Design::SendBeforeWrite, meet),
        (Design::WaitBeforeWrite, meet),
        (Design::SendWithoutClaim, send_twice),
        (Design::ReceiveWithoutClaim, receive_twice),
        (Design::TakeWithoutClaim, look_first),
        (Design::SendIgnoresEnd, abort),
        (Design::ReceiveIgnoresEnd, abort),
        (Design::AbortIgnoresValue, abort),
        (Design::AbortWithoutWaiter, abort),
    ];
    for (design, model) in mutants {
        assert!(model(design).is_err(), "loom accepts the mutant {design:?}");
    }
}
