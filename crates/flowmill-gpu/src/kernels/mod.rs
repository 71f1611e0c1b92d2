//! The kernels of GPUs, a family a file.

mod batch_norm;
mod concat;
mod conv;
mod copy;
mod elementwise;
mod fused;
mod fused_matmul;
mod gather;
mod host;
mod host_integers;
mod layer_norm;
mod layout;
mod lines;
mod matmul;
mod one_hot;
mod pad;
mod pool;
mod random;
mod range;
mod rearrange;
mod reduce;
mod scatter;
mod slice;
mod softmax;
mod training;
mod types;

use flowmill_runtime::KernelRegistry;

/// Returns the kernels of devices of type `GPU`.
pub(crate) fn registry() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    batch_norm::register(&mut registry);
    concat::register(&mut registry);
    conv::register(&mut registry);
    elementwise::register(&mut registry);
    fused::register(&mut registry);
    fused_matmul::register(&mut registry);
    gather::register(&mut registry);
    host::register(&mut registry);
    layer_norm::register(&mut registry);
    lines::register(&mut registry);
    matmul::register(&mut registry);
    one_hot::register(&mut registry);
    pad::register(&mut registry);
    pool::register(&mut registry);
    random::register(&mut registry);
    range::register(&mut registry);
    rearrange::register(&mut registry);
    reduce::register(&mut registry);
    scatter::register(&mut registry);
    slice::register(&mut registry);
    softmax::register(&mut registry);
    training::register(&mut registry);
    host_integers::register(&mut registry);
    registry
}
