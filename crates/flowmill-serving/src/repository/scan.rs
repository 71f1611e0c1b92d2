//! Looks at the file system for models and their versions.

use super::config::{ControlMode, ModelConfig, RepositoryConfig, VersionPolicy, is_child_name};
use flowmill::tensor::{bail, error};
use flowmill::{Code, Error, Result};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most entries of a version's directory that its fingerprint covers.
const MAX_FINGERPRINT_ENTRIES: usize = 10_000;

/// The number of times that a directory which changes is read again in one scan.
const MAX_READS: usize = 10;

/// The deepest directory, below that of the version, that a fingerprint covers.
const MAX_FINGERPRINT_DEPTH: usize = 8;

/// The files of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// The path, with symbolic links resolved.
    pub(super) path: PathBuf,
    /// A hash of the names, sizes and times of the files; `None` if they were not looked at.
    pub(super) fingerprint: Option<u64>,
}

impl Source {
    /// Returns true if the version has to be loaded again if it was loaded from `older`.
    pub(super) fn is_change_of(&self, older: &Source) -> bool {
        self.path != older.path || matches!((self.fingerprint, older.fingerprint), (Some(now), Some(then)) if now != then)
    }
}

/// A model that is to be served, and the versions that its policy selects.
pub(super) struct Listing {
    pub(super) config: Arc<ModelConfig>,
    pub(super) versions: Result<BTreeMap<i64, Source>>,
}

/// A look at the file system, and the facts that it needs.
pub(super) struct Scan {
    pub(super) config: Arc<RepositoryConfig>,
    /// The models that were loaded explicitly.
    pub(super) wanted: BTreeSet<String>,
    /// The models of the scan before.
    pub(super) known: BTreeMap<Arc<str>, Arc<ModelConfig>>,
    /// The only model to look at; `None` looks at all.
    pub(super) only: Option<String>,
    /// The versions that need no fingerprint, because they are served.
    pub(super) served: BTreeSet<(Arc<str>, i64)>,
}

impl Scan {
    /// Lists the models that are to be served and their versions.
    pub(super) fn run(&self) -> BTreeMap<Arc<str>, Listing> {
        let models = match self.config.mode {
            ControlMode::Explicit => {
                let names = self.wanted.iter().filter(|name| self.only.as_ref().is_none_or(|only| only == *name));
                names.filter_map(|name| find_model(&self.config, name)).collect()
            }
            ControlMode::Poll | ControlMode::None => self.all_models(),
        };
        let listing = |config: ModelConfig| {
            let name: Arc<str> = config.name.as_str().into();
            let versions = self.versions(&name, &config);
            (name, Listing { config: Arc::new(config), versions })
        };
        models.into_iter().map(listing).collect()
    }

    fn all_models(&self) -> Vec<ModelConfig> {
        let mut models = self.config.models.clone();
        for directory in &self.config.directories {
            match child_models(directory) {
                Ok(children) => {
                    for model in children {
                        models.entry(model.name.clone()).or_insert(model);
                    }
                }
                Err(error) => {
                    // A directory that cannot be read for a moment must not unload its models.
                    tracing::warn!(directory = %directory.display(), %error, "a directory of models cannot be read");
                    for config in self.known.values().filter(|config| config.base_path.parent() == Some(directory)) {
                        models.entry(config.name.clone()).or_insert_with(|| ModelConfig::clone(config));
                    }
                }
            }
        }
        models.into_values().collect()
    }

    fn versions(&self, name: &Arc<str>, config: &ModelConfig) -> Result<BTreeMap<i64, Source>> {
        let found = all_versions(&config.base_path)?;
        let source = |(version, path): (i64, PathBuf)| {
            let fingerprint = (!self.served.contains(&(name.clone(), version))).then(|| fingerprint(&path));
            (version, Source { path, fingerprint })
        };
        Ok(selected(found, &config.version_policy).into_iter().map(source).collect())
    }
}

/// Returns the configuration of a model by name: of the configured list, or of a child of a directory of models.
pub(super) fn find_model(config: &RepositoryConfig, name: &str) -> Option<ModelConfig> {
    if let Some(model) = config.models.get(name) {
        return Some(model.clone());
    }
    if !is_child_name(name) {
        return None;
    }
    let paths = config.directories.iter().map(|directory| directory.join(name));
    paths.into_iter().find(|path| path.is_dir()).map(|path| ModelConfig::new(name, path))
}

/// Returns the configured models and the children of all directories that can be read, by name.
pub(super) fn every_model(config: &RepositoryConfig) -> BTreeMap<String, ModelConfig> {
    let mut models = config.models.clone();
    for model in config.directories.iter().filter_map(|directory| child_models(directory).ok()).flatten() {
        models.entry(model.name.clone()).or_insert(model);
    }
    models
}

/// Returns a model for each child directory.
fn child_models(directory: &Path) -> Result<Vec<ModelConfig>> {
    let names = child_names(directory)?.into_iter().filter(|name| is_child_name(name));
    let paths = names.map(|name| (directory.join(&name), name)).filter(|(path, _)| path.is_dir());
    Ok(paths.map(|(path, name)| ModelConfig::new(name, path)).collect())
}

/// Returns the names in a directory, sorted, without those that are not Unicode.
fn child_names(directory: &Path) -> Result<Vec<String>> {
    let failed = |error: io::Error| path_error(directory, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Returns the paths of all versions in a base path, with symbolic links resolved.
///
/// A directory that changes while it is read may show neither a version that is being deleted nor its successor. So it is read until it looks the same
/// twice.
fn all_versions(base: &Path) -> Result<BTreeMap<i64, PathBuf>> {
    let mut found = versions_now(base)?;
    for _ in 0..MAX_READS {
        let again = versions_now(base)?;
        if again == found {
            break;
        }
        found = again;
    }
    Ok(found)
}

fn versions_now(base: &Path) -> Result<BTreeMap<i64, PathBuf>> {
    let kind = fs::metadata(base).map_err(|error| path_error(base, &error))?;
    if kind.is_file() {
        return Ok(BTreeMap::from([(1, base.canonicalize().map_err(|error| path_error(base, &error))?)]));
    }
    let mut versions: BTreeMap<i64, PathBuf> = BTreeMap::new();
    for name in child_names(base)? {
        let Ok(version) = name.parse::<i64>() else { continue };
        // A link without a target, or a directory that was deleted since, is no version.
        let Ok(path) = base.join(&name).canonicalize() else { continue };
        if !path.is_dir() {
            continue;
        }
        if let Some(other) = versions.get(&version) {
            tracing::warn!(used = %other.display(), ignored = %path.display(), version, "two directories have one version number");
            continue;
        }
        versions.insert(version, path);
    }
    if versions.is_empty() && ["saved_model.pb", "saved_model.pbtxt"].iter().any(|name| base.join(name).is_file()) {
        versions.insert(1, base.canonicalize().map_err(|error| path_error(base, &error))?);
    }
    Ok(versions)
}

fn selected(mut versions: BTreeMap<i64, PathBuf>, policy: &VersionPolicy) -> BTreeMap<i64, PathBuf> {
    match policy {
        VersionPolicy::All => {}
        VersionPolicy::Specific(chosen) => versions.retain(|version, _| chosen.contains(version)),
        VersionPolicy::Latest(count) => {
            let count = usize::try_from((*count).max(1)).unwrap_or(usize::MAX);
            while versions.len() > count {
                versions.pop_first();
            }
        }
    }
    versions
}

/// Returns a hash of what can change in a file or directory: names, sizes and times of modification.
fn fingerprint(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MAX_FINGERPRINT_ENTRIES;
    add_to_fingerprint(path, MAX_FINGERPRINT_DEPTH, &mut left, &mut hasher);
    hasher.finish()
}

fn add_to_fingerprint(path: &Path, depth: usize, left: &mut usize, hasher: &mut DefaultHasher) {
    *left = left.saturating_sub(1);
    let Ok(metadata) = fs::metadata(path) else { return };
    path.hash(hasher);
    metadata.modified().ok().hash(hasher);
    if metadata.is_dir() {
        for name in child_names(path).unwrap_or_default() {
            if depth == 0 || *left == 0 {
                return;
            }
            add_to_fingerprint(&path.join(name), depth - 1, left, hasher);
        }
    } else {
        metadata.len().hash(hasher);
    }
}

/// Returns the error of an operation on a path, with the path.
pub(crate) fn path_error(path: &Path, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Code::NotFound,
        io::ErrorKind::PermissionDenied => Code::PermissionDenied,
        _ => Code::Unknown,
    };
    Error::new(code, format!("{}: {error}", path.display()))
}

/// Returns the error of a model whose base path has no version that its policy selects.
pub(super) fn no_versions(config: &ModelConfig) -> Error {
    error!(NotFound, "no versions of model '{}' to serve in {}", config.name, config.base_path.display())
}

/// Checks that a request may name a model so.
///
/// # Errors
/// `NotFound` if there is no such model, whatever the name contains.
pub(super) fn require_model(config: &RepositoryConfig, name: &str) -> Result<ModelConfig> {
    match find_model(config, name) {
        Some(model) => Ok(model),
        None => bail!(NotFound, "the repository has no model '{}'", name.escape_debug()),
    }
}
