//! The parameters of batching, named as in TensorFlow Serving's file.

use crate::proto::tfs::BatchingParameters;
use flowmill::{Error, Result};
use std::path::Path;
use std::time::Duration;

/// When batches are run, and how large they are. TensorFlow Serving's `BatchingParameters`, with its defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchingOptions {
    /// The largest number of rows of a batch.
    pub max_batch_size: usize,
    /// The longest time that the first request of a batch waits for others. With zero, a batch is run as soon as a thread is free.
    pub batch_timeout: Duration,
    /// The number of full batches that may wait for each signature; a request that finds more rows waiting is refused.
    pub max_enqueued_batches: usize,
    /// The number of threads that run batches, for all models together; 0 means one per core.
    pub num_batch_threads: usize,
    /// The numbers of rows that are run, in increasing order: a batch is padded to the next of them by repeating its first row. Empty means any number.
    pub allowed_batch_sizes: Vec<usize>,
    /// Pad the inputs of one batch with zeros to one size in every dimension, instead of batching only requests of the same shape.
    pub pad_variable_length_inputs: bool,
    /// Split a request with more rows than a batch has, instead of refusing it.
    pub enable_large_batch_splitting: bool,
    /// The largest number of rows that is run at once if requests are split; at most `max_batch_size`, and 0 means as many.
    pub max_execution_batch_size: usize,
}

impl Default for BatchingOptions {
    fn default() -> BatchingOptions {
        BatchingOptions {
            max_batch_size: 1000,
            batch_timeout: Duration::ZERO,
            max_enqueued_batches: 10,
            num_batch_threads: 0,
            allowed_batch_sizes: Vec::new(),
            pad_variable_length_inputs: false,
            enable_large_batch_splitting: false,
            max_execution_batch_size: 0,
        }
    }
}

impl BatchingOptions {
    /// Returns the options of TensorFlow Serving's message; fields that are not set have their defaults.
    ///
    /// # Errors
    /// `InvalidArgument` that names the field for a value out of range, and for sizes that contradict each other.
    pub fn from_proto(proto: &BatchingParameters) -> Result<BatchingOptions> {
        let defaults = BatchingOptions::default();
        let options = BatchingOptions {
            max_batch_size: size("max_batch_size", proto.max_batch_size, defaults.max_batch_size)?,
            batch_timeout: match proto.batch_timeout_micros {
                None => defaults.batch_timeout,
                Some(micros) => Duration::from_micros(u64::try_from(micros).map_err(|_| negative("batch_timeout_micros", micros))?),
            },
            max_enqueued_batches: size("max_enqueued_batches", proto.max_enqueued_batches, defaults.max_enqueued_batches)?,
            num_batch_threads: size("num_batch_threads", proto.num_batch_threads, defaults.num_batch_threads)?,
            allowed_batch_sizes: proto
                .allowed_batch_sizes
                .iter()
                .map(|&n| size("allowed_batch_sizes", Some(n), 0))
                .collect::<Result<_>>()?,
            pad_variable_length_inputs: proto.pad_variable_length_inputs,
            enable_large_batch_splitting: proto.enable_large_batch_splitting.unwrap_or(defaults.enable_large_batch_splitting),
            max_execution_batch_size: size("max_execution_batch_size", proto.max_execution_batch_size, defaults.max_execution_batch_size)?,
        };
        options.check()?;
        Ok(options)
    }

    /// Reads TensorFlow Serving's file, which is in protobuf's text format.
    ///
    /// # Errors
    /// `InvalidArgument` for a text that does not parse, with the place, and those of [`BatchingOptions::from_proto`].
    pub fn from_text(text: &str) -> Result<BatchingOptions> {
        BatchingOptions::from_proto(&crate::text_format::parse(text, "tensorflow.serving.BatchingParameters", "batching parameters")?)
    }

    /// Like [`BatchingOptions::from_text`], of a file.
    ///
    /// # Errors
    /// `NotFound` or `InvalidArgument` with the file's name, and those of [`BatchingOptions::from_proto`].
    pub fn from_file(path: &Path) -> Result<BatchingOptions> {
        let message: BatchingParameters = crate::text_format::read(path, "tensorflow.serving.BatchingParameters")?;
        BatchingOptions::from_proto(&message).map_err(|error| error.context(path.display()))
    }

    /// Returns an error for sizes that contradict each other.
    ///
    /// # Errors
    /// `InvalidArgument` that names the field.
    pub fn check(&self) -> Result<()> {
        if self.max_batch_size == 0 || self.max_enqueued_batches == 0 {
            return Err(Error::invalid_argument("max_batch_size and max_enqueued_batches must be positive"));
        }
        if self.max_execution_batch_size > self.max_batch_size {
            return Err(Error::invalid_argument(format!(
                "max_execution_batch_size {} is larger than max_batch_size {}",
                self.max_execution_batch_size, self.max_batch_size
            )));
        }
        if self.allowed_batch_sizes.contains(&0) || !self.allowed_batch_sizes.is_sorted_by(|a, b| a < b) {
            return Err(Error::invalid_argument(format!(
                "allowed_batch_sizes must be positive and increase: {:?}",
                self.allowed_batch_sizes
            )));
        }
        match self.allowed_batch_sizes.last() {
            Some(&last) if last != self.rows_per_step() => Err(Error::invalid_argument(format!(
                "the last of allowed_batch_sizes is {last}; it must be the largest number of rows of a batch, {}",
                self.rows_per_step()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the largest number of rows of a step.
    pub fn rows_per_step(&self) -> usize {
        match self.max_execution_batch_size {
            n if n > 0 && self.enable_large_batch_splitting => n,
            _ => self.max_batch_size,
        }
    }

    /// Returns the number of rows that a batch of `rows` is padded to.
    pub fn padded_rows(&self, rows: usize) -> usize {
        self.allowed_batch_sizes.iter().copied().find(|&allowed| allowed >= rows).unwrap_or(rows)
    }
}

fn size(field: &str, value: Option<i64>, default: usize) -> Result<usize> {
    match value {
        None => Ok(default),
        Some(value) => usize::try_from(value).map_err(|_| negative(field, value)),
    }
}

fn negative(field: &str, value: i64) -> Error {
    Error::invalid_argument(format!("{field} is {value}; it must not be negative"))
}
