//! The crate through its public interface, in one binary.

mod checkpoints;
mod models;
mod overwritten;
mod slice_tables;
mod text;
