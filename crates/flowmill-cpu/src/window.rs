//! Strides, dilations and padding of convolutions and pools, which are read from attributes once and applied to an input's shape.

pub(crate) use flowmill_kernels::volume;
pub(crate) use flowmill_kernels::window::{Geometry, extent};
