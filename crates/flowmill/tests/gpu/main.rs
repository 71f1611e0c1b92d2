//! Devices of type `GPU` on a stub of the CUDA driver, which runs the text of kernels as code of the host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod arrays;
mod cases;
mod compare;
mod compilation;
mod elementwise;
mod faults;
mod functions;
mod fused;
mod images;
mod indices;
mod launches;
mod libraries;
mod listing;
mod lists;
mod matrices;
mod memory;
mod networks;
mod optimizers;
mod placement;
mod rearrange;
mod recorder;
mod recurrent;
mod reduce;
mod replays;
mod selections;
mod setup;
mod spectra;
mod streams;
mod training;
mod volumes;
