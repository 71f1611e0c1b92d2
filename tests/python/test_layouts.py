"""Graphs whose images have their channels first, as frozen models hold them: TensorFlow's layout optimiser makes them run on its CPU."""

import numpy as np
import pytest

import flowmill as tf


def network(tf1, nchw, training=False):
    """A small residual network in either layout, whose input and output are in the layout; gives names of what is fetched."""
    layout = "NCHW" if nchw else "NHWC"
    axis, spatial = (1, [2, 3]) if nchw else (-1, [1, 2])

    def sizes(height, width):
        return [1, 1, height, width] if nchw else [1, height, width, 1]

    rng = np.random.default_rng(3)

    def weights(*shape):
        return tf1.constant(rng.normal(size=shape).astype(np.float32) * 0.3)

    x = tf1.placeholder(tf1.float32, [None, 3, None, None] if nchw else [None, None, None, 3], name="x")
    w = weights(3, 3, 3, 8)
    y = tf1.nn.conv2d(x, w, sizes(2, 1), "SAME", data_format=layout)
    y = tf1.nn.bias_add(y, weights(8), data_format=layout)
    ones = tf1.constant(np.linspace(0.5, 2, 8, dtype=np.float32))
    moments = {} if training else {"mean": weights(8), "variance": ones}
    y = tf1.nn.fused_batch_norm(y, ones, weights(8), data_format=layout, is_training=training, **moments)[0]
    y = tf1.nn.relu(y)
    block = tf1.nn.depthwise_conv2d_native(y, weights(3, 3, 8, 1), sizes(1, 1), "SAME", data_format=layout)
    block = block * tf1.reshape(ones, [1, 8, 1, 1] if nchw else [1, 1, 1, 8]) + 0.5
    y = tf1.nn.relu6(y + block)
    pads = [[0, 0], [0, 0], [1, 2], [0, 1]] if nchw else [[0, 0], [1, 2], [0, 1], [0, 0]]
    y = tf1.pad(y, pads)
    y = tf1.concat([tf1.nn.max_pool(y, sizes(2, 3), sizes(2, 2), "VALID", data_format=layout),
                    tf1.nn.avg_pool(y, sizes(2, 3), sizes(2, 2), "VALID", data_format=layout)], axis)
    y = tf1.identity(y, name="y")
    mean = tf1.reduce_mean(y, spatial, name="mean")
    tf1.gradients(mean, [w, x], name="slopes")
    loss = tf1.reduce_sum(tf1.square(mean))
    gradients = [tf1.identity(g, name=f"g{i}") for i, g in enumerate(tf1.gradients(loss, [w, x]))]
    return [t.op.name + ":0" for t in (y, mean, *gradients)]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("optimize", [False, True])
def test_residual_network(tf1, optimize, training):
    image = np.random.default_rng(4).normal(size=(2, 9, 12, 3)).astype(np.float32)
    with tf1.Graph().as_default(), tf1.Session() as session:
        names = network(tf1, False, training)
        expected = session.run(names, {"x:0": image})
    with tf1.Graph().as_default() as first:
        names = network(tf1, True, training)
    with tf.Graph().as_default():
        tf.import_graph_def(first.as_graph_def().SerializeToString(), name="")
        level = tf.OptimizerOptions.L1 if optimize else tf.OptimizerOptions.L0
        config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=level)))
        with tf.Session(config=config) as session:
            found = session.run(names, {"x:0": image.transpose(0, 3, 1, 2)})
    for i, (mine, other) in enumerate(zip(found, expected)):
        if i in (0, 3):
            other = other.transpose(0, 3, 1, 2)
        assert mine.shape == other.shape, names[i]
        np.testing.assert_allclose(mine, other, 1e-4, 1e-5, err_msg=names[i])


@pytest.mark.parametrize("optimize", [False, True])
def test_functions_of_elements(tf1, optimize):
    """What computes each element by itself gives the same in either layout, also beside constants for each channel and whole images."""
    rng = np.random.default_rng(5)
    image, weights, bounds = (rng.normal(size=s).astype(np.float32) for s in [(2, 5, 6, 3), (3, 3, 3, 3), (3,)])
    whole = rng.normal(size=(1, 5, 6, 3)).astype(np.float32)

    def network(tf, nchw):
        def placed(value, shape):
            value = value.reshape(shape)
            return tf.constant(value.transpose(0, 3, 1, 2) if nchw else value)

        layout = "NCHW" if nchw else "NHWC"
        x = tf.placeholder(tf.float32, [None, 3, None, None] if nchw else [None, None, None, 3], name="x")
        a = tf.nn.conv2d(x, tf.constant(weights), [1, 1, 1, 1], "SAME", data_format=layout)
        channel, other = placed(bounds, (1, 1, 1, 3)), placed(whole, whole.shape)
        b = tf.where_v2(tf.greater(a, channel), tf.sin(a), tf.constant(0.5))
        b = tf.atan2(tf.clip_by_value(b, -0.5, 0.75), other) + tf.cast(tf.logical_not(tf.less(b, other)), tf.float32)
        b = tf.pow(tf.abs(b), 1.5) + tf.erfc(b) * tf.math.xlogy(tf.abs(channel), tf.abs(b)) - tf.floormod(b, 0.3)
        return tf.nn.conv2d(b, tf.constant(weights), [1, 1, 1, 1], "VALID", data_format=layout, name="y")

    with tf1.Graph().as_default(), tf1.Session() as session:
        expected = session.run(network(tf1, False), {"x:0": image}).transpose(0, 3, 1, 2)
    level = tf.OptimizerOptions.L1 if optimize else tf.OptimizerOptions.L0
    config = tf.ConfigProto(graph_options=tf.GraphOptions(optimizer_options=tf.OptimizerOptions(opt_level=level)))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        found = session.run(network(tf, True), {"x:0": image.transpose(0, 3, 1, 2)})
    np.testing.assert_allclose(found, expected, 1e-4, 1e-4)


def test_static_shapes(tf1):
    def shapes(module, graph_def=None):
        with module.Graph().as_default() as graph:
            if graph_def is None:
                network(module, True)
            else:
                module.import_graph_def(graph_def, name="")
            return {t.name: str(t.shape) for op in graph.get_operations() for t in op.outputs}, graph.as_graph_def().SerializeToString()

    theirs, graph_def = shapes(tf1)
    assert shapes(tf, graph_def)[0] == theirs


@pytest.mark.parametrize("functional", [False, True])
def test_images_in_a_loop(tf1, functional):
    """Layers within a loop: the permutations are of the loop's frame."""

    def build(module, layout):
        w = module.constant(np.random.default_rng(5).normal(size=(3, 3, 2, 2)).astype(np.float32) * 0.2)
        sizes = [1, 2, 5, 6] if layout == "NCHW" else [1, 5, 6, 2]
        x = module.placeholder(module.float32, sizes, name="x")
        scale = module.reshape(module.constant([0.1, 0.2]), [2, 1, 1] if layout == "NCHW" else [2])

        def body(i, y):
            y = module.nn.conv2d(y, w, 1, "SAME", data_format=layout)
            y = module.nn.bias_add(y, [0.5, -0.5], data_format=layout)
            return i + 1, module.nn.relu(y) + scale

        return module.while_loop(lambda i, y: i < 3, body, (0, x))[1]

    image = np.random.default_rng(6).normal(size=(1, 2, 5, 6)).astype(np.float32)
    with tf1.Graph().as_default(), tf1.Session() as session:
        expected = session.run(build(tf1, "NHWC"), {"x:0": image.transpose(0, 2, 3, 1)}).transpose(0, 3, 1, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.enable_control_flow_v2() if functional else tf.disable_control_flow_v2()
        try:
            found = session.run(build(tf, "NCHW"), {"x:0": image})
        finally:
            tf.disable_control_flow_v2()
    np.testing.assert_allclose(found, expected, 1e-4, 1e-5)


def test_grouped_channels_are_refused(tf1):
    with tf1.Graph().as_default() as theirs:
        tf1.raw_ops.MaxPool(input=tf1.placeholder(tf1.qint8, [1, 1, 4, 4, 4], name="x"), ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2],
                            padding="VALID", data_format="NCHW_VECT_C", name="pool")
    with tf.Graph().as_default():
        with pytest.raises((tf.errors.UnimplementedError, ValueError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError)):
            tf.import_graph_def(theirs.as_graph_def().SerializeToString(), name="")
            with tf.Session() as session:
                session.run("pool:0", {"x:0": np.zeros((1, 1, 4, 4, 4), np.int8)})
