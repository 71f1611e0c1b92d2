//! The fork-join interface of compute kernels.
//!
//! Kernels split their work into fixed tasks and pass them to [`run`] or [`chunks`]. The scheduler decides which thread runs a task. The bits that a
//! task computes never depend on the thread.
//!
//! A program may install a [`Scheduler`] of its own. Without one, tasks go to the rayon pool of the calling thread. Rayon's global pool is never
//! used: on a thread that belongs to no pool, nothing forks.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::{Mutex, OnceLock, PoisonError};

/// A scheduler, which decides the threads that run the tasks of a computation.
pub trait Scheduler: Sync {
    /// Returns the number of threads that [`Scheduler::run`] can use, including the calling thread.
    fn threads(&self) -> usize;

    /// Returns true if another thread is waiting for tasks. A fork then costs about a microsecond instead of a wake-up.
    fn is_warm(&self) -> bool;

    /// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
    fn run(&self, pieces: usize, f: &(dyn Fn(usize) + Sync));
}

/// The scheduler of a program that has installed none: the rayon pool of the calling thread.
struct CurrentPool;

impl Scheduler for CurrentPool {
    fn threads(&self) -> usize {
        // Outside of a pool, rayon would start one of its own.
        if rayon::current_thread_index().is_none() { 1 } else { rayon::current_num_threads() }
    }

    fn is_warm(&self) -> bool {
        false
    }

    fn run(&self, pieces: usize, f: &(dyn Fn(usize) + Sync)) {
        if self.threads() == 1 {
            (0..pieces).for_each(f);
        } else {
            halve(0, pieces, f);
        }
    }
}

fn halve(first: usize, end: usize, f: &(dyn Fn(usize) + Sync)) {
    if end - first <= 1 {
        (first..end).for_each(f);
    } else {
        let middle = first + (end - first).div_ceil(2);
        rayon::join(|| halve(first, middle, f), || halve(middle, end, f));
    }
}

static INSTALLED: OnceLock<&'static dyn Scheduler> = OnceLock::new();

/// Installs the scheduler of all later computations of the process. Only the first call in a process has an effect.
pub fn install(scheduler: &'static dyn Scheduler) {
    INSTALLED.get_or_init(|| scheduler);
}

fn scheduler() -> &'static dyn Scheduler {
    INSTALLED.get().copied().unwrap_or(&CurrentPool)
}

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f`, in which nothing forks. It is for a task whose own data should stay in the cache of its thread.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    /// Restores the state, also when `f` panics.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_ALONE.set(self.0);
        }
    }
    let _restore = Restore(IS_ALONE.replace(true));
    f()
}

/// Returns the number of threads that [`run`] can use: those of the current pool, or one if the work has to stay on the calling thread.
pub fn threads() -> usize {
    if IS_ALONE.get() { 1 } else { scheduler().threads() }
}

/// Returns true if work that takes this long on one thread gains from another thread. A waiting helper joins within a microsecond; waking a sleeping
/// thread takes several times as long.
pub fn is_worth_forking(nanoseconds: usize) -> bool {
    const COLD: usize = 10_000;
    const WARM: usize = 4_000;
    nanoseconds >= WARM && threads() > 1 && (nanoseconds >= COLD || scheduler().is_warm())
}

/// Runs `f(0) … f(pieces - 1)`, each once, and returns when all are done.
pub fn run(pieces: usize, f: impl Fn(usize) + Sync) {
    if IS_ALONE.get() {
        return (0..pieces).for_each(f);
    }
    // Behind a pointer, so that the code that forks exists once and not for every kernel.
    scheduler().run(pieces, &f);
}

/// Calls `f(i, part)` for consecutive parts of `data` with these lengths, on several threads.
///
/// # Panics
/// If the lengths add up to more than `data` has.
pub fn parts<T: Send>(mut data: &mut [T], lengths: impl Iterator<Item = usize>, f: impl Fn(usize, &mut [T]) + Sync) {
    // Each lock is taken once, by the thread that the part goes to.
    let mut parts = Vec::with_capacity(lengths.size_hint().0);
    for length in lengths {
        let (part, rest) = data.split_at_mut(length);
        parts.push(Mutex::new(part));
        data = rest;
    }
    run(parts.len(), |i| f(i, &mut parts[i].lock().unwrap_or_else(PoisonError::into_inner)));
}

/// Calls `f(i, chunk)` for every chunk of `len` elements of `data` (the last may be shorter), on several threads.
pub fn chunks<T: Send>(data: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    all_chunks(data, len.max(1), &f);
}

/// The body of [`chunks`]. It takes `f` behind a pointer, so that the code that forks is not compiled for every kernel.
fn all_chunks<T: Send>(data: &mut [T], len: usize, f: &(dyn Fn(usize, &mut [T]) + Sync)) {
    if threads() == 1 || data.len() <= len {
        data.chunks_mut(len).enumerate().for_each(|(i, chunk)| f(i, chunk));
        return;
    }
    // Each lock is taken once, by the thread that the chunk goes to.
    let parts: Vec<Mutex<&mut [T]>> = data.chunks_mut(len).map(Mutex::new).collect();
    scheduler().run(parts.len(), &|i| f(i, &mut parts[i].lock().unwrap_or_else(PoisonError::into_inner)));
}

/// The error of the first task, by number, that failed.
struct FirstError<E>(Mutex<Option<(usize, E)>>);

impl<E> FirstError<E> {
    fn new() -> FirstError<E> {
        FirstError(Mutex::new(None))
    }

    fn note(&self, task: usize, result: Result<(), E>) {
        if let Err(error) = result {
            let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earlier, _)| task < *earlier) {
                *first = Some((task, error));
            }
        }
    }

    fn into_result(self) -> Result<(), E> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
    }
}

/// Like [`run`], for tasks that can fail. All tasks run.
///
/// # Errors
/// Returns the error of the first task that failed.
pub fn try_run<E: Send>(pieces: usize, f: impl Fn(usize) -> Result<(), E> + Sync) -> Result<(), E> {
    let failed = FirstError::new();
    run(pieces, |i| failed.note(i, f(i)));
    failed.into_result()
}

/// Like [`parts`], for tasks that can fail. All tasks run.
///
/// # Errors
/// Returns the error of the first task that failed.
///
/// # Panics
/// If the lengths add up to more than `data` has.
pub fn try_parts<T: Send, E: Send>(
    data: &mut [T],
    lengths: impl Iterator<Item = usize>,
    f: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = FirstError::new();
    parts(data, lengths, |i, part| failed.note(i, f(i, part)));
    failed.into_result()
}

/// Like [`chunks`], for tasks that can fail. All tasks run.
///
/// # Errors
/// Returns the error of the first task that failed.
pub fn try_chunks<T: Send, E: Send>(data: &mut [T], len: usize, f: impl Fn(usize, &mut [T]) -> Result<(), E> + Sync) -> Result<(), E> {
    let failed = FirstError::new();
    chunks(data, len, |i, chunk| failed.note(i, f(i, chunk)));
    failed.into_result()
}

/// Calls `f(i, row, state)` for every whole row of `width` elements of `data`, on several threads if the `nanoseconds` that a row takes make that
/// worthwhile. Each task makes a state for all of its rows.
pub fn rows<T: Send, S>(
    data: &mut [T],
    width: usize,
    nanoseconds: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(usize, &mut [T], &mut S) + Sync,
) {
    let done: Result<(), Infallible> = try_rows(data, width, nanoseconds, state, |i, row, state| {
        f(i, row, state);
        Ok(())
    });
    match done {
        Ok(()) => {}
        Err(never) => match never {},
    }
}

/// Like [`rows`], for rows that can fail. A task ends at its first row that fails.
///
/// # Errors
/// Returns the error of the first row that failed.
pub fn try_rows<T: Send, S, E: Send>(
    data: &mut [T],
    width: usize,
    nanoseconds: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(usize, &mut [T], &mut S) -> Result<(), E> + Sync,
) -> Result<(), E> {
    /// The time of a task that is long compared with a fork.
    const TASK_NANOSECONDS: usize = 20_000;
    let count = data.len().checked_div(width).unwrap_or(0);
    if count == 0 {
        return Ok(());
    }
    let forks = is_worth_forking(nanoseconds.saturating_mul(count));
    let rows_per_task = if forks { (TASK_NANOSECONDS / nanoseconds.max(1)).clamp(1, count) } else { count };
    try_chunks(&mut data[..count * width], rows_per_task * width, |task, rows| {
        let mut state = state();
        rows.chunks_exact_mut(width).enumerate().try_for_each(|(i, row)| f(task * rows_per_task + i, row, &mut state))
    })
}

/// Returns `f(0) … f(count - 1)`, computed on several threads if the `nanoseconds` that a call takes make that worthwhile.
pub fn map<R: Send>(count: usize, nanoseconds: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    if count < 2 || !is_worth_forking(nanoseconds.saturating_mul(count)) {
        return (0..count).map(f).collect();
    }
    let mut results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    chunks(&mut results, 1, |i, result| result[0] = Some(f(i)));
    results.into_iter().flatten().collect()
}

/// Returns range number `piece` of `pieces` nearly equal ranges that cover `0..len`.
pub fn piece(len: usize, pieces: usize, piece: usize) -> std::ops::Range<usize> {
    let (each, longer) = (len / pieces, len % pieces);
    let start = piece * each + piece.min(longer);
    start..start + each + usize::from(piece < longer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chunk_is_visited_once_with_its_number() {
        let mut data = vec![0usize; 1003];
        chunks(&mut data, 10, |i, chunk| chunk.iter_mut().for_each(|x| *x += i + 1));
        assert!(data.iter().enumerate().all(|(at, &x)| x == at / 10 + 1));
    }

    #[test]
    fn pieces_of_a_pool_run_on_its_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let seen = Mutex::new(vec![0; 100]);
        pool.install(|| {
            assert_eq!(threads(), 3);
            run(100, |i| {
                assert!(rayon::current_thread_index().is_some());
                seen.lock().unwrap()[i] += 1;
            });
        });
        assert_eq!(seen.into_inner().unwrap(), [1; 100]);
        assert_eq!(threads(), 1);
    }

    #[test]
    fn parts_have_their_lengths() {
        let mut data = vec![9usize; 10];
        let lengths = [3, 0, 5];
        parts(&mut data, lengths.into_iter(), |i, part| {
            assert_eq!(part.len(), lengths[i]);
            part.fill(i);
        });
        assert_eq!(data, [0, 0, 0, 2, 2, 2, 2, 2, 9, 9]);
    }

    #[test]
    fn nothing_forks_in_a_task_that_is_alone() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| {
            let thread = std::thread::current().id();
            alone(|| {
                assert_eq!((threads(), is_worth_forking(usize::MAX)), (1, false));
                run(50, |_| assert_eq!(std::thread::current().id(), thread));
            });
            assert!(std::panic::catch_unwind(|| alone(|| panic!("of the test"))).is_err());
            assert_eq!(threads(), 3);
        });
    }

    fn in_pool<R: Send>(f: impl FnOnce() -> R + Send) -> R {
        rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap().install(f)
    }

    #[test]
    fn the_error_of_the_first_task_is_returned() {
        let fail = |i: usize| if i % 7 == 4 { Err(i) } else { Ok(()) };
        assert_eq!(in_pool(|| try_run(30, fail)), Err(4));
        assert_eq!(in_pool(|| try_chunks(&mut [0; 30], 2, |i, _| fail(i))), Err(4));
        assert_eq!(in_pool(|| try_parts(&mut [0; 30], [1; 9].into_iter(), |i, _| fail(i))), Err(4));
        assert_eq!(in_pool(|| try_chunks(&mut [0; 6], 2, |i, _| fail(i))), Ok(()));
    }

    #[test]
    fn rows_have_their_numbers_in_any_number_of_tasks() {
        for (nanoseconds, threads) in [(1, 1), (900, 3), (1_000_000, 3)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut data = vec![0usize; 3 * 101 + 2];
            pool.install(|| {
                rows(&mut data, 3, nanoseconds, || (), |i, row, ()| row.fill(i));
            });
            assert!(data[..303].iter().enumerate().all(|(at, &x)| x == at / 3));
            assert_eq!(data[303..], [0, 0]);
            let failed = pool.install(|| try_rows(&mut data, 3, nanoseconds, || (), |i, _, ()| if i >= 40 { Err(i) } else { Ok(()) }));
            assert_eq!(failed, Err(40));
        }
        rows(&mut [1, 2], 0, 1, || (), |_, row, ()| row.fill(0));
    }

    #[test]
    fn a_task_has_one_state_for_its_rows() {
        let states = Mutex::new(0);
        let count = || *states.lock().unwrap() += 1;
        rows(&mut [0; 100], 1, 1, count, |_, _, ()| {});
        assert_eq!(*states.lock().unwrap(), 1);
        in_pool(|| rows(&mut [0; 100], 1, 1000, count, |_, _, ()| {}));
        assert_eq!(*states.lock().unwrap(), 6);
    }

    #[test]
    fn results_of_map_are_in_order() {
        for nanoseconds in [1, 1_000_000] {
            assert_eq!(in_pool(|| map(100, nanoseconds, |i| i * i)), (0..100).map(|i| i * i).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pieces_cover_the_range() {
        let ranges: Vec<_> = (0..3).map(|i| piece(10, 3, i)).collect();
        assert_eq!(ranges, [0..4, 4..7, 7..10]);
    }
}
