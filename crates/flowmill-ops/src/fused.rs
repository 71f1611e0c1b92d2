//! Ops that the optimizer makes of others, and that TensorFlow does not have.

use crate::op::{Op, op};
use crate::shape;
use flowmill_graph::{ElementwiseFunction, Operand, Work};

/// Products of rows with a matrix.
const PRODUCT: Work = Work::Rows { rows: Operand::Input(0), matrix: Operand::Input(1) };

pub(crate) const OPS: &[Op] = &[
    // Activations that TensorFlow writes out as several nodes. Their name is that of the function, after an underscore.
    op("_GeluExact", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::GeluExact)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    op("_GeluApproximate", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::GeluApproximate)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    op("_Silu", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::Silu)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    op("_HardSigmoid", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::HardSigmoid)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    op("_HardSwish", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::HardSwish)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    op("_Mish", "(features: T) -> (activations: T)")
        .elementwise(ElementwiseFunction::Mish)
        .attrs("T: {float} = float")
        .shape(shape::unchanged),
    // Element-wise functions as one node. Values are numbered: the arguments first, then what each instruction of the program gives, which
    // is an op and the numbers of its operands ("Mul 0 3"). `pieces` holds two numbers for each argument, (i, n): of its last dimension
    // only the i-th of n equal parts is looked at. `outputs` are the numbers of the values that are the results.
    op("_FusedElementwise", "(args: N * T) -> (results: num_results * T)")
        .attrs("T: {float}; N: int >= 1; num_results: int >= 1; pieces: list(int); program: list(string); outputs: list(int)")
        .shape(shape::fused_elementwise),
    // The rows of the result of such a program, along its last dimension, times `matrix`, of which all dimensions before the last two are 1. The tensors of
    // `epilogue` are what `fused_ops` take: a bias and a residual.
    op("_FusedElementwiseProduct", "(matrix: T, args: N * T, epilogue: num_epilogue * T) -> (product: T)")
        .costly()
        .work(Work::Rows { rows: Operand::Output(0), matrix: Operand::Input(0) })
        .attrs(
            "T: {float}; N: int >= 1; num_epilogue: int >= 0; pieces: list(int); program: list(string); outputs: list(int);
                fused_ops: list(string) = []; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::elementwise_product),
    // A convolution or product, and behind it such a program, of which value 0 is the result of the convolution or product and the others are `args`. The
    // program keeps the shape of value 0. The tensors of `epilogue` are what `fused_ops` take, which come before the program: a bias and a residual.
    op("_FusedConv2DElementwise", "(input: T, filter: T, epilogue: num_epilogue * T, args: N * T) -> (output: T)")
        .costly()
        .work(Work::Convolution { image: Operand::Output(0), filter: Operand::Input(1) })
        .attrs(
            "T: {float}; num_epilogue: int >= 0; N: int >= 0; pieces: list(int); program: list(string); outputs: list(int); strides: list(int);
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1];
                fused_ops: list(string) = []; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::conv::<4>),
    op("_FusedDepthwiseConv2dElementwise", "(input: T, filter: T, epilogue: num_epilogue * T, args: N * T) -> (output: T)")
        .costly()
        .work(Work::DepthwiseConvolution { image: Operand::Output(0), filter: Operand::Input(1) })
        .attrs(
            "T: {float}; num_epilogue: int >= 0; N: int >= 0; pieces: list(int); program: list(string); outputs: list(int); strides: list(int);
                padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1];
                fused_ops: list(string) = []; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::depthwise_conv),
    op("_FusedMatMulElementwise", "(a: T, b: T, epilogue: num_epilogue * T, args: N * T) -> (product: T)")
        .costly()
        .work(Work::Product("transpose_a"))
        .attrs(
            "T: {float}; num_epilogue: int >= 0; N: int >= 0; pieces: list(int); program: list(string); outputs: list(int);
                transpose_a: bool = false; transpose_b: bool = false; fused_ops: list(string) = []; leakyrelu_alpha: float = 0.2",
        )
        .shape(shape::matmul),
    // All parts of `parts` along `axis` times a matrix, or if each has more than `max_rows` rows the parts themselves, with an axis of size 1 before the
    // last.
    op("_HoistedMatMul", "(parts: T, matrix: T) -> (products: T)")
        .costly()
        .work(PRODUCT)
        .attrs("axis: int >= 0; max_rows: int >= 0; transpose_b: bool = false; T: {bfloat16, half, float, double}")
        .shape(shape::hoisted_matmul),
    // The product of rank `rank` of a part of what `_HoistedMatMul` returns, which is one already if it has that rank.
    op("_PartMatMul", "(part: T, matrix: T) -> (product: T)")
        .costly()
        .work(PRODUCT)
        .attrs("rank: int >= 2; transpose_b: bool = false; T: {bfloat16, half, float, double}")
        .shape(shape::part_matmul),
    // A depthwise convolution with `filter`, in front of it a convolution of one position with the first tensor of `expansion`, and behind it one with the
    // first of `projection`. Either list may be empty. The tensors after the filters are what the functions of the three take: biases, and a residual of the
    // last one.
    op(
        "_FusedSeparableConv2D",
        "(input: T, filter: T, expansion: num_expansion * T, args: num_args * T, projection: num_projection * T) -> (output: T)",
    )
    .costly()
    .work(Work::SeparableConvolution)
    .attrs(
        "T: {float}; num_expansion: int >= 0; num_args: int >= 0; num_projection: int >= 0; strides: list(int);
            padding: {'SAME', 'VALID', 'EXPLICIT'}; explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1];
            expansion_ops: list(string) = []; fused_ops: list(string) = []; projection_ops: list(string) = []; leakyrelu_alpha: float = 0.2",
    )
    .shape(shape::separable_conv),
    // Element-wise functions and reductions over the same axes as one node, for normalisations and softmax. Values are numbered as in
    // `_FusedElementwise`; the last one is the result. Each of `axes` is negative and counts from the last dimension.
    op("_FusedReduction", "(args: N * T) -> (result: T)")
        .attrs("T: {float}; N: int >= 1; axes: list(int) >= 1; program: list(string)")
        .work(Work::PerElement(12))
        .shape(shape::fused_reduction),
    // softmax(program(query key^T)) value for each index of the leading dimensions, where the program applies element-wise functions to the scores:
    // value 0 are the scores and the others are `args`, which are broadcast to them. The condition of a `SelectV2` is a number, true if it is not 0. Each of `interleaved` says of query, key, value and the result
    // that its dimension of rows comes before the last leading one: [batch, rows, heads, size] instead of [batch, heads, rows, size].
    op("_FusedAttention", "(query: T, key: T, value: T, args: N * T) -> (context: T)")
        .costly()
        .work(Work::Attention)
        .attrs("T: {float}; N: int >= 0; program: list(string); interleaved: list(bool); key_is_transposed: bool = false")
        .shape(shape::fused_attention),
    // (x - mean) / sqrt(variance + epsilon) * gamma + beta, where mean and variance are those of the last dimension. `gamma` and `beta` are
    // vectors of one length, which is that of the last dimension or, where that is one, broadcasts it.
    op("_FusedLayerNorm", "(x: T, gamma: T, beta: T) -> (y: T)")
        .work(Work::PerElement(8))
        .attrs("T: {float}; epsilon: float")
        .shape(shape::fused_layer_norm),
    // The bytes of the values to which `x` is rounded by fake quantisation: byte `zero` means 0, and neighbours are `scale` apart. The attributes are those of
    // a `QuantizedValues`; `divides` selects the formula with a division.
    op("_ToBytes", "(x: float) -> (bytes: T)")
        .attrs("T: {uint8} = uint8; min: float; max: float; scale: float; inverse: float; zero: int; divides: bool = false")
        .shape(shape::unchanged),
    // (bytes - zero) * scale.
    op("_FromBytes", "(bytes: T) -> (x: float)").attrs("T: {uint8} = uint8; scale: float; zero: int").shape(shape::unchanged),
    // The sum of (byte - zero) * factor of two tensors of one shape, and of `bias`, limited to the range from `low` to `high` and without its fraction.
    op("_AddBytes", "(a: T, b: T) -> (sum: T)")
        .attrs("T: {uint8} = uint8; zeros: list(int) >= 2; factors: list(float) >= 2; bias: float; low: float; high: float")
        .shape(shape::unchanged),
    // Convolutions and products over integers: the sums of (byte - zero) * weight, exact in 32 bits, are multiplied by the factor of their channel, the bias of the
    // channel is added, and the result is limited to the range from `low` to `high`. Bytes are the integer parts of such results. Weights are integers from -255
    // to 255.
    op("_IntegerConv2D", "(input: uint8, filter: int16, factor: float, bias: float) -> (output: T)")
        .costly()
        .work(Work::Convolution { image: Operand::Output(0), filter: Operand::Input(1) })
        .attrs(
            "T: {uint8, float}; zero: int; low: float; high: float; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::conv::<4>),
    op("_IntegerDepthwiseConv2d", "(input: uint8, filter: int16, factor: float, bias: float) -> (output: T)")
        .costly()
        .work(Work::DepthwiseConvolution { image: Operand::Output(0), filter: Operand::Input(1) })
        .attrs(
            "T: {uint8, float}; zero: int; low: float; high: float; strides: list(int); padding: {'SAME', 'VALID', 'EXPLICIT'};
                explicit_paddings: list(int) = []; dilations: list(int) = [1, 1, 1, 1]",
        )
        .shape(shape::depthwise_conv),
    op("_IntegerMatMul", "(a: uint8, b: int16, factor: float, bias: float) -> (product: T)")
        .costly()
        .work(PRODUCT)
        .attrs("T: {uint8, float}; zero: int; low: float; high: float")
        .shape(shape::matmul),
];
