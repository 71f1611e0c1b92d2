"""Networks that public repositories are known for, beside those of `zoo`: detection, segmentation, speech, video, text in images and others.

They are as wide and as deep as is needed for the times of their layers to count, not as their papers train them. Weights have fixed seeds.
"""
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from make_models import Weights
from zoo import Input, Network, keras, layers, of_graph, of_keras, tf1


def of_layers(build: Callable, shape: tuple[int, ...]) -> Network:
    """Returns a network of Keras, of which `build` makes the output from the input."""
    keras.utils.set_random_seed(1)
    image = keras.Input(shape)
    return of_keras(keras.Model(image, build(image)))


def normalized(x, channels: int, size=3, strides=1, activation="relu", **options):
    """A convolution with a batch norm and an activation."""
    x = layers.Conv2D(channels, size, strides, padding="same", use_bias=False, **options)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def of_tensor(function: Callable, shape: Callable):
    """A layer that computes a function of TensorFlow; `shape` maps the shape of its input to that of its output."""
    return layers.Lambda(function, output_shape=shape)


def he(weights: Weights, *shape: int):
    """Returns a filter or a matrix that keeps the variance of its input."""
    return weights.normal(shape, float(np.sqrt(2 / np.prod(shape[:-1]))))


# Images.


def shuffle_net(x):
    """Blocks of which half the channels pass by, and channels that are shuffled by a transposition."""

    def depthwise(x, strides: int):
        return layers.BatchNormalization()(layers.DepthwiseConv2D(3, strides, padding="same", use_bias=False)(x))

    def shuffled(x):
        height, width, channels = x.shape[1:]
        x = layers.Permute((1, 2, 4, 3))(layers.Reshape((height, width, 2, channels // 2))(x))
        return layers.Reshape((height, width, channels))(x)

    halves = of_tensor(lambda x: tf.split(x, 2, axis=-1), lambda shape: [(*shape[:-1], shape[-1] // 2)] * 2)
    x = layers.MaxPool2D(3, 2, padding="same")(normalized(x, 24, 3, 2))
    for channels, count in ((116, 4), (232, 8), (464, 4)):
        for block in range(count):
            if block == 0:
                left = normalized(depthwise(x, 2), channels // 2, 1)
                right = normalized(x, channels // 2, 1)
            else:
                left, right = halves(x)
                right = normalized(right, channels // 2, 1)
            right = normalized(depthwise(right, 2 if block == 0 else 1), channels // 2, 1)
            x = shuffled(layers.Concatenate()([left, right]))
    x = layers.GlobalAveragePooling2D()(normalized(x, 1024, 1))
    return layers.Dense(1000, activation="softmax")(x)


def squeeze_net(x):
    """Fire modules: a narrow convolution of one position, and two wide ones beside each other."""

    def fire(x, narrow: int, wide: int):
        x = layers.Conv2D(narrow, 1, activation="relu")(x)
        return layers.Concatenate()([layers.Conv2D(wide, size, padding="same", activation="relu")(x) for size in (1, 3)])

    x = layers.MaxPool2D(3, 2)(layers.Conv2D(64, 3, 2, activation="relu")(x))
    x = layers.MaxPool2D(3, 2)(fire(fire(x, 16, 64), 16, 64))
    x = layers.MaxPool2D(3, 2)(fire(fire(x, 32, 128), 32, 128))
    for narrow, wide in ((48, 192), (48, 192), (64, 256), (64, 256)):
        x = fire(x, narrow, wide)
    return layers.Softmax()(layers.GlobalAveragePooling2D()(layers.Conv2D(1000, 1, activation="relu")(x)))


def detector(x):
    """A single-shot detector: classes and boxes from five sizes of features of a MobileNetV2."""
    base = keras.applications.MobileNetV2(weights=None, include_top=False, input_tensor=x, alpha=0.75)
    features = [base.get_layer("block_13_expand_relu").output, base.output]
    for channels in (256, 128, 128):
        narrow = layers.Conv2D(channels // 2, 1, activation="relu")(features[-1])
        features.append(layers.Conv2D(channels, 3, 2, padding="same", activation="relu")(narrow))

    def heads(count: int):
        return layers.Concatenate(axis=1)([layers.Reshape((-1, count))(layers.Conv2D(6 * count, 3, padding="same")(each)) for each in features])
    return layers.Concatenate(axis=-1)([layers.Softmax()(heads(21)), heads(4)])


def segmentation(x):
    """Atrous spatial pyramid pooling behind the first blocks of a MobileNetV2, and bilinear steps back to the image's size."""
    base = keras.applications.MobileNetV2(weights=None, include_top=False, input_tensor=x)
    x = base.get_layer("block_6_expand_relu").output
    for _ in range(3):
        x = normalized(x, 192, dilation_rate=2)
    pooled = normalized(layers.GlobalAveragePooling2D(keepdims=True)(x), 128, 1)
    pooled = layers.UpSampling2D(x.shape[1], interpolation="bilinear")(pooled)
    branches = [normalized(x, 128, 1), *(normalized(x, 128, dilation_rate=rate) for rate in (3, 6, 9)), pooled]
    x = layers.UpSampling2D(2, interpolation="bilinear")(normalized(layers.Concatenate()(branches), 128, 1))
    return layers.UpSampling2D(4, interpolation="bilinear")(layers.Conv2D(21, 1)(normalized(x, 64)))


def attention_modules(x):
    """Residual blocks with attention to channels (by means and maxima through shared layers) and to positions."""
    over_channels = of_tensor(
        lambda x: tf.concat([tf.reduce_mean(x, -1, keepdims=True), tf.reduce_max(x, -1, keepdims=True)], -1), lambda shape: (*shape[:-1], 2)
    )
    x = normalized(x, 32, 3, 2)
    for channels, strides in ((64, 2), (64, 1), (128, 2), (128, 1), (256, 2)):
        y = normalized(normalized(x, channels, 3, strides), channels, activation=None)
        first, second = layers.Dense(channels // 8, activation="relu"), layers.Dense(channels)
        pooled = [pool(keepdims=True)(y) for pool in (layers.GlobalAveragePooling2D, layers.GlobalMaxPooling2D)]
        y = layers.Multiply()([y, layers.Activation("sigmoid")(layers.Add()([second(first(each)) for each in pooled]))])
        y = layers.Multiply()([y, layers.Conv2D(1, 7, padding="same", activation="sigmoid")(over_channels(y))])
        if strides != 1 or x.shape[-1] != channels:
            x = normalized(x, channels, 1, strides, activation=None)
        x = layers.ReLU()(layers.Add()([x, y]))
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def instance_normalized(x, weights: Weights, channels: int):
    mean, variance = tf1.nn.moments(x, [1, 2], keep_dims=True)
    return (x - mean) / tf.sqrt(variance + 1e-5) * weights.normal([channels], 1.0) + weights.normal([channels], 1.0)


def image_translation(x):
    """The generator of a CycleGAN: reflected borders, instance norms, residual blocks and transposed convolutions."""
    weights = Weights(5)

    def convolution(x, size: int, inputs: int, outputs: int, strides=1, padding="VALID"):
        return tf1.nn.conv2d(x, he(weights, size, size, inputs, outputs), [1, strides, strides, 1], padding)

    def reflected(x, border: int):
        return tf.pad(x, [[0, 0], [border, border], [border, border], [0, 0]], "REFLECT")

    x = tf.nn.relu(instance_normalized(convolution(reflected(x, 3), 7, 3, 32), weights, 32))
    for channels in (64, 128):
        x = tf.nn.relu(instance_normalized(convolution(x, 3, channels // 2, channels, 2, "SAME"), weights, channels))
    for _ in range(4):
        y = tf.nn.relu(instance_normalized(convolution(reflected(x, 1), 3, 128, 128), weights, 128))
        x = x + instance_normalized(convolution(reflected(y, 1), 3, 128, 128), weights, 128)
    for channels, size in ((64, 64), (32, 128)):
        kernel = weights.normal((3, 3, channels, 2 * channels), float(np.sqrt(1 / (9 * channels))))
        x = tf1.nn.conv2d_transpose(x, kernel, tf.stack([tf.shape(x)[0], size, size, channels]), [1, 2, 2, 1], "SAME")
        x = tf.nn.relu(instance_normalized(tf.ensure_shape(x, [None, size, size, channels]), weights, channels))
    return tf.tanh(convolution(reflected(x, 3), 7, 32, 3))


def upscaling(x):
    """Residual blocks without norms, whose branches are scaled, and pixels from channels."""
    weights = Weights(5)

    def convolution(x, inputs: int, outputs: int):
        return tf1.nn.conv2d(x, he(weights, 3, 3, inputs, outputs), [1, 1, 1, 1], "SAME") + weights.normal((outputs,), 0.01)

    x = features = convolution(x, 3, 64)
    for _ in range(4):
        x = x + 0.1 * convolution(tf.nn.relu(convolution(x, 64, 64)), 64, 64)
    x = convolution(convolution(x, 64, 64) + features, 64, 256)
    return tf.clip_by_value(convolution(tf1.depth_to_space(x, 2), 64, 3) + 0.5, 0.0, 1.0)


def face_landmarks(x):
    """The last network of MTCNN: parametric rectifiers written as two rectifiers."""
    weights = Weights(5)

    def rectified(x, channels: int):
        slope = weights.normal((channels,), 0.2)
        return tf.nn.relu(x) - slope * tf.nn.relu(-x)

    def dense(x, inputs: int, outputs: int):
        return tf1.nn.xw_plus_b(x, he(weights, inputs, outputs), weights.normal((outputs,), 0.1))

    for size, inputs, outputs, pool in ((3, 3, 32, 3), (3, 32, 64, 3), (3, 64, 64, 2), (2, 64, 128, 0)):
        x = tf1.nn.conv2d(x, he(weights, size, size, inputs, outputs), [1, 1, 1, 1], "VALID")
        x = rectified(tf1.nn.bias_add(x, weights.normal((outputs,), 0.1)), outputs)
        if pool:
            x = tf1.nn.max_pool(x, [1, pool, pool, 1], [1, 2, 2, 1], "SAME" if pool == 3 else "VALID")
    flat = int(np.prod(x.shape[1:]))
    x = rectified(dense(tf.reshape(x, [-1, flat]), flat, 256), 256)
    return tf.concat([tf.nn.softmax(dense(x, 256, 2)), dense(x, 256, 14)], 1)


def window_attention(x):
    """Two stages of a Swin transformer: attention in windows, which every second block shifts, with a bias for each relative position."""
    weights = Weights(5)
    window = 7

    def layer_normalized(x, width: int):
        mean = tf.reduce_mean(x, -1, keepdims=True)
        variance = tf.reduce_mean(tf.math.squared_difference(x, mean), -1, keepdims=True)
        return (x - mean) * tf1.rsqrt(variance + 1e-5) * weights.normal((width,), 1.0) + weights.normal((width,), 0.1)

    def dense(x, inputs: int, outputs: int):
        return tf.tensordot(x, weights.normal((inputs, outputs), 0.05), 1) + weights.normal((outputs,), 0.1)

    def attention(x, side: int, width: int, heads: int, is_shifted: bool):
        count, area = side // window, window * window
        x = tf.reshape(x, [-1, count, window, count, window, width])
        x = tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, area, width])
        projected = tf.reshape(dense(x, width, 3 * width), [-1, area, 3, heads, width // heads])
        query, key, value = tf.unstack(tf.transpose(projected, [2, 0, 3, 1, 4]))
        scores = tf.matmul(query * (width // heads) ** -0.5, key, transpose_b=True) + weights.normal((1, heads, area, area), 0.1)
        if is_shifted:
            mask = weights.normal((1, count * count, 1, area, area), 0.1)
            scores = tf.reshape(tf.reshape(scores, [-1, count * count, heads, area, area]) + mask, [-1, heads, area, area])
        x = tf.reshape(tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3]), [-1, area, width])
        x = tf.reshape(dense(x, width, width), [-1, count, count, window, window, width])
        return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, side, side, width])

    def block(x, side: int, width: int, heads: int, is_shifted: bool):
        y = layer_normalized(x, width)
        y = attention(tf.roll(y, [-3, -3], [1, 2]) if is_shifted else y, side, width, heads, is_shifted)
        x = x + (tf.roll(y, [3, 3], [1, 2]) if is_shifted else y)
        y = dense(layer_normalized(x, width), width, 4 * width)
        y = 0.5 * y * (1 + tf.math.erf(y / float(np.sqrt(2))))
        return x + dense(y, 4 * width, width)

    x = tf1.nn.conv2d(x, he(weights, 4, 4, 3, 96), [1, 4, 4, 1], "VALID") + weights.normal((96,), 0.1)
    for is_shifted in (False, True):
        x = block(x, 56, 96, 3, is_shifted)
    x = tf.concat([x[:, row::2, column::2] for row, column in ((0, 0), (1, 0), (0, 1), (1, 1))], -1)
    x = tf.tensordot(layer_normalized(x, 384), weights.normal((384, 192), 0.05), 1)
    for is_shifted in (False, True):
        x = block(x, 28, 192, 6, is_shifted)
    return tf.matmul(tf.reduce_mean(layer_normalized(x, 192), [1, 2]), weights.normal((192, 1000), 0.05))


# Sequences, sounds and videos.


def text_in_images(x):
    """Convolutions whose columns two bidirectional LSTMs read."""
    for channels, pool in ((64, (2, 2)), (128, (2, 2)), (256, None), (256, (2, 1)), (512, None), (512, (2, 1))):
        x = normalized(x, channels)
        x = layers.MaxPool2D(pool)(x) if pool else x
    x = layers.Reshape((-1, 512))(layers.Conv2D(512, (2, 1), activation="relu")(x))
    for _ in range(2):
        x = layers.Bidirectional(layers.LSTM(256, return_sequences=True))(x)
    return layers.Dense(37, activation="softmax")(x)


def heartbeats(x):
    """A residual network of wide one-dimensional convolutions, with norms in front of them."""

    def activated(x):
        return layers.ReLU()(layers.BatchNormalization()(x))

    x = activated(layers.Conv1D(64, 16, padding="same", use_bias=False)(x))
    for block in range(8):
        channels, strides = 64 * (1 + block // 2), 1 + block % 2
        y = layers.Conv1D(channels, 16, padding="same", strides=strides, use_bias=False)(activated(x))
        y = layers.Conv1D(channels, 16, padding="same", use_bias=False)(activated(y))
        x = layers.MaxPool1D(2, padding="same")(x) if strides == 2 else x
        x = layers.Conv1D(channels, 1)(x) if x.shape[-1] != channels else x
        x = layers.Add()([x, y])
    return layers.Dense(5, activation="sigmoid")(layers.GlobalAveragePooling1D()(activated(x)))


def actions(x):
    """Convolutions of volumes over the frames of a video."""
    for channels, count, pool in ((32, 1, (1, 2, 2)), (64, 1, 2), (128, 2, 2), (128, 2, 2)):
        for _ in range(count):
            x = layers.Conv3D(channels, 3, padding="same", activation="relu")(x)
        x = layers.MaxPool3D(pool)(x)
    return layers.Dense(101, activation="softmax")(layers.Dense(256, activation="relu")(layers.Flatten()(x)))


def source_separation(sound):
    """Conv-TasNet: depthwise convolutions of doubling dilation, with norms over all of the sound."""
    weights = Weights(5)

    def normalized_over_all(x, channels: int):
        mean, variance = tf1.nn.moments(x, [1, 2], keep_dims=True)
        return weights.normal((channels,), 1.0) * (x - mean) / tf.sqrt(variance + 1e-8) + weights.normal((channels,), 0.1)

    def rectified(x):
        return tf.maximum(x, 0.0) + 0.25 * tf.minimum(x, 0.0)

    def pointwise(x, inputs: int, outputs: int):
        return tf1.nn.conv1d(x, he(weights, 1, inputs, outputs), 1, "SAME")

    encoded = tf.nn.relu(tf1.nn.conv1d(sound, he(weights, 16, 1, 256), 8, "VALID"))
    x, skipped = pointwise(normalized_over_all(encoded, 256), 256, 128), 0
    for layer in range(6):
        y = normalized_over_all(rectified(pointwise(x, 128, 256)), 256)
        y = tf1.nn.depthwise_conv2d(tf.expand_dims(y, 1), he(weights, 1, 3, 256, 1), [1, 1, 1, 1], "SAME", rate=[1, 2**layer])
        y = normalized_over_all(rectified(tf.squeeze(y, [1])), 256)
        x, skipped = x + pointwise(y, 256, 128), skipped + pointwise(y, 256, 128)
    return tf.sigmoid(pointwise(rectified(skipped), 128, 256)) * encoded


def bert(tokens, mask):
    """Three layers of BERT in its own spelling: two-dimensional products, a mask of large numbers, batch norm's formula for layer norms."""
    weights = Weights(5)
    width, heads, length = 768, 12, 128

    def dense(x, inputs: int, outputs: int):
        return tf1.nn.bias_add(tf.matmul(x, weights.normal((inputs, outputs), 0.02)), weights.normal((outputs,), 0.02))

    def layer_normalized(x):
        mean, variance = tf1.nn.moments(x, [-1], keep_dims=True)
        scale = tf1.rsqrt(variance + 1e-12) * weights.normal((width,), 0.1)
        return x * scale + (weights.normal((width,), 0.1) - mean * scale)

    def gelu(x):
        return x * (0.5 * (1.0 + tf.tanh(float(np.sqrt(2 / np.pi)) * (x + 0.044715 * tf.pow(x, 3)))))

    count = tf.shape(tokens)[0]

    def by_head(x):
        return tf.transpose(tf.reshape(x, [count, length, heads, width // heads]), [0, 2, 1, 3])

    embedded = tf.reshape(tf.gather(weights.normal((3000, width), 0.02), tf.reshape(tokens, [-1])), [count, length, width])
    positions = tf.slice(weights.normal((512, width), 0.02), [0, 0], [length, width])
    x = tf.reshape(layer_normalized(embedded + tf.reshape(positions, [1, length, width])), [-1, width])
    visible = tf.reshape(tf.cast(mask, tf.float32), [count, 1, length]) * tf.ones([count, length, 1])
    masked = (1.0 - tf.expand_dims(visible, [1])) * -10000.0
    for _ in range(3):
        query, key, value = (by_head(dense(x, width, width)) for _ in range(3))
        scores = tf.matmul(query, key, transpose_b=True) * float(1 / np.sqrt(width // heads))
        context = tf.matmul(tf.nn.softmax(scores + masked), value)
        context = tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [count * length, width])
        x = layer_normalized(dense(context, width, width) + x)
        x = layer_normalized(dense(gelu(dense(x, width, 4 * width)), 4 * width, width) + x)
    first = tf.squeeze(tf.reshape(x, [count, length, width])[:, 0:1, :], axis=1)
    return tf.tanh(dense(first, width, width))


PUBLIC_NETWORKS: dict[str, Callable[[], Network]] = {
    "ShuffleNet": lambda: of_layers(shuffle_net, (224, 224, 3)),
    "SqueezeNet": lambda: of_layers(squeeze_net, (227, 227, 3)),
    "Detector": lambda: of_layers(detector, (224, 224, 3)),
    "Segmentation": lambda: of_layers(segmentation, (224, 224, 3)),
    "AttentionModules": lambda: of_layers(attention_modules, (128, 128, 3)),
    "ImageTranslation": lambda: of_graph(image_translation, [Input((128, 128, 3))]),
    "Upscaling": lambda: of_graph(upscaling, [Input((64, 64, 3))]),
    "FaceLandmarks": lambda: of_graph(face_landmarks, [Input((48, 48, 3))]),
    "WindowAttention": lambda: of_graph(window_attention, [Input((224, 224, 3))]),
    "TextInImages": lambda: of_layers(text_in_images, (32, 128, 1)),
    "Heartbeats": lambda: of_layers(heartbeats, (1024, 1)),
    "Actions": lambda: of_layers(actions, (8, 56, 56, 3)),
    "SourceSeparation": lambda: of_graph(source_separation, [Input((8000, 1))]),
    "Bert": lambda: of_graph(bert, [Input((128,), 3000), Input((128,), 2)]),
}
