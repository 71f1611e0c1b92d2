//! The dataflow graph: arena, op registry, attributes, GraphDef import and export, traversals, text form.
#![forbid(unsafe_code)]

mod arena;
pub mod attrs;
mod builtin;
mod check;
mod edge;
mod execution;
mod export;
mod frames;
mod function_body;
mod function_library;
mod graph;
mod ids;
mod import;
mod infer;
mod node;
mod op_def;
mod op_def_proto;
mod registry;
mod shape_refiner;
mod signature;
mod tensor_name;
pub mod text;
pub mod traverse;
mod validate;
mod versions;

pub use attrs::{Attr, AttrList, Attrs};
pub use builtin::{ARG, RETVAL};
pub use check::{check_attr_value, complete_attrs, is_valid_node_name};
pub use edge::Edge;
pub use execution::{ExecutionGraph, rewrite_for_execution};
pub use export::ExportOptions;
pub use frames::{ControlFlow, Frame, FrameId};
pub use function_body::{FunctionBody, instantiate_function};
pub use function_library::{Function, FunctionLibrary};
pub use graph::Graph;
pub use ids::{CONTROL_SLOT, EdgeId, NodeId, OutputId};
pub use import::{ImportOptions, ImportResults, import_graph_def};
pub use infer::{InferenceContext, ShapeFn, ValueInfo};
pub use node::Node;
pub use op_def::{ArgDef, ArgType, AttrDef, AttrType, Deprecation, OpDef};
pub use registry::OpRegistry;
pub use shape_refiner::{MAX_CONSTANT_BYTES, ShapeRefiner};
pub use signature::{MAX_ARG_TENSORS, TensorType, arg_ranges, infer_attrs};
pub use tensor_name::TensorName;
pub use versions::{GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER, check_versions};
