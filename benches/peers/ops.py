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
