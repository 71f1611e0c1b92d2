"""Recurrent networks: the same variables as TensorFlow, the same nodes where nothing random is among them, the same values."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

SHAPE = (3, 4, 5)
X = np.random.RandomState(1).uniform(-1, 1, SHAPE).astype(np.float32)
LENGTHS = np.array([2, 4, 1], np.int32)


def placeholder(tf, name="x", dtype="float32", shape=SHAPE):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=None if shape is None else list(shape), name=name)


CELLS = {
    "basic": lambda c, tf: c.BasicRNNCell(6),
    "basic, relu": lambda c, tf: c.BasicRNNCell(6, activation=tf.nn.relu, name="own"),
    "gru": lambda c, tf: c.GRUCell(6),
    "basic lstm": lambda c, tf: c.BasicLSTMCell(6, forget_bias=0.5),
    "basic lstm, joined state": lambda c, tf: c.BasicLSTMCell(6, state_is_tuple=False),
    "lstm": lambda c, tf: c.LSTMCell(6),
    "lstm, everything": lambda c, tf: c.LSTMCell(6, use_peepholes=True, cell_clip=0.1, num_proj=3, proj_clip=0.05),
    "lstm, joined state": lambda c, tf: c.LSTMCell(6, num_proj=3, state_is_tuple=False),
    "several": lambda c, tf: c.MultiRNNCell([c.GRUCell(6), c.LSTMCell(5), c.BasicRNNCell(3)]),
    "several, joined state": lambda c, tf: c.MultiRNNCell([c.GRUCell(6), c.BasicRNNCell(3)], state_is_tuple=False),
    "residual": lambda c, tf: c.ResidualWrapper(c.GRUCell(5)),
    "device": lambda c, tf: c.DeviceWrapper(c.LSTMCell(6), "/cpu:0"),
    "nothing dropped": lambda c, tf: c.DropoutWrapper(c.LSTMCell(6), 1.0, 1.0),
}


def check(tf1, build, feeds, **options):
    """Variables begin with values that depend on nothing but their shapes."""
    def built(tf):
        def start(shape, dtype=None, partition_info=None, **_):
            count = int(np.prod([int(s) for s in shape]))
            return tf.constant(np.sin(np.arange(count)).reshape([int(s) for s in shape]) * 0.5, dtype)
        with tf.variable_scope("", initializer=start):
            out = build(tf)
        return out
    names = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            built(tf)
            names.append([(v.name, v.get_shape().as_list()) for v in tf.global_variables()])
    assert names[0] == names[1]
    return compare(tf1, built, feeds, initialize=True, ordered=False, **options)


@pytest.mark.parametrize("cell", CELLS)
def test_one_step(tf1, cell):
    def build(tf):
        made = CELLS[cell](tf.nn.rnn_cell, tf)
        out = made(placeholder(tf, shape=(3, 5)), made.zero_state(3, tf.float32))
        again = made(placeholder(tf, "y", shape=(3, 5)), out[1])
        return out, again
    check(tf1, build, {"x": X[:, 0], "y": X[:, 1]}, nodes=False)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.usefixtures("control_flow")
def test_dynamic_rnn(tf1, cell):
    def build(tf):
        return tf.nn.dynamic_rnn(CELLS[cell](tf.nn.rnn_cell, tf), placeholder(tf), dtype=tf.float32)
    check(tf1, build, {"x": X}, nodes=cell in ("basic", "gru", "lstm"))


@pytest.mark.parametrize("shape", [SHAPE, (None, None, 5)])
@pytest.mark.parametrize("options", [{}, {"time_major": True}, {"scope": "net", "parallel_iterations": 2}])
@pytest.mark.usefixtures("control_flow")
def test_dynamic_rnn_with_lengths(tf1, shape, options):
    def build(tf):
        x, lengths = placeholder(tf, shape=shape), placeholder(tf, "lengths", "int32", (None,))
        return tf.nn.dynamic_rnn(CELLS["lstm"](tf.nn.rnn_cell, tf), x, sequence_length=lengths, dtype=tf.float32, **options)
    check(tf1, build, {"x": X, "lengths": np.array([2, 4, 1, 3], np.int32) if options.get("time_major") else LENGTHS})


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.usefixtures("control_flow")
def test_bidirectional_dynamic_rnn(tf1, lengths):
    def build(tf):
        c = tf.nn.rnn_cell
        return tf.nn.bidirectional_dynamic_rnn(
            c.GRUCell(4), c.GRUCell(3), placeholder(tf), sequence_length=placeholder(tf, "lengths", "int32", (3,)) if lengths else None, dtype=tf.float32)
    check(tf1, build, {"x": X, **({"lengths": LENGTHS} if lengths else {})}, nodes=False)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.usefixtures("control_flow")
def test_static_rnn(tf1, lengths, both):
    def build(tf):
        c, n = tf.nn.rnn_cell, tf.nn
        steps = tf.unstack(placeholder(tf), axis=1)
        given = placeholder(tf, "lengths", "int32", (3,)) if lengths else None
        if both:
            return n.static_bidirectional_rnn(c.LSTMCell(4), c.GRUCell(3), steps, dtype=tf.float32, sequence_length=given)
        return n.static_rnn(c.LSTMCell(4), steps, dtype=tf.float32, sequence_length=given)
    check(tf1, build, {"x": X, **({"lengths": LENGTHS} if lengths else {})}, nodes=False)


@pytest.mark.usefixtures("control_flow")
def test_raw_rnn(tf1):
    def build(tf):
        cell = tf.nn.rnn_cell.LSTMCell(4)
        array = tf.TensorArray(tf.float32, size=4, clear_after_read=False).unstack(tf.transpose(placeholder(tf), [1, 0, 2]))
        lengths = placeholder(tf, "lengths", "int32", (3,))

        def loop(time, output, state, loop_state):
            state = cell.zero_state(3, tf.float32) if output is None else state
            finished = time >= lengths
            following = tf.cond(tf.reduce_all(finished), lambda: tf.zeros([3, 5]), lambda: array.read(time))
            return finished, following, state, output, None
        outputs, state, _ = tf.nn.raw_rnn(cell, loop)
        return outputs.stack(), state
    check(tf1, build, {"x": X, "lengths": LENGTHS}, nodes=False)


def test_training_goes_through_time(tf1, control_flow):
    def build(tf):
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), placeholder(tf), dtype=tf.float32, sequence_length=placeholder(tf, "lengths", "int32", (3,)))
        return tf.gradients(tf.reduce_sum(outputs * outputs), tf.trainable_variables())
    check(tf1, build, {"x": X, "lengths": LENGTHS}, nodes=False)


def test_dropping_keeps_the_expectation():
    from flowmill.nn.rnn_cell import BasicRNNCell, DropoutWrapper

    ones = np.ones((1, 2000), np.float32)
    with flowmill.Graph().as_default() as graph:
        cell = DropoutWrapper(BasicRNNCell(2000, activation=lambda x: x * 0.0 + 1.0), output_keep_prob=0.5, seed=3)
        output, _ = cell(placeholder(flowmill, shape=(1, 2000)), cell.zero_state(1, flowmill.float32))
        with flowmill.Session(graph=graph) as session:
            session.run(flowmill.global_variables_initializer())
            value = session.run(output, {"x:0": ones})
    assert set(np.unique(value)) == {0.0, 2.0} and abs(value.mean() - 1.0) < 0.15


@pytest.mark.usefixtures("control_flow")
def test_the_same_is_dropped_in_all_steps():
    from flowmill.nn import dynamic_rnn
    from flowmill.nn.rnn_cell import BasicRNNCell, DropoutWrapper

    with flowmill.Graph().as_default() as graph:
        cell = DropoutWrapper(BasicRNNCell(50, activation=lambda x: x * 0.0 + 1.0), output_keep_prob=0.5, variational_recurrent=True, dtype=flowmill.float32)
        outputs, _ = dynamic_rnn(cell, placeholder(flowmill), dtype=flowmill.float32)
        with flowmill.Session(graph=graph) as session:
            session.run(flowmill.global_variables_initializer())
            value = session.run(outputs, {"x:0": X})
    assert (value == value[0, 0]).all() and 0 < (value == 0).mean() < 1


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.nn.dynamic_rnn(3, placeholder(tf), dtype=tf.float32), "is not an RNNCell"),
    (lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), placeholder(tf)), "If no initial_state is provided, argument `dtype` must be specified"),
    (lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), placeholder(tf, shape=(3, 4, None)), dtype=tf.float32), "must be accessible via shape inference"),
    (lambda tf: tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), placeholder(tf), sequence_length=[[1]], dtype=tf.float32), "must be a vector of length batch_size"),
    (lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(3), [], dtype=tf.float32), None),
    (lambda tf: tf.nn.static_rnn(tf.nn.rnn_cell.GRUCell(3), placeholder(tf), dtype=tf.float32), "must be a sequence"),
    (lambda tf: tf.nn.rnn_cell.MultiRNNCell([]), "Must specify at least one cell for MultiRNNCell."),
    (lambda tf: tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.LSTMCell(3)], state_is_tuple=False), "Some cells return tuples of states"),
    (lambda tf: tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(3), 1.5), "must be between 0 and 1"),
    (lambda tf: tf.nn.rnn_cell.GRUCell(3, dtype=tf.int32), "RNN cell only supports floating point inputs"),
])
def test_errors(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.parametrize("batch_size", [50, "tensor"])
def test_initial_states_for_another_batch_than_that_of_the_inputs(tf1, batch_size):
    def build(tf):
        inputs = tf.placeholder(tf.float32, [3, 4, 1])
        return tf.nn.rnn_cell.BasicRNNCell(5).get_initial_state(inputs, tf.constant(50) if batch_size == "tensor" else batch_size)
    same_error(tf1, build, "batch size from input tensor is different from")
