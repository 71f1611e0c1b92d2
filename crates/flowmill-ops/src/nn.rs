//! Neural networks: convolution, pooling, normalisation, activations, losses.

use crate::gradient;
use crate::op::{Op, op};
use crate::shape;
use crate::work;
use flowmill_graph::image_layout::ImageLayout;
use flowmill_graph::{ElementwiseFunction, Work};

pub(crate) const OPS: &[Op] = &[
    op("Conv2D", "(input: T, filter: T) -> (output: T)").costly().work(work::CONVOLUTION).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::conv_2d)
        .attrs(
            "T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::conv::<4>),
    op("Conv2DBackpropInput", "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_INPUT_GRADIENT).image_layout(&ImageLayout::new(&[2], &[0], true))
        .gradient(gradient::conv_2d_backprop_input)
        .attrs(
            "T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::conv_backprop_input::<4>),
    op("Conv2DBackpropFilter", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_FILTER_GRADIENT).image_layout(&ImageLayout::new(&[0, 2], &[], false))
        .gradient(gradient::conv_2d_backprop_filter)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::shape_input_of_rank::<1, 4>),
    op("Conv2DBackpropInputV2", "(input: T, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_INPUT_GRADIENT).image_layout(&ImageLayout::new(&[0, 2], &[], true))
        .attrs(
            "T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::unchanged_with_rank::<4>),
    op("Conv2DBackpropFilterV2", "(input: T, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_FILTER_GRADIENT).image_layout(&ImageLayout::new(&[0, 2], &[], false))
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::input_of_rank::<1, 4>),
    op("Conv3D", "(input: T, filter: T) -> (output: T)").costly().work(work::CONVOLUTION).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::conv_3d)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]",
        )
        .shape(shape::conv::<5>),
    op("Conv3DBackpropInputV2", "(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_INPUT_GRADIENT).image_layout(&ImageLayout::new(&[2], &[0], true))
        .gradient(gradient::conv_3d_backprop_input)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]; Tshape: index = int32",
        )
        .shape(shape::conv_backprop_input::<5>),
    op("Conv3DBackpropFilterV2", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)").costly().work(work::CONVOLUTION_FILTER_GRADIENT).image_layout(&ImageLayout::new(&[0, 2], &[], false))
        .gradient(gradient::conv_3d_backprop_filter)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]",
        )
        .shape(shape::shape_input_of_rank::<1, 5>),
    op("DepthwiseConv2dNative", "(input: T, filter: T) -> (output: T)").costly().work(work::DEPTHWISE).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::depthwise_conv_2d)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::depthwise_conv),
    op("DepthwiseConv2dNativeBackpropInput", "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)").costly().work(work::DEPTHWISE_INPUT_GRADIENT).image_layout(&ImageLayout::new(&[2], &[0], true))
        .gradient(gradient::depthwise_backprop_input)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::shape_input_of_rank::<0, 4>),
    op("DepthwiseConv2dNativeBackpropFilter", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)").costly().work(work::DEPTHWISE_FILTER_GRADIENT).image_layout(&ImageLayout::new(&[0, 2], &[], false))
        .gradient(gradient::depthwise_backprop_filter)
        .attrs(
            "T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::shape_input_of_rank::<1, 4>),
    op("Conv", "(input: T, filter: T) -> (output: T)").costly().work(work::CONVOLUTION).image_layout(&ImageLayout::new(&[0], &[], true))
        .attrs(
            "T: {half, bfloat16, float, double, int32}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST';
                dilations: list(int) = []; batch_dims: int = 1; groups: int = 1",
        )
        .shape(shape::conv_any_rank),
    op("BiasAdd", "(value: T, bias: T) -> (output: T)").image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::bias_add)
        .attrs("T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'")
        .shape(shape::bias_add),
    op("BiasAddV1", "(value: T, bias: T) -> (output: T)").gradient(gradient::bias_add).attrs("T: number").shape(shape::bias_add),
    op("BiasAddGrad", "(out_backprop: T) -> (output: T)").image_layout(&ImageLayout::new(&[0], &[], false))
        .gradient(gradient::bias_add_grad)
        .attrs("T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'")
        .shape(shape::bias_add_grad),
    op("Relu", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Relu)
        .gradient(gradient::relu)
        .attrs("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}")
        .shape(shape::unchanged),
    op("ReluGrad", "(gradients: T, features: T) -> (backprops: T)").elementwise(ElementwiseFunction::ReluGrad).gradient(gradient::relu_grad).attrs("T: real").shape(shape::merged),
    op("Relu6", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Relu6).gradient(gradient::relu6).attrs("T: real").shape(shape::unchanged),
    op("Relu6Grad", "(gradients: T, features: T) -> (backprops: T)").elementwise(ElementwiseFunction::Relu6Grad).gradient(gradient::relu6_grad).attrs("T: real").shape(shape::merged),
    op("LeakyRelu", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::LeakyRelu)
        .gradient(gradient::leaky_relu)
        .attrs("alpha: float = 0.2; T: {half, bfloat16, float, double} = float")
        .shape(shape::unchanged),
    op("LeakyReluGrad", "(gradients: T, features: T) -> (backprops: T)").elementwise(ElementwiseFunction::LeakyReluGrad)
        .gradient(gradient::leaky_relu_grad)
        .attrs("alpha: float = 0.2; T: {half, bfloat16, float, double} = float")
        .shape(shape::merged),
    op("Elu", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Elu)
        .gradient(gradient::elu)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged),
    op("EluGrad", "(gradients: T, outputs: T) -> (backprops: T)").elementwise(ElementwiseFunction::EluGrad)
        .gradient(gradient::elu_grad)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::merged),
    op("Selu", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Selu)
        .gradient(gradient::selu)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged),
    op("SeluGrad", "(gradients: T, outputs: T) -> (backprops: T)").elementwise(ElementwiseFunction::SeluGrad)
        .gradient(gradient::selu_grad)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::merged),
    op("Softplus", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Softplus)
        .gradient(gradient::softplus)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged),
    op("SoftplusGrad", "(gradients: T, features: T) -> (backprops: T)").elementwise(ElementwiseFunction::SoftplusGrad)
        .gradient(gradient::softplus_grad)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::merged),
    op("Softsign", "(features: T) -> (activations: T)").elementwise(ElementwiseFunction::Softsign)
        .gradient(gradient::softsign)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged),
    op("SoftsignGrad", "(gradients: T, features: T) -> (backprops: T)").elementwise(ElementwiseFunction::SoftsignGrad).attrs("T: {half, bfloat16, float, double}").shape(shape::merged),
    // (softplus(sharpness * x) - softplus(sharpness * (x - 1))) / sharpness: about 0 below 0, x between, and 1 above 1, without corners.
    op("Flowmill>Softclip", "(features: T) -> (activations: T)")
        .gradient(gradient::softclip)
        .attrs("sharpness: float = 1.0; T: {half, bfloat16, float, double} = float")
        .shape(shape::unchanged),
    op("Softmax", "(logits: T) -> (softmax: T)").work(Work::PerElement(28))
        .gradient(gradient::softmax)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged_with_rank_at_least::<1>),
    op("LogSoftmax", "(logits: T) -> (logsoftmax: T)").work(Work::PerElement(28))
        .gradient(gradient::log_softmax)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::unchanged_with_rank_at_least::<1>),
    op("MaxPool", "(input: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::max_pool)
        .attrs(
            "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float; ksize: list(int) >= 4;
                strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        )
        .shape(shape::pool::<4>),
    op("MaxPoolV2", "(input: T, ksize: int32, strides: int32) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0], &[1, 2], true))
        .gradient(gradient::max_pool_v2)
        .attrs(
            "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float; padding: {'SAME', 'VALID'};
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        )
        .shape(shape::pool_v2),
    op("MaxPoolGrad", "(orig_input: T, orig_output: T, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[], true))
        .gradient(gradient::max_pool_grad)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real = float",
        )
        .shape(shape::unchanged_with_rank::<4>),
    op("MaxPoolGradV2", "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[3, 4], true))
        .gradient(gradient::max_pool_grad_v2)
        .attrs("padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real = float")
        .shape(shape::unchanged_with_rank::<4>),
    op("MaxPoolGradGrad", "(orig_input: T, orig_output: T, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[], true))
        .gradient(gradient::max_pool_grad_grad)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real",
        )
        .shape(shape::max_pool_grad_grad::<4>),
    op("MaxPoolGradGradV2", "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[3, 4], true))
        .gradient(gradient::max_pool_grad_grad_v2)
        .attrs("padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real")
        .shape(shape::max_pool_grad_grad_v2),
    op("MaxPoolWithArgmax", "(input: T) -> (output: T, argmax: Targmax)").costly().work(Work::Window)
        .gradient(gradient::max_pool_with_argmax)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; Targmax: index = int64; padding: {'SAME', 'VALID'};
                include_batch_in_index: bool = false; T: real",
        )
        .shape(shape::pool::<4>),
    op("MaxPoolGradWithArgmax", "(input: T, grad: T, argmax: Targmax) -> (output: T)").costly().work(Work::Window)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; include_batch_in_index: bool = false;
                Targmax: index; T: real",
        )
        .shape(shape::unchanged_with_rank::<4>),
    op("AvgPool", "(value: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::avg_pool)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                T: {half, bfloat16, float, double}",
        )
        .shape(shape::pool::<4>),
    op("AvgPoolGrad", "(orig_input_shape: int32, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[1], &[0], true))
        .gradient(gradient::avg_pool_grad)
        .attrs(
            "ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                T: {half, bfloat16, float, double}",
        )
        .shape(shape::shape_input_of_rank::<0, 4>),
    op("MaxPool3D", "(input: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::max_pool_3d)
        .attrs(
            "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float}",
        )
        .shape(shape::pool::<5>),
    op("MaxPool3DGrad", "(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[], true))
        .gradient(gradient::max_pool_3d_grad)
        .attrs(
            "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float",
        )
        .shape(shape::unchanged_with_rank::<5>),
    op("AvgPool3D", "(input: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0], &[], true))
        .gradient(gradient::avg_pool_3d)
        .attrs(
            "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float, double}",
        )
        .shape(shape::pool::<5>),
    op("AvgPool3DGrad", "(orig_input_shape: int32, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[1], &[0], true))
        .gradient(gradient::avg_pool_grad)
        .attrs(
            "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float, double}",
        )
        .shape(shape::shape_input_of_rank::<0, 5>),
    op("LRN", "(input: T) -> (output: T)").costly()
        .gradient(gradient::lrn)
        .attrs("depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {half, bfloat16, float} = float")
        .shape(shape::unchanged_with_rank::<4>),
    op("LRNGrad", "(input_grads: T, input_image: T, output_image: T) -> (output: T)").costly()
        .attrs("depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {half, bfloat16, float} = float")
        .shape(shape::merged_first::<4>),
    op("L2Loss", "(t: T) -> (output: T)").gradient(gradient::l2_loss).attrs("T: {half, bfloat16, float, double}").shape(shape::scalars),
    op(
        "FusedBatchNorm",
        "(x: T, scale: T, offset: T, mean: T, variance: T)
         -> (y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T)",
    ).costly().image_layout(&ImageLayout::new(&[0], &[], true))
    .gradient(gradient::fused_batch_norm)
    .attrs(
        "T: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true",
    )
    .shape(shape::fused_batch_norm),
    op(
        "FusedBatchNormV2",
        "(x: T, scale: U, offset: U, mean: U, variance: U)
         -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U)",
    ).costly().image_layout(&ImageLayout::new(&[0], &[], true))
    .gradient(gradient::fused_batch_norm)
    .attrs(
        "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true",
    )
    .shape(shape::fused_batch_norm),
    op(
        "FusedBatchNormV3",
        "(x: T, scale: U, offset: U, mean: U, variance: U)
         -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
    ).costly().image_layout(&ImageLayout::new(&[0], &[], true))
    .gradient(gradient::fused_batch_norm)
    .attrs(
        "T: {half, bfloat16, float}; U: {bfloat16, float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true",
    )
    .shape(shape::fused_batch_norm),
    op(
        "FusedBatchNormGrad",
        "(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T)
         -> (x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)",
    ).costly().image_layout(&ImageLayout::new(&[0, 1], &[], true))
    .gradient(gradient::fused_batch_norm_grad)
    .attrs("T: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true")
    .shape(shape::fused_batch_norm_grad),
    op(
        "FusedBatchNormGradV2",
        "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U)
         -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)",
    ).costly().image_layout(&ImageLayout::new(&[0, 1], &[], true))
    .gradient(gradient::fused_batch_norm_grad)
    .attrs(
        "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true",
    )
    .shape(shape::fused_batch_norm_grad),
    op(
        "FusedBatchNormGradV3",
        "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)
         -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U)",
    ).costly().image_layout(&ImageLayout::new(&[0, 1], &[], true))
    .gradient(gradient::fused_batch_norm_grad)
    .attrs(
        "T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC';
                is_training: bool = true",
    )
    .shape(shape::fused_batch_norm_grad),
    op("BatchNormWithGlobalNormalization", "(t: T, m: T, v: T, beta: T, gamma: T) -> (result: T)").costly()
        .gradient(gradient::batch_norm_with_global_normalization)
        .attrs("T: number; variance_epsilon: float; scale_after_normalization: bool")
        .deprecated(9, "FusedBatchNorm replaces it")
        .shape(shape::batch_norm_with_global_normalization),
    op("SoftmaxCrossEntropyWithLogits", "(features: T, labels: T) -> (loss: T, backprop: T)")
        .gradient(gradient::softmax_cross_entropy)
        .attrs("T: {half, bfloat16, float, double}")
        .shape(shape::softmax_cross_entropy),
    op("SparseSoftmaxCrossEntropyWithLogits", "(features: T, labels: Tlabels) -> (loss: T, backprop: T)")
        .gradient(gradient::sparse_softmax_cross_entropy)
        .attrs("T: {half, bfloat16, float, double}; Tlabels: index = int64")
        .shape(shape::sparse_softmax_cross_entropy),
    op("FakeQuantWithMinMaxArgs", "(inputs: float) -> (outputs: float)")
        .gradient(gradient::fake_quant_args)
        .attrs("min: float = -6.0; max: float = 6.0; num_bits: int = 8; narrow_range: bool = false")
        .shape(shape::unchanged),
    op("FakeQuantWithMinMaxVars", "(inputs: float, min: float, max: float) -> (outputs: float)")
        .gradient(gradient::fake_quant_vars)
        .attrs("num_bits: int = 8; narrow_range: bool = false")
        .shape(shape::fake_quant_vars),
    op("FakeQuantWithMinMaxVarsPerChannel", "(inputs: float, min: float, max: float) -> (outputs: float)")
        .gradient(gradient::fake_quant_per_channel)
        .attrs("num_bits: int = 8; narrow_range: bool = false")
        .shape(shape::fake_quant_per_channel),
    op("QuantizeAndDequantize", "(input: T) -> (output: T)")
        .gradient(gradient::pass_first)
        .attrs(
            "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; input_min: float = 0.0; input_max: float = 0.0;
                T: {bfloat16, half, float, double}",
        )
        .deprecated(22, "Replaced by QuantizeAndDequantizeV2")
        .shape(shape::unchanged),
    op("QuantizeAndDequantizeV2", "(input: T, input_min: T, input_max: T) -> (output: T)")
        .gradient(gradient::pass_first)
        .attrs(
            "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double};
                round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1",
        )
        .shape(shape::quantize_and_dequantize),
    op("QuantizeAndDequantizeV3", "(input: T, input_min: T, input_max: T, num_bits: int32) -> (output: T)")
        .gradient(gradient::pass_first)
        .attrs(
            "signed_input: bool = true; range_given: bool = true; T: {bfloat16, half, float, double}; narrow_range: bool = false;
                axis: int = -1",
        )
        .shape(shape::quantize_and_dequantize),
    op("QuantizeAndDequantizeV4", "(input: T, input_min: T, input_max: T) -> (output: T)")
        .gradient(gradient::quantize_and_dequantize_v4)
        .attrs(
            "signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double};
                round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1",
        )
        .shape(shape::quantize_and_dequantize),
    op(
        "QuantizeAndDequantizeV4Grad",
        "(gradients: T, input: T, input_min: T, input_max: T) -> (input_backprop: T, input_min_backprop: T, input_max_backprop: T)",
    )
    .gradient(gradient::quantize_and_dequantize_v4_grad)
    .attrs("T: {bfloat16, half, float, double}; axis: int = -1")
    .shape(shape::quantize_and_dequantize_grad),
    op("Dilation2D", "(input: T, filter: T) -> (output: T)").costly()
        .gradient(gradient::dilation_2d)
        .attrs("T: real; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', 'VALID'}")
        .shape(shape::dilation_2d),
    op("DataFormatVecPermute", "(x: T) -> (y: T)")
        .attrs("T: index = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'")
        .shape(shape::unchanged),
    op("DataFormatDimMap", "(x: T) -> (y: T)")
        .attrs("T: index = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'")
        .shape(shape::unchanged),
    op("_FusedConv2D", "(input: T, filter: T, args: TArgs, host_args: num_host_args * float) -> (output: T)").costly().work(work::CONVOLUTION).image_layout(&ImageLayout::new(&[0, 3], &[], true))
        .attrs(
            "T: {half, float, double, int8, qint8}; TArgs: list(type) >= 1; num_args: int >= 0; num_host_args: int >= 0 = 0;
                strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'; filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO';
                dilations: list(int) = [1, 1, 1, 1]; use_cudnn_on_gpu: bool = true; fused_ops: list(string) = []; epsilon: float = 0.0001;
                leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::conv::<4>),
    op("_FusedConv3D", "(input: T, filter: T, args: num_args * T) -> (output: T)").costly().work(work::CONVOLUTION).image_layout(&ImageLayout::new(&[0, 3], &[], true))
        .attrs(
            "T: {bfloat16, float, half}; num_args: int >= 0; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]; padding_list: list(int) = [];
                fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::conv::<5>),
    op("_FusedDepthwiseConv2dNative", "(input: T, filter: T, args: num_args * T) -> (output: T)").costly().work(work::DEPTHWISE).image_layout(&ImageLayout::new(&[0], &[], true))
        .attrs(
            "T: {half, bfloat16, float, double}; num_args: int >= 0; strides: list(int); padding: {'SAME', 'VALID'};
                data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]; fused_ops: list(string) = [];
                epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::depthwise_conv),
    op("_FusedMatMul", "(a: T, b: T, args: num_args * T) -> (product: T)").costly().work(Work::Product("transpose_a"))
        .attrs(
            "transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}; num_args: int >= 0;
                fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::fused_matmul),
    op(
        "_FusedBatchNormEx",
        "(x: T, scale: U, offset: U, mean: U, variance: U, side_input: num_side_inputs * T)
         -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)",
    )
    .attrs(
        "T: {half, float, bfloat16}; U: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                num_side_inputs: int >= 0 = 0; activation_mode: string = 'Identity'; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true",
    )
    .shape(shape::fused_batch_norm),
    op("MaxPool3DGradGrad", "(orig_input: T, orig_output: T, grad: T) -> (output: T)").costly().work(Work::Window).image_layout(&ImageLayout::new(&[0, 1, 2], &[], true))
        .gradient(gradient::max_pool_3d_grad_grad)
        .attrs(
            "ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; T: real",
        )
        .shape(shape::max_pool_grad_grad::<5>),
    op("Dilation2DBackpropInput", "(input: T, filter: T, out_backprop: T) -> (in_backprop: T)").costly()
        .attrs("T: real; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', 'VALID'}")
        .shape(shape::unchanged),
    op("Dilation2DBackpropFilter", "(input: T, filter: T, out_backprop: T) -> (filter_backprop: T)").costly()
        .attrs("T: real; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', 'VALID'}")
        .shape(shape::input_1),
    op("FakeQuantWithMinMaxArgsGradient", "(gradients: float, inputs: float) -> (backprops: float)")
        .not_differentiable()
        .attrs("min: float = -6.0; max: float = 6.0; num_bits: int = 8; narrow_range: bool = false")
        .shape(shape::unchanged),
    op(
        "FakeQuantWithMinMaxVarsGradient",
        "(gradients: float, inputs: float, min: float, max: float)
         -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float)",
    )
    .not_differentiable()
        .attrs("num_bits: int = 8; narrow_range: bool = false")
    .shape(shape::fake_quant_vars_grad),
    op(
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        "(gradients: float, inputs: float, min: float, max: float)
         -> (backprops_wrt_input: float, backprop_wrt_min: float, backprop_wrt_max: float)",
    )
    .not_differentiable()
        .attrs("num_bits: int = 8; narrow_range: bool = false")
    .shape(shape::fake_quant_per_channel_grad),
    op("FractionalMaxPool", "(value: T) -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)").costly()
        .gradient(gradient::fractional_max_pool)
        .attrs(
            "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; deterministic: bool = false;
                seed: int = 0; seed2: int = 0; T: {float, double, int32, int64}",
        )
        .shape(shape::fractional_pool),
    op(
        "FractionalMaxPoolGrad",
        "(orig_input: T, orig_output: T, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64) -> (output: T)",
    ).costly()
    .attrs("overlapping: bool = false; T: {float, double, int32, int64}")
    .shape(shape::unchanged_with_rank::<4>),
    op("FractionalAvgPool", "(value: T) -> (output: T, row_pooling_sequence: int64, col_pooling_sequence: int64)").costly()
        .gradient(gradient::fractional_avg_pool)
        .attrs(
            "pooling_ratio: list(float) >= 4; pseudo_random: bool = false; overlapping: bool = false; deterministic: bool = false;
                seed: int = 0; seed2: int = 0; T: {float, double, int32, int64}",
        )
        .shape(shape::fractional_pool),
    op(
        "FractionalAvgPoolGrad",
        "(orig_input_tensor_shape: int64, out_backprop: T, row_pooling_sequence: int64, col_pooling_sequence: int64) -> (output: T)",
    ).costly()
    .attrs("overlapping: bool = false; T: {float, double, int32, int64}")
    .shape(shape::fractional_avg_pool_grad),
    op("IsotonicRegression", "(input: T) -> (output: output_dtype, segments: int32)").costly()
        .gradient(gradient::isotonic_regression)
        .attrs("T: real; output_dtype: {half, bfloat16, float, double} = float")
        .shape(shape::isotonic_regression),
];
