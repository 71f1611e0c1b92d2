//! A loader of models that are text files, and repositories in temporary directories.

use flowmill::tensor::{bail, error};
use flowmill_serving::repository::{
    ControlMode, LoadRequest, Loaded, Loader, ModelConfig, Repository, RepositoryConfig, VersionChoice, VersionState, VersionStatus,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// The longest time that a test waits for what must happen.
pub const LONG: Duration = Duration::from_secs(60);

/// A model: the text of `saved_model.pb` in the version's directory.
pub struct TextModel {
    pub text: String,
    /// The thread that loaded the model.
    pub thread: String,
    /// The loader's request.
    pub request: String,
    loads: Arc<Loads>,
}

impl Drop for TextModel {
    fn drop(&mut self) {
        self.loads.change(|counts| {
            counts.alive -= 1;
            counts.dropped_on = thread_name();
        });
    }
}

/// The loader's counts, and the gate of models that block.
#[derive(Default)]
pub struct Loads {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Default)]
pub struct Counts {
    /// The number of loads that were begun.
    pub begun: usize,
    /// The number of models that exist.
    pub alive: usize,
    /// The thread on which a model was dropped last.
    pub dropped_on: String,
    /// True if models whose text begins with `block` may be loaded.
    is_open: bool,
}

impl Loads {
    /// Opens the gate: loads of models whose text begins with `block` go on.
    pub fn open_gate(&self) {
        self.change(|counts| counts.is_open = true);
    }

    /// Returns the number of loads that were begun.
    pub fn begun(&self) -> usize {
        self.counts.lock().unwrap().begun
    }

    /// Returns the number of models that exist.
    pub fn alive(&self) -> usize {
        self.counts.lock().unwrap().alive
    }

    /// Waits until the counts fulfil a condition.
    pub fn wait(&self, condition: impl Fn(&Counts) -> bool) {
        let counts = self.counts.lock().unwrap();
        let (_counts, timeout) = self.changed.wait_timeout_while(counts, LONG, |counts| !condition(counts)).unwrap();
        assert!(!timeout.timed_out(), "the loader did not come that far");
    }

    fn change(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut self.counts.lock().unwrap());
        self.changed.notify_all();
    }
}

fn thread_name() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// Loads text files. `corrupt` fails, `panic` panics, `block...` waits for the gate.
pub struct TextLoader(pub Arc<Loads>);

impl Loader for TextLoader {
    type Model = TextModel;

    fn load(&self, request: &LoadRequest<'_>) -> flowmill::Result<TextModel> {
        self.0.change(|counts| counts.begun += 1);
        let file = if request.path.is_file() { request.path.to_owned() } else { request.path.join("saved_model.pb") };
        let text = std::fs::read_to_string(&file).map_err(|e| error!(NotFound, "{}: {e}", file.display()))?;
        match text.as_str() {
            "corrupt" => bail!(DataLoss, "the file is corrupt"),
            "panic" => panic!("the loader panicked"),
            text if text.starts_with("block") => self.0.wait(|counts| counts.is_open),
            _ => {}
        }
        self.0.change(|counts| counts.alive += 1);
        let sizes = request.batching.map(|batching| batching.allowed_batch_sizes.clone());
        let request = format!("{} {} {:?} {:?} {}", request.model, request.version, request.platform, sizes, request.warm_up);
        Ok(TextModel { text, thread: thread_name(), request, loads: self.0.clone() })
    }
}

/// A base path with versions, and a repository that serves it.
pub struct World {
    pub directory: TempDir,
    pub loads: Arc<Loads>,
}

impl World {
    pub fn new() -> World {
        World { directory: TempDir::new().unwrap(), loads: Arc::default() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a version in one step, as a careful user would: under another name first.
    pub fn write(&self, model: &str, version: &str, text: &str) -> PathBuf {
        let path = self.path(model).join(version);
        let hidden = self.path(model).join(format!("{version}.tmp"));
        std::fs::create_dir_all(&hidden).unwrap();
        std::fs::write(hidden.join("saved_model.pb"), text).unwrap();
        std::fs::rename(&hidden, &path).unwrap();
        path
    }

    pub fn remove(&self, model: &str, version: &str) {
        std::fs::remove_dir_all(self.path(model).join(version)).unwrap();
    }

    /// A configuration of one model, `m`, which looks at the file system when a test says so.
    pub fn config(&self) -> RepositoryConfig {
        self.config_of(&["m"])
    }

    pub fn config_of(&self, models: &[&str]) -> RepositoryConfig {
        let models = models.iter().map(|&name| (name.to_owned(), ModelConfig::new(name, self.path(name))));
        RepositoryConfig {
            models: models.collect(),
            file_system_poll_wait: None,
            load_retry_interval: Duration::from_secs(3600),
            num_load_threads: 2,
            ..RepositoryConfig::default()
        }
    }

    pub fn explicit(&self) -> RepositoryConfig {
        let directories = vec![self.directory.path().to_owned()];
        RepositoryConfig { mode: ControlMode::Explicit, directories, ..self.config_of(&[]) }
    }

    pub fn start(&self, config: RepositoryConfig) -> Served {
        Repository::start(config, TextLoader(self.loads.clone())).unwrap()
    }

    /// Starts a repository and waits until all of its models are served.
    pub fn serve(&self, config: RepositoryConfig) -> Served {
        let repository = self.start(config);
        repository.wait_until_ready(LONG).unwrap();
        repository
    }
}

pub type Served = Repository<TextLoader>;

/// Returns the version of `m` that serves requests.
pub fn preferred(repository: &Served) -> Arc<Loaded<TextModel>> {
    repository.get("m", &VersionChoice::Preferred).unwrap()
}

pub fn states(repository: &Served, model: &str) -> Vec<(i64, VersionState)> {
    let statuses = repository.status(model, None).unwrap_or_default();
    statuses.iter().map(|status| (status.version, status.state)).collect()
}

pub fn status(repository: &Served, version: i64) -> Option<VersionStatus> {
    repository.status("m", Some(version)).ok()?.pop()
}

/// Waits until a version of `m` has a state.
pub fn wait_for(repository: &Served, version: i64, state: VersionState) {
    let reached = repository.wait_until(LONG, |repository| status(repository, version).is_some_and(|status| status.state == state));
    assert!(reached, "version {version} is not {state}: {:?}", repository.status("m", None));
}

/// Waits until an attempt to load a version of `m` has failed with a message that contains `text`, and returns the message.
pub fn wait_for_failure(repository: &Served, version: i64, text: &str) -> String {
    let error = |repository: &Served| Some(status(repository, version)?.error?.to_string());
    let has_failed = |repository: &Served| error(repository).is_some_and(|error| error.contains(text));
    assert!(repository.wait_until(LONG, has_failed), "{:?}", repository.status("m", None));
    error(repository).unwrap()
}

pub fn touch(path: &Path, text: &str) {
    std::fs::write(path.join("saved_model.pb"), text).unwrap();
}
