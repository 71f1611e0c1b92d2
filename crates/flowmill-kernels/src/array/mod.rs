//! Readers of index arguments, and copies of elements that do not depend on the elements' meaning.

#![forbid(unsafe_code)]

pub mod args;
pub mod diagonal;
pub mod item;
pub mod nd;
pub mod partition;
pub mod rearrange;
pub mod slice_spec;
pub mod space;
