"""Downsampling blocks of residual networks, whose strides move to earlier convolutions: results are TensorFlow's, whatever the spelling."""

import numpy as np
import pytest

from oracles import assert_same


def block(m, random, image):
    """Convolutions and functions, of which the last consumers read every second or third position."""
    stride = int(random.choice([2, 3]))

    def weights(*shape):
        return m.constant(random.uniform(-0.5, 0.5, shape).astype("f"))

    def convolution(x, size, strides, padding):
        if padding == "EXPLICIT":
            padding = [[0, 0], *random.randint(0, 3, (2, 2)).tolist(), [0, 0]]
        dilations = [1, int(random.choice([1, 2])) if strides == 1 else 1, 1, 1]
        return m.nn.conv2d(x, weights(size, size, 4, 4), [1, strides, strides, 1], padding, dilations=dilations)

    def function(x):
        kind = random.choice(["relu", "swish", "swish written out", "gate", "bias", "batch norm", "none"])
        if kind == "relu":
            return m.nn.relu(x)
        if kind == "swish":
            return m.nn.swish(x)
        if kind == "swish written out":
            return x / (1.0 + m.exp(-x))
        if kind == "gate":
            return x * m.sigmoid(m.reduce_mean(x, [1, 2], keepdims=True))
        if kind == "bias":
            return m.nn.bias_add(x, weights(4))
        if kind == "batch norm":
            return m.nn.batch_normalization(x, weights(4), weights(4) + 1.0, weights(4), weights(4), 1e-3)
        return x

    x = image
    if random.rand() < 0.5:
        x = function(convolution(x, 3, int(random.choice([1, 2])), "SAME"))
    if random.rand() < 0.3:
        x = function(m.nn.depthwise_conv2d(x, weights(3, 3, 4, 1), [1, 1, 1, 1], "SAME"))
    y = function(convolution(x, int(random.choice([1, 3, 5])), 1, random.choice(["SAME", "VALID", "EXPLICIT"])))
    y = function(convolution(y, 1, 1, "SAME"))
    if random.rand() < 0.6:
        y = m.nn.relu(function(convolution(x, 3, 1, "SAME")) + x)
    ends = []
    for spelling in random.choice(["convolution", "slice", "slice of three"], 2):
        if spelling == "convolution":
            ends.append(m.nn.conv2d(y, weights(1, 1, 4, 4), [1, stride, stride, 1], random.choice(["SAME", "VALID"])))
        elif spelling == "slice":
            ends.append(y[:, ::stride, ::stride, :])
        else:
            ends.append(y[:, ::stride, ::stride])
    return [ends[0] + function(ends[1])]


@pytest.mark.parametrize("seed", range(40))
def test_blocks_that_end_with_strides(tf1, seed):
    sizes = np.random.RandomState(seed).randint(9, 18, 2)
    image = np.random.RandomState(seed + 1000).uniform(-1, 1, (2, *sizes, 4)).astype("f")

    def build(m):
        shape = [[None, *sizes, 4], [None, None, None, 4]][seed % 2]
        return block(m, np.random.RandomState(seed), m.placeholder("float32", shape, name="image"))

    assert assert_same(tf1, build, {"image:0": image}, rtol=2e-4, atol=2e-4) is None
