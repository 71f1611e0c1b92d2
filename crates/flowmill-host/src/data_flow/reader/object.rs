//! The object behind a reader's handle: its position in a file, and the calls that wait to read.
//!
//! One call reads at a time. It may wait for the queue to supply the next file's name; meanwhile, later calls wait for it.

use super::super::queue::{Queue, dequeue_one};
use super::super::wait_list::{Calls, Ended, Serve, WaitList};
use super::format::{Format, Source};
use flowmill_runtime::AsyncContext;
use flowmill_tensor::sync::{Mutex, MutexGuard};
use flowmill_tensor::{Allocator, Bytes, Resource, Result, Tensor, bail};
use prost::Message;
use std::sync::Arc;

/// The number of records that a call requests.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// One record, as scalars.
    One,
    /// A vector of at least one and at most so many records.
    UpTo(usize),
}

/// The state that `ReaderSerializeState` outputs: TensorFlow's message `ReaderBaseState`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct SavedState {
    #[prost(int64, tag = "1")]
    work_started: i64,
    #[prost(int64, tag = "2")]
    work_finished: i64,
    #[prost(int64, tag = "3")]
    records_produced: i64,
    #[prost(bytes = "bytes", tag = "4")]
    current_work: Bytes,
}

/// The position of a reader.
#[derive(Default)]
pub(super) struct State {
    source: Option<Source>,
    work: Bytes,
    work_started: i64,
    pub(super) work_finished: i64,
    pub(super) records_produced: i64,
}

/// A reader of any format.
pub(super) struct Reader {
    name: String,
    format: Format,
    state: Mutex<State>,
    waiting: WaitList<ReaderLock>,
}

/// The state that decides which call may read.
struct ReaderLock {
    /// True if a call is reading, or is waiting for its queue.
    busy: bool,
}

/// A call that waits to read.
struct ReadRequest {
    reader: Arc<Reader>,
    queue: Arc<Queue>,
    wanted: Wanted,
}

impl Serve for ReaderLock {
    type Request = ReadRequest;
    type Next = ();

    fn next(&mut self, calls: &mut Calls<ReadRequest>) -> Option<(Ended<ReadRequest>, ())> {
        let first = if self.busy { None } else { calls.remove(0) }?;
        self.busy = true;
        Some((first, ()))
    }

    fn go_on(call: Ended<ReadRequest>, (): ()) {
        let (request, ctx) = call.into_parts();
        let reader = request.reader.clone();
        reader.serve_all(Some(Call { ctx, queue: request.queue, wanted: request.wanted }));
    }
}

struct Call {
    ctx: AsyncContext,
    queue: Arc<Queue>,
    wanted: Wanted,
}

/// The place where the queue's answer and the call that requested it are stored: whichever arrives second continues the call.
enum PendingName {
    Empty,
    Answer(Result<Vec<Option<Tensor>>>),
    Parked(Call),
}

impl Resource for Reader {
    fn type_name(&self) -> &'static str {
        "Reader"
    }
}

impl Reader {
    pub(super) fn new(name: &str, format: Format) -> Reader {
        Reader { name: name.to_owned(), format, state: Mutex::default(), waiting: WaitList::new(ReaderLock { busy: false }) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Reads now, or when the earlier calls have ended. `ctx` is ended exactly once.
    pub(super) fn read(self: &Arc<Self>, queue: Arc<Queue>, wanted: Wanted, ctx: AsyncContext) {
        self.waiting.wait(ReadRequest { reader: self.clone(), queue, wanted }, ctx);
    }

    /// Releases the reader, and returns the next waiting call, if any.
    fn next_call(&self) -> Option<Call> {
        self.waiting.lock().state.busy = false;
        let (ended, ()) = self.waiting.next()?;
        let (ReadRequest { queue, wanted, .. }, ctx) = ended.into_parts();
        Some(Call { ctx, queue, wanted })
    }

    /// Serves a call and those after it, until one has to wait for its queue.
    fn serve_all(self: &Arc<Self>, call: Option<Call>) {
        let mut next = call.or_else(|| self.next_call());
        while let Some(call) = next {
            if !self.serve(call) {
                return;
            }
            next = self.next_call();
        }
    }

    /// Reads for a call until it has ended, and returns true. Returns false if the call waits for its queue, whose answer will continue it.
    fn serve(self: &Arc<Self>, mut call: Call) -> bool {
        loop {
            match self.records(call.wanted) {
                Err(e) => {
                    call.ctx.done(Err(e));
                    return true;
                }
                Ok(Some(records)) => {
                    let outputs = outputs(call.ctx.allocator(), call.wanted, &records);
                    call.ctx.done(outputs);
                    return true;
                }
                Ok(None) => {}
            }
            let pending = Arc::new(Mutex::new(PendingName::Empty));
            let (reader, place) = (self.clone(), pending.clone());
            let done = Box::new(move |answer| {
                let mut there = place.lock();
                match std::mem::replace(&mut *there, PendingName::Empty) {
                    PendingName::Parked(call) => {
                        drop(there);
                        let call = reader.begin(call, answer);
                        reader.serve_all(call);
                    }
                    _ => *there = PendingName::Answer(answer),
                }
            });
            dequeue_one(&call.queue, AsyncContext::new(Vec::new(), call.ctx.device_step().clone(), done));
            let mut there = pending.lock();
            let PendingName::Answer(answer) = std::mem::replace(&mut *there, PendingName::Empty) else {
                *there = PendingName::Parked(call);
                return false;
            };
            drop(there);
            match self.begin(call, answer) {
                Some(ready) => call = ready,
                None => return true,
            }
        }
    }

    /// Opens the file that the queue named. Returns the call, or `None` if it ended with an error.
    fn begin(&self, call: Call, answer: Result<Vec<Option<Tensor>>>) -> Option<Call> {
        match answer.and_then(|element| self.open(&element)) {
            Ok(()) => Some(call),
            Err(e) => {
                call.ctx.done(Err(e));
                None
            }
        }
    }

    fn open(&self, element: &[Option<Tensor>]) -> Result<()> {
        let [Some(work)] = element else { bail!(InvalidArgument, "Expected single component queue") };
        let Ok(texts) = work.as_strings() else { bail!(InvalidArgument, "Expected queue with single string component") };
        let [work] = texts else { bail!(InvalidArgument, "Expected to dequeue a one-element string tensor") };
        let mut state = self.state.lock();
        state.work = work.clone();
        // A file that cannot be opened does not count as started.
        state.source = Some(self.format.open(work)?);
        state.work_started += 1;
        Ok(())
    }

    /// Returns records of the current file, or `None` if there is no file or its end was reached.
    fn records(&self, wanted: Wanted) -> Result<Option<Vec<(Bytes, Bytes)>>> {
        let mut state = self.state.lock();
        let Some(mut source) = state.source.take() else { return Ok(None) };
        let limit = match wanted {
            Wanted::One => 1,
            Wanted::UpTo(limit) => limit,
        };
        let mut records = Vec::new();
        let outcome = loop {
            if records.len() == limit {
                break Ok(false);
            }
            match source.next() {
                Ok(Some(record)) => {
                    records.push(record);
                    if source.is_used_up() {
                        break Ok(true);
                    }
                }
                Ok(None) => break Ok(true),
                Err(e) => break Err(e),
            }
        };
        state.records_produced += records.len() as i64;
        match outcome {
            Ok(false) => state.source = Some(source),
            Ok(true) => state.work_finished = state.work_started,
            // A file with an error stays the current file, as in TensorFlow.
            Err(e) => {
                state.source = Some(source);
                return Err(e);
            }
        }
        Ok(if records.is_empty() { None } else { Some(records) })
    }

    /// Resets the file and the counts.
    pub(super) fn reset(&self) -> Result<()> {
        *self.state.lock() = State::default();
        Ok(())
    }

    /// Returns the state, if the format's state consists of counts only.
    pub(super) fn serialized(&self) -> Result<SavedState> {
        if !self.format.has_plain_state() {
            bail!(Unimplemented, "Reader SerializeState");
        }
        let state = self.state.lock();
        Ok(SavedState {
            work_started: state.work_started,
            work_finished: state.work_finished,
            records_produced: state.records_produced,
            current_work: state.work.clone(),
        })
    }

    /// Restores a state that [`Reader::serialized`] returned.
    pub(super) fn restore(&self, saved: &Bytes) -> Result<()> {
        if !self.format.has_plain_state() {
            bail!(Unimplemented, "Reader RestoreState");
        }
        let Ok(saved) = SavedState::decode(saved.clone()) else {
            bail!(InvalidArgument, "Could not parse state for {} '{}'", self.format.kind(), self.name);
        };
        if saved.work_started < 0 || saved.work_finished < 0 || saved.records_produced < 0 || saved.work_started < saved.work_finished {
            bail!(InvalidArgument, "Inconsistent work started vs. finished when restoring in {}: {saved:?}", self.name);
        }
        let source = if saved.work_started > saved.work_finished { Some(self.format.open(&saved.current_work)?) } else { None };
        *self.state.lock() = State {
            source,
            work: saved.current_work,
            work_started: saved.work_started,
            work_finished: saved.work_finished,
            records_produced: saved.records_produced,
        };
        Ok(())
    }
}

/// Returns keys and values, as scalars or vectors.
fn outputs(alloc: &Allocator, wanted: Wanted, records: &[(Bytes, Bytes)]) -> Result<Vec<Option<Tensor>>> {
    if let (Wanted::One, [(key, value)]) = (wanted, records) {
        return Ok(vec![Some(alloc.string(key.clone())?), Some(alloc.string(value.clone())?)]);
    }
    let column = |of: fn(&(Bytes, Bytes)) -> &Bytes| alloc.from_strings([records.len()], records.iter().map(of).cloned().collect());
    Ok(vec![Some(column(|r| &r.0)?), Some(column(|r| &r.1)?)])
}
