//! The types that a kernel is written with: the code that computes the nodes of a custom op.
//!
//! A [`MakeKernel`] function reads a node's attributes and types from [`KernelInit`] once and returns the [`Kernel`], which many steps call at once.
//! [`from_fn`] makes one out of a closure.

pub use flowmill_kernels::from_fn::{blocking_from_fn, from_fn};
pub use flowmill_runtime::{
    AsyncContext, AsyncKernel, Cost, DeviceStep, IterationPath, Kernel, KernelContext, KernelInit, MakeKernel, ScalarOp, Step,
};
