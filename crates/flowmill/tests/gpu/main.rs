//! Devices of type `GPU` on a stub of the CUDA driver, which runs the text of kernels as code of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod compare;
mod compilation;
mod elementwise;
mod faults;
mod functions;
mod indices;
mod launches;
mod libraries;
mod matrices;
mod memory;
mod networks;
mod placement;
mod rearrange;
mod recorder;
mod reduce;
mod setup;
mod streams;
mod training;
