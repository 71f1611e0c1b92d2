"""Networks that find objects, motion and relations, in their public spelling: feature pyramids, detection heads, optical flow, graphs."""
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tf_keras.src.legacy_tf_layers import convolutional, normalization, pooling

from domain_zoo import of_variables
from make_models import Weights
from public_zoo import he
from zoo import Input, Network, of_graph, tf1

# Detection.


def feature_pyramid(x):
    """Fuses five scales by EfficientDet's BiFPN: weighted sums, nearest resizing, separable convolutions, heads with shared filters."""

    def normalized(x):
        return normalization.batch_normalization(x, epsilon=1e-3, training=False)

    def resampled(x, size):
        if x.shape[-1] != 64:
            x = normalized(convolutional.conv2d(x, 64, 1, padding="same"))
        if x.shape[1] > size:
            return pooling.max_pooling2d(x, 3, 2, padding="same")
        return tf1.image.resize_nearest_neighbor(x, [size, size]) if x.shape[1] < size else x

    def fused(*nodes):
        edges = [tf.nn.relu(tf1.get_variable(f"WSM{len(tf1.global_variables())}", ())) for _ in nodes]
        total = tf.add_n(edges)
        x = tf.add_n([node * edge / (total + 0.0001) for node, edge in zip((resampled(node, nodes[0].shape[1]) for node in nodes), edges)])
        return normalized(convolutional.separable_conv2d(tf.nn.swish(x), 64, 3, padding="same"))

    features = []
    for channels in (32, 64, 96, 128, 160, 64, 64):
        x = tf.nn.swish(normalized(convolutional.conv2d(x, channels, 3, 2, padding="same", use_bias=False)))
        features.append(x)
    features = [resampled(x, int(x.shape[1])) for x in features[2:]]
    for _ in range(3):
        down = features[-1:]
        for x in features[-2::-1]:
            down.insert(0, fused(x, down[0]))
        up = down[:1]
        for x, middle in zip(features[1:], down[1:]):
            up.append(fused(x, middle, up[-1]) if x is not middle else fused(x, up[-1]))
        features = up
    classes, boxes = [], []
    for x in features:
        for found, outputs in ((classes, 9 * 20), (boxes, 9 * 4)):
            y = x
            for layer in range(3):
                y = convolutional.separable_conv2d(y, 64, 3, padding="same", name=f"head{outputs}_{layer}", reuse=tf1.AUTO_REUSE)
                y = tf.nn.swish(normalized(y))
            y = convolutional.separable_conv2d(y, outputs, 3, padding="same", name=f"head{outputs}", reuse=tf1.AUTO_REUSE)
            found.append(tf.reshape(y, [-1, int(x.shape[1]) ** 2 * 9, outputs // 9]))
    return tf.concat([tf.sigmoid(tf.concat(classes, 1)), tf.concat(boxes, 1)], -1)


def boxes_of(codes, anchors):
    """Decodes boxes from offsets to anchors, as in the object detection API."""
    ty, tx, th, tw = tf.unstack(codes, axis=-1)
    y, x, h, w = tf.unstack(anchors, axis=-1)
    h, w, y, x = tf.exp(th) * h, tf.exp(tw) * w, ty * h + y, tx * w + x
    return tf.stack([y - h / 2.0, x - w / 2.0, y + h / 2.0, x + w / 2.0], axis=-1)


def anchors_of(size: int) -> np.ndarray:
    """Returns nine boxes for each position: centres, heights, widths."""
    y, x, scale = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, 2 ** (np.arange(9) / 4) / size, indexing="ij")
    return np.stack([y, x, scale * 1.2, scale / 1.2], -1).reshape(-1, 4).astype(np.float32)


def retina(x):
    """Detects objects as RetinaNet: towers over three scales, the best 300 boxes, their gathered codes, suppression for each class."""
    features = []
    for channels in (32, 64, 128, 256, 256):
        x = convolutional.conv2d(x, channels, 3, 2, padding="same", activation=tf.nn.relu)
        features.append(convolutional.conv2d(x, 96, 1))
    top = features.pop()
    scales = [top]
    while len(scales) < 3:
        top = features.pop() + tf1.image.resize_nearest_neighbor(top, [2 * int(top.shape[1])] * 2)
        scales.append(convolutional.conv2d(top, 96, 3, padding="same"))
    scores, codes = [], []
    for x in scales:
        for found, outputs in ((scores, 20), (codes, 4)):
            y = x
            for layer in range(2):
                y = convolutional.conv2d(y, 96, 3, padding="same", activation=tf.nn.relu, name=f"tower{outputs}_{layer}", reuse=tf1.AUTO_REUSE)
            y = convolutional.conv2d(y, 9 * outputs, 3, padding="same", name=f"tower{outputs}", reuse=tf1.AUTO_REUSE)
            found.append(tf.reshape(y, [tf.shape(y)[0], -1, outputs]))
    scores, codes = tf.sigmoid(0.2 * tf.concat(scores, 1)), 0.1 * tf.concat(codes, 1)
    _, best = tf.nn.top_k(tf.reduce_max(scores, -1), 300)
    anchors = tf.gather(np.concatenate([anchors_of(int(x.shape[1])) for x in scales]), best)
    boxes = tf.expand_dims(boxes_of(tf.gather(codes, best, batch_dims=1), anchors), 2)
    found = tf.image.combined_non_max_suppression(boxes, tf.gather(scores, best, batch_dims=1), 20, 50, 0.5, 0.3, clip_boxes=True)
    return tf.concat([found[0], tf.stack([found[1], found[2]], -1)], -1)


def mask_head(x):
    """Draws masks as Mask R-CNN: proposals that are suppressed image by image, crops of features, a transposed convolution."""
    for channels in (32, 64, 128):
        x = convolutional.conv2d(x, channels, 3, 2, padding="same", use_bias=False)
        x = tf.nn.relu(normalization.batch_normalization(x, training=False))
    y = convolutional.conv2d(x, 128, 3, padding="same", activation=tf.nn.relu)
    scores = tf.reshape(tf.nn.softmax(tf.reshape(convolutional.conv2d(y, 18, 1), [-1, 32 * 32 * 9, 2]))[..., 1], [-1, 32 * 32 * 9])
    codes = tf.reshape(0.2 * convolutional.conv2d(y, 36, 1), [-1, 32 * 32 * 9, 4])
    scores, best = tf.nn.top_k(scores, 200)
    boxes = tf.clip_by_value(boxes_of(tf.gather(codes, best, batch_dims=1), tf.gather(anchors_of(32), best)), 0.0, 1.0)

    def chosen(values):
        kept = tf.image.non_max_suppression(values[0], values[1], 24, 0.7)
        kept = tf.gather(values[0], kept)
        return tf.ensure_shape(tf.pad(kept, [[0, 24 - tf.shape(kept)[0]], [0, 0]]), [24, 4])

    boxes = tf.map_fn(chosen, [boxes, scores], fn_output_signature=tf.float32)
    images = tf.reshape(tf.tile(tf.expand_dims(tf.range(tf.shape(x)[0]), 1), [1, 24]), [-1])
    x = tf.image.crop_and_resize(x, tf.reshape(boxes, [-1, 4]), images, [14, 14])
    for _ in range(3):
        x = convolutional.conv2d(x, 64, 3, padding="same")
        x = tf.nn.relu(normalization.batch_normalization(x, training=False))
    x = convolutional.conv2d_transpose(x, 64, 2, 2, activation=tf.nn.relu)
    return tf.reshape(convolutional.conv2d(x, 21, 1, activation=tf.sigmoid), [-1, 24, 28, 28, 21])


# Motion and graphs.


def sampled(image, coordinates):
    """Samples images at fractional positions, as public code of RAFT and of spatial transformers does by `gather_nd`."""
    height, width = int(image.shape[1]), int(image.shape[2])
    x, y = tf.unstack(coordinates, axis=-1)
    left, top = tf.floor(x), tf.floor(y)
    first = tf.zeros_like(x, tf.int32) + tf.reshape(tf.range(tf.shape(image)[0]), [-1, 1, 1])

    def corner(x, y):
        inside = tf.cast((x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1), tf.float32)
        x, y = tf.clip_by_value(tf.cast(x, tf.int32), 0, width - 1), tf.clip_by_value(tf.cast(y, tf.int32), 0, height - 1)
        return tf.gather_nd(image, tf.stack([first, y, x], -1)) * inside[..., None]

    right, below = (x - left)[..., None], (y - top)[..., None]
    upper = corner(left, top) * (1 - right) + corner(left + 1, top) * right
    return upper * (1 - below) + (corner(left, top + 1) * (1 - right) + corner(left + 1, top + 1) * right) * below


def all_pairs_flow(a, b):
    """Refines a flow as RAFT: correlations of all pairs, a pyramid that is sampled around each position, three steps of a convolutional GRU."""

    def features(x, last):
        for layer, channels in enumerate((32, 64, 96)):
            x = tf.nn.relu(convolutional.conv2d(x, channels, 3, 2, padding="same", name=f"{last}_{layer}", reuse=tf1.AUTO_REUSE))
        return convolutional.conv2d(x, 128, 1, name=last, reuse=tf1.AUTO_REUSE)

    pairs = tf.matmul(*(tf.reshape(features(image, "features"), [-1, 320, 128]) for image in (a, b)), transpose_b=True) / tf.sqrt(128.0)
    pyramid = [tf.reshape(pairs, [-1, 16, 20, 1])]
    for _ in range(2):
        pyramid.append(tf1.nn.avg_pool2d(pyramid[-1], 2, 2, "VALID"))
    hidden, context = tf.split(features(a, "context"), 2, -1)
    hidden, context = tf.tanh(hidden), tf.nn.relu(context)
    x, y = tf.meshgrid(tf.range(20.0), tf.range(16.0))
    start = tf.tile(tf.stack([x, y], -1)[None], [tf.shape(a)[0], 1, 1, 1])
    around = tf.stack(tf.meshgrid(tf.range(-3.0, 4.0), tf.range(-3.0, 4.0), indexing="ij"), -1)[None]
    places = start
    for _ in range(3):
        centres = tf.reshape(places, [-1, 1, 1, 2])
        found = [tf.reshape(sampled(level, centres / 2**i + around), [-1, 16, 20, 49]) for i, level in enumerate(pyramid)]

        def layer(x, channels, size, name, activation=tf.nn.relu):
            return convolutional.conv2d(x, channels, size, padding="same", activation=activation, name=name, reuse=tf1.AUTO_REUSE)

        flow = places - start
        motion = layer(tf.concat([layer(tf.concat(found, -1), 96, 1, "c1"), layer(flow, 32, 7, "f1")], -1), 62, 3, "m1")
        inputs = tf.concat([context, motion, flow], -1)
        for size in ((1, 5), (5, 1)):
            both = tf.concat([hidden, inputs], -1)
            z, r = layer(both, 64, size, f"z{size[0]}", tf.sigmoid), layer(both, 64, size, f"r{size[0]}", tf.sigmoid)
            new = layer(tf.concat([r * hidden, inputs], -1), 64, size, f"q{size[0]}", tf.tanh)
            hidden = (1 - z) * hidden + z * new
        places = places + layer(layer(hidden, 128, 3, "d1"), 2, 3, "d2", None)
    mask = tf.nn.softmax(tf.reshape(layer(layer(hidden, 128, 3, "u1"), 64 * 9, 1, "u2", None), [-1, 16, 20, 8, 8, 9]))
    near = tf.reshape(tf1.extract_image_patches(8 * (places - start), [1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], "SAME"), [-1, 16, 20, 1, 1, 9, 2])
    return tf.reshape(tf.transpose(tf.reduce_sum(mask[..., None] * near, 5), [0, 1, 3, 2, 4, 5]), [-1, 128, 160, 2])


def message_passing(nodes):
    """Sends messages along 4096 fixed edges between 512 nodes: gathered ends, sums and maxima by segment, layer norms."""
    weights, random = Weights(11), np.random.default_rng(2)
    senders, receivers = random.integers(0, 512, (2, 4096)).astype(np.int32)

    def perceptron(x, outputs):
        x = tf.nn.relu(tf.matmul(x, he(weights, int(x.shape[-1]), 128)) + weights.normal((128,), 0.1))
        x = tf.matmul(x, he(weights, 128, outputs)) + weights.normal((outputs,), 0.1)
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, weights.normal((outputs,), 0.1), weights.normal((outputs,), 1.0), 1e-5)

    count = tf.shape(nodes)[0]
    first = tf.expand_dims(tf.range(count) * 512, 1)
    senders, receivers = (tf.reshape(ids + first, [-1]) for ids in (senders, receivers))
    x = perceptron(tf.reshape(nodes, [-1, 16]), 64)
    edges = perceptron(tf.gather(x, senders) - tf.gather(x, receivers), 64)
    for _ in range(3):
        edges = edges + perceptron(tf.concat([edges, tf.gather(x, senders), tf.gather(x, receivers)], 1), 64)
        total = tf.math.unsorted_segment_sum(edges, receivers, count * 512)
        mean = tf.math.unsorted_segment_mean(edges, senders, count * 512)
        x = x + perceptron(tf.concat([x, total, mean], 1), 64)
    graphs = tf.repeat(tf.range(count), 512)
    pooled = tf.concat([tf.math.segment_max(x, graphs), tf.math.segment_mean(x, graphs)], 1)
    return tf.matmul(pooled, he(weights, 128, 12))


SCENE_NETWORKS: dict[str, Callable[[], Network]] = {
    "FeaturePyramid": lambda: of_variables(feature_pyramid, [Input((256, 256, 3))]),
    "Retina": lambda: of_variables(retina, [Input((256, 256, 3))]),
    "MaskHead": lambda: of_variables(mask_head, [Input((256, 256, 3))]),
    "AllPairsFlow": lambda: of_variables(all_pairs_flow, [Input((128, 160, 3)), Input((128, 160, 3))]),
    "MessagePassing": lambda: of_graph(message_passing, [Input((512, 16))]),
}
