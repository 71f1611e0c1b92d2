//! The executor through its public interface: graphs built by hand and at random.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod basic;
mod batches;
mod failures;
mod loops;
mod merges;
mod order;
mod parts;
mod random;
mod references;
mod strands;
mod support;
mod threads;
mod transfers;
mod waiting;
