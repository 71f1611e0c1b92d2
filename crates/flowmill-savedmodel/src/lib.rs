//! Models on disk: SavedModels, checkpoints and frozen graphs.
//!
//! This crate reads and writes files; it runs nothing. [`SavedModel::load`] returns the graph of a model with the
//! names of what a session has to feed and run to restore its variables, and [`CheckpointReader`] and [`BundleWriter`]
//! are what the restoring and saving ops do their work with.
//!
//! Files are memory-mapped: messages and tensors point into the mapping wherever they can.
#![deny(unsafe_code)]

mod assembly;
mod bundle;
mod checkpoint;
mod checkpoint_state;
mod graph_file;
#[allow(unsafe_code)]
mod mmap;
mod ordered_code;
mod saved_model;
mod slice;
mod slice_table;
mod table;
mod wire;

pub use bundle::{BundleReader, BundleWriter, merge_bundles};
pub use checkpoint::CheckpointReader;
pub use checkpoint_state::{
    CHECKPOINT_FILE, checkpoint_exists, format_checkpoint_state, latest_checkpoint, parse_checkpoint_state, read_checkpoint_state,
    write_checkpoint_state,
};
pub use graph_file::{ModelPath, load_graph_def, load_meta_graph};
pub use mmap::map_file;
pub use saved_model::{Asset, LoadedModel, Restore, SavedModel};
pub use slice::TensorSlice;
pub use slice_table::{SliceTableReader, write_slice_table};
