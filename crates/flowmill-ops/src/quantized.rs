//! Arithmetic on quantised integers: each tensor comes with the two ends of the range that its integers represent.

use crate::op::{Op, op};
use crate::shape;

pub(crate) const OPS: &[Op] = &[
    op("Dequantize", "(input: T, min_range: float, max_range: float) -> (output: dtype)")
        .attrs(
            "T: quantized; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED';
                narrow_range: bool = false; axis: int = -1; dtype: {bfloat16, float} = float",
        )
        .shape(shape::dequantize),
    op("QuantizeV2", "(input: float, min_range: float, max_range: float) -> (output: T, output_min: float, output_max: float)")
        .attrs(
            "T: quantized; mode: {'MIN_COMBINED', 'MIN_FIRST', 'SCALED'} = 'MIN_COMBINED';
                round_mode: {'HALF_AWAY_FROM_ZERO', 'HALF_TO_EVEN'} = 'HALF_AWAY_FROM_ZERO'; narrow_range: bool = false; axis: int = -1;
                ensure_minimum_range: float = 0.01",
        )
        .shape(shape::quantize),
    op(
        "QuantizedAdd",
        "(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float) -> (z: Toutput, min_z: float, max_z: float)",
    )
    .attrs("T1: quantized; T2: quantized; Toutput: quantized = qint32")
    .shape(shape::quantized_binary),
    op("QuantizedAvgPool", "(input: T, min_input: float, max_input: float) -> (output: T, min_output: float, max_output: float)")
        .costly()
        .attrs("T: quantized; ksize: list(int); strides: list(int); padding: {'SAME', 'VALID'}")
        .shape(shape::quantized_pool),
    op(
        "QuantizedBatchNormWithGlobalNormalization",
        "(t: Tinput, t_min: float, t_max: float, m: Tinput, m_min: float, m_max: float, v: Tinput, v_min: float, v_max: float,
          beta: Tinput, beta_min: float, beta_max: float, gamma: Tinput, gamma_min: float, gamma_max: float)
         -> (result: out_type, result_min: float, result_max: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized; variance_epsilon: float; scale_after_normalization: bool")
    .shape(shape::quantized_batch_norm),
    op(
        "QuantizedBiasAdd",
        "(input: T1, bias: T2, min_input: float, max_input: float, min_bias: float, max_bias: float)
         -> (output: out_type, min_out: float, max_out: float)",
    )
    .attrs("T1: quantized; T2: quantized; out_type: quantized")
    .shape(shape::quantized_bias_add),
    op(
        "QuantizedConcat",
        "(concat_dim: int32, values: N * T, input_mins: N * float, input_maxes: N * float)
         -> (output: T, output_min: float, output_max: float)",
    )
    .attrs("N: int >= 2; T: type")
    .shape(shape::quantized_concat),
    op(
        "QuantizedConv2D",
        "(input: Tinput, filter: Tfilter, min_input: float, max_input: float, min_filter: float, max_filter: float)
         -> (output: out_type, min_output: float, max_output: float)",
    )
    .costly()
    .attrs(
        "Tinput: quantized; Tfilter: quantized; out_type: quantized = qint32; strides: list(int); padding: {'SAME', 'VALID'};
            dilations: list(int) = [1, 1, 1, 1]",
    )
    .shape(shape::quantized_conv),
    op("QuantizedInstanceNorm", "(x: T, x_min: float, x_max: float) -> (y: T, y_min: float, y_max: float)")
        .costly()
        .attrs(
            "T: quantized; output_range_given: bool = false; given_y_min: float = 0.0; given_y_max: float = 0.0;
                variance_epsilon: float = 1e-5; min_separation: float = 1e-3",
        )
        .shape(shape::quantized_instance_norm),
    op(
        "QuantizedMatMul",
        "(a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float) -> (out: Toutput, min_out: float, max_out: float)",
    )
    .costly()
    .attrs(
        "T1: quantized; T2: quantized; Toutput: quantized = qint32; transpose_a: bool = false; transpose_b: bool = false;
            Tactivation: quantized = quint8",
    )
    .shape(shape::quantized_matmul),
    op("QuantizedMaxPool", "(input: T, min_input: float, max_input: float) -> (output: T, min_output: float, max_output: float)")
        .costly()
        .attrs("T: quantized; ksize: list(int); strides: list(int); padding: {'SAME', 'VALID'}")
        .shape(shape::quantized_pool),
    op(
        "QuantizedMul",
        "(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float) -> (z: Toutput, min_z: float, max_z: float)",
    )
    .attrs("T1: quantized; T2: quantized; Toutput: quantized = qint32")
    .shape(shape::quantized_binary),
    op(
        "QuantizedRelu",
        "(features: Tinput, min_features: float, max_features: float)
         -> (activations: out_type, min_activations: float, max_activations: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized = quint8")
    .shape(shape::quantized_unchanged::<1>),
    op(
        "QuantizedRelu6",
        "(features: Tinput, min_features: float, max_features: float)
         -> (activations: out_type, min_activations: float, max_activations: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized = quint8")
    .shape(shape::quantized_unchanged::<1>),
    op(
        "QuantizedReluX",
        "(features: Tinput, max_value: float, min_features: float, max_features: float)
         -> (activations: out_type, min_activations: float, max_activations: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized = quint8")
    .shape(shape::quantized_relu_x),
    op(
        "QuantizedReshape",
        "(tensor: T, shape: Tshape, input_min: float, input_max: float) -> (output: T, output_min: float, output_max: float)",
    )
    .attrs("T: type; Tshape: index = int32")
    .shape(shape::quantized_reshape),
    op(
        "QuantizedResizeBilinear",
        "(images: T, size: int32, min: float, max: float) -> (resized_images: T, out_min: float, out_max: float)",
    )
    .costly()
    .attrs("T: {quint8, qint32, float}; align_corners: bool = false; half_pixel_centers: bool = false")
    .shape(shape::quantized_resize),
    op(
        "QuantizeDownAndShrinkRange",
        "(input: Tinput, input_min: float, input_max: float) -> (output: out_type, output_min: float, output_max: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized")
    .shape(shape::quantized_unchanged::<1>),
    op("RequantizationRange", "(input: Tinput, input_min: float, input_max: float) -> (output_min: float, output_max: float)")
        .attrs("Tinput: quantized")
        .shape(shape::requantization_range),
    op("RequantizationRangePerChannel", "(input: T, input_min: float, input_max: float) -> (output_min: float, output_max: float)")
        .attrs("T: quantized = qint32; clip_value_max: float")
        .shape(shape::requantization_range_per_channel),
    op(
        "Requantize",
        "(input: Tinput, input_min: float, input_max: float, requested_output_min: float, requested_output_max: float)
         -> (output: out_type, output_min: float, output_max: float)",
    )
    .attrs("Tinput: quantized; out_type: quantized")
    .shape(shape::requantize),
    op(
        "RequantizePerChannel",
        "(input: T, input_min: float, input_max: float, requested_output_min: float, requested_output_max: float)
         -> (output: out_type, output_min: float, output_max: float)",
    )
    .attrs("T: quantized = qint32; out_type: quantized = quint8")
    .shape(shape::requantize_per_channel),
];
