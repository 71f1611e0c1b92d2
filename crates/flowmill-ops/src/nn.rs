//! Neural networks: convolution, pooling, normalisation, activations, losses, recurrent cells.

use crate::op::{Op, op};

pub(crate) const OPS: &[Op] = &[
    op("Conv2D", "(input: T, filter: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]"),
    op("Conv2DBackpropInput", "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double, int32}; strides: list(int); use_cudnn_on_gpu: bool = true;
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                dilations: list(int) = [1, 1, 1, 1]"),
    op("Conv2DBackpropFilter", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int); use_cudnn_on_gpu: bool = true; padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"),
    op("Conv3D", "(input: T, filter: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]"),
    op("Conv3DBackpropInputV2", "(input_sizes: Tshape, filter: T, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]; Tshape: index = int32"),
    op("Conv3DBackpropFilterV2", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int) >= 5; padding: {'SAME', 'VALID'};
                data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'; dilations: list(int) = [1, 1, 1, 1, 1]"),
    op("DepthwiseConv2dNative", "(input: T, filter: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"),
    op("DepthwiseConv2dNativeBackpropInput", "(input_sizes: int32, filter: T, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"),
    op("DepthwiseConv2dNativeBackpropFilter", "(input: T, filter_sizes: int32, out_backprop: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'NHWC', 'NCHW'} = 'NHWC'; dilations: list(int) = [1, 1, 1, 1]"),
    op("Conv", "(input: T, filter: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double, int32}; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; data_format: {'CHANNELS_FIRST', 'CHANNELS_LAST'} = 'CHANNELS_LAST';
                dilations: list(int) = []; batch_dims: int = 1; groups: int = 1"),
    op("BiasAdd", "(value: T, bias: T) -> (output: T)").attrs("T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'"),
    op("BiasAddV1", "(value: T, bias: T) -> (output: T)").attrs("T: number"),
    op("BiasAddGrad", "(out_backprop: T) -> (output: T)").attrs("T: number; data_format: {'NHWC', 'NCHW'} = 'NHWC'"),
    op("Relu", "(features: T) -> (activations: T)")
        .attrs("T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8}"),
    op("ReluGrad", "(gradients: T, features: T) -> (backprops: T)").attrs("T: real"),
    op("Relu6", "(features: T) -> (activations: T)").attrs("T: real"),
    op("Relu6Grad", "(gradients: T, features: T) -> (backprops: T)").attrs("T: real"),
    op("LeakyRelu", "(features: T) -> (activations: T)").attrs("alpha: float = 0.2; T: {half, bfloat16, float, double} = float"),
    op("LeakyReluGrad", "(gradients: T, features: T) -> (backprops: T)").attrs("alpha: float = 0.2; T: {half, bfloat16, float, double} = float"),
    op("Elu", "(features: T) -> (activations: T)").attrs("T: {half, bfloat16, float, double}"),
    op("EluGrad", "(gradients: T, outputs: T) -> (backprops: T)").attrs("T: {half, bfloat16, float, double}"),
    op("Selu", "(features: T) -> (activations: T)").attrs("T: {half, bfloat16, float, double}"),
    op("SeluGrad", "(gradients: T, outputs: T) -> (backprops: T)").attrs("T: {half, bfloat16, float, double}"),
    op("Softplus", "(features: T) -> (activations: T)").attrs("T: {half, bfloat16, float, double}"),
    op("SoftplusGrad", "(gradients: T, features: T) -> (backprops: T)").attrs("T: {half, bfloat16, float, double}"),
    op("Softsign", "(features: T) -> (activations: T)").attrs("T: {half, bfloat16, float, double}"),
    op("SoftsignGrad", "(gradients: T, features: T) -> (backprops: T)").attrs("T: {half, bfloat16, float, double}"),
    op("Softmax", "(logits: T) -> (softmax: T)").attrs("T: {half, bfloat16, float, double}"),
    op("LogSoftmax", "(logits: T) -> (logsoftmax: T)").attrs("T: {half, bfloat16, float, double}"),
    op("MaxPool", "(input: T) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float; ksize: list(int) >= 4;
                strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"),
    op("MaxPoolV2", "(input: T, ksize: int32, strides: int32) -> (output: T)")
        .attrs("T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = float; padding: {'SAME', 'VALID'};
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"),
    op("MaxPoolGrad", "(orig_input: T, orig_output: T, grad: T) -> (output: T)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real = float"),
    op("MaxPoolGradV2", "(orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32) -> (output: T)")
        .attrs("padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real = float"),
    op("MaxPoolGradGrad", "(orig_input: T, orig_output: T, grad: T) -> (output: T)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC'; T: real"),
    op("MaxPoolWithArgmax", "(input: T) -> (output: T, argmax: Targmax)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; Targmax: index = int64; padding: {'SAME', 'VALID'};
                include_batch_in_index: bool = false; T: real"),
    op("MaxPoolGradWithArgmax", "(input: T, grad: T, argmax: Targmax) -> (output: T)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; include_batch_in_index: bool = false;
                Targmax: index; T: real"),
    op("AvgPool", "(value: T) -> (output: T)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                T: {half, bfloat16, float, double}"),
    op("AvgPoolGrad", "(orig_input_shape: int32, grad: T) -> (output: T)")
        .attrs("ksize: list(int) >= 4; strides: list(int) >= 4; padding: {'SAME', 'VALID'}; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                T: {half, bfloat16, float, double}"),
    op("MaxPool3D", "(input: T) -> (output: T)")
        .attrs("ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float}"),
    op("MaxPool3DGrad", "(orig_input: TInput, orig_output: TInput, grad: T) -> (output: T)")
        .attrs("ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float} = float; TInput: {half, bfloat16, float} = float"),
    op("AvgPool3D", "(input: T) -> (output: T)")
        .attrs("ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float, double}"),
    op("AvgPool3DGrad", "(orig_input_shape: int32, grad: T) -> (output: T)")
        .attrs("ksize: list(int) >= 5; strides: list(int) >= 5; padding: {'SAME', 'VALID'}; data_format: {'NDHWC', 'NCDHW'} = 'NDHWC';
                T: {half, bfloat16, float, double}"),
    op("LRN", "(input: T) -> (output: T)")
        .attrs("depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {half, bfloat16, float} = float"),
    op("LRNGrad", "(input_grads: T, input_image: T, output_image: T) -> (output: T)")
        .attrs("depth_radius: int = 5; bias: float = 1.0; alpha: float = 1.0; beta: float = 0.5; T: {half, bfloat16, float} = float"),
    op("L2Loss", "(t: T) -> (output: T)").attrs("T: {half, bfloat16, float, double}"),
    op("FusedBatchNorm", "(x: T, scale: T, offset: T, mean: T, variance: T) -> (y: T, batch_mean: T, batch_variance: T, reserve_space_1: T, reserve_space_2: T)")
        .attrs("T: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true"),
    op("FusedBatchNormV2", "(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U)")
        .attrs("T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true"),
    op("FusedBatchNormV3", "(x: T, scale: U, offset: U, mean: U, variance: U) -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)")
        .attrs("T: {half, bfloat16, float}; U: {bfloat16, float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC'; is_training: bool = true"),
    op("FusedBatchNormGrad", "(y_backprop: T, x: T, scale: T, reserve_space_1: T, reserve_space_2: T) -> (x_backprop: T, scale_backprop: T, offset_backprop: T, reserve_space_3: T, reserve_space_4: T)")
        .attrs("T: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC'; is_training: bool = true"),
    op("FusedBatchNormGradV2", "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_3: U, reserve_space_4: U)")
        .attrs("T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true"),
    op("FusedBatchNormGradV3", "(y_backprop: T, x: T, scale: float, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U) -> (x_backprop: T, scale_backprop: U, offset_backprop: U, reserve_space_4: U, reserve_space_5: U)")
        .attrs("T: {half, bfloat16, float}; U: {float}; epsilon: float = 0.0001; data_format: {'NHWC', 'NCHW', 'NDHWC', 'NCDHW'} = 'NHWC';
                is_training: bool = true"),
    op("BatchNormWithGlobalNormalization", "(t: T, m: T, v: T, beta: T, gamma: T) -> (result: T)")
        .attrs("T: number; variance_epsilon: float; scale_after_normalization: bool")
        .deprecated(9, "FusedBatchNorm replaces it"),
    op("SoftmaxCrossEntropyWithLogits", "(features: T, labels: T) -> (loss: T, backprop: T)").attrs("T: {half, bfloat16, float, double}"),
    op("SparseSoftmaxCrossEntropyWithLogits", "(features: T, labels: Tlabels) -> (loss: T, backprop: T)")
        .attrs("T: {half, bfloat16, float, double}; Tlabels: index = int64"),
    op("FakeQuantWithMinMaxArgs", "(inputs: float) -> (outputs: float)")
        .attrs("min: float = -6.0; max: float = 6.0; num_bits: int = 8; narrow_range: bool = false"),
    op("FakeQuantWithMinMaxVars", "(inputs: float, min: float, max: float) -> (outputs: float)")
        .attrs("num_bits: int = 8; narrow_range: bool = false"),
    op("FakeQuantWithMinMaxVarsPerChannel", "(inputs: float, min: float, max: float) -> (outputs: float)")
        .attrs("num_bits: int = 8; narrow_range: bool = false"),
    op("QuantizeAndDequantizeV2", "(input: T, input_min: T, input_max: T) -> (output: T)")
        .attrs("signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double};
                round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1"),
    op("QuantizeAndDequantizeV3", "(input: T, input_min: T, input_max: T, num_bits: int32) -> (output: T)")
        .attrs("signed_input: bool = true; range_given: bool = true; T: {bfloat16, half, float, double}; narrow_range: bool = false;
                axis: int = -1"),
    op("QuantizeAndDequantizeV4", "(input: T, input_min: T, input_max: T) -> (output: T)")
        .attrs("signed_input: bool = true; num_bits: int = 8; range_given: bool = false; T: {bfloat16, half, float, double};
                round_mode: {'HALF_TO_EVEN', 'HALF_UP'} = 'HALF_TO_EVEN'; narrow_range: bool = false; axis: int = -1"),
    op("QuantizeV2", "(input: float, min_range: float, max_range: float) -> (output: T, output_min: float, output_max: float)")
        .attrs("T: {qint8, quint8, qint32, qint16, quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED';
                round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; narrow_range: bool = false; axis: int = -1;
                ensure_minimum_range: float = 0.01"),
    op("Dequantize", "(input: T, min_range: float, max_range: float) -> (output: dtype)")
        .attrs("T: {qint8, quint8, qint32, qint16, quint16}; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED';
                narrow_range: bool = false; axis: int = -1; dtype: {bfloat16, float} = float"),
    op("Dilation2D", "(input: T, filter: T) -> (output: T)")
        .attrs("T: real; strides: list(int) >= 4; rates: list(int) >= 4; padding: {'SAME', 'VALID'}"),
    op("CTCGreedyDecoder", "(inputs: T, sequence_length: int32) -> (decoded_indices: int64, decoded_values: int64, decoded_shape: int64, log_probability: T)")
        .attrs("merge_repeated: bool = false; blank_index: int = -1; T: {float, double} = float"),
    op("LSTMBlockCell", "(x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)")
        .attrs("forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; T: {half, float}"),
    op("BlockLSTM", "(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)")
        .attrs("forget_bias: float = 1.0; cell_clip: float = 3.0; use_peephole: bool = false; T: {half, float}"),
    op("BlockLSTMV2", "(seq_len_max: int64, x: T, cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T) -> (i: T, cs: T, f: T, o: T, ci: T, co: T, h: T)")
        .attrs("cell_clip: float = 0.0; use_peephole: bool = false; T: {half, float}"),
    op("GRUBlockCell", "(x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T) -> (r: T, u: T, c: T, h: T)").attrs("T: {float}"),
    op("DataFormatVecPermute", "(x: T) -> (y: T)").attrs("T: index = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'"),
    op("DataFormatDimMap", "(x: T) -> (y: T)").attrs("T: index = int32; src_format: string = 'NHWC'; dst_format: string = 'NCHW'"),
    op("_FusedConv2D", "(input: T, filter: T, args: TArgs, host_args: num_host_args * float) -> (output: T)")
        .attrs("T: {half, float, double, int8, qint8}; TArgs: list(type) >= 1; num_args: int >= 0; num_host_args: int >= 0 = 0;
                strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = [];
                data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'; filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO';
                dilations: list(int) = [1, 1, 1, 1]; use_cudnn_on_gpu: bool = true; fused_ops: list(string) = []; epsilon: float = 0.0001;
                leakyrelu_alpha: float = 0.2"),
    op("_FusedMatMul", "(a: T, b: T, args: num_args * T) -> (product: T)")
        .attrs("transpose_a: bool = false; transpose_b: bool = false; T: {bfloat16, half, float}; num_args: int >= 0;
                fused_ops: list(string) = []; epsilon: float = 0.0001; leakyrelu_alpha: float = 0.2"),
    op("_FusedBatchNormEx", "(x: T, scale: U, offset: U, mean: U, variance: U, side_input: num_side_inputs * T) -> (y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, reserve_space_3: U)")
        .attrs("T: {half, float, bfloat16}; U: {float}; epsilon: float = 0.0001; exponential_avg_factor: float = 1.0;
                num_side_inputs: int >= 0 = 0; activation_mode: string = 'Identity'; data_format: {'NHWC', 'NCHW'} = 'NHWC';
                is_training: bool = true"),
];
