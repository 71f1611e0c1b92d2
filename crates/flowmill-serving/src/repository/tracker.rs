//! The versions of all models, and the decisions of what to load and unload.
//!
//! A scan says which versions are wanted. [`Tracker::reconcile`] compares that with what is loaded. It queues each wanted version that is not loaded
//! yet, the largest number first, and takes an unwanted version out of service if another version of the model is available, or if no version is wanted.

use super::config::{ControlMode, ModelConfig, RepositoryConfig};
use super::scan::{Listing, Source, no_versions};
use super::serving::{Loaded, ServingModel};
use super::workers::LoadJob;
use super::{StateChange, VersionState, VersionStatus};
use flowmill::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The most versions of one model that are listed after they ended.
pub const MAX_ENDED_VERSIONS: usize = 16;

/// The time for which a version is listed after it ended.
pub const ENDED_VERSION_LIFETIME: Duration = Duration::from_secs(3600);

pub(super) struct Tracker<M: Send + Sync + 'static> {
    pub(super) config: Arc<RepositoryConfig>,
    /// The models that were loaded explicitly.
    pub(super) wanted: BTreeSet<String>,
    pub(super) models: BTreeMap<Arc<str>, TrackedModel<M>>,
    pub(super) is_closed: bool,
    /// The number of changes so far.
    pub(super) changes: u64,
}

pub(super) struct TrackedModel<M: Send + Sync + 'static> {
    /// `None` if the model is no longer to be served.
    pub(super) config: Option<Arc<ModelConfig>>,
    /// The labels in effect.
    pub(super) labels: BTreeMap<String, i64>,
    /// The error of the last scan.
    pub(super) error: Option<Error>,
    pub(super) versions: BTreeMap<i64, TrackedVersion<M>>,
    /// True if the snapshot of lookups differs from `versions` and `labels`.
    is_dirty: bool,
}

pub(super) struct TrackedVersion<M: Send + Sync + 'static> {
    /// The files to load; `None` if the version is not to be served.
    wanted: Option<Source>,
    serving: Option<(Source, Arc<Loaded<M>>)>,
    attempt: Attempt,
    /// The error of the last attempt.
    error: Option<Error>,
    /// The number of models of this version that were taken out of service and are not dropped yet.
    draining: usize,
    ended: Option<Instant>,
    reported: Option<VersionState>,
}

enum Attempt {
    None,
    Queued { failures: u32 },
    Running { failures: u32, source: Source },
    Failed { failures: u32, source: Source, retry_at: Option<Instant> },
}

/// The actions that the caller of [`Tracker::reconcile`] has to take.
pub(super) struct Effects<M: Send + Sync + 'static> {
    pub(super) loads: Vec<LoadJob>,
    /// Handles that are out of service, to be dropped without the lock.
    pub(super) dropped: Vec<Arc<Loaded<M>>>,
    /// The models whose entry in the snapshot changes.
    pub(super) published: Vec<Arc<str>>,
    pub(super) changes: Vec<StateChange>,
}

/// The progress of the wanted versions of a model.
pub(super) enum Progress {
    Pending,
    Done,
    Failed(Error),
}

impl<M: Send + Sync + 'static> Tracker<M> {
    pub(super) fn new(config: RepositoryConfig) -> Tracker<M> {
        let wanted = config.startup_models.clone();
        Tracker { config: Arc::new(config), wanted, models: BTreeMap::new(), is_closed: false, changes: 0 }
    }

    /// Takes over what a scan of all models, or of `only` one, found. Models that it did not list are unloaded. With `adopt_labels`, the configured labels
    /// of models that are new take effect at once.
    pub(super) fn apply(&mut self, mut listings: BTreeMap<Arc<str>, Listing>, only: Option<&str>, adopt_labels: bool) {
        for (name, model) in self.models.iter_mut().filter(|(name, _)| only.is_none_or(|only| only == &***name)) {
            match listings.remove(name) {
                Some(listing) => model.apply(listing, adopt_labels),
                None => model.remove(),
            }
        }
        for (name, listing) in listings {
            let mut model = TrackedModel::new();
            model.apply(listing, adopt_labels);
            self.models.insert(name, model);
        }
    }

    /// Takes a job from the queue: returns the files to load, unless the version is not wanted any more.
    pub(super) fn begin_load(&mut self, job: &LoadJob) -> Option<(Arc<ModelConfig>, Source)> {
        let model = self.models.get_mut(&job.model)?;
        let version = model.versions.get_mut(&job.version)?;
        let Attempt::Queued { failures } = version.attempt else { return None };
        let (Some(config), Some(source)) = (&model.config, &version.wanted) else {
            version.attempt = Attempt::None;
            return None;
        };
        version.attempt = Attempt::Running { failures, source: source.clone() };
        Some((config.clone(), source.clone()))
    }

    /// Ends a load. Returns a model to drop: the one that this one replaces, or this one if it is not wanted any more.
    pub(super) fn end_load(&mut self, job: &LoadJob, result: Result<Arc<Loaded<M>>>) -> Option<Arc<Loaded<M>>> {
        let (max_retries, interval) = (self.config.max_num_load_retries, self.config.load_retry_interval);
        // A model with a running load is never forgotten.
        let model = self.models.get_mut(&job.model)?;
        let version = model.versions.get_mut(&job.version)?;
        let Attempt::Running { failures, source } = std::mem::replace(&mut version.attempt, Attempt::None) else { return None };
        match result {
            Ok(loaded) if version.wanted.is_some() => {
                version.error = None;
                let replaced = version.serving.replace((source, loaded)).map(|(_, handle)| handle);
                version.draining += usize::from(replaced.is_some());
                model.is_dirty = true;
                replaced
            }
            Ok(loaded) => {
                version.error = None;
                version.draining += 1;
                Some(loaded)
            }
            Err(error) => {
                let failures = failures.saturating_add(1);
                let retry_at = (failures <= max_retries).then(|| Instant::now().checked_add(interval)).flatten();
                version.error = Some(error);
                version.attempt = Attempt::Failed { failures, source, retry_at };
                None
            }
        }
    }

    /// Notes that a model which was out of service is dropped.
    pub(super) fn end_unload(&mut self, model: &str, version: i64) {
        if let Some(version) = self.models.get_mut(model).and_then(|model| model.versions.get_mut(&version)) {
            version.draining = version.draining.saturating_sub(1);
        }
    }

    /// Decides what to load and what to take out of service, and forgets versions that ended long ago.
    pub(super) fn reconcile(&mut self, now: Instant) -> Effects<M> {
        let mut effects = Effects { loads: Vec::new(), dropped: Vec::new(), published: Vec::new(), changes: Vec::new() };
        let is_closed = self.is_closed;
        for (name, model) in &mut self.models {
            if is_closed {
                model.remove();
            }
            model.load(name, now, &mut effects);
            model.unload(&mut effects);
            model.report(name, now, &mut effects);
            model.forget(now);
            if std::mem::take(&mut model.is_dirty) {
                effects.published.push(name.clone());
            }
        }
        self.models.retain(|_, model| model.config.is_some() || !model.versions.is_empty());
        effects
    }

    /// Returns the time between two looks at the file system, if there is another one.
    pub(super) fn poll_interval(&self) -> Option<Duration> {
        self.config.file_system_poll_wait.filter(|_| self.config.mode == ControlMode::Poll)
    }

    /// Returns the time of the next retry.
    pub(super) fn next_retry(&self) -> Option<Instant> {
        let versions = self.models.values().flat_map(|model| model.versions.values());
        let times = versions.filter_map(|version| match version.attempt {
            Attempt::Failed { retry_at, .. } if version.wanted.is_some() => retry_at,
            _ => None,
        });
        times.min()
    }

    /// Returns true if nothing is loaded, being loaded or being dropped.
    pub(super) fn is_empty(&self) -> bool {
        let is_gone = |version: &TrackedVersion<M>| version.serving.is_none() && version.draining == 0 && !version.is_running();
        self.models.values().all(|model| model.versions.values().all(is_gone))
    }
}

impl<M: Send + Sync + 'static> TrackedModel<M> {
    fn new() -> TrackedModel<M> {
        TrackedModel { config: None, labels: BTreeMap::new(), error: None, versions: BTreeMap::new(), is_dirty: false }
    }

    fn apply(&mut self, listing: Listing, adopt_labels: bool) {
        if adopt_labels && self.config.is_none() {
            self.set_labels(listing.config.labels.clone());
        }
        self.config = Some(listing.config);
        match listing.versions {
            Ok(mut found) => {
                self.error = None;
                for (number, version) in &mut self.versions {
                    version.wanted = found.remove(number);
                }
                for (number, source) in found {
                    self.versions.insert(number, TrackedVersion::new(source));
                }
            }
            // A base path that cannot be read for a moment must not unload the model.
            Err(error) => self.error = Some(error),
        }
    }

    /// Notes that the model is not to be served any more.
    pub(super) fn remove(&mut self) {
        self.config = None;
        self.error = None;
        self.labels.clear();
        self.versions.values_mut().for_each(|version| version.wanted = None);
    }

    /// Tries versions that failed again, without waiting for the next retry.
    pub(super) fn forget_failures(&mut self) {
        for version in self.versions.values_mut().filter(|version| matches!(version.attempt, Attempt::Failed { .. })) {
            version.attempt = Attempt::None;
            version.error = None;
        }
    }

    pub(super) fn set_labels(&mut self, labels: BTreeMap<String, i64>) {
        self.is_dirty |= self.labels != labels;
        self.labels = labels;
    }

    fn load(&mut self, name: &Arc<str>, now: Instant, effects: &mut Effects<M>) {
        for (&number, version) in self.versions.iter_mut().rev() {
            if let Some(failures) = version.is_due(now) {
                version.attempt = Attempt::Queued { failures };
                effects.loads.push(LoadJob { model: name.clone(), version: number });
            }
        }
    }

    fn unload(&mut self, effects: &mut Effects<M>) {
        let mut wanted = self.versions.values().filter(|version| version.wanted.is_some()).peekable();
        if wanted.peek().is_some() && !wanted.any(|version| version.serving.is_some()) {
            return;
        }
        for version in self.versions.values_mut().filter(|version| version.wanted.is_none()) {
            if let Some((_, handle)) = version.serving.take() {
                version.draining += 1;
                effects.dropped.push(handle);
                self.is_dirty = true;
            }
        }
    }

    /// Notes the versions that have entered another state. Versions that became available come first, so that a subscriber that counts available
    /// versions sees no gap when one replaces another.
    fn report(&mut self, name: &Arc<str>, now: Instant, effects: &mut Effects<M>) {
        let first = effects.changes.len();
        for (&number, version) in &mut self.versions {
            let state = version.state();
            let has_ended = state == VersionState::End && version.wanted.is_none();
            version.ended = has_ended.then(|| version.ended.unwrap_or(now));
            if version.reported.replace(state) != Some(state) {
                effects.changes.push(StateChange { model: name.clone(), status: version.status(number) });
            }
        }
        effects.changes[first..].sort_by_key(|change| change.status.state != VersionState::Available);
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |ended: Instant| now.saturating_duration_since(ended) >= ENDED_VERSION_LIFETIME;
        self.versions.retain(|_, version| !version.ended.is_some_and(is_old));
        let mut ended: Vec<(Instant, i64)> =
            self.versions.iter().filter_map(|(&number, version)| version.ended.map(|at| (at, number))).collect();
        ended.sort_unstable();
        for (_, number) in ended.iter().take(ended.len().saturating_sub(MAX_ENDED_VERSIONS)) {
            self.versions.remove(number);
        }
    }

    /// Returns what lookups read of this model; `None` if no version is available.
    pub(super) fn to_serving(&self) -> Option<ServingModel<M>> {
        let served = |(&number, version): (&i64, &TrackedVersion<M>)| Some((number, version.serving.as_ref()?.1.clone()));
        let versions: BTreeMap<i64, Arc<Loaded<M>>> = self.versions.iter().filter_map(served).collect();
        (!versions.is_empty()).then(|| ServingModel { versions, labels: self.labels.clone() })
    }

    pub(super) fn is_available(&self) -> bool {
        self.versions.values().any(|version| version.serving.is_some())
    }

    /// Returns the numbers of the versions that are served.
    pub(super) fn served(&self) -> impl Iterator<Item = i64> {
        self.versions.iter().filter(|(_, version)| version.serving.is_some()).map(|(&number, _)| number)
    }

    /// Returns the states of the versions, the largest number first.
    pub(super) fn statuses(&self) -> Vec<VersionStatus> {
        self.versions.iter().rev().map(|(&number, version)| version.status(number)).collect()
    }

    /// Returns how far the wanted versions are: `Done` if all were tried and the one with the largest number is available.
    pub(super) fn progress(&self) -> Progress {
        if let Some(error) = &self.error {
            return Progress::Failed(error.clone());
        }
        let mut wanted = self.versions.iter().rev().filter(|(_, version)| version.wanted.is_some()).peekable();
        let Some((number, newest)) = wanted.peek().copied() else {
            return match &self.config {
                Some(config) => Progress::Failed(no_versions(config)),
                None => Progress::Failed(Error::cancelled("the model was removed from the configuration")),
            };
        };
        if wanted.any(|(_, version)| version.is_pending()) {
            return Progress::Pending;
        }
        match &newest.error {
            Some(error) => Progress::Failed(error.clone().context(format_args!("version {number}"))),
            None => Progress::Done,
        }
    }

    /// Returns true if no version is going to become available: all loads have failed and are not tried again, or there is no version and nobody looks
    /// for one (`is_polled`).
    pub(super) fn is_hopeless(&self, is_polled: bool) -> bool {
        let may_come = |version: &TrackedVersion<M>| match version.attempt {
            Attempt::Failed { retry_at, .. } => retry_at.is_some(),
            _ => true,
        };
        let mut wanted = self.versions.values().filter(|version| version.wanted.is_some()).peekable();
        if wanted.peek().is_none() { !is_polled } else { !wanted.any(may_come) }
    }

    /// Returns an error of the model or of a version, if there is one.
    pub(super) fn last_error(&self) -> Option<Error> {
        let of_version = || self.versions.values().rev().find_map(|version| version.error.clone());
        self.error.clone().or_else(of_version).or_else(|| self.config.as_deref().filter(|_| self.versions.is_empty()).map(no_versions))
    }
}

impl<M: Send + Sync + 'static> TrackedVersion<M> {
    fn new(source: Source) -> TrackedVersion<M> {
        let wanted = Some(source);
        TrackedVersion { wanted, serving: None, attempt: Attempt::None, error: None, draining: 0, ended: None, reported: None }
    }

    fn is_running(&self) -> bool {
        matches!(self.attempt, Attempt::Running { .. })
    }

    /// Returns true if the wanted files are not served and no attempt to load them has ended.
    fn is_pending(&self) -> bool {
        match (&self.wanted, &self.attempt) {
            (None, _) | (_, Attempt::Failed { .. }) => false,
            (Some(_), Attempt::Queued { .. } | Attempt::Running { .. }) => true,
            (Some(wanted), Attempt::None) => !matches!(&self.serving, Some((served, _)) if !wanted.is_change_of(served)),
        }
    }

    /// Returns the number of failures so far if the version is to be queued now.
    fn is_due(&self, now: Instant) -> Option<u32> {
        let wanted = self.wanted.as_ref()?;
        match &self.attempt {
            Attempt::None => self.is_pending().then_some(0),
            Attempt::Queued { .. } | Attempt::Running { .. } => None,
            Attempt::Failed { source, .. } if wanted.is_change_of(source) => Some(0),
            Attempt::Failed { failures, retry_at, .. } => retry_at.is_some_and(|at| at <= now).then_some(*failures),
        }
    }

    fn state(&self) -> VersionState {
        if self.serving.is_some() {
            return VersionState::Available;
        }
        match (&self.attempt, &self.wanted) {
            (Attempt::Running { .. }, _) => VersionState::Loading,
            (Attempt::Queued { failures: 0 } | Attempt::None, Some(_)) => VersionState::Start,
            (Attempt::Queued { .. } | Attempt::Failed { retry_at: Some(_), .. }, Some(_)) => VersionState::Loading,
            _ if self.draining > 0 => VersionState::Unloading,
            _ => VersionState::End,
        }
    }

    fn status(&self, version: i64) -> VersionStatus {
        VersionStatus { version, state: self.state(), error: self.error.clone() }
    }
}
