//! Flowmill for Rust programs: load a TensorFlow graph and run it.
