//! The versions that are served, as a snapshot that lookups read without waiting.

use super::workers::UnloadJob;
use crate::proto::tfs::BatchingParameters;
use crate::queue::Queue;
use flowmill::Result;
use flowmill::tensor::bail;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The version of a model that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum VersionChoice {
    /// The available version with the largest number.
    #[default]
    Preferred,
    /// The version with this number.
    Version(i64),
    /// The version that the configuration gives this label.
    Label(String),
}

/// A version that is served or was until a moment ago. It dereferences to the model.
///
/// The model lives as long as one of its handles does, and is then dropped on a thread of the repository.
pub struct Loaded<M: Send + Sync + 'static> {
    /// `None` only within `drop`.
    model: Option<M>,
    name: Arc<str>,
    version: i64,
    path: PathBuf,
    batching: Option<Arc<BatchingParameters>>,
    load_time: Duration,
    unloads: Arc<Queue<UnloadJob<M>>>,
}

impl<M: Send + Sync + 'static> Loaded<M> {
    pub(super) fn new(job: &super::workers::LoadedJob, model: M, unloads: Arc<Queue<UnloadJob<M>>>) -> Loaded<M> {
        let (path, batching) = (job.path.clone(), job.batching.clone());
        Loaded { model: Some(model), name: job.model.clone(), version: job.version, path, batching, load_time: job.time, unloads }
    }

    /// Returns the name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the version.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Returns the path that the version was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version's own batching parameters, from the file `batching_params.pbtxt` in its directory.
    pub fn batching(&self) -> Option<&BatchingParameters> {
        self.batching.as_deref()
    }

    /// Returns the time that loading took, with the warm-up.
    pub fn load_time(&self) -> Duration {
        self.load_time
    }
}

impl<M: Send + Sync + 'static> Deref for Loaded<M> {
    type Target = M;

    fn deref(&self) -> &M {
        match &self.model {
            Some(model) => model,
            None => unreachable!("the model is taken only when no handle is left"),
        }
    }
}

impl<M: Send + Sync + 'static> Drop for Loaded<M> {
    fn drop(&mut self) {
        if let Some(model) = self.model.take() {
            self.unloads.push(UnloadJob { model, name: self.name.clone(), version: self.version });
        }
    }
}

impl<M: Send + Sync + 'static> fmt::Debug for Loaded<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Loaded");
        f.field("name", &self.name).field("version", &self.version).field("path", &self.path).finish_non_exhaustive()
    }
}

/// The available versions of all models. Never changes: a change is a new map.
pub(super) struct ServingMap<M: Send + Sync + 'static> {
    models: HashMap<Arc<str>, Arc<ServingModel<M>>>,
    closed: bool,
}

/// The available versions of one model.
pub(super) struct ServingModel<M: Send + Sync + 'static> {
    pub(super) versions: BTreeMap<i64, Arc<Loaded<M>>>,
    pub(super) labels: BTreeMap<String, i64>,
}

impl<M: Send + Sync + 'static> ServingMap<M> {
    pub(super) fn empty(closed: bool) -> ServingMap<M> {
        ServingMap { models: HashMap::new(), closed }
    }

    /// Returns this map with other entries for some models; `None` removes the model.
    pub(super) fn with(&self, entries: impl Iterator<Item = (Arc<str>, Option<ServingModel<M>>)>) -> ServingMap<M> {
        let mut models = self.models.clone();
        for (name, model) in entries {
            match model {
                Some(model) => models.insert(name, Arc::new(model)),
                None => models.remove(&name),
            };
        }
        ServingMap { models, closed: self.closed }
    }

    pub(super) fn get(&self, name: &str, choice: &VersionChoice) -> Result<Arc<Loaded<M>>> {
        if self.closed {
            bail!(Unavailable, "the server is shutting down");
        }
        let model = self.models.get(name);
        let version = match choice {
            VersionChoice::Preferred => {
                return match model.and_then(|model| model.versions.last_key_value()) {
                    Some((_, loaded)) => Ok(loaded.clone()),
                    None => bail!(NotFound, "Servable not found for request: Latest({name})"),
                };
            }
            VersionChoice::Version(version) => *version,
            VersionChoice::Label(label) => match model.map(|model| model.labels.get(label)) {
                Some(Some(version)) => *version,
                Some(None) => bail!(InvalidArgument, "Unrecognized servable version label: {label}"),
                None => bail!(NotFound, "Servable not found for request: Latest({name})"),
            },
        };
        match model.and_then(|model| model.versions.get(&version)) {
            Some(loaded) => Ok(loaded.clone()),
            None => bail!(NotFound, "Servable not found for request: Specific({name}, {version})"),
        }
    }
}
