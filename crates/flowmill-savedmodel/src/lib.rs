//! Models on disk: SavedModels, checkpoints and frozen graphs.
//!
//! This crate reads and writes files; it runs nothing. [`SavedModel::load`] returns the graph of a model with the
//! names of what a session has to feed and run to restore its variables, and [`CheckpointReader`] and [`BundleWriter`]
//! are what the restoring and saving ops do their work with.
//!
//! Files are read; messages point into the bytes read, and a checkpoint's tensors are read one by one into memory of their own. So whatever happens
//! to a file later has no effect on what was made of it. [`FileAccess::Map`] maps the files of graphs instead, for who can promise that nobody
//! changes them in place.
//!
//! Messages are read in wire format and as protobuf's text, which are told apart by their contents.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![deny(unsafe_code)]

mod assembly;
mod bundle;
mod checkpoint;
mod checkpoint_state;
#[allow(unsafe_code)]
mod file;
mod foreign;
mod graph_file;
mod message;
mod ordered_code;
mod saved_model;
mod slice;
mod slice_table;
mod table;
mod text_format;
mod wire;

pub use bundle::{BundleReader, BundleWriter, merge_bundles};
pub use checkpoint::CheckpointReader;
pub use checkpoint_state::{
    CHECKPOINT_FILE, checkpoint_exists, format_checkpoint_state, latest_checkpoint, parse_checkpoint_state, read_checkpoint_state,
    write_checkpoint_state,
};
pub use file::{FileAccess, read_file};
pub use graph_file::{ModelPath, load_graph_def, load_graph_def_with, load_meta_graph, parse_graph_def, parse_meta_graph};
pub use saved_model::{Asset, LoadedModel, Restore, SavedModel, init_op};
pub use slice::TensorSlice;
pub use slice_table::{SliceTableReader, write_slice_table};
