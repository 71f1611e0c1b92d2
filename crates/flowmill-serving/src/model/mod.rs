//! A loaded version of a model: its signatures, prepared to be called.

mod compute;
mod examples;
mod loader;
mod signature;

pub use compute::Compute;
pub use loader::{ModelLoader, ModelOptions};
pub(crate) use signature::SignatureHost;
pub use signature::{Call, Outcome, ServedSignature};

use flowmill::proto::SignatureDef;
use flowmill::{Error, Result, RunOptions, Session};
use std::collections::BTreeMap;
use std::sync::Arc;

pub use crate::inference::DEFAULT_SIGNATURE;

/// Returns the options of a step that runs on the thread that calls it alone, and takes nothing of the threads that all models share.
pub(crate) fn on_callers_thread() -> RunOptions {
    const NO_POOL: i32 = -1;
    RunOptions { inter_op_thread_pool: NO_POOL, ..RunOptions::default() }
}

/// A model whose signatures are prepared.
#[derive(Debug)]
pub struct ServedModel {
    session: SessionHandle,
    signatures: BTreeMap<String, Arc<ServedSignature>>,
    signature_defs: BTreeMap<String, SignatureDef>,
    platform: &'static str,
}

/// A session that prints nothing.
struct SessionHandle(Arc<Session>);

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

impl ServedModel {
    /// Returns a signature; an empty name means the default one.
    ///
    /// # Errors
    /// `FailedPrecondition` if there is none, in TensorFlow Serving's words.
    pub fn signature(&self, name: &str) -> Result<&Arc<ServedSignature>> {
        let name = if name.is_empty() { DEFAULT_SIGNATURE } else { name };
        let known = || self.signatures.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        self.signatures.get(name).ok_or_else(|| {
            Error::failed_precondition(format!("Serving signature key \"{name}\" not found. The model's signatures: {}", known()))
        })
    }

    /// Returns the signature that protocols without signatures call: the default one, or the only one.
    ///
    /// # Errors
    /// `FailedPrecondition` if there are several and none is the default.
    pub fn default_signature(&self) -> Result<&Arc<ServedSignature>> {
        let mut all = self.signatures.values();
        match (self.signatures.get(DEFAULT_SIGNATURE), all.next(), all.next()) {
            (Some(default), ..) | (None, Some(default), None) => Ok(default),
            _ => self.signature(DEFAULT_SIGNATURE),
        }
    }

    /// Returns the signatures by name.
    pub fn signatures(&self) -> &BTreeMap<String, Arc<ServedSignature>> {
        &self.signatures
    }

    /// Returns the messages of the signatures by name.
    pub fn signature_defs(&self) -> &BTreeMap<String, SignatureDef> {
        &self.signature_defs
    }

    /// Returns KServe's name of the format: `tensorflow_savedmodel` or `tensorflow_graphdef`.
    pub fn platform(&self) -> &'static str {
        self.platform
    }

    /// Returns the session.
    pub fn session(&self) -> &Arc<Session> {
        &self.session.0
    }
}

impl Drop for ServedModel {
    /// Ends what still runs in the background of the session, such as threads of its queues, so that its memory is freed.
    fn drop(&mut self) {
        self.session.0.close();
    }
}
