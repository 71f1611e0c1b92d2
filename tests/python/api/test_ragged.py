"""Ragged tensors: values and shapes as TensorFlow's. The operations that make them are our own."""

import numpy as np
import pytest

import flowmill
from compare import same_error


def _names(tf):
    r = tf.ragged
    return {
        "tf": tf, "np": np, "R": tf.RaggedTensor, "r": r, "x": r.constant([[1, 2], [], [3, 4, 5]]), "y": r.constant([[[1], [2, 3]], [], [[4]]]),
        "f": r.constant([[1.5, -2.0], [], [3.0]]), "z": r.constant([[[1, 2]], [[3, 4], [5, 6]]], ragged_rank=1), "m": r.constant([[True, False], [], [False] + [True] * 2]),
        "s": r.constant([["a", "b", "c"], [], ["d"]]), "st": tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 2, 3], [3, 2]),
    }


def _run(tf, code):
    """The value of an expression, its static shape, and the type of its elements."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = eval(code, _names(tf))
        shape = made.shape if isinstance(made, (tf.Tensor, tf.RaggedTensor)) else None
        return session.run(made), shape


def _plain(value):
    if hasattr(value, "row_splits"):
        return ["ragged", _plain(value.values), value.row_splits.tolist(), value.row_splits.dtype.name]
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    value = np.asarray(value)
    return ["string" if value.dtype.kind in "OSU" else value.dtype.name, value.shape, str(value.tolist())]


_VALUES = """
r.constant([1, 2]) | r.constant([]) | r.constant([[]]) | r.constant([[[1, 2]], [[3, 4]]], ragged_rank=1) | r.constant([[], [[]]])
r.constant([[1], [2, 3]], row_splits_dtype=tf.int32) | r.constant([[1, 2], [3]], dtype=tf.float64) | r.constant(5)
R.from_row_splits([1, 2, 3], [0, 1, 3]) | R.from_row_lengths([1, 2, 3], [1, 0, 2]) | R.from_row_starts([1, 2, 3], [0, 1, 1])
R.from_row_limits([1, 2, 3], [1, 1, 3]) | R.from_value_rowids([1, 2, 3], [0, 2, 2]) | R.from_value_rowids([1, 2, 3], [0, 2, 2], nrows=4)
R.from_uniform_row_length([1, 2, 3, 4], 2) | R.from_uniform_row_length(x, 3) | R.from_nested_row_splits([1, 2, 3], [[0, 1, 2], [0, 1, 3]])
R.from_nested_row_lengths([1, 2, 3], [[1, 1], [1, 2]]) | R.from_nested_value_rowids([1, 2, 3], [[0, 1], [0, 1, 1]]) | R.from_sparse(st)
R.from_tensor([[1, 2, 0], [3, 0, 0]], padding=0) | R.from_tensor([[1, 2, 0], [3, 0, 0]], lengths=[2, 1]) | R.from_tensor([[1, 2, 0], [3, 0, 0]])
R.from_tensor([[[1, 2], [0, 0]], [[3, 0], [4, 5]]], padding=0, ragged_rank=2) | R.from_tensor([[[1, 2], [0, 0]], [[3, 0], [4, 5]]], ragged_rank=2)
R.from_tensor([[[1, 2], [3, 0]], [[4, 0], [0, 0]]], lengths=[[2, 1], [2, 1, 1]]) | R.from_tensor([[[1, 2], [0, 0]], [[3, 0], [4, 5]]], padding=[0, 0])
R.from_row_splits([1, 2, 3], [0, 1, 3], validate=False) | R.from_row_splits(x, [0, 2, 3])
x.row_lengths() | y.row_lengths(2) | x.nrows() | x.value_rowids() | x.row_starts() | x.row_limits() | y.nested_row_lengths() | y.nested_value_rowids()
y.bounding_shape() | x.bounding_shape(1) | z.bounding_shape(out_type=tf.int32) | x.row_splits | y.flat_values | x.with_row_splits_dtype(tf.int32)
x.with_values(tf.constant([1, 2, 3, 4, 5.])) | y.with_flat_values(tf.constant([[1], [2], [3], [4]])) | y.merge_dims(0, 1) | y.merge_dims(1, 2)
y.merge_dims(0, 2) | z.merge_dims(1, 2) | z.merge_dims(0, 2) | x.to_tensor() | y.to_tensor(-1) | s.to_tensor() | x.to_tensor(shape=[3, 2])
x.to_tensor(shape=[None, 4]) | z.to_tensor() | tf.sparse.to_dense(x.to_sparse()) | y.to_sparse() | s.to_tensor("-")
x + 1 | 2 - x | x + x | x * tf.constant([[10], [20], [30]]) | tf.constant([[10], [20], [30]]) * x | x * [7] | -x | abs(-x) | ~m | m & m | m ^ True
f / 2 | x / 2 | x // 2 | x % 2 | x ** 2 | x > 2 | 2 >= x | f < 0.0 | z + [10, 20] | z * tf.constant([[[1]], [[2]]]) | y + tf.constant([[[1]], [[2]], [[3]]])
tf.add(x, 1) | tf.multiply(2, x) | tf.subtract(x, x) | tf.maximum(x, 3) | tf.equal(x, x) | tf.divide(x, 2) | tf.truediv(1, x) | tf.pow(x, 2)
tf.exp(f) | tf.square(x) | tf.sigmoid(f) | tf.is_nan(f) | tf.cast(x, tf.float32) | tf.zeros_like(x) | tf.ones_like(f) | tf.size(x) | tf.rank(y)
tf.reduce_sum(x) | tf.reduce_sum(x, 1) | tf.reduce_sum(x, 0) | tf.reduce_sum(x, -1) | tf.reduce_sum(x, 1, keepdims=True) | tf.reduce_prod(x, 1)
tf.reduce_max(x, 1) | tf.reduce_min(x, axis=1) | tf.reduce_mean(x, 1) | tf.reduce_mean(f) | tf.reduce_any(m, 1) | tf.reduce_all(m, axis=1)
tf.reduce_sum(y, [1, 2]) | tf.reduce_sum(y, 2) | tf.reduce_sum(y, 0) | tf.reduce_sum(y, 1) | tf.reduce_sum(z, 2) | tf.reduce_mean(y, axis=2) | tf.reduce_max(y, 0)
x[0] | x[-1] | x[1:] | x[::2] | x[::-1] | x[2, 1] | x[:, 0:1] | x[:, 1:] | x[:, -1:] | x[:, ::-1] | x[:, ::2] | x[:, -3:-1] | x[..., 0:1] | x[tf.constant(2)]
x[:, tf.newaxis] | x[tf.newaxis] | y[0] | y[0, 1] | y[2:, :1] | y[:, :, 1:] | y[0, 1, 0] | z[1, :, 0] | z[:, :, 1] | z[:, 1:] | R.from_uniform_row_length(x, 3)[:, 1]
tf.concat([x, x], 0) | tf.concat([x, x], 1) | tf.concat([x, [[9], [8], [7]]], 1) | tf.concat([x, [[9, 9]]], axis=0) | tf.concat([y, y], 2) | tf.concat([y, y], -2)
tf.gather(x, [2, 0]) | tf.gather([5, 6, 7, 8, 9, 10], x) | tf.gather(x, [[0, 1], [2, 2]]) | tf.gather(y, [2, 0, 0]) | tf.gather(x, r.constant([[0], [2, 2]])) | tf.gather(x, 2)
tf.expand_dims(x, 0) | tf.expand_dims(x, 1) | tf.expand_dims(x, -1) | tf.expand_dims(y, 2) | r.stack([[1, 2], [3]]) | r.stack([x, x]) | r.stack([x, x], axis=1)
r.stack([x, x], axis=2) | r.stack([[[1, 2]], [[3, 4], [5, 6]]]) | r.stack([1, 2]) | r.stack([x]) | r.boolean_mask(x, m) | r.boolean_mask(x, [True, False, True])
r.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False, False, True]]) | r.boolean_mask([1, 2, 3], [True, False, True]) | r.boolean_mask(y, m[:0:2]) if 0 else x
r.range([3, 5, 2]) | r.range([0, 5], [3, 8]) | r.range([0, 5], [6, 9], 2) | r.range(4.0, [5, 9]) | r.range([3], row_splits_dtype=tf.int32) | r.range([2, 3], dtype=tf.float32)
r.map_flat_values(tf.square, x) | r.map_flat_values(tf.one_hot, x, 6) | r.map_flat_values(tf.add, x, y=x) | r.map_flat_values(tf.square, [1, 2])
r.row_splits_to_segment_ids([0, 2, 2, 5]) | r.segment_ids_to_row_splits([0, 0, 2], 4) | r.segment_ids_to_row_splits([0, 0, 2], out_type=tf.int32)
r.stack_dynamic_partitions([1, 2, 3], [0, 2, 0], 3) | r.stack_dynamic_partitions(x, [1, 0, 1], 2)
tf.strings.split(["a b", "c"], result_type="RaggedTensor") | tf.string_split(["a,b", "c"], ",", result_type="RaggedTensor")
tf.strings.bytes_split("ab") | tf.strings.bytes_split(["ab", "", "c"]) | tf.strings.bytes_split([["ab", "c"], ["", "d"]]) | tf.strings.bytes_split(s)
tf.strings.unicode_decode("a\u00e9", "UTF-8") | tf.strings.unicode_decode([["a\u00e9"], ["b"]], "UTF-8") | tf.strings.unicode_decode(s, "UTF-8")
tf.strings.unicode_decode(b"\\xff\\x01a", "UTF-8", errors="ignore", replace_control_characters=True) | tf.strings.unicode_decode([b"\\xff", b"b"], "UTF-8")
tf.strings.unicode_decode_with_offsets(["a\u00e9b", "b"], "UTF-8") | tf.strings.unicode_decode_with_offsets("a\u00e9b", "UTF-8")
tf.strings.unicode_split("a\u00e9", "UTF-8") | tf.strings.unicode_split(["a\u00e9", "", "b"], "UTF-8") | tf.strings.unicode_split([["a"], ["bc"]], "UTF-8")
tf.strings.unicode_split_with_offsets(["a\u00e9b", "b"], "UTF-8") | tf.strings.unicode_encode([97, 233], "UTF-8") | tf.strings.unicode_encode([[97], [98]], "UTF-8")
tf.strings.unicode_encode(r.constant([[97], [98, 99]]), "UTF-16-BE") | tf.strings.unicode_encode(r.constant([[[97], [98, 99]], []]), "UTF-8")
tf.strings.unicode_encode([[[97, 98]], [[99, 100]]], "UTF-8") | tf.strings.ngrams(["a", "b", "c"], 2) | tf.strings.ngrams([["a", "b", "c"]], (1, 2))
tf.strings.ngrams(["a", "b"], 3, pad_values="$") | tf.strings.ngrams(["a", "b"], 3, pad_values=("<", ">"), padding_width=1) | tf.strings.ngrams(s, 2)
tf.strings.ngrams(["a", "b"], 3, preserve_short_sequences=True) | tf.strings.ngrams([["a", "b"], ["c", "d"]], 2, separator="-")
tf.strings.ngrams(r.constant([[["a", "b"]], [["c", "d", "e"], []]]), 2)
"""
_CASES = [code.strip() for line in _VALUES.strip().splitlines() for code in line.split(" | ") if " if 0 else" not in code]


@pytest.mark.parametrize("code", _CASES)
def test_values(tf1, code):
    (ours, our_shape), (theirs, their_shape) = _run(flowmill, code), _run(tf1, code)
    if isinstance(theirs, (tuple, list)) and not hasattr(theirs, "row_splits"):
        assert [_plain(v) for v in ours] == [_plain(v) for v in theirs]
        return
    mine, other = _plain(ours), _plain(theirs)
    if mine != other:
        # Numbers that are not exact.
        np.testing.assert_allclose(getattr(ours, "flat_values", ours), getattr(theirs, "flat_values", theirs), rtol=1e-6)
        mine, other = (p[2:] if p[0] == "ragged" else p[:2] for p in (mine, other))
    assert mine == other
    assert (our_shape is None) == (their_shape is None)
    if our_shape is not None:
        assert our_shape.rank == their_shape.rank and our_shape.is_compatible_with(their_shape.as_list())


def test_what_is_shown(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.ragged.constant([[1, 2], [], [3]], name="x")
            value = session.run(x)
            found.append((str(value), repr(value), value.shape, value.to_list(), value.ragged_rank, value.dtype, str(x.shape), x.ragged_rank,
                          [s.tolist() for s in value.nested_row_splits], x.dtype.name, repr(tf.type_spec_from_value(x)),
                          repr(tf.ragged.constant_value([[1], [2, 3]])), repr(tf.RaggedTensorSpec([None, None], tf.int32)),
                          repr(tf.RaggedTensorSpec(None, tf.int32, 1)), tf.RaggedTensorSpec([3, None], tf.int32).is_compatible_with(x),
                          repr(x).partition("=")[0], isinstance(value, tf.ragged.RaggedTensorValue)))
    assert found[0] == found[1]


def test_feeding_and_structures():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.ragged.placeholder(tf.int32, 2)
        value = tf.ragged.constant_value([[[1], [2, 3]], []], dtype=tf.int32)
        assert session.run(x + 1, {x: value}).to_list() == [[[2], [3, 4]], []]
        assert session.run({"x": [x]}, {x: [[[1], [2]]]})["x"][0].to_list() == [[[1], [2]]]
        assert x.eval({x: value}, session).to_list() == value.to_list()
        with pytest.raises(ValueError, match="must have ragged_rank 2"):
            session.run(x, {x: tf.ragged.constant_value([[1]], dtype=tf.int32)})
        y = tf.ragged.constant([[1], [2, 3]])
        assert session.run(tf.cond(tf.constant(True), lambda: y, lambda: y + 1)).to_list() == [[1], [2, 3]]
        _, doubled = tf.while_loop(lambda i, r: i < 3, lambda i, r: (i + 1, r * 2), [0, y])
        assert session.run(doubled).to_list() == [[8], [16, 24]]


_DIFFERENTIABLE = {
    "tensor": lambda tf, v: tf.RaggedTensor.from_row_lengths(v, [1, 0, 3]).to_tensor(v[0]),
    "tensor of rows of rows": lambda tf, v: tf.RaggedTensor.from_nested_row_lengths(v, [[1, 2], [1, 0, 3]]).to_tensor(),
    "cut tensor": lambda tf, v: tf.RaggedTensor.from_row_lengths(v, [1, 0, 3]).to_tensor(shape=[3, 2]),
    "sparse": lambda tf, v: tf.RaggedTensor.from_row_lengths(v, [1, 0, 3]).to_sparse().values * 3.0,
    "gather": lambda tf, v: tf.gather(tf.RaggedTensor.from_row_lengths(v, [1, 0, 3]), [2, 0, 2]).flat_values,
    "gather of rows of rows": lambda tf, v: tf.gather(tf.RaggedTensor.from_nested_row_lengths(v, [[1, 2], [1, 0, 3]]), [1, 1, 0]).flat_values,
    "slice": lambda tf, v: tf.RaggedTensor.from_row_lengths(v, [1, 0, 3])[:, 1:].flat_values,
    "concat": lambda tf, v: tf.concat([tf.RaggedTensor.from_row_lengths(v, [1, 0, 3])] * 2, 1).flat_values,
    "mean": lambda tf, v: tf.reduce_mean(tf.RaggedTensor.from_row_lengths(v, [1, 1, 2]), 1),
    "product": lambda tf, v: tf.reduce_max(tf.RaggedTensor.from_row_lengths(v, [1, 1, 2]) * [[2.0], [3.0], [4.0]], 1),
}


@pytest.mark.parametrize("name", _DIFFERENTIABLE)
def test_gradients_are_tensorflows(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            values = tf.constant([1.0, -2.0, 3.0, 4.0])
            y = _DIFFERENTIABLE[name](tf, values)
            weights = tf.reshape(tf.range(1.0, tf.cast(tf.size(y), tf.float32) + 1.0), tf.shape(y))
            found.append(session.run(tf.convert_to_tensor(tf.gradients(y * weights * y, values)[0])))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


def test_gradients():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        values = tf.constant([1.0, 2.0, 3.0])
        x = tf.RaggedTensor.from_row_lengths(values, [1, 0, 2])
        total = tf.reduce_sum(tf.square(tf.reduce_sum(x * [[1.0], [5.0], [2.0]], axis=1)))
        assert session.run(tf.gradients(total, values)[0]).tolist() == [2.0, 40.0, 40.0]
        (back,) = tf.gradients(x.to_tensor(), values)
        assert session.run(tf.convert_to_tensor(back)).tolist() == [1.0, 1.0, 1.0]


def _of_another_graph(tf):
    with tf.Graph().as_default():
        return tf.constant([0, 2], tf.int64)


_MISTAKES = {
    "depths": (lambda tf: tf.ragged.constant([[1, 2], 3]), "all scalar values must have the same nesting depth"),
    "inner values": (lambda tf: tf.ragged.constant([[[1, 2]], [[3]]], ragged_rank=1), "inner values have inconsistent shape"),
    "types": (lambda tf: tf.ragged.constant([[1.5]], dtype=tf.int32), "Expected int32, but got 1.5 of type 'float'."),
    "both": (lambda tf: tf.RaggedTensor.from_tensor([[1]], lengths=[1], padding=0), "Specify argument `lengths` or `padding`, but not both."),
    "rank": (lambda tf: tf.RaggedTensor.from_tensor([[1]], ragged_rank=0), "Argument `ragged_rank` must be greater than 0. Received 0."),
    "an inner number": (lambda tf: tf.ragged.constant([[1], [2, 3]])[:, 0], "Cannot index into an inner ragged dimension."),
    "a truth value": (lambda tf: bool(tf.ragged.constant([[1]])), "RaggedTensor may not be used as a boolean."),
    "splits that do not end": (lambda tf: tf.Session().run(tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 4])), "from_row_splits"),
    "splits that do not begin": (lambda tf: tf.Session().run(tf.RaggedTensor.from_row_splits([1, 2, 3], [1, 3])), "do not form a valid RaggedTensor"),
    "sparse": (lambda tf: tf.RaggedTensor.from_sparse(3), "must be of type SparseTensor"),
    "an n-gram of a scalar": (lambda tf: tf.strings.ngrams("a", 2), "Data must have rank>0"),
    "an n-gram of nothing": (lambda tf: tf.strings.ngrams(["a"], 0), "All ngram_widths must be greater than 0. Got 0"),
    "padding": (lambda tf: tf.strings.ngrams(["a"], 2, pad_values=3), "pad_values must be a string, tuple of strings, or None."),
    "a code point": (lambda tf: tf.strings.unicode_encode(97, "UTF-8"), "input_tensor's rank must be at least 1."),
    "no string": (lambda tf: tf.strings.unicode_decode(3, "UTF-8"), "has type int32 that does not match expected type of string."),
    "no rank": (lambda tf: tf.RaggedTensorSpec(None, tf.int32), "Must specify ragged_rank or a shape with a known rank"),
    "no splits": (lambda tf: tf.RaggedTensor.from_row_splits([], []), "row_splits tensor may not be empty"),
    "no tensors": (lambda tf: tf.ragged.stack([]), "rt_inputs may not be empty."),
    "a vector": (lambda tf: tf.RaggedTensor.from_tensor([1, 2]), "The rank of a RaggedTensor must be greater than 1"),
    "an outer axis": (lambda tf: tf.ragged.constant([[1]]).merge_dims({}, 1), "outer_axis must be an int"),
    "an inner axis": (lambda tf: tf.ragged.constant([[1]]).merge_dims(0, 3), "inner_axis=3 out of bounds: expected -2<=inner_axis<2"),
    "a reduced axis": (lambda tf: tf.reduce_sum(tf.ragged.constant([[1]]), axis="x"), "axis must be an int; got str"),
    "a sparse vector": (lambda tf: tf.RaggedTensor.from_sparse(tf.SparseTensor([[0]], [1], [1])), "rank(st_input) must be 2"),
    "another graph": (lambda tf: tf.RaggedTensor.from_row_splits(tf.constant([1, 2]), _of_another_graph(tf)), "must be from the same graph as"),
    "other rows": (lambda tf: tf.Session().run(tf.ragged.map_flat_values(tf.add, tf.ragged.constant([[1], [2]]), tf.ragged.constant([[1, 2], []]))),
                   "did not hold element-wise"),
}


@pytest.mark.parametrize("case", [c for c in _MISTAKES if c != "splits that do not end"])
def test_mistakes(tf1, case):
    same_error(tf1, _MISTAKES[case][0], _MISTAKES[case][1])


def test_splits_are_checked():
    with flowmill.Graph().as_default(), pytest.raises(flowmill.errors.InvalidArgumentError, match="do not form a valid RaggedTensor"):
        flowmill.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 4])
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        splits = flowmill.placeholder(flowmill.int64, [3])
        made = flowmill.RaggedTensor.from_row_splits([1, 2, 3], splits)
        assert session.run(made, {splits: [0, 1, 3]}).to_list() == [[1], [2, 3]]
        for wrong in ([0, 2, 1], [0, 1, 4], [1, 1, 3]):
            with pytest.raises(flowmill.errors.InvalidArgumentError, match="do not form a valid RaggedTensor"):
                session.run(made, {splits: wrong})
