"""Tensor maps: the same nodes, values, gradients and errors as TensorFlow's."""

import numpy as np
import pytest

import flowmill
from compare import compare


def maps(tf):
    """The functions of a module."""
    if tf is flowmill:
        from flowmill.python.ops import map_ops
    else:
        from tensorflow.python.ops import map_ops
    return map_ops


KEYS = [1, -5, [1, 2], [[1, 2]], "a", ["a", "bc"], ["ab", "c"], 1.5, True]


def test_entries(tf1):
    def build(tf):
        ops = maps(tf)
        found, m = [], ops.empty_tensor_map()
        for i, key in enumerate(KEYS):
            m = ops.tensor_map_insert(m, tf.constant(key), tf.constant([i, i]))
        for key in KEYS:
            found.append(ops.tensor_map_lookup(m, tf.constant(key), tf.int32))
        changed = ops.tensor_map_insert(m, tf.constant(1), tf.constant(7.5))
        less = ops.tensor_map_erase(changed, tf.constant("a"), tf.int32)
        has = [ops.tensor_map_has_key(of, tf.constant(key)) for of in (m, less) for key in ("a", "b", 1, 1.5)]
        return [*found, *has, *(ops.tensor_map_size(of) for of in (m, changed, less)), ops.tensor_map_lookup(less, tf.constant(1), tf.float32)]
    compare(tf1, build)


def test_all_keys(tf1):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            ops = maps(tf)
            m = ops.empty_tensor_map()
            for key in ([3, 1], [2, 9], [3, 0]):
                m = ops.tensor_map_insert(m, tf.constant(key), tf.constant(0))
            keys = ops.tensor_map_stack_keys(m, tf.int32)
            assert keys.shape.rank is None
            found.append(sorted(session.run(keys).tolist()))  # in no order
    assert found[0] == found[1]


@pytest.mark.parametrize("use, match", [
    (lambda tf, ops, m: ops.tensor_map_lookup(m, tf.constant(3), tf.float32), "Trying to lookup non-existent key. Could not find key \"3\"."),
    (lambda tf, ops, m: ops.tensor_map_size(ops.tensor_map_erase(m, tf.constant(3), tf.float32)), "Trying to erase non-existent item. Could not find key"),
    (lambda tf, ops, m: ops.tensor_map_stack_keys(ops.empty_tensor_map(), tf.int32), "TensorMapStackKeys cannot be called on empty map."),
    (lambda tf, ops, m: ops.tensor_map_stack_keys(m, tf.float32), "Key does not match requested dtype."),
    (lambda tf, ops, m: ops.tensor_map_stack_keys(ops.tensor_map_insert(m, tf.constant([1]), tf.constant(0)), tf.int32),
     "Keys must all have the same shape."),
    (lambda tf, ops, m: ops.tensor_map_size(tf.stack([m, m])), "Input map must be a scalar. Saw: "),
    (lambda tf, ops, m: ops.tensor_map_size(tf.raw_ops.EmptyTensorList(element_shape=-1, max_num_elements=-1, element_dtype=tf.int32)),
     "Input handle is not a map. Saw: "),
])
def test_bad_uses_fail_as_in_tensorflow(tf1, use, match):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            ops = maps(tf)
            m = ops.tensor_map_insert(ops.empty_tensor_map(), tf.constant(1), tf.constant(2.0))
            with pytest.raises(tf.errors.OpError, match=match) as raised:
                session.run(use(tf, ops, m))
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


def test_gradients(tf1):
    def build(tf):
        ops = maps(tf)
        a, b, c = (tf.constant(np.float32(v)) for v in ([1.0, 2.0], [3.0, 4.0], [5.0, 6.0]))
        m = ops.tensor_map_insert(ops.empty_tensor_map(), tf.constant(1), a)
        m = ops.tensor_map_insert(m, tf.constant(2), b)
        m = ops.tensor_map_insert(m, tf.constant(3), c)
        m = ops.tensor_map_erase(m, tf.constant(3), tf.float32)
        first, second = (ops.tensor_map_lookup(m, tf.constant(key), tf.float32) for key in (1, 2))
        return tf.gradients(first * first * 3.0 + first * second, [a, b, c])
    compare(tf1, build, nodes=False)


def test_a_key_without_an_order_is_refused():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        ops = maps(flowmill)
        m = ops.empty_tensor_map()
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="a key of a map cannot have type variant"):
            session.run(ops.tensor_map_has_key(m, m))
