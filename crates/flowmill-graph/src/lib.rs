//! The dataflow graph: arena, op registry, attributes, GraphDef import and export, traversals, text form.
#![forbid(unsafe_code)]

pub mod attrs;
mod infer;
mod op_def;

pub use attrs::{Attr, AttrList, Attrs};
pub use infer::{InferenceContext, ShapeFn, ValueInfo};
pub use op_def::{ArgDef, ArgType, AttrDef, AttrType, Deprecation, OpDef};
