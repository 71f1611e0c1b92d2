"""Measures single ops on about a million elements beside TensorFlow, slowest first, to find kernels that fell behind.

    python benches/peers/ops.py [TEXT ...] [--threads 1] [--seconds S] [--below RATIO]

Only ops whose names contain one of the texts are measured. The operands are variables, and a step is one op, whose result is not fetched. A ratio above 1
means that Flowmill is faster.
"""
import argparse
import math

import numpy as np
from measure import engines, minimum

random = np.random.default_rng(0)
SQUARE, IMAGE = (1024, 1024), (8, 32, 32, 128)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


OPERANDS = {
    "x": normal(*SQUARE),
    "y": normal(*SQUARE),
    "positive": np.abs(normal(*SQUARE)) + 0.1,
    "unit": np.clip(normal(*SQUARE), -1, 1),
    "condition": normal(*SQUARE) > 0,
    "i": random.integers(-50, 50, SQUARE, np.int32),
    "j": random.integers(1, 50, SQUARE, np.int32),
    "row": normal(SQUARE[1]),
    "column": normal(SQUARE[0], 1),
    "number": np.float32(0.5),
    "image": normal(*IMAGE),
    "channels": np.abs(normal(IMAGE[-1])),
    "none": np.zeros(0, np.float32),
    "ids": random.integers(0, 1024, 1024, np.int32),
    "sorted": np.sort(random.integers(0, 100, 1024, np.int32)),
    "half": normal(*SQUARE).astype(np.float16),
    "double": normal(*SQUARE).astype(np.float64),
    "byte": random.integers(0, 255, SQUARE, np.uint8),
    "half2": normal(*SQUARE).astype(np.float16),
    "double2": normal(*SQUARE).astype(np.float64),
    "complex": (normal(*SQUARE) + 1j * normal(*SQUARE)).astype(np.complex64),
    "l": random.integers(1, 50, SQUARE, np.int64),
    "many": random.integers(0, 1000, 1_000_000, np.int32),
    "numbers": normal(1_000_000),
    "labels": random.integers(0, 1024, 1024, np.int32),
    "pairs": random.integers(0, 1024, (100_000, 2), np.int32),
    "updates": normal(100_000),
    "boxes": np.sort(random.random((64, 2, 2)), axis=1).reshape(64, 4).astype(np.float32),
    "matrices": normal(256, 32, 32) + 8 * np.eye(32, dtype=np.float32),
    "signal": normal(256, 4096),
    "volume": normal(64, 128, 128),
    "values": np.sort(normal(100)),
}


def unary(*names, on="x"):
    return {name: (lambda tf, x, name=name: getattr(tf.raw_ops, name)(**{argument(name): x}), [on]) for name in names}


def argument(op):
    """The name of the argument of an op of one tensor."""
    if op in ("Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"):
        return "features"
    return {"Softmax": "logits", "LogSoftmax": "logits", "L2Loss": "t"}.get(op, "x")


def binary(*names, on=("x", "y"), label=""):
    return {name + label: (lambda tf, x, y, name=name: getattr(tf.raw_ops, name)(x=x, y=y), on) for name in names}


def gradients(**arguments):
    return {op: (lambda tf, x, y, op=op, names=names: getattr(tf.raw_ops, op)(**dict(zip(names, (x, y)))), ["x", "y"]) for op, names in arguments.items()}


def casts():
    rows = {}
    for name, dtype in (("i", "int32"), ("half", "half"), ("double", "float64"), ("condition", "bool"), ("byte", "uint8")):
        rows[f"Cast float32 to {dtype}"] = (lambda tf, x, dtype=dtype: tf.cast(x, dtype), ["x"])
        rows[f"Cast {dtype} to float32"] = (lambda tf, x: tf.cast(x, "float32"), [name])
    return rows


def reductions(*names):
    rows = {}
    for op in names:
        for axes in ([1], [0], [0, 1]):
            rows[f"{op} {axes}"] = (lambda tf, x, op=op, axes=axes: getattr(tf.raw_ops, op)(input=x, axis=axes), ["x"])
    return rows


def pools():
    rows = {}
    for size, stride in ((2, 2), (3, 2), (3, 1)):
        window = {"ksize": [1, size, size, 1], "strides": [1, stride, stride, 1], "padding": "SAME"}

        def gradient(tf, x, window=window):
            y = tf.raw_ops.MaxPool(input=x, **window)
            return tf.raw_ops.MaxPoolGrad(orig_input=x, orig_output=y, grad=y, **window)
        rows[f"MaxPool {size} {stride}"] = (lambda tf, x, window=window: tf.raw_ops.MaxPool(input=x, **window), ["image"])
        rows[f"AvgPool {size} {stride}"] = (lambda tf, x, window=window: tf.raw_ops.AvgPool(value=x, **window), ["image"])
        rows[f"MaxPoolGrad {size} {stride}"] = (gradient, ["image"])
    return rows


def gelu(tf, x):
    return 0.5 * x * (1 + tf.tanh(0.79788456 * (x + 0.044715 * tf.pow(x, 3))))


def layer_norm(tf, x, row):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * row + row


OPS = {
    **unary("Abs", "Neg", "Exp", "Expm1", "Rsqrt", "Square", "Reciprocal", "Sign", "Floor", "Round", "Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Erf", "Erfc",
            "Softplus", "Softsign", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "IsNan", "IsFinite", "Asinh", "Atan", "Cosh", "Sinh", "Softmax", "LogSoftmax", "L2Loss"),
    **unary("Log", "Log1p", "Sqrt", "Lgamma", "Digamma", on="positive"),
    **unary("Acos", "Asin", on="unit"),
    **binary("AddV2", "Sub", "Mul", "RealDiv", "Maximum", "SquaredDifference", "FloorDiv", "FloorMod", "Atan2", "Greater", "Equal", "Xdivy", "Xlogy", "DivNoNan"),
    **binary("Pow", on=("positive", "y")),
    **binary("AddV2", "Mul", "FloorDiv", "FloorMod", "Greater", "BitwiseAnd", on=("i", "j"), label=" int32"),
    **binary("AddV2", "Mul", on=("x", "row"), label=" row"),
    **binary("AddV2", "Mul", on=("x", "column"), label=" column"),
    **gradients(ReluGrad=("gradients", "features"), Relu6Grad=("gradients", "features"), EluGrad=("gradients", "outputs"), SeluGrad=("gradients", "outputs"),
                LeakyReluGrad=("gradients", "features"), SoftplusGrad=("gradients", "features"), TanhGrad=("y", "dy"), SigmoidGrad=("y", "dy"), RsqrtGrad=("y", "dy")),
    **casts(),
    **reductions("Sum", "Mean", "Max", "Min"),
    **pools(),
    **unary("Erfinv", "Ndtri", on="unit"),
    **unary("Ceil", "Rint", "BesselI0e", "Log1p", "Acosh", "Atanh", on="positive"),
    **{name + " float64": row for name, row in unary("Exp", "Log", "Tanh", "Sqrt", "Sin", "Sigmoid", "Relu", "Softmax", on="double").items()},
    **{name + " half": row for name, row in unary("Exp", "Tanh", "Sqrt", "Sigmoid", "Relu", "Softmax", on="half").items()},
    **{name + " complex64": row for name, row in unary("Exp", "Square", "Sqrt", on="complex").items()},
    **binary("AddV2", "Mul", "RealDiv", "Maximum", "Pow", on=("double", "double2"), label=" float64"),
    **binary("AddV2", "Mul", "RealDiv", "Maximum", on=("half", "half2"), label=" half"),
    **binary("AddV2", "Mul", "RealDiv", on=("complex", "complex"), label=" complex64"),
    **binary("AddV2", "Mul", "FloorDiv", "Less", on=("l", "l"), label=" int64"),
    **binary("LogicalAnd", "LogicalOr", on=("condition", "condition")),
    **{name: (lambda tf, a, x, name=name: getattr(tf.raw_ops, name)(a=a, x=x), ["positive", "positive"]) for name in ("Igamma", "Igammac")},
    "Zeta": (lambda tf, x, q: tf.raw_ops.Zeta(x=1 + x, q=q), ["positive", "positive"]),
    **{f"Sum volume {axes}": (lambda tf, x, axes=axes: tf.reduce_sum(x, axes), ["volume"]) for axes in ([0], [1], [2], [0, 2], [0, 1], [1, 2])},
    **{f"Max volume {axes}": (lambda tf, x, axes=axes: tf.reduce_max(x, axes), ["volume"]) for axes in ([0], [1], [2], [0, 2])},
    **{f"Sum {dtype}": (lambda tf, x: tf.reduce_sum(x, 1), [dtype]) for dtype in ("double", "half", "i", "l", "complex")},
    **{f"Transpose {order}": (lambda tf, x, order=order: tf.transpose(x, order), ["volume"]) for order in ([1, 0, 2], [0, 2, 1], [2, 0, 1], [2, 1, 0])},
    **{f"MatMul {dtype}": (lambda tf, x: tf.matmul(x, x), [dtype]) for dtype in ("x", "double", "half", "i", "complex")},
    "All": (lambda tf, c: tf.reduce_all(c, 1), ["condition"]),
    "Any 0": (lambda tf, c: tf.reduce_any(c, 0), ["condition"]),
    "Prod": (lambda tf, x: tf.reduce_prod(x, 1), ["x"]),
    "ReduceLogSumExp": (lambda tf, x: tf.reduce_logsumexp(x, 1), ["x"]),
    "ArgMin 1": (lambda tf, x: tf.argmin(x, 1), ["x"]),
    "ArgMax 1 int32": (lambda tf, x: tf.argmax(x, 1), ["i"]),
    "Cumsum 0": (lambda tf, x: tf.cumsum(x, 0), ["x"]),
    "Cumsum of a vector": (lambda tf, x: tf.cumsum(x), ["numbers"]),
    "Cumprod": (lambda tf, x: tf.cumprod(x, 1), ["x"]),
    "CumulativeLogsumexp": (lambda tf, x: tf.math.cumulative_logsumexp(x, 1), ["x"]),
    "SegmentMean": (lambda tf, x, i: tf.segment_mean(x, i), ["x", "sorted"]),
    "SegmentMax": (lambda tf, x, i: tf.segment_max(x, i), ["x", "sorted"]),
    "UnsortedSegmentMax": (lambda tf, x, i: tf.unsorted_segment_max(x, i, 1024), ["x", "ids"]),
    "UnsortedSegmentSum of numbers": (lambda tf, x, i: tf.unsorted_segment_sum(x, i, 1000), ["numbers", "many"]),
    "ScatterNd": (lambda tf, i, x: tf.scatter_nd(i, x, [1024, 1024]), ["pairs", "updates"]),
    "ScatterNd rows": (lambda tf, i, x: tf.scatter_nd(tf.expand_dims(i, 1), x, [1024, 1024]), ["ids", "x"]),
    "TensorScatterAdd": (lambda tf, x, i, u: tf.tensor_scatter_nd_add(x, i, u), ["y", "pairs", "updates"]),
    "TensorScatterUpdate rows": (lambda tf, x, i, u: tf.tensor_scatter_nd_update(x, tf.expand_dims(i, 1), u), ["y", "ids", "x"]),
    "GatherNd": (lambda tf, x, i: tf.gather_nd(x, i), ["x", "pairs"]),
    "GatherV2 1": (lambda tf, x, i: tf.gather(x, i, axis=1), ["x", "ids"]),
    "GatherV2 of numbers": (lambda tf, x, i: tf.gather(x, i), ["numbers", "many"]),
    "gradient of GatherV2": (lambda tf, x, i: tf.convert_to_tensor(tf.gradients(tf.gather(x, i), x)[0]), ["x", "ids"]),
    "OneHot": (lambda tf, i: tf.one_hot(i, 1024), ["labels"]),
    "OneHot bytes": (lambda tf, i: tf.one_hot(i, 16, dtype=tf.uint8), ["many"]),
    "ReverseSequence": (lambda tf, x, i: tf.reverse_sequence(x, i, seq_axis=1), ["x", "labels"]),
    "ReverseV2 0": (lambda tf, x: tf.reverse(x, [0]), ["x"]),
    "Roll": (lambda tf, x: tf.roll(x, 5, 1), ["x"]),
    "SpaceToDepth": (lambda tf, x: tf.space_to_depth(x, 2), ["image"]),
    "DepthToSpace": (lambda tf, x: tf.depth_to_space(x, 2), ["image"]),
    "SpaceToBatchND": (lambda tf, x: tf.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]), ["image"]),
    "BatchToSpaceND": (lambda tf, x: tf.batch_to_space_nd(x, [2, 2], [[0, 0], [0, 0]]), ["image"]),
    "Split 1": (lambda tf, x: tf.split(x, 4, 1)[3], ["x"]),
    "Unpack 1": (lambda tf, x: tf.unstack(x, axis=1)[0], ["x"]),
    "Pack 0": (lambda tf, x, y: tf.stack([x, y]), ["x", "y"]),
    "Pack 2": (lambda tf, x, y: tf.stack([x, y], 2), ["x", "y"]),
    "ConcatV2 0": (lambda tf, x, y: tf.concat([x, y], 0), ["x", "y"]),
    "StridedSlice 2": (lambda tf, x: x[::2, ::2], ["x"]),
    "StridedSliceGrad": (lambda tf, x: tf.gradients(x[1:1000, 3:700], x)[0], ["x"]),
    "Unique": (lambda tf, i: tf.unique(i).y, ["many"]),
    "UniqueWithCounts": (lambda tf, i: tf.unique_with_counts(i).y, ["many"]),
    "Bincount": (lambda tf, i: tf.math.bincount(i, maxlength=1000, minlength=1000), ["many"]),
    "InTopKV2": (lambda tf, x, i: tf.nn.in_top_k(x, i, 5), ["x", "labels"]),
    "MatrixBandPart": (lambda tf, x: tf.linalg.band_part(x, 10, 10), ["x"]),
    "MatrixDiag": (lambda tf, x: tf.linalg.diag(x), ["row"]),
    "MatrixDiagPart": (lambda tf, x: tf.linalg.diag_part(x), ["volume"]),
    "ExtractImagePatches": (lambda tf, x: tf.extract_image_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), ["image"]),
    "ResizeNearestNeighbor": (lambda tf, x: tf.raw_ops.ResizeNearestNeighbor(images=x, size=[64, 64]), ["image"]),
    "ResizeBicubic": (lambda tf, x: tf.raw_ops.ResizeBicubic(images=x, size=[64, 64]), ["image"]),
    "gradient of ResizeBilinear": (lambda tf, x: tf.gradients(tf.raw_ops.ResizeBilinear(images=x, size=[64, 64]), x)[0], ["image"]),
    "CropAndResize": (lambda tf, x, b: tf.image.crop_and_resize(x, b, [0] * 64, [16, 16]), ["image", "boxes"]),
    "NonMaxSuppressionV3": (lambda tf, b, s: tf.image.non_max_suppression(b, s[:64], 30), ["boxes", "row"]),
    "TruncatedNormal": (lambda tf: tf.truncated_normal(SQUARE), []),
    "RandomUniformInt": (lambda tf: tf.random_uniform(SQUARE, maxval=100, dtype="int32"), []),
    "RandomGamma": (lambda tf: tf.random_gamma(SQUARE, 2.0), []),
    "RandomPoissonV2": (lambda tf: tf.random_poisson(2.0, SQUARE), []),
    "RandomShuffle": (lambda tf, x: tf.random_shuffle(x), ["x"]),
    "Multinomial": (lambda tf, x: tf.multinomial(x, 5), ["x"]),
    "StatelessRandomUniform": (lambda tf: tf.random.stateless_uniform(SQUARE, [1, 2]), []),
    "StatelessRandomNormal": (lambda tf: tf.random.stateless_normal(SQUARE, [1, 2]), []),
    "FFT": (lambda tf, x: tf.signal.fft(x), ["complex"]),
    "RFFT": (lambda tf, x: tf.signal.rfft(x), ["signal"]),
    "FFT2D": (lambda tf, x: tf.signal.fft2d(x), ["complex"]),
    "Complex": (lambda tf, x, y: tf.complex(x, y), ["x", "y"]),
    "ComplexAbs": (lambda tf, x: tf.abs(x), ["complex"]),
    "Angle": (lambda tf, x: tf.angle(x), ["complex"]),
    "Cholesky": (lambda tf, x: tf.cholesky(tf.matmul(x, x, transpose_b=True)), ["matrices"]),
    "MatrixInverse": (lambda tf, x: tf.matrix_inverse(x), ["matrices"]),
    "MatrixSolve": (lambda tf, x: tf.matrix_solve(x, x), ["matrices"]),
    "MatrixTriangularSolve": (lambda tf, x: tf.matrix_triangular_solve(x, x), ["matrices"]),
    "MatrixDeterminant": (lambda tf, x: tf.matrix_determinant(x), ["matrices"]),
    "SelfAdjointEigV2": (lambda tf, x: tf.self_adjoint_eig(x)[0], ["matrices"]),
    "Svd": (lambda tf, x: tf.svd(x, compute_uv=False), ["matrices"]),
    "Qr": (lambda tf, x: tf.qr(x)[0], ["matrices"]),
    "SparseSoftmaxCrossEntropyWithLogits": (lambda tf, x, i: tf.nn.sparse_softmax_cross_entropy_with_logits(logits=x, labels=i), ["x", "labels"]),
    "sigmoid cross entropy": (lambda tf, x, y: tf.nn.sigmoid_cross_entropy_with_logits(logits=x, labels=y), ["x", "unit"]),
    "SparseTensorDenseMatMul": (
        lambda tf, i, v, x: tf.raw_ops.SparseTensorDenseMatMul(a_indices=tf.cast(i, "int64"), a_values=v, a_shape=[1024, 1024], b=x), ["pairs", "updates", "x"]),
    "sort": (lambda tf, x: tf.sort(x), ["x"]),
    "argsort": (lambda tf, x: tf.argsort(x), ["x"]),
    "Bucketize": (lambda tf, x: tf.raw_ops.Bucketize(input=x, boundaries=np.linspace(-3, 3, 20).tolist()), ["x"]),
    "searchsorted": (lambda tf, s, x: tf.searchsorted(s, x), ["values", "numbers"]),
    "FakeQuantWithMinMaxArgs": (lambda tf, x: tf.quantization.fake_quant_with_min_max_args(x), ["x"]),
    "QuantizeV2": (lambda tf, x: tf.quantization.quantize(x, -3.0, 3.0, "quint8")[0], ["x"]),
    "boolean_mask": (lambda tf, x, c: tf.boolean_mask(x, c), ["x", "condition"]),
    "dynamic_partition": (lambda tf, x, i: tf.dynamic_partition(x, i % 4, 4)[0], ["x", "ids"]),
    "l2_normalize": (lambda tf, x: tf.nn.l2_normalize(x, 1), ["x"]),
    "AvgPoolGrad": (lambda tf, x: tf.gradients(tf.nn.avg_pool(x, 3, 2, "SAME"), x)[0], ["image"]),
    "MaxPoolWithArgmax": (lambda tf, x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[1], ["image"]),
    "Dilation2D": (lambda tf, x, r: tf.raw_ops.Dilation2D(input=x, filter=tf.reshape(tf.tile(r, [9]), [3, 3, 128]), strides=[1] * 4, rates=[1] * 4,
                                                            padding="SAME"), ["image", "channels"]),
    "RGBToHSV": (lambda tf, x: tf.image.rgb_to_hsv(tf.reshape(x[:999_000], [-1, 3])), ["numbers"]),
    "AdjustContrastv2": (lambda tf, x: tf.image.adjust_contrast(tf.reshape(x[:998_001], [3, 333, 333, 3]), 0.7), ["numbers"]),
    "AdjustHue": (lambda tf, x: tf.image.adjust_hue(tf.reshape(x[:998_001], [3, 333, 333, 3]), 0.2), ["numbers"]),
    "ClipByGlobalNorm": (lambda tf, x, y: tf.clip_by_global_norm([x, y], 1.0)[0][0], ["x", "y"]),
    "Bitcast": (lambda tf, x: tf.bitcast(x, "int32"), ["x"]),
    "Range": (lambda tf: tf.range(1_000_000), []),
    "LinSpace": (lambda tf: tf.linspace(0.0, 1.0, 1_000_000), []),
    "Fill": (lambda tf: tf.fill(SQUARE, 2.0), []),
    "BroadcastTo": (lambda tf, x: tf.broadcast_to(x, [1024, 1024]), ["column"]),
    "Einsum": (lambda tf, x: tf.einsum("bij,bkj->bik", x, x), ["matrices"]),
    "Conv1D": (lambda tf, x: tf.nn.conv1d(tf.reshape(x, [16, 1024, 64]), tf.reshape(x[:12], [3, 64, 64]), 1, "SAME"), ["x"]),
    "SelectV2": (lambda tf, c, x, y: tf.where_v2(c, x, y), ["condition", "x", "y"]),
    "SelectV2 number": (lambda tf, c, x, y: tf.where_v2(c, x, y), ["condition", "x", "number"]),
    "ClipByValue": (lambda tf, x: tf.raw_ops.ClipByValue(t=x, clip_value_min=-1.0, clip_value_max=1.0), ["x"]),
    "ArgMax 1": (lambda tf, x: tf.argmax(x, 1), ["x"]),
    "ArgMax 0": (lambda tf, x: tf.argmax(x, 0), ["x"]),
    "Cumsum": (lambda tf, x: tf.cumsum(x, 1), ["x"]),
    "BiasAdd": (lambda tf, x, b: tf.nn.bias_add(x, b), ["image", "channels"]),
    "BiasAddGrad": (lambda tf, x: tf.raw_ops.BiasAddGrad(out_backprop=x), ["image"]),
    "FusedBatchNormV3": (lambda tf, x, c, n: tf.raw_ops.FusedBatchNormV3(x=x, scale=c, offset=c, mean=n, variance=n)[0], ["image", "channels", "none"]),
    "FusedBatchNormGradV3": (
        lambda tf, x, c, n: tf.raw_ops.FusedBatchNormGradV3(y_backprop=x, x=x, scale=c, reserve_space_1=c, reserve_space_2=c, reserve_space_3=n)[0],
        ["image", "channels", "none"]),
    "LRN": (lambda tf, x: tf.nn.lrn(x), ["image"]),
    "Transpose": (lambda tf, x: tf.transpose(x), ["x"]),
    "Transpose to NCHW": (lambda tf, x: tf.transpose(x, [0, 3, 1, 2]), ["image"]),
    "ConcatV2": (lambda tf, x, y: tf.concat([x, y], 1), ["x", "y"]),
    "Slice": (lambda tf, x: tf.slice(x, [10, 10], [1000, 1000]), ["x"]),
    "ReverseV2": (lambda tf, x: tf.reverse(x, [1]), ["x"]),
    "Pad": (lambda tf, x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), ["image"]),
    "MirrorPad": (lambda tf, x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"), ["image"]),
    "Tile": (lambda tf, x: tf.tile(x, [1, 2]), ["x"]),
    "GatherV2": (lambda tf, x, i: tf.gather(x, i), ["x", "ids"]),
    "SegmentSum": (lambda tf, x, i: tf.segment_sum(x, i), ["x", "sorted"]),
    "UnsortedSegmentSum": (lambda tf, x, i: tf.unsorted_segment_sum(x, i, 1024), ["x", "ids"]),
    "TopKV2": (lambda tf, x: tf.nn.top_k(x, 10)[0], ["x"]),
    "Where": (lambda tf, c: tf.where(c), ["condition"]),
    "AddN": (lambda tf, x, y: tf.add_n([x, y, x, y]), ["x", "y"]),
    "SoftmaxCrossEntropyWithLogits": (lambda tf, x, y: tf.raw_ops.SoftmaxCrossEntropyWithLogits(features=x, labels=y)[0], ["x", "positive"]),
    "ResizeBilinear": (lambda tf, x: tf.raw_ops.ResizeBilinear(images=x, size=[64, 64]), ["image"]),
    "RandomUniform": (lambda tf: tf.random_uniform(SQUARE), []),
    "RandomStandardNormal": (lambda tf: tf.random_normal(SQUARE), []),
    "dropout": (lambda tf, x: tf.nn.dropout(x, rate=0.5), ["x"]),
    "gelu": (gelu, ["x"]),
    "gradient of gelu": (lambda tf, x: tf.gradients(gelu(tf, x), x)[0], ["x"]),
    "layer norm": (layer_norm, ["x", "row"]),
    "gradient of layer norm": (lambda tf, x, row: tf.gradients(layer_norm(tf, x, row), x)[0], ["x", "row"]),
}


def caller(engine, name, threads):
    """A callable that runs one op."""
    if engine == "flowmill":
        import flowmill as tf
    else:
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()
    build, operands = OPS[name]
    with tf.Graph().as_default() as graph:
        op = build(tf, *(tf.Variable(OPERANDS[each], use_resource=True).read_value() for each in operands)).op
        initializer = tf.global_variables_initializer()
    session = tf.Session(graph=graph, config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1))
    session.run(initializer)
    return lambda: session.run(op)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.1, help="time spent on each engine and op")
    parser.add_argument("--below", type=float, default=math.inf, help="print only ops with a smaller ratio")
    args = parser.parse_args()
    rows = []
    with engines("flowmill", "tensorflow") as found:
        for name in OPS:
            if args.texts and not any(text in name for text in args.texts):
                continue
            for engine, process in found.items():
                process.make(caller, engine, name, args.threads)
            times = minimum(found, args.seconds)
            rows.append((times["tensorflow"] / times["flowmill"], name, times["flowmill"], times["tensorflow"]))
    print("| op | Flowmill, µs | TensorFlow, µs | TensorFlow ÷ Flowmill |\n|---|---|---|---|")
    for ratio, name, mine, theirs in sorted(rows):
        if ratio < args.below:
            print(f"| {name} | {1e6 * mine:.0f} | {1e6 * theirs:.0f} | {ratio:.2f} |")
    if rows:
        print(f"\n{len(rows)} ops: geometric mean {math.exp(sum(math.log(row[0]) for row in rows) / len(rows)):.2f}, least {min(rows)[0]:.2f}.")


if __name__ == "__main__":
    main()
