//! The choice between a step's caller and the threads of an executor, from the durations of earlier steps of the same executable.
//!
//! The hand-over to an executor takes some microseconds, and a plan for several threads has tokens where one for a single thread is a plain call. What a
//! step takes is known only when it has run: the costs of nodes whose shapes are unknown are guesses.
//!
//! * A *costly* executable, one with costly nodes, begins on the executor. In each turn, [`MEASURED`] steps are measured there, and if they are not
//!   long, as many on the caller's thread. The faster way is kept for the rest of the turn. Turns become longer, because the first
//!   steps of a process are slower than others.
//! * Any other executable begins on the caller's thread, until two measured steps in a row were long.
//!
//! Concurrent steps may overwrite each other's counts, which only moves the next measurement.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A step that takes longer than this on one thread is worth the hand-over to an executor.
const LONG_STEP: Duration = Duration::from_micros(200);
/// A step of an executable without costly nodes that takes less than this on an executor was better run on the caller's thread.
const SHORT_STEP: Duration = Duration::from_micros(50);
/// Costly steps that take longer than this on an executor are not tried on the caller's thread.
const LONG_TRIAL: Duration = Duration::from_millis(1);
/// The number of steps of a costly executable after which both ways are measured again. The first turn is [`FIRST_TURN`] steps, the next ones as many as were before.
const TURN: u32 = 1024;
const FIRST_TURN: u32 = 64;
/// The number of steps that are measured in each way.
const MEASURED: u32 = 4;
/// The place in a turn of the step that makes the plan for one thread.
const PLAN: u32 = MEASURED + 1;
/// The place in a turn of the last step that is measured on the caller's thread, if any is.
const LAST_TRIAL: u32 = PLAN + MEASURED;
/// One of so many steps on the caller's thread is measured, so that small steps seldom read the clock.
const INTERVAL: u32 = 16;
/// The duration of a way that was not measured.
const UNKNOWN: u32 = u32::MAX;

/// The threads that a step runs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// The thread of its caller alone.
    Caller,
    /// The threads of an executor.
    Threads,
}

/// The way of a step, and what is measured of it.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) way: Way,
    /// The time at which a measured step began.
    began: Option<Instant>,
    /// The bytes of the arguments of a step that decides the way of a turn.
    trial: Option<usize>,
}

/// The durations of the steps of an executable.
pub(super) struct StepDurations {
    num_steps: AtomicU32,
    /// The number of long steps among the last measured ones, up to 2.
    num_long: AtomicU8,
    /// The nanoseconds of the fastest measured step of this turn on an executor.
    on_threads: AtomicU32,
    /// The nanoseconds of the fastest measured step of this turn on the caller's thread.
    on_caller: AtomicU32,
    /// The bytes of the arguments of that step. Steps with many more run on the executor.
    bytes_on_caller: AtomicUsize,
}

impl Default for StepDurations {
    fn default() -> StepDurations {
        StepDurations {
            num_steps: AtomicU32::new(0),
            num_long: AtomicU8::new(0),
            on_threads: AtomicU32::new(UNKNOWN),
            on_caller: AtomicU32::new(UNKNOWN),
            bytes_on_caller: AtomicUsize::new(0),
        }
    }
}

impl StepDurations {
    /// Chooses the way of the next step, whose arguments have `num_bytes`.
    pub(super) fn begin(&self, is_costly: bool, num_bytes: usize) -> Choice {
        let count = self.num_steps.load(Relaxed);
        self.num_steps.store(count.wrapping_add(1), Relaxed);
        if is_costly { self.begin_costly(count, num_bytes) } else { self.begin_cheap(count) }
    }

    /// The first step is not measured, because it packs weights.
    fn begin_cheap(&self, count: u32) -> Choice {
        let way = if self.are_long() { Way::Threads } else { Way::Caller };
        let is_measured = count == 1 || count == 2 || (count != 0 && count.is_multiple_of(INTERVAL));
        Choice { way, began: is_measured.then(Instant::now), trial: None }
    }

    fn begin_costly(&self, count: u32, num_bytes: usize) -> Choice {
        let measured = |way| Choice { way, began: Some(Instant::now()), trial: Some(num_bytes) };
        let unmeasured = |way| Choice { way, began: None, trial: None };
        let (on_caller, on_threads) = (u64::from(self.on_caller.load(Relaxed)), u64::from(self.on_threads.load(Relaxed)));
        match place_in_turn(count) {
            // Weights are packed.
            0 => {
                self.on_threads.store(UNKNOWN, Relaxed);
                self.on_caller.store(UNKNOWN, Relaxed);
                self.num_long.store(0, Relaxed);
                unmeasured(Way::Threads)
            }
            place if place <= MEASURED => measured(Way::Threads),
            _ if u128::from(on_threads) > LONG_TRIAL.as_nanos() => unmeasured(Way::Threads),
            // The plan for one thread is made.
            PLAN => unmeasured(Way::Caller),
            place if place <= LAST_TRIAL => measured(Way::Caller),
            // A gain of less than a twentieth may be noise.
            _ if on_caller * 20 >= on_threads * 19 => unmeasured(Way::Threads),
            _ if self.are_long() || num_bytes > self.bytes_on_caller.load(Relaxed).saturating_mul(2) => unmeasured(Way::Threads),
            _ => Choice { way: Way::Caller, began: count.is_multiple_of(INTERVAL).then(Instant::now), trial: None },
        }
    }

    /// Takes the duration of a step into account, if it is measured.
    pub(super) fn end(&self, choice: &Choice) {
        if let Some(began) = choice.began {
            self.count(choice, began.elapsed());
        }
    }

    fn count(&self, choice: &Choice, duration: Duration) {
        let Some(num_bytes) = choice.trial else {
            let num_long = self.num_long.load(Relaxed);
            let least = if choice.way == Way::Threads { SHORT_STEP } else { LONG_STEP.max(2 * self.expected()) };
            self.num_long.store(if duration < least { 0 } else { (num_long + 1).min(2) }, Relaxed);
            return;
        };
        let nanoseconds = u32::try_from(duration.as_nanos()).unwrap_or(UNKNOWN - 1);
        let least = if choice.way == Way::Threads { &self.on_threads } else { &self.on_caller };
        if nanoseconds < least.fetch_min(nanoseconds, Relaxed) && choice.way == Way::Caller {
            self.bytes_on_caller.store(num_bytes, Relaxed);
        }
    }

    /// Returns the duration of a step on the caller's thread, if it decided the way of this turn.
    fn expected(&self) -> Duration {
        match self.on_caller.load(Relaxed) {
            UNKNOWN => Duration::ZERO,
            nanoseconds => Duration::from_nanos(nanoseconds.into()),
        }
    }

    /// Returns true if the last two measured steps were long.
    fn are_long(&self) -> bool {
        self.num_long.load(Relaxed) >= 2
    }
}

/// Returns the number of steps of the turn before step `count`.
fn place_in_turn(count: u32) -> u32 {
    match count {
        ..FIRST_TURN => count,
        FIRST_TURN..TURN => count - (1 << count.ilog2()),
        _ => count % TURN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins and ends a step that takes the durations of `ways`: on the caller's thread, and on an executor.
    fn step(durations: &StepDurations, is_costly: bool, bytes: usize, [on_caller, on_threads]: [Duration; 2]) -> Choice {
        let choice = durations.begin(is_costly, bytes);
        if choice.began.is_some() {
            durations.count(&choice, if choice.way == Way::Caller { on_caller } else { on_threads });
        }
        choice
    }

    /// The ways of so many steps of a costly executable.
    fn ways(durations: &StepDurations, count: usize, bytes: usize, both: [Duration; 2]) -> Vec<Way> {
        (0..count).map(|_| step(durations, true, bytes, both).way).collect()
    }

    /// The steps of a turn up to the last one that is measured.
    const TRIAL: usize = LAST_TRIAL as usize + 1;
    const FAST: Duration = Duration::from_micros(20);
    const SLOW: Duration = Duration::from_micros(30);

    #[test]
    fn two_long_steps_in_a_row_are_run_on_an_executor_until_one_is_short() {
        let durations = StepDurations::default();
        let step = |duration: Duration| step(&durations, false, 0, [duration; 2]);
        assert!(step(9 * LONG_STEP).began.is_none(), "the first step packs weights");
        assert!(step(2 * LONG_STEP).began.is_some() && !durations.are_long());
        assert!(step(Duration::ZERO).began.is_some() && !durations.are_long());
        let next = |duration| (0..INTERVAL).filter(|_| step(duration).began.is_some()).count();
        assert_eq!(next(2 * LONG_STEP), 1);
        assert!(!durations.are_long());
        next(2 * LONG_STEP);
        assert_eq!(step(LONG_STEP / 2).way, Way::Threads);
        next(LONG_STEP / 2);
        assert_eq!(step(LONG_STEP / 2).way, Way::Threads, "a step is faster on several threads");
        next(Duration::ZERO);
        assert_eq!(step(Duration::ZERO).way, Way::Caller);
    }

    /// Asserts that the next steps are those that begin a turn.
    fn assert_trial(durations: &StepDurations, both: [Duration; 2]) {
        let found = ways(durations, TRIAL, 8, both);
        assert!(found[..PLAN as usize].iter().all(|&way| way == Way::Threads), "{found:?}");
        assert!(found[PLAN as usize..].iter().all(|&way| way == Way::Caller), "{found:?}");
    }

    #[test]
    fn costly_steps_run_where_they_are_faster() {
        for (both, way) in [([FAST, SLOW], Way::Caller), ([SLOW, FAST], Way::Threads), ([FAST, FAST], Way::Threads)] {
            let durations = StepDurations::default();
            assert_trial(&durations, both);
            assert!(ways(&durations, FIRST_TURN as usize - TRIAL, 8, both).iter().all(|&found| found == way), "{both:?}");
        }
    }

    #[test]
    fn long_costly_steps_are_not_tried_on_their_callers_thread() {
        let durations = StepDurations::default();
        assert!(ways(&durations, 2000, 8, [FAST, 2 * LONG_TRIAL]).iter().all(|&way| way == Way::Threads));
    }

    #[test]
    fn each_turn_measures_both_ways_again() {
        let durations = StepDurations::default();
        let mut next = 0;
        for turn in [64, 64, 128, 256, 512, 1024, 1024] {
            let both = if next == 0 { [FAST, SLOW] } else { [SLOW, FAST] };
            assert_trial(&durations, both);
            let found = ways(&durations, turn - TRIAL, 8, both);
            assert!(found.iter().all(|&way| way == if next == 0 { Way::Caller } else { Way::Threads }), "turn of {turn}");
            next = 1 - next;
        }
    }

    #[test]
    fn costly_steps_with_larger_arguments_run_on_the_executor() {
        let durations = StepDurations::default();
        ways(&durations, TRIAL, 8, [FAST, SLOW]);
        assert_eq!(ways(&durations, 1, 16, [FAST, SLOW]), [Way::Caller]);
        assert_eq!(ways(&durations, 1, 17, [FAST, SLOW]), [Way::Threads]);
    }

    #[test]
    fn costly_steps_that_become_long_run_on_the_executor() {
        let durations = StepDurations::default();
        ways(&durations, TRIAL, 8, [FAST, SLOW]);
        let found = ways(&durations, 2 * INTERVAL as usize + 8, 8, [2 * LONG_STEP, SLOW]);
        assert_eq!((found[0], found[found.len() - 1]), (Way::Caller, Way::Threads));
    }
}
