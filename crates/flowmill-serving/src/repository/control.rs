//! The methods of [`Repository`].

use super::scan::{Scan, every_model, require_model};
use super::serving::ServingMap;
use super::tracker::{Progress, Tracker};
use super::workers;
use super::*;
use crate::queue::Queue;
use flowmill::tensor::{bail, error};
use flowmill::{Code, Error};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The options of a look at the file system.
#[derive(Clone, Copy, Default)]
pub(super) struct Look<'a> {
    /// Look at this model alone, and load its versions again if their files changed.
    pub(super) only: Option<&'a str>,
    /// Try versions that failed again.
    pub(super) retry: bool,
    /// The labels in the configuration of new models take effect at once.
    pub(super) adopt_labels: bool,
}

impl<L: Loader> Repository<L> {
    /// Starts the threads of a repository, looks at the file system once, and begins to load what the configuration selects. It does not wait for loads.
    ///
    /// # Errors
    /// `InvalidArgument` for a configuration that contradicts itself, `ResourceExhausted` if the system refuses a thread. A model that cannot be found
    /// or loaded is no error here: see [`Repository::wait_until_ready`].
    pub fn start(config: RepositoryConfig, loader: L) -> Result<Repository<L>> {
        config.validate()?;
        let shared = Arc::new(Shared {
            loader,
            serving: ArcSwap::from_pointee(ServingMap::empty(false)),
            enable_model_warmup: config.enable_model_warmup,
            tracker: Mutex::new(Tracker::new(config.clone())),
            changed: Condvar::new(),
            events: Events::default(),
            scan: Mutex::new(()),
            reload: Mutex::new(()),
            loads: Queue::new(),
            unloads: Arc::new(Queue::new()),
        });
        let repository = Repository { shared: shared.clone(), threads: Mutex::new(Vec::new()) };
        *repository.threads.lock() = workers::start(&shared, &config)?;
        shared.look(Look { adopt_labels: true, ..Look::default() });
        Ok(repository)
    }

    /// Returns the version of a model that a request asks for. It never waits, and allocates nothing.
    ///
    /// # Errors
    /// `NotFound` if no such version is available, `InvalidArgument` for a label that the model does not have, `Unavailable` after a shutdown. The
    /// messages are TensorFlow Serving's.
    pub fn get(&self, model: &str, choice: &VersionChoice) -> Result<Arc<Loaded<L::Model>>> {
        self.shared.serving.load().get(model, choice)
    }

    /// Returns the states of all versions of a model, the largest number first, or of one of them.
    ///
    /// # Errors
    /// `NotFound` if the repository has no such model or version.
    pub fn status(&self, model: &str, version: Option<i64>) -> Result<Vec<VersionStatus>> {
        let tracker = self.shared.tracker.lock();
        let mut statuses = tracker.models.get(model).map_or_else(Vec::new, |model| model.statuses());
        drop(tracker);
        statuses.retain(|status| version.is_none_or(|version| status.version == version));
        match version {
            _ if !statuses.is_empty() => Ok(statuses),
            Some(version) => bail!(NotFound, "Could not find version {version} of model {model}"),
            None => bail!(NotFound, "Could not find any versions of model {model}"),
        }
    }

    /// Returns all models by name: those that are served or were until a while ago and, in mode [`ControlMode::Explicit`], those that may be loaded.
    pub fn models(&self) -> Vec<ModelIndex> {
        let (config, mut index) = {
            let tracker = self.shared.tracker.lock();
            let entry = |(name, model): (&Arc<str>, &tracker::TrackedModel<L::Model>)| {
                let platform = model.config.as_ref().map_or_else(String::new, |config| config.platform.clone());
                let (labels, versions, error) = (model.labels.clone(), model.statuses(), model.error.clone());
                (name.to_string(), ModelIndex { name: name.to_string(), platform, labels, versions, error })
            };
            (tracker.config.clone(), tracker.models.iter().map(entry).collect::<BTreeMap<_, _>>())
        };
        if config.mode == ControlMode::Explicit {
            for (name, model) in every_model(&config) {
                let (labels, versions) = (BTreeMap::new(), Vec::new());
                index.entry(name.clone()).or_insert(ModelIndex { name, platform: model.platform, labels, versions, error: None });
            }
        }
        index.into_values().collect()
    }

    /// Returns true if every model that is to be served has a version that is available.
    pub fn is_ready(&self) -> bool {
        let tracker = self.shared.tracker.lock();
        !tracker.is_closed && tracker.models.values().all(|model| model.config.is_none() || model.is_available())
    }

    /// Calls `subscriber` with the state of every version now, and then with each change of a state: one call at a time, in order, on any thread.
    /// A subscriber may call the repository, but not subscribe.
    pub fn subscribe(&self, subscriber: impl Fn(&StateChange) + Send + Sync + 'static) {
        self.shared.events.subscribe(Box::new(subscriber), |take_pending| {
            let tracker = self.shared.tracker.lock();
            take_pending();
            let changes = |(name, model): (&Arc<str>, &tracker::TrackedModel<L::Model>)| {
                let name = name.clone();
                model.statuses().into_iter().map(move |status| StateChange { model: name.clone(), status })
            };
            tracker.models.iter().flat_map(changes).collect()
        });
    }

    /// Waits until every model that is to be served has a version that is available.
    ///
    /// # Errors
    /// `DeadlineExceeded` after `timeout`; `Unavailable` if the missing models have failed and no retry is pending, or have no versions and the file system
    /// is not polled. The message names the models and their errors.
    pub fn wait_until_ready(&self, timeout: Duration) -> Result<()> {
        let is_missing = |model: &tracker::TrackedModel<L::Model>| model.config.is_some() && !model.is_available();
        let state = self.shared.wait(Some(timeout), |tracker| {
            let mut missing = tracker.models.values().filter(|model| is_missing(model)).peekable();
            match missing.peek() {
                _ if tracker.is_closed => Some(Err(error!(Unavailable, "the server is shutting down"))),
                None => Some(Ok(())),
                Some(_) => missing
                    .all(|model| model.is_hopeless(tracker.poll_interval().is_some()))
                    .then(|| Err(unavailable(tracker, Code::Unavailable, is_missing))),
            }
        });
        state.unwrap_or_else(|| Err(unavailable(&self.shared.tracker.lock(), Code::DeadlineExceeded, is_missing)))
    }

    /// Looks at the file system now, whatever the mode. Returns when the versions that were found are known; it does not wait for loads.
    pub fn poll(&self) {
        self.shared.look(Look::default());
    }

    /// Replaces the configuration, loads what it selects and unloads what it does not. Waits until each version was tried once. The numbers of threads,
    /// and whether models are warmed up, stay.
    ///
    /// In mode [`ControlMode::Explicit`] all models of the new list are loaded.
    ///
    /// # Errors
    /// `InvalidArgument` for a configuration that contradicts itself, which changes nothing. With other errors, the configuration is in effect: the error of
    /// the newest version of a model if it did not become available; for several such models their errors, with the code that they have in common or else
    /// `Unknown`; and `FailedPrecondition` for a label of a version that is not available, in which case the model keeps the labels it had.
    pub fn reload(&self, config: RepositoryConfig) -> Result<()> {
        config.validate()?;
        let shared = &self.shared;
        let _reload = shared.reload.lock();
        let names: BTreeSet<String> = config.models.keys().cloned().collect();
        let config = Arc::new(config);
        {
            let mut tracker = shared.tracker.lock();
            if tracker.is_closed {
                bail!(Unavailable, "the server is shutting down");
            }
            tracker.config = config.clone();
            tracker.wanted = names.union(&config.startup_models).cloned().collect();
        }
        shared.look(Look { retry: true, ..Look::default() });
        let result = shared.wait_for_models(&names);
        let labels = shared.update(|tracker| assign_labels(tracker, &config));
        result.and(labels)
    }

    /// Loads a model, or its versions that are new or whose files changed. Waits until each version was tried once.
    ///
    /// # Errors
    /// `FailedPrecondition` if the mode is not [`ControlMode::Explicit`]; `NotFound` if the repository has no such model, or no version of it; the error
    /// of the newest version if it cannot be loaded, in which case a version that was available stays so.
    pub fn load(&self, model: &str) -> Result<()> {
        let shared = &self.shared;
        let config = shared.require_explicit("load")?;
        require_model(&config, model)?;
        shared.tracker.lock().wanted.insert(model.to_owned());
        shared.look(Look { only: Some(model), retry: true, adopt_labels: true });
        shared.wait_for_models(&BTreeSet::from([model.to_owned()]))
    }

    /// Takes all versions of a model out of service. Returns at once: requests that use the model end first, then it is dropped in the background.
    ///
    /// # Errors
    /// `FailedPrecondition` if the mode is not [`ControlMode::Explicit`]; `NotFound` if the repository has no such model.
    pub fn unload(&self, model: &str) -> Result<()> {
        let shared = &self.shared;
        let config = shared.require_explicit("unload")?;
        // A scan that has begun must not bring the model back.
        let _scan = shared.scan.lock();
        shared.update(|tracker| {
            let was_wanted = tracker.wanted.remove(model);
            match tracker.models.get_mut(model) {
                Some(model) => model.remove(),
                None if was_wanted => {}
                None => drop(require_model(&config, model)?),
            }
            Ok(())
        })
    }

    /// Waits until `condition` holds, which is checked after each change. Returns false after `timeout`.
    pub fn wait_until(&self, timeout: Duration, condition: impl Fn(&Repository<L>) -> bool) -> bool {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            let seen = self.shared.tracker.lock().changes;
            if condition(self) {
                return true;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if self.shared.wait(left, |tracker| (tracker.changes != seen).then_some(())).is_none() {
                return condition(self);
            }
        }
    }

    /// Takes all models out of service, and waits until no request uses them and they are dropped. Lookups then fail with `Unavailable`.
    ///
    /// # Errors
    /// `DeadlineExceeded` after `timeout`, with the versions that are still in use. They are dropped when their requests end.
    pub fn shutdown(&self, timeout: Duration) -> Result<()> {
        let shared = &self.shared;
        shared.close();
        if shared.wait(Some(timeout), |tracker| tracker.is_empty().then_some(())).is_none() {
            let tracker = shared.tracker.lock();
            let is_left = |status: &VersionStatus| status.state != VersionState::End;
            let left = tracker.models.iter().flat_map(|(name, model)| {
                model.statuses().into_iter().filter(is_left).map(move |status| format!("{name} version {}", status.version))
            });
            bail!(DeadlineExceeded, "models are still in use: {}", left.collect::<Vec<_>>().join(", "));
        }
        for thread in self.threads.lock().drain(..) {
            // A thread of the repository catches the panics of models.
            drop(thread.join());
        }
        Ok(())
    }
}

impl<L: Loader> Drop for Repository<L> {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<L: Loader> Shared<L> {
    /// Changes the tracker, then does what follows from the change.
    pub(super) fn update<R>(&self, change: impl FnOnce(&mut Tracker<L::Model>) -> R) -> R {
        let mut tracker = self.tracker.lock();
        let result = change(&mut tracker);
        tracker.changes += 1;
        let effects = tracker.reconcile(Instant::now());
        let mut replaced = None;
        if tracker.is_closed {
            if tracker.is_empty() {
                self.unloads.close();
            }
            replaced = Some(self.serving.swap(Arc::new(ServingMap::empty(true))));
        } else if !effects.published.is_empty() {
            let serving = |name| tracker.models.get(name).and_then(|model| model.to_serving());
            let entries = effects.published.iter().map(|name| (name.clone(), serving(name)));
            let next = self.serving.load().with(entries);
            replaced = Some(self.serving.swap(Arc::new(next)));
        }
        effects.loads.into_iter().for_each(|job| self.loads.push(job));
        effects.changes.into_iter().for_each(|change| self.events.push(change));
        drop(tracker);
        // Models that are out of service go to the threads that drop them from here, without the lock.
        drop((replaced, effects.dropped));
        self.changed.notify_all();
        self.events.deliver();
        result
    }

    /// Looks at the file system and takes over what is there.
    pub(super) fn look(&self, look: Look<'_>) {
        let _scan = self.scan.lock();
        let scan = {
            let tracker = self.tracker.lock();
            let models = tracker.models.iter();
            Scan {
                config: tracker.config.clone(),
                wanted: tracker.wanted.clone(),
                only: look.only.map(str::to_owned),
                known: models.clone().filter_map(|(name, model)| Some((name.clone(), model.config.clone()?))).collect(),
                served: models
                    .filter(|(name, _)| look.only != Some(name))
                    .flat_map(|(name, model)| model.served().map(|version| (name.clone(), version)))
                    .collect(),
            }
        };
        let listings = scan.run();
        self.update(|tracker| {
            tracker.apply(listings, look.only, look.adopt_labels);
            let models = tracker.models.iter_mut().filter(|(name, _)| look.retry && look.only.is_none_or(|only| only == &***name));
            models.for_each(|(_, model)| model.forget_failures());
        });
    }

    /// Waits until `check` returns a value, or for at most `timeout`.
    fn wait<R>(&self, timeout: Option<Duration>, mut check: impl FnMut(&Tracker<L::Model>) -> Option<R>) -> Option<R> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut tracker = self.tracker.lock();
        loop {
            if let Some(result) = check(&tracker) {
                return Some(result);
            }
            tracker = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return None,
                Some(left) => self.changed.wait_for(tracker, left).0,
                None => self.changed.wait(tracker),
            };
        }
    }

    /// Waits until each wanted version of these models was tried once.
    fn wait_for_models(&self, names: &BTreeSet<String>) -> Result<()> {
        let progress = |tracker: &Tracker<L::Model>| {
            let mut failed = Vec::new();
            for name in names {
                match tracker.models.get(name.as_str()).map(|model| model.progress()) {
                    _ if tracker.is_closed => return Some(Err(error!(Unavailable, "the server is shutting down"))),
                    Some(Progress::Done) => {}
                    Some(Progress::Pending) => return None,
                    Some(Progress::Failed(error)) => failed.push((name, error)),
                    None => failed.push((name, Error::cancelled("the model was unloaded meanwhile"))),
                }
            }
            Some(match failed.as_slice() {
                [] => Ok(()),
                [(name, error)] => Err(error.clone().context(format_args!("model '{name}'"))),
                [(_, first), others @ ..] => {
                    let has_one_code = others.iter().all(|(_, error)| error.code() == first.code());
                    let code = if has_one_code { first.code() } else { Code::Unknown };
                    let errors: Vec<String> = failed.iter().map(|(name, error)| format!("'{name}': {error}")).collect();
                    Err(Error::new(code, format!("{} models did not become available: {}", failed.len(), errors.join("; "))))
                }
            })
        };
        self.wait(None, progress).unwrap_or(Ok(()))
    }

    fn require_explicit(&self, action: &str) -> Result<Arc<RepositoryConfig>> {
        let tracker = self.tracker.lock();
        if tracker.is_closed {
            bail!(Unavailable, "the server is shutting down");
        }
        match tracker.config.mode {
            ControlMode::Explicit => Ok(tracker.config.clone()),
            mode => {
                bail!(FailedPrecondition, "cannot {action} a model by name: the control mode of the repository is {mode:?}, not Explicit")
            }
        }
    }

    /// Takes everything out of service, and ends the threads that load and poll.
    fn close(&self) {
        self.update(|tracker| tracker.is_closed = true);
        self.loads.close();
    }
}

/// Puts the labels of a configuration into effect, for each model whose labels all are of available versions.
fn assign_labels<M: Send + Sync + 'static>(tracker: &mut Tracker<M>, config: &RepositoryConfig) -> Result<()> {
    let mut result = Ok(());
    for wanted in config.models.values() {
        let Some(model) = tracker.models.get_mut(wanted.name.as_str()) else { continue };
        let served: BTreeSet<i64> = model.served().collect();
        let is_allowed = |label: &String, version: &i64| {
            served.contains(version) || config.allow_version_labels_for_unavailable_models && !model.labels.contains_key(label)
        };
        match wanted.labels.iter().find(|(label, version)| !is_allowed(label, version)) {
            None => model.set_labels(wanted.labels.clone()),
            Some((label, version)) => {
                let error = error!(
                    FailedPrecondition,
                    "label '{label}' of model '{}' names version {version}, which is not available", wanted.name
                );
                result = result.and(Err(error));
            }
        }
    }
    result
}

/// Returns an error that names the models for which `is_missing` holds, with their errors.
fn unavailable<M: Send + Sync + 'static>(
    tracker: &Tracker<M>,
    code: Code,
    is_missing: impl Fn(&tracker::TrackedModel<M>) -> bool,
) -> Error {
    let line = |(name, model): (&Arc<str>, &tracker::TrackedModel<M>)| match model.last_error() {
        Some(error) => format!("'{name}' ({error})"),
        None => format!("'{name}'"),
    };
    let models: Vec<String> = tracker.models.iter().filter(|(_, model)| is_missing(model)).map(line).collect();
    Error::new(code, format!("models are not available: {}", models.join(", ")))
}
