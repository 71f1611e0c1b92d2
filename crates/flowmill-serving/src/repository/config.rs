//! The configuration of a repository.

use crate::proto::tfs;
use flowmill::tensor::{bail, error};
use flowmill::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tfs::file_system_storage_path_source_config::ServableVersionPolicy;
use tfs::file_system_storage_path_source_config::servable_version_policy::PolicyChoice;
use tfs::model_server_config::Config;

/// The rule that selects the versions of a model to serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionPolicy {
    /// The versions with the largest numbers, this many; zero means one.
    Latest(u32),
    /// All versions.
    All,
    /// These versions, as far as they exist.
    Specific(BTreeSet<i64>),
}

impl Default for VersionPolicy {
    fn default() -> VersionPolicy {
        VersionPolicy::Latest(1)
    }
}

/// A model to serve.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelConfig {
    /// The name that requests use: not empty, without `/` and `:`.
    pub name: String,
    /// The directory whose children are named by version numbers; or a SavedModel or a frozen graph, which is version 1.
    pub base_path: PathBuf,
    /// The kind of model, such as `tensorflow`; may be empty. Passed to the loader.
    pub platform: String,
    /// The versions to serve.
    pub version_policy: VersionPolicy,
    /// Names of versions, such as `stable`.
    pub labels: BTreeMap<String, i64>,
}

/// The control over which models are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ControlMode {
    /// All configured models are loaded, and the file system is polled for new versions.
    #[default]
    Poll,
    /// [`Repository::load`](super::Repository::load) and [`Repository::unload`](super::Repository::unload) decide.
    Explicit,
    /// All configured models are loaded once, at start and at a reload of the configuration.
    None,
}

/// The configuration of a repository. Defaults are TensorFlow Serving's.
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoryConfig {
    /// The models by name.
    pub models: BTreeMap<String, ModelConfig>,
    /// Directories of which each child directory is a model of that name, with the default version policy. A name in `models` hides a child, and a
    /// child of an earlier directory hides one of a later directory.
    pub directories: Vec<PathBuf>,
    /// The time between two looks at the file system in mode [`ControlMode::Poll`]; `None` looks once. 1 s by default.
    pub file_system_poll_wait: Option<Duration>,
    /// The number of threads that load models; 0 means one.
    pub num_load_threads: usize,
    /// The number of threads that drop models; 0 means one.
    pub num_unload_threads: usize,
    /// The number of times that a load is tried again after it failed. 5 by default.
    pub max_num_load_retries: u32,
    /// The time between a failed load and the next attempt. 60 s by default.
    pub load_retry_interval: Duration,
    /// Accept labels of versions that are not available, unless the label exists already.
    pub allow_version_labels_for_unavailable_models: bool,
    /// Warm models up before they are served. True by default.
    pub enable_model_warmup: bool,
    /// The control over which models are loaded.
    pub mode: ControlMode,
    /// The models to load at start in mode [`ControlMode::Explicit`].
    pub startup_models: BTreeSet<String>,
}

impl Default for RepositoryConfig {
    fn default() -> RepositoryConfig {
        RepositoryConfig {
            models: BTreeMap::new(),
            directories: Vec::new(),
            file_system_poll_wait: Some(Duration::from_secs(1)),
            num_load_threads: 0,
            num_unload_threads: 0,
            max_num_load_retries: 5,
            load_retry_interval: Duration::from_secs(60),
            allow_version_labels_for_unavailable_models: false,
            enable_model_warmup: true,
            mode: ControlMode::Poll,
            startup_models: BTreeSet::new(),
        }
    }
}

impl RepositoryConfig {
    /// Returns the default configuration with one model.
    pub fn of_model(name: impl Into<String>, base_path: impl Into<PathBuf>) -> RepositoryConfig {
        let model = ModelConfig::new(name, base_path);
        RepositoryConfig { models: BTreeMap::from([(model.name.clone(), model)]), ..RepositoryConfig::default() }
    }

    /// Returns this configuration with the models of a `ModelServerConfig` in place of its own.
    ///
    /// # Errors
    /// `InvalidArgument` and `Unimplemented` as [`ModelConfig::list_from_proto`].
    pub fn with_models(&self, message: &tfs::ModelServerConfig) -> Result<RepositoryConfig> {
        Ok(RepositoryConfig { models: ModelConfig::list_from_proto(message)?, ..self.clone() })
    }

    /// Checks all names and the numbers that depend on each other.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is empty or has characters that requests cannot name, and for an empty base path.
    pub(super) fn validate(&self) -> Result<()> {
        for (name, model) in &self.models {
            if *name != model.name {
                bail!(InvalidArgument, "model '{}' is listed under the name '{name}'", model.name);
            }
            model.validate()?;
        }
        for directory in &self.directories {
            if directory.as_os_str().is_empty() {
                bail!(InvalidArgument, "the path of a directory of models is empty");
            }
        }
        if self.file_system_poll_wait.is_some_and(|wait| wait.is_zero()) {
            bail!(InvalidArgument, "file_system_poll_wait must be longer than zero");
        }
        Ok(())
    }
}

impl ModelConfig {
    /// Returns the configuration of a model with the default policy and without labels.
    pub fn new(name: impl Into<String>, base_path: impl Into<PathBuf>) -> ModelConfig {
        ModelConfig { name: name.into(), base_path: base_path.into(), ..ModelConfig::default() }
    }

    /// Returns the configuration of the model at a path. Its name is the last part of the path that is not the number of a version, without extension.
    pub fn at(path: &Path) -> ModelConfig {
        let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_version = whole.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.parse::<i64>().is_ok());
        let named = if is_version { whole.parent().unwrap_or(&whole) } else { &whole };
        let name = named.file_stem().map_or_else(|| "default".to_owned(), |name| name.to_string_lossy().into_owned());
        ModelConfig::new(name, path)
    }

    /// Reads a file that holds a `ModelServerConfig` in text format, as `--model_config_file` of TensorFlow Serving. Returns the models by name.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied` or `Unknown` if the file cannot be read; `InvalidArgument` with the file, and the line or the number of the model,
    /// for text that is no such message; the errors of [`ModelConfig::list_from_proto`].
    pub fn list_from_file(path: &Path) -> Result<BTreeMap<String, ModelConfig>> {
        let message = crate::text_format::read(path, "tensorflow.serving.ModelServerConfig")?;
        ModelConfig::list_from_proto(&message).map_err(|error| error.context(path.display()))
    }

    /// Reads the list of models in a `ModelServerConfig`, by name. An empty message is an empty list.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is missing, repeated or not usable, a missing base path, a policy without a choice, and a specific policy
    /// without versions; `Unimplemented` for a custom configuration.
    pub fn list_from_proto(message: &tfs::ModelServerConfig) -> Result<BTreeMap<String, ModelConfig>> {
        let list = match &message.config {
            Some(Config::ModelConfigList(list)) => list.config.as_slice(),
            Some(Config::CustomModelConfig(any)) => {
                bail!(Unimplemented, "custom_model_config of type '{}' is not supported; use model_config_list", any.type_url)
            }
            None => &[],
        };
        let mut models = BTreeMap::new();
        for (i, message) in list.iter().enumerate() {
            let at = |error: Error| error.context(format_args!("model_config_list.config[{i}]"));
            let model = ModelConfig::from_proto(message).map_err(at)?;
            if let Some(other) = models.insert(model.name.clone(), model) {
                return Err(at(error!(InvalidArgument, "field 'name': model '{}' is listed twice", other.name)));
            }
        }
        Ok(models)
    }

    /// Reads the configuration of one model.
    ///
    /// # Errors
    /// `InvalidArgument` as [`ModelConfig::list_from_proto`].
    pub fn from_proto(message: &tfs::ModelConfig) -> Result<ModelConfig> {
        #[allow(deprecated)]
        let model_type = message.model_type;
        let platform = match (message.model_platform.as_str(), model_type) {
            ("", 1) => "tensorflow",
            ("", 0) | (_, 0) => message.model_platform.as_str(),
            ("", other) => bail!(InvalidArgument, "field 'model_type': type {other} of model '{}' is not supported", message.name),
            (..) => bail!(InvalidArgument, "model '{}' has both 'model_type' and 'model_platform'", message.name),
        };
        let version_policy = match &message.model_version_policy {
            None => VersionPolicy::default(),
            Some(policy) => version_policy(policy).map_err(|error| error.context(format_args!("model '{}'", message.name)))?,
        };
        let model = ModelConfig {
            name: message.name.clone(),
            base_path: PathBuf::from(&message.base_path),
            platform: platform.to_owned(),
            version_policy,
            labels: message.version_labels.clone(),
        };
        model.validate()?;
        Ok(model)
    }

    fn validate(&self) -> Result<()> {
        if let Some(reason) = refused_name(&self.name) {
            bail!(InvalidArgument, "field 'name': '{}' {reason}", self.name.escape_debug());
        }
        if self.base_path.as_os_str().is_empty() {
            bail!(InvalidArgument, "field 'base_path': model '{}' has none", self.name);
        }
        if matches!(&self.version_policy, VersionPolicy::Specific(versions) if versions.is_empty()) {
            bail!(InvalidArgument, "field 'model_version_policy': the policy 'specific' of model '{}' lists no versions", self.name);
        }
        if let Some(label) = self.labels.keys().find(|label| label.is_empty() || label.contains(['/', ':'])) {
            bail!(
                InvalidArgument,
                "field 'version_labels': model '{}' has the label '{label}'; a label is not empty and has no '/' and ':'",
                self.name
            );
        }
        Ok(())
    }
}

/// Returns why requests cannot name a model so, if they cannot.
fn refused_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        name if name.contains(['/', ':']) => Some("contains '/' or ':'"),
        name if name.contains(char::is_control) => Some("contains a control character"),
        _ => None,
    }
}

/// Returns true if `name` may be the name of a model that is a child of a directory of models: one component of a path that is not hidden.
pub(super) fn is_child_name(name: &str) -> bool {
    refused_name(name).is_none() && !name.starts_with('.') && !name.contains('\\')
}

fn version_policy(message: &ServableVersionPolicy) -> Result<VersionPolicy> {
    Ok(match &message.policy_choice {
        Some(PolicyChoice::Latest(latest)) => VersionPolicy::Latest(latest.num_versions),
        Some(PolicyChoice::All(_)) => VersionPolicy::All,
        Some(PolicyChoice::Specific(specific)) => VersionPolicy::Specific(specific.versions.iter().copied().collect()),
        None => VersionPolicy::default(),
    })
}
