"""Tensors that stay in a session, against TensorFlow's."""

import gc

import numpy as np
import pytest
from compare import _described

import flowmill


@pytest.fixture(params=["tensorflow", "flowmill"])
def tf(request, tf1):
    """Both modules: what is asserted holds for either."""
    return tf1 if request.param == "tensorflow" else flowmill


def test_a_handle_is_fetched_and_evaluated(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        a = tf.constant([1.0, 2.0])
        handle = sess.run(tf.get_session_handle(a * 2))
        assert type(handle).__name__ == "TensorHandle"
        assert handle.handle.startswith("GetSessionHandle;") and str(handle) == handle.handle
        np.testing.assert_array_equal(handle.eval(), [2, 4])
        np.testing.assert_array_equal(handle.eval(), [2, 4])
        both = sess.run({"h": [tf.get_session_handle(a), a], "a": a})
        np.testing.assert_array_equal(both["h"][0].eval(), [1, 2])
        np.testing.assert_array_equal(both["a"], [1, 2])


def test_a_handle_is_read_by_other_steps(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        handle = sess.run(tf.get_session_handle(tf.constant(3)))
        holder, tensor = tf.get_session_tensor(handle.handle, tf.int32)
        assert tensor.dtype == tf.int32
        assert sess.run(tensor * 2, {holder: handle.handle}) == 6
        # The result of each step is kept, and goes into the next.
        step = tf.get_session_handle(tensor + 1)
        for _ in range(20):
            handle = sess.run(step, {holder: handle.handle})
        assert handle.eval() == 23


def test_a_handle_is_fed(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [2], name="x")
        other = tf.placeholder(tf.float32)
        y = x * 10.0
        handle = sess.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
        for _ in range(2):
            np.testing.assert_array_equal(sess.run(y, {x: handle}), [10, 20])
        found = sess.run([y, other, tf.get_session_handle(y)], {x: handle, other: 5.0})
        assert found[1] == 5
        np.testing.assert_array_equal(found[2].eval(), [10, 20])


def test_a_tensor_is_deleted(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        keep = tf.get_session_handle(tf.constant(1.0))
        handle, raw = sess.run(keep), sess.run(keep).get_raw_handle()
        handle.delete()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.eval()
        with pytest.raises(TypeError, match="may have already been deleted"):
            handle.delete()
        holder, tensor = tf.get_session_tensor(raw, tf.float32)
        assert sess.run(tensor, {holder: raw}) == 1
        deleter_holder, deleter = tf.delete_session_tensor(raw)
        sess.run(deleter, {deleter_holder: raw})
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            sess.run(tensor, {holder: raw})


def test_tensors_go_with_their_handles(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        keep = tf.get_session_handle(tf.constant(1.0))
        first = sess.run(keep)
        text = first.handle
        holder, tensor = tf.get_session_tensor(text, tf.float32)
        assert sess.run(tensor, {holder: text}) == 1
        del first
        gc.collect()
        kept = [sess.run(keep) for _ in range(20)]
        for _ in range(20):
            sess.run(keep)
        gc.collect()
        sess.run(keep)
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
            sess.run(tensor, {holder: text})
        assert [h.eval() for h in kept] == [1.0] * 20


def test_nodes(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            tensor = tf.get_session_handle(tf.constant(1), name="h")
            tf.get_session_tensor("h;0;/job:localhost/replica:0/task:0/device:CPU:0", tf.int32)
            assert tensor.dtype == tf.string and tensor.op.colocation_groups() == [b"loc:@Const"]
            found.append((_described(graph), [op.device for op in graph.get_operations()]))
    assert found[0] == found[1]


def test_what_is_refused():
    with flowmill.Graph().as_default(), flowmill.Session() as sess:
        x = flowmill.placeholder(flowmill.float32)
        handle = sess.run(flowmill.get_session_handle(flowmill.constant(1.0)))
        assert sess.make_callable(flowmill.get_session_handle(x), [x])(2.0).eval() == 2
        with pytest.raises(TypeError, match="by Session.run, not by callables"):
            sess.make_callable(x * 2, [x])(handle)
        with flowmill.Session() as other, pytest.raises(flowmill.errors.InvalidArgumentError, match="is not in the session store"):
            other.run(x * 2, {x: handle})
        with pytest.raises(TypeError, match="must be of type Tensor"):
            flowmill.get_session_handle(1.0)
