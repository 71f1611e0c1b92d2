//! Choices between ways to compute a node, made by measurement and remembered between processes.
//!
//! A kernel that can compute in several ways describes its work by a *key*, ranks its ways by estimates, and asks a [`Tuner`]. The tuner answers from a
//! [`TuningTable`]: with the choice that the table remembers for the key, else with one that it measures, else with the estimate. Keys, names and trials
//! are the kernel's own, so that any kernel may use the table.
//!
//! # When it measures
//! * The first way takes at least [`MIN_STEP`] by estimate: a smaller node is not worth the time.
//! * Another way takes at most [`MAX_RATIO`] times as long by estimate. Only such ways are measured, at most [`MAX_CANDIDATES`].
//! * The measurement takes at most [`STEPS`] times as long as the node by estimate, so that a model of a few milliseconds does not wait long for its
//!   first step, and at most what is left of the plan's budget ([`TuningOptions::budget`]).
//!
//! The ways take turns on one thread, and the least time of each counts. The way that is first by estimate is kept unless another saves [`MIN_GAIN`].
//!
//! # When it answers
//! A choice decides about roundings. So a table answers a key once, and in the same way for as long as it lives, whatever the answer was and whoever asks:
//! plans of all batch sizes, sessions and threads of a process get one choice per key. Only measured choices are written to the file.

mod file;
mod processor;
mod table;

use flowmill_tensor::sync::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use file::{TuningFile, TuningHeader};
pub use processor::processor;
pub use table::{TuningStats, TuningTable};

/// The least estimated time of a node that is measured.
pub const MIN_STEP: Duration = Duration::from_micros(100);
/// The largest ratio of the estimates of a way that is measured and of the first way.
pub const MAX_RATIO: u32 = 2;
/// The most ways that are measured of one node.
pub const MAX_CANDIDATES: usize = 3;
/// The most time of a node's measurement, in estimated times of the node.
pub const STEPS: u32 = 32;
/// The most rounds in which each way runs once. The first round is not timed.
const MAX_ROUNDS: usize = 12;
/// The least rounds of a measurement that counts, with the first.
const MIN_ROUNDS: usize = 4;
/// The share of the time that another way than the first must save.
pub const MIN_GAIN: f64 = 0.05;

/// The sources of a tuner's choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuningMode {
    /// Uses estimates alone. Results then have the same bits in all processes on CPUs of one instruction set.
    Off,
    /// Uses choices that earlier processes measured, and measures nothing.
    Remembered,
    /// Uses choices that earlier processes measured, and measures others.
    Measured,
}

impl TuningMode {
    /// Returns the mode that `FLOWMILL_TUNING` in the environment names: `0` for [`TuningMode::Off`], `read` for [`TuningMode::Remembered`], `1` for
    /// [`TuningMode::Measured`]. Without one of these it is `Measured`, but `Off` in debug builds, whose times say nothing.
    pub fn from_env() -> TuningMode {
        match std::env::var("FLOWMILL_TUNING").as_deref() {
            Ok("0") => TuningMode::Off,
            Ok("read") => TuningMode::Remembered,
            Ok("1") => TuningMode::Measured,
            _ if cfg!(debug_assertions) => TuningMode::Off,
            _ => TuningMode::Measured,
        }
    }
}

/// Returns the time since some point in the past.
pub type TuningClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Options of the tuners of a session.
#[derive(Clone)]
pub struct TuningOptions {
    /// The sources of the choices.
    pub mode: TuningMode,
    /// The most time that the measurements of one plan take together.
    pub budget: Duration,
    /// The table of choices.
    pub table: Arc<TuningTable>,
    /// The clock of measurements.
    pub clock: TuningClock,
}

impl TuningOptions {
    /// The usual budget of a plan.
    pub const BUDGET: Duration = Duration::from_millis(200);
}

impl Default for TuningOptions {
    /// Returns the options of the environment, with the table that all sessions of the process share.
    fn default() -> TuningOptions {
        let start = Instant::now();
        TuningOptions {
            mode: TuningMode::from_env(),
            budget: TuningOptions::BUDGET,
            table: TuningTable::shared().clone(),
            clock: Arc::new(move || start.elapsed()),
        }
    }
}

impl fmt::Debug for TuningOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TuningOptions")
            .field("mode", &self.mode)
            .field("budget", &self.budget)
            .field("table", &self.table)
            .finish_non_exhaustive()
    }
}

/// A way to compute a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TuningCandidate {
    /// A name of one word, which the table remembers.
    pub name: &'static str,
    /// The estimated time of the node in a step.
    pub per_step: Duration,
    /// The estimated time of making a trial.
    pub preparation: Duration,
    /// The estimated time of a run of the trial.
    pub run: Duration,
}

/// The reason for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceSource {
    /// The estimates.
    Estimated,
    /// A measurement, of this process or of an earlier one.
    Measured,
}

/// A choice between candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TuningChoice {
    /// The number of the candidate.
    pub candidate: usize,
    /// The reason.
    pub source: ChoiceSource,
}

impl TuningChoice {
    const ESTIMATE: TuningChoice = TuningChoice { candidate: 0, source: ChoiceSource::Estimated };
}

/// A run of a trial, which computes the node once.
pub type TuningTrial<'a> = Box<dyn FnMut() + 'a>;

/// Chooses for the kernels of one plan.
pub struct Tuner {
    options: TuningOptions,
    /// The rest of the plan's budget. A measurement takes its part before it begins and returns the rest.
    budget: Mutex<Duration>,
}

impl Tuner {
    /// Makes the tuner of a plan.
    pub fn new(options: TuningOptions) -> Arc<Tuner> {
        let budget = Mutex::new(options.budget);
        Arc::new(Tuner { options, budget })
    }

    /// Returns a tuner that uses estimates alone.
    pub fn off() -> &'static Arc<Tuner> {
        static OFF: OnceLock<Arc<Tuner>> = OnceLock::new();
        OFF.get_or_init(|| Tuner::new(TuningOptions { mode: TuningMode::Off, ..TuningOptions::default() }))
    }

    /// Returns true if the tuner uses estimates alone. Its choice is then the first candidate, whatever the key.
    pub fn is_off(&self) -> bool {
        self.options.mode == TuningMode::Off
    }

    /// Chooses one of `candidates`, the first of which is the fastest by estimate, for all work that `key` describes. `prepare` makes the trial of a
    /// candidate. It is not called if the choice is known or not measured.
    pub fn choose<'a>(&self, key: &str, candidates: &[TuningCandidate], mut prepare: impl FnMut(usize) -> TuningTrial<'a>) -> TuningChoice {
        if self.is_off() || candidates.len() < 2 {
            return TuningChoice::ESTIMATE;
        }
        let table = &self.options.table;
        if let Some(known) = table.decided(key, candidates) {
            return known;
        }
        let fastest = if self.options.mode == TuningMode::Measured { self.measure(candidates, &mut prepare) } else { None };
        let choice = fastest.map_or(TuningChoice::ESTIMATE, |candidate| TuningChoice { candidate, source: ChoiceSource::Measured });
        table.decide(key, choice, candidates)
    }

    /// Writes the table's new choices to its file. Costs nothing if there are none.
    pub fn save(&self) {
        self.options.table.save();
    }

    /// Returns the fastest of the candidates that are worth a measurement; `None` if they are not measured.
    fn measure<'a>(&self, candidates: &[TuningCandidate], prepare: &mut impl FnMut(usize) -> TuningTrial<'a>) -> Option<usize> {
        let first = candidates.first()?;
        let most = first.per_step * MAX_RATIO;
        let count = candidates.iter().take(MAX_CANDIDATES).take_while(|candidate| candidate.per_step <= most).count();
        if first.per_step < MIN_STEP || count < 2 {
            return None;
        }
        let expected: Duration = candidates[..count].iter().map(|c| c.preparation + c.run * MIN_ROUNDS as u32).sum();
        let limit = self.reserve(first.per_step * STEPS, expected)?;
        let start = (self.options.clock)();
        let elapsed = || (self.options.clock)().saturating_sub(start);
        let times = self.time(&candidates[..count], prepare, &|| elapsed() >= limit);
        let mut budget = self.budget.lock();
        *budget = (*budget + limit).saturating_sub(elapsed());
        drop(budget);
        let times = times?;
        let seconds = |i: usize| times[i].as_secs_f64();
        let fastest = (0..count).min_by(|&a, &b| seconds(a).total_cmp(&seconds(b)))?;
        Some(if seconds(fastest) < (1.0 - MIN_GAIN) * seconds(0) { fastest } else { 0 })
    }

    /// Takes up to `wanted` of the budget. Returns `None`, and takes nothing, if that is less than `expected`.
    fn reserve(&self, wanted: Duration, expected: Duration) -> Option<Duration> {
        let mut budget = self.budget.lock();
        let limit = wanted.min(*budget);
        if limit < expected {
            return None;
        }
        *budget -= limit;
        Some(limit)
    }

    /// Returns the least time of each candidate; `None` if the time is over before [`MIN_ROUNDS`] rounds.
    fn time<'a>(
        &self,
        candidates: &[TuningCandidate],
        prepare: &mut impl FnMut(usize) -> TuningTrial<'a>,
        is_over: &impl Fn() -> bool,
    ) -> Option<Vec<Duration>> {
        let mut trials = Vec::with_capacity(candidates.len());
        for i in 0..candidates.len() {
            if is_over() {
                return None;
            }
            trials.push((prepare(i), Duration::MAX));
        }
        for round in 0..MAX_ROUNDS {
            for (trial, least) in &mut trials {
                if is_over() {
                    return (round >= MIN_ROUNDS).then(|| trials.iter().map(|(_, least)| *least).collect());
                }
                let start = (self.options.clock)();
                trial();
                let time = (self.options.clock)().saturating_sub(start);
                if round > 0 {
                    *least = time.min(*least);
                }
            }
        }
        Some(trials.iter().map(|(_, least)| *least).collect())
    }
}

impl fmt::Debug for Tuner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tuner").field("options", &self.options).field("budget", &*self.budget.lock()).finish()
    }
}
