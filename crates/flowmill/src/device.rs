//! The types that a device is made of: a place with memory of its own, and the kernels that run there.
//!
//! A program hands its devices to [`Session::with_devices`](crate::Session::with_devices), the host's first.

pub use flowmill_graph::DeviceName;
pub use flowmill_runtime::{CopyDone, Device, DeviceAttributes, DeviceLocality, HostDevice, KernelDef, SyncDone};
pub use flowmill_tensor::{Allocator, DeviceMemory, MemoryStats, Reservation};
