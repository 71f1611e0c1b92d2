//! Kernels that move, select, repeat and number elements without computing with them.
//!
//! Most are compiled once for each class of elements ([`item`]), not for each type, and copy through one engine ([`nd`]). Those whose
//! result is a run of their input's elements share its memory.

#![forbid(unsafe_code)]

pub(crate) mod args;
mod broadcast;
mod concat;
mod identity;
pub(crate) mod item;
pub(crate) mod nd;
mod shape;
mod slice;
pub(crate) mod slice_spec;
mod split;
#[cfg(test)]
mod tests;
mod transpose;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of the array ops.
pub fn register(registry: &mut KernelRegistry) {
    broadcast::register(registry);
    concat::register(registry);
    identity::register(registry);
    shape::register(registry);
    slice::register(registry);
    split::register(registry);
    transpose::register(registry);
}
