//! TensorFlow's wire types, as plain Rust structs.
