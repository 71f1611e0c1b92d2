//! The crate through its public interface, in one binary: linking one for each file takes longer than running it.

mod builder;
mod functions;
mod import;
mod models;
mod nodes;
mod shape_analysis;
#[path = "../support/mod.rs"]
mod support;
mod templates;
mod text;
mod traversals;
