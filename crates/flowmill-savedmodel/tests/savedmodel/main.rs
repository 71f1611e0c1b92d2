//! The crate through its public interface, in one binary.

mod checkpoints;
mod models;
mod slice_tables;
