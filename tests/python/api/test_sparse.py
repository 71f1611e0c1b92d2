"""Sparse tensors and IndexedSlices, against TensorFlow's."""

import numpy as np
import pytest
from compare import compare, run, same, same_error

import flowmill


def example(tf, dtype="float32"):
    return tf.SparseTensor([[0, 0], [1, 2]], tf.constant([1, 2], dtype), [3, 4])


def unordered(tf):
    return tf.SparseTensor([[1, 2], [0, 3], [0, 0]], [1.0, 2.0, 3.0], [2, 4])


CASES = {
    "made": lambda tf: [example(tf), tf.SparseTensor(tf.constant([[0]], tf.int64), ["a"], tf.constant([5], tf.int64))],
    "value": lambda tf: [tf.SparseTensor.from_value(tf.SparseTensorValue([[0, 1]], [1.0], [2, 2])), tf.convert_to_tensor_or_sparse_tensor([1.0])],
    "to_dense": lambda tf: [tf.sparse_tensor_to_dense(example(tf)), tf.sparse.to_dense(example(tf, "int64"), default_value=7, name="d")],
    "sparse_to_dense": lambda tf: [tf.sparse_to_dense([[0, 1]], [2, 2], 1.0), tf.sparse_to_dense([1, 3], [5], [1, 2], default_value=9)],
    "to_indicator": lambda tf: tf.sparse.to_indicator(example(tf, "int64"), 10),
    "reorder": lambda tf: tf.sparse.reorder(unordered(tf)),
    "reshape": lambda tf: [tf.sparse.reshape(example(tf), [4, 3]), tf.sparse.reshape(example(tf), [2, -1])],
    "concat": lambda tf: [tf.sparse.concat(1, [example(tf), example(tf)]), tf.sparse_concat(0, [example(tf), example(tf)], name="c")],
    "concat_expanding": lambda tf: tf.sparse.concat(0, [example(tf), unordered(tf)], expand_nonconcat_dim=True),
    "slice": lambda tf: tf.sparse.slice(example(tf), [0, 0], [2, 2]),
    "split": lambda tf: tf.sparse.split(sp_input=example(tf), num_split=2, axis=1),
    "retain": lambda tf: tf.sparse.retain(example(tf), [True, False]),
    "reductions": lambda tf: [tf.sparse.reduce_sum(example(tf)), tf.sparse.reduce_sum(example(tf), 1, keepdims=True),
                              tf.sparse.reduce_max(example(tf), [0])],
    "reductions_of_old": lambda tf: [tf.sparse_reduce_sum(example(tf), reduction_axes=0, keep_dims=True)],
    "sparse_reductions": lambda tf: [tf.sparse_reduce_sum_sparse(example(tf), 0)],
    "softmax": lambda tf: tf.sparse.softmax(example(tf)),
    "fill_empty_rows": lambda tf: list(tf.sparse.fill_empty_rows(example(tf), 0.5)),
    "merge": lambda tf: tf.sparse.merge(example(tf, "int64"), example(tf), 10),
    "merge_several": lambda tf: tf.sparse_merge([example(tf, "int64"), example(tf, "int64")], example(tf), [10, 11], already_sorted=True),
    "transpose": lambda tf: [tf.sparse.transpose(example(tf)), tf.sparse.transpose(example(tf), [1, 0])],
    "reset_shape": lambda tf: [tf.sparse.reset_shape(example(tf)), tf.sparse.reset_shape(example(tf), [5, 5])],
    "from_dense": lambda tf: tf.sparse.from_dense(tf.constant([[0.0, 1.0], [2.0, 0.0]])),
    "eye": lambda tf: [tf.sparse.eye(3), tf.sparse.eye(3, 4, dtype=tf.int32)],
    "add": lambda tf: [tf.sparse_add(example(tf), tf.ones([3, 4])), tf.sparse.add(tf.ones([3, 4]), example(tf))],
    "add_sparse": lambda tf: tf.sparse_add(example(tf), example(tf)),
    "matmul": lambda tf: [tf.sparse_tensor_dense_matmul(example(tf), tf.ones([4, 2])),
                          tf.sparse.matmul(example(tf), tf.ones([3, 2]), adjoint_a=True)],
    "matmul_from_the_left": lambda tf: tf.sparse_tensor_dense_matmul(tf.ones([2, 3]), example(tf)),
    "times": lambda tf: example(tf) * tf.fill([3, 4], 2.0),
    "divided": lambda tf: example(tf) / tf.fill([3, 4], 2.0),
    "mask": lambda tf: tf.sparse.mask(tf.IndexedSlices(tf.constant([[1.0, 2.0], [3.0, 4.0]]), tf.constant([1, 2]), tf.constant([4, 2])), [1]),
    "extrema": lambda tf: [tf.sparse.minimum(example(tf), example(tf)), tf.sparse.maximum(example(tf), example(tf))],
    "cross": lambda tf: tf.sparse.cross([example(tf, "int64"), example(tf, "int64")]),
    "cross_hashed": lambda tf: tf.sparse.cross_hashed([tf.constant([["a"]]), tf.SparseTensor([[0, 0]], ["b"], [1, 1])], num_buckets=10),
    "serialize": lambda tf: [tf.serialize_sparse(example(tf)), tf.serialize_many_sparse(example(tf))],
    "segments": lambda tf: [tf.sparse_segment_sum(tf.ones([3, 2]), [0, 1], [0, 0]), tf.sparse.segment_mean(tf.ones([3, 2]), [0, 2], [0, 1]),
                            tf.sparse_segment_sqrt_n(tf.ones([3, 2]), [0, 1], [0, 0], num_segments=3)],
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_tensorflows(tf1, name):
    compare(tf1, CASES[name])


def feed(tf, shape, key=lambda placeholder: placeholder, wrap=lambda tf, parts: parts):
    with tf.Graph().as_default():
        placeholder = tf.sparse_placeholder(tf.float32, shape, name="p")
        total = tf.add(placeholder.values, 1.0)
        with tf.Session() as sess:
            value = wrap(tf, ([[0, 1], [2, 3]], [1.0, 2.0], [3, 4]))
            return placeholder.get_shape().as_list() if shape else None, sess.run([placeholder, total, {"a": placeholder}], {key(placeholder): value})


@pytest.mark.parametrize("shape", [None, [None, 4], [3, 4]])
@pytest.mark.parametrize("wrap", [lambda tf, parts: parts, lambda tf, parts: tf.SparseTensorValue(*parts),
                                  lambda tf, parts: tf.SparseTensorValue(*map(np.array, parts))])
def test_sparse_tensors_are_fed_and_fetched(tf1, shape, wrap):
    theirs, (a, b, c) = feed(tf1, shape, wrap=wrap)
    ours, (mine, total, named) = feed(flowmill, shape, wrap=wrap)
    assert ours == theirs and type(mine).__name__ == "SparseTensorValue" == type(named["a"]).__name__
    same(mine, a)
    same(total, b)
    same(named["a"], c["a"])
    assert mine.values.dtype == np.float32 and mine.indices.dtype == np.int64


def test_indexed_slices_are_fed_and_fetched(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            slices = tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([0, 3]), tf.constant([4, 1]))
            without = tf.IndexedSlices(tf.constant([5.0]), tf.constant([0]))
            found, other = sess.run((slices, without))
            assert type(found).__name__ == "IndexedSlicesValue"
            np.testing.assert_array_equal(found.values, [[1.0], [2.0]])
            np.testing.assert_array_equal(found.dense_shape, [4, 1])
            assert other.dense_shape is None
            fed = sess.run(slices, {slices: ([[7.0], [8.0]], [1, 0], [2, 1])})
            np.testing.assert_array_equal(fed.values, [[7.0], [8.0]])
            fed = sess.run(without, {without: ([8.0], [2])})
            np.testing.assert_array_equal(fed.indices, [2])


def test_sparse_fetches_in_callables_and_by_eval(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            p = tf.placeholder(tf.float32, [2])
            t = tf.SparseTensor([[0], [1]], p, [3])
            np.testing.assert_array_equal(t.eval({p: [1, 2]}).values, [1, 2])
            np.testing.assert_array_equal(sess.make_callable([t], [p])([3, 4])[0].values, [3, 4])


def test_what_is_known(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            t = tf.SparseTensor(tf.placeholder(tf.int64), tf.placeholder(tf.int32), tf.placeholder(tf.int64, [2]))
            assert t.get_shape().as_list() == [None, None] and t.dtype == tf.int32 and t.graph is graph
            t.set_shape([None, 3])
            assert t.shape.as_list() == [None, 3]
            with pytest.raises(ValueError):
                t.set_shape([1, 4])
            assert t.with_values(tf.constant([1.0])).dtype == tf.float32
            assert t.op is t.values.op


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.SparseTensor([0], [1], [2]), "must have rank 2"),
    (lambda tf: tf.SparseTensor([[0]], [1, 2], [2]), "Dimensions 1 and 2 are not compatible"),
    (lambda tf: tf.sparse_reorder(tf.constant(1)), "Input must be a SparseTensor."),
    (lambda tf: tf.sparse_add(tf.constant(1), tf.constant(1)), "At least one input should be SparseTensor"),
    (lambda tf: tf.sparse_split(example(tf), 2, 1), "Keyword arguments are required"),
    (lambda tf: tf.sparse_split(sp_input=example(tf), axis=1), "num_split is required"),
    (lambda tf: tf.sparse_reshape(example(tf), [5, 5]), "Cannot reshape a tensor with 12 elements to shape [5, 5] (25 elements)."),
    (lambda tf: tf.sparse_reset_shape(example(tf), [1, 1]), None),
    (lambda tf: tf.sparse_merge(example(tf, "int64"), example(tf), [3]), "vocab_size has to be a Tensor or Python int"),
    (lambda tf: tf.SparseTensor.from_value(3), "is neither a SparseTensor nor SparseTensorValue"),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


def test_wrong_feeds():
    with flowmill.Graph().as_default(), flowmill.Session() as sess:
        p = flowmill.sparse_placeholder(flowmill.float32)
        with pytest.raises(ValueError, match="must be a tuple of 3 arrays"):
            sess.run(p, {p: 1.0})


def test_gradients_go_through_the_values(tf1):
    compare(tf1, lambda tf: tf.gradients(tf.reduce_sum(tf.square(example(tf).values)), [tf.get_default_graph().get_tensor_by_name("Const:0")]),
            nodes=False)  # names and forms of gradients' nodes are the gradients' own matter


def test_expand_dims(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            found.append(([op.name for op in graph.get_operations()],
                          sess.run([tf.sparse.expand_dims(example(tf), 0), tf.sparse.expand_dims(example(tf)), tf.sparse.expand_dims(example(tf), -2)])))
    assert found[0][0] == found[1][0]
    for mine, other in zip(found[1][1], found[0][1]):
        same(mine, other)


NUMBERS = [[3, 1, 3, 0], [7, 7, 2, 1]]
WEIGHTS = np.arange(8, dtype=np.float32).reshape(2, 4)


@pytest.mark.parametrize("options", [
    {}, {"axis": -1}, {"axis": -1, "minlength": 12}, {"maxlength": 3}, {"axis": -1, "maxlength": 3}, {"binary_output": True, "axis": -1},
    {"weights": WEIGHTS}, {"weights": WEIGHTS, "axis": -1}, {"minlength": 10, "maxlength": 9},
], ids=str)
@pytest.mark.parametrize("sparse", [False, True])
def test_counting(tf1, options, sparse):
    def build(tf):
        def given(values):
            values = np.asarray(values)
            return tf.SparseTensor([[0, 0], [0, 2], [0, 3], [1, 0], [1, 1], [1, 3]], values[[0, 0, 0, 1, 1, 1], [0, 2, 3, 0, 1, 3]], [2, 4]) if sparse else values
        asked = dict(options)
        if "weights" in asked:
            asked["weights"] = given(asked["weights"])
        found = tf.sparse.bincount(given(NUMBERS), **asked)
        return found.indices, found.values, found.dense_shape
    theirs, ours = ([np.asarray(v) for v in run(tf, build)[2]] for tf in (tf1, flowmill))
    for mine, other in zip(ours, theirs):
        np.testing.assert_array_equal(mine, other)
    assert ours[1].dtype == theirs[1].dtype


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.sparse.bincount([1], axis=2), "Unsupported value for argument axis=2"),
    (lambda tf: tf.sparse.bincount([1], [1], binary_output=True), "Arguments `binary_output` and `weights` are mutually exclusive"),
])
def test_wrong_counting(tf1, build, match):
    same_error(tf1, build, match)


def test_dense_times_sparse(tf1):
    def build(tf):
        x = tf.SparseTensor([[0, 1], [1, 0]], [3.0, 4.0], [2, 2])
        return tf.constant([[2.0, 3.0]]) * x
    compare(tf1, build, nodes=False)


@pytest.mark.parametrize("static", [[None, 6], [5, None], [None, None]])
def test_order_keeps_the_known_part_of_a_shape(tf1, static):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            sizes = tf.placeholder(tf.int64, [2])
            dense_shape = [sizes[i] if d is None else d for i, d in enumerate(static)]
            x = tf.SparseTensor(tf.placeholder(tf.int64, [6, 2]), tf.placeholder(tf.float32, [6]), dense_shape)
            assert tf.sparse_reorder(x).get_shape().as_list() == static


def sparse_placeholder(tf):
    return tf.sparse_placeholder(tf.float32, name="x")


def test_shape_of_reshaped_sparse_tensor(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            x = tf.SparseTensor([[0, 1, 2]], [1.0], [2, 3, 4])
            shape = tf.concat([tf.constant([2], tf.int64), tf.placeholder(tf.int64, [1])], 0)
            assert tf.sparse_reshape(x, shape).shape.as_list() == [2, 12]
            with pytest.raises(ValueError, match="Cannot reshape"):
                tf.sparse_reshape(x, [-1, 7])
            tf.sparse_reshape(sparse_placeholder(tf), [4, -1, -1])  # the step fails


def test_reset_to_a_shape_of_unknown_rank(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            shape = tf.placeholder(tf.int32)
            out = tf.sparse_reset_shape(tf.SparseTensor([[0, 1]], [1.0], [2, 3]), shape)
            assert session.run(out, {shape: [4, 3]}).dense_shape.tolist() == [4, 3]
            with pytest.raises(tf.errors.InvalidArgumentError, match="x == y did not hold element-wise"):
                session.run(out, {shape: [4]})


def test_merge_by_the_value_of_a_sparse_tensor(tf1):
    def build(tf):
        ids = tf.SparseTensorValue([[0, 0], [1, 0]], np.array([3, 1], np.int32), [2, 1])
        return tf.sparse_merge(ids, tf.SparseTensorValue([[0, 0], [1, 0]], np.array([0.5, 1.5], np.float32), [2, 1]), 5)
    compare(tf1, build, nodes=False)
