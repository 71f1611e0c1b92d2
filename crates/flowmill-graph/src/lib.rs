//! The dataflow graph: arena, op registry, attributes, GraphDef import and export, traversals, text form.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod arena;
pub mod attrs;
pub mod builder;
mod builtin;
mod call_shapes;
mod check;
mod device_name;
mod edge;
mod einsum;
mod elementwise;
mod evaluate;
mod execution;
mod export;
mod frames;
mod function_body;
mod function_def;
mod function_library;
mod graph;
mod ids;
pub mod image_layout;
mod import;
mod infer;
mod name_hash;
mod node;
mod node_summary;
mod op_def;
mod op_def_proto;
mod op_traits;
mod purity;
mod registry;
mod shape_analysis;
mod shape_refiner;
mod signature;
mod symbols;
mod tensor_name;
pub mod text;
pub mod traverse;
mod validate;
mod versions;
mod work;

pub use attrs::{Attr, AttrList, Attrs, OwnAttr};
pub use builtin::{ARG, HOST_MEMORY, KEEP_MEMORY, OUTPUT_SHAPES, RETVAL, TRANSFER};
pub use call_shapes::{MAX_BODY_NODES, call_of};
pub use check::{check_attr_value, complete_attrs, is_valid_node_name};
pub use device_name::DeviceName;
pub use edge::Edge;
pub use einsum::{EinsumEquation, EinsumLabel, EinsumProduct};
pub use elementwise::{
    ElementwiseFunction, ElementwiseInstruction, ElementwisePiece, ElementwiseProgram, ReductionFunction, ReductionInstruction,
    ReductionProgram,
};
pub use evaluate::{Evaluator, Target, evaluate_node};
pub use execution::{ExecutionGraph, part_for_execution, rewrite_for_execution, rewrite_with_connections};
pub use export::ExportOptions;
pub use frames::{ControlFlow, Frame, FrameId};
pub use function_body::{FunctionBody, instantiate_function};
pub use function_def::{FunctionArg, FunctionPart, function_def, name_by_content, retain_colocations};
pub use function_library::{Function, FunctionLibrary};
pub use graph::{Graph, NodeTemplate};
pub use ids::{CONTROL_SLOT, EdgeId, NodeId, OutputId};
pub use import::{ImportOptions, ImportResults, MAX_IMPORTED_OUTPUTS, import_graph_def};
pub use infer::{InferenceContext, ShapeFn, ValueInfo, placeholder_shape};
pub use node::Node;
pub use op_def::{ArgDef, ArgType, AttrDef, AttrType, Deprecation, OpDef};
pub use op_traits::{Effects, Moves, OpTraits, Role};
pub use purity::{has_effects, is_foldable, is_pure};
pub use registry::{Catalogue, Declaration, OpRegistry};
pub use shape_analysis::ShapeAnalysis;
pub use shape_refiner::{MAX_CONSTANT_BYTES, ShapeRefiner};
pub use signature::{MAX_ARG_TENSORS, TensorType, arg_ranges, infer_attrs};
pub use tensor_name::TensorName;
pub use versions::{GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER, check_versions};
pub use work::{Operand, Work};

pub use rustc_hash::FxHashMap;
