"""Training steps of further domains in their public spelling: `tf.layers`, RNN cells, Keras 2, adversaries, sequences, recommendation.

As in `training_zoo`, every function returns a graph with variables, made by TensorFlow's own gradients.
"""
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tf_keras
from tf_keras.src.layers.rnn import legacy_cells as cells
from tf_keras.src.legacy_tf_layers import convolutional, core, normalization, pooling

from training_zoo import Training, classified, convolution, dense, flat, momentum, training, variable
from zoo import Input, erf_gelu, moments_normalized

tf1 = tf.compat.v1
keras2 = tf_keras.layers


class Recipe:
    """An optimiser with what scripts put around it: clipped gradients, chosen variables, moving statistics, averages of the variables."""

    def __init__(self, optimizer: Any, norm: float | None = None, scope: str | None = None, decay: float | None = None):
        self.optimizer, self.norm, self.scope, self.decay = optimizer, norm, scope, decay

    def minimize(self, loss):
        variables = tf1.trainable_variables(self.scope)
        with tf1.control_dependencies(tf1.get_collection(tf1.GraphKeys.UPDATE_OPS, self.scope)):
            found = self.optimizer.compute_gradients(loss, variables)
        gradients = [gradient for gradient, _ in found]
        if self.norm is not None:
            gradients, _ = tf1.clip_by_global_norm(gradients, self.norm)
        step = self.optimizer.apply_gradients(zip(gradients, variables), global_step=tf1.train.get_or_create_global_step())
        if self.decay is None:
            return step
        with tf1.control_dependencies([step]):
            return tf1.train.ExponentialMovingAverage(self.decay, tf1.train.get_global_step()).apply(variables)


def recipe(optimizer: type, *args, **options) -> Callable[[], Recipe]:
    """Returns what makes a recipe in the graph of a step; `options` of a recipe's own are taken from the optimiser's."""
    own = {key: options.pop(key) for key in ("norm", "scope", "decay") if key in options}
    return lambda: Recipe(optimizer(*args, **options), **own)


def batch_normalized(x, **options):
    return normalization.batch_normalization(x, training=True, **options)


def layer_normalized(x, name: str):
    with tf1.variable_scope(name):
        width = int(x.shape[-1])
        return moments_normalized(x, tf1.get_variable("gamma", (width,), initializer=tf1.ones_initializer()), variable("beta", (width,)))


def cross_entropy(logits, labels):
    return tf1.reduce_mean(tf1.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))


# Images.


def u_net() -> Training:
    """Segments images by a U-Net of Keras with batch norms, transposed convolutions and concatenations; a dice loss."""

    def convolved(x, filters: int):
        for _ in range(2):
            x = keras2.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
            x = keras2.Activation("relu")(keras2.BatchNormalization()(x, training=True))
        return x

    def build(images, mask):
        skips, x = [], images
        for filters in (8, 16, 32):
            skips.append(convolved(x, filters))
            x = keras2.Dropout(0.1, seed=filters)(keras2.MaxPooling2D(2)(skips[-1]), training=True)
        x = convolved(x, 64)
        for filters, skip in zip((32, 16, 8), reversed(skips)):
            x = convolved(keras2.concatenate([keras2.Conv2DTranspose(filters, 3, strides=2, padding="same")(x), skip]), filters)
        found = keras2.Conv2D(1, 1, activation="sigmoid")(x)
        mask = tf.cast(mask > 0, tf.float32)
        dice = (2.0 * tf.reduce_sum(mask * found, [1, 2, 3]) + 1.0) / (tf.reduce_sum(mask + found, [1, 2, 3]) + 1.0)
        return tf.reduce_mean(1.0 - dice) + tf.reduce_mean(tf_keras.losses.binary_crossentropy(mask, found))
    return training(build, [Input((96, 96, 3)), Input((96, 96, 1))], recipe(tf1.train.AdamOptimizer, 1e-4))


def generated(noise):
    """Returns DCGAN's images of 32 × 32."""
    with tf1.variable_scope("generator"):
        x = tf1.nn.relu(batch_normalized(tf.reshape(core.dense(noise, 4 * 4 * 128, use_bias=False), [-1, 4, 4, 128])))
        for filters in (64, 32):
            x = convolutional.conv2d_transpose(x, filters, 5, 2, padding="same", use_bias=False)
            x = tf1.nn.relu(batch_normalized(x))
        return tf1.nn.tanh(convolutional.conv2d_transpose(x, 3, 5, 2, padding="same"))


def criticised(images):
    with tf1.variable_scope("critic", reuse=tf1.AUTO_REUSE):
        x = images
        for layer, filters in enumerate((32, 64, 128)):
            x = tf1.nn.leaky_relu(convolutional.conv2d(x, filters, 5, 2, padding="same", name=f"c{layer}"))
        return core.dense(core.flatten(x), 1, name="score")


def generator_step() -> Training:
    """DCGAN's generator against a discriminator that stays: transposed convolutions, batch norms in training, moving statistics."""

    def build(noise):
        scores = criticised(generated(noise))
        return cross_entropy(scores, tf.ones_like(scores))
    return training(build, [Input((100,))], recipe(tf1.train.AdamOptimizer, 2e-4, beta1=0.5, scope="generator"))


def gradient_penalty() -> Training:
    """WGAN-GP's critic: the norm of the gradient at mixed images is part of the loss, so that its step takes a gradient of a gradient."""

    def build(images, noise):
        fake = generated(noise)
        share = tf1.random_uniform([tf.shape(images)[0], 1, 1, 1], seed=3)
        mixed = images + share * (fake - images)
        slopes = tf.sqrt(tf.reduce_sum(tf.square(tf1.gradients(criticised(mixed), [mixed])[0]), [1, 2, 3]) + 1e-12)
        return tf.reduce_mean(criticised(fake)) - tf.reduce_mean(criticised(images)) + 10.0 * tf.reduce_mean((slopes - 1.0) ** 2)
    return training(build, [Input((32, 32, 3)), Input((100,))], recipe(tf1.train.AdamOptimizer, 1e-4, 0.0, 0.9, scope="critic"))


def inverted_residuals() -> Training:
    """MobileNetV2's blocks in Keras with excitations as in V3: depthwise strides, hard swish, dropout; RMSProp, averages."""

    def convolved(x, filters, size=1, strides=1):
        x = keras2.Conv2D(filters, size, strides, padding="same", use_bias=False)(x)
        return keras2.BatchNormalization(momentum=0.999)(x, training=True)

    def block(x, filters: int, strides: int, excited: bool):
        y = keras2.ReLU(6.0)(convolved(x, 6 * int(x.shape[-1])))
        y = keras2.DepthwiseConv2D(5 if excited else 3, strides, padding="same", use_bias=False)(y)
        y = keras2.BatchNormalization()(y, training=True)
        y = y * tf.nn.relu6(y + 3.0) / 6.0 if excited else tf.nn.relu6(y)
        if excited:
            s = keras2.Dense(int(y.shape[-1]) // 4, activation="relu")(keras2.GlobalAveragePooling2D(keepdims=True)(y))
            y = keras2.multiply([y, keras2.Dense(int(y.shape[-1]), activation="hard_sigmoid")(s)])
        y = convolved(y, filters)
        return keras2.add([x, y]) if strides == 1 and x.shape[-1] == filters else y

    def build(images, labels):
        x = keras2.ReLU(6.0)(convolved(images, 16, 3, 2))
        for filters, strides, excited in ((24, 2, False), (24, 1, False), (40, 2, True), (40, 1, True), (80, 2, False), (80, 1, True)):
            x = block(x, filters, strides, excited)
        x = keras2.Dropout(0.2, seed=7)(keras2.GlobalAveragePooling2D()(convolved(x, 320)), training=True)
        return classified(keras2.Dense(100)(x), labels)
    return training(build, [Input((96, 96, 3)), Input((), 100)], recipe(tf1.train.RMSPropOptimizer, 0.01, 0.9, 0.9, 1e-3, decay=0.999))


def group_norms() -> Training:
    """A residual network with group norms of moments, standardised kernels and excitations; momentum with clipped gradients."""

    def grouped(x, name: str, groups: int = 8):
        with tf1.variable_scope(name):
            height, width, channels = (int(size) for size in x.shape[1:])
            y = tf.reshape(x, [-1, height, width, groups, channels // groups])
            mean, variance = tf.nn.moments(y, [1, 2, 4], keepdims=True)
            y = tf.reshape((y - mean) / tf.sqrt(variance + 1e-5), [-1, height, width, channels])
            return y * tf1.get_variable("gamma", (channels,), initializer=tf1.ones_initializer()) + variable("beta", (channels,))

    def standardised(x, filters: int, size: int, name: str, stride: int = 1):
        kernel = variable(name, (size, size, int(x.shape[-1]), filters), 0.1)
        mean, variance = tf.nn.moments(kernel, [0, 1, 2], keepdims=True)
        return tf1.nn.conv2d(x, 0.1 * (kernel - mean) / tf.sqrt(variance + 1e-5), [1, stride, stride, 1], "SAME")

    def build(images, labels):
        x = tf.nn.relu(grouped(standardised(images, 32, 3, "stem", 2), "stem_norm"))
        for block, (filters, stride) in enumerate(((32, 1), (64, 2), (64, 1), (128, 2))):
            shortcut = standardised(x, filters, 1, f"p{block}", stride) if stride == 2 else x
            y = tf.nn.relu(grouped(standardised(x, filters, 3, f"a{block}", stride), f"an{block}"))
            y = grouped(standardised(y, filters, 3, f"b{block}"), f"bn{block}")
            s = tf.nn.relu(dense(tf.reduce_mean(y, [1, 2]), filters // 4, f"s{block}"))
            x = tf.nn.relu(shortcut + y * tf.sigmoid(dense(s, filters, f"e{block}"))[:, None, None])
        return classified(dense(tf.reduce_mean(x, [1, 2]), 10, "logits"), labels)
    return training(build, [Input((64, 64, 3)), Input((), 10)], recipe(tf1.train.MomentumOptimizer, 0.01, 0.9, norm=5.0))


def volumes() -> Training:
    """Classifies clips as C3D: convolutions and pools in three dimensions, dropout."""

    def build(clips, labels):
        x = clips
        for layer, (filters, pool) in enumerate(((16, [1, 2, 2]), (32, 2), (64, 2))):
            x = convolutional.conv3d(x, filters, 3, padding="same", activation=tf.nn.relu)
            x = pooling.max_pooling3d(x, pool, pool, padding="same")
        x = core.dropout(core.dense(core.flatten(x), 256, activation=tf.nn.relu), 0.5, training=True, seed=7)
        return classified(core.dense(x, 101), labels)
    return training(build, [Input((8, 56, 56, 3)), Input((), 101)], recipe(tf1.train.AdamOptimizer, 1e-4))


def grouped_alexnet() -> Training:
    """AlexNet with local response norms, convolutions of two groups, overlapping pools and dropout."""

    def grouped(x, filters: int, size: int, name: str):
        halves = [convolution(half, filters // 2, size, f"{name}_{i}", biased=False) for i, half in enumerate(tf.split(x, 2, 3))]
        return tf.nn.relu(tf.nn.bias_add(tf.concat(halves, 3), variable(name + "_bias", (filters,))))

    def responses(x):
        return tf1.nn.max_pool(tf1.nn.lrn(x, depth_radius=2, alpha=2e-5, beta=0.75, bias=1.0), [1, 3, 3, 1], [1, 2, 2, 1], "VALID")

    def build(images, labels):
        x = responses(tf.nn.relu(convolution(images, 48, 11, "c1", 4)))
        x = responses(grouped(x, 128, 5, "c2"))
        x = grouped(grouped(tf.nn.relu(convolution(x, 192, 3, "c3")), 192, 3, "c4"), 128, 3, "c5")
        x = flat(tf1.nn.max_pool(x, [1, 3, 3, 1], [1, 2, 2, 1], "VALID"))
        for layer in range(2):
            x = tf1.nn.dropout(tf.nn.relu(dense(x, 512, f"d{layer}")), rate=0.5, seed=layer)
        return classified(dense(x, 100, "logits"), labels)
    return training(build, [Input((227, 227, 3)), Input((), 100)], momentum)


def capsules() -> Training:
    """Capsules of MNIST, smaller: squashed vectors, three rounds of routing by agreement, the margin loss."""

    def squashed(x):
        square = tf.reduce_sum(tf.square(x), -1, keepdims=True)
        return square / (1.0 + square) / tf.sqrt(square + 1e-9) * x

    def build(images, labels):
        x = convolutional.conv2d(convolutional.conv2d(images, 64, 9, activation=tf.nn.relu), 64, 9, 2)
        x = squashed(tf.reshape(x, [-1, 288, 1, 8, 1]))
        weights = variable("capsules", (1, 288, 10, 16, 8), 0.1)
        votes = tf.reduce_sum(weights * tf.transpose(x, [0, 1, 2, 4, 3]), -1)
        logits = tf.zeros_like(votes[..., 0])
        for round_ in range(3):
            outputs = squashed(tf.reduce_sum(tf.nn.softmax(logits, 2)[..., None] * votes, 1, keepdims=True))
            if round_ < 2:
                logits += tf.reduce_sum(votes * outputs, -1)
        lengths, wanted = tf.norm(outputs[:, 0] + 1e-9, axis=-1), tf.one_hot(labels, 10)
        margins = wanted * tf.square(tf.maximum(0.0, 0.9 - lengths)) + 0.5 * (1.0 - wanted) * tf.square(tf.maximum(0.0, lengths - 0.1))
        return tf.reduce_mean(tf.reduce_sum(margins, 1))
    return training(build, [Input((28, 28, 1)), Input((), 10)], recipe(tf1.train.AdamOptimizer, 1e-3))


# Sequences.


def bidirectional() -> Training:
    """Tags words by `bidirectional_dynamic_rnn` over lengths, and by a linear-chain field whose forward sums are a loop of logsumexp."""

    def build(words, tags, lengths):
        lengths = lengths + 1
        x = tf1.nn.embedding_lookup(tf1.get_variable("words", (5000, 100), initializer=tf1.random_uniform_initializer(-0.1, 0.1, seed=1)), words)
        forward, backward = cells.LSTMCell(100), cells.LSTMCell(100)
        states, _ = tf1.nn.bidirectional_dynamic_rnn(forward, backward, x, lengths, dtype=tf.float32)
        x = tf1.nn.dropout(tf.concat(states, 2), rate=0.5, seed=7)
        scores = tf.reshape(dense(tf.reshape(x, [-1, 200]), 9, "scores"), [-1, 40, 9])
        transitions = variable("transitions", (9, 9))
        mask = tf.sequence_mask(lengths, 40, tf.float32)
        moves = tf.gather(tf.reshape(transitions, [-1]), tags[:, :-1] * 9 + tags[:, 1:])
        path = tf.reduce_sum(mask * tf.reduce_sum(scores * tf.one_hot(tags, 9), 2), 1) + tf.reduce_sum(mask[:, 1:] * moves, 1)

        def step(i, alphas):
            after = tf.reduce_logsumexp(alphas[:, :, None] + transitions[None], 1) + scores[:, i]
            return i + 1, tf1.where(i < lengths, after, alphas)

        alphas = tf1.while_loop(lambda i, _: i < 40, step, [tf.constant(1), scores[:, 0]])[1]
        return tf.reduce_mean(tf.reduce_logsumexp(alphas, 1) - path)
    return training(build, [Input((40,), 5000), Input((40,), 9), Input((), 40)], recipe(tf1.train.AdamOptimizer, 1e-3, norm=5.0))


class Attentive:
    """A GRU whose outputs attend to a memory by products, as Luong's do."""

    def __init__(self, memory, width: int):
        self.memory, self.width, self.cell = memory, width, cells.GRUCell(width)

    def __call__(self, x, states):
        hidden, attention = states
        hidden, _ = self.cell(tf.concat([x, attention], 1), hidden)
        shares = tf.nn.softmax(tf.squeeze(tf.matmul(self.memory, hidden[:, :, None]), 2))
        context = tf.squeeze(tf.matmul(shares[:, None], self.memory), 1)
        attention = tf.tanh(core.dense(tf.concat([hidden, context], 1), self.width, use_bias=False, name="attention", reuse=tf1.AUTO_REUSE))
        return attention, (hidden, attention)


def translation() -> Training:
    """Translates by GRUs with Luong's attention and the true words before: `dynamic_rnn`, a raw loop of the decoder, masked losses."""

    def build(source, target):
        width = 128
        embedded = tf1.nn.embedding_lookup(variable("source", (4000, width), 0.1), source)
        memory, state = tf1.nn.dynamic_rnn(cells.GRUCell(width), embedded, dtype=tf.float32)
        before = tf.pad(target[:, :-1], [[0, 0], [1, 0]])
        x = tf.transpose(tf1.nn.embedding_lookup(variable("target", (4000, width), 0.1), before), [1, 0, 2])
        inputs = tf1.TensorArray(tf.float32, 25).unstack(x)
        with tf1.variable_scope("decoder"):
            cell = Attentive(memory, width)

            def step(i, hidden, attention, outputs):
                output, (hidden, attention) = cell(tf.ensure_shape(inputs.read(i), [None, width]), (hidden, attention))
                return i + 1, hidden, attention, outputs.write(i, output)

            begin = tf.constant(0), state, tf.zeros_like(state), tf1.TensorArray(tf.float32, 25)
            *_, outputs = tf1.while_loop(lambda i, *_: i < 25, step, begin, parallel_iterations=32)
        x = tf.ensure_shape(tf.transpose(outputs.stack(), [1, 0, 2]), [None, None, width])
        losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=core.dense(x, 4000, use_bias=False))
        mask = tf.cast(tf.not_equal(target, 0), tf.float32)
        return tf.reduce_sum(losses * mask) / tf.reduce_sum(mask)
    return training(build, [Input((30,), 4000), Input((25,), 4000)], recipe(tf1.train.AdamOptimizer, 1e-3, norm=1.0))


def unrolled() -> Training:
    """Models words as the tutorial of PTB does: two LSTMs unrolled by `static_rnn`, dropout, gradient descent, clipped."""

    def build(words, targets):
        x = tf1.nn.dropout(tf1.nn.embedding_lookup(variable("embedding", (4000, 200)), words), rate=0.25, seed=1)
        cell = cells.MultiRNNCell([cells.BasicLSTMCell(200, forget_bias=0.0) for _ in range(2)])
        outputs, _ = tf1.nn.static_rnn(cell, tf.unstack(x, num=20, axis=1), dtype=tf.float32)
        logits = dense(tf.reshape(tf.concat(outputs, 1), [-1, 200]), 4000, "softmax")
        losses = tf1.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(targets, [-1]), logits=logits)
        return tf.reduce_sum(losses) / tf.cast(tf.shape(words)[0], tf.float32)
    return training(build, [Input((20,), 4000), Input((20,), 4000)], recipe(tf1.train.GradientDescentOptimizer, 1.0, norm=5.0))


def attended(x, memory, bias, name: str, heads: int = 4):
    """Multi-head attention as in tensor2tensor: dense layers without bias, heads by transpositions, a bias added to the scores."""
    width = int(x.shape[-1])

    def split(y, kind):
        y = core.dense(y, width, use_bias=False, name=f"{name}_{kind}")
        return tf.transpose(tf.reshape(y, [-1, tf.shape(y)[1], heads, width // heads]), [0, 2, 1, 3])

    q, k, v = split(x, "q") * (width // heads) ** -0.5, split(memory, "k"), split(memory, "v")
    shares = tf1.nn.dropout(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) + bias), rate=0.1, seed=3)
    y = tf.reshape(tf.transpose(tf.matmul(shares, v), [0, 2, 1, 3]), [-1, tf.shape(x)[1], width])
    return core.dense(y, width, use_bias=False, name=f"{name}_o")


def transformer_decoder() -> Training:
    """A transformer that translates: padding and causal biases, layer norms before sublayers, smoothed labels, Adam with warm-up."""

    def build(source, target):
        width, table = 128, variable("shared", (4000, 128), 128**-0.5)
        positions = np.arange(32)[:, None] / 10_000.0 ** (np.arange(0, width, 2) / width)
        signal = tf.constant(np.concatenate([np.sin(positions), np.cos(positions)], 1), tf.float32)
        padding = tf.cast(tf.equal(source, 0), tf.float32)[:, None, None] * -1e9
        causal = -1e9 * (1.0 - tf1.matrix_band_part(tf.ones([1, 1, 32, 32]), -1, 0))

        def embedded(ids):
            return tf1.nn.dropout(tf1.nn.embedding_lookup(table, ids) * width**0.5 + signal, rate=0.1, seed=1)

        def residual(x, sublayer, name):
            return x + tf1.nn.dropout(sublayer(layer_normalized(x, name)), rate=0.1, seed=2)

        def forward(x):
            return core.dense(core.dense(x, 512, activation=tf.nn.relu), width)

        x, y = embedded(source), embedded(tf.pad(target, [[0, 0], [1, 0]])[:, :-1])
        for i in range(2):
            x = residual(residual(x, lambda x: attended(x, x, padding, f"e{i}"), f"en{i}"), forward, f"ef{i}")  # noqa: B023
        memory = layer_normalized(x, "memory")
        for i in range(2):
            y = residual(y, lambda y: attended(y, y, causal, f"d{i}"), f"dn{i}")  # noqa: B023
            y = residual(residual(y, lambda y: attended(y, memory, padding, f"c{i}"), f"cn{i}"), forward, f"df{i}")  # noqa: B023
        logits = tf.matmul(tf.reshape(layer_normalized(y, "last"), [-1, width]), table, transpose_b=True)
        soft = tf.one_hot(tf.reshape(target, [-1]), 4000, on_value=0.9, off_value=0.1 / 3999)
        losses = tf1.nn.softmax_cross_entropy_with_logits_v2(labels=soft, logits=logits)
        weights = tf.cast(tf.not_equal(tf.reshape(target, [-1]), 0), tf.float32)
        return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)

    def optimizer():
        step = tf.cast(tf1.train.get_or_create_global_step(), tf.float32) + 1.0
        return Recipe(tf1.train.AdamOptimizer(128**-0.5 * tf.minimum(step**-0.5, step * 4000.0**-1.5), 0.9, 0.997, 1e-9))
    return training(build, [Input((32,), 4000), Input((32,), 4000)], optimizer)


def masked_language() -> Training:
    """BERT's pretraining: GELU, dropout, words gathered at masked positions, the table of words as output weights, clipped gradients."""

    def build(ids, positions, masked):
        width, table = 128, variable("words", (8000, 128), 0.02)
        x = tf.gather(table, ids) + variable("positions", (64, width), 0.02)
        x = tf1.nn.dropout(layer_normalized(x, "embedded"), rate=0.1, seed=1)
        bias = (1.0 - tf.cast(ids > 0, tf.float32))[:, None, None] * -10000.0
        for i in range(2):
            x = layer_normalized(x + tf1.nn.dropout(attended(x, x, bias, f"a{i}"), rate=0.1, seed=2), f"n{i}")
            x = layer_normalized(x + core.dense(core.dense(x, 512, activation=erf_gelu), width), f"m{i}")
        flattened = tf.reshape(positions + tf.range(tf.shape(ids)[0])[:, None] * 64, [-1])
        x = tf.gather(tf.reshape(x, [-1, width]), flattened)
        x = layer_normalized(core.dense(x, width, activation=erf_gelu), "transform")
        logits = tf.nn.bias_add(tf.matmul(x, table, transpose_b=True), variable("output", (8000,)))
        losses = tf.reduce_sum(tf.nn.log_softmax(logits) * tf.one_hot(tf.reshape(masked, [-1]), 8000), [-1])
        return -tf.reduce_sum(losses) / (tf.cast(tf.size(masked), tf.float32) + 1e-5)
    return training(build, [Input((64,), 8000), Input((10,), 64), Input((10,), 8000)], recipe(tf1.train.AdamOptimizer, 1e-4, norm=1.0))


def wavenet() -> Training:
    """Predicts samples by dilated causal convolutions in one dimension with gates, skips and residuals, in Keras."""

    def build(samples, targets):
        x, skips = keras2.Conv1D(32, 2, padding="causal")(samples), []
        for dilation in (1, 2, 4, 8, 16, 32, 64, 128):
            gates = [keras2.Conv1D(32, 2, dilation_rate=dilation, padding="causal", activation=each)(x) for each in ("tanh", "sigmoid")]
            y = keras2.multiply(gates)
            skips.append(keras2.Conv1D(64, 1)(y))
            x = keras2.add([x, keras2.Conv1D(32, 1)(y)])
        y = keras2.Conv1D(128, 1, activation="relu")(keras2.ReLU()(keras2.add(skips)))
        return classified(keras2.Conv1D(256, 1)(y), targets)
    return training(build, [Input((1024, 1)), Input((1024,), 256)], recipe(tf1.train.AdamOptimizer, 1e-3))


def temporal_classification() -> Training:
    """Recognises speech by a convolution, a GRU and the CTC loss of sparse labels."""

    def build(features, letters):
        x = tf.nn.relu(convolutional.conv1d(features, 64, 5, 2, padding="same"))
        x, _ = tf1.nn.dynamic_rnn(cells.GRUCell(96), batch_normalized(x), dtype=tf.float32)
        logits = tf.transpose(core.dense(x, 29), [1, 0, 2])
        places = tf1.where(letters > 0)
        sparse = tf.SparseTensor(places, tf1.gather_nd(letters, places) - 1, tf.cast(tf.shape(letters), tf.int64))
        lengths = tf.fill([tf.shape(features)[0]], 50)
        return tf.reduce_mean(tf1.nn.ctc_loss(sparse, logits, lengths, ignore_longer_outputs_than_inputs=True))
    return training(build, [Input((100, 40)), Input((12,), 29)], recipe(tf1.train.AdamOptimizer, 1e-3))


# Recommendation.


def deep_cross() -> Training:
    """Predicts clicks by a deep and cross network over 26 tables, with log loss; Adagrad, whose updates of the tables are sparse."""

    def build(numbers, ids, clicks):
        columns = [tf1.nn.embedding_lookup(variable(f"table{i}", (20_000, 16)), ids[:, i]) for i in range(26)]
        first = x = tf.concat([tf1.log1p(tf.abs(numbers)), *columns], 1)
        width = int(x.shape[1])
        for layer in range(3):
            x = first * tf.matmul(x, variable(f"cross{layer}", (width, 1))) + variable(f"cross_bias{layer}", (width,)) + x
        y = first
        for units in (256, 128):
            y = core.dropout(tf.nn.relu(batch_normalized(core.dense(y, units))), 0.3, training=True, seed=units)
        logits = core.dense(tf.concat([x, y], 1), 1)[:, 0]
        return tf1.losses.log_loss(tf.cast(clicks, tf.float32), tf.sigmoid(logits))
    return training(build, [Input((13,)), Input((26,), 20_000), Input((), 2)], recipe(tf1.train.AdagradOptimizer, 0.01))


def interest() -> Training:
    """Predicts clicks from a history as DIN does: attention by dense layers with PReLU, masked; FTRL."""

    def prelu(x, name):
        alpha = variable(name, (int(x.shape[-1]),))
        return tf.maximum(0.0, x) + alpha * tf.minimum(0.0, x)

    def build(history, items, clicks):
        table = variable("items", (20_000, 32))
        rows, item = tf.gather(table, history), tf.gather(table, items)
        tiled = tf.tile(item[:, None], [1, 50, 1])
        x = prelu(core.dense(tf.concat([tiled, rows, tiled - rows, tiled * rows], -1), 80), "a1")
        scores = core.dense(core.dense(x, 40, activation=tf.sigmoid), 1)[:, :, 0]
        shares = tf.nn.softmax(tf1.where(history > 2000, scores, tf.ones_like(scores) * -4294967295.0))
        x = batch_normalized(tf.concat([tf.squeeze(tf.matmul(shares[:, None], rows), 1), item], 1))
        x = prelu(core.dense(prelu(core.dense(x, 200), "a2"), 80), "a3")
        return cross_entropy(core.dense(x, 1)[:, 0], tf.cast(clicks, tf.float32))
    optimizer = recipe(tf1.train.FtrlOptimizer, 0.05, l1_regularization_strength=1e-4)
    return training(build, [Input((50,), 20_000), Input((), 20_000), Input((), 2)], optimizer)


DOMAIN_TRAININGS: dict[str, Callable[[], Training]] = {
    "UNetStep": u_net,
    "GeneratorStep": generator_step,
    "GradientPenalty": gradient_penalty,
    "InvertedResiduals": inverted_residuals,
    "GroupNorms": group_norms,
    "Volumes": volumes,
    "GroupedAlexNet": grouped_alexnet,
    "CapsulesStep": capsules,
    "Bidirectional": bidirectional,
    "Translation": translation,
    "Unrolled": unrolled,
    "TransformerStep": transformer_decoder,
    "MaskedLanguage": masked_language,
    "WaveNetStep": wavenet,
    "TemporalClassification": temporal_classification,
    "DeepCross": deep_cross,
    "Interest": interest,
}
