"""Networks in Keras' own layers: other families and sizes of `keras.applications`, games, video, retrieval and documents.

Weights have fixed seeds.
"""
from collections.abc import Callable

import tensorflow as tf

from zoo import Network, application, keras, layers, of_keras


def embedded(length: int, tokens: int, width: int):
    """Returns an input of tokens and its embedding with that of the positions."""
    x = keras.Input((length,), dtype="int32")
    positions = layers.Embedding(length, width)(tf.range(length))
    return x, layers.Embedding(tokens, width)(x) + positions


def convolved(x, filters: int, size=3, strides=1, activation: str | None = "relu"):
    """Returns a convolution with batch norm."""
    x = layers.Conv2D(filters, size, strides, "same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


def board_game(size=19, planes=17, filters=96, depth=8) -> Network:
    """The residual tower of AlphaZero with its policy and value."""
    x = inputs = keras.Input((size, size, planes))
    x = convolved(x, filters)
    for _ in range(depth):
        x = layers.ReLU()(x + convolved(convolved(x, filters), filters, activation=None))
    policy = layers.Dense(size * size + 1, activation="softmax")(layers.Flatten()(convolved(x, 2, 1)))
    value = layers.Dense(1, activation="tanh")(layers.Dense(256, activation="relu")(layers.Flatten()(convolved(x, 1, 1))))
    return of_keras(keras.Model(inputs, layers.Concatenate()([policy, value])))


def small_densenet(size=32, growth=12, depth=12) -> Network:
    """A DenseNet of CIFAR: concatenations of twelve channels."""
    x = inputs = keras.Input((size, size, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(x)
    for block in range(3):
        for _ in range(depth):
            y = layers.ReLU()(layers.BatchNormalization()(x))
            x = layers.Concatenate()([x, layers.Conv2D(growth, 3, padding="same", use_bias=False)(y)])
        if block < 2:
            x = layers.ReLU()(layers.BatchNormalization()(x))
            x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1], 1, use_bias=False)(x))
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return of_keras(keras.Model(inputs, layers.Dense(10, activation="softmax")(x)))


def wide_residual(size=32, width=4, depth=2) -> Network:
    """A wide ResNet of CIFAR: norm and activation before each convolution."""
    x = inputs = keras.Input((size, size, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(x)
    for filters, strides in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
        for each in range(depth):
            stride = strides if each == 0 else 1
            y = layers.ReLU()(layers.BatchNormalization()(x))
            short = layers.Conv2D(filters, 1, stride, use_bias=False)(y) if each == 0 else x
            y = layers.Conv2D(filters, 3, stride, "same", use_bias=False)(y)
            y = layers.Dropout(0.3)(layers.ReLU()(layers.BatchNormalization()(y)))
            x = layers.Add()([short, layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)])
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    return of_keras(keras.Model(inputs, layers.Dense(100, activation="softmax")(x)))


def plain_unet(size=192, width=24, depth=4) -> Network:
    """A U-Net of batch norms with doubled images instead of transposed convolutions."""
    x = inputs = keras.Input((size, size, 1))
    skips = []
    for level in range(depth):
        x = convolved(convolved(x, width << level), width << level)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = convolved(x, width << depth)
    for level in reversed(range(depth)):
        x = layers.Concatenate()([layers.UpSampling2D(interpolation="bilinear")(x), skips[level]])
        x = convolved(convolved(x, width << level), width << level)
    return of_keras(keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(x)))


def squeezed_resnext(size=160, groups=16) -> Network:
    """Grouped residual blocks with squeeze and excitation."""
    x = inputs = keras.Input((size, size, 3))
    x = layers.MaxPooling2D(3, 2, "same")(convolved(x, 32, 7, 2))
    for filters, strides in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)):
        y = convolved(x, filters, 1)
        y = layers.Conv2D(filters, 3, strides, "same", groups=groups, use_bias=False)(y)
        y = convolved(layers.ReLU()(layers.BatchNormalization()(y)), 2 * filters, 1, activation=None)
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        gate = layers.Conv2D(2 * filters, 1, activation="sigmoid")(layers.Conv2D(filters // 8, 1, activation="relu")(gate))
        short = x if x.shape[-1] == 2 * filters and strides == 1 else convolved(x, 2 * filters, 1, strides, None)
        x = layers.ReLU()(layers.Multiply()([y, gate]) + short)
    return of_keras(keras.Model(inputs, layers.Dense(100)(layers.GlobalAveragePooling2D()(x))))


def weather(frames=8, size=32, filters=24) -> Network:
    """Two layers of ConvLSTM over frames."""
    x = inputs = keras.Input((frames, size, size, 1))
    x = layers.ConvLSTM2D(filters, 5, padding="same", return_sequences=True)(x)
    x = layers.ConvLSTM2D(filters, 3, padding="same")(layers.BatchNormalization()(x))
    return of_keras(keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x)))


def clips(frames=16, size=56) -> Network:
    """A small network of separated convolutions over space and time, as R(2+1)D."""
    x = inputs = keras.Input((frames, size, size, 3))
    for filters, strides in ((24, 1), (48, 2), (96, 2)):
        x = layers.Conv3D(filters, (1, 3, 3), (1, strides, strides), "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv3D(filters, (3, 1, 1), (strides, 1, 1), "same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return of_keras(keras.Model(inputs, layers.Dense(50, activation="softmax")(layers.GlobalAveragePooling3D()(x))))


def next_item(length=50, items=5000, width=64, heads=2, depth=2) -> Network:
    """A causal transformer over what a user saw, as SASRec: layer norms in front, short sequences."""
    inputs, x = embedded(length, items, width)
    for _ in range(depth):
        y = layers.LayerNormalization(epsilon=1e-8)(x)
        x = x + layers.MultiHeadAttention(heads, width // heads)(y, x, use_causal_mask=True)
        y = layers.Dense(width, activation="relu")(layers.LayerNormalization(epsilon=1e-8)(x))
        x = x + layers.Dense(width)(y)
    return of_keras(keras.Model(inputs, layers.Dense(items)(layers.LayerNormalization(epsilon=1e-8)(x[:, -1]))), tokens=(items,))


def small_bert(length=64, tokens=8000, width=312, heads=12, depth=4, inner=1200) -> Network:
    """An encoder of TinyBERT's sizes, whose heads have 26 channels."""
    inputs, x = embedded(length, tokens, width)
    for _ in range(depth):
        x = layers.LayerNormalization(epsilon=1e-12)(x + layers.MultiHeadAttention(heads, width // heads)(x, x))
        y = layers.Dense(width)(layers.Dense(inner, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-12)(x + y)
    return of_keras(keras.Model(inputs, layers.Dense(width, activation="tanh")(x[:, 0])), tokens=(tokens,))


def translator(source=40, target=30, tokens=6000, width=192, heads=6, depth=3) -> Network:
    """An encoder and a decoder with attention over what was read."""
    read, x = embedded(source, tokens, width)
    written, y = embedded(target, tokens, width)

    def inner(x):
        return layers.LayerNormalization()(x + layers.Dense(width)(layers.Dense(4 * width, activation="relu")(x)))

    for _ in range(depth):
        x = inner(layers.LayerNormalization()(x + layers.MultiHeadAttention(heads, width // heads)(x, x)))
    for _ in range(depth):
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(heads, width // heads)(y, y, use_causal_mask=True))
        y = inner(layers.LayerNormalization()(y + layers.MultiHeadAttention(heads, width // heads)(y, x)))
    return of_keras(keras.Model([read, written], layers.Dense(tokens, activation="softmax")(y)), tokens=(tokens, tokens))


def tasks(features=300, experts=8, tasks=3, width=256) -> Network:
    """A mixture of experts with a gate for each of several tasks, as MMoE."""
    inputs = keras.Input((features,))
    mixed = [layers.Dense(width // 2, activation="relu")(layers.Dense(width, activation="relu")(inputs)) for _ in range(experts)]
    stacked = layers.Lambda(lambda values: tf.stack(values, 1))(mixed)
    outputs = []
    for _ in range(tasks):
        gate = layers.Softmax()(layers.Dense(experts)(inputs))
        x = layers.Lambda(lambda pair: tf.reduce_sum(pair[0] * pair[1][:, :, None], 1))([stacked, gate])
        outputs.append(layers.Dense(1, activation="sigmoid")(layers.Dense(64, activation="relu")(x)))
    return of_keras(keras.Model(inputs, layers.Concatenate()(outputs)))


def speech_commands(frames=98, bands=40, width=64) -> Network:
    """Depthwise separable convolutions over a spectrogram, as DS-CNN."""
    x = inputs = keras.Input((frames, bands, 1))
    x = convolved(x, width, (10, 4), (2, 2))
    for _ in range(4):
        x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
        x = convolved(layers.ReLU()(layers.BatchNormalization()(x)), width, 1)
    return of_keras(keras.Model(inputs, layers.Dense(12, activation="softmax")(layers.GlobalAveragePooling2D()(x))))


def stacked_lstm(steps=80, width=320, depth=2, features=40) -> Network:
    """LSTMs in both directions over features, with a layer for each step."""
    x = inputs = keras.Input((steps, features))
    for _ in range(depth):
        x = layers.Bidirectional(layers.LSTM(width, return_sequences=True))(x)
    return of_keras(keras.Model(inputs, layers.TimeDistributed(layers.Dense(60, activation="softmax"))(x)))


def sentiment(length=200, tokens=20_000, width=128) -> Network:
    """Convolutions of three sizes beside each other over an embedded text, and a GRU."""
    inputs, x = embedded(length, tokens, width)
    sizes = [layers.MaxPooling1D(4)(layers.Conv1D(64, size, padding="same", activation="relu")(x)) for size in (2, 3, 5)]
    x = layers.GRU(96)(layers.Concatenate()(sizes))
    return of_keras(keras.Model(inputs, layers.Dense(5, activation="softmax")(layers.Dropout(0.5)(x))), tokens=(tokens,))


def mobile_detector(size=256) -> Network:
    """Inverted residuals with heads at four sizes of the image, as SSDLite."""
    x = inputs = keras.Input((size, size, 3))
    x = convolved(x, 16, 3, 2, "relu6")
    outputs = []
    for filters, strides in ((24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1), (160, 2), (160, 1)):
        y = convolved(x, 6 * x.shape[-1], 1, activation="relu6")
        y = layers.DepthwiseConv2D(3, strides, "same", use_bias=False)(y)
        y = convolved(layers.ReLU(6.0)(layers.BatchNormalization()(y)), filters, 1, activation=None)
        x = x + y if strides == 1 else y
        if strides == 1:
            for outs in (4, 21):
                y = layers.SeparableConv2D(6 * outs, 3, padding="same")(x)
                outputs.append(layers.Reshape((-1, outs))(y))
    boxes, classes = layers.Concatenate(axis=1)(outputs[::2]), layers.Concatenate(axis=1)(outputs[1::2])
    return of_keras(keras.Model(inputs, layers.Concatenate()([boxes, layers.Softmax()(classes)])))


def mobile_vit(size=192, width=96) -> Network:
    """Convolutions around transformers over folded patches, as MobileViT."""
    x = inputs = keras.Input((size, size, 3))
    for filters in (16, 32, 64, width):
        x = convolved(x, filters, 3, 2, "swish")
    for _ in range(2):
        y = layers.Conv2D(width, 1)(convolved(x, width, 3, 1, "swish"))
        side = y.shape[1] // 2
        y = layers.Reshape((side, 2, side, 2, width))(y)
        y = layers.Reshape((4, side * side, width))(layers.Permute((2, 4, 1, 3, 5))(y))
        for _ in range(2):
            z = layers.LayerNormalization()(y)
            y = y + layers.MultiHeadAttention(4, width // 4, attention_axes=(2,))(z, z)
            y = y + layers.Dense(width)(layers.Dense(2 * width, activation="swish")(layers.LayerNormalization()(y)))
        y = layers.Permute((3, 1, 4, 2, 5))(layers.Reshape((2, 2, side, side, width))(y))
        x = convolved(layers.Concatenate()([x, convolved(layers.Reshape((2 * side, 2 * side, width))(y), width, 1, 1, "swish")]), width, 3, 1, "swish")
    return of_keras(keras.Model(inputs, layers.Dense(100)(layers.GlobalAveragePooling2D()(x))))


def codebook(size=64, width=64, entries=256) -> Network:
    """An encoder, the nearest entries of a codebook, and a decoder, as VQ-VAE."""
    x = inputs = keras.Input((size, size, 3))
    for _ in range(2):
        x = layers.Conv2D(width, 4, 2, "same", activation="relu")(x)
    x = layers.Conv2D(width, 1)(x)

    class Nearest(layers.Layer):
        def build(self, shape):
            self.entries = self.add_weight(name="entries", shape=(entries, int(shape[-1])))

        def call(self, x):
            distances = tf.reduce_sum(x * x, -1, keepdims=True) + tf.reduce_sum(self.entries**2, 1) - 2 * tf.tensordot(x, self.entries, [[-1], [1]])
            return tf.gather(self.entries, tf.argmin(distances, -1))

    x = layers.ReLU()(layers.Conv2DTranspose(width, 4, 2, "same")(Nearest()(x)))
    return of_keras(keras.Model(inputs, layers.Conv2DTranspose(3, 4, 2, "same", activation="sigmoid")(x)))


KERAS_NETWORKS: dict[str, Callable[[], Network]] = {
    "BoardGame": board_game,
    "SmallDenseNet": small_densenet,
    "WideResidual": wide_residual,
    "PlainUNet": plain_unet,
    "SqueezedResNeXt": squeezed_resnext,
    "Weather": weather,
    "Clips": clips,
    "NextItem": next_item,
    "SmallBert": small_bert,
    "Translator": translator,
    "Tasks": tasks,
    "SpeechCommands": speech_commands,
    "StackedLstm": stacked_lstm,
    "Sentiment": sentiment,
    "MobileDetector": mobile_detector,
    "MobileVit": mobile_vit,
    "Codebook": codebook,
    "DenseNet169": lambda: application("DenseNet169"),
    "EfficientNetB2": lambda: application("EfficientNetB2", (260, 260, 3)),
    "EfficientNetV2S": lambda: application("EfficientNetV2S", (300, 300, 3)),
    "ResNet101V2": lambda: application("ResNet101V2"),
    "MobileNetV2Narrow": lambda: application("MobileNetV2", (160, 160, 3), alpha=0.35),
    "MobileNetHalf": lambda: application("MobileNet", (192, 192, 3), alpha=0.5),
    "Vgg19": lambda: application("VGG19"),
    "ConvNeXtSmall": lambda: application("ConvNeXtSmall"),
}
