"""Networks of layers of Keras that no pass and no kernel was written for, found in public repositories."""
from collections.abc import Callable

import tensorflow as tf

from public_zoo import normalized, of_layers, of_tensor
from zoo import Network, keras, layers, tf1


def high_resolution(x):
    """Branches of several resolutions that exchange their features by sums of resized images."""
    x = normalized(normalized(x, 64, 3, 2), 64, 3, 2)
    branches = [normalized(x, 32), normalized(x, 64, 3, 2)]

    def block(x, channels):
        y = normalized(normalized(x, channels), channels, activation=None)
        return layers.ReLU()(layers.Add()([x, y]))

    for stage in range(2):
        for _ in range(2):
            branches = [block(x, 32 << i) for i, x in enumerate(branches)]
        fused = []
        for i in range(len(branches)):
            parts = []
            for j, y in enumerate(branches):
                if j > i:
                    y = layers.UpSampling2D(2 ** (j - i), interpolation="nearest")(normalized(y, 32 << i, 1, activation=None))
                for step in range(j, i):
                    y = normalized(y, 32 << i if step == i - 1 else 32 << j, 3, 2, activation=None if step == i - 1 else "relu")
                parts.append(y)
            fused.append(layers.ReLU()(layers.Add()(parts)))
        branches = fused + ([normalized(fused[-1], 32 << len(fused), 3, 2)] if stage == 0 else [])
    up = [branches[0]] + [layers.UpSampling2D(2**i, interpolation="bilinear")(y) for i, y in enumerate(branches) if i]
    return layers.Conv2D(17, 1)(normalized(layers.Concatenate()(up), 224, 1))


def ghost(x):
    """Ghost modules: half of the channels by cheap depthwise convolutions of the other half."""
    def module(x, channels, relu=True):
        primary = normalized(x, channels // 2, 1, activation="relu" if relu else None)
        cheap = layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(primary))
        return layers.Concatenate()([primary, layers.ReLU()(cheap) if relu else cheap])

    def excited(x):
        s = layers.GlobalAveragePooling2D(keepdims=True)(x)
        s = layers.Conv2D(x.shape[-1], 1)(layers.ReLU()(layers.Conv2D(x.shape[-1] // 4, 1)(s)))
        return layers.Multiply()([x, layers.ReLU(6.0)(s + 3.0) / 6.0])

    x = normalized(x, 16, 3, 2)
    for inner, channels, size, strides, se in ((16, 16, 3, 1, 0), (48, 24, 3, 2, 0), (72, 24, 3, 1, 0), (72, 40, 5, 2, 1), (120, 40, 5, 1, 1),
                                               (240, 80, 3, 2, 0), (200, 80, 3, 1, 0), (480, 112, 3, 1, 1), (672, 160, 5, 2, 1), (960, 160, 5, 1, 1)):
        y = module(x, inner)
        if strides == 2:
            y = layers.BatchNormalization()(layers.DepthwiseConv2D(size, 2, padding="same", use_bias=False)(y))
        y = module(excited(y) if se else y, channels, False)
        if strides == 2 or x.shape[-1] != channels:
            x = layers.BatchNormalization()(layers.DepthwiseConv2D(size, strides, padding="same", use_bias=False)(x))
            x = normalized(x, channels, 1, activation=None)
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D(keepdims=True)(normalized(x, 960, 1))
    return layers.Dense(1000)(layers.Flatten()(layers.Conv2D(1280, 1, activation="relu")(x)))


def conv_mixer(x):
    """Large depthwise convolutions with exact GELU before the norm."""
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(256, 7, 7)(x)))
    for _ in range(6):
        y = layers.BatchNormalization()(layers.Activation("gelu")(layers.DepthwiseConv2D(9, padding="same")(x)))
        x = layers.Add()([x, y])
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(256, 1)(x)))
    return layers.Dense(1000)(layers.GlobalAveragePooling2D()(x))


def faces(x):
    """ArcFace's residual network: norms first, parametric rectifiers, no bias."""
    def prelu(x):
        return layers.PReLU(shared_axes=[1, 2], alpha_initializer=keras.initializers.Constant(0.25))(x)
    x = prelu(normalized(x, 64, activation=None))
    for channels, count in ((64, 2), (128, 2), (256, 4), (512, 2)):
        for i in range(count):
            strides = 2 if i == 0 else 1
            y = layers.BatchNormalization()(x)
            y = normalized(prelu(normalized(y, channels, activation=None)), channels, 3, strides, activation=None)
            short = x
            if strides == 2 or x.shape[-1] != channels:
                short = normalized(x, channels, 1, strides, activation=None)
            x = layers.Add()([short, y])
    return layers.Dense(512)(layers.Flatten()(layers.BatchNormalization()(x)))


def tiny_yolo(x):
    """Tiny YOLO version 4: halves of channels, leaky rectifiers, boxes from grids."""
    def leaky(x, c, size=3, strides=1):
        return layers.LeakyReLU(0.1)(normalized(x, c, size, strides, activation=None))
    half = of_tensor(lambda x: tf.split(x, 2, axis=-1)[1], lambda s: (*s[:-1], s[-1] // 2))
    x = leaky(leaky(x, 32, 3, 2), 64, 3, 2)
    for c in (64, 128, 256):
        x = leaky(x, c)
        a = leaky(half(x), c // 2)
        b = leaky(a, c // 2)
        route = leaky(layers.Concatenate()([b, a]), c, 1)
        x = layers.MaxPool2D()(layers.Concatenate()([x, route]))
    x = y = leaky(leaky(x, 512), 256, 1)
    big = layers.Conv2D(255, 1)(leaky(x, 512))
    y = layers.Concatenate()([layers.UpSampling2D()(leaky(y, 128, 1)), route])
    small = layers.Conv2D(255, 1)(leaky(y, 256))

    def boxes(x):
        x = layers.Reshape((x.shape[1] * x.shape[2] * 3, 85))(x)
        return of_tensor(lambda x: tf.concat([tf.sigmoid(x[..., :2]), tf.exp(x[..., 2:4]), tf.sigmoid(x[..., 4:])], -1), lambda s: s)(x)
    return layers.Concatenate(axis=1)([boxes(big), boxes(small)])


def seg_net(x):
    """Encoder and decoder with bilinear resizing, pyramids of pooled features, softmax over channels."""
    for c, n in ((32, 1), (64, 2), (128, 2)):
        for _ in range(n):
            x = normalized(x, c)
        x = layers.MaxPool2D()(x)
    parts = [x]
    for bins in (1, 2, 4, 8):
        y = layers.AveragePooling2D(x.shape[1] // bins)(x)
        y = normalized(y, 32, 1)
        parts.append(of_tensor(lambda y, size=x.shape[1:3]: tf1.image.resize_bilinear(y, size, align_corners=True),
                               lambda s, size=x.shape[1:3]: (s[0], *size, s[-1]))(y))
    x = normalized(layers.Concatenate()(parts), 64)
    for c in (64, 32):
        x = normalized(layers.UpSampling2D(2, interpolation="bilinear")(x), c)
    return layers.Softmax()(layers.Conv2D(19, 1)(x))


def efficient_v2(x):
    """Fused inverted bottlenecks of EfficientNet version 2."""
    def silu(x, c, size=3, strides=1):
        return layers.Activation("swish")(normalized(x, c, size, strides, activation=None))
    x = silu(x, 24, 3, 2)
    for c, n, strides, e in ((24, 2, 1, 1), (48, 3, 2, 4), (64, 3, 2, 4)):
        for i in range(n):
            s = strides if i == 0 else 1
            y = silu(x, x.shape[-1] * e, 3, s)
            if e > 1:
                y = normalized(y, c, 1, activation=None)
            x = layers.Add()([x, y]) if s == 1 and x.shape[-1] == c else y
    for c, n, strides, e in ((128, 3, 2, 4), (160, 3, 1, 6)):
        for i in range(n):
            s = strides if i == 0 else 1
            y = silu(x, x.shape[-1] * e, 1)
            y = layers.Activation("swish")(layers.BatchNormalization()(layers.DepthwiseConv2D(3, s, padding="same", use_bias=False)(y)))
            g = layers.GlobalAveragePooling2D(keepdims=True)(y)
            g = layers.Conv2D(y.shape[-1], 1, activation="sigmoid")(layers.Conv2D(x.shape[-1] // 4, 1, activation="swish")(g))
            y = normalized(layers.Multiply()([y, g]), c, 1, activation=None)
            x = layers.Add()([x, y]) if s == 1 and x.shape[-1] == c else y
    return layers.Dense(1000)(layers.GlobalAveragePooling2D()(silu(x, 640, 1)))


def face_detector(x):
    """BlazeFace: separable convolutions of five columns with few channels, whose shortcut gets channels of zeros."""

    def block(x, channels: int, strides: int):
        y = layers.Conv2D(channels, 1)(layers.DepthwiseConv2D(5, strides, padding="same")(x))
        x = layers.MaxPool2D()(x) if strides == 2 else x
        missing = channels - x.shape[-1]
        if missing:
            x = of_tensor(lambda x: tf.pad(x, [[0, 0], [0, 0], [0, 0], [0, missing]]), lambda shape: (*shape[:-1], channels))(x)
        return layers.ReLU()(layers.Add()([x, y]))

    x = layers.Conv2D(24, 5, 2, padding="same", activation="relu")(x)
    widths = (24, 28, -32, 36, 42, -48, 56, 64, 72, 80, 88, -96, 96, 96, 96, 96)
    for channels in widths:
        x = block(x, abs(channels), 2 if channels < 0 else 1)
    return layers.Reshape((-1, 17))(layers.Conv2D(34, 1)(x))


def mobile_transformer(x):
    """MobileViT: attention over the positions that patches of four have in common, between convolutions."""

    def silu(x, channels: int, size=3, strides=1):
        return layers.Activation("swish")(normalized(x, channels, size, strides, activation=None))

    def inverted(x, channels: int, strides=1):
        y = layers.DepthwiseConv2D(3, strides, padding="same", use_bias=False)(silu(x, 4 * x.shape[-1], 1))
        y = normalized(layers.Activation("swish")(layers.BatchNormalization()(y)), channels, 1, activation=None)
        return layers.Add()([x, y]) if strides == 1 and x.shape[-1] == channels else y

    def attention(x, width: int, depth: int):
        height, columns, channels = x.shape[1:]
        y = layers.Conv2D(width, 1, use_bias=False)(silu(x, channels))
        y = layers.Permute((2, 4, 1, 3, 5))(layers.Reshape((height // 2, 2, columns // 2, 2, width))(y))
        y = layers.Reshape((4, height * columns // 4, width))(y)
        for _ in range(depth):
            z = layers.LayerNormalization()(y)
            y = layers.Add()([y, layers.MultiHeadAttention(4, width // 4)(z, z)])
            z = layers.Dense(2 * width, activation="swish")(layers.LayerNormalization()(y))
            y = layers.Add()([y, layers.Dense(width)(z)])
        y = layers.Reshape((2, 2, height // 2, columns // 2, width))(layers.LayerNormalization()(y))
        y = layers.Reshape((height, columns, width))(layers.Permute((3, 1, 4, 2, 5))(y))
        return silu(layers.Concatenate()([x, silu(y, channels, 1)]), channels)

    x = inverted(inverted(inverted(silu(x, 16, 3, 2), 32), 64, 2), 64)
    for channels, width in ((96, 144), (128, 192), (160, 240)):
        x = attention(inverted(x, channels, 2), width, 2)
    return layers.Dense(1000)(layers.GlobalAveragePooling2D()(silu(x, 640, 1)))


def vocoder(x):
    """HiFi-GAN: transposed convolutions of one dimension, and sums of dilated residual blocks."""

    def leaky(x):
        return layers.LeakyReLU(0.1)(x)

    x = layers.Conv1D(128, 7, padding="same")(x)
    for channels, strides in ((64, 8), (32, 8), (16, 2)):
        x = layers.Conv1DTranspose(channels, 2 * strides, strides, padding="same")(leaky(x))
        parts = []
        for size in (3, 7, 11):
            y = x
            for dilation in (1, 3):
                z = layers.Conv1D(channels, size, padding="same", dilation_rate=dilation)(leaky(y))
                y = layers.Add()([y, layers.Conv1D(channels, size, padding="same")(leaky(z))])
            parts.append(y)
        x = of_tensor(lambda parts: (parts[0] + parts[1] + parts[2]) / 3.0, lambda shapes: shapes[0])(parts)
    return layers.Conv1D(1, 7, padding="same", activation="tanh")(leaky(x))


def frames_to_come(x):
    """Recurrent convolutions over the frames of a video."""
    x = layers.BatchNormalization()(layers.ConvLSTM2D(32, 3, padding="same", return_sequences=True)(x))
    x = layers.ConvLSTM2D(32, 3, padding="same", return_sequences=True)(x)
    return layers.Conv3D(1, 3, padding="same", activation="sigmoid")(x)


LAYER_NETWORKS: dict[str, Callable[[], Network]] = {
    "HighResolution": lambda: of_layers(high_resolution, (256, 192, 3)),
    "Ghost": lambda: of_layers(ghost, (224, 224, 3)),
    "ConvMixer": lambda: of_layers(conv_mixer, (224, 224, 3)),
    "Faces": lambda: of_layers(faces, (112, 112, 3)),
    "TinyYolo": lambda: of_layers(tiny_yolo, (416, 416, 3)),
    "Pyramids": lambda: of_layers(seg_net, (256, 256, 3)),
    "FusedInverted": lambda: of_layers(efficient_v2, (224, 224, 3)),
    "FaceDetector": lambda: of_layers(face_detector, (128, 128, 3)),
    "MobileTransformer": lambda: of_layers(mobile_transformer, (256, 256, 3)),
    "Vocoder": lambda: of_layers(vocoder, (50, 80)),
    "FramesToCome": lambda: of_layers(frames_to_come, (6, 40, 40, 1)),
}
