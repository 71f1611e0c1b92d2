//! The CPU device: kernels, a family a file, with rayon inside them.

pub mod simd;
