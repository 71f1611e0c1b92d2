//! Readers of index arguments, and copies of elements that do not depend on the elements' meaning.

#![forbid(unsafe_code)]

pub mod args;
pub mod item;
pub mod nd;
pub mod rearrange;
pub mod slice_spec;
