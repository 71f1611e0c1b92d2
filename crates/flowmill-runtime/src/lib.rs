//! The runtime: kernels' interface, plans, the executor of frames and iterations, sessions.
#![deny(missing_docs, unreachable_pub, unnameable_types)]

mod call;
mod cancel;
mod compile;
pub mod denormals;
pub mod executor;
mod function;
pub mod intra_op;
pub mod kernel;
mod panics;
pub mod plan;
pub mod program;
mod registry;
mod rendezvous;
mod resource;
mod session;
mod step;

pub use call::FunctionCall;
pub use cancel::{CancelReason, CancelToken, Registration};
pub use compile::evaluate;
pub use executor::{Alarm, NodeStats, Plan, StatsCollector, call_at};
pub use function::{CallableFunction, Caller, FunctionDone, FunctionHandle, FunctionLibraryRuntime};
pub use kernel::{AsyncContext, AsyncKernel, Cost, Kernel, KernelContext, ScalarOp};
pub use registry::{KernelInit, KernelRegistry, MakeKernel};
pub use rendezvous::Rendezvous;
pub use resource::{RefVariable, ResourceManager, VariableCell, container_name};
pub use session::{Callable, Fetches, RunOptions, RunOutcome, Runner, Session, SessionOptions, ThreadPoolOption, ToNodeName, ToTensorName};
pub use step::{Pace, Poll, StepContext};
