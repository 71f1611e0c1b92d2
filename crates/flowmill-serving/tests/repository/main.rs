//! The model repository: which versions are served while files, configurations and requests change.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod config;
mod explicit;
mod faults;
mod lookups;
mod stress;
mod support;
mod versions;
