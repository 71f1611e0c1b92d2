//! The states of versions, and reports of them.

use crate::proto::tfs::model_version_status::State;
use flowmill::Error;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The state of a version; numbers and names are TensorFlow Serving's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(i32)]
pub enum VersionState {
    /// The version is to be loaded.
    Start = State::Start as i32,
    /// The version is being loaded, or waits for its next attempt.
    Loading = State::Loading as i32,
    /// The version is served.
    Available = State::Available as i32,
    /// The version is no longer served, and requests or the thread that drops it still hold it.
    Unloading = State::Unloading as i32,
    /// The version is gone, or failed to load and is not tried again.
    End = State::End as i32,
}

impl VersionState {
    /// Returns the name, such as `AVAILABLE`.
    pub fn name(self) -> &'static str {
        match self {
            VersionState::Start => "START",
            VersionState::Loading => "LOADING",
            VersionState::Available => "AVAILABLE",
            VersionState::Unloading => "UNLOADING",
            VersionState::End => "END",
        }
    }
}

impl fmt::Display for VersionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The state of one version of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionStatus {
    /// The version.
    pub version: i64,
    /// Its state.
    pub state: VersionState,
    /// The error of the last attempt to load the version, if it failed. An available version has one if it could not be replaced.
    pub error: Option<Error>,
}

/// A model and its versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelIndex {
    /// The name of the model.
    pub name: String,
    /// The platform in its configuration; may be empty.
    pub platform: String,
    /// The versions by their labels.
    pub labels: BTreeMap<String, i64>,
    /// The versions, the largest number first. Empty for a model that was never loaded.
    pub versions: Vec<VersionStatus>,
    /// The error of the last look at the model's base path, if it failed.
    pub error: Option<Error>,
}

/// A version that has entered a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateChange {
    /// The name of the model.
    pub model: Arc<str>,
    /// The version and its new state.
    pub status: VersionStatus,
}
