"""Networks of research papers in TensorFlow 1's spelling: attention in other forms, features of points and pairs, simulated quantisation."""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from public_zoo import he
from script_zoo import convolution, dense
from zoo import Input, Network, erf_gelu, moments_normalized, of_graph, tanh_gelu, tf1


def batch_normalized(weights: Weights, x):
    channels = int(x.shape[-1])
    scale, variance = (tf.abs(weights.normal((channels,), 1.0)) + 0.5 for _ in range(2))
    return tf1.nn.fused_batch_norm(x, scale, weights.normal((channels,), 0.1), weights.normal((channels,), 0.1), variance, is_training=False)[0]


def layer_normalized(weights: Weights, x):
    channels = int(x.shape[-1])
    return moments_normalized(x, weights.normal((channels,), 1.0), weights.normal((channels,), 0.1))


def projected(weights: Weights, x, outputs: int, biased: bool = True):
    """A dense layer over the last of three dimensions."""
    y = tf1.tensordot(x, he(weights, int(x.shape[-1]), outputs), [[-1], [0]])
    return y + weights.normal((outputs,), 0.1) if biased else y


def heads(x, count: int):
    length, channels = int(x.shape[1]), int(x.shape[-1])
    return tf.transpose(tf.reshape(x, [-1, length, count, channels // count]), [0, 2, 1, 3])


def joined(x):
    count, length, channels = (int(size) for size in x.shape[1:])
    return tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [-1, length, count * channels])


def attention(weights: Weights, queries, values, count: int):
    channels = int(queries.shape[-1])
    q, k, v = heads(projected(weights, queries, channels), count), *(heads(projected(weights, values, channels), count) for _ in range(2))
    scores = tf.matmul(q, k, transpose_b=True) / np.sqrt(channels / count).astype(np.float32)
    return projected(weights, joined(tf.matmul(tf.nn.softmax(scores), v)), channels)


def detection_transformer(x):
    """DETR: a transformer over the features of an image, and queries that attend to them."""
    weights = Weights(7)

    def fed_forward(x):
        return layer_normalized(weights, x + projected(weights, tf.nn.relu(projected(weights, x, 512)), 128))

    for channels in (32, 64, 128, 256):
        x = tf.nn.relu(batch_normalized(weights, convolution(weights, x, 3, channels, 2)))
    x = tf.reshape(convolution(weights, x, 1, 128, 2), [-1, 64, 128])
    places = weights.normal((64, 128), 0.1)
    for _ in range(3):
        x = fed_forward(layer_normalized(weights, x + attention(weights, x + places, x, 8)))
    queries = tf.tile(tf.expand_dims(weights.normal((50, 128), 0.3), 0), [tf.shape(x)[0], 1, 1])
    for _ in range(3):
        queries = layer_normalized(weights, queries + attention(weights, queries, queries, 8))
        queries = fed_forward(layer_normalized(weights, queries + attention(weights, queries, x + places, 8)))
    return tf.concat([projected(weights, queries, 21), tf.sigmoid(projected(weights, tf.nn.relu(projected(weights, queries, 128)), 4))], -1)


def pyramid_vision(x):
    """PVT version 2: attention to features of fewer positions, and depthwise convolutions between products."""
    weights = Weights(7)
    for channels, patch, reduction, count in ((32, 4, 8, 1), (64, 2, 4, 2), (160, 2, 2, 5), (256, 2, 1, 8)):
        x = convolution(weights, x, patch, channels, patch, "VALID")
        size = int(x.shape[1])
        x = layer_normalized(weights, tf.reshape(x, [-1, size * size, channels]))
        for _ in range(2):
            y = values = layer_normalized(weights, x)
            if reduction > 1:
                image = tf.reshape(y, [-1, size, size, channels])
                values = tf.reshape(convolution(weights, image, reduction, channels, reduction, "VALID"), [-1, (size // reduction) ** 2, channels])
                values = layer_normalized(weights, values)
            x = x + attention(weights, y, values, count)
            y = tf.reshape(projected(weights, layer_normalized(weights, x), 4 * channels), [-1, size, size, 4 * channels])
            y = tf1.nn.depthwise_conv2d(y, weights.normal((3, 3, 4 * channels, 1), 0.2), [1, 1, 1, 1], "SAME") + weights.normal((4 * channels,), 0.1)
            x = x + projected(weights, erf_gelu(tf.reshape(y, [-1, size * size, 4 * channels])), channels)
        x = tf.reshape(x, [-1, size, size, channels])
    return dense(weights, tf.reduce_mean(x, [1, 2]), 1000)


def linear_attention(tokens):
    """Attention by sums over keys, without scores; einsums of three operands."""
    weights = Weights(7)
    x = tf.nn.embedding_lookup(weights.normal((3000, 256), 0.3), tokens)
    for _ in range(3):
        y = layer_normalized(weights, x)
        q, k, v = (heads(projected(weights, y, 256), 8) for _ in range(3))
        q, k = tf.nn.elu(q) + 1, tf.nn.elu(k) + 1
        norms = 1 / (tf.einsum("bhnd,bhd->bhn", q, tf.reduce_sum(k, 2)) + 1e-6)
        x = x + projected(weights, joined(tf.einsum("bhnd,bhde,bhn->bhne", q, tf.einsum("bhnd,bhne->bhde", k, v), norms)), 256)
        x = x + projected(weights, tanh_gelu(projected(weights, layer_normalized(weights, x), 1024)), 256)
    return x


def rotary(tokens):
    """LLaMA: rotated queries and keys, few keys for many queries, gated activations, no biases."""
    weights = Weights(7)
    x = tf.nn.embedding_lookup(weights.normal((3000, 256), 0.3), tokens)
    angles = np.outer(np.arange(128), 1 / 10000 ** (np.arange(0, 32, 2) / 32))
    angles = np.concatenate([angles, angles], -1)
    sines, cosines = np.sin(angles).astype(np.float32), np.cos(angles).astype(np.float32)
    mask = np.triu(np.full((128, 128), -1e9), 1).astype(np.float32)

    def rotated(x):
        a, b = tf.split(x, 2, -1)
        return x * cosines + tf.concat([-b, a], -1) * sines

    def normalized(x):
        return x * tf1.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * weights.normal((256,), 1.0)

    def repeated(x):
        return tf.reshape(tf.tile(tf.expand_dims(x, 2), [1, 1, 4, 1, 1]), [-1, 8, 128, 32])

    for _ in range(3):
        y = normalized(x)
        q, k, v = heads(projected(weights, y, 256, False), 8), *(heads(projected(weights, y, 64, False), 2) for _ in range(2))
        scores = tf.nn.softmax(tf.matmul(rotated(q), repeated(rotated(k)), transpose_b=True) * 32**-0.5 + mask)
        x = x + projected(weights, joined(tf.matmul(scores, repeated(v))), 256, False)
        y = normalized(x)
        gate = projected(weights, y, 688, False)
        x = x + projected(weights, gate * tf.sigmoid(gate) * projected(weights, y, 688, False), 256, False)
    return x


def conformer(x):
    """Half steps of dense layers around attention and gated depthwise convolutions of 31 steps."""
    weights = Weights(7)

    def half_step(x):
        y = projected(weights, layer_normalized(weights, x), 576)
        return x + 0.5 * projected(weights, y * tf.sigmoid(y), 144)

    x = projected(weights, x, 144)
    for _ in range(3):
        y = layer_normalized(weights, half_step(x))
        x = x + attention(weights, y, y, 4)
        a, b = tf.split(projected(weights, layer_normalized(weights, x), 288), 2, -1)
        y = tf1.nn.depthwise_conv2d(tf.expand_dims(a * tf.sigmoid(b), 1), weights.normal((1, 31, 144, 1), 0.1), [1, 1, 1, 1], "SAME")
        y = batch_normalized(weights, y)
        x = layer_normalized(weights, half_step(x + projected(weights, tf.squeeze(y * tf.sigmoid(y), 1), 144)))
    return x


def gated_mlp(tokens):
    """gMLP: products over positions gate half of the channels."""
    weights = Weights(7)
    x = tf.nn.embedding_lookup(weights.normal((3000, 128), 0.3), tokens)
    for _ in range(6):
        u, v = tf.split(erf_gelu(projected(weights, layer_normalized(weights, x), 512)), 2, -1)
        v = tf.transpose(layer_normalized(weights, v), [0, 2, 1])
        v = tf.transpose(tf1.tensordot(v, weights.normal((196, 196), 0.01), [[2], [0]]) + 1.0, [0, 2, 1])
        x = x + projected(weights, u * v, 128)
    return x


def neighbours(x):
    """DGCNN: features of the pairs of a point and its sixteen nearest ones."""
    weights = Weights(7)
    for channels in (32, 64, 128):
        width = int(x.shape[-1])
        squares = tf.reduce_sum(tf.square(x), -1, keepdims=True)
        distances = squares - 2 * tf.matmul(x, tf.transpose(x, [0, 2, 1])) + tf.transpose(squares, [0, 2, 1])
        first = tf.reshape(tf.range(tf.shape(x)[0]) * 256, [-1, 1, 1])
        near = tf.gather(tf.reshape(x, [-1, width]), tf.nn.top_k(-distances, 16)[1] + first)
        centres = tf.tile(tf.expand_dims(x, -2), [1, 1, 16, 1])
        pairs = convolution(weights, tf.concat([centres, near - centres], -1), 1, channels)
        x = tf.reduce_max(tf.nn.relu(batch_normalized(weights, pairs)), 2)
    return dense(weights, tf.reduce_max(x, 1), 40)


def optical_flow(a, b):
    """The correlations of two images' features at 81 displacements, and densely connected convolutions."""
    weights = Weights(7)
    kernels = he(weights, 7, 7, 3, 32), he(weights, 5, 5, 32, 64), he(weights, 3, 3, 64, 128)

    def features(x):
        for kernel in kernels:
            x = tf.nn.leaky_relu(tf1.nn.conv2d(x, kernel, [1, 2, 2, 1], "SAME"), 0.1)
        return x

    a, b = features(a), features(b)
    b = tf.pad(b, [[0, 0], [4, 4], [4, 4], [0, 0]])
    costs = [tf.reduce_mean(a * b[:, i : i + 12, j : j + 16], -1) for i in range(9) for j in range(9)]
    x = tf.concat([tf.nn.leaky_relu(tf.stack(costs, -1), 0.1), a], 3)
    for channels in (128, 96, 64, 32):
        x = tf.concat([tf.nn.leaky_relu(convolution(weights, x, 3, channels), 0.1), x], 3)
    flow = convolution(weights, x, 3, 2)
    return tf1.nn.conv2d_transpose(flow, weights.normal((4, 4, 2, 2), 0.3), tf.stack([tf.shape(flow)[0], 24, 32, 2]), [1, 2, 2, 1], "SAME")


def quantized_mobile(x):
    """MobileNet's blocks with simulated quantisation of weights and activations."""
    weights = Weights(7)

    def activated(x):
        return tf1.fake_quant_with_min_max_vars(tf.nn.relu6(x + weights.normal((int(x.shape[-1]),), 0.1)), 0.0, 6.0)

    def quantized(kernel):
        return tf1.fake_quant_with_min_max_vars(kernel, -1.5, 1.5, narrow_range=True)

    x = activated(tf1.nn.conv2d(x, quantized(he(weights, 3, 3, 3, 16)), [1, 2, 2, 1], "SAME"))
    for channels, stride in ((32, 1), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2)):
        inputs = int(x.shape[-1])
        x = activated(tf1.nn.depthwise_conv2d(x, quantized(weights.normal((3, 3, inputs, 1), 0.3)), [1, stride, stride, 1], "SAME"))
        x = activated(tf1.nn.conv2d(x, quantized(he(weights, 1, 1, inputs, channels)), [1, 1, 1, 1], "SAME"))
    return dense(weights, tf.reduce_mean(x, [1, 2]), 100)


RESEARCH_NETWORKS: dict[str, Callable[[], Network]] = {
    "DetectionTransformer": lambda: of_graph(detection_transformer, [Input((256, 256, 3))]),
    "PyramidVision": lambda: of_graph(pyramid_vision, [Input((224, 224, 3))]),
    "LinearAttention": lambda: of_graph(linear_attention, [Input((512,), 3000)]),
    "Rotary": lambda: of_graph(rotary, [Input((128,), 3000)]),
    "Conformer": lambda: of_graph(conformer, [Input((160, 80))]),
    "GatedMlp": lambda: of_graph(gated_mlp, [Input((196,), 3000)]),
    "Neighbours": lambda: of_graph(neighbours, [Input((256, 3))]),
    "OpticalFlow": lambda: of_graph(optical_flow, [Input((96, 128, 3)), Input((96, 128, 3))]),
    "QuantizedMobile": lambda: of_graph(quantized_mobile, [Input((128, 128, 3))]),
}
