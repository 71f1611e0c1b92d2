"""`tf.layers`: variables, names, nodes and values as tf-keras' version 1 layers have them."""

import flowmill
import numpy as np
import pytest
from compare import compare, same, same_error

RNG = np.random.RandomState(3)
FEEDS = {"x": RNG.randn(3, 4), "seq": RNG.randn(2, 7, 3), "im": RNG.randn(2, 8, 9, 3), "chw": RNG.randn(2, 3, 8, 9), "cube": RNG.randn(2, 3, 4),
         "vol": RNG.randn(1, 4, 5, 6, 2)}
FEEDS = {k: v.astype(np.float32) for k, v in FEEDS.items()}


class Inputs:
    def __init__(self, tf, unknown=False):
        self._tf, self._unknown, self.feeds = tf, unknown, {}

    def __getattr__(self, name):
        if name == "training":
            made = self._tf.placeholder_with_default(True, [], name=name)
        else:
            self.feeds[name] = FEEDS[name]
            shape = list(FEEDS[name].shape)
            made = self._tf.placeholder(self._tf.float32, [None, *shape[1:]] if self._unknown else shape, name=name)
        setattr(self, name, made)
        return made


def evaluated(expression):
    return lambda tf, i: eval(expression, {"tf": tf, "i": i, "np": np, "L": tf.layers})


def described(tf):
    return {
        "global": [v.name for v in tf.global_variables()], "trainable": [v.name for v in tf.trainable_variables()],
        "updates": [u.name for u in tf.get_collection(tf.GraphKeys.UPDATE_OPS)],
        "losses": [t.name for t in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
    }


def check(tf1, expression, unknown=False, **options):
    used, found = {}, []

    def build(tf):
        tf.set_random_seed(5)
        inputs = Inputs(tf, unknown)
        made = evaluated(expression)(tf, inputs) if isinstance(expression, str) else expression(tf, inputs)
        used.update(inputs.feeds)
        found.append(described(tf))
        return made, tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)

    compare(tf1, build, used, initialize=True, rtol=1e-4, atol=1e-5, **options)
    assert found[0] == found[1]


def cases(*expressions):
    return pytest.mark.parametrize("expression", expressions, ids=[e[:80] for e in expressions])


@cases(
    "L.dense(i.x, 5)", "L.dense(L.dense(i.x, 5, activation=tf.nn.relu), 2, use_bias=False)",
    "L.dense(i.x, 2, name='out', kernel_initializer=tf.zeros_initializer())",
    "L.dense(i.cube, 2, activation=tf.tanh)", "[L.dense(i.x, 2, name='a'), L.dense(i.x, 2, name='a', reuse=True)]",
    "L.dense(i.x, 3, bias_initializer=tf.constant_initializer(0.1), trainable=False)",
    "L.dense(i.x, 3, kernel_regularizer=lambda w: tf.reduce_sum(tf.abs(w)), bias_regularizer=lambda b: 0.1 * tf.reduce_sum(b))",
    "L.dense(i.x, 3, activity_regularizer=lambda y: tf.reduce_sum(y))", "L.dropout(i.x, 0.3)", "L.dropout(i.x, training=True, seed=4)",
    "L.flatten(i.im)", "L.flatten(i.x[:, 0])", "L.flatten(i.chw, data_format='channels_first', name='f')",
    "L.conv1d(i.seq, 4, 3)", "L.conv1d(i.seq, 4, 3, padding='same', dilation_rate=2, name='c')", "L.conv1d(i.seq, 4, 2, padding='causal', strides=2)",
    "L.conv2d(i.im, 4, 3)", "L.conv2d(i.im, 4, [3, 2], (2, 1), 'SAME', activation=tf.nn.relu)",
    "L.conv2d(L.conv2d(i.im, 4, 3), 2, 1, use_bias=False)",
    "L.conv2d(i.im, 4, 3, dilation_rate=2, padding='same')", "L.conv2d_transpose(i.im, 4, 3, strides=2)",
    "L.conv2d_transpose(i.im, 4, [3, 2], strides=2, padding='same', activation=tf.nn.elu, name='up')", "L.separable_conv2d(i.im, 4, 3)",
    "L.separable_conv2d(i.im, 4, 3, (2, 2), 'same', depth_multiplier=2, activation=tf.nn.relu, use_bias=False)",
    "L.separable_conv1d(i.seq, 4, 3, padding='same')", "L.max_pooling2d(i.im, 2, 2)",
    "L.max_pooling2d(i.im, [3, 2], (1, 2), padding='same', name='p')",
    "L.average_pooling2d(i.im, 2, 1, 'same')", "L.max_pooling1d(i.seq, 2, 2)", "L.average_pooling1d(i.seq, 3, 1, padding='same')",
)
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "batch unknown"])
def test_layers(tf1, expression, unknown):
    check(tf1, expression, unknown)


@cases(
    "L.batch_normalization(i.x)", "L.batch_normalization(i.x, training=True)", "L.batch_normalization(i.im)",
    "L.batch_normalization(i.im, training=True)",
    "L.batch_normalization(i.im, axis=1, fused=False, training=True, momentum=0.9)", "L.batch_normalization(i.x, center=False, training=True)",
    "L.batch_normalization(i.im, scale=False, training=True, name='bn')", "L.batch_normalization(i.im, scale=False, center=False)",
    "L.batch_normalization(i.cube, axis=[1, 2], training=True)", "L.batch_normalization(i.x, trainable=False, training=True)",
    "L.batch_normalization(i.x, renorm=True, renorm_clipping={'rmax': 2.0, 'rmin': 0.5, 'dmax': 1.0}, training=True)",
    "L.batch_normalization(i.im, virtual_batch_size=1, training=True)",
    "L.batch_normalization(i.x, training=True, gamma_regularizer=lambda g: tf.reduce_sum(g), beta_initializer=tf.ones_initializer())",
    "L.batch_normalization(i.x, training=True, adjustment=lambda shape: (tf.ones([1, 4]) * 2.0, tf.ones([1, 4])))",
    "[L.batch_normalization(i.x, training=True, name='b'), L.batch_normalization(i.x, training=True, name='b', reuse=True)]",
)
def test_batch_normalization(tf1, expression):
    check(tf1, expression)


@cases("L.batch_normalization(i.x, training=i.training)", "L.batch_normalization(i.im, training=i.training)", "L.dropout(i.x, training=i.training)")
def test_layers_that_ask_whether_it_is_training(tf1, control_flow, expression):
    if control_flow == "functions" and "i.x" in expression and "batch" in expression:
        pytest.skip("TensorFlow changes references in branches there, which functions cannot")
    # TensorFlow lets branches that are functions give what their gradients would need, too.
    check(tf1, expression, ordered=False, nodes=control_flow == "frames")


@cases(
    "L.conv3d(i.vol, 3, 2)", "L.conv3d_transpose(i.vol, 3, 2, strides=2)", "L.max_pooling3d(i.vol, 2, 2)", "L.average_pooling3d(i.vol, 2, 1, 'same')",
    "L.conv2d(i.chw, 4, 3, data_format='channels_first')", "L.max_pooling2d(i.chw, 2, 2, data_format='channels_first')",
    "L.batch_normalization(i.chw, axis=1, training=True)",
)
def test_graphs_of_layers_that_are_not_run(tf1, expression):
    """Ops without a kernel in one of the two engines: nodes and shapes alone."""
    kinds = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            output = evaluated(expression)(tf, Inputs(tf))
            kinds.append(([(o.name, o.type, [t.name for t in o.inputs]) for o in graph.get_operations()], str(output.shape), described(tf)))
    assert kinds[0] == kinds[1]


def test_transposed_convolutions_with_channels_first(tf1):
    # TensorFlow looks for a GPU with nodes of its own.
    check(tf1, "L.conv2d_transpose(i.chw, 4, 3, 2, data_format='channels_first', kernel_initializer=tf.ones_initializer())", nodes=False)


def test_objects_share_their_variables(tf1):
    def build(tf, i):
        layer = tf.layers.Dense(2, name="d")
        first, second = layer(i.x), layer(i.x * 2.0)
        assert layer.built and layer.scope_name == "d" and layer.name == "d"
        assert [v.name for v in layer.weights] == [v.name for v in layer.trainable_variables] == ["d/kernel:0", "d/bias:0"]
        assert layer.count_params() == 10 and layer.dtype in (tf.float32, "float32")
        return first, second

    check(tf1, build)


def test_layers_in_scopes(tf1):
    def build(tf, i):
        assert i.x is not None
        with tf.variable_scope("outer", initializer=tf.constant_initializer(0.5), regularizer=None):
            one = tf.layers.dense(i.x, 2)
            with tf.variable_scope("inner"):
                two = tf.layers.dense(i.x, 2)
        with tf.variable_scope("outer", reuse=True):
            three = tf.layers.dense(i.x, 2, name="dense")
        with tf.name_scope("elsewhere"):
            four = tf.layers.dense(i.x, 2)
        return one, two, three, four

    check(tf1, build)


def test_variables_are_reused_where_a_scope_says_so(tf1):
    def build(tf, i):
        found = [i.x]

        def model(x):
            hidden = tf.layers.dense(x, 4, name="hidden", activation=tf.nn.relu)
            return tf.layers.dense(tf.layers.batch_normalization(hidden, training=True), 2)

        for reuse in (tf.AUTO_REUSE, tf.AUTO_REUSE, True):
            with tf.variable_scope("model", reuse=reuse):
                found.append(model(i.x))
        found += [tf.layers.dense(i.x, 2, name="one", reuse=tf.AUTO_REUSE) for _ in range(2)]
        with tf.variable_scope("other") as scope:
            found.append(tf.layers.dense(i.x, 2, name="d"))
            scope.reuse_variables()
            found.append(tf.layers.dense(i.x, 2, name="d"))
        return found[1:]

    check(tf1, build)


def test_layers_take_scopes_and_arrays(tf1):
    def build(tf, i):
        assert i.x is not None
        layer = tf.layers.Dense(2, _scope="given", kernel_initializer=tf.ones_initializer)
        with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
            parts = tf.layers.dense(i.x, 2, kernel_regularizer=lambda w: tf.nn.l2_loss(w))
        with tf.variable_scope("resource", use_resource=True):
            resource = tf.layers.batch_normalization(tf.layers.dense(i.x, 2), training=True)
        with tf.variable_scope("regular", regularizer=lambda w: tf.nn.l2_loss(w)):
            regular = tf.layers.dense(i.x, 2)
        return layer(np.ones([2, 3], np.float32)), parts, resource, regular

    check(tf1, build)


def test_layers_of_ones_own(tf1):
    def build(tf, i):
        class Scale(tf.layers.Layer):
            def build(self, input_shape):
                self.factor = self.add_variable("factor", [int(input_shape[-1])], initializer=tf.constant_initializer(2.0),
                                                regularizer=lambda v: tf.reduce_sum(v))
                self.built = True

            def call(self, inputs, offset=0.0):
                self.add_loss(tf.reduce_sum(inputs), inputs=inputs)
                return inputs * self.factor + offset

        layer = Scale()
        first = layer(i.x, offset=1.0)
        return first, layer.apply(i.x)

    check(tf1, build)


def test_training_moves_the_averages(tf1):
    values = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 4])
            training = tf.placeholder(tf.bool, [])
            y = tf.layers.batch_normalization(x, training=training, momentum=0.5)
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(updates, {x: FEEDS["x"], training: True})
            averages = session.run(tf.global_variables())
            session.run(updates, {x: FEEDS["x"], training: False})
            values.append([averages, session.run(tf.global_variables()), session.run(y, {x: FEEDS["x"], training: False})])
    for mine, other in zip(values[1][0] + values[1][1] + [values[1][2]], values[0][0] + values[0][1] + [values[0][2]], strict=True):
        same(mine, other, 1e-4, 1e-5)


@cases(
    "L.dense(i.x[0], 3)", "L.dense(tf.placeholder(tf.float32, [3, None]), 3)", "L.conv2d(i.x, 3, 3)", "L.conv2d(i.im, 3, [3, 3, 3])",
    "L.conv2d(i.im, 3, 3, padding='some')", "L.conv2d(i.im, 3, 3, data_format='other')", "L.conv2d(i.im, 0, 3)", "L.conv2d(i.im, 3, 20)",
    "L.conv2d(i.im, 3, 3, strides=2, dilation_rate=2)", "L.max_pooling2d(i.im, 2, None)", "L.max_pooling2d(i.x, 2, 2)",
    "L.conv2d(i.im, 3, 3, padding='causal')",
    "L.batch_normalization(i.x, axis=4)", "L.batch_normalization(i.x, axis='a')",
    "[L.dense(i.x, 2, name='a'), L.dense(i.x, 3, name='a', reuse=True)]",
    "L.dense(i.x, 2, name='b', reuse=True)", "[L.dense(i.x, 2, name='a'), L.dense(i.x, 2, name='a')]", "L.Dense(2).scope_name",
    "L.Dense(2).count_params()",
    "L.dropout(i.x, rate=2.0)", "L.batch_normalization(i.x, renorm=True, renorm_clipping={'other': 1.0})", "L.Dense(2, unknown=1)",
)
def test_errors(tf1, expression):
    same_error(tf1, lambda tf: evaluated(expression)(tf, Inputs(tf)))


def test_a_network_is_run_by_tensorflow_as_it_is_here(tf1):
    tf = flowmill
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(9)
        images = tf.placeholder(tf.float32, [None, 8, 9, 3], name="images")
        hidden = tf.layers.conv2d(images, 4, 3, activation=tf.nn.swish)
        hidden = tf.layers.separable_conv2d(tf.layers.batch_normalization(hidden), 5, 3, padding="same")
        hidden = tf.layers.average_pooling2d(tf.layers.conv2d_transpose(hidden, 3, 2, 2), 2, 2)
        logits = tf.layers.dense(tf.layers.dropout(tf.layers.flatten(hidden)), 4)
        tf.nn.softmax(logits, axis=0, name="out")
        init = tf.global_variables_initializer()
        session.run(init)
        ours = session.run("out:0", {images: FEEDS["im"]})
        weights = {v.name: session.run(v) for v in tf.global_variables()}
    with tf1.Graph().as_default() as imported, tf1.Session() as session:
        tf1.import_graph_def(tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString()), name="")
        for name, value in weights.items():
            operation = name.split(":")[0]
            session.run(imported.get_operation_by_name(operation + "/Assign"), {imported.get_operation_by_name(operation + "/Assign").inputs[1]: value})
        same(ours, session.run("out:0", {"images:0": FEEDS["im"]}), 1e-4, 1e-5)
