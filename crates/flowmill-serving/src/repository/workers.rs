//! The threads of a repository: they load models, drop them, and poll.

use super::control::Look;
use super::scan::path_error;
use super::serving::Loaded;
use super::{LoadRequest, Loader, RepositoryConfig, Shared};
use crate::proto::tfs::BatchingParameters;
use crate::system;
use flowmill::tensor::error;
use flowmill::{Error, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A version to load.
pub(super) struct LoadJob {
    pub(super) model: Arc<str>,
    pub(super) version: i64,
}

/// A version that has been loaded.
pub(super) struct LoadedJob {
    pub(super) model: Arc<str>,
    pub(super) version: i64,
    pub(super) path: PathBuf,
    pub(super) batching: Option<Arc<BatchingParameters>>,
    pub(super) time: Duration,
}

/// A model to drop.
pub(super) struct UnloadJob<M> {
    pub(super) model: M,
    pub(super) name: Arc<str>,
    pub(super) version: i64,
}

/// Starts the threads of a repository.
///
/// # Errors
/// `ResourceExhausted` if the system refuses a thread.
pub(super) fn start<L: Loader>(shared: &Arc<Shared<L>>, config: &RepositoryConfig) -> Result<Vec<JoinHandle<()>>> {
    let mut threads = Vec::new();
    let mut spawn = |name: &str, body: fn(&Shared<L>)| -> Result<()> {
        let shared = shared.clone();
        let run = move || {
            system::run_in_background();
            body(&shared);
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
        threads.push(thread.map_err(|e| error!(ResourceExhausted, "the thread {name} of the model repository cannot be started: {e}"))?);
        Ok(())
    };
    for _ in 0..config.num_load_threads.max(1) {
        spawn("model-load", load_all)?;
    }
    for _ in 0..config.num_unload_threads.max(1) {
        spawn("model-unload", unload_all)?;
    }
    spawn("model-poll", poll_all)?;
    Ok(threads)
}

/// The time without a load after which memory is released that only loads use. A release makes requests wait for pages, and the next load needs them again.
const QUIET_TIME: Duration = Duration::from_millis(300);

fn load_all<L: Loader>(shared: &Shared<L>) {
    let mut has_loaded = false;
    let release = || {
        flowmill::release_unused_memory();
        system::release_code_and_constants();
    };
    while let Some(job) = if has_loaded { shared.loads.pop_or_rest(QUIET_TIME, release) } else { shared.loads.pop() } {
        has_loaded = true;
        let Some((config, source)) = shared.update(|tracker| tracker.begin_load(&job)) else { continue };
        let start = Instant::now();
        let load = || {
            note_ignored_files(&source.path, &job);
            let batching = batching_parameters(&source.path)?.map(Arc::new);
            let request = LoadRequest {
                model: &job.model,
                version: job.version,
                path: &source.path,
                platform: &config.platform,
                batching: batching.as_deref(),
                warm_up: shared.enable_model_warmup,
            };
            Ok((shared.loader.load(&request)?, batching))
        };
        let result = catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|panic| Err(panic_error(&*panic)));
        let (model, version) = (job.model.clone(), job.version);
        match &result {
            Ok(_) => tracing::info!(model = &*model, version, seconds = start.elapsed().as_secs_f64(), "loaded"),
            Err(error) => tracing::warn!(model = &*model, version, path = %source.path.display(), %error, "the load failed"),
        }
        let result = result.map(|(loaded, batching)| {
            let job = LoadedJob { model, version, path: source.path.clone(), batching, time: start.elapsed() };
            Arc::new(Loaded::new(&job, loaded, shared.unloads.clone()))
        });
        drop(shared.update(|tracker| tracker.end_load(&job, result)));
    }
}

fn unload_all<L: Loader>(shared: &Shared<L>) {
    while let Some(UnloadJob { model, name, version }) = shared.unloads.pop() {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(model))) {
            tracing::warn!(model = &*name, version, error = %panic_error(&*panic), "dropping the model panicked");
        }
        // What the model held is kept for reuse otherwise, and an operator who unloads a model wants the memory.
        let released = flowmill::release_unused_memory();
        tracing::info!(model = &*name, version, released, "unloaded");
        shared.update(|tracker| tracker.end_unload(&name, version));
    }
}

/// Polls the file system in the configured interval, and retries failed loads when they are due.
fn poll_all<L: Loader>(shared: &Shared<L>) {
    let mut last_poll = Instant::now();
    let mut tracker = shared.tracker.lock();
    while !tracker.is_closed {
        let next_poll = tracker.poll_interval().and_then(|interval| last_poll.checked_add(interval));
        let next_retry = tracker.next_retry();
        let now = Instant::now();
        if next_poll.is_some_and(|at| at <= now) {
            drop(tracker);
            shared.look(Look::default());
            last_poll = Instant::now();
            tracker = shared.tracker.lock();
        } else if next_retry.is_some_and(|at| at <= now) {
            drop(tracker);
            shared.update(|_| ());
            tracker = shared.tracker.lock();
        } else {
            tracker = match next_poll.into_iter().chain(next_retry).min() {
                Some(at) => shared.changed.wait_for(tracker, at - now).0,
                None => shared.changed.wait(tracker),
            };
        }
    }
}

fn panic_error(panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    error!(Internal, "panic: {}", message.unwrap_or("without a message"))
}

/// Logs that a file of the version has no effect.
fn note_ignored_files(version: &Path, job: &LoadJob) {
    let path = version.join("assets.extra/saved_model_config.pb");
    if path.is_file() {
        tracing::info!(model = &*job.model, version = job.version, path = %path.display(), "the configuration of the session is ignored");
    }
}

/// Reads the batching parameters in a version's directory, if there are any.
fn batching_parameters(version: &Path) -> Result<Option<BatchingParameters>> {
    let path = version.join("batching_params.pbtxt");
    match std::fs::metadata(&path) {
        Ok(_) => crate::text_format::read(&path, "tensorflow.serving.BatchingParameters").map(Some),
        Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(path_error(&path, &e)),
    }
}
