//! Models on disk: SavedModels, checkpoints and frozen graphs.
//!
//! This crate reads and writes files; it runs nothing. [`SavedModel::load`] returns the graph of a model with the
//! names of what a session has to feed and run to restore its variables, and [`BundleReader`] and [`BundleWriter`]
//! are what the restoring and saving ops do their work with.
//!
//! Files are memory-mapped: messages and tensors point into the mapping wherever they can.
#![deny(unsafe_code)]

mod bundle;
mod checkpoint_state;
mod graph_file;
#[allow(unsafe_code)]
mod mmap;
mod saved_model;
mod table;
mod wire;

pub use bundle::{BundleReader, BundleWriter, TensorSlice, merge_bundles};
pub use checkpoint_state::{
    CHECKPOINT_FILE, checkpoint_exists, format_checkpoint_state, latest_checkpoint, parse_checkpoint_state, read_checkpoint_state,
    write_checkpoint_state,
};
pub use graph_file::{ModelPath, load_graph_def};
pub use mmap::map_file;
pub use saved_model::{Asset, LoadedModel, Restore, SavedModel};
