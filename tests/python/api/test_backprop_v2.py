"""Gradients of convolutions that take the tensor itself in place of its sizes; what asks for pinned memory."""

import numpy as np
import pytest

import flowmill
from compare import _described, same_error

_random = np.random.RandomState(11)
_IMAGE, _FILTER = _random.rand(2, 6, 5, 4).astype(np.float32), _random.rand(3, 2, 4, 3).astype(np.float32)

OPTIONS = [
    {"padding": "SAME"}, {"padding": "VALID"}, {"padding": "SAME", "strides": [1, 2, 2, 1]}, {"padding": "VALID", "dilations": [1, 1, 2, 1]},
    {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_as_of_the_first_version(options, dtype):
    """TensorFlow has no kernels of the second one for CPUs."""
    options = {"strides": [1, 1, 1, 1], **options}
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        image, weights = tf.constant(_IMAGE, dtype), tf.constant(_FILTER, dtype)
        conv = tf.raw_ops.Conv2D(input=image, filter=weights, **options)
        slope = tf.cast(tf.constant(_random.rand(*conv.shape.as_list())), dtype)
        pairs = [
            (tf.conv2d_backprop_input_v2(image, weights, slope, **options),
             tf.raw_ops.Conv2DBackpropInput(input_sizes=image.shape, filter=weights, out_backprop=slope, **options)),
            (tf.conv2d_backprop_filter_v2(image, weights, slope, **options),
             tf.raw_ops.Conv2DBackpropFilter(input=image, filter_sizes=weights.shape, out_backprop=slope, **options)),
        ]
        for mine, other in session.run(pairs):
            np.testing.assert_array_equal(mine, other)


def _built(tf):
    image, weights = tf.placeholder(tf.float32, [2, None, 6, 3]), tf.placeholder(tf.float32, [3, 3, 3, None])
    slope = tf.placeholder(tf.float32, [2, 5, 6, 8])
    return [
        tf.conv2d_backprop_input_v2(image, weights, slope, [1, 1, 1, 1], "SAME"),
        tf.conv2d_backprop_filter_v2(image, weights, slope, [1, 1, 1, 1], "SAME", name="f"),
        tf.check_pinned(image, name="p"),
    ]


def test_the_same_nodes(tf1):
    seen = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            seen.append(([t.shape.as_list() for t in _built(tf)], _described(graph)))
    assert seen[0] == seen[1]


def test_the_same_errors(tf1):
    def of(tf, name, *shapes):
        return getattr(tf, name)(*(tf.placeholder(tf.float32, shape) for shape in shapes), [1, 1, 1, 1], "SAME")

    same_error(tf1, lambda tf: of(tf, "conv2d_backprop_input_v2", [2], [3, 3, 3, 8], [2, 5, 6, 8]), "Shape must be rank 4 but is rank 1")
    same_error(tf1, lambda tf: of(tf, "conv2d_backprop_filter_v2", [2, 5, 6, 3], [2], [2, 5, 6, 8]), "Shape must be rank 4 but is rank 1")
    same_error(tf1, lambda tf: tf.gradients(_built(tf)[0], tf.get_default_graph().get_operations()[1].outputs[0]))


def test_nothing_is_pinned(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="not pinned"):
            session.run(tf.check_pinned(tf.placeholder_with_default([1.0], [1])))
