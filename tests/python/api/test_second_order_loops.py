"""Gradients of gradients through loops of frames, which TensorFlow refuses: held against loops of functions and finite differences."""

import numpy as np
import pytest

import flowmill as tf

X = np.array([0.5, -0.3, 0.8])


@pytest.fixture(params=["frames", "functions"])
def form(request):
    (tf.enable_control_flow_v2 if request.param == "functions" else tf.disable_control_flow_v2)()
    yield request.param
    tf.disable_control_flow_v2()


def loop(times, body):
    return lambda x: tf.reduce_sum(tf.while_loop(lambda i, a: i < times, lambda i, a: (i + 1, body(i, a, x)), [0, x])[1])


def arrays(x):
    store = tf.TensorArray(tf.float64, 4)
    _, store, _ = tf.while_loop(lambda i, t, a: i < 4, lambda i, t, a: (i + 1, t.write(i, a * x), tf.sin(a)), [0, store, x])
    return tf.reduce_sum(tf.square(store.stack()) * x)


def read_arrays(x):
    store = tf.TensorArray(tf.float64, 3, clear_after_read=False).unstack(x * x)
    first, last = store.gather([0, 2])[0], store.read(2)
    _, total = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a) * store.read(i) + first), [0, x[0]])
    return total * last


def joined_arrays(x):
    parts = tf.TensorArray(tf.float64, 2, infer_shape=False).split(x * x, [1, 2])
    store = tf.TensorArray(tf.float64, 2, infer_shape=False)
    _, store = tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, t.write(i, tf.sin(parts.read(i)))), [0, store])
    return tf.reduce_sum(store.concat() ** 3)


def rows(x):
    _, total = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.gather(x, i) * tf.sin(a)), [0, tf.constant(1.0, tf.float64)])
    return total


def behind_a_gradient(x):
    return tf.reduce_sum(tf.exp(tf.gradients(loop(3, lambda i, a, x: a * a * x)(x * x), x)[0]) * x)


def weighted(x):
    y = loop(3, lambda i, a, x: tf.sin(a * x))(x)
    return tf.reduce_sum(tf.gradients(y, x, grad_ys=tf.reduce_sum(x))[0] ** 2)


def through_a_stop(x):
    inner = x * x
    return tf.reduce_sum(tf.gradients(loop(3, lambda i, a, x: a * inner)(x), x, stop_gradients=[inner])[0] ** 2)


PROGRAMS = {
    "power": (loop(3, lambda i, a, x: a * a), 3),
    "invariant": (loop(4, lambda i, a, x: tf.sin(a * x) + x), 3),
    "conditional": (loop(4, lambda i, a, x: tf.cond(tf.equal(i % 2, 0), lambda: tf.sin(a * x), lambda: a * a + x)), 2),
    "nested": (loop(3, lambda i, a, x: tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, tf.tanh(b * x) + a), [0, a])[1]), 2),
    "no iterations": (loop(0, lambda i, a, x: a * x), 2),
    "in a conditional": (lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: loop(3, lambda i, a, x: a * tf.sin(x))(x), lambda: tf.reduce_sum(x)), 2),
    "writes": (arrays, 2),
    "reads": (read_arrays, 2),
    "split and joined": (joined_arrays, 2),
    "rows": (rows, 2),
    "behind a gradient": (behind_a_gradient, 1),
    "weights": (weighted, 2),
    "stop": (through_a_stop, 1),
}


def gradient(y, x):
    return tf.convert_to_tensor(tf.gradients(y, x)[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_finite_differences(name, form):
    program, order = PROGRAMS[name]
    weights = np.linspace(1.0, 2.0, len(X))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, X.shape)
        y = program(x)
        for _ in range(order):
            slope = gradient(y, x)
            found = session.run(slope, {x: X})
            steps = np.eye(len(X)) * 1e-5
            differences = [(session.run(y, {x: X + step}) - session.run(y, {x: X - step})) / 2e-5 for step in steps]
            if "stop" in name:  # differences pass the stop, gradients do not: the loop squares x without it
                continue
            np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-6)
            y = tf.reduce_sum(slope * weights)


def recurrent_penalty(tf, cells, variables):
    inputs = tf.placeholder(tf.float64, [2, 5, 3], name="inputs")
    outputs, _ = tf.nn.dynamic_rnn(cells(4), inputs, dtype=tf.float64)
    with tf.variable_scope("head"):
        score = tf.reduce_sum(tf.layers.dense(outputs, 1))
    penalty = tf.reduce_sum(tf.square(tf.gradients(score, inputs)[0]))
    return inputs, penalty, [tf.convert_to_tensor(g) for g in tf.gradients(penalty, variables()) if g is not None]


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("cell", ["BasicRNNCell", "GRUCell", "BasicLSTMCell"])
def test_gradient_penalty_of_a_recurrent_network(cell, use_resource):
    """The penalty on a critic's slope, as in Wasserstein GANs: the same whether the loop is one of frames or of functions."""
    found = []
    for enable in (tf.disable_control_flow_v2, tf.enable_control_flow_v2):
        enable()
        try:
            with tf.Graph().as_default(), tf.Session() as session:
                tf.set_random_seed(3)
                with tf.variable_scope("critic", use_resource=use_resource, initializer=tf.random_normal_initializer(seed=5)):
                    inputs, penalty, grads = recurrent_penalty(tf, getattr(tf.nn.rnn_cell, cell), tf.trainable_variables)
                session.run(tf.global_variables_initializer())
                found.append(session.run([penalty, *grads], {inputs: np.random.default_rng(0).normal(size=(2, 5, 3))}))
        finally:
            tf.disable_control_flow_v2()
    assert len(found[0]) > 3
    for of_frames, of_functions in zip(*found):
        np.testing.assert_allclose(of_frames, of_functions, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", [None, 3])
def test_random_numbers_of_a_loop_are_the_same_in_all_gradients(seed, form):
    """Three squares make the eighth power: of ``y = c * x ** 8`` the slopes follow from `y`, whatever `c` the random numbers make."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, X.shape)
        draw = lambda: tf.random_uniform([3], 0.5, 2.0, tf.float64, seed)  # noqa: E731
        y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * a * draw()), [0, x])[1]
        slope = gradient(y, x)
        curve = gradient(slope, x)
        third = gradient(curve, x)
        seen = [session.run([y, slope, curve, third], {x: X}) for _ in range(3)]
    for values in seen:
        expected = [values[0] * factor / X**power for power, factor in enumerate((1, 8, 56, 336))]
        np.testing.assert_allclose(values, expected, rtol=1e-9)
    assert not np.array_equal(seen[0][0], seen[1][0])


def test_second_order_gradients_through_dropout_in_a_loop(form):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [50])
        y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.nn.dropout(a * x, rate=0.5)), [0, x])[1]
        slope = gradient(y, x)
        values = session.run([y, slope, gradient(slope, x)], {x: np.full(50, 0.5)})
    kept = values[0] > 0
    assert 0 < kept.sum() < 50
    for value, expected in zip(values, (4 * 0.5**3, 4 * 3 * 0.5**2, 4 * 6 * 0.5)):
        np.testing.assert_allclose(value, np.where(kept, expected, 0.0))


def test_random_numbers_of_an_inner_loop_are_refused():
    tf.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3])
        inner = lambda a: tf.while_loop(lambda i, b: i < 3, lambda i, b: (i + 1, b * b * tf.random_uniform([3], dtype=tf.float64)), [0, a])[1]  # noqa: E731
        y = tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, inner(a)), [0, x])[1]
        slope = tf.gradients(y, x)[0]
        with pytest.raises(tf.errors.UnimplementedError, match="would run twice"):
            tf.gradients(slope, x)


def test_an_imported_gradient_is_refused_as_in_tensorflow():
    tf.disable_control_flow_v2()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3], name="x")
        tf.identity(tf.gradients(loop(3, lambda i, a, x: a * a)(x), x)[0], name="slope")
        exported = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(exported)
        x, slope = (graph.get_tensor_by_name(name) for name in ("x:0", "slope:0"))
        with pytest.raises(tf.errors.UnimplementedError, match="Second-order gradient for while loops not supported"):
            tf.gradients(slope, x)


def test_the_first_gradient_stays_as_it_is():
    tf.disable_control_flow_v2()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float64, [3])
        slope = tf.gradients(loop(3, lambda i, a, x: a * a)(x), x)[0]
        before = {node.name: node for node in graph.as_graph_def().node}
        value = session.run(slope, {x: X})
        tf.gradients(slope, x)
        after = {node.name: node for node in graph.as_graph_def().node}
        assert {name: after[name] for name in before} == before
        np.testing.assert_array_equal(session.run(slope, {x: X}), value)
