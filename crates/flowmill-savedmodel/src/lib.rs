//! SavedModel, checkpoints (TensorBundle) and frozen graphs, read and written.
