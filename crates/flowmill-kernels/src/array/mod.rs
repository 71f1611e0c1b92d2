//! Reading index arguments and copying elements, without knowing what the elements mean.

#![forbid(unsafe_code)]

pub mod args;
pub mod item;
pub mod nd;
pub mod slice_spec;
