"""Networks as frozen graphs found in the wild spell them: converters' transpositions, preprocessing and post-processing inside, sizes unknown or odd.

Weights have fixed seeds. Many inputs have unknown sizes besides their batch.
"""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from public_zoo import he
from zoo import Input, Network, of_graph, tf1


def of_open_graph(build: Callable, inputs: list[Input], num_known: int = 1) -> Network:
    """Returns a graph of TensorFlow 1 whose placeholders know only their last `num_known` sizes."""
    tf1.disable_control_flow_v2()
    with tf1.Graph().as_default() as graph:
        placeholders = []
        for i, each in enumerate(inputs):
            shape = [None] * (1 + len(each.shape) - num_known) + list(each.shape[len(each.shape) - num_known :])
            placeholders.append(tf1.placeholder(tf.int32 if each.num_tokens else tf.float32, shape, f"x{i}"))
        output = build(*placeholders)
    return Network(graph.as_graph_def(), {x.name: each for x, each in zip(placeholders, inputs)}, output.name)


def dense(weights: Weights, x, outputs: int):
    return tf.matmul(x, he(weights, int(x.shape[-1]), outputs)) + weights.normal((outputs,), 0.1)


def tensordot(weights: Weights, x, outputs: int):
    return tf1.nn.bias_add(tf.tensordot(x, he(weights, int(x.shape[-1]), outputs), 1), weights.normal((outputs,), 0.1))


def convolved(weights: Weights, x, outputs: int, size=3, strides=1, padding="SAME"):
    return tf1.nn.conv2d(x, he(weights, size, size, int(x.shape[-1]), outputs), [1, strides, strides, 1], padding)


def biased(weights: Weights, x, outputs: int, size=3, strides=1, padding="SAME"):
    return tf1.nn.bias_add(convolved(weights, x, outputs, size, strides, padding), weights.normal((outputs,), 0.1))


def depthwise(weights: Weights, x, size=3, strides=1, padding="SAME"):
    return tf1.nn.depthwise_conv2d(x, weights.normal((size, size, int(x.shape[-1]), 1), 1 / size), [1, strides, strides, 1], padding)


def statistics(weights: Weights, channels: int):
    """Returns a batch norm's scale, offset, mean and variance."""
    scale, variance = (weights.uniform((channels,), 0.8, 1.2) for _ in range(2))
    return scale, weights.normal((channels,), 0.05), weights.normal((channels,), 0.05), variance


def fused_normalized(weights: Weights, x):
    """Normalises by the op of inference, as slim leaves it in frozen graphs."""
    scale, offset, mean, variance = statistics(weights, int(x.shape[-1]))
    return tf1.nn.fused_batch_norm(x, scale, offset, mean, variance, epsilon=1e-3, is_training=False)[0]


def written_normalized(weights: Weights, x):
    """Normalises by what `tf.nn.batch_normalization` writes: a root, two products, a difference and a sum."""
    scale, offset, mean, variance = statistics(weights, int(x.shape[-1]))
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)


def root_normalized(weights: Weights, x):
    return weights.normal((int(x.shape[-1]),), 1.0) * (x * tf1.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-6))


# Images.


def slim_residual(pixels):
    """Classifies bytes of an image of unknown size as slim's ResNet v2: cropped and resized inside, pads before strides, fused norms."""
    weights = Weights(31)
    x = tf.cast(tf.cast(pixels, tf.uint8), tf.float32) / 255.0
    size, side = tf.shape(x), tf.reduce_min(tf.shape(x)[1:3])
    x = tf.image.crop_to_bounding_box(x, (size[1] - side) // 2, (size[2] - side) // 2, side, side)
    x = tf.multiply(tf.subtract(tf1.image.resize_bilinear(x, [224, 224]), 0.5), 2.0)

    def padded(x, outputs, size, strides):
        if strides == 1:
            return convolved(weights, x, outputs, size)
        begin = (size - 1) // 2
        return convolved(weights, tf.pad(x, [[0, 0], [begin, size - 1 - begin], [begin, size - 1 - begin], [0, 0]]), outputs, size, strides, "VALID")

    def bottleneck(x, outputs, strides):
        first = tf.nn.relu(fused_normalized(weights, x))
        if int(x.shape[-1]) != outputs:
            x = biased(weights, first, outputs, 1, strides)
        elif strides != 1:
            x = tf1.nn.max_pool(x, [1, 1, 1, 1], [1, strides, strides, 1], "VALID")
        y = tf.nn.relu(fused_normalized(weights, convolved(weights, first, outputs // 4, 1)))
        y = tf.nn.relu(fused_normalized(weights, padded(y, outputs // 4, 3, strides)))
        return x + 0.3 * biased(weights, y, outputs, 1)

    x = tf1.nn.max_pool(padded(x, 64, 7, 2), [1, 3, 3, 1], [1, 2, 2, 1], "SAME")
    for outputs, blocks in ((256, 2), (512, 2), (1024, 2), (2048, 1)):
        for block in range(blocks):
            x = bottleneck(x, outputs, 2 if block == blocks - 1 and outputs < 2048 else 1)
    x = biased(weights, tf.reduce_mean(tf.nn.relu(fused_normalized(weights, x)), [1, 2], keepdims=True), 1001, 1)
    return tf.nn.softmax(tf.squeeze(x, [1, 2]))


def converted_yolo(x):
    """Detects as YOLOv5 from an ONNX converter: channels first between transpositions, sigmoid products, upsampling by stacks, decoded boxes."""
    weights = Weights(31)

    def unit(x, outputs, size=3, strides=1):
        border = size // 2
        x = tf.pad(x, [[0, 0], [0, 0], [border, border], [border, border]]) if border else x
        y = tf.transpose(x, [0, 2, 3, 1])
        y = tf.transpose(convolved(weights, y, outputs, size, strides, "VALID"), [0, 3, 1, 2])
        y = y + weights.normal((1, outputs, 1, 1), 0.1)
        return y * tf.sigmoid(y)

    def c3(x, outputs, count, is_residual=True):
        y = unit(x, outputs // 2, 1)
        for _ in range(count):
            z = unit(unit(y, outputs // 2, 1), outputs // 2)
            y = y + z if is_residual else z
        return unit(tf.concat([y, unit(x, outputs // 2, 1)], 1), outputs, 1)

    def pooled(x):
        y = tf1.nn.max_pool(tf.transpose(x, [0, 2, 3, 1]), [1, 5, 5, 1], [1, 1, 1, 1], "SAME")
        return tf.transpose(y, [0, 3, 1, 2])

    def upsampled(x):
        channels, size = int(x.shape[1]), int(x.shape[2])
        x = tf.stack([x, x], 3)
        x = tf.stack([x, x], 5)
        return tf.reshape(x, [-1, channels, 2 * size, 2 * size])

    x = tf.transpose(x, [0, 3, 1, 2])
    x = tf.concat([x[:, :, ::2, ::2], x[:, :, 1::2, ::2], x[:, :, ::2, 1::2], x[:, :, 1::2, 1::2]], 1)
    x = c3(unit(unit(x, 32), 64, 3, 2), 64, 1)
    small = c3(unit(x, 128, 3, 2), 128, 2)
    middle = c3(unit(small, 256, 3, 2), 256, 2)
    x = unit(unit(middle, 512, 3, 2), 256, 1)
    y = pooled(x)
    z = pooled(y)
    x = unit(unit(tf.concat([x, y, z, pooled(z)], 1), 512, 1), 256, 1)
    y = unit(c3(tf.concat([upsampled(x), middle], 1), 256, 1, False), 128, 1)
    p3 = c3(tf.concat([upsampled(y), small], 1), 128, 1, False)
    p4 = c3(tf.concat([unit(p3, 128, 3, 2), y], 1), 256, 1, False)
    p5 = c3(tf.concat([unit(p4, 256, 3, 2), x], 1), 512, 1, False)
    found = []
    for level, stride in ((p3, 8), (p4, 16), (p5, 32)):
        size = int(level.shape[2])
        y = tf.transpose(convolved(weights, tf.transpose(level, [0, 2, 3, 1]), 255, 1), [0, 3, 1, 2]) + weights.normal((1, 255, 1, 1), 0.1)
        y = tf.sigmoid(tf.transpose(tf.reshape(y, [-1, 3, 85, size, size]), [0, 1, 3, 4, 2]))
        grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1)[None, None].astype(np.float32)
        centres = (y[..., 0:2] * 2.0 - 0.5 + grid) * stride
        sizes = (y[..., 2:4] * 2.0) ** 2 * weights.uniform((1, 3, 1, 1, 2), 10.0, 100.0)
        found.append(tf.reshape(tf.concat([centres, sizes, y[..., 4:]], -1), [-1, 3 * size * size, 85]))
    return tf.concat(found, 1)


def pose(x):
    """Finds 17 key points: a narrow MobileNet with norms written out, transposed convolutions, maxima of heat maps, gathered offsets."""
    weights = Weights(31)

    def unit(x, outputs, strides):
        x = tf.nn.relu6(written_normalized(weights, depthwise(weights, x, 3, strides)))
        return tf.nn.relu6(written_normalized(weights, convolved(weights, x, outputs, 1)))

    x = tf.nn.relu6(written_normalized(weights, convolved(weights, x, 24, 3, 2)))
    for outputs, strides in ((48, 1), (100, 2), (100, 1), (200, 2), (200, 1), (200, 1), (384, 2), (384, 1)):
        x = unit(x, outputs, strides)
    for size in (33, 65):
        kernel = weights.normal((4, 4, 100, int(x.shape[-1])), 0.02)
        x = tf1.nn.conv2d_transpose(x, kernel, [tf.shape(x)[0], size, size, 100], [1, 2, 2, 1], "SAME")
        x = tf.nn.relu(written_normalized(weights, tf.ensure_shape(x, [None, size, size, 100])))
    heat, offsets = tf.sigmoid(biased(weights, x, 17, 1)), biased(weights, x, 34, 1)
    flat = tf.reshape(heat, [-1, 65 * 65, 17])
    best = tf.argmax(flat, 1, output_type=tf.int32)
    rows, columns = best // 65, best % 65
    images = tf.tile(tf.expand_dims(tf.range(tf.shape(x)[0]), 1), [1, 17])
    points = tf.tile(tf.expand_dims(tf.range(17), 0), [tf.shape(x)[0], 1])
    offsets = tf.reshape(offsets, [-1, 65, 65, 2, 17])
    moved = [tf.gather_nd(offsets, tf.stack([images, rows, columns, tf.fill(tf.shape(images), axis), points], -1)) for axis in (0, 1)]
    places = tf.cast(tf.stack([rows, columns], -1), tf.float32) * 4.0 + tf.stack(moved, -1)
    return tf.concat([places, tf.expand_dims(tf.reduce_max(flat, 1), -1)], -1)


def scene_labels(x):
    """Labels pixels of images of odd sizes as DeepLab: atrous convolutions by `space_to_batch`, pooled features, bilinear steps to full size."""
    weights = Weights(31)
    size = tf.shape(x)[1:3]

    def unit(x, outputs, size=3, strides=1):
        return tf.nn.relu(fused_normalized(weights, convolved(weights, x, outputs, size, strides)))

    def separable(x, outputs, rate):
        y = tf1.nn.depthwise_conv2d(x, weights.normal((3, 3, int(x.shape[-1]), 1), 0.3), [1, 1, 1, 1], "SAME", dilations=[rate, rate])
        y = tf.nn.relu(fused_normalized(weights, y))
        return tf.nn.relu(fused_normalized(weights, convolved(weights, y, outputs, 1)))

    def atrous(x, outputs, rate):
        y = tf1.nn.atrous_conv2d(x, he(weights, 3, 3, int(x.shape[-1]), outputs), rate, "SAME")
        return tf.nn.relu(fused_normalized(weights, tf.ensure_shape(y, [None, None, None, outputs])))

    x = unit(unit(x, 33, 3, 2), 33)
    skipped = unit(x, 65, 3, 2)
    x = unit(skipped, 100, 3, 2)
    for _ in range(3):
        x = x + separable(x, 100, 2)
    pooled = unit(tf.reduce_mean(x, [1, 2], keepdims=True), 100, 1)
    branches = [tf1.image.resize_bilinear(pooled, tf.shape(x)[1:3], align_corners=True), unit(x, 100, 1)]
    branches += [separable(x, 100, 3), atrous(x, 100, 6), atrous(x, 100, 9)]
    x = unit(tf.concat(branches, -1), 100, 1)
    x = tf1.image.resize_bilinear(x, tf.shape(skipped)[1:3], align_corners=True)
    x = separable(tf.concat([x, unit(skipped, 48, 1)], -1), 100, 1)
    logits = tf1.image.resize_bilinear(biased(weights, x, 21, 1), size, align_corners=True)
    labels = tf.argmax(logits, -1)
    return tf.concat([tf.one_hot(labels, 21), tf.reduce_max(tf.nn.softmax(logits), -1, keepdims=True)], -1)


def pool_former(x):
    """Classifies as PoolFormer: means over neighbours less the position, norms over whole images, layers that are scaled, erf."""
    weights = Weights(31)

    def group_normalized(x):
        mean, variance = tf.nn.moments(x, [1, 2, 3], keepdims=True)
        width = int(x.shape[-1])
        return (x - mean) / tf.sqrt(variance + 1e-5) * weights.normal((width,), 1.0) + weights.normal((width,), 0.1)

    for width, size, strides, depth in ((64, 7, 4, 2), (128, 3, 2, 2), (320, 3, 2, 4), (512, 3, 2, 2)):
        x = biased(weights, x, width, size, strides)
        for _ in range(depth):
            y = group_normalized(x)
            x = x + weights.normal((width,), 0.3) * (tf1.nn.avg_pool2d(y, 3, 1, "SAME") - y)
            y = biased(weights, group_normalized(x), 4 * width, 1)
            x = x + weights.normal((width,), 0.3) * biased(weights, 0.5 * y * (1.0 + tf.math.erf(y / np.float32(np.sqrt(2.0)))), width, 1)
    return dense(weights, tf.reduce_mean(group_normalized(x), [1, 2]), 1000)


def suppressed_yolo(x):
    """Detects as YOLOv3: leaky units, nearest upsampling to a shape, boxes decoded with meshes, suppression for each of 20 classes."""
    weights = Weights(31)

    def unit(x, outputs, size=3, strides=1):
        if strides == 2:
            x = tf.pad(x, [[0, 0], [1, 0], [1, 0], [0, 0]])
        x = fused_normalized(weights, convolved(weights, x, outputs, size, strides, "VALID" if strides == 2 else "SAME"))
        return tf.nn.leaky_relu(x, 0.1)

    x = unit(tf.cast(x, tf.float32) / 255.0, 16)
    scales = []
    for outputs in (32, 64, 128, 256, 512):
        x = unit(x, outputs, 3, 2)
        x = x + unit(unit(x, outputs // 2, 1), outputs)
        scales.append(x)
    y = unit(x, 256, 1)
    up = tf1.image.resize_nearest_neighbor(unit(y, 128, 1), tf.shape(scales[-2])[1:3])
    heads = [unit(y, 512), unit(unit(tf.concat([up, scales[-2]], -1), 128, 1), 256)]
    boxes, scores = [], []
    for head, stride in zip(heads, (32, 16)):
        head = 0.02 * biased(weights, head, 75, 1)
        height, width = tf.shape(head)[1], tf.shape(head)[2]
        head = tf.reshape(head, [-1, height, width, 3, 25])
        mesh = tf.stack(tf.meshgrid(tf.range(width), tf.range(height)), -1)
        centres = (tf.sigmoid(head[..., :2]) + tf.cast(mesh[:, :, None], tf.float32)) * stride
        sizes = tf.exp(head[..., 2:4]) * weights.uniform((3, 2), 20.0, 120.0)
        boxes.append(tf.reshape(tf.concat([centres - sizes / 2.0, centres + sizes / 2.0], -1), [tf.shape(x)[0], -1, 4]))
        scores.append(tf.reshape(tf.sigmoid(head[..., 4:5]) * tf.sigmoid(head[..., 5:]), [tf.shape(x)[0], -1, 20]))
    boxes, scores = tf.concat(boxes, 1), tf.concat(scores, 1)

    def kept(values):
        found = []
        for each in range(20):
            chosen = tf.image.non_max_suppression(values[0], values[1][:, each], 20, 0.45, 0.3)
            rows = tf.concat([tf.gather(values[0], chosen), tf.gather(values[1][:, each], chosen)[:, None]], 1)
            found.append(tf.pad(rows, [[0, 20 - tf.shape(rows)[0]], [0, 0]]))
        return tf.concat(found, 0)

    return tf.map_fn(kept, [boxes, scores], fn_output_signature=tf.float32)


# Text.


def llama(tokens):
    """Computes a LLaMA's logits: root mean squares, rotated pairs, 8 heads that share 2 keys and values, gated layers, unknown length."""
    weights = Weights(31)
    width, heads, shared = 256, 8, 2
    size = width // heads
    batch, steps = tf.shape(tokens)[0], tf.shape(tokens)[1]
    angles = tf.cast(tf.range(steps), tf.float32)[:, None] * tf.constant((1e4 ** (-np.arange(0, size, 2) / size)).astype(np.float32))
    angles = tf.concat([angles, angles], -1)
    cos, sin = tf.cos(angles)[None, None], tf.sin(angles)[None, None]
    mask = tf.linalg.band_part(tf.ones([steps, steps]), -1, 0)

    def linear(x, outputs):
        return tf.tensordot(x, he(weights, int(x.shape[-1]), outputs), 1)

    def split(x, count):
        return tf.transpose(tf.reshape(x, [batch, steps, count, size]), [0, 2, 1, 3])

    def rotated(x):
        a, b = tf.split(x, 2, -1)
        return x * cos + tf.concat([-b, a], -1) * sin

    def repeated(x):
        x = tf.tile(x[:, :, None], [1, 1, heads // shared, 1, 1])
        return tf.reshape(x, [batch, heads, steps, size])

    x = tf.gather(weights.normal((4000, width), 0.5), tokens)
    for _ in range(4):
        y = root_normalized(weights, x)
        q, k, v = split(linear(y, width), heads), split(linear(y, shared * size), shared), split(linear(y, shared * size), shared)
        k, v = repeated(rotated(k)), repeated(v)
        scores = tf.matmul(rotated(q), k, transpose_b=True) / np.float32(np.sqrt(size)) + (1.0 - mask) * -1e9
        y = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        x = x + 0.5 * linear(tf.reshape(y, [batch, steps, width]), width)
        y = root_normalized(weights, x)
        x = x + 0.5 * linear(tf.nn.silu(linear(y, 688)) * linear(y, 688), width)
    return linear(root_normalized(weights, x), 4000)


def lstm_loop(weights: Weights, x, units: int):
    """Runs an LSTM over a tensor with time first, as `dynamic_rnn` writes it: a frame with tensor arrays."""
    kernel, bias = he(weights, int(x.shape[-1]) + units, 4 * units), weights.normal((4 * units,), 0.1)

    def step(i, c, h, outputs):
        a, j, f, o = tf.split(tf1.nn.bias_add(tf.matmul(tf.concat([inputs.read(i), h], 1), kernel), bias), 4, 1)
        c = c * tf.sigmoid(f + 1.0) + tf.sigmoid(a) * tf.tanh(j)
        h = tf.tanh(c) * tf.sigmoid(o)
        return i + 1, c, h, outputs.write(i, h)

    steps = tf.shape(x)[0]
    inputs, zero = tf.TensorArray(tf.float32, steps).unstack(x), tf.zeros([tf.shape(x)[1], units])
    outputs = tf1.while_loop(lambda i, *_: i < steps, step, (0, zero, zero, tf.TensorArray(tf.float32, steps)))[3].stack()
    return tf.ensure_shape(outputs, [None, None, units])


def entity_tagger(words, characters):
    """Tags entities: convolved characters, a bidirectional LSTM over unknown steps, Viterbi's forward loop and its way back."""
    weights = Weights(31)
    letters = tf.gather(weights.normal((80, 30), 0.5), tf.reshape(characters, [-1, 12]))
    letters = tf.squeeze(tf1.nn.conv2d(tf.expand_dims(letters, 1), he(weights, 1, 3, 30, 33), [1, 1, 1, 1], "VALID"), [1])
    letters = tf.reshape(tf.reduce_max(tf.nn.relu(letters + weights.normal((33,), 0.1)), 1), [tf.shape(words)[0], -1, 33])
    x = tf.concat([tf.nn.embedding_lookup(weights.normal((5000, 100), 0.5), words), letters], 2)
    x = tf.transpose(x, [1, 0, 2])
    x = tf.concat([lstm_loop(weights, x, 100), tf.reverse(lstm_loop(weights, tf.reverse(x, [0]), 100), [0])], 2)
    scores, moves = tensordot(weights, x, 17), weights.normal((17, 17), 0.5)

    def forward(state, emission):
        paths = tf.expand_dims(state[0], 2) + moves
        return tf.reduce_max(paths, 1) + emission, tf.argmax(paths, 1, output_type=tf.int32)

    best, pointers = tf.scan(forward, scores[1:], (scores[0], tf.zeros_like(scores[0], tf.int32)))
    last = tf.argmax(best[-1], 1, output_type=tf.int32)
    back = tf.scan(lambda tag, pointer: tf.gather(pointer, tag, batch_dims=1), tf.reverse(pointers, [0]), last)
    return tf.transpose(tf.reverse(tf.concat([last[None], back], 0), [0]))


def beam_search(tokens):
    """Writes 16 words with beams of four: scores of each beam's continuations, TopK over all, states gathered by their parents."""
    weights = Weights(31)
    table, output = weights.normal((3000, 128), 0.5), he(weights, 256, 3000)
    gates, new = he(weights, 384, 512), he(weights, 384, 256)

    def gru(x, h):
        r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), gates)), 2, 1)
        return u * h + (1.0 - u) * tf.tanh(tf.matmul(tf.concat([x, r * h], 1), new))

    h = tf.tanh(dense(weights, tf.reduce_mean(tf.gather(table, tokens), 1), 256))
    h = tf.reshape(tf.tile(h[:, None], [1, 4, 1]), [-1, 256])
    begin = tf.tile(tf.constant([[0.0, -1e9, -1e9, -1e9]]), [tf.shape(tokens)[0], 1])

    def step(i, words, total, h, history):
        h = gru(tf.gather(table, tf.reshape(words, [-1])), h)
        found = tf.reshape(tf.nn.log_softmax(tf.matmul(h, output)), [-1, 4, 3000]) + total[:, :, None]
        total, best = tf.nn.top_k(tf.reshape(found, [-1, 12000]), 4)
        parents, words = best // 3000, best % 3000
        h = tf.reshape(tf.gather(tf.reshape(h, [-1, 4, 256]), parents, batch_dims=1), [-1, 256])
        return i + 1, words, total, h, tf.concat([tf.gather(history, parents, batch_dims=1), words[:, :, None]], 2)

    shapes = tuple(tf.TensorShape(each) for each in ([], [None, 4], [None, 4], [None, 256], [None, 4, None]))
    state = 0, tf.ones_like(begin, tf.int32), begin, h, tf.zeros([tf.shape(tokens)[0], 4, 0], tf.int32)
    return tf1.while_loop(lambda i, *_: i < 16, step, state, shapes)[4]


# Tables, sound, points and graphs.


def feature_columns(categories, numbers):
    """Ranks by feature columns: numbers as strings in hash buckets, crosses, bucketised numbers, shared deep layers and cross layers."""
    weights = Weights(31)
    texts, embedded, wide = tf.strings.as_string(categories), [], []
    for column in range(12):
        ids = tf.strings.to_hash_bucket_fast(texts[:, column], 1000)
        embedded.append(tf.nn.embedding_lookup(weights.normal((1000, 16), 0.3), ids))
        wide.append(tf.gather(weights.normal((1000, 1), 0.3), ids))
        crossed = tf.strings.join([texts[:, column], texts[:, column - 1]], "_X_")
        wide.append(tf.gather(weights.normal((5000, 1), 0.3), tf.strings.to_hash_bucket_fast(crossed, 5000)))
    for column in range(4):
        bucket = tf.searchsorted(tf.constant(np.linspace(-2, 2, 9).astype(np.float32)), numbers[:, column])
        embedded.append(tf.one_hot(bucket, 10))
    x = first = tf.concat([*embedded, tf.math.log1p(tf.nn.relu(numbers))], 1)
    for _ in range(3):
        x = first * dense(weights, x, int(first.shape[-1])) * 0.3 + x
    y = first
    for outputs in (256, 128, 64):
        y = tf.nn.relu(dense(weights, y, outputs))
    return tf.sigmoid(tf.add_n(wide) + dense(weights, tf.concat([x, y], 1), 1))


def two_towers(history, context):
    """Retrieves the best 100 of 20000 items for a user: masked means, two layers, a division by the norm, a product with all items, TopK."""
    weights = Weights(31)
    table = weights.normal((20000, 64), 0.3)
    items = tf.nn.l2_normalize(dense(weights, tf.nn.relu(dense(weights, table, 128)), 64), 1)
    mask = tf.cast(tf.not_equal(history, 0), tf.float32)[:, :, None]
    x = tf.reduce_sum(tf.nn.embedding_lookup(table, history) * mask, 1) / tf.maximum(tf.reduce_sum(mask, 1), 1.0)
    x = tf.nn.relu(dense(weights, tf.concat([x, context], 1), 128))
    x = tf.nn.l2_normalize(dense(weights, x, 64), 1)
    scores, best = tf.nn.top_k(tf.matmul(x, items, transpose_b=True), 100)
    return tf.stack([scores, tf.cast(best, tf.float32)], -1)


def sound_events(x):
    """Names sounds as YAMNet: a spectrogram by a Fourier transform, mel bands, logarithms, framed patches, separable convolutions."""
    weights = Weights(31)
    spectrum = tf.abs(tf.signal.stft(tf.tanh(x), 400, 160, 512))
    bands = tf.signal.linear_to_mel_weight_matrix(64, 257, 16000, 125.0, 7500.0)
    x = tf.math.log(tf.tensordot(spectrum, bands, 1) + 0.001)
    x = tf.signal.frame(x, 96, 48, axis=1)
    count = tf.shape(x)[1]
    x = tf.reshape(x, [-1, 96, 64, 1])
    x = tf.nn.relu(fused_normalized(weights, convolved(weights, x, 32, 3, 2)))
    for outputs, strides in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1)):
        x = tf.nn.relu(fused_normalized(weights, depthwise(weights, x, 3, strides)))
        x = tf.nn.relu(fused_normalized(weights, convolved(weights, x, outputs, 1)))
    x = tf.sigmoid(dense(weights, tf.reduce_mean(x, [1, 2]), 521))
    return tf.reduce_mean(tf.reshape(x, [-1, count, 521]), 1)


def farthest_points(points):
    """Classifies points as PointNet++: a loop that picks the farthest, neighbours by TopK of distances, gathered groups, maxima."""
    weights = Weights(31)

    def farthest(points, count):
        def step(i, distance, last, found):
            centre = tf.gather(points, last[:, None], batch_dims=1)
            distance = tf.minimum(distance, tf.reduce_sum(tf.square(points - centre), -1))
            last = tf.argmax(distance, 1, output_type=tf.int32)
            return i + 1, distance, last, found.write(i, last)

        first = tf.zeros([tf.shape(points)[0]], tf.int32)
        begin = 0, tf.fill(tf.shape(points)[:2], 1e10), first, tf.TensorArray(tf.int32, count)
        found = tf1.while_loop(lambda i, *_: i < count, step, begin)[3].stack()
        return tf.ensure_shape(tf.transpose(found), [None, count])

    features = points
    for count, near, width in ((128, 32, 64), (33, 32, 128)):
        centres = tf.gather(points, farthest(points, count), batch_dims=1)
        product = tf.matmul(centres, points, transpose_b=True)
        distance = tf.reduce_sum(centres**2, -1)[:, :, None] - 2.0 * product + tf.reduce_sum(points**2, -1)[:, None]
        _, chosen = tf.nn.top_k(-distance, near)
        x = tf.concat([tf.gather(points, chosen, batch_dims=1) - centres[:, :, None], tf.gather(features, chosen, batch_dims=1)], -1)
        for outputs in (width, width, 2 * width):
            x = tf.nn.relu(written_normalized(weights, convolved(weights, x, outputs, 1)))
        points, features = centres, tf.reduce_max(x, 2)
    return dense(weights, tf.reduce_max(features, 1), 40)


def half_precision(x):
    """Classifies with weights of float16 that are cast before use, and a middle in float16."""
    weights = Weights(31)

    def unit(x, outputs, size=3, strides=1):
        filters = tf.get_static_value(he(weights, size, size, int(x.shape[-1]), outputs))
        filters = tf.cast(tf.constant(filters.astype(np.float16)), tf.float32)
        return tf.nn.relu(tf1.nn.conv2d(x, filters, [1, strides, strides, 1], "SAME") + weights.normal((outputs,), 0.1))

    x = unit(unit(x, 33, 3, 2), 65, 3, 2)
    x = tf.cast(tf.nn.relu6(tf.cast(x, tf.float16) * np.float16(0.5) + np.float16(0.25)), tf.float32)
    for outputs in (129, 257):
        x = unit(unit(x, outputs, 3, 2), outputs, 1)
    return dense(weights, tf.reduce_mean(x, [1, 2]), 100)


WILD_NETWORKS: dict[str, Callable[[], Network]] = {
    "SlimResidual": lambda: of_open_graph(slim_residual, [Input((240, 320, 3), 256)]),
    "ConvertedYolo": lambda: of_graph(converted_yolo, [Input((256, 256, 3))]),
    "Pose": lambda: of_graph(pose, [Input((257, 257, 3))]),
    "SceneLabels": lambda: of_open_graph(scene_labels, [Input((131, 97, 3))]),
    "Llama": lambda: of_open_graph(llama, [Input((77,), 4000)], 0),
    "PoolFormer": lambda: of_graph(pool_former, [Input((160, 160, 3))]),
    "SuppressedYolo": lambda: of_open_graph(suppressed_yolo, [Input((256, 256, 3), 256)]),
    "EntityTagger": lambda: of_open_graph(entity_tagger, [Input((45,), 5000), Input((45, 12), 80)], 0),
    "BeamSearch": lambda: of_open_graph(beam_search, [Input((33,), 3000)], 0),
    "FeatureColumns": lambda: of_graph(feature_columns, [Input((12,), 100000), Input((4,))]),
    "TwoTowers": lambda: of_graph(two_towers, [Input((50,), 20000), Input((33,))]),
    "SoundEvents": lambda: of_graph(sound_events, [Input((31200,))]),
    "FarthestPoints": lambda: of_graph(farthest_points, [Input((512, 3))]),
    "HalfPrecision": lambda: of_graph(half_precision, [Input((131, 97, 3))]),
}
