//! What the passes share that put functions' bodies into the graph: the functions, the bounds, copying a body, and who may be dead.
//!
//! These passes run before all others, in rounds: what one of them copies may hold calls, branches and loops for another, until a round
//! changes nothing. [`Functions`] lasts over the rounds. It knows in which functions each copied node stood, so that a function is never
//! copied into itself, and it counts what was left as it was, with the reason.

mod branches;
mod conditional;
mod functions;
mod splice;

pub(crate) use branches::{Branch, lower_branches};
pub(crate) use conditional::{Class, Liveness};
pub(crate) use functions::{Body, Reason, call_of, called, is_noinline};
pub use functions::{Functions, MAX_ADDED_NODES, MAX_NESTING};
pub(crate) use splice::{Argument, Place, add, gate_of, identity, inputs_gate, redirect, splice, type_attr};
