"""Batches of the inputs of concurrent steps: `Batch`, `Unbatch`, `UnbatchGrad`, `BatchFunction`."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

import numpy as np
import pytest

import flowmill
from flowmill.python.framework.function import Defun
from flowmill.python.ops import batch_ops, gen_batch_ops

from compare import compare

NEVER = 3_600_000_000


@pytest.fixture
def session():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        yield session


def at_once(*calls):
    """Calls all of them, each in a thread of its own: what they return or raise."""
    def outcome(call):
        try:
            return call()
        except flowmill.errors.OpError as e:
            return e
    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(outcome, calls))


def runs(session, fetches, placeholder, values):
    return [lambda value=value: session.run(fetches, {placeholder: value}) for value in values]


def recorded(function):
    """The function as a `py_func` of the same type, and the list of the batches it was called with."""
    batches = []

    def called(x):
        batches.append(x.copy())
        return function(x)
    return lambda x: flowmill.py_func(called, [x], x.dtype), batches


def batch(inputs, **attrs):
    settings = {"num_batch_threads": 1, "max_batch_size": 2, "batch_timeout_micros": NEVER, "grad_timeout_micros": 0}
    return batch_ops.batch(inputs, **(settings | attrs))


def test_one_step_gets_the_batch_and_the_others_nothing(session):
    x, y = flowmill.placeholder("int32", [1]), flowmill.placeholder("string", [None, 2])
    batched, index, id_ = batch([x, y], max_batch_size=3)
    assert [str(t.shape) for t in (*batched, index, id_)] == ["(?,)", "(?, 2)", "(?, 3)", "()"]
    results = at_once(*(lambda i=i: session.run([batched, index, id_], {x: [i], y: [[b"a", str(i)]]}) for i in range(3)))
    (full,) = [r for r in results if len(r[1])]
    assert sorted(full[0][0]) == [0, 1, 2] and [int(row[1]) for row in full[0][1]] == list(full[0][0])
    np.testing.assert_array_equal(full[1][:, 1:], [[0, 1], [1, 2], [2, 3]])
    assert sorted(full[1][:, 0]) == sorted(r[2] for r in results)
    for (a, b), rows, _ in (r for r in results if r is not full):
        assert (a.shape, b.shape, rows.shape) == ((0,), (0, 2), (0, 3))


def test_a_batch_that_is_not_full_is_padded_after_the_timeout(session):
    x = flowmill.placeholder("float32", [None])
    batched, index, _ = batch([x], max_batch_size=8, allowed_batch_sizes=[4, 8], batch_timeout_micros=1000)
    (values,), rows, _ = session.run([batched, index, _], {x: [5, 6]})
    assert values.tolist() == [5, 6, 5, 5] and rows[:, 1:].tolist() == [[0, 2]]


def test_every_step_gets_its_rows_back(session):
    x = flowmill.placeholder("int64", [None, 2])
    batched, index, id_ = batch([x], max_batch_size=12, batch_timeout_micros=20_000)
    rows = batch_ops.unbatch(batched[0] * 10, index, id_, timeout_micros=60_000_000, shared_name="rows")
    values = [np.full((1 + i % 3, 2), i) for i in range(24)]
    for value, result in zip(values, at_once(*runs(session, rows, x, values))):
        np.testing.assert_array_equal(result, value * 10)


def test_gradients_come_back_to_the_step_with_the_batch(session):
    x = flowmill.placeholder("float32", [1])
    (batched,), index, id_ = batch([x])
    together = gen_batch_ops.unbatch_grad(batched, index, x * 2, id_)
    assert str(together.shape) == "(?,)"
    results = at_once(*runs(session, [together, batched], x, [[1.0], [2.0]]))
    (gradient,) = [g for g, values in results if len(values)]
    (values,) = [values for _, values in results if len(values)]
    assert gradient.tolist() == (values * 2).tolist()
    assert [len(g) for g, values in results if not len(values)] == [0]


def test_a_function_runs_once_for_many_steps(session):
    doubled, batches = recorded(lambda x: x * 2)
    x = flowmill.placeholder("int32", [None])
    y = flowmill.nondifferentiable_batch_function(1, 6, NEVER)(doubled)(x)
    results = at_once(*runs(session, y, x, [[1], [2, 3], [4, 5, 6]]))
    assert [r.tolist() for r in results] == [[2], [4, 6], [8, 10, 12]]
    assert [sorted(b) for b in batches] == [[1, 2, 3, 4, 5, 6]]


def test_a_function_may_capture_and_return_several(session):
    scale, v = flowmill.placeholder_with_default(2.0, []), flowmill.Variable(3.0, use_resource=True)

    @flowmill.nondifferentiable_batch_function(2, 4, 1000, allowed_batch_sizes=[3, 4])
    def both(x, y):
        return {"sum": x * scale + y + v, "rows": flowmill.shape(x)[:1] + 0 * flowmill.cast(x, "int32")}

    result = both(*(flowmill.placeholder_with_default(rows, [None]) for rows in ([1.0, 2.0], [10.0, 20.0])))
    session.run(v.initializer)
    values = session.run(result)
    assert values["sum"].tolist() == [15, 27] and values["rows"].tolist() == [3, 3]


def test_large_calls_are_divided_and_small_ones_wait_for_one_another(session):
    halved, batches = recorded(lambda x: x // 2)
    x = flowmill.placeholder("int32", [None])
    y = flowmill.nondifferentiable_batch_function(3, 100, 2000, allowed_batch_sizes=[2, 4])(halved)(x)
    values = [np.arange(n) for n in (11, 1, 7, 4)]
    for value, result in zip(values, at_once(*runs(session, y, x, values))):
        np.testing.assert_array_equal(result, value // 2)
    assert {len(b) for b in batches} <= {2, 4}


def test_empty_calls_do_not_wait(session):
    x = flowmill.placeholder("float32", [None, 3])
    y = flowmill.nondifferentiable_batch_function(1, 2, NEVER)(lambda x: x + 1)(x)
    assert session.run(y, {x: np.zeros((0, 3))}).shape == (0,)


def test_calls_that_share_a_name_share_their_batches(session):
    x = flowmill.placeholder("int32", [1])
    first, second = (batch([x], shared_name="shared")[0][0] for _ in range(2))
    results = at_once(lambda: session.run(first, {x: [1]}), lambda: session.run(second, {x: [2]}))
    assert sorted(sum((r.tolist() for r in results), [])) == [1, 2]


def test_two_calls_in_one_step_are_a_batch(session):
    @Defun("int32")
    def add_one(x):
        return x + 1

    x, y = flowmill.placeholder("int32", [1]), flowmill.placeholder("int32", [1])
    attrs = {"f": add_one, "num_batch_threads": 1, "max_batch_size": 2, "batch_timeout_micros": NEVER, "Tout": ["int32"], "shared_name": "one"}
    results = [flowmill.raw_ops.BatchFunction(in_tensors=[t], captured_tensors=[], **attrs)[0] for t in (x, y)]
    assert [r.tolist() for r in session.run(results, {x: [4], y: [7]})] == [[5], [8]]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_steps_with_few_threads(threads):
    with flowmill.Graph().as_default():
        x = flowmill.placeholder("float32", [None, 4])
        y = flowmill.nondifferentiable_batch_function(2, 16, 500, max_enqueued_batches=1000)(lambda x: flowmill.matmul(x, flowmill.eye(4)) + 1)(x)
        config = flowmill.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        with flowmill.Session(config=config) as session, ThreadPoolExecutor(12) as pool:
            values = [np.full((1 + i % 3, 4), i, np.float32) for i in range(150)]
            for value, result in zip(values, pool.map(lambda v: session.run(y, {x: v}), values)):
                np.testing.assert_array_equal(result, value + 1)


def test_a_failing_function_fails_its_batch_and_no_other(session):
    x = flowmill.placeholder("float32", [1])

    @flowmill.nondifferentiable_batch_function(1, 2, NEVER)
    def checked(x):
        with flowmill.control_dependencies([flowmill.Assert(flowmill.reduce_all(x > 0), ["not positive"])]):
            return x + 1

    y = checked(x)
    failed = at_once(*runs(session, y, x, [[1], [-1]]))
    assert all(isinstance(e, flowmill.errors.InvalidArgumentError) and "not positive" in e.message for e in failed)
    assert sorted(r.item() for r in at_once(*runs(session, y, x, [[1], [2]]))) == [2, 3]


def test_a_step_that_ends_early_leaves_the_batch(session):
    x = flowmill.placeholder("int32", [1])
    (batched,), index, _ = batch([x])
    with pytest.raises(flowmill.errors.DeadlineExceededError):
        session.run(batched, {x: [9]}, options=flowmill.RunOptions(timeout_in_ms=20))
    results = at_once(*runs(session, batched, x, [[1], [2]]))
    assert sorted(sum((r.tolist() for r in results), [])) == [1, 2]


def test_a_batch_outlives_the_step_that_runs_it(session):
    started, go_on = threading.Event(), threading.Event()

    def slow(x):
        started.set()
        assert go_on.wait(60)
        return x + 1
    slowly, batches = recorded(slow)
    x = flowmill.placeholder("int32", [1])
    y = flowmill.nondifferentiable_batch_function(1, 2, NEVER)(slowly)(x)
    options = flowmill.RunOptions(timeout_in_ms=500)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.run, y, {x: [1]})
        while not first.running():
            time.sleep(0.001)
        # The last call of the batch is most likely this one; whichever it is, the first has no timeout.
        second = pool.submit(session.run, y, {x: [2]}, options=options)
        assert started.wait(60)
        time.sleep(0.6)
        go_on.set()
        assert first.result(60).tolist() == [2]
        assert isinstance(second.exception(60), (flowmill.errors.DeadlineExceededError, type(None)))


def test_waiting_steps_end_when_their_session_is_closed():
    with flowmill.Graph().as_default():
        x = flowmill.placeholder("int32", [1])
        (batched,), _, _ = batch([x])
        session = flowmill.Session()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(session.run, batched, {x: [1]})
            with pytest.raises(flowmill.errors.DeadlineExceededError):
                session.run(flowmill.FIFOQueue(1, "int32").dequeue(), options=flowmill.RunOptions(timeout_in_ms=200))
            session.close()
            with pytest.raises(flowmill.errors.CancelledError):
                waiting.result(60)


def test_rows_that_do_not_come_in_time(session):
    data, index, id_ = flowmill.zeros([0]), flowmill.zeros([0, 3], "int64"), flowmill.constant(7, "int64")
    rows = batch_ops.unbatch(data, index, id_, timeout_micros=1000)
    with pytest.raises(flowmill.errors.DeadlineExceededError, match="Batched data did not arrive within timeout window."):
        session.run(rows)


def test_a_queue_without_room_refuses_steps(session):
    go_on = threading.Event()
    x = flowmill.placeholder("int32", [1])
    slowly, _ = recorded(lambda x: x if go_on.wait(60) else x)
    y = flowmill.nondifferentiable_batch_function(1, 1, 0, max_enqueued_batches=1, enable_large_batch_splitting=False)(slowly)(x)
    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(session.run, y, {x: [i]}) for i in range(8)]
        refused = next(as_completed(running, timeout=60))
        assert isinstance(refused.exception(), flowmill.errors.UnavailableError)
        assert "The batch scheduling queue to which this task was submitted is full; currently 1 batches enqueued" in str(refused.exception())
        go_on.set()
        assert {type(r.exception()) for r in running} == {type(None), flowmill.errors.UnavailableError}


ERRORS = {
    "scalar": (lambda tf, x: _batch(tf, [tf.placeholder_with_default(1.0, None)]), "Batching input tensors must have at least one dimension"),
    "rows": (lambda tf, x: _batch(tf, [x, x[:1]]), "must have equal 0th-dimension size"),
    "large": (lambda tf, x: _batch(tf, [tf.tile(x, [4])]), "Task size 8 is larger than maximum input batch size 4"),
    "order": (lambda tf, x: _batch(tf, [x], allowed_batch_sizes=[3, 3, 4]), "allowed_batch_sizes entries must be monotonically increasing"),
    "last": (lambda tf, x: _batch(tf, [x], allowed_batch_sizes=[3]), "final entry in allowed_batch_sizes must equal max_batch_size"),
    "threads": (lambda tf, x: _batch(tf, [x], num_batch_threads=0), "num_batch_threads must be positive; was 0"),
    "limit": (lambda tf, x: _batch(tf, [x], max_batch_size=0), "input_batch_size_limit must be positive; was 0"),
    "timeout": (lambda tf, x: _batch(tf, [x], batch_timeout_micros=-1), "batch_timeout_micros must be non-negative; was -1"),
    "rank": (lambda tf, x: tf.nondifferentiable_batch_function(1, 4, 0)(tf.reduce_sum)(x), "Batched output tensor has 0 dimensions"),
    "results": (lambda tf, x: tf.nondifferentiable_batch_function(1, 4, 0)(lambda x: x[:1])(x), "Batched output tensor's 0th dimension does not equal"),
    "arguments": (lambda tf, x: tf.raw_ops.BatchFunction(in_tensors=[x], captured_tensors=[], f=_sum(tf), num_batch_threads=1, max_batch_size=4,
                                                         batch_timeout_micros=0, Tout=[tf.float32]), r"Function takes 2 argument\(s\) but 1 argument\(s\) were passed"),
    "index rows": (lambda tf, x: _unbatch(tf, x, tf.zeros([3, 3], tf.int64), 0), "Expected 0th dimension size to be no greater than 2; Got: 3"),
    "index columns": (lambda tf, x: _unbatch(tf, x, tf.zeros([1, 2], tf.int64), 0), "Expected 1st dimension size to be 3 ; Got: 2"),
    "id": (lambda tf, x: _unbatch(tf, x, tf.zeros([1, 3], tf.int64), [0]), "Input id should be scalar"),
    "sizes": (lambda tf, x: _unbatch(tf, x, tf.constant([[0, 0, 3]], tf.int64), 0), "Sum of split sizes must not exceed dim0-size of input tensor"),
    "gradient's id": (lambda tf, x: _unbatch_grad(tf, x, [[0, 0, 0]], [1]), "Expected `id` to be scalar"),
    "gradient's index": (lambda tf, x: _unbatch_grad(tf, x, [[0, 0]], 1), "batch_index should contain 3 elements. Received 2"),
    "gradient's empty index": (lambda tf, x: _unbatch_grad(tf, x, np.zeros([0, 3]), 1), "batch_index is empty while the tensor isn't."),
}


def _batch(tf, inputs, **attrs):
    settings = {"num_batch_threads": 1, "max_batch_size": 4, "batch_timeout_micros": 0, "grad_timeout_micros": 0}
    return tf.raw_ops.Batch(in_tensors=inputs, **(settings | attrs))


def _unbatch(tf, data, index, id_):
    return tf.raw_ops.Unbatch(batched_tensor=data, batch_index=index, id=tf.constant(id_, tf.int64), timeout_micros=1000)


def _unbatch_grad(tf, data, index, id_):
    return tf.raw_ops.UnbatchGrad(original_input=data, batch_index=tf.constant(index, tf.int64), grad=data, id=tf.constant(id_, tf.int64))


def _sum(tf):
    if tf is flowmill:
        return Defun("float32", "float32")(lambda x, y: x + y)
    from tensorflow.python.framework import function

    return function.Defun(tf.float32, tf.float32)(lambda x, y: x + y)


@pytest.mark.parametrize("case", ERRORS)
def test_bad_input_fails_as_in_tensorflow(tf1, case):
    build, message = ERRORS[case]
    raised = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            fetches = build(tf, tf.placeholder_with_default(np.ones(2, np.float32), [None]))
            with pytest.raises(tf.errors.OpError, match=message) as e:
                session.run(fetches)
            raised.append(e.value.error_code)
    assert raised[0] == raised[1]


def test_nodes_and_values_are_those_of_tensorflow(tf1):
    def build(tf):
        @tf.nondifferentiable_batch_function(1, 4, 10, allowed_batch_sizes=[3, 4])
        def first(x, y):
            return x + y, tf.shape(x) + tf.cast(x, tf.int32) * 0

        x = tf.constant([1.0, 2.0], name="x")
        return [first(x, x * 2), tf.nondifferentiable_batch_function(2, 2, 10)(tf.square)(x)]
    compare(tf1, build)
