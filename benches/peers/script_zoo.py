"""Networks in the spelling of public scripts of TensorFlow 1: products and filters by hand, before Keras was part of TensorFlow."""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from public_zoo import he
from zoo import Input, Network, of_graph, tf1


def convolution(weights: Weights, x, size, outputs: int, strides=1, padding="SAME"):
    height, width = size if isinstance(size, tuple) else (size, size)
    filters = he(weights, height, width, int(x.shape[-1]), outputs)
    return tf1.nn.bias_add(tf1.nn.conv2d(x, filters, [1, strides, strides, 1], padding), weights.normal((outputs,), 0.1))


def dense(weights: Weights, x, outputs: int):
    return tf.matmul(x, he(weights, int(x.shape[-1]), outputs)) + weights.normal((outputs,), 0.1)


def flat(x):
    return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])


def alex_net(x):
    """Local response norms and wide strides, with two groups written as splits."""
    weights = Weights(7)

    def grouped(x, size, outputs):
        halves = tf.split(x, 2, 3)
        return tf.concat([convolution(weights, half, size, outputs // 2) for half in halves], 3)

    def pooled(x):
        return tf1.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")

    def local(x):
        return tf1.nn.local_response_normalization(x, depth_radius=2, alpha=2e-05, beta=0.75, bias=1.0)

    x = pooled(local(tf.nn.relu(convolution(weights, x, 11, 96, 4, "VALID"))))
    x = pooled(local(tf.nn.relu(grouped(x, 5, 256))))
    x = tf.nn.relu(convolution(weights, x, 3, 384))
    x = tf.nn.relu(grouped(x, 3, 384))
    x = flat(pooled(tf.nn.relu(grouped(x, 3, 256))))
    x = tf.nn.relu(dense(weights, tf.nn.relu(dense(weights, x, 4096)), 4096))
    return tf.nn.softmax(dense(weights, x, 1000))


def google_net(x):
    """Inception modules without norms, with local response norms at the start."""
    weights = Weights(7)

    def relu(x, size, outputs, strides=1):
        return tf.nn.relu(convolution(weights, x, size, outputs, strides))

    def pooled(x, size=3, strides=2):
        return tf1.nn.max_pool(x, [1, size, size, 1], [1, strides, strides, 1], "SAME")

    def module(x, a, b1, b, c1, c, d):
        return tf.concat([relu(x, 1, a), relu(relu(x, 1, b1), 3, b), relu(relu(x, 1, c1), 5, c), relu(pooled(x, 3, 1), 1, d)], 3)

    x = tf1.nn.lrn(pooled(relu(x, 7, 64, 2)), 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
    x = pooled(tf1.nn.lrn(relu(relu(x, 1, 64), 3, 192), 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75))
    x = pooled(module(module(x, 64, 96, 128, 16, 32, 32), 128, 128, 192, 32, 96, 64))
    x = module(module(x, 192, 96, 208, 16, 48, 64), 160, 112, 224, 24, 64, 64)
    x = pooled(module(module(x, 128, 128, 256, 24, 64, 64), 256, 160, 320, 32, 128, 128))
    x = module(module(x, 256, 160, 320, 32, 128, 128), 384, 192, 384, 48, 128, 128)
    x = flat(tf1.nn.avg_pool(x, [1, 7, 7, 1], [1, 1, 1, 1], "VALID"))
    return tf.nn.softmax(dense(weights, x, 1000))


def image_to_image(x):
    """The generator of pix2pix: strided convolutions down, transposed ones up, skipped connections, batch norms of the image itself."""
    weights = Weights(7)

    def own_norm(x):
        mean, variance = tf1.nn.moments(x, [0, 1, 2])
        channels = int(x.shape[-1])
        return tf1.nn.batch_normalization(x, mean, variance, weights.normal((channels,), 1.0), weights.normal((channels,), 1.0), 1e-5)

    def leaky(x, a=0.2):
        x = tf.identity(x)
        return (0.5 * (1 + a)) * x + (0.5 * (1 - a)) * tf.abs(x)

    down = [convolution(weights, x, 4, 32, 2)]
    for channels in (64, 128, 256, 256, 256):
        down.append(own_norm(convolution(weights, leaky(down[-1]), 4, channels, 2)))
    x = down.pop()
    for channels in (256, 256, 128, 64, 32):
        size = 2 * int(x.shape[1])
        kernel = weights.normal((4, 4, channels, int(x.shape[-1])), float(np.sqrt(1 / (4 * int(x.shape[-1])))))
        shape = tf.stack([tf.shape(x)[0], size, size, channels])
        x = tf1.nn.conv2d_transpose(tf.nn.relu(x), kernel, shape, [1, 2, 2, 1], "SAME")
        x = tf.concat([own_norm(tf.ensure_shape(x, [None, size, size, channels])), down.pop()], 3)
    size = 2 * int(x.shape[1])
    kernel = weights.normal((4, 4, 3, int(x.shape[-1])), 0.05)
    return tf.tanh(tf1.nn.conv2d_transpose(tf.nn.relu(x), kernel, tf.stack([tf.shape(x)[0], size, size, 3]), [1, 2, 2, 1], "SAME"))


def generator(noise):
    """The generator of DCGAN."""
    weights = Weights(7)
    x = tf.reshape(dense(weights, noise, 4 * 4 * 512), [-1, 4, 4, 512])
    for channels in (256, 128, 64, 3):
        x = tf.nn.relu(x * weights.normal((int(x.shape[-1]),), 1.0) + weights.normal((int(x.shape[-1]),), 0.1))
        size = 2 * int(x.shape[1])
        kernel = weights.normal((5, 5, channels, int(x.shape[-1])), float(np.sqrt(1 / (6 * int(x.shape[-1])))))
        x = tf1.nn.conv2d_transpose(x, kernel, tf.stack([tf.shape(noise)[0], size, size, channels]), [1, 2, 2, 1], "SAME")
        x = tf1.nn.bias_add(tf.ensure_shape(x, [None, size, size, channels]), weights.normal((channels,), 0.1))
    return tf.nn.tanh(x)


def sentences(tokens):
    """Convolutions over words of three widths, and the largest of each over the sentence."""
    weights = Weights(7)
    x = tf.expand_dims(tf.nn.embedding_lookup(weights.normal((20000, 128), 0.1), tokens), -1)
    found = []
    for size in (3, 4, 5):
        y = tf1.nn.conv2d(x, he(weights, size, 128, 1, 128), [1, 1, 1, 1], "VALID")
        y = tf.nn.relu(tf1.nn.bias_add(y, weights.normal((128,), 0.1)))
        found.append(tf1.nn.max_pool(y, [1, 56 - size + 1, 1, 1], [1, 1, 1, 1], "VALID"))
    return dense(weights, tf.reshape(tf.concat(found, 3), [-1, 384]), 2)


def points(x):
    """PointNet: the same layers for every point, and the largest over all points, which a small network turns into a matrix."""
    weights = Weights(7)

    def layer(x, outputs):
        x = convolution(weights, x, 1, outputs, 1, "VALID")
        return tf.nn.relu(tf1.nn.batch_normalization(x, weights.normal((outputs,), 0.1), tf.abs(weights.normal((outputs,), 1.0)) + 0.5,
                                                     weights.normal((outputs,), 0.1), weights.normal((outputs,), 1.0), 1e-3))

    def largest(x):
        return tf1.nn.max_pool(x, [1, 1024, 1, 1], [1, 2, 2, 1], "VALID")

    def transform(x, width):
        y = tf.reshape(largest(layer(layer(layer(x, 64), 128), 1024)), [-1, 1024])
        y = tf.nn.relu(dense(weights, tf.nn.relu(dense(weights, y, 512)), 256))
        return tf.reshape(dense(weights, y, width * width) + np.eye(width, dtype=np.float32).ravel(), [-1, width, width])

    image = tf.expand_dims(x, 2)
    x = tf.expand_dims(tf.matmul(x, transform(image, 3)), 2)
    x = layer(layer(x, 64), 64)
    x = tf.expand_dims(tf.matmul(tf.squeeze(x, [2]), transform(x, 64)), 2)
    x = tf.reshape(largest(layer(layer(layer(x, 64), 128), 1024)), [-1, 1024])
    return dense(weights, tf.nn.relu(dense(weights, tf.nn.relu(dense(weights, x, 512)), 256)), 40)


def language_model(tokens):
    """Three blocks of GPT-2 in its own spelling: one product for queries, keys and values, a mask from ranges, exponents for softmax."""
    weights = Weights(7)
    width, heads, length = 384, 6, 128

    def norm(x):
        u = tf.reduce_mean(x, axis=-1, keepdims=True)
        s = tf.reduce_mean(tf.square(x - u), axis=-1, keepdims=True)
        return (x - u) * tf1.rsqrt(s + 1e-5) * weights.normal((width,), 0.1) + weights.normal((width,), 0.1)

    def conv1d(x, outputs):
        start, inputs = [tf.shape(x)[0], length], int(x.shape[-1])
        c = tf.matmul(tf.reshape(x, [-1, inputs]), weights.normal((inputs, outputs), 0.02)) + weights.normal((outputs,), 0.02)
        return tf.reshape(c, start + [outputs])

    def split_heads(x):
        return tf.transpose(tf.reshape(x, [tf.shape(x)[0], length, heads, width // heads]), [0, 2, 1, 3])

    def softmax(x):
        ex = tf.exp(x - tf.reduce_max(x, axis=-1, keepdims=True))
        return ex / tf.reduce_sum(ex, axis=-1, keepdims=True)

    i, j = tf.range(length)[:, None], tf.range(length)
    b = tf.reshape(tf.cast(i >= j, tf.float32), [1, 1, length, length])
    h = tf.gather(weights.normal((5000, width), 0.02), tokens) + weights.normal((length, width), 0.02)
    for _ in range(3):
        q, k, v = map(split_heads, tf.split(conv1d(norm(h), 3 * width), 3, axis=2))
        w = tf.matmul(q, k, transpose_b=True) * tf1.rsqrt(tf.cast(v.shape[-1], tf.float32))
        w = softmax(w * b - tf.cast(1e10, tf.float32) * (1 - b))
        a = tf.transpose(tf.matmul(w, v), [0, 2, 1, 3])
        h = h + conv1d(tf.reshape(a, [tf.shape(a)[0], length, width]), width)
        m = conv1d(norm(h), 4 * width)
        h = h + conv1d(0.5 * m * (1 + tf.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (m + 0.044715 * tf.pow(m, 3)))), width)
    h = tf.reshape(norm(h)[:, -1], [-1, width])
    return tf.matmul(h, weights.normal((5000, width), 0.02), transpose_b=True)


def capsules(x):
    """Capsules that agree in three rounds."""
    weights = Weights(7)

    def squash(s):
        squared = tf.reduce_sum(tf.square(s), -1, keepdims=True)
        return squared / (1.0 + squared) * s / tf.sqrt(squared + 1e-9)

    x = tf.nn.relu(convolution(weights, x, 9, 256, 1, "VALID"))
    x = tf.nn.relu(convolution(weights, x, 9, 256, 2, "VALID"))
    u = squash(tf.reshape(x, [-1, 1152, 8]))
    w = weights.normal((1152, 10, 8, 16), 0.1)
    uhat = tf.einsum("bid,ijde->bije", u, w)
    b = tf.zeros_like(uhat[:, :, :, 0])
    for _ in range(3):
        c = tf.nn.softmax(b, axis=2)
        v = squash(tf.reduce_sum(c[..., None] * uhat, axis=1))
        b = b + tf.reduce_sum(uhat * v[:, None], -1)
    return tf.sqrt(tf.reduce_sum(tf.square(v), -1) + 1e-9)


def relative_transformer(tokens):
    """A T5 encoder: norms without means, biases of relative positions by buckets, gated activations, no biases."""
    weights = Weights(7)
    width, heads, length = 256, 8, 96

    def norm(x):
        return x * tf1.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6) * weights.normal((width,), 1.0)

    def project(x, outputs):
        return tf.tensordot(x, weights.normal((int(x.shape[-1]), outputs), 0.05), [[2], [0]])

    distance = np.abs(np.arange(length)[None] - np.arange(length)[:, None])
    bias = tf.transpose(tf.gather(weights.normal((32, heads), 0.5), np.minimum(distance, 31).astype(np.int32)), [2, 0, 1])[None]
    x = tf.gather(weights.normal((3000, width), 1.0), tokens)
    count = tf.shape(tokens)[0]
    for _ in range(4):
        y = norm(x)
        q, k, v = (tf.reshape(project(y, width), [count, length, heads, width // heads]) for _ in range(3))
        scores = tf.einsum("bqhd,bkhd->bhqk", q, k) + bias
        y = tf.einsum("bhqk,bkhd->bqhd", tf.nn.softmax(scores), v)
        x = x + project(tf.reshape(y, [count, length, width]), width)
        y = norm(x)
        x = x + project(tf.nn.gelu(project(y, 4 * width)) * project(y, 4 * width), width)
    return tf.reduce_mean(norm(x), 1)


def deep_factors(ids, numbers):
    """DeepFM: products of pairs of embeddings by the square of sums, beside layers."""
    weights = Weights(7)
    table = weights.normal((50000, 16), 0.1)
    first = tf.gather(weights.normal((50000, 1), 0.1), ids)
    e = tf.gather(table, ids)
    pairs = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(e, 1)) - tf.reduce_sum(tf.square(e), 1), 1, keepdims=True)
    x = tf.concat([tf.reshape(e, [-1, 39 * 16]), numbers], 1)
    for width in (400, 400, 400):
        x = tf.nn.relu(dense(weights, x, width))
    return tf.sigmoid(tf.reduce_sum(first, [1]) + pairs + dense(weights, x, 1))


def unrolled_lstm(tokens):
    """A language model of two LSTM layers in thirty steps, without a loop."""
    weights = Weights(9)
    x, count = tf.gather(weights.normal((10000, 200), 0.1), tokens), tf.shape(tokens)[0]
    kernels = [weights.normal((400, 800), 0.05) for _ in range(2)]
    biases = [weights.normal((800,), 0.1) for _ in range(2)]
    cells, hidden, outputs = [tf.zeros([count, 200])] * 2, [tf.zeros([count, 200])] * 2, []
    for step in range(30):
        y = x[:, step, :]
        for layer in range(2):
            gates = tf1.nn.bias_add(tf.matmul(tf.concat([y, hidden[layer]], 1), kernels[layer]), biases[layer])
            i, j, f, o = tf.split(gates, 4, 1)
            cells[layer] = cells[layer] * tf.sigmoid(f + 1.0) + tf.sigmoid(i) * tf.tanh(j)
            y = hidden[layer] = tf.tanh(cells[layer]) * tf.sigmoid(o)
        outputs.append(y)
    return tf.matmul(tf.reshape(tf.concat(outputs, 1), [-1, 200]), he(weights, 200, 10000))


def graph_attention(x):
    """Two layers of eight heads that attend to the neighbours in a fixed graph of 256 nodes."""
    weights, nodes = Weights(9), 256
    edges = np.random.default_rng(1).random((nodes, nodes)) < 0.1
    masked = np.where(edges | np.eye(nodes, dtype=bool), 0, -1e9).astype(np.float32)[None]

    def project(x, outputs: int):
        return tf1.nn.conv1d(x, he(weights, 1, int(x.shape[-1]), outputs), 1, "SAME")

    for _ in range(2):
        heads = []
        for _ in range(8):
            h = project(x, 32)
            scores = project(h, 1) + tf.transpose(project(h, 1), [0, 2, 1])
            shares = tf.nn.softmax(tf.nn.leaky_relu(scores) + masked)
            heads.append(tf.nn.elu(tf.matmul(shares, h) + weights.normal((32,), 0.1)))
        x = tf.concat(heads, -1)
    return project(x, 7)


def modulated(z):
    """Blocks of StyleGAN 2: the channels of a filter are scaled for each image, before and behind the convolution."""
    weights = Weights(9)
    style = z
    for _ in range(4):
        style = tf.nn.leaky_relu(dense(weights, style, 256))
    x = tf.tile(weights.normal((1, 4, 4, 256), 1.0), [tf.shape(z)[0], 1, 1, 1])
    for channels, size in ((256, 8), (128, 16), (64, 32), (32, 64)):
        inputs = int(x.shape[-1])
        filters, scale = he(weights, 3, 3, inputs, channels), dense(weights, style, inputs) + 1.0
        norm = tf1.rsqrt(tf.matmul(tf.square(scale), tf.reduce_sum(tf.square(filters), [0, 1])) + 1e-8)
        x = tf1.image.resize_bilinear(x, [size, size])
        x = tf1.nn.conv2d(x * scale[:, None, None, :], filters, [1, 1, 1, 1], "SAME") * norm[:, None, None, :]
        noise = weights.normal((1, size, size, 1), 0.1) * np.float32(0.3)
        x = tf.nn.leaky_relu(x + noise + weights.normal((channels,), 0.1)) * np.float32(np.sqrt(2))
    return convolution(weights, x, 1, 3)


SCRIPT_NETWORKS: dict[str, Callable[[], Network]] = {
    "AlexNet": lambda: of_graph(alex_net, [Input((227, 227, 3))]),
    "GoogLeNet": lambda: of_graph(google_net, [Input((224, 224, 3))]),
    "ImageToImage": lambda: of_graph(image_to_image, [Input((256, 256, 3))]),
    "Generator": lambda: of_graph(generator, [Input((100,))]),
    "Sentences": lambda: of_graph(sentences, [Input((56,), 20000)]),
    "Points": lambda: of_graph(points, [Input((1024, 3))]),
    "LanguageModel": lambda: of_graph(language_model, [Input((128,), 5000)]),
    "Capsules": lambda: of_graph(capsules, [Input((28, 28, 1))]),
    "RelativeTransformer": lambda: of_graph(relative_transformer, [Input((96,), 3000)]),
    "DeepFactors": lambda: of_graph(deep_factors, [Input((39,), 50000), Input((13,))]),
    "UnrolledLstm": lambda: of_graph(unrolled_lstm, [Input((30,), 10000)]),
    "GraphAttention": lambda: of_graph(graph_attention, [Input((256, 128))]),
    "Modulated": lambda: of_graph(modulated, [Input((256,))]),
}
