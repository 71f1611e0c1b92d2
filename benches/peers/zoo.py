"""Networks that are measured beside the peers, each in the spelling that its users write.

Every function returns a frozen graph with weights of fixed seeds. Transformers, recurrent networks and normalisations are here in several spellings:
an optimiser that knows one of them should know them all.
"""
import os
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from make_models import Weights, application_weights

tf1 = tf.compat.v1
keras = tf.keras
layers = keras.layers


class Input(NamedTuple):
    """An input without its batch: real numbers, or integers below `num_tokens`."""

    shape: tuple[int, ...]
    num_tokens: int = 0

    def values(self, batch: int, random: np.random.Generator) -> np.ndarray:
        shape = (batch, *self.shape)
        return random.integers(0, self.num_tokens, shape).astype(np.int32) if self.num_tokens else random.normal(0, 1, shape).astype(np.float32)


class Network(NamedTuple):
    """A frozen graph with its inputs by name of the tensor, and the name of its output."""

    graph_def: Any
    inputs: dict[str, Input]
    output: str


def frozen(call: Callable, inputs: list[Input], lower_control_flow: bool = True) -> Network:
    """A function of TensorFlow 2 with its variables made constants. Loops are frames of TensorFlow 1, or stay `While` ops."""
    specs = [
        tf.TensorSpec([None, *each.shape], tf.int32 if each.num_tokens else tf.float32, name=f"x{i}") for i, each in enumerate(inputs)
    ]
    function = tf.function(call).get_concrete_function(*specs)
    function = convert_variables_to_constants_v2(function, lower_control_flow=lower_control_flow)
    names = [tensor.name for tensor in function.inputs]
    return Network(function.graph.as_graph_def(), dict(zip(names, inputs)), function.outputs[0].name)


def of_keras(model, lower_control_flow: bool = True, tokens: tuple[int, ...] = (), seed: int = 1) -> Network:
    """The inference of a Keras model; `tokens` has the number of tokens of each input that is of integers."""
    model.set_weights(application_weights(model, seed))
    tokens = tokens or (0,) * len(model.inputs)
    inputs = [Input(tuple(each.shape[1:]), count) for each, count in zip(model.inputs, tokens)]
    return frozen(lambda *values: model(list(values) if len(values) > 1 else values[0], training=False), inputs, lower_control_flow)


def of_graph(build: Callable, inputs: list[Input]) -> Network:
    """A graph of TensorFlow 1: `build` gets placeholders and returns the output."""
    tf1.disable_control_flow_v2()
    with tf1.Graph().as_default() as graph:
        types = [tf.int32 if each.num_tokens else tf.float32 for each in inputs]
        placeholders = [tf1.placeholder(dtype, [None, *each.shape], f"x{i}") for i, (dtype, each) in enumerate(zip(types, inputs))]
        output = build(*placeholders)
    return Network(graph.as_graph_def(), {x.name: each for x, each in zip(placeholders, inputs)}, output.name)


def application(kind: str, shape: tuple[int, ...] = (224, 224, 3), **options) -> Network:
    """A network of `keras.applications` at its usual size."""
    keras.utils.set_random_seed(1)
    return of_keras(getattr(keras.applications, kind)(weights=None, input_shape=shape, **options))


# Transformers in TensorFlow 1. Each table has three spellings of one function.


def mean_normalized(x, gamma, beta):
    """A layer norm by means, as in papers' code."""
    centred = x - tf1.reduce_mean(x, -1, keepdims=True)
    variance = tf1.reduce_mean(tf1.square(centred), -1, keepdims=True)
    return gamma * centred / tf1.sqrt(variance + 1e-6) + beta


def moments_normalized(x, gamma, beta):
    """A layer norm by moments, as in BERT."""
    mean, variance = tf1.nn.moments(x, axes=[-1], keepdims=True)
    return tf1.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)


def difference_normalized(x, gamma, beta):
    """A layer norm by squared differences, as in GPT-2."""
    mean = tf1.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf1.reduce_mean(tf1.squared_difference(x, mean), axis=-1, keepdims=True)
    return (x - mean) * tf1.rsqrt(variance + 1e-5) * gamma + beta


def root_normalized(x, gamma, _beta):
    """A division by the root of the mean square, as in LLaMA."""
    return x * tf1.rsqrt(tf1.reduce_mean(tf1.square(x), -1, keepdims=True) + 1e-6) * gamma


def erf_gelu(x):
    return 0.5 * x * (1.0 + tf1.erf(x / np.sqrt(2.0).astype(np.float32)))


def erfc_gelu(x):
    return 0.5 * x * tf1.erfc(-x * np.float32(np.sqrt(0.5)))


def tanh_gelu(x):
    return x * 0.5 * (1.0 + tf1.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * tf1.pow(x, 3))))


def swish(x):
    return x * tf1.sigmoid(x)


class Transformer:
    """Sizes, spellings and weights of a transformer."""

    def __init__(self, normalized, activation, attention: str, causal: bool = False, depth=4, width=256, heads=4, length=128, inner=1024):
        self.normalized, self.activation, self.attention, self.causal = normalized, activation, attention, causal
        self.depth, self.width, self.heads, self.length, self.inner = depth, width, heads, length, inner
        self.weights = Weights(21)

    def norm(self, x):
        return self.normalized(x, self.weights.uniform(self.width, 0.8, 1.2), self.weights.normal(self.width, 0.05))

    def dense(self, x, size_in: int, size_out: int):
        kernel, bias = self.weights.normal((size_in, size_out), 1 / np.sqrt(size_in)), self.weights.normal(size_out, 0.05)
        if self.attention == "einsum":
            return tf1.einsum("bld,de->ble", x, kernel) + bias
        if self.attention == "tensordot":
            return tf1.nn.bias_add(tf1.tensordot(x, kernel, [[2], [0]]), bias)
        product = tf1.matmul(tf1.reshape(x, [-1, size_in]), kernel) + bias
        return tf1.reshape(product, [-1, self.length, size_out])

    def masked(self, scores):
        """The scores of a decoder; what lies ahead gets a large negative one."""
        if not self.causal:
            return scores
        visible = tf1.matrix_band_part(tf1.ones([self.length, self.length]), -1, 0)
        return scores * visible - 1e9 * (1.0 - visible)

    def attend(self, x):
        size, scale = self.width // self.heads, np.float32(1 / np.sqrt(self.width // self.heads))
        if self.attention == "einsum":
            shape = (self.width, self.heads, size)
            query, key, value = (
                tf1.einsum("abc,cde->abde", x, self.weights.normal(shape, 1 / np.sqrt(self.width))) + self.weights.normal((self.heads, size), 0.05)
                for _ in range(3)
            )
            scores = tf1.nn.softmax(self.masked(tf1.einsum("aecd,abcd->acbe", key, query * scale)))
            context = tf1.einsum("acbe,aecd->abcd", scores, value)
            output = self.weights.normal((self.heads, size, self.width), 1 / np.sqrt(self.width))
            return tf1.einsum("abcd,cde->abe", context, output) + self.weights.normal(self.width, 0.05)
        if self.attention == "tensordot":
            projected = self.dense(x, self.width, 3 * self.width)
            parts = tf1.transpose(tf1.reshape(projected, [-1, self.length, 3, self.heads, size]), [2, 0, 3, 1, 4])
            query, key, value = tf1.unstack(parts, axis=0)
        else:
            query, key, value = (
                tf1.transpose(tf1.reshape(self.dense(x, self.width, self.width), [-1, self.length, self.heads, size]), [0, 2, 1, 3])
                for _ in range(3)
            )
        scores = self.masked(tf1.matmul(query, key, transpose_b=True) / np.float32(np.sqrt(size)))
        if self.attention == "tensordot":
            # The softmax that some libraries write themselves.
            scores = tf1.exp(scores - tf1.reduce_max(scores, -1, keepdims=True))
            scores = scores / tf1.reduce_sum(scores, -1, keepdims=True)
        else:
            scores = tf1.nn.softmax(scores)
        context = tf1.transpose(tf1.matmul(scores, value), [0, 2, 1, 3])
        return self.dense(tf1.reshape(context, [-1, self.length, self.width]), self.width, self.width)

    def feed_forward(self, x):
        return self.dense(self.activation(self.dense(x, self.width, self.inner)), self.inner, self.width)

    def __call__(self, ids):
        vocabulary = 1000
        x = tf1.gather(self.weights.normal((vocabulary, self.width), 0.5), ids) + self.weights.normal((self.length, self.width), 0.5)
        for _ in range(self.depth):
            # Decoders normalise before each half, encoders behind it.
            if self.causal:
                x = x + self.attend(self.norm(x))
                x = x + self.feed_forward(self.norm(x))
            else:
                x = self.norm(x + self.attend(x))
                x = self.norm(x + self.feed_forward(x))
        return tf1.identity(x, "y")


def transformer(*spelling, **options) -> Network:
    built = Transformer(*spelling, **options)
    return of_graph(built, [Input((built.length,), 1000)])


def keras_transformer(depth=4, width=256, heads=4, length=128, inner=1024) -> Network:
    """An encoder of Keras' own layers."""
    ids = keras.Input((length,), dtype="int32")
    x = layers.Embedding(1000, width)(ids)
    for _ in range(depth):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(heads, width // heads)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(inner, activation="gelu")(x)))
    return of_keras(keras.Model(ids, x), tokens=(1000,))


def vision_transformer(depth=6, width=192, heads=3, size=224, patch=16) -> Network:
    """A transformer over patches of an image, of the size that is called tiny."""
    image = keras.Input((size, size, 3))
    x = layers.Reshape((-1, width))(layers.Conv2D(width, patch, strides=patch)(image))
    for _ in range(depth):
        normalized = layers.LayerNormalization(epsilon=1e-6)(x)
        x = x + layers.MultiHeadAttention(heads, width // heads)(normalized, normalized)
        x = x + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x)))
    return of_keras(keras.Model(image, layers.Dense(1000)(layers.GlobalAveragePooling1D()(x))))


def mixer(depth=6, width=256, size=224, patch=16) -> Network:
    """An MLP-Mixer: products over patches and over channels in turns."""
    image = keras.Input((size, size, 3))
    x = layers.Reshape((-1, width))(layers.Conv2D(width, patch, strides=patch)(image))
    count = x.shape[1]
    for _ in range(depth):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(count)(layers.Dense(256, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        x = x + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x)))
    return of_keras(keras.Model(image, layers.Dense(1000)(layers.GlobalAveragePooling1D()(x))))


# Networks over sequences.


def wavenet(depth=8, width=64, steps=2000) -> Network:
    """Gated causal convolutions whose dilation doubles, with sums of all that they skip."""
    sound = keras.Input((steps, 1))
    x = layers.Conv1D(width, 1)(sound)
    skipped = []
    for layer in range(depth):
        options = {"dilation_rate": 2**layer, "padding": "causal"}
        gated = layers.Multiply()([
            layers.Conv1D(width, 2, activation="tanh", **options)(x), layers.Conv1D(width, 2, activation="sigmoid", **options)(x)
        ])
        skipped.append(layers.Conv1D(width, 1)(gated))
        x = layers.Add()([x, layers.Conv1D(width, 1)(gated)])
    x = layers.ReLU()(layers.Add()(skipped))
    return of_keras(keras.Model(sound, layers.Conv1D(256, 1)(layers.Conv1D(width, 1, activation="relu")(x))))


def temporal_convolutions(steps=400, width=64) -> Network:
    """Dilated convolutions in TensorFlow 1's spelling: pads, `space_to_batch`, convolution, `batch_to_space`."""
    weights = Weights(22)

    def build(x):
        for layer in range(6):
            rate, size_in = 2**layer, width if layer else 16
            kernel = weights.normal((3, size_in, width), np.sqrt(2 / (3 * size_in)))
            y = tf1.nn.convolution(tf1.pad(x, [[0, 0], [2 * rate, 0], [0, 0]]), kernel, "VALID", dilation_rate=[rate])
            y = tf1.nn.relu(tf1.nn.bias_add(y, weights.normal(width, 0.05)))
            x = x + y if layer else y
        return tf1.identity(x, "y")
    return of_graph(build, [Input((steps, 16))])


def recurrent(cell: str, lower_control_flow: bool, steps=100, width=256) -> Network:
    """Two bidirectional layers of a recurrent cell of Keras."""
    sequence = keras.Input((steps, 64))
    x = sequence
    for _ in range(2):
        x = layers.Bidirectional(getattr(layers, cell)(width, return_sequences=True))(x)
    return of_keras(keras.Model(sequence, layers.Dense(10)(x)), lower_control_flow)


def attention_over_lstm(steps=60, width=128) -> Network:
    """A text classifier: an LSTM over embeddings and a weighted sum of its outputs."""
    ids = keras.Input((steps,), dtype="int32")
    x = layers.LSTM(width, return_sequences=True)(layers.Embedding(5000, width)(ids))
    weights = layers.Softmax(axis=1)(layers.Dense(1, activation="tanh")(x))
    x = layers.Flatten()(layers.Dot(axes=1)([weights, x]))
    return of_keras(keras.Model(ids, layers.Dense(20, activation="softmax")(x)), tokens=(5000,))


# Networks over images that `keras.applications` does not have.


def group_norm_unet(size=128, width=32, depth=3) -> Network:
    """An encoder and decoder with group norms, swish and transposed convolutions."""

    def convolved(x, filters: int):
        for _ in range(2):
            x = layers.Activation("swish")(layers.GroupNormalization(8)(layers.Conv2D(filters, 3, padding="same")(x)))
        return x

    image = keras.Input((size, size, 3))
    x, skipped = image, []
    for level in range(depth):
        x = convolved(x, width << level)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolved(x, width << depth)
    for level in reversed(range(depth)):
        x = layers.Conv2DTranspose(width << level, 2, strides=2, padding="same")(x)
        x = convolved(layers.Concatenate()([x, skipped[level]]), width << level)
    return of_keras(keras.Model(image, layers.Conv2D(2, 1)(x)))


def resnext(size=224, width=128, groups=32) -> Network:
    """Residual blocks of grouped convolutions."""

    def convolved(x, filters: int, kernel: int, **options):
        return layers.BatchNormalization()(layers.Conv2D(filters, kernel, padding="same", use_bias=False, **options)(x))

    image = keras.Input((size, size, 3))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(layers.ReLU()(convolved(image, 64, 7, strides=2)))
    for stage in range(4):
        filters = width << stage
        for block in range(2):
            stride = 2 if block == 0 and stage else 1
            shortcut = convolved(x, 2 * filters, 1, strides=stride) if block == 0 else x
            y = layers.ReLU()(convolved(x, filters, 1))
            y = layers.ReLU()(convolved(y, filters, 3, strides=stride, groups=groups))
            x = layers.ReLU()(layers.Add()([shortcut, convolved(y, 2 * filters, 1)]))
    return of_keras(keras.Model(image, layers.Dense(1000)(layers.GlobalAveragePooling2D()(x))))


def split_groups(size=56, width=128, groups=8) -> Network:
    """Grouped convolutions as TensorFlow 1 writes them: a split, a convolution for each part, a concatenation."""
    weights = Weights(23)

    def build(x):
        for _ in range(4):
            part = width // groups
            parts = [
                tf1.nn.conv2d(each, weights.normal((3, 3, part, part), np.sqrt(2 / (9 * part))), [1, 1, 1, 1], "SAME")
                for each in tf1.split(x, groups, axis=3)
            ]
            x = x + tf1.nn.relu(tf1.nn.bias_add(tf1.concat(parts, 3), weights.normal(width, 0.05)))
        return tf1.identity(x, "y")
    return of_graph(build, [Input((size, size, width))])


def darknet(size=416) -> Network:
    """The backbone of a small YOLO: leaky rectifiers and pools."""
    image = keras.Input((size, size, 3))
    x = image
    for filters in (16, 32, 64, 128, 256, 512):
        x = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(x))
        x = layers.LeakyReLU(negative_slope=0.1)(x)
        x = layers.MaxPooling2D(2, strides=2 if filters < 512 else 1, padding="same")(x)
    return of_keras(keras.Model(image, layers.Conv2D(255, 1)(x)))


def style_transfer(size=256) -> Network:
    """Reflected borders, instance norms, residual blocks and upsampling."""
    weights = Weights(24)

    def convolved(x, size_in: int, size_out: int, kernel: int, stride: int = 1):
        border = kernel // 2
        x = tf1.pad(x, [[0, 0], [border, border], [border, border], [0, 0]], "REFLECT")
        filters = weights.normal((kernel, kernel, size_in, size_out), np.sqrt(2 / (kernel * kernel * size_in)))
        x = tf1.nn.conv2d(x, filters, [1, stride, stride, 1], "VALID")
        mean, variance = tf1.nn.moments(x, [1, 2], keepdims=True)
        scale, shift = weights.uniform(size_out, 0.8, 1.2), weights.normal(size_out, 0.05)
        return shift + scale * (x - mean) / tf1.sqrt(variance + 1e-3)

    def build(x):
        x = tf1.nn.relu(convolved(x, 3, 32, 9))
        x = tf1.nn.relu(convolved(x, 32, 64, 3, 2))
        x = tf1.nn.relu(convolved(x, 64, 128, 3, 2))
        for _ in range(3):
            x = x + convolved(tf1.nn.relu(convolved(x, 128, 128, 3)), 128, 128, 3)
        for size_in, size_out in ((128, 64), (64, 32)):
            shape = tf1.shape(x)
            x = tf1.image.resize_nearest_neighbor(x, [2 * shape[1], 2 * shape[2]])
            x = tf1.nn.relu(convolved(x, size_in, size_out, 3))
        return tf1.multiply(tf1.tanh(convolved(x, 32, 3, 9)), 150.0, "y")
    return of_graph(build, [Input((size, size, 3))])


def super_resolution(size=128) -> Network:
    """Convolutions and a rearrangement of depth into space."""
    image = keras.Input((size, size, 1))
    x = layers.Conv2D(64, 5, padding="same", activation="tanh")(image)
    x = layers.Conv2D(32, 3, padding="same", activation="tanh")(x)
    x = layers.Conv2D(9, 3, padding="same")(x)
    return of_keras(keras.Model(image, layers.Lambda(lambda y: tf.nn.depth_to_space(y, 3), output_shape=(3 * size, 3 * size, 1))(x)))


# Networks over tables.


def wide_and_deep(columns=26, buckets=10_000, width=32) -> Network:
    """A linear model of crossed columns beside a deep one of embeddings."""
    weights = Weights(25)

    def build(ids, numbers):
        table, linear = weights.normal((buckets, width), 0.1), weights.normal((buckets, 1), 0.1)
        wide = tf1.reduce_sum(tf1.nn.embedding_lookup(linear, ids), 1)
        deep = tf1.concat([tf1.reshape(tf1.nn.embedding_lookup(table, ids), [-1, columns * width]), numbers], 1)
        size = columns * width + 13
        for units in (1024, 512, 256, 1):
            deep = tf1.matmul(deep, weights.normal((size, units), np.sqrt(2 / size))) + weights.normal(units, 0.05)
            deep = deep if units == 1 else tf1.nn.relu(deep)
            size = units
        return tf1.sigmoid(wide + deep, "y")
    return of_graph(build, [Input((columns,), buckets), Input((13,))])


def dlrm(columns=26, buckets=10_000, width=64) -> Network:
    """Products of all pairs of embeddings, between two perceptrons."""
    weights = Weights(26)

    def perceptron(x, size: int, sizes: tuple[int, ...]):
        for units in sizes:
            x = tf1.nn.relu(tf1.nn.xw_plus_b(x, weights.normal((size, units), np.sqrt(2 / size)), weights.normal(units, 0.05)))
            size = units
        return x

    def build(ids, numbers):
        dense = perceptron(numbers, 13, (512, 256, width))
        tables = weights.normal((columns, buckets, width), 0.1)
        vectors = [tf1.gather(tables[i], ids[:, i]) for i in range(columns)]
        stacked = tf1.stack([dense, *vectors], axis=1)
        products = tf1.matmul(stacked, stacked, transpose_b=True)
        below = np.tril(np.ones((columns + 1, columns + 1), bool), -1)
        count = int(below.sum())
        pairs = tf1.gather(tf1.reshape(products, [-1, (columns + 1) ** 2]), np.flatnonzero(below).astype(np.int32), axis=1)
        x = perceptron(tf1.concat([dense, pairs], 1), width + count, (512, 256))
        return tf1.sigmoid(tf1.matmul(x, weights.normal((256, 1), 0.1)), "y")
    return of_graph(build, [Input((columns,), buckets), Input((13,))])


NETWORKS: dict[str, Callable[[], Network]] = {
    **{
        kind: (lambda kind=kind: application(kind))
        for kind in (
            "ConvNeXtTiny", "DenseNet121", "EfficientNetB0", "EfficientNetV2B0", "MobileNet", "MobileNetV2", "MobileNetV3Large", "MobileNetV3Small",
            "NASNetMobile", "ResNet50", "ResNet50V2", "VGG16"
        )
    },
    **{
        kind: (lambda kind=kind: application(kind, (299, 299, 3)))
        for kind in ("InceptionResNetV2", "InceptionV3", "Xception")
    },
    "EncoderMeans": lambda: transformer(mean_normalized, erf_gelu, "matmul"),
    "EncoderMoments": lambda: transformer(moments_normalized, tanh_gelu, "tensordot"),
    "EncoderDifferences": lambda: transformer(difference_normalized, erfc_gelu, "einsum"),
    "DecoderDifferences": lambda: transformer(difference_normalized, tanh_gelu, "matmul", causal=True),
    "DecoderMoments": lambda: transformer(moments_normalized, erf_gelu, "einsum", causal=True),
    "DecoderRoots": lambda: transformer(root_normalized, swish, "tensordot", causal=True),
    "EncoderKeras": keras_transformer,
    "VisionTransformer": vision_transformer,
    "Mixer": mixer,
    "WaveNet": wavenet,
    "TemporalConvolutions": temporal_convolutions,
    "GruFrames": lambda: recurrent("GRU", True),
    "GruFunctions": lambda: recurrent("GRU", False),
    "LstmFrames": lambda: recurrent("LSTM", True),
    "LstmFunctions": lambda: recurrent("LSTM", False),
    "AttentionOverLstm": attention_over_lstm,
    "UNet": group_norm_unet,
    "ResNeXt": resnext,
    "SplitGroups": split_groups,
    "Darknet": darknet,
    "StyleTransfer": style_transfer,
    "SuperResolution": super_resolution,
    "WideAndDeep": wide_and_deep,
    "Dlrm": dlrm,
}
