"""Networks of papers whose layers the other tables lack: experts, latents, flows, masked and deformed convolutions, nested shapes, graphs of joints.

They are in TensorFlow 1's spelling, with weights of fixed seeds.
"""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from public_zoo import he
from research_zoo import attention, batch_normalized, layer_normalized, projected
from script_zoo import convolution, dense
from zoo import Input, Network, erf_gelu, of_graph, tanh_gelu, tf1


def unit(weights: Weights, x, channels: int, size=3, strides=1, activation=tf.nn.relu):
    """A convolution, a batch norm and an activation."""
    return activation(batch_normalized(weights, convolution(weights, x, size, channels, strides)))


# Images.


def split_attention(x):
    """ResNeSt: branches of grouped convolutions, weighed per channel by a softmax over the branches."""
    weights = Weights(41)

    def grouped(x, channels, groups, strides):
        width = int(x.shape[-1]) // groups
        kernel = he(weights, 3, 3, width, channels)
        return tf1.nn.conv2d(x, kernel, [1, strides, strides, 1], "SAME")

    x = tf1.nn.max_pool(unit(weights, unit(weights, x, 32, 3, 2), 64), 3, 2, "SAME")
    for channels, count in ((64, 2), (128, 2), (256, 2)):
        for block in range(count):
            strides = 2 if block == 0 and channels > 64 else 1
            y = unit(weights, x, channels, 1)
            y = tf.nn.relu(batch_normalized(weights, grouped(y, 2 * channels, 2, 1)))
            branches = tf.split(y, 2, axis=-1)
            gap = tf.reduce_mean(tf.add_n(branches), [1, 2], keepdims=True)
            gap = convolution(weights, unit(weights, gap, channels // 2, 1), 1, 2 * channels)
            shares = tf.nn.softmax(tf.reshape(gap, [-1, 2, channels]), axis=1)
            shares = tf.split(tf.reshape(shares, [-1, 1, 1, 2 * channels]), 2, axis=-1)
            y = tf.add_n([branch * share for branch, share in zip(branches, shares)])
            if strides == 2:
                y = tf1.nn.avg_pool(y, 3, 2, "SAME")
            y = batch_normalized(weights, convolution(weights, y, 1, 4 * channels))
            if strides == 2:
                x = tf1.nn.avg_pool(x, 2, 2, "SAME")
            if x.shape[-1] != 4 * channels:
                x = batch_normalized(weights, convolution(weights, x, 1, 4 * channels))
            x = tf.nn.relu(x + y)
    return dense(weights, tf.reduce_mean(x, [1, 2]), 1000)


def scales_within(x):
    """Res2Net: a block whose channels are convolved in four parts, each with the sum of its own input and the part before."""
    weights = Weights(41)
    x = tf1.nn.max_pool(unit(weights, x, 64, 7, 2), 3, 2, "SAME")
    for width, count in ((26, 2), (52, 2), (104, 2)):
        for block in range(count):
            strides = 2 if block == 0 and width > 26 else 1
            parts = tf.split(unit(weights, x, 4 * width, 1), 4, axis=3)
            found, before = [], None
            for part in parts[:3]:
                before = unit(weights, part if before is None or strides == 2 else before + part, width, 3, strides)
                found.append(before)
            found.append(tf1.nn.avg_pool(parts[3], 3, 2, "SAME") if strides == 2 else parts[3])
            y = batch_normalized(weights, convolution(weights, tf.concat(found, 3), 1, 8 * width))
            if x.shape[-1] != y.shape[-1]:
                x = batch_normalized(weights, convolution(weights, x, 1, 8 * width, strides))
            x = tf.nn.relu(x + y)
    return dense(weights, tf.reduce_mean(x, [1, 2]), 1000)


def nested_unet(x):
    """U²-Net for salient objects: blocks that are small U-Nets, dilated at the bottom, and side outputs that are resized and fused."""
    weights = Weights(41)

    def convolved(x, channels, rate=1):
        y = tf.nn.convolution(x, he(weights, 3, 3, int(x.shape[-1]), channels), padding="SAME", dilations=[rate, rate])
        return tf.nn.relu(batch_normalized(weights, tf.nn.bias_add(y, weights.normal((channels,), 0.1))))

    def resized(x, like):
        return tf1.image.resize_bilinear(x, like.shape[1:3])

    def block(x, depth, middle, channels):
        x = first = convolved(x, channels)
        down = []
        for level in range(depth):
            x = convolved(x if level == 0 else tf1.nn.max_pool(x, 2, 2, "SAME"), middle)
            down.append(x)
        x = convolved(x, middle, 2)
        for level in reversed(range(depth)):
            x = convolved(tf.concat([resized(x, down[level]), down[level]], -1), channels if level == 0 else middle)
        return x + first

    features, size = [], x
    for depth, middle, channels in ((5, 16, 32), (4, 16, 64), (3, 32, 64)):
        x = block(x, depth, middle, channels)
        features.append(x)
        x = tf1.nn.max_pool(x, 2, 2, "SAME")
    sides = []
    for depth, below in zip((3, 4, 5), reversed(features)):
        x = block(tf.concat([resized(x, below), below], -1), depth, 16, 32)
        sides.append(resized(convolution(weights, x, 3, 1), size))
    # Random weights make large sums, of which only a small multiple is not saturated.
    return tf.sigmoid(convolution(weights, tf.concat(sides, -1), 1, 1) * 1e-3)


def masked_pixels(x):
    """Gated PixelCNN: masked filters, a vertical and a horizontal stack, gates of a hyperbolic tangent and a sigmoid."""
    weights = Weights(41)
    width = 64

    def masked(x, channels, height, wide, sees_itself=True):
        kernel = he(weights, height, wide, int(x.shape[-1]), channels)
        mask = np.ones((height, wide, 1, 1), np.float32)
        mask[height // 2, wide // 2 + sees_itself :] = 0
        mask[height // 2 + 1 :] = 0
        return tf1.nn.conv2d(x, kernel * mask, [1, 1, 1, 1], "SAME") + weights.normal((channels,), 0.1)

    def gated(x):
        left, right = tf.split(x, 2, axis=-1)
        return tf.tanh(left) * tf.sigmoid(right)

    vertical, horizontal = masked(x, width, 7, 7, False), masked(x, width, 1, 7, False)
    for _ in range(6):
        down = masked(vertical, 2 * width, 5, 5)
        # Moved down by a row, which is all that a pixel may know of the rows above.
        above = tf.pad(down, [[0, 0], [1, 0], [0, 0], [0, 0]])[:, :-1]
        across = masked(horizontal, 2 * width, 1, 5) + convolution(weights, above, 1, 2 * width)
        vertical = gated(down)
        horizontal = horizontal + convolution(weights, gated(across), 1, width)
    return convolution(weights, tf.nn.relu(convolution(weights, tf.nn.relu(horizontal), 1, 128)), 1, 256)


def deformed(x):
    """Deformable convolutions: offsets from a convolution, nine bilinear samples gathered at each place, then a product."""
    weights = Weights(41)
    for channels, strides in ((32, 2), (64, 2), (96, 1)):
        x = unit(weights, x, channels, 3, strides)

    def layer(x, channels):
        size, depth = int(x.shape[1]), int(x.shape[-1])
        rows, columns = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
        taps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
        base = np.stack([np.stack([rows + i, columns + j], -1) for i, j in taps], 2).astype(np.float32)
        offsets = tf.reshape(convolution(weights, x, 3, 18), [-1, size, size, 9, 2])
        places = tf.clip_by_value(base + offsets, 0.0, float(size - 1))
        low = tf.floor(places)
        high = tf.minimum(low + 1, float(size - 1))
        share = places - low
        flat = tf.reshape(x, [-1, size * size, depth])

        def at(y, x):
            index = tf.cast(y * size + x, tf.int32)
            return tf.gather(flat, tf.reshape(index, [-1, size * size * 9]), batch_dims=1, axis=1)

        def weight(y, x):
            return tf.reshape(y * x, [-1, size * size * 9, 1])

        (y0, x0), (y1, x1), (sy, sx) = (tf.unstack(each, axis=-1) for each in (low, high, share))
        samples = (
            at(y0, x0) * weight(1 - sy, 1 - sx) + at(y0, x1) * weight(1 - sy, sx)
            + at(y1, x0) * weight(sy, 1 - sx) + at(y1, x1) * weight(sy, sx)
        )
        y = tf.matmul(tf.reshape(samples, [-1, 9 * depth]), he(weights, 9 * depth, channels))
        return tf.nn.relu(batch_normalized(weights, tf.reshape(y, [-1, size, size, channels])))

    return convolution(weights, layer(layer(x, 96), 128), 1, 21)


def hourglass(x):
    """CenterNet's hourglass: recursive residual blocks, pools by strides, nearest upsampling, heat maps and their peaks."""
    weights = Weights(41)

    def residual(x, channels, strides=1):
        y = batch_normalized(weights, convolution(weights, unit(weights, x, channels, 3, strides), 3, channels))
        if strides > 1 or x.shape[-1] != channels:
            x = batch_normalized(weights, convolution(weights, x, 1, channels, strides))
        return tf.nn.relu(x + y)

    def nested(x, widths):
        above = residual(x, widths[0])
        below = residual(x, widths[1], 2)
        below = nested(below, widths[1:]) if len(widths) > 2 else residual(below, widths[1])
        below = residual(below, widths[0])
        size = [2 * int(s) for s in below.shape[1:3]]
        return above + tf1.image.resize_nearest_neighbor(below, size)

    x = residual(unit(weights, x, 32, 7, 2), 64, 2)
    for _ in range(2):
        x = residual(nested(x, (64, 96, 96, 128)), 64)
    heat = tf.sigmoid(convolution(weights, unit(weights, x, 64), 1, 20))
    peaks = tf1.nn.max_pool(heat, 3, 1, "SAME")
    heat = heat * tf.cast(tf.equal(heat, peaks), tf.float32)
    return tf.concat([heat, convolution(weights, unit(weights, x, 64), 1, 2)], -1)


def pyramid_pooling(x):
    """PSPNet: dilated residual blocks, averages of four sizes that are resized and joined, logits of the input's size."""
    weights = Weights(41)

    def dilated(x, channels, rate):
        y = tf.nn.convolution(x, he(weights, 3, 3, int(x.shape[-1]), channels), padding="SAME", dilations=[rate, rate])
        return tf.nn.relu(batch_normalized(weights, y))

    image = x
    x = tf1.nn.max_pool(unit(weights, unit(weights, x, 32, 3, 2), 64), 3, 2, "SAME")
    for channels, rate in ((64, 1), (128, 2), (128, 4)):
        for _ in range(2):
            y = batch_normalized(weights, convolution(weights, dilated(unit(weights, x, channels, 1), channels, rate), 1, 2 * channels))
            if x.shape[-1] != y.shape[-1]:
                x = batch_normalized(weights, convolution(weights, x, 1, 2 * channels))
            x = tf.nn.relu(x + y)
    size = int(x.shape[1])
    levels = [x]
    for bins in (1, 2, 3, 6):
        y = tf1.nn.avg_pool(x, size // bins, size // bins, "VALID")
        levels.append(tf1.image.resize_bilinear(unit(weights, y, 64, 1), [size, size], align_corners=True))
    x = convolution(weights, unit(weights, tf.concat(levels, -1), 128), 1, 21)
    return tf.argmax(tf1.image.resize_bilinear(x, image.shape[1:3], align_corners=True), -1, output_type=tf.int32)


def invertible(x):
    """Glow: activation norms, 1 x 1 convolutions, affine couplings of halves, squeezed spaces, the logarithm of the density."""
    weights = Weights(41)
    density = tf.zeros_like(x[:, 0, 0, 0])
    for _ in range(2):
        x = tf1.space_to_depth(x, 2)
        channels = int(x.shape[-1])
        for _ in range(4):
            scales = weights.uniform((channels,), 0.8, 1.2)
            x = (x + weights.normal((channels,), 0.1)) * scales
            rotation = tf.constant(np.linalg.qr(np.random.default_rng(channels).normal(size=(channels, channels)))[0].astype(np.float32))
            x = tf1.nn.conv2d(x, tf.reshape(rotation, [1, 1, channels, channels]), [1, 1, 1, 1], "SAME")
            known, changed = x[..., : channels // 2], x[..., channels // 2 :]
            y = tf.nn.relu(convolution(weights, tf.nn.relu(convolution(weights, known, 3, 128)), 1, 128))
            y = convolution(weights, y, 3, channels) * 0.1
            shift, scale = y[..., 0::2], tf.sigmoid(y[..., 1::2] + 2.0)
            x = tf.concat([known, (changed + shift) * scale], -1)
            density += tf.reduce_sum(tf1.log(scale), [1, 2, 3]) + tf.reduce_sum(tf1.log(scales)) * float(x.shape[1] * x.shape[2])
    return density - 0.5 * tf.reduce_sum(tf.square(x), [1, 2, 3])


# Sequences.


def latents(x):
    """Perceiver: a few latent vectors attend to thousands of inputs with Fourier features, and to each other."""
    weights = Weights(41)
    length = int(x.shape[1])
    places = np.linspace(-1, 1, length)[:, None] * np.pi * np.geomspace(1, length / 4, 16)
    features = tf.constant(np.concatenate([np.sin(places), np.cos(places)], -1).astype(np.float32))
    x = tf.concat([x, tf.tile(features[None], [tf.shape(x)[0], 1, 1])], -1)
    x = layer_normalized(weights, projected(weights, x, 128))
    z = tf.tile(weights.normal((1, 64, 256), 0.3), [tf.shape(x)[0], 1, 1])

    def fed_forward(z):
        return z + projected(weights, erf_gelu(projected(weights, layer_normalized(weights, z), 1024)), 256)

    for _ in range(2):
        z = fed_forward(z + attention(weights, layer_normalized(weights, z), x, 4))
        for _ in range(3):
            y = layer_normalized(weights, z)
            z = fed_forward(z + attention(weights, y, y, 8))
    return dense(weights, tf.reduce_mean(z, 1), 100)


def experts(tokens):
    """A Switch transformer: every token goes to one of eight experts of fixed capacity, by one-hot matrices and einsums."""
    weights = Weights(41)
    width, count, capacity = 192, 8, 24
    x = tf.nn.embedding_lookup(weights.normal((2000, width), 0.3), tokens)
    for _ in range(2):
        y = layer_normalized(weights, x)
        x = x + attention(weights, y, y, 6)
        y = layer_normalized(weights, x)
        gates = tf.nn.softmax(projected(weights, y, count, biased=False))
        chosen = tf.one_hot(tf.argmax(gates, -1), count)
        place = tf.cumsum(chosen, axis=1) * chosen
        chosen *= tf.cast(tf.less_equal(place, float(capacity)), tf.float32)
        slot = tf.one_hot(tf.cast(tf.reduce_sum(place, -1), tf.int32) - 1, capacity)
        dispatch = tf.einsum("bse,bsc->bsec", chosen, slot)
        combine = dispatch * tf.reduce_max(gates, -1)[:, :, None, None]
        inputs = tf.einsum("bsec,bsm->ebcm", dispatch, y)
        hidden = tf.nn.relu(tf.einsum("ebcm,emh->ebch", inputs, weights.normal((count, width, 4 * width), 0.07)))
        outputs = tf.einsum("ebch,ehm->ebcm", hidden, weights.normal((count, 4 * width, width), 0.05))
        x = x + tf.einsum("bsec,ebcm->bsm", combine, outputs)
    return projected(weights, layer_normalized(weights, x), 500)


def spectral_convolution(x):
    """S4 or Hyena: long convolutions by Fourier transforms of padded sequences, gates, and mixing of channels."""
    weights = Weights(41)
    length, width = int(x.shape[1]), 128
    x = projected(weights, x, width)
    for _ in range(3):
        y = layer_normalized(weights, x)
        value, gate = tf.split(projected(weights, y, 2 * width), 2, axis=-1)
        decay = np.exp(-np.outer(np.linspace(0.002, 0.1, width), np.arange(length))).astype(np.float32)
        kernel = tf.signal.rfft(weights.normal((width, length), 0.1) * decay, [2 * length])
        spectrum = tf.signal.rfft(tf.transpose(value, [0, 2, 1]), [2 * length]) * kernel
        mixed = tf.transpose(tf.signal.irfft(spectrum, [2 * length])[..., :length], [0, 2, 1])
        mixed += value * weights.normal((width,), 0.3)
        x = x + projected(weights, tanh_gelu(mixed) * tf.sigmoid(gate), width)
    return dense(weights, tf.reduce_mean(x, 1), 10)


def waveforms(x):
    """Wav2vec 2: strided convolutions of raw sound with a group norm, positions from a grouped convolution, a transformer."""
    weights = Weights(41)
    x = tf.expand_dims(x, -1)
    for i, (width, strides) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2))):
        x = tf1.nn.conv1d(x, he(weights, width, int(x.shape[-1]), 128), strides, "VALID")
        if i == 0:
            mean, variance = tf.nn.moments(x, [1], keepdims=True)
            x = (x - mean) * tf1.rsqrt(variance + 1e-5) * weights.normal((128,), 1.0) + weights.normal((128,), 0.1)
        x = erf_gelu(x)
    x = projected(weights, layer_normalized(weights, x), 192)
    length = int(x.shape[1])
    parts = tf.split(x, 8, axis=-1)
    places = tf.concat([tf1.nn.conv1d(part, he(weights, 32, 24, 24), 1, "SAME") for part in parts], -1)
    x = layer_normalized(weights, x + erf_gelu(places + weights.normal((192,), 0.1)))
    for _ in range(3):
        x = layer_normalized(weights, x + attention(weights, x, x, 6))
        x = layer_normalized(weights, x + projected(weights, erf_gelu(projected(weights, x, 768)), 192))
    return tf.nn.log_softmax(tf.reshape(tf.matmul(tf.reshape(x, [-1, 192]), he(weights, 192, 32)), [-1, length, 32]))


def question_answering(context, question):
    """BiDAF: similarities of each pair of words, attention in both directions, highway layers, logits of the answer's span."""
    weights = Weights(41)
    table = weights.normal((5000, 100), 0.3)

    def embedded(tokens, scope):
        x = tf.nn.embedding_lookup(table, tokens)
        for i in range(2):
            gate = tf.sigmoid(projected(scope, x, 100))
            x = gate * tf.nn.relu(projected(scope, x, 100)) + (1 - gate) * x
        forward = tf1.nn.conv1d(x, he(scope, 5, 100, 128), 1, "SAME")
        return tf.nn.relu(forward)

    c, q = embedded(context, Weights(42)), embedded(question, Weights(42))
    long, short = int(c.shape[1]), int(q.shape[1])
    pairs = tf.concat([
        tf.tile(tf.expand_dims(c, 2), [1, 1, short, 1]), tf.tile(tf.expand_dims(q, 1), [1, long, 1, 1]),
        tf.expand_dims(c, 2) * tf.expand_dims(q, 1),
    ], -1)
    scores = tf.squeeze(tf.tensordot(pairs, weights.normal((384, 1), 0.1), 1), -1)
    scores += -1e9 * tf.cast(tf.equal(question, 0), tf.float32)[:, None, :]
    to_question = tf.matmul(tf.nn.softmax(scores), q)
    to_context = tf.matmul(tf.expand_dims(tf.nn.softmax(tf.reduce_max(scores, -1)), 1), c)
    x = tf.concat([c, to_question, c * to_question, c * tf.tile(to_context, [1, long, 1])], -1)
    for _ in range(3):
        x = tf.nn.relu(tf1.nn.conv1d(x, he(weights, 7, int(x.shape[-1]), 128), 1, "SAME"))
    ends = [tf.squeeze(projected(weights, x, 1), -1) for _ in range(2)]
    return tf.stack([tf.nn.softmax(each) for each in ends], 1)


# Tables and graphs.


def sparse_steps(x):
    """TabNet: sequential steps that choose features by a sparsemax, gated linear units with norms, scaled residuals."""
    weights = Weights(41)
    features, width = int(x.shape[-1]), 64

    def normalized(x):
        mean, variance = weights.normal((int(x.shape[-1]),), 0.1), weights.uniform((int(x.shape[-1]),), 0.5, 1.5)
        return tf.nn.batch_normalization(x, mean, variance, None, weights.uniform((int(x.shape[-1]),), 0.5, 1.5), 1e-3)

    def gated(x, units):
        y = normalized(tf.matmul(x, he(weights, int(x.shape[-1]), 2 * units)))
        return y[:, :units] * tf.sigmoid(y[:, units:])

    def sparsemax(x):
        ordered = tf.nn.top_k(x, features).values
        sums = tf.cumsum(ordered, -1)
        ranks = tf.range(1.0, features + 1.0)
        support = tf.cast(1 + ranks * ordered > sums, tf.float32)
        count = tf.reduce_sum(support, -1, keepdims=True)
        threshold = (tf.reduce_sum(support * ordered, -1, keepdims=True) - 1) / count
        return tf.maximum(x - threshold, 0)

    x = normalized(x)
    prior, total = tf.ones_like(x), 0.0
    decision = gated(x, 2 * width)
    for _ in range(5):
        mask = sparsemax(normalized(tf.matmul(decision[:, width:], he(weights, width, features))) * prior)
        prior *= 1.3 - mask
        y = gated(mask * x, 2 * width)
        for _ in range(3):
            y = (y + gated(y, 2 * width)) * np.float32(np.sqrt(0.5))
        total += tf.nn.relu(y[:, :width])
        decision = y
    return tf.nn.softmax(dense(weights, total, 10))


def skeletons(x):
    """ST-GCN: graphs of 25 joints over time: products with adjacency matrices, convolutions along time, residuals."""
    weights = Weights(41)
    joints = int(x.shape[2])
    adjacency = np.abs(np.random.default_rng(3).normal(size=(3, joints, joints))) * (np.random.default_rng(4).random((3, joints, joints)) < 0.15)
    adjacency = tf.constant((adjacency / (adjacency.sum(-2, keepdims=True) + 1e-3)).astype(np.float32))
    x = batch_normalized(weights, x)
    for channels, strides in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2)):
        y = convolution(weights, x, 1, 3 * channels)
        frames = int(y.shape[1])
        y = tf.reshape(y, [-1, frames, joints, 3, channels])
        y = tf.einsum("ntvkc,kvw->ntwc", y, adjacency * weights.uniform((3, joints, joints), 0.8, 1.2))
        y = tf.nn.relu(batch_normalized(weights, y))
        y = tf1.nn.conv2d(y, he(weights, 9, 1, channels, channels), [1, strides, 1, 1], "SAME")
        y = batch_normalized(weights, y)
        if strides > 1 or x.shape[-1] != channels:
            x = batch_normalized(weights, tf1.nn.conv2d(x, he(weights, 1, 1, int(x.shape[-1]), channels), [1, strides, 1, 1], "SAME"))
        x = tf.nn.relu(x + y)
    return dense(weights, tf.reduce_mean(x, [1, 2]), 60)


def forecasts(x):
    """N-BEATS: stacks of dense layers that subtract what they explain and add what they expect, on polynomials and waves."""
    weights = Weights(41)
    history, horizon = int(x.shape[1]), 24
    residual, total = x, 0.0
    for stack in range(3):
        for _ in range(3):
            y = residual
            for _ in range(4):
                y = tf.nn.relu(dense(weights, y, 256))
            times = np.linspace(0, 1, history + horizon)
            if stack == 0:
                basis = np.stack([times**power for power in range(4)])
            else:
                basis = np.concatenate([[np.cos(2 * np.pi * k * times), np.sin(2 * np.pi * k * times)] for k in range(1, 12)])
            basis = basis.astype(np.float32)
            explained = tf.matmul(dense(weights, y, len(basis)), tf.constant(basis[:, :history]))
            expected = tf.einsum("bp,ph->bh", dense(weights, y, len(basis)), tf.constant(basis[:, history:]))
            residual, total = residual - explained, total + expected
    return total


PAPER_NETWORKS: dict[str, Callable[[], Network]] = {
    "SplitAttention": lambda: of_graph(split_attention, [Input((224, 224, 3))]),
    "ScalesWithin": lambda: of_graph(scales_within, [Input((224, 224, 3))]),
    "NestedUNet": lambda: of_graph(nested_unet, [Input((160, 160, 3))]),
    "MaskedPixels": lambda: of_graph(masked_pixels, [Input((32, 32, 3))]),
    "Deformed": lambda: of_graph(deformed, [Input((96, 96, 3))]),
    "Hourglass": lambda: of_graph(hourglass, [Input((256, 256, 3))]),
    "PyramidPooling": lambda: of_graph(pyramid_pooling, [Input((192, 192, 3))]),
    "Invertible": lambda: of_graph(invertible, [Input((32, 32, 3))]),
    "Latents": lambda: of_graph(latents, [Input((2048, 3))]),
    "Experts": lambda: of_graph(experts, [Input((128,), 2000)]),
    "SpectralConvolution": lambda: of_graph(spectral_convolution, [Input((1024, 16))]),
    "Waveforms": lambda: of_graph(waveforms, [Input((16000,))]),
    "QuestionAnswering": lambda: of_graph(question_answering, [Input((200,), 5000), Input((24,), 5000)]),
    "SparseSteps": lambda: of_graph(sparse_steps, [Input((54,))]),
    "Skeletons": lambda: of_graph(skeletons, [Input((100, 25, 3))]),
    "Forecasts": lambda: of_graph(forecasts, [Input((120,))]),
}
