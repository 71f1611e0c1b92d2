"""Networks and training steps drawn at random: each seed gives a kind of network, its layers, their sizes, their spellings and the size of the input.

They show what a rule that fits known networks misses: channels that are no multiple of a vector, images of odd sizes, norms and activations in places
where no paper has them. `Random17` is always the same network, and `Random17Step` trains it.
"""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from public_zoo import he
from research_zoo import attention, batch_normalized, heads, joined, projected
from script_zoo import dense
from training_zoo import Training, adam, gradient_descent, momentum, training
from wild_zoo import lstm_loop
from zoo import (
    Input, Network, difference_normalized, erf_gelu, erfc_gelu, mean_normalized, moments_normalized, of_graph, root_normalized, swish, tanh_gelu, tf1,
)

ACTIVATIONS = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "leaky": lambda x: tf.nn.leaky_relu(x, 0.1),
    "leaky_maximum": lambda x: tf.maximum(x, 0.2 * x),
    "elu": tf.nn.elu,
    "selu": tf.nn.selu,
    "tanh": tf.tanh,
    "swish": swish,
    "hard_swish": lambda x: x * tf.nn.relu6(x + 3.0) * (1 / 6),
    "mish": lambda x: x * tf.tanh(tf.nn.softplus(x)),
    "gelu_erf": erf_gelu,
    "gelu_erfc": erfc_gelu,
    "gelu_tanh": tanh_gelu,
}

LAST_NORMS = (mean_normalized, moments_normalized, difference_normalized, root_normalized)


class TrainedWeights(Weights):
    """Variables with the values that the constants of a network have."""

    def normal(self, shape, scale: float, name: str | None = None):
        return tf1.Variable(super().normal(shape, scale), name=name)


class Draw:
    """Random choices and weights of one network."""

    def __init__(self, seed: int, is_trained: bool = False):
        self.random = np.random.default_rng(seed)
        self.is_trained = is_trained
        self.weights = TrainedWeights(seed) if is_trained else Weights(seed)
        # Most networks have one activation and one norm throughout.
        self.activation = ACTIVATIONS[self.one_of(*ACTIVATIONS)]
        self.norm = self.one_of("batch", "batch", "batch", "group", "instance", "none")
        self.last_norm = LAST_NORMS[int(self.random.integers(len(LAST_NORMS)))]

    def one_of(self, *choices):
        return choices[int(self.random.integers(len(choices)))]

    def between(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high + 1))

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def normalized(self, x):
        channels = int(x.shape[-1])
        if self.norm == "batch":
            return self.batch_normalized(x)
        if self.norm == "none":
            return x
        groups = next(count for count in (8, 6, 5, 4, 3, 2, 1) if channels % count == 0) if self.norm == "group" else channels
        sizes = [int(size) for size in x.shape[1:-1]]
        y = tf.reshape(x, [-1, *sizes, groups, channels // groups])
        axes = [*range(1, len(sizes) + 1), len(sizes) + 2]
        mean, variance = tf1.nn.moments(y, axes, keepdims=True)
        y = tf.reshape((y - mean) * tf1.rsqrt(variance + 1e-5), [-1, *sizes, channels])
        return y * self.weights.normal((channels,), 1.0) + self.weights.normal((channels,), 0.1)

    def batch_normalized(self, x):
        *sizes, channels = (int(size) for size in x.shape[1:])
        images = tf.reshape(x, [-1, *(sizes if len(sizes) == 2 else [int(np.prod(sizes)), 1]), channels])
        if self.is_trained:
            scale, offset = self.weights.normal((channels,), 1.0), self.weights.normal((channels,), 0.1)
            images = tf1.nn.fused_batch_norm(images, scale, offset, is_training=True)[0]
        else:
            images = batch_normalized(self.weights, images)
        return images if len(sizes) == 2 else tf.reshape(images, [-1, *sizes, channels])

    def last_normalized(self, x):
        channels = int(x.shape[-1])
        return self.last_norm(x, self.weights.normal((channels,), 1.0), self.weights.normal((channels,), 0.1))

    # Layers of images.

    def convolved(self, x, channels: int, size=3, strides=1, rate=1):
        height, width = size if isinstance(size, tuple) else (size, size)
        x = tf.nn.conv2d(x, he(self.weights, height, width, int(x.shape[-1]), channels), strides, "SAME", dilations=rate)
        return x if self.norm == "batch" else tf.nn.bias_add(x, self.weights.normal((channels,), 0.1))

    def grouped(self, x, channels: int, groups: int, strides=1):
        return tf1.nn.conv2d(x, he(self.weights, 3, 3, int(x.shape[-1]) // groups, channels), [1, strides, strides, 1], "SAME")

    def depthwise(self, x, size=3, strides=1, rate=1):
        kernel = self.weights.normal((size, size, int(x.shape[-1]), 1), 1.4 / size)
        return tf1.nn.depthwise_conv2d(x, kernel, [1, strides, strides, 1], "SAME", rate=[rate, rate] if rate > 1 else None)

    def unit(self, x, channels: int, size=3, strides=1, rate=1):
        return self.activation(self.normalized(self.convolved(x, channels, size, strides, rate)))

    def gated(self, x):
        """Weighs channels by a small network of their means."""
        channels = int(x.shape[-1])
        gate = tf.reduce_mean(x, [1, 2], keepdims=True)
        gate = self.convolved(self.activation(self.convolved(gate, max(channels // 4, 4), 1)), channels, 1)
        return x * (tf.sigmoid(gate) if self.chance(0.7) else tf.nn.relu6(gate + 3) * (1 / 6))

    def added(self, x, y):
        """A residual sum, with a projection where the shapes differ."""
        if y.shape[1:].as_list() == x.shape[1:].as_list():
            return x + y
        strides = -(-int(x.shape[1]) // int(y.shape[1]))
        return self.normalized(self.convolved(x, int(y.shape[-1]), 1, strides)) + y


def residual(draw: Draw, x, channels: int, strides: int):
    y = draw.normalized(draw.convolved(draw.unit(x, channels, 3, strides), channels, draw.one_of(1, 3, 3)))
    return draw.activation(draw.added(x, y))


def preactivated(draw: Draw, x, channels: int, strides: int):
    y = draw.activation(draw.normalized(x))
    y = draw.convolved(draw.activation(draw.normalized(draw.convolved(y, channels, 3, strides))), channels, 3)
    return draw.added(x, y)


def bottleneck(draw: Draw, x, channels: int, strides: int):
    groups = draw.one_of(1, 1, 2, 4, 8)
    middle = max(channels // draw.one_of(2, 4) // groups, 2) * groups
    y = draw.unit(x, middle, 1)
    y = draw.activation(draw.normalized(draw.grouped(y, middle, groups, strides) if groups > 1 else draw.convolved(y, middle, 3, strides)))
    y = draw.normalized(draw.convolved(y, channels, 1))
    return draw.activation(draw.added(x, draw.gated(y) if draw.chance(0.3) else y))


def inverted(draw: Draw, x, channels: int, strides: int):
    y = draw.unit(x, int(x.shape[-1]) * draw.one_of(2, 3, 4, 6), 1)
    y = draw.activation(draw.normalized(draw.depthwise(y, draw.one_of(3, 3, 5, 7), strides)))
    y = draw.normalized(draw.convolved(draw.gated(y) if draw.chance(0.5) else y, channels, 1))
    return draw.added(x, y) if strides == 1 else y


def separable(draw: Draw, x, channels: int, strides: int):
    y = draw.depthwise(x, draw.one_of(3, 5, 9), strides, draw.one_of(1, 1, 2) if strides == 1 else 1)
    return draw.activation(draw.normalized(draw.convolved(y, channels, 1)))


def modern(draw: Draw, x, channels: int, strides: int):
    """A block as in ConvNeXt: a wide depthwise filter, a norm of channels, and a wide dense layer."""
    if strides > 1 or int(x.shape[-1]) != channels:
        x = draw.convolved(draw.last_normalized(x), channels, strides, strides)
    y = draw.last_normalized(draw.depthwise(x, draw.one_of(5, 7)))
    y = draw.convolved(draw.activation(draw.convolved(y, channels * draw.one_of(2, 4), 1)), channels, 1)
    return x + y * draw.weights.normal((channels,), 0.3)


def densely(draw: Draw, x, channels: int, strides: int):
    growth = draw.one_of(8, 12, 16, 24, 32)
    x = draw.unit(x, channels, 1)
    for _ in range(draw.between(2, 4)):
        y = draw.convolved(draw.activation(draw.normalized(x)), 4 * growth, 1) if draw.chance(0.5) else x
        x = tf.concat([x, draw.convolved(draw.activation(draw.normalized(y)), growth, 3)], -1)
    return tf1.nn.avg_pool(x, 2, 2, "VALID") if strides > 1 else x


def branched(draw: Draw, x, channels: int, strides: int):
    width = max(channels // 4, 4)
    sizes = [1, draw.one_of(3, 5), draw.one_of((1, 7), (7, 1), (3, 3)), draw.one_of((5, 1), (1, 3), (3, 3))]
    parts = [draw.unit(x if size == 1 else draw.unit(x, width, 1), width, size, strides) for size in sizes]
    pool = draw.one_of(tf1.nn.avg_pool, tf1.nn.max_pool)(x, 3, strides, "SAME")
    return tf.concat([*parts, draw.unit(pool, width, 1)], -1)


def split_in_two(draw: Draw, x, channels: int, strides: int):
    """A block as in CSPNet: one half of the channels is convolved, the other goes past."""
    x = draw.unit(x, 2 * (channels // 2), 3, strides)
    past, y = tf.split(x, 2, axis=-1)
    for _ in range(draw.between(1, 2)):
        y = y + draw.unit(draw.unit(y, channels // 2, 1), channels // 2, 3)
    return draw.unit(tf.concat([y, past], -1), channels, 1)


def dilated(draw: Draw, x, channels: int, strides: int):
    x = draw.unit(x, channels, 3, strides)
    parts = [draw.unit(x, max(channels // 3, 4), 3, rate=rate) for rate in (1, 2, draw.one_of(3, 4, 6))]
    return draw.added(x, draw.unit(tf.concat(parts, -1), channels, 1))


def looked_at(draw: Draw, x, channels: int, strides: int):
    """Attention among pixels, where they are few."""
    x = draw.unit(x, channels, 3, strides)
    height, width = int(x.shape[1]), int(x.shape[2])
    if height * width > 400:
        return x
    y = tf.reshape(x, [-1, height * width, channels])
    count = next(count for count in (4, 3, 2, 1) if channels % count == 0)
    y = attention(draw.weights, y if draw.chance(0.5) else draw.last_normalized(y), y, count)
    return x + tf.reshape(y, [-1, height, width, channels])


BLOCKS = (residual, preactivated, bottleneck, inverted, separable, modern, densely, branched, split_in_two, dilated, looked_at)


def image_features(draw: Draw, x) -> list:
    """Draws a stem and stages of one or two kinds of blocks; returns the features of all stages."""
    base = draw.one_of(12, 16, 20, 24, 28, 32, 40, 48)
    x = draw.unit(x, base, draw.one_of(3, 5, 7), 2)
    if draw.chance(0.4):
        x = tf1.nn.max_pool(x, draw.one_of(2, 3), 2, "SAME")
    kinds = [draw.one_of(*BLOCKS) for _ in range(draw.between(1, 2))]
    features = [x]
    for stage in range(draw.between(2, 4)):
        channels = int(base * (1.5 + draw.random.random()) ** (stage + 1)) // 4 * 4
        for block in range(draw.between(1, 3)):
            x = draw.one_of(*kinds)(draw, x, channels, 2 if block == 0 and int(x.shape[1]) > 6 else 1)
        features.append(x)
    return features


def classes_of_image(draw: Draw, x):
    x = image_features(draw, x)[-1]
    x = tf.reduce_mean(x, [1, 2]) if draw.chance(0.7) else tf.reduce_max(x, [1, 2])
    if draw.chance(0.4):
        x = draw.activation(dense(draw.weights, x, draw.one_of(100, 256, 500)))
    return tf.nn.softmax(dense(draw.weights, x, draw.one_of(2, 10, 100, 365, 1000)))


def image_of_image(draw: Draw, x):
    """An encoder and a decoder with skips, whose steps up are of four kinds."""
    features = image_features(draw, x)
    way = draw.one_of("nearest", "bilinear", "transposed", "shuffled")
    y = features[-1]
    for skip in [*reversed(features[:-1]), x]:
        height, width, channels = (int(size) for size in skip.shape[1:])
        channels = max(channels, 8)
        if int(y.shape[1]) < height:
            if way == "nearest":
                y = tf1.image.resize_nearest_neighbor(y, [height, width])
            elif way == "bilinear":
                y = tf1.image.resize_bilinear(y, [height, width], align_corners=draw.chance(0.5))
            elif way == "transposed":
                kernel = he(draw.weights, 4, 4, channels, int(y.shape[-1]))
                strides = -(-height // int(y.shape[1]))
                y = tf1.nn.conv2d_transpose(y, kernel, [tf.shape(y)[0], height, width, channels], [1, strides, strides, 1], "SAME")
            else:
                factor = -(-height // int(y.shape[1]))
                y = tf1.depth_to_space(draw.convolved(y, channels * factor * factor, 1), factor)[:, :height, :width]
        y = draw.unit(tf.concat([y, skip], -1), channels, 3)
    return draw.one_of(tf.sigmoid, tf.tanh, tf.nn.softmax)(draw.convolved(y, draw.one_of(1, 3, 21), 1) * 0.1)


# Layers of sequences.


def fed_forward(draw: Draw, x):
    width = int(x.shape[-1])
    inner = width * draw.one_of(1, 2, 4)
    if draw.chance(0.3):
        return projected(draw.weights, draw.activation(projected(draw.weights, x, inner, False)) * projected(draw.weights, x, inner, False), width, False)
    return projected(draw.weights, draw.activation(projected(draw.weights, x, inner)), width)


def attended(draw: Draw, x, count: int, mask):
    width = int(x.shape[-1])
    if draw.chance(0.5):
        q, k, v = (heads(each, count) for each in tf.split(projected(draw.weights, x, 3 * width), 3, axis=-1))
    else:
        q, k, v = (heads(projected(draw.weights, x, width), count) for _ in range(3))
    scores = tf.matmul(q * np.float32((width / count) ** -0.5), k, transpose_b=True)
    y = tf.matmul(tf.nn.softmax(scores if mask is None else scores + mask), v)
    return projected(draw.weights, joined(y), width)


def mask_of(draw: Draw, length: int, count: int):
    """No mask, the past only, a bias for each distance and head, or a band."""
    distance = np.arange(length)[None] - np.arange(length)[:, None]
    return draw.one_of(
        None,
        tf.constant(np.where(distance > 0, -1e9, 0).astype(np.float32)),
        tf.constant((-np.abs(distance) * (2.0 ** -np.arange(1, count + 1))[:, None, None]).astype(np.float32)),
        tf.constant(np.where(np.abs(distance) > 16, -1e9, 0).astype(np.float32)),
    )


def transformed(draw: Draw, x):
    """A transformer of a drawn width, with norms in front of its layers or behind them."""
    count = draw.one_of(1, 2, 3, 4, 6, 8)
    width = count * draw.one_of(16, 24, 32, 40, 64)
    x = projected(draw.weights, x, width)
    x = x + draw.weights.normal((int(x.shape[1]), width), 0.3)
    mask, in_front = mask_of(draw, int(x.shape[1]), count), draw.chance(0.6)
    for _ in range(draw.between(1, 4)):
        for layer in (lambda y: attended(draw, y, count, mask), lambda y: fed_forward(draw, y)):
            x = x + layer(draw.last_normalized(x)) if in_front else draw.last_normalized(x + layer(x))
    return x


def filtered(draw: Draw, x):
    """Convolutions over time: plain, dilated, causal, separable or gated."""
    width = draw.one_of(24, 40, 64, 96, 128, 200)
    kind = draw.one_of("plain", "causal", "separable", "gated")
    x = projected(draw.weights, x, width)
    for layer in range(draw.between(2, 6)):
        size, rate = draw.one_of(2, 3, 5, 9), draw.one_of(1, 1, 2 ** (layer % 4))
        outputs = 2 * width if kind == "gated" else width
        if kind == "separable":
            y = tf.squeeze(draw.depthwise(x[:, None], 1, 1), 1)
            kernel = draw.weights.normal((1, size, width, 1), size**-0.5)
            y = projected(draw.weights, tf.squeeze(tf1.nn.depthwise_conv2d(y[:, None], kernel, [1, 1, 1, 1], "SAME"), 1), width)
        elif kind == "causal":
            y = tf.nn.conv1d(tf.pad(x, [[0, 0], [(size - 1) * rate, 0], [0, 0]]), he(draw.weights, size, width, outputs), 1, "VALID", dilations=rate)
        else:
            y = tf.nn.convolution(x, he(draw.weights, size, width, outputs), padding="SAME", dilations=[rate])
        if kind == "gated":
            y, gate = tf.split(y, 2, axis=-1)
            y = tf.tanh(y) * tf.sigmoid(gate)
        else:
            y = draw.activation(draw.normalized(y))
        x = x + y
        if int(x.shape[1]) > 64 and draw.chance(0.3):
            x = tf1.nn.max_pool1d(x, 2, 2, "SAME")
    return x


def recurred(draw: Draw, x):
    """LSTMs over time, some of which read it from both ends."""
    length = int(x.shape[1])
    x = tf.transpose(projected(draw.weights, x, draw.one_of(32, 64, 100)), [1, 0, 2])
    for _ in range(draw.between(1, 2)):
        units, ends = draw.one_of(40, 64, 100, 128), [x]
        if draw.chance(0.5):
            ends.append(tf.reverse(x, [0]))
        ends = [lstm_loop(draw.weights, end, units) for end in ends]
        x = tf.concat([ends[0], tf.reverse(ends[1], [0])], -1) if len(ends) > 1 else ends[0]
    return tf.ensure_shape(tf.transpose(x, [1, 0, 2]), [None, length, x.shape[-1]])


def classes_of_sequence(draw: Draw, x):
    for layer in (draw.one_of(transformed, transformed, filtered, recurred) for _ in range(draw.between(1, 2))):
        x = layer(draw, x)
    how = draw.one_of("each", "mean", "weights", "last")
    if how == "mean":
        x = tf.reduce_mean(x, 1)
    elif how == "last":
        x = x[:, -1]
    elif how == "weights":
        x = tf.reduce_sum(x * tf.nn.softmax(projected(draw.weights, tf.tanh(projected(draw.weights, x, 64)), 1), axis=1), 1)
    outputs = draw.one_of(2, 20, 300)
    return projected(draw.weights, x, outputs) if how == "each" else tf.nn.softmax(dense(draw.weights, x, outputs))


def classes_of_tokens(draw: Draw, tokens):
    table = draw.weights.normal((3000, draw.one_of(32, 64, 100, 128)), 0.3)
    return classes_of_sequence(draw, tf.nn.embedding_lookup(table, tokens))


def score_of_fields(draw: Draw, ids, numbers):
    """Embedded categories and numbers: their pairs, crosses or attention beside dense layers."""
    width, fields = draw.one_of(8, 16, 24), int(ids.shape[1])
    x = tf.nn.embedding_lookup(draw.weights.normal((fields * 1000, width), 0.3), ids + np.arange(fields, dtype=np.int32) * 1000)
    flat = tf.concat([tf.reshape(x, [-1, fields * width]), tf1.log(1.0 + tf.abs(numbers))], -1)
    kind = draw.one_of("pairs", "machine", "crosses", "attention")
    if kind == "pairs":
        products = tf.matmul(x, x, transpose_b=True)
        low = np.nonzero(np.tril(np.ones((fields, fields)), -1).ravel())[0].astype(np.int32)
        beside = tf.gather(tf.reshape(products, [-1, fields * fields]), low, axis=1)
    elif kind == "machine":
        beside = 0.5 * (tf.square(tf.reduce_sum(x, 1)) - tf.reduce_sum(tf.square(x), 1))
    elif kind == "crosses":
        beside = flat
        for _ in range(3):
            weight = draw.weights.normal((int(flat.shape[-1]), 1), 0.1)
            beside = flat * tf.matmul(beside, weight) + draw.weights.normal((int(flat.shape[-1]),), 0.1) + beside
    else:
        beside = tf.reshape(attention(draw.weights, x, x, 2), [-1, fields * width])
    y = flat
    for units in (draw.one_of(64, 200, 512), draw.one_of(32, 100, 256)):
        y = draw.activation(draw.batch_normalized(dense(draw.weights, y, units)))
    return tf.sigmoid(dense(draw.weights, tf.concat([y, beside], -1), 1))


def drawn(draw: Draw) -> tuple[Callable, list[Input]]:
    """Draws the function that makes a network of its inputs, and the inputs."""
    kind = draw.one_of("image", "image", "image", "pixels", "sequence", "tokens", "fields")
    if kind in ("image", "pixels"):
        size = draw.one_of(32, 56, 64, 75, 96, 100, 128, 150, 160, 192, 224)
        if kind == "pixels":
            return image_of_image, [Input((max(size // 2, 32), max(size // 2, 32), 3))]
        return classes_of_image, [Input((size, draw.one_of(size, size, size * 3 // 2), draw.one_of(1, 3, 3)))]
    if kind == "sequence":
        return classes_of_sequence, [Input((draw.one_of(20, 50, 99, 128, 200, 400), draw.one_of(1, 6, 13, 40, 80)))]
    if kind == "tokens":
        return classes_of_tokens, [Input((draw.one_of(10, 24, 50, 100, 128, 200),), 3000)]
    return score_of_fields, [Input((draw.one_of(6, 12, 26),), 1000), Input((draw.one_of(4, 13),))]


def random_network(seed: int) -> Network:
    draw = Draw(seed)
    build, inputs = drawn(draw)
    return of_graph(lambda *values: build(draw, *values), inputs)


def random_training(seed: int) -> Training:
    """Brings the results of a network to a value, by an optimiser that is drawn, too."""
    draw = Draw(seed, is_trained=True)
    build, inputs = drawn(draw)
    optimizers = (gradient_descent, momentum, adam, lambda: tf1.train.RMSPropOptimizer(1e-4), lambda: tf1.train.AdagradOptimizer(1e-3))
    optimizer = np.random.default_rng(seed).integers(len(optimizers))
    return training(lambda *values: tf.reduce_mean(tf.square(build(draw, *values) - 0.3)), inputs, optimizers[optimizer])


RANDOM_NETWORKS: dict[str, Callable[[], Network]] = {f"Random{seed}": lambda seed=seed: random_network(seed) for seed in range(60)}

RANDOM_TRAININGS: dict[str, Callable[[], Training]] = {f"Random{seed}Step": lambda seed=seed: random_training(seed) for seed in range(30)}
