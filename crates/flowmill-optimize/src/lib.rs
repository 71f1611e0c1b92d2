//! Graph passes: one pass a file, run by one pipeline.
