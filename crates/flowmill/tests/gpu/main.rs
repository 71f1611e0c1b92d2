//! Devices of type `GPU` on a stub of the CUDA driver, which runs the text of kernels as code of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cases;
mod compilation;
mod elementwise;
mod faults;
mod launches;
mod matrices;
mod placement;
mod recorder;
mod setup;
mod streams;
