"""Values that are known while a graph is built, shapes that tensors say, and tensors as messages: as TensorFlow has them."""

import numpy as np
import pytest

import flowmill
from flowmill._internal import tensor_util

VALUES = {
    "const": lambda tf: tf.constant([1, 2]),
    "scalar": lambda tf: tf.constant(3),
    "string": lambda tf: tf.constant("a"),
    "strings": lambda tf: tf.constant(["a", "b"]),
    "truth": lambda tf: tf.constant(True),
    "complex": lambda tf: tf.constant(1j),
    "empty": lambda tf: tf.constant([], tf.int32),
    "shape": lambda tf: tf.shape(tf.placeholder(tf.float32, [2, 3])),
    "unknown shape": lambda tf: tf.shape(tf.placeholder(tf.float32, [None, 3])),
    "shape op": lambda tf: tf.raw_ops.Shape(input=tf.placeholder(tf.float32, [2, 3])),
    "rank op": lambda tf: tf.raw_ops.Rank(input=tf.placeholder(tf.float32, [2, None])),
    "range": lambda tf: tf.range(1, 7, 2),
    "cast": lambda tf: tf.cast(tf.constant([1, 2]), tf.float32),
    "concat": lambda tf: tf.concat([[1, 2], [3]], 0),
    "stack": lambda tf: tf.stack([tf.constant(1), tf.constant(2)]),
    "stack in part": lambda tf: tf.stack([tf.constant(1), tf.placeholder(tf.int32, [])]),
    "split": lambda tf: tf.split(tf.constant([1, 2]), 2)[1],
    "fill": lambda tf: tf.fill([2, 2], 7),
    "ones_like": lambda tf: tf.ones_like(tf.placeholder(tf.float32, [2])),
    "equal": lambda tf: tf.equal(tf.constant([1, 2]), [1, 3]),
    "not_equal": lambda tf: tf.not_equal(tf.constant([1, 2]), [1, 3]),
    "identity": lambda tf: tf.identity(tf.constant(4)),
    "stop_gradient": lambda tf: tf.stop_gradient(tf.constant(4)),
    "placeholder": lambda tf: tf.placeholder(tf.int32, []),
    "placeholder_with_default": lambda tf: tf.placeholder_with_default(3, []),
}


IN_PART = {
    "stack": lambda tf: tf.stack([tf.constant(1), tf.placeholder(tf.int32, [])]),
    "nothing known": lambda tf: tf.stack([tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])]),
    "all known": lambda tf: tf.stack([tf.constant(1), tf.constant(2)]),
    "along another axis": lambda tf: tf.stack([tf.placeholder(tf.int32, [2]), [1, 2]], axis=1),
    "identity": lambda tf: tf.identity(tf.stack([tf.constant(1), tf.placeholder(tf.int32, [])])),
    "unstack": lambda tf: tf.unstack(tf.stack([tf.placeholder(tf.int32, []), tf.constant(5)]))[1],
    "placeholder": lambda tf: tf.placeholder(tf.int32, [2]),
}


@pytest.mark.parametrize("case", IN_PART.values(), ids=IN_PART.keys())
def test_constant_value_in_part(tf1, case):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            value = tf.get_static_value(case(tf), partial=True)
            found.append(value if value is None else [None if v is None else int(v) for v in np.atleast_1d(value)])
    assert found[0] == found[1]


@pytest.mark.parametrize("case", VALUES.values(), ids=VALUES.keys())
def test_constant_value(tf1, case):
    with tf1.Graph().as_default():
        expected = tf1.get_static_value(case(tf1))
    with flowmill.Graph().as_default():
        found = flowmill.get_static_value(case(flowmill))
    if expected is None:
        assert found is None
    else:
        assert type(found) is type(expected) and found.dtype == expected.dtype and found.shape == expected.shape
        assert (found == expected).all()


SHAPES = {
    "stack": lambda tf: tf.stack([tf.placeholder(tf.int32, []), 2]),
    "concat": lambda tf: tf.concat([[1, -1], tf.shape(tf.placeholder(tf.float32, [None, 5]))], 0),
    "slice": lambda tf: tf.shape(tf.placeholder(tf.float32, [None, 5, 6]))[1:],
    "slice of the front": lambda tf: tf.shape(tf.placeholder(tf.float32, [None, 5, 6]))[:-1],
    "known rank": lambda tf: tf.placeholder(tf.int32, [3]),
    "nothing known": lambda tf: tf.placeholder(tf.int32),
    "constant": lambda tf: tf.constant([1, -1]),
    "cast": lambda tf: tf.cast(tf.shape(tf.placeholder(tf.float32, [None, 5]), out_type=tf.int64), tf.int32),
    "scalar": lambda tf: tf.constant(-1),
    "unknown rank": lambda tf: tf.shape(tf.placeholder(tf.float32)),
    "stack of sizes": lambda tf: tf.stack([tf.shape(tf.placeholder(tf.float32, [None, 5]))[0], 3]),
}


@pytest.mark.parametrize("case", SHAPES.values(), ids=SHAPES.keys())
def test_constant_value_as_shape(case):
    from tensorflow.compat import v1 as tf1
    from tensorflow.python.framework import tensor_util as theirs

    with tf1.Graph().as_default():
        expected = str(theirs.constant_value_as_shape(case(tf1)))
    with flowmill.Graph().as_default():
        assert str(tensor_util.constant_value_as_shape(case(flowmill))) == expected


def test_what_is_no_shape():
    with flowmill.Graph().as_default():
        with pytest.raises(ValueError, match="Received a scalar value '2' as shape"):
            tensor_util.constant_value_as_shape(flowmill.constant(2))
        with pytest.raises(ValueError, match="must have rank 1"):
            tensor_util.constant_value_as_shape(flowmill.constant([[1]]))


ARRAYS = [
    1, 1.5, "a", [1, 2], [[1.0, 2.0]], ["a", b"b"], True, 1j, np.float64(2), np.arange(3), np.array([1, 2], np.uint8), np.array([1, 2], np.uint16),
    np.array([], np.float32), np.array([True, False]), np.array([1j, 2]), np.array([1.5, 2], np.float16),
]


@pytest.mark.parametrize("value", ARRAYS, ids=repr)
def test_messages_of_values(tf1, value):
    theirs, ours = tf1.make_tensor_proto(value), flowmill.make_tensor_proto(value)
    assert ours.SerializeToString() == theirs.SerializeToString()
    expected, found = tf1.make_ndarray(theirs), flowmill.make_ndarray(ours)
    assert found.dtype == expected.dtype and found.shape == expected.shape and (found == expected).all()


@pytest.mark.parametrize("arguments", [
    {"values": 1, "shape": [2, 2]}, {"values": [1, 2], "dtype": "float32", "shape": [4]}, {"values": 1, "dtype": "int64"},
    {"values": [1.5, 2], "dtype": "bfloat16"}, {"values": [1.5], "dtype": "float16"}, {"values": 1, "shape": [2, 3], "allow_broadcast": True},
], ids=repr)
def test_messages_of_shapes_and_types(tf1, arguments):
    theirs, ours = tf1.make_tensor_proto(**arguments), flowmill.make_tensor_proto(**arguments)
    assert ours.SerializeToString() == theirs.SerializeToString()
    assert flowmill.make_ndarray(ours).tolist() == tf1.make_ndarray(theirs).tolist()


@pytest.mark.parametrize("arguments, kind, message", [
    ({"values": [1, 2], "shape": [3], "verify_shape": True}, TypeError, r"Expected Tensor's shape: \(3,\), but got \(2,\)."),
    ({"values": [1, 2, 3], "shape": [2]}, ValueError, "Too many elements provided. Takes at most 2, but got 3."),
    ({"values": [[1], [2]], "shape": [2, 3], "allow_broadcast": True}, TypeError, r"Expected Tensor's shape: \(2, 3\), but got \(2, 1\)."),
    ({"values": None}, ValueError, "None values not supported."),
    ({"values": [1, [2]]}, ValueError, "inhomogeneous shape"),
], ids=["verified", "too many", "broadcast", "None", "uneven"])
def test_what_is_no_message(tf1, arguments, kind, message):
    for tf in (tf1, flowmill):
        with pytest.raises(kind, match=message):
            tf.make_tensor_proto(**arguments)


def test_what_is_a_tensor():
    with flowmill.Graph().as_default():
        tensor = flowmill.constant(1)
        slices = flowmill.IndexedSlices(tensor, tensor)
    assert flowmill.is_tensor(tensor) and flowmill.is_tensor(slices)
    assert not flowmill.is_tensor(1) and not flowmill.is_tensor(np.zeros(2)) and not flowmill.is_tensor([tensor])


@pytest.mark.parametrize("made", [
    lambda tf, x: [tf.concat([x, x], 1)], lambda tf, x: [tf.stack([x, x])], lambda tf, x: tf.split(x, 7), lambda tf, x: tf.unstack(x)])
def test_values_of_larger_tensors_taken_apart_and_put_together(tf1, made):
    array = np.arange(84, dtype=np.float32).reshape(7, 3, 4)
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            for tensor in made(tf, tf.constant(array)):
                np.testing.assert_array_equal(tf.get_static_value(tensor), session.run(tensor))


def test_what_is_no_tensor_is_its_own_value(tf1):
    for tf in (tf1, flowmill):
        assert tf.get_static_value("hi") == "hi" and tf.get_static_value([1, 2]) == [1, 2]


@pytest.mark.parametrize("value", [
    [[1, 2], [3, 4]], [[1, 2.5], (3, 4)], ([True, False],), [["a", b"b"]], [[1j, 2]], [[], []], [[[]]], [np.float32(1), 2], [[np.int64(1)], [2**40]], [range(2), [2, 3]],
    [[1, 2], [3]], [[1], 2], [1, [2]], [[1, None]], [["a", 1]], [["a"], [b"c", "d"]], [[[1], [2]], [[3], 4]], [1, True], [[2**70]], [[np.array(3), 4]], [object()],
], ids=str)
@pytest.mark.parametrize("dtype", [None, "float32", "int32", "string", "bool", "complex64"])
def test_nested_lists(tf1, value, dtype):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            try:
                result = session.run(tf.constant(value, dtype and getattr(tf, dtype)))
                found.append((result.dtype, result.tolist()))
            except (TypeError, ValueError, OverflowError) as error:
                found.append(type(error))
    assert found[1] == found[0] or isinstance(found[0], type) and isinstance(found[1], type)
