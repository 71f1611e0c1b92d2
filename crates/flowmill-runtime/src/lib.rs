//! The runtime: the interface of kernels, plans, and the executor that runs them frame by frame and iteration by iteration.
#![deny(missing_docs, unreachable_pub, unnameable_types)]

mod call;
mod cancel;
mod copies;
pub mod denormals;
mod device;
mod evaluate;
pub mod executor;
mod function;
pub mod intra_op;
mod invoke;
pub mod kernel;
mod panics;
pub mod plan;
pub mod program;
mod registry;
mod rendezvous;
mod resource;
mod step;
pub mod tuning;
pub mod user_cache;

pub use call::FunctionCall;
pub use cancel::{CancelReason, CancelToken, Registration};
pub use device::{CopyDone, Device, DeviceAttributes, DeviceLocality, HostDevice, SyncDone};
pub use evaluate::evaluate;
pub use executor::{Alarm, Executor, InputStats, NodeStats, OutputStats, Plan, StatsCollector, call_at};
pub use function::{CallableFunction, Caller, FunctionDone, FunctionHandle, FunctionLibraryRuntime};
pub use kernel::{AsyncContext, AsyncKernel, Cost, IterationPath, Kernel, KernelContext, ScalarOp, TransferName};
pub use registry::{InferencePrecision, KernelDef, KernelInit, KernelRegistry, MakeKernel, TypeCombination};
pub use rendezvous::{Parcel, Received, Rendezvous, RendezvousKey, Transfers};
pub use resource::{RefVariable, ResourceManager, VariableCell, container_name};
pub use step::{DeviceStep, Pace, Poll, Step};
