//! Kernels that move, select, repeat and count elements without computing with them.
//!
//! Most kernels are compiled once per class of elements (`item`), not per type, and copy by common strided loops (`nd`). Kernels whose result is a
//! contiguous part of their input share its memory.

#![forbid(unsafe_code)]

mod bitcast;
mod broadcast;
mod concat;
mod fill;
mod gather;
mod identity;
mod inplace;
mod pad;
mod partition;
mod patches;
mod quantize;
mod reverse;
mod scatter;
mod search;
mod shape;
mod slice;
mod space;
mod split;
mod tile_grad;
mod transpose;
mod unique;

pub(crate) use flowmill_kernels::array::rearrange::joined_shape;
pub(crate) use flowmill_kernels::array::{args, item, nd, rearrange, slice_spec};
pub(crate) use pad::make_mirror_pad;
pub(crate) use shape::reshaped;
pub(crate) use transpose::permuted;

use flowmill_runtime::KernelRegistry;

/// Registers the kernels of the array ops.
pub(crate) fn register(registry: &mut KernelRegistry) {
    bitcast::register(registry);
    inplace::register(registry);
    broadcast::register(registry);
    concat::register(registry);
    fill::register(registry);
    gather::register(registry);
    identity::register(registry);
    pad::register(registry);
    partition::register(registry);
    patches::register(registry);
    quantize::register(registry);
    reverse::register(registry);
    scatter::register(registry);
    search::register(registry);
    shape::register(registry);
    slice::register(registry);
    space::register(registry);
    split::register(registry);
    tile_grad::register(registry);
    transpose::register(registry);
    unique::register(registry);
}
