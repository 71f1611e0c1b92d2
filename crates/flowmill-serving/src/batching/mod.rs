//! Dynamic batching: requests for one signature that arrive close together run as one step.
//!
//! A [`BatchQueue`] belongs to one signature of one model version. Requests whose inputs agree in everything but the first dimension share a batch;
//! with [`BatchingOptions::pad_variable_length_inputs`], requests that differ in other dimensions too. [`BatchScheduler`] is the pool of threads that
//! all queues share, taken in turns.
//!
//! A batch is assembled into one buffer for each input, and its outputs are views of the step's outputs. If a step with several requests fails, each
//! request runs alone, so that a bad request fails alone.

mod assembly;
mod options;
mod scheduler;

pub use options::BatchingOptions;
pub use scheduler::{BatchQueue, BatchScheduler, BatchStep, Request, Served};
