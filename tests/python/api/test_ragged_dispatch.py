"""Ragged arguments of functions that are written for tensors: values and shapes as TensorFlow's."""

import numpy as np
import pytest

import flowmill


def _names(tf):
    r = tf.ragged
    return {
        "tf": tf, "np": np, "R": tf.RaggedTensor, "r": r, "x": r.constant([[1, 2], [], [3, 4, 5]]), "f": r.constant([[1.5, -2.0], [], [3.0]]),
        "v": r.constant_value([[1, 2], [], [3, 4, 5]], dtype=np.int32), "y": r.constant([[[1], [2, 3]], [], [[4]]]),
        "z": r.constant([[[1.0, 2]], [[3, 4], [5, 6]]], ragged_rank=1), "m": r.constant([[True, False], [], [False] + [True] * 2]),
        "s": r.constant([["a", "b", "c"], [], ["d"]]), "c": r.constant([[0, 1], [], [2, 1, 0]]), "u": R_uniform(tf),
        "table": tf.constant([[0.0, 1], [2, 3], [4, 5], [6, 7]]), "names": r.constant([["it's", "b\\"], []]),
    }


def R_uniform(tf):
    return tf.RaggedTensor.from_uniform_row_length(tf.ragged.constant([[1, 2], [3], [], [4, 5, 6]]), 2)


_VALUES = """
tf.exp(r.constant_value([[1.0], []], dtype=np.float32)) | tf.add(v, v) | tf.add(v, 1) | tf.maximum(1, v) | tf.nn.relu(f) | tf.nn.elu(f) | tf.abs(f)
tf.nn.leaky_relu(f) | tf.nn.swish(f) | tf.nn.log_softmax(z) | tf.clip_by_value(f, 0.0, 2.0) | tf.round(f) | tf.math.real(f) | tf.saturate_cast(x, tf.uint8)
tf.bitwise.invert(x) | tf.bitwise.bitwise_and(x, 1) | tf.logical_xor(m, True) | tf.floordiv(x, 2) | tf.atan2(f, f) | tf.math.xdivy(f, 2.0) | tf.scalar_mul(2, x)
tf.strings.length(s) | tf.strings.upper(s) | tf.strings.regex_replace(s, "a", "z") | tf.strings.substr(s, 0, 1) | tf.as_string(x) | tf.encode_base64(s)
tf.strings.join([s, s], "-") | tf.strings.reduce_join(s, 1, separator=",") | tf.strings.reduce_join(s) | tf.strings.reduce_join(s, 0, keepdims=True)
tf.strings.format("{} and {}", [x, 3]) | tf.strings.format("{}", y) | tf.strings.format("{}", names) | tf.strings.format("{}", r.constant([list(range(9)), []]), summarize=2)
tf.strings.format("{}", z) | tf.image.adjust_brightness(f, 0.5) | tf.image.convert_image_dtype(x, tf.float32) | tf.debugging.check_numerics(f, "m")
tf.add_n([x, x]) | tf.cumsum(x, 1) | tf.cumsum(x)
tf.cumsum(x, 1, exclusive=True) | tf.cumsum(x, 1, reverse=True) | tf.cumsum(z, 2) | tf.cumsum(y, 2) | tf.math.reduce_variance(f, 1) | tf.math.reduce_std(z, 2)
tf.tile(x, [2, 1]) | tf.tile(x, [1, 3]) | tf.tile(y, [2, 2, 2]) | tf.tile(z, [1, 2, 2]) | tf.reverse(x, [1]) | tf.reverse(y, [0, 2]) | tf.split(x, 3)
tf.split(x, [1, 2]) | tf.split(z, 2, axis=2) | tf.one_hot(c, 4) | tf.one_hot(c, 3, axis=2) | tf.squeeze(r.constant([[1], [2]]), 1) | tf.squeeze(r.constant([[1, 2]]), 0)
tf.squeeze(r.constant([[[1, 2, 3]]]), [0, 1]) | tf.bitcast(x, tf.uint32) | tf.expand_dims(v, -1) | tf.concat([v, x], 1) | tf.stack([x, v]) | tf.stack([x, x], 1)
tf.where(m) | tf.where(m, x, -x) | tf.where([True, False, True], x, v) | tf.where_v2(m, x, 0) | tf.where_v2(m, x, [[7]]) | tf.where_v2(True, x, x)
tf.gather(x, [2, 0]) | tf.gather(x, [[2, 0], [1, 1]]) | tf.gather(x, c) | tf.gather(table, c) | tf.gather(y, [0], axis=0) | tf.gather(x, r.constant([[1], [], [2, 1]]), axis=1, batch_dims=1)
tf.gather(R.from_tensor([[1, 2], [3, 4]]), [1, 0], axis=1) | tf.batch_gather(x, r.constant([[1], [], [2, 0]])) | tf.gather_nd(x, [[0, 1], [2, 2]])
tf.gather_nd(y, [[0, 1], [2, 0]]) | tf.gather_nd(x, [[2], [0]]) | tf.gather_nd(z, [[[1, 1, 0]], [[0, 0, 1]]]) | tf.dynamic_partition(x, [1, 0, 1], 2)
r.stack_dynamic_partitions(x, c, 3) | r.stack_dynamic_partitions([5, 6, 7], [2, 0, 2], 4) | tf.math.unsorted_segment_sum(x, [0, 1, 0], 2)
tf.math.unsorted_segment_max(f, [0, 1, 0], 2) | tf.math.unsorted_segment_mean(f, r.constant([[0, 1], [], [0]]), 2) | tf.matmul(z, tf.constant([[[1.0], [2]], [[3], [4]]]))
tf.matmul(z, z, transpose_a=True) | tf.matmul(z, z, transpose_b=True) | tf.matmul(R.from_tensor([[1.0, 2], [3, 4]]), R.from_tensor([[1.0], [2]]))
tf.nn.embedding_lookup(table, c) | tf.nn.embedding_lookup_sparse(table, c, None, combiner="sum") | tf.nn.safe_embedding_lookup_sparse(table, c)
tf.map_fn(tf.reduce_sum, x, dtype=tf.int32) | tf.map_fn(lambda row: row * 2, x) | tf.map_fn(lambda row: tf.reduce_sum(row, 1), y, fn_output_signature=tf.RaggedTensorSpec([None], tf.int32, 0))
tf.map_fn(lambda n: r.range(n), tf.constant([2, 0]), fn_output_signature=tf.RaggedTensorSpec([1, None], tf.int32)) | tf.stop_gradient(x) | tf.identity(y)
tf.gradients(f * f, f)[0] | tf.gradients(tf.reduce_sum(f * 3.0), [f])[0] | tf.gradients(f * 2.0, f, grad_ys=[f])[0] | tf.gradients(f.to_tensor(), f)[0]
x + r.constant([[1, 1], [], [2, 2, 2]])
y * R.from_uniform_row_length([[10], [20], [30]], 1) | x + [[[1]]] | u[:, 1] | u[:, 1, :1] | x[:, ::tf.constant(-1)] | x[::tf.constant(2)] | x[:, tf.constant(1):]
tf.assert_equal(x, x) is None or x | r.constant([], ragged_rank=1) | r.constant([[], []], ragged_rank=1) | r.constant([], ragged_rank=2, inner_shape=(3,))
r.constant_value([[1, 2], [-1]], dtype=np.uint8) | r.constant_value([], ragged_rank=2) | r.constant([[[]], []]) | r.constant([[1, 2]], inner_shape=(2,))
"""


def _run(tf, code):
    """The value of an expression, its static shape, and the type of its elements."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = eval(code, _names(tf))
        shape = made.shape if isinstance(made, (tf.Tensor, tf.RaggedTensor)) else None
        return session.run(made) if shape is not None or isinstance(made, list) else made, shape


def _plain(value):
    if hasattr(value, "row_splits"):
        return ["ragged", _plain(value.values), value.row_splits.tolist(), value.row_splits.dtype.name]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    value = np.asarray(value)
    return ["string" if value.dtype.kind in "OSU" else value.dtype.name, value.shape, value.tolist()]


def _close(mine, other):
    if isinstance(other, list) and not all(isinstance(v, (int, float)) for v in other):
        return len(mine) == len(other) and all(map(_close, mine, other))
    return mine == other or np.allclose(mine, other, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("code", [code.strip() for line in _VALUES.strip().splitlines() for code in line.split(" | ")])
def test_values(tf1, code):
    (mine, my_shape), (other, other_shape) = _run(flowmill, code), _run(tf1, code)
    assert _close(_plain(mine), _plain(other)), (_plain(mine), _plain(other))
    if other_shape is not None and other_shape.rank is not None:
        assert my_shape.is_compatible_with(other_shape.as_list())


_ERRORS = """
r.constant(1, ragged_rank=1) | r.constant(x) | r.constant([[1]], ragged_rank=-1) | r.constant([1], ragged_rank=1) | r.constant([[1]], inner_shape=(3,), ragged_rank=1)
tf.squeeze(x) | tf.squeeze(x, 5) | tf.expand_dims(x, 7) | tf.split(x, 2, axis=1) | tf.split(x, 0) | tf.one_hot(c, 3, axis=1) | tf.reverse(x, 1) | tf.bitcast(x, tf.int64)
tf.where(m, x) | tf.gather(x, [0], axis=4) | tf.gather_nd(x, [[0]], batch_dims=1) | tf.dynamic_partition(x, [0, 0, 0], -1) | tf.matmul(x, x, transpose_a=True, adjoint_a=True)
tf.matmul(x, f) | tf.matmul(x, y) | tf.nn.embedding_lookup(None, c) | tf.nn.embedding_lookup(table, f) | tf.math.unsorted_segment_sum(f, f, 2) | tf.reduce_sum(x, 4)
tf.strings.format("{}", [x, x]) | r.boolean_mask(x, True) | x.merge_dims(0, 9) | x.merge_dims("a", 1)
"""


@pytest.mark.parametrize("code", [code.strip() for line in _ERRORS.strip().splitlines() for code in line.split(" | ")])
def test_errors_have_tensorflows_class(tf1, code):
    raised = []
    for tf in (tf1, flowmill):
        with pytest.raises(Exception) as caught:
            _run(tf, code)
        raised.append(type(caught.value).__name__)
    assert raised[0] == raised[1]


def test_checks_of_rows_run_with_the_step(tf1):
    for code in ("tf.squeeze(R.from_row_splits(tf.placeholder_with_default([1, 2, 3], [None]), [0, 2, 3]), 1)",
                 "tf.split(x, [1, 1])", "r.stack_dynamic_partitions([1, 2], tf.placeholder_with_default([0, 9], [None]), 2)"):
        for tf in (tf1, flowmill):
            with pytest.raises(tf.errors.InvalidArgumentError):
                _run(tf, code)


def test_images_of_different_sizes_are_resized(tf1):
    def build(tf):
        images = tf.ragged.stack([tf.ones([3, 5, 1]), tf.ones([2, 4, 1]) * 2])
        return tf.image.resize_images(images, [2, 2])
    values = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            values.append(session.run(build(tf)))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)


def test_printed_rows(capfd):
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.print("rows:", tf.ragged.constant([[1, 2], []]), tf.ragged.constant([["it's"]])))
    assert capfd.readouterr().err == "rows: [[1, 2], []] [['it\\'s']]\n"
