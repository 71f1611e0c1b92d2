//! The plan cache of a session. Concurrent requests for one signature compile it once. The least recently used plans are evicted.

use super::Signature;
use super::executable::Executable;
use flowmill_tensor::Result;
use flowmill_tensor::sync::{Condvar, Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Plans {
    /// The capacity, at least 1.
    limit: usize,
    ready: RwLock<FxHashMap<Signature, Entry>>,
    flights: Mutex<FxHashMap<Signature, Arc<Flight>>>,
    /// Counts look-ups; the clock of [`Entry::last_use`].
    clock: AtomicU64,
    num_evicted: AtomicU64,
}

struct Entry {
    executable: Arc<Executable>,
    last_use: AtomicU64,
}

/// A signature that some thread is compiling.
struct Flight {
    /// The graph's count of changes when the compilation began. An error is valid for this version of the graph only.
    change_count: u64,
    /// The id of the compiling process. In a forked process, the threads of the parent do not exist, so their flights never land.
    process: u32,
    landed: Mutex<Option<Landed>>,
    changed: Condvar,
}

#[derive(Clone)]
enum Landed {
    With(Result<Arc<Executable>>),
    /// The compiling thread panicked.
    Without,
}

thread_local! {
    /// True while this thread compiles. It then waits for no other flight, because that flight might wait for this thread's.
    static IS_COMPILING: Cell<bool> = const { Cell::new(false) };
}

impl Plans {
    pub(super) fn new(limit: usize) -> Plans {
        Plans {
            limit: limit.max(1),
            ready: RwLock::default(),
            flights: Mutex::default(),
            clock: AtomicU64::new(0),
            num_evicted: AtomicU64::new(0),
        }
    }

    /// Returns the number of plans that are ready.
    pub(super) fn num_ready(&self) -> usize {
        self.ready.read().len()
    }

    /// Returns the number of plans that were evicted.
    pub(super) fn num_evicted(&self) -> u64 {
        self.num_evicted.load(Ordering::Relaxed)
    }

    /// Returns the signature's plan, if there is one that `fits`.
    pub(super) fn get(&self, signature: &Signature, fits: impl Fn(&Executable) -> bool) -> Option<Arc<Executable>> {
        let ready = self.ready.read();
        let entry = ready.get(signature).filter(|entry| fits(&entry.executable))?;
        entry.last_use.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(entry.executable.clone())
    }

    /// Compiles with `make`, or waits for a thread that is compiling the same signature. Returns `None` if the other thread's result does not fit;
    /// the caller then reads the graph again.
    ///
    /// # Errors
    /// Returns the error of `make`, or of another thread that compiled for the same version of the graph.
    pub(super) fn make(
        &self,
        signature: &Signature,
        change_count: u64,
        fits: impl Fn(&Executable) -> bool,
        make: impl FnOnce() -> Result<Executable>,
    ) -> Result<Option<Arc<Executable>>> {
        let mine = Arc::new(Flight { change_count, process: std::process::id(), landed: Mutex::new(None), changed: Condvar::new() });
        if !IS_COMPILING.get() {
            let mut flights = self.flights.lock();
            if let Some(flight) = flights.get(signature).filter(|flight| flight.process == mine.process).cloned() {
                drop(flights);
                // It may hold the graph's lock, which nobody keeps while waiting.
                drop(make);
                return match flight.wait() {
                    Landed::With(Ok(executable)) => Ok(Some(executable).filter(|e| fits(e))),
                    Landed::With(Err(error)) if flight.change_count == change_count => Err(error),
                    Landed::With(Err(_)) | Landed::Without => Ok(None),
                };
            }
            flights.insert(signature.clone(), mine.clone());
        }
        let landing = Landing { plans: self, signature, flight: &mine, was_compiling: IS_COMPILING.replace(true) };
        let made = make().map(Arc::new);
        if let Ok(executable) = &made {
            self.insert(signature.clone(), executable.clone());
        }
        *mine.landed.lock() = Some(Landed::With(made.clone()));
        drop(landing);
        made.map(Some)
    }

    /// Replaces the plan of a signature, if it still is `old`.
    pub(super) fn replace(&self, signature: &Signature, old: &Arc<Executable>, new: Arc<Executable>) {
        let mut ready = self.ready.write();
        let entry = ready.get_mut(signature).filter(|entry| Arc::ptr_eq(&entry.executable, old));
        let dropped = entry.map(|entry| std::mem::replace(&mut entry.executable, new));
        drop(ready);
        drop(dropped);
    }

    fn insert(&self, signature: Signature, executable: Arc<Executable>) {
        let mut dropped = Vec::new();
        let mut ready = self.ready.write();
        let last_use = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        dropped.extend(ready.insert(signature, Entry { executable, last_use }));
        while ready.len() > self.limit {
            let oldest =
                ready.iter().min_by_key(|(_, entry)| entry.last_use.load(Ordering::Relaxed)).map(|(signature, _)| signature.clone());
            let Some(oldest) = oldest else { break };
            dropped.extend(ready.remove(&oldest));
            self.num_evicted.fetch_add(1, Ordering::Relaxed);
        }
        // What plans own is dropped outside of the lock: dropping a kernel may run a finalizer of Python.
        drop(ready);
    }
}

impl Flight {
    fn wait(&self) -> Landed {
        let mut landed = self.landed.lock();
        loop {
            match &*landed {
                Some(landed) => return landed.clone(),
                None => landed = self.changed.wait(landed),
            }
        }
    }
}

/// Ends a flight, also when its thread panics.
struct Landing<'a> {
    plans: &'a Plans,
    signature: &'a Signature,
    flight: &'a Arc<Flight>,
    was_compiling: bool,
}

impl Drop for Landing<'_> {
    fn drop(&mut self) {
        IS_COMPILING.set(self.was_compiling);
        let mut flights = self.plans.flights.lock();
        if flights.get(self.signature).is_some_and(|flight| Arc::ptr_eq(flight, self.flight)) {
            flights.remove(self.signature);
        }
        drop(flights);
        self.flight.landed.lock().get_or_insert(Landed::Without);
        self.flight.changed.notify_all();
    }
}
