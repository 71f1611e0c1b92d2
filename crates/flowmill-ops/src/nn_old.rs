//! Ops of neural networks that only early graphs contain, or graphs that a tool rewrote for inference.

use crate::op::{Op, op};
use crate::shape;
use crate::work;
use flowmill_graph::Work;

pub(crate) const OPS: &[Op] = &[
    op("FusedPadConv2D", "(input: T, paddings: int32, filter: T) -> (output: T)").costly().work(work::CONVOLUTION)
        .attrs("T: {half, bfloat16, float, double}; mode: {'REFLECT', 'SYMMETRIC'}; strides: list(int); padding: {'SAME', 'VALID'}")
        .shape(shape::fused_pad_conv::<false>),
    op("FusedResizeAndPadConv2D", "(input: T, size: int32, paddings: int32, filter: T) -> (output: T)").costly().work(work::CONVOLUTION)
        .attrs("T: {half, float, double}; resize_align_corners: bool = false; mode: {'REFLECT', 'SYMMETRIC'}; strides: list(int); padding: {'SAME', 'VALID'}")
        .shape(shape::fused_pad_conv::<true>),
    op("MaxPoolGradGradWithArgmax", "(input: T, grad: T, argmax: Targmax) -> (output: T)").costly().work(Work::Window)
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; include_batch_in_index: bool = false; Targmax: index; T: real")
        .shape(shape::max_pool_grad_grad_with_argmax),
    op("Conv3DBackpropInput", "(input: T, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_INPUT_GRADIENT)
        .attrs("T: {half, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; dilations: list(int) = [1, 1, 1, 1, 1]")
        .deprecated(10, "Conv3DBackpropInputV2 replaces it")
        .shape(shape::unchanged_with_rank::<5>),
    op("Conv3DBackpropFilter", "(input: T, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_FILTER_GRADIENT)
        .attrs("T: {half, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; dilations: list(int) = [1, 1, 1, 1, 1]")
        .deprecated(10, "Conv3DBackpropFilterV2 replaces it")
        .shape(shape::input_of_rank::<1, 5>),
    op("BatchNormWithGlobalNormalizationGrad", "(t: T, m: T, v: T, gamma: T, backprop: T) -> (dx: T, dm: T, dv: T, db: T, dg: T)").costly()
        .attrs("T: number; variance_epsilon: float; scale_after_normalization: bool")
        .deprecated(9, "FusedBatchNormGrad replaces it")
        .shape(shape::batch_norm_with_global_normalization_grad),
];
