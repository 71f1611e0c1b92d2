//! A repository of models: which versions are served, loading, reloading and unloading them.
//!
//! The layout is TensorFlow Serving's: a model is a directory whose children are named by version numbers. A [`Repository`] looks at the file system,
//! loads the versions that the configuration selects on threads of its own, and publishes them. A lookup reads a snapshot and never waits, whatever
//! is being loaded.
//!
//! A version goes through the states of [`VersionState`]. A new version is available before an old one is unloaded. A version that is unloaded
//! stays alive until the requests that use it end, and is then dropped on a thread of the repository.
//!
//! A [`Loader`] makes models from files: this module does not know their formats.
//!
//! # Differences from TensorFlow Serving
//! * A base path that is itself a SavedModel, or a file with a frozen graph, is version 1.
//! * A directory of models is a source beside the configured list ([`RepositoryConfig::directories`]).
//! * A version that failed to load is tried again as soon as its files change, in addition to the configured retries.
//! * [`Repository::reload`] returns after the first attempt to load each version; retries go on in the background.
//! * A version whose path is a symbolic link is loaded again when the link has another target.
//! * Versions that ended are listed for a bounded time ([`MAX_ENDED_VERSIONS`], [`ENDED_VERSION_LIFETIME`]).

mod config;
mod control;
mod events;
mod scan;
mod serving;
mod status;
mod tracker;
mod workers;

pub(crate) use scan::path_error;

pub use config::{ControlMode, ModelConfig, RepositoryConfig, VersionPolicy};
pub use serving::{Loaded, VersionChoice};
pub use status::{ModelIndex, StateChange, VersionState, VersionStatus};
pub use tracker::{ENDED_VERSION_LIFETIME, MAX_ENDED_VERSIONS};

use crate::proto::tfs::BatchingParameters;
use crate::queue::Queue;
use arc_swap::ArcSwap;
use events::Events;
use flowmill::Result;
use flowmill::sync::{Condvar, Mutex};
use serving::ServingMap;
use std::path::Path;
use std::sync::Arc;
use tracker::Tracker;
use workers::{LoadJob, UnloadJob};

/// Makes models from files.
pub trait Loader: Send + Sync + 'static {
    /// A model that is ready to serve.
    type Model: Send + Sync + 'static;

    /// Loads one version, and warms it up if the request says so. Many threads may call it at once.
    ///
    /// It runs on a thread of the repository, with a lower priority on Linux. Threads that are started there inherit the priority: a loader starts
    /// the threads that serve requests earlier, on another thread.
    ///
    /// # Errors
    /// Any; the error is in the version's status, and the load is tried again as [`RepositoryConfig`] says. A panic counts as an `Internal` error.
    fn load(&self, request: &LoadRequest<'_>) -> Result<Self::Model>;
}

/// A version to load.
#[derive(Clone, Copy, Debug)]
pub struct LoadRequest<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The version.
    pub version: i64,
    /// The version's directory, or the file with a frozen graph. Symbolic links are resolved.
    pub path: &'a Path,
    /// The platform in the model's configuration, such as `tensorflow`; may be empty.
    pub platform: &'a str,
    /// The version's own batching parameters, from the file `batching_params.pbtxt` in its directory.
    pub batching: Option<&'a BatchingParameters>,
    /// True if requests are to be made before the model is served ([`RepositoryConfig::enable_model_warmup`]).
    pub warm_up: bool,
}

/// The models that are served; see the [module](self).
///
/// All methods may be called from many threads at once. Dropping the repository unloads all models in the background.
pub struct Repository<L: Loader> {
    shared: Arc<Shared<L>>,
    threads: Mutex<Vec<std::thread::JoinHandle<()>>>,
}

/// The state that a repository shares with its threads.
struct Shared<L: Loader> {
    loader: L,
    enable_model_warmup: bool,
    /// The snapshot that lookups read. Written under the lock of `tracker`.
    serving: ArcSwap<ServingMap<L::Model>>,
    tracker: Mutex<Tracker<L::Model>>,
    /// Notified after each change of `tracker`.
    changed: Condvar,
    events: Events,
    /// Held while the file system is scanned, so that an older scan never overwrites a newer one.
    scan: Mutex<()>,
    /// Held by a call of `reload`.
    reload: Mutex<()>,
    loads: Queue<LoadJob>,
    unloads: Arc<Queue<UnloadJob<L::Model>>>,
}
