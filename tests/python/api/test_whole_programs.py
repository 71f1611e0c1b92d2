"""Programs in the style of TensorFlow 1, unchanged in both modules: the same values, the same errors."""

import os
import re

import flowmill
import numpy as np
import pytest
from compare import same
from oracles import words_of


def _outcome(tf, f):
    """What `f` gives, or the class of its error and its message without what names nodes and places."""
    try:
        return f()
    except Exception as error:  # which one it is, is compared
        return type(error).__name__, re.sub(r"_[0-9]+|0x\w+", "", words_of(error))


def _check(tf1, program, *args):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            found.append(program(tf, session, *args))
    theirs, ours = found
    assert len(ours) == len(theirs)
    for number, (mine, other) in enumerate(zip(ours, theirs)):
        is_error = isinstance(other, tuple) and len(other) == 2 and isinstance(other[1], str)
        if is_error or isinstance(other, (str, list)) or other is None:
            assert mine == other or is_error and mine[0] == other[0] and mine[1][:50] in other[1], (number, mine, other)
        else:
            same(mine, other, 1e-4, 1e-5)


VALUES = [1.0, np.ones([3, 2]), np.ones([2]), [3.0, 4.0], [1.0], np.ones([2, 1]), [], [[]], None, [[1, 2], [3]], [[1, None]], [1, 2, 3], [[True, False]],
          np.ones([1, 2], "i"), np.ones([0, 2])]


def fed(tf, kind):
    if kind == "placeholder":
        return tf.placeholder(tf.float32, [None, 2])
    if kind == "product":
        return tf.placeholder(tf.float32, [None, 2]) * 2.0
    if kind == "default":
        return tf.placeholder_with_default([1.0, 2.0], [2])
    if kind == "wider default":
        return tf.placeholder_with_default([[1.0]], [None, 1])
    if kind == "constant":
        return tf.constant([1.0, 2.0])
    if kind == "refined":
        x = tf.placeholder(tf.float32)
        x.set_shape([3])
        return x
    if kind == "unknown":
        return tf.placeholder(tf.float32) + 1.0
    return tf.get_variable("v", initializer=[1.0, 2.0])


@pytest.mark.parametrize("kind", ["placeholder", "product", "default", "wider default", "constant", "refined", "unknown", "variable"])
def test_values_are_fed_where_static_shapes_allow_them(tf1, kind):
    def program(tf, session):
        x = fed(tf, kind)
        y = tf.identity(x)
        session.run(tf.global_variables_initializer())
        return [_outcome(tf, lambda value=value: session.run(y, {x: value})) for value in VALUES]

    _check(tf1, program)


def test_callables_check_shapes_too(tf1):
    def program(tf, session):
        x = tf.placeholder(tf.float32, [None, 2]) * 2.0
        step = session.make_callable(x + 1.0, [x])
        return [step(np.ones([3, 2])), _outcome(tf, lambda: step(np.ones([3])))]

    _check(tf1, program)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("resource", [False, True])
def test_embeddings_get_gradients_of_rows(tf1, combiner, resource):
    def program(tf, session):
        table = tf.get_variable("table", initializer=np.arange(12.0, dtype="f").reshape(6, 2), use_resource=resource)
        ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0], [2, 1]], [3, 1, 3, 5], [3, 2])
        loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(table, ids, None, combiner=combiner) ** 2)
        optimizer = tf.train.AdamOptimizer(0.1)
        grads = optimizer.compute_gradients(loss)
        step = optimizer.apply_gradients(grads)
        session.run(tf.global_variables_initializer())
        dense = session.run(tf.convert_to_tensor(grads[0][0]))
        for _ in range(3):
            session.run(step)
        return [[type(g).__name__ for g, _ in grads], dense, session.run(table), session.run(optimizer.get_slot(table, "m"))]

    _check(tf1, program)


def test_gradients_of_what_has_no_slope(tf1):
    def program(tf, session):
        x, n = tf.constant(3.0), tf.constant(3)
        cases = [
            lambda: tf.gradients(n * n, n), lambda: tf.gradients(n * n, n, [2]), lambda: tf.gradients(tf.cast(x, tf.int32), x),
            lambda: tf.gradients(tf.constant(True), x), lambda: tf.gradients(x * 2.0, n), lambda: tf.gradients([], [x]), lambda: tf.gradients(x, []),
            lambda: tf.gradients(tf.constant("a"), x), lambda: tf.gradients(x, x, [None, None]),
        ]
        mixed = tf.gradients([tf.cast(x, tf.int32), x * 2.0], x)
        return [*(_outcome(tf, case) for case in cases), session.run(mixed[0])]

    _check(tf1, program)


@pytest.mark.parametrize("check", ["positive", "negative", "non_negative", "non_positive", "equal", "less", "none_equal", "near"])
def test_messages_of_assertions(tf1, check):
    values = {"positive": [0], "negative": [0], "non_negative": [-1], "non_positive": [1], "equal": [1, 3], "less": [5], "none_equal": [1], "near": [2]}

    def shown(tf, session):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None], "x")
            others = {"equal": ([1.0, 2.0],), "less": (3.0,), "none_equal": (1.0,), "near": (1.0,)}.get(check, ())
            done = getattr(tf, f"assert_{check}")(x, *others, message="in vain", summarize=3)
            with pytest.raises(tf.errors.InvalidArgumentError) as error:
                session.run(done, {x: values[check]})
            return re.search(r"assertion failed: (.*)", str(error.value)).group(1)

    assert shown(flowmill, None) == shown(tf1, None)


def test_networks_against_each_other(tf1):
    def program(tf, session):
        def made(z):
            with tf.variable_scope("g", reuse=tf.AUTO_REUSE):
                return tf.layers.dense(z, 2, kernel_initializer=tf.constant_initializer(0.3))

        def judged(x):
            with tf.variable_scope("d", reuse=tf.AUTO_REUSE):
                hidden = tf.layers.dense(x, 4, tf.nn.leaky_relu, kernel_initializer=tf.constant_initializer(0.2), name="a")
                return tf.layers.dense(hidden, 1, kernel_initializer=tf.constant_initializer(-0.1), name="b")

        def entropy(logits, label):
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=tf.fill([4, 1], label)))

        z, real = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 2])
        fake = made(z)
        mix = tf.reshape(tf.linspace(0.0, 1.0, 4), [4, 1])
        between = mix * real + (1 - mix) * fake
        penalty = tf.reduce_mean(tf.square(tf.norm(tf.gradients(judged(between), between)[0], axis=1) - 1.0))
        losses = entropy(judged(real), 1.0) + entropy(judged(fake), 0.0), -tf.reduce_mean(judged(fake)), penalty
        of = {s: tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, s) for s in "gd"}
        steps = [tf.train.AdamOptimizer(0.01, beta1=0.5).minimize(losses[0] + 10 * penalty, var_list=of["d"]),
                 tf.train.RMSPropOptimizer(0.01).minimize(losses[1], var_list=of["g"])]
        feeds = {z: np.linspace(-1, 1, 12).reshape(4, 3), real: np.linspace(0, 1, 8).reshape(4, 2)}
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(4):
            for step in steps:
                session.run(step, feeds)
            found += session.run(list(losses), feeds)
        return found

    _check(tf1, program)


def test_attention(tf1):
    def program(tf, session):
        x = tf.constant(np.sin(np.arange(48.0)).reshape(2, 4, 6).astype("f"))
        mask = tf.sequence_mask([4, 2], 4)

        def heads(name, value):
            weights = tf.get_variable(name, [6, 6], initializer=tf.constant_initializer(value))
            return tf.transpose(tf.reshape(tf.tensordot(x, weights, 1), [2, -1, 2, 3]), [0, 2, 1, 3])

        q, k, v = heads("q", 0.1), heads("k", 0.2), heads("v", 0.3)
        logits = tf.matmul(q, k, transpose_b=True) / tf.sqrt(3.0)
        weights = tf.nn.softmax(logits + (1.0 - tf.cast(mask, tf.float32))[:, tf.newaxis, tf.newaxis, :] * -1e9)
        out = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [2, -1, 6]) + x
        mean, variance = tf.nn.moments(out, [-1], keep_dims=True)
        loss = tf.reduce_mean(tf.boolean_mask((out - mean) * tf.rsqrt(variance + 1e-6), mask)[:, :3] ** 2)
        session.run(tf.global_variables_initializer())
        return session.run([weights, out, loss, *tf.gradients(loss, tf.trainable_variables())])

    _check(tf1, program)


def test_loops_in_branches_with_arrays(tf1, control_flow):
    def program(tf, session):
        x = tf.placeholder_with_default(3.0, [])

        def powers(n):
            array = tf.TensorArray(tf.float32, 5, clear_after_read=False, dynamic_size=True)
            return tf.while_loop(lambda i, a, t: i < n, lambda i, a, t: (i + 1, a * x, t.write(i, a)), [0, 1.0, array])

        y = tf.cond(x > 2.0, lambda: powers(4)[1] + tf.reduce_sum(powers(3)[2].stack()), lambda: tf.while_loop(lambda a: a < 10.0, lambda a: a + x, [x]))
        z = tf.case([(x < 1.0, lambda: x * 2.0), (x < 2.0, lambda: x * 3.0)], default=lambda: tf.cond(x > 5.0, lambda: x, lambda: -x))
        slope = tf.gradients(y, x)[0]
        return [value for fed in (3.0, 1.5, 0.5, 6.0) for value in session.run([y, slope, z], {x: fed})]

    _check(tf1, program)


def test_checkpoints_of_parts(tf1, tmp_path):
    def program(tf, session):
        directory = tmp_path / tf.__name__
        directory.mkdir()
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):
            parts = tf.get_variable("v", [7, 2], initializer=tf.ones_initializer())
        whole = tf.get_variable("w", initializer=[1, 2])
        saver = tf.train.Saver(sharded=True)
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(directory / "c"), global_step=3, write_meta_graph=False)
        session.run(tf.assign(whole, [5, 6]))
        saver.restore(session, path)
        reader = tf.train.NewCheckpointReader(path)
        shapes = [f"{name} {shape}" for name, shape in sorted(reader.get_variable_to_shape_map().items())]
        return [sorted(os.listdir(directory)), shapes, session.run(whole), session.run(tf.convert_to_tensor(parts)), reader.get_tensor("s/v")]

    _check(tf1, program)


def test_devices_of_sessions(tf1):
    def listed(tf):
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            devices = session.list_devices()
            assert [d.incarnation for d in session.list_devices()] == [d.incarnation for d in devices]
            assert len({d.incarnation for d in devices}) == len(devices)
            return [(d.name, d.device_type, d.memory_limit_bytes, repr(d).rpartition(",")[0]) for d in devices]

    assert listed(flowmill) == listed(tf1)
