//! The op catalogue: each op's signature and shape function, declared once, one file per family.
//!
//! A declaration reads
//!
//! ```text
//! op("Conv2D", "(input: T, filter: T) -> (output: T)").costly()
//!     .attrs("T: {half, float, double}; strides: list(int); padding: {'SAME', 'VALID'}; dilations: list(int) = [1, 1, 1, 1]")
//!     .shape(shape::conv2d),
//! ```
//!
//! and is a constant, read when somebody asks a registry for the op. Names, arguments, attributes, defaults, constraints and flags are TensorFlow's.
//!
//! # Adding an op
//! 1. Write its declaration into its family's file. A new family is a file and a line in `FAMILIES`.
//! 2. Choose its shape function in `shape/` (most ops share one), or write one there.
//! 3. Run `BLESS=1 cargo test -p flowmill-ops --test definitions`, which takes the op off the list of those that have a signature only.
//! 4. Add cases to `tests/shapes/*.txt`, the part before the arrow only, and let `tests/shapes/expect.py`, which needs TensorFlow, write the rest.
//!
//! Tests compare the declaration with TensorFlow's, the shapes with the cases, and find an op that lacks either.
#![deny(missing_docs, unreachable_pub, unnameable_types)]
#![forbid(unsafe_code)]

mod op;
mod parse;
mod shape;
mod signatures;
mod work;

mod array;
mod audio;
mod batching;
mod clustering;
mod control_flow;
mod data_flow;
mod dataset;
mod dataset_function;
mod dataset_io;
mod earlier_names;
mod functional;
mod fused;
mod gradient;
mod image;
mod iterator;
mod linear_algebra;
mod logging;
mod lookup;
mod math_binary;
mod math_unary;
mod nn;
mod nn_old;
mod parsing_io;
mod quantized;
mod random;
mod reduction;
mod script;
mod sdca;
mod send_recv;
mod sequence;
mod sparse;
mod spectral;
mod staging;
mod state;
mod string;
mod tensor_map;
mod training;

pub use op::Op;

use flowmill_graph::{OpDef, OpRegistry};
use flowmill_tensor::{Error, Result};

/// The families: the file's name and what it declares.
const FAMILIES: &[(&str, &[Op])] = &[
    ("control_flow", control_flow::OPS),
    ("functional", functional::OPS),
    ("send_recv", send_recv::OPS),
    ("array", array::OPS),
    ("math_unary", math_unary::OPS),
    ("math_binary", math_binary::OPS),
    ("reduction", reduction::OPS),
    ("linear_algebra", linear_algebra::OPS),
    ("nn", nn::OPS),
    ("nn_old", nn_old::OPS),
    ("quantized", quantized::OPS),
    ("clustering", clustering::OPS),
    ("sequence", sequence::OPS),
    ("image", image::OPS),
    ("random", random::OPS),
    ("state", state::OPS),
    ("training", training::OPS),
    ("sdca", sdca::OPS),
    ("data_flow", data_flow::OPS),
    ("earlier_names", earlier_names::OPS),
    ("staging", staging::OPS),
    ("tensor_map", tensor_map::OPS),
    ("lookup", lookup::OPS),
    ("sparse", sparse::OPS),
    ("string", string::OPS),
    ("parsing_io", parsing_io::OPS),
    ("spectral", spectral::OPS),
    ("audio", audio::OPS),
    ("logging", logging::OPS),
    ("script", script::OPS),
    ("batching", batching::OPS),
    ("dataset", dataset::OPS),
    ("dataset_function", dataset_function::OPS),
    ("dataset_io", dataset_io::OPS),
    ("iterator", iterator::OPS),
    (OWN, fused::OPS),
];

/// The prefix of the names of public ops that TensorFlow does not have. `>` is TensorFlow's syntax for a namespace.
pub const NAMESPACE: &str = "Flowmill>";

/// The family of the ops that only passes make. Their names begin with an underscore.
pub const OWN: &str = "fused";

/// Every declared op with the name of its family, family by family.
pub fn declarations() -> impl Iterator<Item = (&'static str, &'static Op)> {
    FAMILIES.iter().flat_map(|&(family, ops)| ops.iter().map(move |op| (family, op)))
}

/// A registry of every declared op, which also finds the signatures of TensorFlow's other ops.
///
/// # Errors
/// `AlreadyExists` if two declarations have one name, which a test looks for.
pub fn registry() -> Result<OpRegistry> {
    Ok(OpRegistry::declared(declarations().map(|(_, op)| op))?.with_catalogue(&signatures::Signatures))
}

/// The definitions of the ops of TensorFlow that no family declares: their signatures alone, without shapes and gradients. Graphs with such ops load,
/// and run as long as no step needs the ops.
pub fn signatures_only() -> Vec<OpDef> {
    signatures::all().map(OpDef::clone).collect()
}

/// The definition of an op that a program declares itself, from text in the form of the declarations here; flags, shape function and gradient are left
/// empty.
///
/// # Errors
/// `InvalidArgument` for text that is malformed.
pub fn definition(name: &str, signature: &str, attrs: &str) -> Result<OpDef> {
    let def = parse::definition(signature, attrs);
    let def = def.map_err(|e| Error::invalid_argument(format!("Declaration of op '{name}': {}", e.message())))?;
    Ok(OpDef { name: name.to_owned(), ..def })
}

/// The definition of every declared op.
pub fn catalogue() -> Vec<OpDef> {
    declarations().filter_map(|(_, op)| op.definition().ok()).collect()
}
