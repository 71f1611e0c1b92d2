//! The kernels of GPUs, a family a file.

mod attention;
mod batch_norm;
mod categorical;
mod concat;
mod conv;
mod copy;
mod diagonal;
mod einsum;
mod elementwise;
mod epilogue;
mod fused;
mod fused_reduction;
mod gather;
mod host;
mod host_integers;
mod image;
mod layer_norm;
mod layout;
mod lines;
mod matmul;
mod one_hot;
mod ordered;
mod pad;
mod partition;
mod pool;
mod random;
mod range;
mod rearrange;
mod reduce;
mod rules;
mod scatter;
mod segment;
mod sequence;
mod slice;
mod softmax;
mod space;
mod storage;
mod tensor_array;
mod tensor_list;
mod training;
mod types;

use flowmill_runtime::KernelRegistry;

/// Returns the kernels of devices of type `GPU`.
pub(crate) fn registry() -> KernelRegistry {
    let mut registry = KernelRegistry::new();
    attention::register(&mut registry);
    batch_norm::register(&mut registry);
    categorical::register(&mut registry);
    concat::register(&mut registry);
    conv::register(&mut registry);
    diagonal::register(&mut registry);
    einsum::register(&mut registry);
    elementwise::register(&mut registry);
    fused::register(&mut registry);
    fused_reduction::register(&mut registry);
    gather::register(&mut registry);
    host::register(&mut registry);
    image::register(&mut registry);
    layer_norm::register(&mut registry);
    lines::register(&mut registry);
    matmul::register(&mut registry);
    one_hot::register(&mut registry);
    pad::register(&mut registry);
    partition::register(&mut registry);
    pool::register(&mut registry);
    random::register(&mut registry);
    range::register(&mut registry);
    rearrange::register(&mut registry);
    reduce::register(&mut registry);
    scatter::register(&mut registry);
    segment::register(&mut registry);
    slice::register(&mut registry);
    sequence::register(&mut registry);
    softmax::register(&mut registry);
    space::register(&mut registry);
    tensor_array::register(&mut registry);
    tensor_list::register(&mut registry);
    training::register(&mut registry);
    host_integers::register(&mut registry);
    registry
}
