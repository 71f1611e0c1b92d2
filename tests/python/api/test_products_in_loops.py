"""Products that the optimiser takes out of loops: the values and errors of TensorFlow, in all spellings of recurrent networks."""

import numpy as np
import pytest
from compare import compare

import flowmill

STEPS, BATCH, WIDTH, UNITS = 6, 3, 5, 4
RANDOM = np.random.RandomState(7)
X = RANDOM.uniform(-1, 1, (STEPS, BATCH, WIDTH)).astype("f")
INPUT = RANDOM.uniform(-1, 1, (WIDTH, UNITS)).astype("f")
STATE = RANDOM.uniform(-1, 1, (UNITS, UNITS)).astype("f")
BIAS = RANDOM.uniform(-1, 1, UNITS).astype("f")


def placeholder(tf, shape=(None, None, WIDTH)):
    return tf.placeholder(tf.float32, shape, name="x")


def loop(tf, step, count=STEPS):
    """Returns the last state and all states of a loop whose next state is `step(i, state)`."""
    states = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[None, UNITS])
    start = tf.zeros([BATCH, UNITS])

    def body(i, h, states):
        h = step(i, h)
        h.set_shape([BATCH, UNITS])
        return i + 1, h, states.write(i, h)
    _, h, states = tf.while_loop(lambda i, *_: i < count, body, (0, start, states))
    return h, states.stack()


def array(tf, x, **options):
    return tf.TensorArray(tf.float32, size=tf.shape(x)[0], **options).unstack(x)


def gates(tf, product, h):
    return tf.tanh(tf.nn.bias_add(product + tf.matmul(h, STATE), BIAS))


def slices(tf):
    x = placeholder(tf)
    return loop(tf, lambda i, h: gates(tf, tf.matmul(x[i], INPUT), h))


def gathers_backwards(tf):
    x = placeholder(tf)
    return loop(tf, lambda i, h: gates(tf, tf.matmul(tf.gather(x, STEPS - 1 - i), INPUT), h))


def arrays(tf):
    elements = array(tf, placeholder(tf))
    return loop(tf, lambda i, h: gates(tf, tf.matmul(elements.read(i), INPUT), h))


def arrays_of_declared_elements(tf):
    elements = array(tf, placeholder(tf), element_shape=[None, WIDTH], clear_after_read=False)
    return loop(tf, lambda i, h: gates(tf, tf.matmul(elements.read(i), INPUT), h))


def side_by_side(tf):
    elements, weights = array(tf, placeholder(tf)), np.concatenate([INPUT, STATE])
    return loop(tf, lambda i, h: tf.tanh(tf.nn.bias_add(tf.matmul(tf.concat([elements.read(i), h], 1), weights), BIAS)))


def side_by_side_transposed(tf):
    elements, weights = array(tf, placeholder(tf)), np.concatenate([INPUT, STATE]).T.copy()
    return loop(tf, lambda i, h: tf.tanh(tf.matmul(tf.concat([elements.read(i), h], 1), weights, transpose_b=True)))


def by_columns(tf):
    x = tf.transpose(placeholder(tf, (None, BATCH, WIDTH)), [0, 2, 1])
    return loop(tf, lambda i, h: gates(tf, tf.transpose(tf.matmul(INPUT, x[i], transpose_a=True)), h))


def batch_major(tf):
    x = tf.transpose(placeholder(tf), [1, 0, 2])
    return loop(tf, lambda i, h: gates(tf, tf.matmul(x[:, i, :], INPUT), h))


def batches_of_matrices(tf):
    x = tf.stack([placeholder(tf)] * 2, axis=1)
    return loop(tf, lambda i, h: gates(tf, tf.reduce_sum(tf.matmul(x[i], INPUT), 0), h))


def given_by_the_caller(tf):
    """The matrix is another one in each step."""
    x, weights = placeholder(tf), tf.placeholder(tf.float32, [WIDTH, UNITS], name="w")
    return loop(tf, lambda i, h: gates(tf, tf.matmul(x[i], weights), h))


def invariant(tf):
    x = placeholder(tf, (None, WIDTH))
    return loop(tf, lambda i, h: tf.tanh(tf.matmul(x, INPUT) + tf.matmul(h, STATE) + tf.cast(i, tf.float32)))


def early_end(tf):
    x = placeholder(tf)
    return loop(tf, lambda i, h: gates(tf, tf.matmul(x[i], INPUT), h), count=2)


def no_iteration(tf):
    """The loop never reads, so that its index and an empty tensor are no error. Nobody knows that before the graph runs."""
    x = placeholder(tf)
    return loop(tf, lambda i, h: gates(tf, tf.matmul(x[i + 100], INPUT), h), count=tf.minimum(tf.shape(x)[0], 0))[0]


SPELLINGS = [slices, gathers_backwards, arrays, arrays_of_declared_elements, side_by_side, side_by_side_transposed, by_columns, batch_major,
             batches_of_matrices, given_by_the_caller, invariant, early_end, no_iteration]


def hoisted(build):
    """Returns the number of products that are taken out of the loops of `build`, which is called with the module."""
    with flowmill.Graph().as_default() as graph:
        fetches = build(flowmill)
        feeds = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        with flowmill.Session() as session:
            report = session.optimizations(fetches, feeds)
    return sum(entry["changes"] for entry in report["passes"] if entry["name"] == "hoist_products")


def feeds(build):
    with flowmill.Graph().as_default() as graph:
        build(flowmill)
        names = {op.name for op in graph.get_operations() if op.type == "Placeholder"}
    values = {"x": X[0] if build is invariant else X, "w": INPUT + 1}
    return {name: values[name] for name in names}


@pytest.mark.parametrize("build", SPELLINGS, ids=lambda build: build.__name__)
def test_the_product_is_computed_before_the_loop(tf1, control_flow, build):
    compare(tf1, build, feeds(build), nodes=False)
    assert hoisted(build) == 1


@pytest.mark.parametrize("build", [slices, gathers_backwards, arrays, side_by_side, side_by_side_transposed, batch_major, given_by_the_caller, early_end],
                         ids=lambda build: build.__name__)
def test_many_rows_are_multiplied_in_the_loop(tf1, control_flow, build, monkeypatch):
    """The number of rows is not known before the graph runs. Few rows and many give the same bits."""
    few = feeds(build)
    many = dict(few, x=np.tile(X, (1, 5, 1)))
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        last, _ = build(flowmill)
        expected = session.run(last, {name + ":0": value for name, value in few.items()})
    monkeypatch.setitem(globals(), "BATCH", 5 * BATCH)
    compare(tf1, build, many, nodes=False)
    assert hoisted(build) == 1
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        last, _ = build(flowmill)
        np.testing.assert_array_equal(session.run(last, {name + ":0": value for name, value in many.items()}), np.tile(expected, (5, 1)))


@pytest.mark.parametrize("build", [slices, arrays, side_by_side], ids=lambda build: build.__name__)
def test_gradients(tf1, control_flow, build):
    def differentiated(tf):
        last, states = build(tf)
        x = tf.get_default_graph().get_tensor_by_name("x:0")
        return last, tf.gradients(tf.reduce_sum(states * states) + tf.reduce_sum(last), x)
    compare(tf1, differentiated, {"x": X}, nodes=False, rtol=1e-4, atol=1e-5)


def test_dynamic_lengths(tf1):
    """Each sequence of a batch ends where it says; the loop ends with the longest."""
    def build(tf):
        cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
        x, lengths = placeholder(tf), tf.placeholder(tf.int32, [None], name="lengths")
        with tf.variable_scope("", initializer=tf.constant_initializer(0.3)):
            return tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32, time_major=True)
    compare(tf1, build, {"x": X, "lengths": np.array([2, 4, 1], np.int32)}, nodes=False, initialize=True)


@pytest.mark.parametrize("build, index", [(slices, 10), (gathers_backwards, 3), (arrays, 10)], ids=["slices", "gathers", "arrays"])
def test_a_step_that_does_not_exist_is_an_error_still(build, index):
    """There are fewer steps than the loop reads."""
    with flowmill.Graph().as_default():
        last, _ = build(flowmill)
        with flowmill.Session() as session, pytest.raises((flowmill.errors.InvalidArgumentError, flowmill.errors.OutOfRangeError)) as found:
            session.run(last, {"x:0": X[:2]})
    with flowmill.Graph().as_default():
        last, _ = build(flowmill)
        with flowmill.Session(config=flowmill.SessionOptions(disabled_passes=["hoist_products"])) as session:
            with pytest.raises(type(found.value)):
                session.run(last, {"x:0": X[:2]})


def test_a_product_that_would_fail_stays_in_the_loop():
    """The loop does not run, so the shapes of its operands are no error."""
    def build(tf):
        x = tf.placeholder(tf.float32, [None, None, None], name="x")
        return loop(tf, lambda i, h: gates(tf, tf.matmul(x[i], INPUT), h), count=0)[0]
    assert hoisted(build) == 0
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        assert not session.run(build(flowmill), {"x:0": X[:, :, 1:]}).any()
