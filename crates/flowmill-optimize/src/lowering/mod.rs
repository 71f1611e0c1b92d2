//! Shared parts of the passes that copy functions' bodies into the graph: the functions, the limits, the copying of a body, and the liveness of
//! nodes.
//!
//! These passes run before all others. They run in rounds until a round changes nothing, because a copied body may contain calls, branches and loops
//! for another pass. [`Functions`] lives through all rounds. It records the chain of functions that each copied node came from, so that a function is
//! never copied into itself, and it counts the nodes that were not lowered, with the reason.

mod branches;
mod colocation;
mod conditional;
mod functions;
mod splice;

pub(crate) use branches::{Branch, lower_branches};
pub(crate) use colocation::CallColocation;
pub(crate) use conditional::{Class, Liveness};
pub(crate) use functions::{Body, Reason, called, is_noinline};
pub use functions::{Functions, MAX_ADDED_NODES, MAX_NESTING, is_marked};
pub(crate) use splice::{Argument, Place, add, gate_of, identity, inputs_gate, redirect, splice, type_attr};
