"""Measures single layers beside TensorFlow, whose convolutions and products are oneDNN's, and prints a table.

    python benches/peers/layers.py [TEXT ...] [--threads 1,2] [--seconds S]

Only the layers whose names contain one of the texts are measured. A step runs each layer several times, with other weights, on one variable, and fetches
one number, so that neither feeds nor the engines' time per step count. A ratio above 1 means that Flowmill is faster.
"""
import argparse
import math
from typing import NamedTuple

import numpy as np

from measure import engines, minimum

COPIES = 8


class Layer(NamedTuple):
    """A layer of a network: `kind` is a function below, `size` the shape of its input, and `weights` that of its filter or matrix."""

    kind: str
    size: tuple[int, ...]
    weights: tuple[int, ...]
    stride: int = 1
    dilation: int = 1
    padding: str = "SAME"

    @property
    def name(self) -> str:
        def by(sizes):
            return "x".join(map(str, sizes))
        rest = "".join([f" s{self.stride}" if self.stride > 1 else "", f" d{self.dilation}" if self.dilation > 1 else ""])
        return f"{self.kind} {by(self.size)} by {by(self.weights)}{rest}{' VALID' if self.padding == 'VALID' else ''}"


def conv(tf, layer, x, w):
    four = [1, layer.stride, layer.stride, 1]
    return tf.nn.conv2d(x, w, four, layer.padding, dilations=[1, layer.dilation, layer.dilation, 1])


def depthwise(tf, layer, x, w):
    return tf.nn.depthwise_conv2d(x, w, [1, layer.stride, layer.stride, 1], layer.padding, dilations=[layer.dilation] * 2)


def transposed(tf, layer, x, w):
    batch, height, width, _ = layer.size
    return tf.nn.conv2d_transpose(x, w, [batch, height * layer.stride, width * layer.stride, layer.weights[2]], layer.stride, layer.padding)


def output_size(layer):
    reach = [(size - 1) * layer.dilation + 1 for size in layer.weights[:2]]
    sizes = [size if layer.padding == "SAME" else size - far + 1 for size, far in zip(layer.size[1:3], reach)]
    return [layer.size[0], *(-(-size // layer.stride) for size in sizes), layer.weights[3]]


def input_gradient(tf, layer, x, w):
    return tf.nn.conv2d_backprop_input(layer.size, w, x, [1, layer.stride, layer.stride, 1], layer.padding)


def filter_gradient(tf, layer, x, w):
    return tf.nn.conv2d_backprop_filter(x, layer.weights, w, [1, layer.stride, layer.stride, 1], layer.padding)


def max_pool(tf, layer, x, w):
    return tf.nn.max_pool(x + w[0, 0, 0, 0], [1, *layer.weights[1:3], 1], [1, layer.stride, layer.stride, 1], layer.padding)


def average_pool(tf, layer, x, w):
    return tf.nn.avg_pool(x + w[0, 0, 0, 0], [1, *layer.weights[1:3], 1], [1, layer.stride, layer.stride, 1], layer.padding)


def max_pool_gradient(tf, layer, x, w):
    y = max_pool(tf, layer, x, w)
    return tf.gradients(y, x)[0]


def product(tf, layer, x, w):
    return tf.matmul(x, w)


KINDS = {each.__name__: each for each in (conv, depthwise, transposed, input_gradient, filter_gradient, max_pool, average_pool, max_pool_gradient, product)}

LAYERS = [
    # First layers.
    Layer("conv", (1, 224, 224, 3), (7, 7, 3, 64), 2), Layer("conv", (1, 224, 224, 3), (3, 3, 3, 32), 2), Layer("conv", (1, 299, 299, 3), (3, 3, 3, 32), 2),
    Layer("conv", (1, 224, 224, 3), (4, 4, 3, 96), 4), Layer("conv", (1, 224, 224, 3), (16, 16, 3, 192), 16), Layer("conv", (1, 256, 256, 3), (9, 9, 3, 32)),
    # 3 x 3.
    Layer("conv", (1, 56, 56, 64), (3, 3, 64, 64)), Layer("conv", (1, 28, 28, 128), (3, 3, 128, 32)), Layer("conv", (1, 14, 14, 256), (3, 3, 256, 256)),
    Layer("conv", (1, 7, 7, 512), (3, 3, 512, 512)), Layer("conv", (1, 56, 56, 64), (3, 3, 64, 128), 2), Layer("conv", (1, 28, 28, 128), (3, 3, 128, 256), 2),
    Layer("conv", (1, 147, 147, 32), (3, 3, 32, 64), 1, 1, "VALID"), Layer("conv", (1, 64, 64, 16), (3, 3, 16, 16)), Layer("conv", (1, 128, 128, 8), (3, 3, 8, 8)),
    # 1 x 1.
    Layer("conv", (1, 56, 56, 64), (1, 1, 64, 256)), Layer("conv", (1, 14, 14, 1024), (1, 1, 1024, 256)), Layer("conv", (1, 56, 56, 256), (1, 1, 256, 512), 2),
    Layer("conv", (1, 112, 112, 16), (1, 1, 16, 96)), Layer("conv", (1, 56, 56, 24), (1, 1, 24, 144)), Layer("conv", (1, 14, 14, 672), (1, 1, 672, 112)),
    Layer("conv", (1, 7, 7, 192), (1, 1, 192, 1152)), Layer("conv", (1, 28, 28, 40), (1, 1, 40, 240)), Layer("conv", (1, 112, 112, 32), (1, 1, 32, 16)),
    # Wide and flat windows, dilations.
    Layer("conv", (1, 17, 17, 192), (1, 7, 192, 192)), Layer("conv", (1, 17, 17, 192), (7, 1, 192, 192)), Layer("conv", (1, 35, 35, 48), (5, 5, 48, 64)),
    Layer("conv", (1, 8, 8, 448), (3, 3, 448, 384)), Layer("conv", (1, 28, 28, 64), (3, 3, 64, 64), 1, 2), Layer("conv", (1, 1, 2000, 64), (1, 2, 64, 128), 1, 8),
    # Few output channels.
    Layer("conv", (2, 172, 264, 8), (3, 39, 8, 8)), Layer("conv", (8, 64, 64, 8), (5, 5, 8, 1)), Layer("conv", (8, 28, 28, 32), (7, 3, 32, 1)),
    Layer("conv", (1, 224, 224, 32), (9, 9, 32, 3)), Layer("conv", (1, 128, 128, 64), (1, 1, 64, 2)), Layer("conv", (1, 64, 64, 64), (3, 3, 64, 12)),
    # Groups.
    Layer("conv", (1, 28, 28, 256), (3, 3, 8, 256)), Layer("conv", (1, 56, 56, 128), (3, 3, 4, 128)),
    # Depthwise.
    Layer("depthwise", (1, 112, 112, 96), (3, 3, 96, 1), 2), Layer("depthwise", (1, 56, 56, 144), (3, 3, 144, 1)), Layer("depthwise", (1, 14, 14, 672), (5, 5, 672, 1)),
    Layer("depthwise", (1, 28, 28, 240), (5, 5, 240, 1), 2), Layer("depthwise", (1, 56, 56, 96), (7, 7, 96, 1)), Layer("depthwise", (1, 7, 7, 768), (7, 7, 768, 1)),
    Layer("depthwise", (1, 19, 19, 728), (3, 3, 728, 1)),
    # Transposed.
    Layer("transposed", (1, 16, 16, 128), (4, 4, 64, 128), 2), Layer("transposed", (1, 64, 64, 64), (3, 3, 32, 64), 2), Layer("transposed", (1, 32, 32, 64), (2, 2, 32, 64), 2),
    Layer("transposed", (1, 128, 128, 16), (3, 3, 3, 16), 2),
    # Gradients: the layers of MNIST networks at a batch of 100, and of larger ones.
    Layer("input_gradient", (100, 14, 14, 32), (5, 5, 32, 64)), Layer("filter_gradient", (100, 14, 14, 32), (5, 5, 32, 64)),
    Layer("filter_gradient", (100, 28, 28, 1), (5, 5, 1, 32)), Layer("input_gradient", (32, 28, 28, 64), (3, 3, 64, 64)),
    Layer("filter_gradient", (32, 28, 28, 64), (3, 3, 64, 64)), Layer("input_gradient", (32, 28, 28, 64), (3, 3, 64, 128), 2),
    Layer("filter_gradient", (32, 28, 28, 64), (3, 3, 64, 128), 2), Layer("filter_gradient", (32, 32, 32, 3), (3, 3, 3, 32)),
    Layer("input_gradient", (32, 14, 14, 256), (1, 1, 256, 64)), Layer("filter_gradient", (32, 14, 14, 256), (1, 1, 256, 64)),
    # Pools.
    Layer("max_pool", (1, 112, 112, 64), (1, 3, 3, 1), 2), Layer("max_pool", (100, 28, 28, 32), (1, 2, 2, 1), 2), Layer("average_pool", (1, 35, 35, 192), (1, 3, 3, 1)),
    Layer("max_pool_gradient", (100, 28, 28, 32), (1, 2, 2, 1), 2), Layer("max_pool_gradient", (32, 32, 32, 64), (1, 3, 3, 1), 2),
    # Products.
    Layer("product", (128, 256), (256, 1024)), Layer("product", (128, 768), (768, 768)), Layer("product", (1, 1024), (1024, 1000)), Layer("product", (197, 192), (192, 576)),
    Layer("product", (1000, 13), (13, 64)), Layer("product", (4096, 64), (64, 3)),
]


def caller(engine: str, layer: Layer, threads: int):
    """A callable that runs all copies of a layer."""
    if engine == "flowmill":
        import flowmill as tf
    else:
        import tensorflow.compat.v1 as tf
        tf.disable_v2_behavior()
    random = np.random.default_rng(1)
    graph = tf.Graph()
    with graph.as_default(), tf.variable_scope("v", reuse=tf.AUTO_REUSE):
        def values(shape):
            return random.normal(0, 0.1, shape).astype(np.float32)

        # The gradient of an input has the output's gradient in its place; that of a filter has it in the filter's.
        x = tf.get_variable("x", initializer=values(output_size(layer) if layer.kind == "input_gradient" else layer.size))
        parts = []
        for i in range(COPIES):
            w = values(output_size(layer) if layer.kind == "filter_gradient" else layer.weights)
            # What is trained changes between steps.
            w = tf.get_variable(f"w{i}", initializer=w) if layer.kind.endswith("gradient") else tf.constant(w)
            # One after another, so that in both engines the memory of one result serves the next.
            with tf.control_dependencies(parts[-1:]):
                y = KINDS[layer.kind](tf, layer, x, w)
            parts.append(tf.reshape(tf.slice(y, [0] * y.shape.rank, [1] * y.shape.rank), []))
        step = tf.add_n(parts)
        initializer = tf.global_variables_initializer()
    if engine == "flowmill":
        config = tf.SessionOptions(intra_op_threads=threads, inter_op_threads=threads)
    else:
        config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1)
    session = tf.Session(graph=graph, config=config)
    session.run(initializer)
    return lambda: session.run(step)


def measured(found: dict, layer: Layer, threads: int, seconds: float) -> dict[str, float]:
    """The least times of one layer by engine, in seconds."""
    for engine, process in found.items():
        process.make(caller, engine, layer, threads)
    return {engine: time / COPIES for engine, time in minimum(found, seconds).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*")
    parser.add_argument("--threads", type=lambda text: [int(each) for each in text.split(",")], default=[1])
    parser.add_argument("--seconds", type=float, default=0.3, help="time spent on each engine and row")
    args = parser.parse_args()
    print("| layer | threads | Flowmill, µs | TensorFlow, µs | TensorFlow ÷ Flowmill |\n|---|---|---|---|---|")
    ratios = []
    with engines("flowmill", "tensorflow") as found:
        for layer in LAYERS:
            if args.texts and not any(text in layer.name for text in args.texts):
                continue
            for threads in args.threads:
                times = measured(found, layer, threads, args.seconds)
                mine, theirs = (1e6 * times[engine] for engine in ("flowmill", "tensorflow"))
                ratios.append(theirs / mine)
                print(f"| {layer.name} | {threads} | {mine:.1f} | {theirs:.1f} | {ratios[-1]:.2f} |", flush=True)
    if ratios:
        print(f"\nGeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, least {min(ratios):.2f}.")


if __name__ == "__main__":
    main()
