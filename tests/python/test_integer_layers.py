"""Networks that were trained with fake quantisation: their layers are computed over integers, and agree with TensorFlow's floats up to steps of the grid."""

import collections

import numpy as np
import pytest

import flowmill

OPTIONS = {"num_bits": 8, "narrow_range": True}


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(0, 0.4, shape).astype(np.float32)


def mobile(tf, x, variable):
    """Builds a network with ranges in variables, biases of `BiasAdd`, `Relu6` in front of the range."""

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
    """Builds a network with ranges in attributes and per channel, biases of `Add`, batch norms, limits that the range implies, sums of two layers."""

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


def bottlenecks(tf, x, variable):
    """Builds what `tf.contrib.quantize` writes: batch norms are folded into the weights before these are rounded; linear layers and sums of them have ranges around zero."""

    def act_quant(x, low=0.0, high=6.0, scope="act_quant"):
        with tf.name_scope(scope):
            ends = variable("act_quant/min", np.float32(low)), variable("act_quant/max", np.float32(high))
            return tf.fake_quant_with_min_max_vars(x, *ends, num_bits=8, narrow_range=False)

    def folded(x, shape, depthwise=False, **options):
        channels = shape[2] if depthwise else shape[3]
        w = variable("weights", normal(sum(shape), *shape))
        gamma, variance = variable("gamma", 1 + 0.3 * normal(5, channels)), variable("variance", 0.5 + normal(6, channels) ** 2)
        mean, beta = variable("mean", 0.2 * normal(7, channels)), variable("beta", normal(8, channels))
        with tf.name_scope("BatchNorm_Fold"):
            scale = gamma * tf.rsqrt(variance + 1e-3)
            w = w * (tf.reshape(scale, [1, 1, channels, 1]) if depthwise else scale)
            bias = beta - mean * scale
        with tf.name_scope("weights_quant"):
            ends = variable("weights_quant/min", np.float32(-1.7)), variable("weights_quant/max", np.float32(1.6))
            w = tf.fake_quant_with_min_max_vars(w, *ends, num_bits=8, narrow_range=True)
        return (tf.nn.depthwise_conv2d if depthwise else tf.nn.conv2d)(x, w, padding="SAME", **options) + bias

    def bottleneck(x, inner, outputs, stride):
        y = act_quant(tf.nn.relu6(folded(x, [1, 1, int(x.shape[-1]), inner], strides=[1, 1, 1, 1])))
        y = act_quant(tf.nn.relu6(folded(y, [3, 3, inner, 1], depthwise=True, strides=[1, stride, stride, 1])))
        y = act_quant(folded(y, [1, 1, inner, outputs], strides=[1, 1, 1, 1]), -11.3, 12.1, "conv_quant")
        return act_quant(x + y, -14.0, 15.0, "add_quant") if stride == 1 else y

    x = act_quant(x, -1.0, 1.0)
    x = act_quant(tf.nn.relu6(folded(x, [3, 3, 3, 32], strides=[1, 2, 2, 1])))
    x = bottleneck(x, 96, 32, 1)
    x = bottleneck(x, 96, 48, 2)
    x = bottleneck(x, 96, 48, 1)
    return tf.reshape(tf.nn.avg_pool(x, ksize=[1, 4, 4, 1], strides=[1, 1, 1, 1], padding="VALID"), [-1, 48])


def keras_layers(tf, x, variable):
    """Builds what `tensorflow_model_optimization` writes: weights have a range per channel, concatenated tensors one range, activations are `Relu`."""

    def ends(low, high):
        return variable("min", np.float32(low)), variable("max", np.float32(high))

    def rounded(x, ends):
        with tf.name_scope("MovingAvgQuantize"):
            return tf.quantization.fake_quant_with_min_max_vars(x, *ends)

    def kernel(*shape, seed=0):
        w = variable("kernel", normal(seed + sum(shape), *shape))
        limits = np.abs(normal(2, shape[-1])) + 0.9
        with tf.name_scope("LastValueQuant"):
            limits = variable("kernel_min", -limits), variable("kernel_max", limits)
            return tf.quantization.fake_quant_with_min_max_vars_per_channel(w, *limits, num_bits=8, narrow_range=True)

    def activation(y, limits=None):
        y = tf.nn.relu(tf.nn.bias_add(y, variable("bias", normal(4, int(y.shape[-1])))))
        return rounded(y, limits or ends(0.0, 7.5))

    x = rounded(x, ends(-4.0, 4.1))
    x = activation(tf.nn.conv2d(x, kernel(3, 3, 3, 32), strides=2, padding="SAME"))
    both = ends(0.0, 6.5)
    a = activation(tf.nn.conv2d(x, kernel(1, 1, 32, 64), strides=1, padding="VALID"), both)
    b = activation(tf.nn.conv2d(x, kernel(1, 1, 32, 64, seed=1), strides=1, padding="SAME"), both)
    x = activation(tf.nn.conv2d(tf.concat([a, b], 3), kernel(2, 2, 128, 32), strides=2, padding="VALID"))
    x = activation(tf.matmul(tf.reshape(x, [-1, 512]), kernel(512, 64)))
    return tf.nn.bias_add(tf.matmul(x, kernel(64, 48)), variable("bias", normal(4, 48)))


EXPECTED = {
    mobile: {"_IntegerConv2D": 1, "_IntegerDepthwiseConv2d": 1, "_IntegerMatMul": 1, "_ToBytes": 1},
    residual: {"_IntegerConv2D": 3, "_AddBytes": 1, "_ToBytes": 1},
    bottlenecks: {"_IntegerConv2D": 6, "_IntegerDepthwiseConv2d": 3, "_AddBytes": 2, "_ToBytes": 1},
    keras_layers: {"_IntegerConv2D": 3, "_IntegerMatMul": 2, "_ToBytes": 1},
}


@pytest.mark.parametrize("network", EXPECTED)
@pytest.mark.parametrize("batch", [1, 5])
def test_frozen_networks_agree_with_tensorflow(tf1, network, batch):
    with tf1.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf1.float32, [None, 16, 16, 3], name="x")
        y = tf1.identity(network(tf1, x, lambda name, value: tf1.Variable(value, name=name)), name="y")
        session.run(tf1.global_variables_initializer())
        # A step of training, so that weights and ranges are not those of the program. TensorFlow has no gradients of dilated convolutions on CPUs.
        trained = tf1.trainable_variables()[-5:] if network is residual else None
        step = tf1.train.GradientDescentOptimizer(1e-3).minimize(tf1.reduce_mean(y * y), var_list=trained)
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
