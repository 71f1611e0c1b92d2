"""Convolutions and their gradients in other types than float32: beside TensorFlow, and beside float32."""

import numpy as np
import pytest

import flowmill

STEPS = {"plain": ([1, 1], "SAME", [1, 1]), "strided": ([2, 1], "VALID", [1, 1]), "dilated": ([1, 1], "SAME", [2, 1])}


def planes(tf, image, filters, gradient, steps):
    (a, b), padding, (c, d) = steps
    options = {"strides": [1, a, b, 1], "padding": padding, "dilations": [1, c, d, 1]}
    raw = tf.raw_ops
    y = raw.Conv2D(input=image, filter=filters, **options)
    g = gradient(y)
    return y, raw.Conv2DBackpropInput(input_sizes=tf.shape(image), filter=filters, out_backprop=g, **options), raw.Conv2DBackpropFilter(
        input=image, filter_sizes=tf.shape(filters), out_backprop=g, **options)


def channels(tf, image, filters, gradient, steps):
    (a, _), padding, _ = steps
    options = {"strides": [1, a, a, 1], "padding": padding}
    raw = tf.raw_ops
    y = raw.DepthwiseConv2dNative(input=image, filter=filters, **options)
    g = gradient(y)
    return y, raw.DepthwiseConv2dNativeBackpropInput(input_sizes=tf.shape(image), filter=filters, out_backprop=g, **options), raw.DepthwiseConv2dNativeBackpropFilter(
        input=image, filter_sizes=tf.shape(filters), out_backprop=g, **options)


def volumes(tf, image, filters, gradient, steps):
    (a, b), padding, _ = steps
    options = {"strides": [1, a, b, 1, 1], "padding": padding}
    raw = tf.raw_ops
    y = raw.Conv3D(input=image, filter=filters, **options)
    g = gradient(y)
    return y, raw.Conv3DBackpropInputV2(input_sizes=tf.shape(image), filter=filters, out_backprop=g, **options), raw.Conv3DBackpropFilterV2(
        input=image, filter_sizes=tf.shape(filters), out_backprop=g, **options)


KINDS = {
    "planes": (planes, [3, 17, 19, 6], [3, 5, 6, 10]),
    "one channel": (planes, [2, 30, 30, 1], [5, 5, 1, 4]),
    "channels": (channels, [2, 17, 19, 6], [3, 3, 6, 2]),
    "volumes": (volumes, [2, 7, 9, 8, 3], [3, 2, 3, 3, 5]),
}


def results(tf, kind, dtype, steps, count=3):
    """The convolution and its two gradients as float64, or the first of these, of inputs that float16 and bfloat16 hold."""
    build, image, filters = KINDS[kind]
    random = np.random.default_rng(3)
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = (tf.cast(tf.placeholder(tf.float32, shape), getattr(tf, dtype)) for shape in (image, filters))
        values = [random.integers(-8, 9, shape) / 8 for shape in (image, filters)]

        def gradient(y):
            """Small numbers that depend on the position alone."""
            count = tf.size(y)
            return tf.reshape(tf.cast(tf.range(count) * 7 % 17 - 8, y.dtype), tf.shape(y))

        outputs = build(tf, x, w, gradient, steps)
        feeds = dict(zip((x.op.inputs[0], w.op.inputs[0]), values))
        return session.run([tf.cast(y, tf.float64) for y in outputs[:count]], feeds)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_float64_is_that_of_tensorflow(tf1, kind, steps):
    # TensorFlow has no gradients of dilated planes on CPUs.
    count = 1 if kind in ("planes", "one channel") and steps == STEPS["dilated"] else 3
    for mine, theirs in zip(results(flowmill, kind, "float64", steps), results(tf1, kind, "float64", steps, count)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_narrow_types_round_what_float64_gives(kind, steps, dtype):
    step = 2.0 ** -(10 if dtype == "float16" else 7)
    for narrow, wide in zip(results(flowmill, kind, dtype, steps), results(flowmill, kind, "float64", steps)):
        np.testing.assert_allclose(narrow, wide, rtol=0.51 * step, atol=1e-5)
