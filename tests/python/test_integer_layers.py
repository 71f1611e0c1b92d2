"""Networks that were trained with fake quantisation: their layers are computed over integers, and agree with TensorFlow's floats up to steps of the grid."""

import collections

import numpy as np
import pytest

import flowmill

OPTIONS = {"num_bits": 8, "narrow_range": True}


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(0, 0.4, shape).astype(np.float32)


def mobile(tf, x, variable):
    """Ranges in variables, biases of `BiasAdd`, `Relu6` in front of the range."""

    def rounded(x):
        return tf.fake_quant_with_min_max_vars(x, variable("low", np.float32(0)), variable("high", np.float32(6)))

    def weights(*shape):
        w = variable("w", normal(len(shape) + sum(shape), *shape))
        return tf.fake_quant_with_min_max_vars(w, variable("low", np.float32(-1.2)), variable("high", np.float32(1.2)), **OPTIONS)

    def layer(y):
        return rounded(tf.nn.relu6(tf.nn.bias_add(y, variable("b", normal(3, int(y.shape[-1]))))))

    x = rounded(x)
    x = layer(tf.nn.conv2d(x, weights(3, 3, 3, 32), strides=[1, 2, 2, 1], padding="SAME"))
    x = layer(tf.nn.depthwise_conv2d(x, weights(3, 3, 32, 1), strides=[1, 1, 1, 1], padding="SAME"))
    x = layer(tf.nn.conv2d(x, weights(1, 1, 32, 64), strides=[1, 1, 1, 1], padding="SAME"))
    x = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    return tf.matmul(tf.reshape(x, [-1, 4 * 4 * 64]), weights(1024, 16)) + variable("b", normal(9, 16))


def residual(tf, x, variable):
    """Ranges in attributes and per channel, biases of `Add`, batch norms, limits that the range implies, sums of two layers."""

    def rounded(x, low=-3.0, high=4.0):
        return tf.fake_quant_with_min_max_args(x, min=low, max=high)

    def weights(*shape):
        w = variable("w", normal(sum(shape), *shape))
        limits = np.linspace(0.5, 1.5, shape[-1], dtype=np.float32)
        return tf.fake_quant_with_min_max_vars_per_channel(w, variable("low", -limits), variable("high", 0.8 * limits), **OPTIONS)

    def normed(y):
        size = int(y.shape[-1])
        scale, mean = variable("scale", 0.3 + normal(1, size) ** 2), variable("mean", normal(2, size))
        return (y - mean) * scale

    x = rounded(x)
    x = y = rounded(normed(tf.nn.conv2d(x, weights(3, 3, 3, 48), strides=[1, 1, 1, 1], padding="VALID")), 0.0, 6.0)
    x = rounded(normed(tf.nn.conv2d(x, weights(3, 3, 48, 48), strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1])))
    x = rounded(normed(tf.nn.conv2d(x, weights(1, 1, 48, 48), strides=[1, 1, 1, 1], padding="SAME")))
    x = rounded(tf.nn.relu(x + y), 0.0, 5.0)
    x = rounded(normed(tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), weights(3, 3, 48, 16), strides=[1, 2, 2, 1], padding="VALID")))
    return tf.reduce_mean(x, [1, 2])


EXPECTED = {
    mobile: {"_IntegerConv2D": 1, "_IntegerDepthwiseConv2d": 1, "_IntegerMatMul": 1, "_ToBytes": 1},
    residual: {"_IntegerConv2D": 3, "_AddBytes": 1, "_ToBytes": 1},
}


@pytest.mark.parametrize("network", EXPECTED)
@pytest.mark.parametrize("batch", [1, 5])
def test_frozen_networks_agree_with_tensorflow(tf1, network, batch):
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [None, 16, 16, 3], name="x")
        y = tf1.identity(network(tf1, x, lambda name, value: tf1.Variable(value, name=name)), name="y")
        session.run(tf1.global_variables_initializer())
        # A step of training, so that weights and ranges are not those of the program.
        step = tf1.train.GradientDescentOptimizer(1e-3).minimize(tf1.reduce_sum(y * y))
        images = np.random.default_rng(4).normal(1, 2, (batch, 16, 16, 3)).astype(np.float32)
        session.run(step, {x: images})
        frozen = tf1.graph_util.convert_variables_to_constants(session, session.graph_def, ["y"])
        theirs = session.run(y, {x: images})
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        flowmill.import_graph_def(frozen.SerializeToString(), name="")
        metadata = flowmill.RunMetadata()
        mine = session.run("y:0", {"x:0": images}, flowmill.RunOptions(output_partition_graphs=True), metadata)
    # Some values in a thousand lie so near the middle between two of the grid that they are rounded to the other one.
    scale = np.abs(theirs).max()
    assert np.abs(mine - theirs).max() < 0.02 * scale
    assert np.abs(mine - theirs).mean() < 0.002 * scale
    ops = collections.Counter(node.op for graph in metadata.partition_graphs for node in graph.node)
    assert {op: count for op, count in ops.items() if op in EXPECTED[mobile] | EXPECTED[residual]} == EXPECTED[network]
