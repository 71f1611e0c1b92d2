"""Networks of further domains in their public spelling: `tf.layers`, RNN cells, Keras 2, speech, recommendation and rendering.

Graphs with variables are frozen as `freeze_graph` of TensorFlow 1 freezes them. Weights have fixed seeds.
"""
from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tf_keras
from tf_keras.src.layers.rnn import legacy_cells as cells
from tf_keras.src.legacy_tf_layers import convolutional, core, normalization, pooling

from make_models import Weights
from public_zoo import he
from zoo import Input, Network, application, frozen, of_graph, tf1

keras2 = tf_keras.layers


def value_of(name: str, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Returns a value for a variable, of the size that training leaves."""
    if any(part in name for part in ("gamma", "moving_variance", "WSM")):
        return random.uniform(0.8, 1.2, shape)
    if any(part in name for part in ("beta", "bias", "moving_mean", "embedding")):
        return random.normal(0, 0.05, shape)
    return random.normal(0, np.sqrt(2 / max(1, np.prod(shape[:2] if "depthwise" in name else shape[:-1]))), shape)


def of_variables(build: Callable, inputs: list[Input]) -> Network:
    """Returns a graph of TensorFlow 1 whose variables became constants. `build` gets placeholders and returns the output."""
    tf1.disable_control_flow_v2()
    random = np.random.default_rng(1)
    with tf1.Graph().as_default() as graph, tf1.variable_scope("", use_resource=False):
        types = [tf.int32 if each.num_tokens else tf.float32 for each in inputs]
        placeholders = [tf1.placeholder(dtype, [None, *each.shape], f"x{i}") for i, (dtype, each) in enumerate(zip(types, inputs))]
        tf.identity(build(*placeholders), "y")
        with tf1.Session() as session:
            for variable in tf1.global_variables():
                variable.load(value_of(variable.op.name, tuple(variable.shape), random).astype(np.float32), session)
            message = tf1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    return Network(message, {x.name: each for x, each in zip(placeholders, inputs)}, "y:0")


def of_keras2(build: Callable, shape: tuple[int, ...]) -> Network:
    """Returns a network of Keras 2, of which `build` makes the output from the input."""
    image = tf_keras.Input(shape)
    model = tf_keras.Model(image, build(image))
    random = np.random.default_rng(1)
    model.set_weights([value_of(weight.name, tuple(weight.shape), random) for weight in model.weights])
    return frozen(lambda x: model(x, training=False), [Input(shape)])


# Images.


class GlobalResponse(tf_keras.layers.Layer):
    """Normalises channels by the norms of their images, as ConvNeXt V2 does."""

    def build(self, shape):
        self.gamma = self.add_weight("gamma", (1, 1, 1, shape[-1]))
        self.beta = self.add_weight("beta", (1, 1, 1, shape[-1]))

    def call(self, x):
        norms = tf.norm(x, axis=(1, 2), keepdims=True)
        return self.gamma * (x * (norms / (tf.reduce_mean(norms, axis=-1, keepdims=True) + 1e-6))) + self.beta + x


def global_responses(x):
    """Classifies as ConvNeXt V2 of the size that is called atto: wide depthwise convolutions, dense layers, global response norms."""
    for stage, (channels, depth) in enumerate(((40, 2), (80, 2), (160, 6), (320, 2))):
        if stage:
            x = keras2.LayerNormalization(epsilon=1e-6)(x)
        x = keras2.Conv2D(channels, 2 if stage else 4, strides=2 if stage else 4)(x)
        if not stage:
            x = keras2.LayerNormalization(epsilon=1e-6)(x)
        for _ in range(depth):
            y = keras2.DepthwiseConv2D(7, padding="same")(x)
            y = keras2.Dense(4 * channels, activation="gelu")(keras2.LayerNormalization(epsilon=1e-6)(y))
            x = keras2.add([x, keras2.Dense(channels)(GlobalResponse()(y))])
    return keras2.Dense(1000)(keras2.LayerNormalization(epsilon=1e-6)(keras2.GlobalAveragePooling2D()(x)))


def residual_dense(x):
    """Enlarges an image by ESRGAN's blocks: dense connections, leaky rectifiers, scaled residuals, nearest upsampling."""

    def convolved(x, channels):
        return keras2.Conv2D(channels, 3, padding="same")(x)

    def dense_block(x):
        features = [x]
        for _ in range(4):
            y = features[0] if len(features) == 1 else keras2.Concatenate()(features)
            features.append(keras2.LeakyReLU(0.2)(convolved(y, 16)))
        return x + convolved(keras2.Concatenate()(features), 32) * 0.2

    x = first = convolved(x, 32)
    for _ in range(2):
        x = x + dense_block(dense_block(dense_block(x))) * 0.2
    x = first + convolved(x, 32)
    for _ in range(2):
        x = keras2.LeakyReLU(0.2)(convolved(keras2.UpSampling2D(2, interpolation="nearest")(x), 32))
    return convolved(keras2.LeakyReLU(0.2)(convolved(x, 32)), 3)


def variational(x):
    """Encodes a face to means and deviations, draws from them with fixed noise, and decodes by transposed convolutions with batch norms."""
    for channels in (32, 64, 128, 256):
        x = keras2.LeakyReLU()(keras2.BatchNormalization()(keras2.Conv2D(channels, 3, strides=2, padding="same")(x)))
    x = keras2.Flatten()(x)
    mean, log_variance = keras2.Dense(128)(x), keras2.Dense(128)(x)
    noise = np.random.default_rng(3).normal(0, 1, 128).astype(np.float32)
    x = keras2.Lambda(lambda z: z[0] + tf.exp(0.5 * z[1]) * noise)([mean, 0.1 * log_variance])
    x = keras2.Reshape((4, 4, 256))(keras2.Dense(4 * 4 * 256)(x))
    for channels in (128, 64, 32, 32):
        x = keras2.Conv2DTranspose(channels, 3, strides=2, padding="same")(x)
        x = keras2.LeakyReLU()(keras2.BatchNormalization()(x))
    return keras2.Conv2D(3, 3, padding="same", activation="tanh")(x)


def convolved_attention(x):
    """Classifies as CoAtNet: inverted bottlenecks with excitation, then attention with a table of relative positions in two dimensions."""

    def convolved(x, channels, size=3, strides=1, activation=tf.nn.gelu):
        x = convolutional.conv2d(x, channels, size, strides, padding="same", use_bias=False)
        x = normalization.batch_normalization(x, training=False)
        return x if activation is None else activation(x)

    def layer_normalized(x):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        gamma, beta = (tf1.get_variable(f"{kind}_{len(tf1.global_variables())}", x.shape[-1:]) for kind in ("gamma", "beta"))
        return gamma * (x - mean) / tf.sqrt(variance + 1e-6) + beta

    def bottleneck(x, channels):
        y = convolved(normalization.batch_normalization(x, training=False), 4 * int(x.shape[-1]), 1)
        kernel = tf1.get_variable(f"depthwise_{channels}_{len(tf1.global_variables())}", (3, 3, int(y.shape[-1]), 1))
        y = tf.nn.gelu(normalization.batch_normalization(tf1.nn.depthwise_conv2d(y, kernel, [1, 2, 2, 1], "SAME"), training=False))
        s = tf.reduce_mean(y, [1, 2], keepdims=True)
        y = y * tf.sigmoid(convolutional.conv2d(tf.nn.silu(convolutional.conv2d(s, int(x.shape[-1]) // 4, 1)), int(y.shape[-1]), 1))
        return convolutional.conv2d(pooling.max_pooling2d(x, 2, 2), channels, 1) + convolutional.conv2d(y, channels, 1)

    x = convolved(convolved(x, 32, 3, 2), 32, activation=None)
    x = bottleneck(bottleneck(bottleneck(x, 64), 96), 192)
    offsets = np.stack(np.meshgrid(np.arange(10), np.arange(10), indexing="ij"), -1).reshape(-1, 2)
    offsets = offsets[:, None] - offsets[None] + 9
    x = tf.reshape(x, [-1, 100, 192])
    for layer in range(3):
        y = layer_normalized(x)
        q, k, v = (tf.einsum("bnc,chd->bnhd", y, tf1.get_variable(f"{kind}_{layer}", (192, 6, 32))) * 0.4 for kind in "qkv")
        bias = tf.gather_nd(tf1.get_variable(f"positions_{layer}", (19, 19, 6)), offsets)
        scores = tf.nn.softmax(tf.einsum("bnhd,bmhd->bhnm", q, k) * 32**-0.5 + tf.transpose(bias, [2, 0, 1]))
        y = tf.einsum("bhnm,bmhd->bnhd", scores, v)
        x = x + tf.einsum("bnhd,hdc->bnc", y, 0.4 * tf1.get_variable(f"o_{layer}", (6, 32, 192)))
        x = x + core.dense(core.dense(layer_normalized(x), 768, activation=tf.nn.gelu), 192)
    return core.dense(tf.reduce_mean(layer_normalized(x), 1), 1000)


def image_quality(a, b):
    """Compares an image with a bicubic enlargement: similarity of structure at five scales, noise, edges and variation."""
    a, b = tf.sigmoid(a), tf.image.resize(tf.sigmoid(b), [192, 192], method="bicubic")
    b = tf.clip_by_value(0.7 * a + 0.3 * b, 0.0, 1.0)
    structure = tf.image.ssim_multiscale(a, b, max_val=1.0)
    edges = tf.reduce_mean(tf.abs(tf.image.sobel_edges(tf.image.rgb_to_yuv(a)) - tf.image.sobel_edges(tf.image.rgb_to_yuv(b))), [1, 2, 3, 4])
    return tf.stack([structure, tf.image.psnr(a, b, 1.0) / 100.0, edges, tf.image.total_variation(b) / 1e5], -1)


# Text.


def cached_decoder(token, past):
    """Computes GPT-2's next logits from one token and the keys and values of 255 tokens before it."""
    weights = Weights(11)
    width, count = 384, 6

    def norm(x):
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        return (x - mean) * tf1.rsqrt(variance + 1e-5) * weights.normal((width,), 1.0) + weights.normal((width,), 0.1)

    def conv1d(x, outputs):
        start, inputs = [tf.shape(x)[0], tf.shape(x)[1]], int(x.shape[-1])
        c = tf.matmul(tf.reshape(x, [-1, inputs]), he(weights, inputs, outputs)) + weights.normal((outputs,), 0.02)
        return tf.ensure_shape(tf.reshape(c, start + [outputs]), [None, None, outputs])

    def split_heads(x):
        return tf.transpose(tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1], count, width // count]), [0, 2, 1, 3])

    table = weights.normal((8000, width), 0.1)
    h = tf.gather(table, token) + tf.gather(weights.normal((512, width), 0.1), tf.shape(past)[-2] + tf.range(tf.shape(token)[1]))
    for present in tf.unstack(past, axis=1):
        q, k, v = map(split_heads, tf.split(conv1d(norm(h), 3 * width), 3, axis=2))
        pk, pv = tf.unstack(present, axis=1)
        k, v = tf.concat([pk, k], axis=-2), tf.concat([pv, v], axis=-2)
        a = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * tf1.rsqrt(tf.cast(width // count, tf.float32))), v)
        a = tf.transpose(a, [0, 2, 1, 3])
        h = h + conv1d(tf.ensure_shape(tf.reshape(a, [tf.shape(a)[0], tf.shape(a)[1], width]), [None, None, width]), width)
        m = conv1d(norm(h), 4 * width)
        h = h + conv1d(0.5 * m * (1 + tf.tanh(np.float32(np.sqrt(2 / np.pi)) * (m + 0.044715 * tf.pow(m, 3)))), width)
    return tf.reshape(tf.matmul(tf.reshape(norm(h), [-1, width]), table, transpose_b=True), [tf.shape(h)[0], -1, 8000])


def f_net(tokens):
    """Mixes tokens by the real part of a Fourier transform over positions and channels, in place of attention."""
    weights = Weights(11)

    def norm(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, weights.normal((256,), 0.1), weights.normal((256,), 1.0), 1e-12)

    def dense(x, outputs):
        return tf.einsum("...x,xy->...y", x, he(weights, int(x.shape[-1]), outputs)) + weights.normal((outputs,), 0.1)

    x = norm(tf.nn.embedding_lookup(weights.normal((3000, 256), 1.0), tokens) + weights.normal((256, 256), 0.3))
    for _ in range(4):
        x = norm(x + tf.math.real(tf.signal.fft2d(tf.cast(x, tf.complex64))) * np.float32(1 / 256))
        x = norm(x + dense(tf.nn.gelu(dense(x, 1024), approximate=True), 256))
    return tf.tanh(dense(x[:, 0, :], 256))


def character_highway(characters):
    """Predicts words from their characters: convolutions of six widths, the largest of each, two highway layers and two unrolled LSTMs."""
    table = tf1.get_variable("embedding", (60, 15))
    x = tf.reshape(tf.nn.embedding_lookup(table, characters), [-1, 1, 21, 15])
    found = []
    for width in range(1, 7):
        y = tf.tanh(convolutional.conv2d(x, 25 * width, [1, width]))
        found.append(tf.squeeze(tf1.nn.max_pool(y, [1, 1, 22 - width, 1], [1, 1, 1, 1], "VALID"), [1, 2]))
    x = tf.concat(found, 1)
    for _ in range(2):
        gate = tf.sigmoid(core.dense(x, 525) - 2.0)
        x = gate * tf.nn.relu(core.dense(x, 525)) + (1.0 - gate) * x
    steps = [tf.squeeze(step, [1]) for step in tf.split(tf.reshape(x, [-1, 35, 525]), 35, 1)]
    cell = cells.MultiRNNCell([cells.BasicLSTMCell(300, forget_bias=0.0) for _ in range(2)])
    outputs, _ = tf1.nn.static_rnn(cell, steps, dtype=tf.float32)
    return tf.stack([core.dense(step, 2000, name="softmax", reuse=tf1.AUTO_REUSE) for step in outputs], 1)


def attentive_decoder(tokens):
    """Translates greedily by Bahdanau's attention: a loop of 20 steps whose words are embedded again, over the states of a GRU."""
    weights = Weights(11)
    source, target, output = weights.normal((4000, 128), 0.5), weights.normal((4000, 128), 0.5), he(weights, 256, 4000)
    kernels = [(he(weights, size + 256, 512), weights.normal((512,), 0.1), he(weights, size + 256, 256)) for size in (128, 384)]
    keys, query, energy = he(weights, 256, 256), he(weights, 256, 256), weights.normal((256,), 0.3)

    def gru(layer, x, h):
        gates, bias, candidate = kernels[layer]
        r, u = tf.split(tf.sigmoid(tf1.nn.bias_add(tf.matmul(tf.concat([x, h], 1), gates), bias)), 2, 1)
        return u * h + (1 - u) * tf.tanh(tf.matmul(tf.concat([x, r * h], 1), candidate))

    embedded = tf.transpose(tf.nn.embedding_lookup(source, tokens), [1, 0, 2])
    states = tf.scan(lambda h, x: gru(0, x, h), embedded, tf.zeros([tf.shape(tokens)[0], 256]))
    memory = tf.transpose(states, [1, 0, 2])
    projected = tf.tensordot(memory, keys, 1)

    def step(i, word, h, logits):
        scores = tf.reduce_sum(energy * tf.tanh(projected + tf.expand_dims(tf.matmul(h, query), 1)), 2)
        context = tf.reduce_sum(tf.expand_dims(tf.nn.softmax(scores), -1) * memory, 1)
        h = gru(1, tf.concat([tf.nn.embedding_lookup(target, word), context], 1), h)
        found = tf.matmul(h, output)
        return i + 1, tf.argmax(found, 1, tf.int32), h, logits.write(i, found)

    begin = 0, tf.ones_like(tokens[:, 0]), states[-1], tf.TensorArray(tf.float32, 20)
    return tf.transpose(tf1.while_loop(lambda i, *_: i < 20, step, begin)[3].stack(), [1, 0, 2])


# Speech.


def deep_speech(x):
    """Computes DeepSpeech's logits: windows by a convolution with an identity, clipped rectifiers, a fused LSTM, time before batch."""
    weights = Weights(11)
    steps, features, context, width = 100, 26, 9, 512

    def dense(x, outputs):
        return tf.add(tf.matmul(x, he(weights, int(x.shape[-1]), outputs)), weights.normal((outputs,), 0.1))

    def clipped(x):
        return tf.minimum(tf.nn.relu(dense(x, width)), 20.0)

    window = (2 * context + 1) * features
    identity = tf.constant(np.eye(window).reshape(2 * context + 1, features, window).astype(np.float32))
    x = tf.reshape(tf1.nn.conv1d(x, identity, stride=1, padding="SAME"), [-1, steps, 2 * context + 1, features])
    count = tf.shape(x)[0]
    x = tf.reshape(tf.transpose(x, [1, 0, 2, 3]), [-1, window])
    x = tf.reshape(clipped(clipped(clipped(x))), [steps, -1, width])
    kernel, bias, peephole = he(weights, 2 * width, 4 * width), weights.normal((4 * width,), 0.1), tf.zeros([width])
    state = tf.zeros([count, width])
    x = tf.raw_ops.BlockLSTM(seq_len_max=tf.constant(steps, tf.int64), x=x, cs_prev=state, h_prev=state, w=kernel, wci=peephole, wcf=peephole,
                             wco=peephole, b=bias, forget_bias=0.0, cell_clip=-1.0).h
    return tf.reshape(dense(clipped(tf.reshape(x, [-1, width])), 29), [steps, -1, 29])


def cbhg(x):
    """Computes Tacotron's CBHG: a bank of convolutions, a pool of stride one, highway layers and a bidirectional GRU."""

    def convolved(x, size, channels, activation):
        x = convolutional.conv1d(x, channels, size, activation=activation, padding="same")
        return normalization.batch_normalization(x, training=False)

    y = tf.concat([convolved(x, size, 128, tf.nn.relu) for size in range(1, 9)], axis=-1)
    y = pooling.max_pooling1d(y, pool_size=2, strides=1, padding="same")
    y = convolved(convolved(y, 3, 256, tf.nn.relu), 3, 80, None) + x
    y = core.dense(y, 128)
    for _ in range(4):
        t = core.dense(y, 128, activation=tf.nn.sigmoid, bias_initializer=tf1.constant_initializer(-1.0))
        y = core.dense(y, 128, activation=tf.nn.relu) * t + y * (1.0 - t)
    lengths = tf.fill([tf.shape(y)[0]], 160)
    outputs, _ = tf1.nn.bidirectional_dynamic_rnn(cells.GRUCell(128), cells.GRUCell(128), y, sequence_length=lengths, dtype=tf.float32)
    return core.dense(tf.concat(outputs, axis=2), 257)


def wave_transformer(x):
    """Encodes sound as wav2vec 2.0: strided convolutions, a group norm of one channel each, weight-normalised positions, a transformer."""
    weights = Weights(11)

    def conv1d(x, size, channels, strides):
        return tf.nn.conv1d(x, he(weights, size, int(x.shape[-1]), channels), strides, "VALID")

    def group_normalized(x, groups):
        steps, channels = int(x.shape[1]), int(x.shape[-1])
        y = tf.reshape(x, [-1, steps, groups, channels // groups])
        mean, variance = tf.nn.moments(y, [1, 3], keepdims=True)
        gamma, beta = (tf.reshape(weights.normal((channels,), 1.0), [1, 1, groups, channels // groups]) for _ in range(2))
        return tf.reshape(tf.nn.batch_normalization(y, mean, variance, beta, gamma, 1e-5), [-1, steps, channels])

    def dense(x, outputs):
        return tf.nn.bias_add(tf.tensordot(x, he(weights, int(x.shape[-1]), outputs), [[2], [0]]), weights.normal((outputs,), 0.1))

    def norm(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, weights.normal((256,), 0.1), weights.normal((256,), 1.0), 1e-5)

    x = tf.nn.gelu(group_normalized(conv1d(x, 10, 256, 5), 256))
    for size in (3, 3, 3, 3, 2, 2):
        x = tf.nn.gelu(conv1d(x, size, 256, 2))
    x = dense(norm(x), 256)
    kernel = tf.nn.l2_normalize(weights.normal((128, 16, 256), 1.0), [1, 2]) * weights.normal((128, 1, 1), 0.5)
    positions = tf.nn.conv1d(tf.pad(x, [[0, 0], [64, 64], [0, 0]]), kernel, 1, "VALID")[:, :-1, :]
    x = norm(x + tf.nn.gelu(positions + weights.normal((256,), 0.1)))
    steps = int(x.shape[1])
    for _ in range(4):
        q, k, v = (tf.reshape(tf.transpose(tf.reshape(dense(x, 256), [-1, steps, 4, 64]), [0, 2, 1, 3]), [-1, steps, 64]) for _ in range(3))
        scores = tf.nn.softmax(tf.matmul(q * 0.125, k, transpose_b=True), axis=-1)
        y = tf.transpose(tf.reshape(tf.matmul(scores, v), [-1, 4, steps, 64]), [0, 2, 1, 3])
        x = norm(x + dense(tf.reshape(y, [-1, steps, 256]), 256))
        x = norm(x + dense(tf.nn.gelu(dense(x, 1024)), 256))
    return dense(x, 32)


# Recommendation.


def deep_interest(history, length, candidates):
    """Scores 64 items by attention of each to a history of 100 clicks, with sigmoids, masks and adaptive rectifiers."""
    items = tf1.get_variable("embedding", (20000, 64))
    keys, queries = tf.nn.embedding_lookup(items, history), tf.nn.embedding_lookup(items, candidates)

    def dice(x, name):
        alpha = tf1.get_variable(f"alpha_{name}", (int(x.shape[-1]),))
        p = tf.sigmoid(normalization.batch_normalization(x, center=False, scale=False, epsilon=1e-9))
        return alpha * (1.0 - p) * x + p * x

    q = tf.reshape(tf.tile(queries, [1, 1, 100]), [-1, 64, 100, 64])
    k = tf.reshape(tf.tile(keys, [1, 64, 1]), [-1, 64, 100, 64])
    x = tf.concat([q, k, q - k, q * k], axis=-1)
    x = core.dense(core.dense(x, 80, activation=tf.nn.sigmoid), 40, activation=tf.nn.sigmoid)
    scores = tf.reshape(core.dense(x, 1), [-1, 64, 100])
    masks = tf.tile(tf.expand_dims(tf.sequence_mask(length + 1, 100), 1), [1, 64, 1])
    scores = tf1.where(masks, scores, tf.ones_like(scores) * (-(2**32) + 1)) / 8.0
    interest = tf.matmul(tf.reshape(tf.nn.softmax(scores), [-1, 64, 1, 100]), k)
    x = tf.concat([queries, tf.reshape(interest, [-1, 64, 64])], -1)
    x = normalization.batch_normalization(tf.reshape(x, [-1, 128]))
    x = dice(core.dense(dice(core.dense(x, 80), "first"), 40), "second")
    return tf.sigmoid(tf.reshape(core.dense(x, 1), [-1, 64]))


def compressed_interactions(ids):
    """Scores clicks as xDeepFM: outer products of all fields in each dimension, compressed by convolutions, beside a linear part and layers."""
    weights = Weights(11)
    embedded = tf.nn.embedding_lookup(weights.normal((20000, 16), 0.3), ids)
    first = tf.split(embedded, 16 * [1], 2)
    hidden, found = embedded, []
    for layer in range(3):
        fields = int(hidden.shape[1])
        products = tf.reshape(tf.matmul(first, tf.split(hidden, 16 * [1], 2), transpose_b=True), [16, -1, 39 * fields])
        x = tf1.nn.conv1d(tf.transpose(products, [1, 0, 2]), he(weights, 1, 39 * fields, 200), stride=1, padding="VALID")
        x = tf.transpose(tf.nn.relu(tf.nn.bias_add(x, weights.normal((200,), 0.1))), [0, 2, 1])
        hidden, direct = (None, x) if layer == 2 else tf.split(x, 2 * [100], 1)
        found.append(direct)
    crossed = tf.reduce_sum(tf.concat(found, axis=1), -1)
    x = tf.reshape(embedded, [-1, 39 * 16])
    for _ in range(2):
        x = tf.nn.relu(tf1.nn.xw_plus_b(x, he(weights, int(x.shape[-1]), 400), weights.normal((400,), 0.1)))
    linear = tf.reduce_sum(tf.nn.embedding_lookup(weights.normal((20000,), 0.1), ids), -1, keepdims=True)
    return tf.sigmoid(0.1 * (tf.matmul(crossed, weights.normal((400, 1), 0.1)) + tf.matmul(x, weights.normal((400, 1), 0.1)) + linear))


# Scenes.


def radiance_field(rays):
    """Renders 64 rays of a NeRF: 32 samples each, sines and cosines of coordinates, dense layers and products of transparencies."""
    weights = Weights(11)

    def dense(x, outputs):
        return tf.tensordot(x, he(weights, int(x.shape[-1]), outputs), 1) + weights.normal((outputs,), 0.1)

    def embedded(x, count):
        return tf.concat([x] + [function(x * 2.0**k) for k in range(count) for function in (tf.sin, tf.cos)], -1)

    origins, directions = rays[..., 0:3], rays[..., 3:6]
    depths = tf.linspace(2.0, 6.0, 32)
    points = origins[..., None, :] * 0.1 + directions[..., None, :] * 0.2 * depths[:, None]
    views = tf.tile((directions / tf.linalg.norm(directions, axis=-1, keepdims=True))[..., None, :], [1, 1, 32, 1])
    x = h = embedded(points, 6)
    for layer in range(6):
        h = tf.nn.relu(dense(h, 256))
        if layer == 3:
            h = tf.concat([x, h], -1)
    density = dense(h, 1)[..., 0]
    color = tf.sigmoid(dense(tf.nn.relu(dense(tf.concat([dense(h, 256), embedded(views, 4)], -1), 128)), 3))
    gaps = tf.concat([depths[1:] - depths[:-1], [1e10]], -1) * tf.linalg.norm(directions[..., None, :], axis=-1)
    alpha = 1.0 - tf.exp(-tf.nn.relu(density) * gaps)
    shares = alpha * tf.math.cumprod(1.0 - alpha + 1e-10, axis=-1, exclusive=True)
    return tf.concat([tf.reduce_sum(shares[..., None] * color, -2), tf.reduce_sum(shares * depths, -1, keepdims=True)], -1)


def sine_layers(coordinates):
    """Computes an image's colours at 4096 coordinates as SIREN: sines of scaled dense layers."""
    weights = Weights(11)
    x = tf.tanh(coordinates)
    for layer in range(4):
        inputs = int(x.shape[-1])
        limit = 1 / inputs if layer == 0 else float(np.sqrt(6 / inputs)) / 30.0
        x = tf.sin(30.0 * (tf.matmul(x, weights.uniform((inputs, 256), -limit, limit)) + weights.uniform((256,), -limit, limit)))
    return tf.tensordot(x, weights.uniform((256, 3), -0.2, 0.2), 1) + 0.5


DOMAIN_NETWORKS: dict[str, Callable[[], Network]] = {
    "EfficientNetB3": lambda: application("EfficientNetB3", (300, 300, 3)),
    "MobileNetQuarter": lambda: application("MobileNet", (128, 128, 3), alpha=0.25),
    "RegNetY": lambda: of_keras2(tf_keras.applications.RegNetY008(weights=None), (224, 224, 3)),
    "GlobalResponses": lambda: of_keras2(global_responses, (224, 224, 3)),
    "ResidualDense": lambda: of_keras2(residual_dense, (48, 48, 3)),
    "Variational": lambda: of_keras2(variational, (64, 64, 3)),
    "ConvolvedAttention": lambda: of_variables(convolved_attention, [Input((160, 160, 3))]),
    "ImageQuality": lambda: of_graph(image_quality, [Input((192, 192, 3)), Input((96, 96, 3))]),
    "CachedDecoder": lambda: of_graph(cached_decoder, [Input((1,), 8000), Input((4, 2, 6, 255, 64))]),
    "FNet": lambda: of_graph(f_net, [Input((256,), 3000)]),
    "CharacterHighway": lambda: of_variables(character_highway, [Input((35, 21), 60)]),
    "AttentiveDecoder": lambda: of_graph(attentive_decoder, [Input((40,), 4000)]),
    "DeepSpeech": lambda: of_graph(deep_speech, [Input((100, 26))]),
    "Cbhg": lambda: of_variables(cbhg, [Input((160, 80))]),
    "WaveTransformer": lambda: of_graph(wave_transformer, [Input((16000, 1))]),
    "CompressedInteractions": lambda: of_graph(compressed_interactions, [Input((39,), 20000)]),
    "DeepInterest": lambda: of_variables(deep_interest, [Input((100,), 20000), Input((), 100), Input((64,), 20000)]),
    "RadianceField": lambda: of_graph(radiance_field, [Input((64, 6))]),
    "SineLayers": lambda: of_graph(sine_layers, [Input((4096, 2))]),
}
