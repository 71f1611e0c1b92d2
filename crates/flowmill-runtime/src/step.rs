//! What all kernels of one step share.

use crate::cancel::CancelToken;
use crate::function::FunctionLibraryRuntime;
use crate::rendezvous::Rendezvous;
use crate::resource::ResourceManager;
use std::sync::Arc;
use std::time::Instant;

/// One run of a plan, as its kernels see it.
#[derive(Clone)]
pub struct StepContext {
    /// Unique within the process.
    pub step_id: u64,
    /// Ends the step early.
    pub cancel: CancelToken,
    /// When the step must have ended.
    pub deadline: Option<Instant>,
    /// The session's resources.
    pub resources: Arc<ResourceManager>,
    /// The graph's functions.
    pub functions: Arc<FunctionLibraryRuntime>,
    /// Where this step's sends and receives meet.
    pub rendezvous: Arc<Rendezvous>,
}
