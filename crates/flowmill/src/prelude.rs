//! The names that most programs use: `use flowmill::prelude::*`.

pub use crate::{DType, GraphBuilder, Ops, Output, SavedModel, Session, SessionOptions, Tensor, Variable};
