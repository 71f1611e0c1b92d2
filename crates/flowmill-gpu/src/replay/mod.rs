//! Strands of nodes whose work is recorded once and replayed in later steps.
//!
//! A strand runs its nodes one after the other ([`Device::adopt_strand`](flowmill_runtime::Device::adopt_strand)). Its first step with inputs of some
//! shapes only notes where the inputs are. The second step measures the memory that the nodes allocate, and then has the driver capture the
//! work that they enqueue, with blocks of a pool of that size in place of allocations. Later steps enqueue the captured work as one launch.
//!
//! * Inputs that were in one place in both steps are read there. Others are copied to a buffer of the recording first. An input that moves later
//!   becomes one of the latter, and the work is captured again.
//! * Outputs are in blocks of the pool, which a tensor leases. A step that finds an output of an earlier step still in use runs its nodes, and from
//!   then on that output is copied to a block of its own.
//! * The values of inputs in the host's memory are part of what a recording is for, as are the shapes.
//! * Steps that run while another one records run their nodes.
//!
//! The captured work reads what the stream's earlier work has written, as the nodes' own work does, so that there are no further events.

mod key;
mod recording;

use crate::backend::Address;
use crate::device::GpuDevice;
use crate::memory::Reclaim;
use flowmill_runtime::{Kernel, KernelContext};
use flowmill_tensor::sync::Mutex;
use flowmill_tensor::{Code, Result, Tensor};
use key::ShapeKey;
use recording::{Recorded, Recording};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The number of combinations of shapes whose recordings a strand keeps. If there are more, the least recently used one is dropped.
const MAX_RECORDINGS: usize = 8;

/// The kernel of a strand that is recorded.
pub(crate) struct ReplayedStrand {
    strand: Arc<dyn Kernel>,
    /// For each input, true if its value is read, and false if it is only waited for.
    reads_input: Box<[bool]>,
    recordings: Mutex<Recordings>,
    /// True while a step records, which other steps do not wait for.
    is_recording: AtomicBool,
}

/// The recordings of a strand for each combination of shapes, the least recently used first.
#[derive(Default)]
struct Recordings(Vec<Entry>);

struct Entry {
    key: ShapeKey,
    /// For each input, true if it was in different places in different steps.
    moves: Vec<bool>,
    /// For each block of outputs, true if an output was still in use when the next step began.
    is_kept: Vec<bool>,
    state: State,
}

enum State {
    /// A step has run with its inputs at these addresses.
    Seen(Vec<Option<Address>>),
    Recorded(Recording),
    /// The work is not recorded: the memory is full, or recording failed.
    Plain,
}

impl Recordings {
    /// Moves the entry of these shapes to the end and returns it. If there is none, one with these addresses is added, and `None` is returned.
    fn entry(&mut self, key: ShapeKey, addresses: &[Option<Address>]) -> Option<&mut Entry> {
        match self.0.iter().position(|entry| entry.key == key) {
            Some(at) => self.0[at..].rotate_left(1),
            None => {
                if self.0.len() == MAX_RECORDINGS {
                    self.0.remove(0);
                }
                let (moves, state) = (vec![false; addresses.len()], State::Seen(addresses.to_vec()));
                self.0.push(Entry { key, moves, is_kept: Vec::new(), state });
                return None;
            }
        }
        self.0.last_mut()
    }
}

impl Entry {
    /// Notes the inputs that are not where they were. Returns true if there are some.
    fn note_moves(&mut self, before: &[Option<Address>], now: &[Option<Address>]) -> bool {
        let mut has_moved = false;
        for (moves, places) in self.moves.iter_mut().zip(before.iter().zip(now)) {
            if !*moves && places.0 != places.1 {
                (*moves, has_moved) = (true, true);
            }
        }
        has_moved
    }
}

/// Clears the flag when it is dropped, also after a panic.
struct WhileRecording<'a>(&'a AtomicBool);

impl<'a> WhileRecording<'a> {
    fn begin(flag: &'a AtomicBool) -> WhileRecording<'a> {
        flag.store(true, Ordering::Relaxed);
        WhileRecording(flag)
    }
}

impl Drop for WhileRecording<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl ReplayedStrand {
    pub(crate) fn new(strand: Arc<dyn Kernel>, reads_input: &[bool]) -> Arc<ReplayedStrand> {
        let (recordings, is_recording) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(ReplayedStrand { strand, reads_input: reads_input.into(), recordings, is_recording })
    }

    /// Runs a step with a recording, or makes one. Returns false if the nodes have to run.
    fn replay(&self, ctx: &mut KernelContext<'_>, device: &GpuDevice) -> Result<bool> {
        if !device.can_record() || self.is_recording.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Some((key, addresses)) = ShapeKey::of(ctx, device, &self.reads_input) else { return Ok(false) };
        let mut recordings = self.recordings.lock();
        let Some(entry) = recordings.entry(key, &addresses) else { return Ok(false) };
        match std::mem::replace(&mut entry.state, State::Plain) {
            State::Plain => Ok(false),
            State::Seen(before) => {
                entry.note_moves(&before, &addresses);
                self.record(ctx, device, entry, before)
            }
            State::Recorded(recording) if entry.note_moves(recording.addresses(), &addresses) => {
                drop(recording);
                self.record(ctx, device, entry, addresses)
            }
            State::Recorded(mut recording) => {
                let mut is_replayed = false;
                if recording.note_kept(&mut entry.is_kept) {
                    match recording.replay(ctx, device, &entry.is_kept) {
                        // The nodes have errors of their own if the device does not work or its memory is full.
                        Err(e) if e.code() != Code::ResourceExhausted => {
                            device.stop_recording(&e);
                            return Ok(false);
                        }
                        replayed => is_replayed = replayed.is_ok(),
                    }
                }
                entry.state = State::Recorded(recording);
                Ok(is_replayed)
            }
        }
    }

    /// Runs the nodes of a step and records their work. `addresses` is what the entry goes back to after an error.
    fn record(&self, ctx: &mut KernelContext<'_>, device: &GpuDevice, entry: &mut Entry, addresses: Vec<Option<Address>>) -> Result<bool> {
        let _flag = WhileRecording::begin(&self.is_recording);
        entry.state = State::Seen(addresses);
        let Recorded { outputs, recording } = Recording::make(&*self.strand, ctx, device, &self.reads_input, &entry.moves)?;
        entry.state = recording.map_or(State::Plain, State::Recorded);
        for (i, output) in outputs.into_iter().enumerate() {
            if let Some(output) = output {
                ctx.set_output(i, output);
            }
        }
        Ok(true)
    }
}

impl Kernel for ReplayedStrand {
    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let device = GpuDevice::of(ctx.device())?;
        if self.replay(ctx, device)? { Ok(()) } else { self.strand.compute(ctx) }
    }
}

impl Reclaim for ReplayedStrand {
    /// Drops all recordings. Their work is not recorded again.
    fn reclaim(&self) {
        // The thread that records holds the lock, and may be the one that needs memory.
        let Some(mut recordings) = self.recordings.try_lock() else { return };
        for entry in &mut recordings.0 {
            if matches!(entry.state, State::Recorded(_)) {
                entry.state = State::Plain;
            }
        }
    }
}

/// Returns the inputs of a call, of which `None` is dead.
fn inputs(ctx: &KernelContext<'_>) -> Vec<Option<Tensor>> {
    (0..ctx.num_inputs()).map(|i| ctx.input(i).ok().cloned()).collect()
}
