"""Pipelines of input made of queues, against TensorFlow's."""

import numpy as np
import pytest
from compare import _described, same_error

import flowmill


def padded(tf):
    return tf.train.batch([tf.placeholder(tf.int32, [None])], 4, dynamic_pad=True)


CASES = {
    "batch": lambda tf: tf.train.batch([tf.constant(1), tf.constant([1.0, 2.0])], 4),
    "batch_of_many": lambda tf: tf.train.batch([tf.constant([1, 2])], 4, enqueue_many=True, allow_smaller_final_batch=True, num_threads=2),
    "batch_of_a_dictionary": lambda tf: tf.train.batch({"b": tf.constant(1), "a": tf.constant("x")}, 4, name="n"),
    "batch_padded": padded,
    "maybe_batch": lambda tf: tf.train.maybe_batch([tf.constant(1)], tf.constant(True), 4),
    "batch_join": lambda tf: tf.train.batch_join([[tf.constant(1)], [tf.constant(2)]], 4),
    "shuffle_batch": lambda tf: tf.train.shuffle_batch({"a": tf.constant(1)}, 4, 100, 10, seed=1),
    "shuffle_batch_join": lambda tf: tf.train.shuffle_batch_join([[tf.constant(1)], [tf.constant(2)]], 4, 100, 10),
    "slice_input_producer": lambda tf: tf.train.slice_input_producer([tf.constant([1, 2]), tf.constant([[1.0], [2.0]])], num_epochs=2, seed=3),
    "string_input_producer": lambda tf: tf.train.string_input_producer(["a", "b"], shuffle=False).dequeue(),
    "range_input_producer": lambda tf: tf.train.range_input_producer(5, shuffle=False, name="r").dequeue(),
    "input_producer": lambda tf: tf.train.input_producer(tf.placeholder(tf.int32), element_shape=[2], shuffle=False).dequeue(),
    "limit_epochs": lambda tf: tf.train.limit_epochs(tf.constant([1]), 3),
    "match_filenames_once": lambda tf: tf.train.match_filenames_once("/none/*"),
}


def flat(found):
    return [found[k] for k in sorted(found)] if isinstance(found, dict) else found if isinstance(found, list) else [found]


@pytest.mark.parametrize("name", CASES)
def test_nodes_are_tensorflows(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            made = CASES[name](tf)
            found.append((_described(graph), type(made) is dict, [str(t.get_shape()) for t in flat(made)], len(graph.get_collection("summaries")),
                          [v.name for v in graph.get_collection("local_variables")]))
    assert found[1] == found[0]


def test_batches_hold_what_was_put_in():
    with flowmill.Graph().as_default() as graph, flowmill.Session() as sess:
        number, word = flowmill.train.slice_input_producer([flowmill.range(10), flowmill.as_string(flowmill.range(10))], num_epochs=1, shuffle=False)
        batch = flowmill.train.batch([number, word], 4, allow_smaller_final_batch=True)
        sess.run([flowmill.global_variables_initializer(), flowmill.local_variables_initializer()])
        first, second = [op for op in graph.get_operations() if op.type.startswith("QueueEnqueue")]
        sess.run(first)
        with pytest.raises(flowmill.errors.OutOfRangeError):
            sess.run(first)
        for _ in range(10):
            sess.run(second)
        sess.run([op for op in graph.get_operations() if op.type == "QueueCloseV2" and not op.get_attr("cancel_pending_enqueues")])
        found = [sess.run(batch) for _ in range(3)]
        with pytest.raises(flowmill.errors.OutOfRangeError):
            sess.run(batch)
    assert np.concatenate([f[0] for f in found]).tolist() == list(range(10))
    assert found[2][1].tolist() == [b"8", b"9"]


@pytest.mark.usefixtures("control_flow")
def test_elements_may_be_left_out():
    with flowmill.Graph().as_default() as graph, flowmill.Session() as sess:
        value = flowmill.placeholder(flowmill.int32, [])
        batch = flowmill.train.maybe_batch([value], value > 1, 2)
        many = flowmill.train.maybe_batch([[1, 2, 3]], [True, False, True], 2, enqueue_many=True)
        (put,), (put_many,) = (runner.enqueue_ops for runner in graph.get_collection("queue_runners"))
        for i in range(4):
            sess.run(put, {value: i})
        assert sess.run(batch).tolist() == [2, 3]
        sess.run(put_many)
        assert sess.run(many).tolist() == [1, 3]


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.train.batch([tf.placeholder(tf.int32)], 4), "Cannot infer Tensor's rank"),
    (lambda tf: tf.train.batch([], 4), "Expected at least one tensor"),
    (lambda tf: tf.train.string_input_producer([]), "string_input_producer requires a non-null input tensor"),
    (lambda tf: tf.train.limit_epochs(tf.constant(1), 0), "num_epochs must be > 0 not 0."),
    (lambda tf: tf.train.shuffle_batch([tf.constant(1)], 4, 10, 10), None),
    (lambda tf: tf.train.input_producer(tf.placeholder(tf.int32)), "`element_shape` must be specified"),
    (lambda tf: tf.train.maybe_batch([tf.constant(1)], [True], 4), "`keep_input` cannot be a vector when `enqueue_many=False`."),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


def test_threads_fill_the_queues():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as sess:
        number, word = tf.train.slice_input_producer([tf.range(10), tf.as_string(tf.range(10))], num_epochs=2, shuffle=True, seed=1)
        numbers, words = tf.train.shuffle_batch([number, word], 4, capacity=20, min_after_dequeue=4, num_threads=2, allow_smaller_final_batch=True)
        sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess=sess, coord=coordinator)
        found = []
        try:
            while not coordinator.should_stop():
                values, texts = sess.run([numbers, words])
                assert [str(v).encode() for v in values] == texts.tolist()
                found += values.tolist()
        except tf.errors.OutOfRangeError:
            pass
        finally:
            coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=20)
    assert sorted(found) == sorted([*range(10), *range(10)])


def _sparse(tf):
    """A row of a sparse tensor that grows with each step: of one dimension, whose size grows as well."""
    step = tf.Variable(0, dtype=tf.int64, trainable=False, use_resource=True)
    n = step.assign_add(1, read_value=True).read_value() if tf is flowmill else step.assign_add(1).read_value()
    at = tf.reshape(tf.range(n), [-1, 1])
    return tf.SparseTensor(at, tf.cast(tf.range(n) * 10, tf.float32), tf.reshape(n + 1, [1])), tf.as_string(n)


def _taken(tf, batch, count, runs=4):
    """Fills the queue by hand, one element after another, and takes batches."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        for _ in range(runs):
            for put in runner.enqueue_ops:
                session.run(put)
        return [session.run(batch) for _ in range(count)]


def _of_one(tf):
    sparse, word = _sparse(tf)
    return tf.train.batch({"s": sparse, "w": word}, 2)


def _of_two(tf):
    sparse, word = _sparse(tf)
    return dict(zip("swt", tf.train.batch([sparse, word, tf.SparseTensor(sparse.indices, sparse.values, [9])], 2)))


def _of_many(tf):
    many = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], tf.constant(["a", "b", "c"]), [2, 3])
    return dict(zip("sw", tf.train.batch([many, tf.constant([1, 2])], 2, enqueue_many=True)))


def _of_some(tf):
    many = tf.SparseTensor([[0, 1], [1, 0], [2, 2]], tf.constant([1.0, 2.0, 3.0]), [3, 3])
    return dict(zip("sw", tf.train.maybe_batch([many, tf.constant([1, 2, 3])], tf.constant([True, False, True]), 2, enqueue_many=True)))


def _if_fed(tf):
    sparse, word = _sparse(tf)
    keep = tf.placeholder_with_default(True, [], "keep")
    return dict(zip("sw", tf.train.maybe_batch([sparse, word], keep, 2, allow_smaller_final_batch=True)))


def _of_many_if_fed(tf):
    many = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], tf.constant([1, 2, 3], tf.int64), [2, 3])
    keep = tf.placeholder_with_default(True, [], "keep")
    return dict(zip("sw", tf.train.maybe_batch([many, tf.constant([1, 2])], keep, 2, enqueue_many=True)))


def _of_lists(tf):
    lists = [[tf.SparseTensor([[i]], [float(i)], [3]), tf.constant(i)] for i in range(2)]
    return dict(zip("sw", tf.train.batch_join(lists, 2)))


def _in_any_order(tf):
    many = tf.SparseTensor([[0, 1], [1, 1]], tf.constant(["a", "a"]), [2, 3])
    return tf.train.shuffle_batch({"s": many, "w": tf.constant([5, 5])}, 2, 10, 1, enqueue_many=True, shapes=[[1], []])


SPARSE_BATCHES = [_of_one, _of_two, _of_many, _of_some, _if_fed, _of_many_if_fed, _of_lists, _in_any_order]


@pytest.mark.parametrize("build", SPARSE_BATCHES, ids=lambda f: f.__name__.strip("_"))
def test_batches_of_sparse_tensors(tf1, build):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            batch = build(tf)
            operations = [op for op in tf.get_default_graph().get_operations() if "batch" in op.name]
            nodes = sorted((op.name, op.type, [t.name for t in op.inputs], sorted(c.name for c in op.control_inputs)) for op in operations)
            maps = sorted((op.name, op.get_attr("shared_name")) for op in operations if "TensorsMap" in op.type)
            assert isinstance(batch["s"], tf.SparseTensor)
            ranks = [batch["s"].indices.shape.as_list(), batch["s"].dense_shape.shape.as_list(), batch["s"].dtype.name, str(batch["w"].shape)]
            found.append(((ranks, nodes, maps), _taken(tf, batch, 2)))
    (their_graph, theirs), (our_graph, ours) = found
    assert our_graph == their_graph
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.keys() == other.keys()
        for key in other:
            for a, b in zip(mine[key] if isinstance(mine[key], tuple) else [mine[key]], other[key] if isinstance(other[key], tuple) else [other[key]]):
                np.testing.assert_array_equal(a, b)


def test_shuffled_batches_of_sparse_tensors():
    tf = flowmill
    with tf.Graph().as_default():
        first, second = tf.train.shuffle_batch_join([[tf.SparseTensor([[1]], [5.0], [3]), 7], [tf.SparseTensor([[1]], [5.0], [3]), 7]], 2, 10, 1)
        with tf.Session() as session:
            puts = [op for op in tf.get_default_graph().get_operations() if op.type == "QueueEnqueueV2"]
            for _ in range(2):
                session.run(puts)
            sparse, numbers = session.run([first, second])
    assert sparse.indices.tolist() == [[0, 1], [1, 1]] and sparse.values.tolist() == [5.0, 5.0] and sparse.dense_shape.tolist() == [2, 3]
    assert numbers.tolist() == [7, 7]


def test_a_tensor_is_sparse_in_all_lists_or_in_none(tf1):
    message = "Inconsistent SparseTensors list"
    same_error(tf1, lambda tf: tf.train.batch_join([[tf.SparseTensor([[1]], [5.0], [3])], [tf.constant(1.0)]], 2), message)
    same_error(tf1, lambda tf: tf.train.batch_join([[tf.constant(1.0)], [tf.SparseTensor([[1]], [5.0], [3])]], 2), message)
    same_error(tf1, lambda tf: tf.train.batch_join([[tf.SparseTensor([[1]], [5.0], [3])], [tf.SparseTensor([[1, 2]], [5.0], [3, 3])]], 2), message)


ADD = {"sparse_indices": [[0, 0], [1, 1]], "sparse_values": [1, 2], "sparse_shape": [2, 2]}


@pytest.mark.parametrize("op, change, match", [
    ("AddSparseToTensorsMap", {"sparse_indices": [0]}, "Input indices should be a matrix but received shape"),
    ("AddSparseToTensorsMap", {"sparse_values": 1}, "Input values should be a vector but received shape"),
    ("AddSparseToTensorsMap", {"sparse_shape": [2, -2]}, ""),
    ("AddManySparseToTensorsMap", {"sparse_values": [1]}, "Number of values must match first dimension of indices"),
    ("AddManySparseToTensorsMap", {"sparse_shape": [2]}, "Number of dimensions must match second dimension of indices"),
    ("AddManySparseToTensorsMap", {"sparse_indices": [[0], [1]], "sparse_shape": [2]}, "Rank of input SparseTensor should be > 1, but saw rank: 1"),
    ("AddManySparseToTensorsMap", {"sparse_indices": [[1, 0], [0, 1]]}, "is out of order"),
    ("AddManySparseToTensorsMap", {"sparse_indices": [[1, 0], [1, 0]]}, "is repeated"),
    ("AddManySparseToTensorsMap", {"sparse_indices": [[0, 0], [2, 0]]}, "is out of bounds: need 0 <= index < "),
    ("TakeManySparseFromTensorsMap", [[0]], "sparse_handles should be a vector but received shape"),
    ("TakeManySparseFromTensorsMap", [], "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"),
    ("TakeManySparseFromTensorsMap", [0, 3], "Unable to find SparseTensor: 3 in map: m"),
    ("TakeManySparseFromTensorsMap", [0], "Requested SparseTensor of type float but SparseTensor"),
    ("TakeManySparseFromTensorsMap", [1, 2], r"Inconsistent rank across SparseTensors: rank prior to SparseTensor\[1\] was: 3 but rank of .* is: 2"),
])
def test_bad_uses_of_maps_fail_as_in_tensorflow(tf1, op, change, match):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            def add(values, dtype, wanted="AddSparseToTensorsMap"):
                types = {"sparse_indices": "int64", "sparse_values": dtype, "sparse_shape": "int64"}
                inputs = {name: tf.placeholder(types[name]) for name in values}
                session.run(getattr(tf.raw_ops, wanted)(**inputs, shared_name="m"), {inputs[name]: value for name, value in values.items()})
            add(ADD, "int32")
            add(ADD, "float32")
            add({"sparse_indices": [[0]], "sparse_values": [1], "sparse_shape": [2]}, "float32")
            with pytest.raises(tf.errors.OpError, match=match) as raised:
                if isinstance(change, dict):
                    add(ADD | change, "int32", op)
                else:
                    handles = tf.placeholder(tf.int64)
                    session.run(tf.raw_ops.TakeManySparseFromTensorsMap(sparse_handles=handles, dtype=tf.float32, shared_name="m"), {handles: change})
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


@pytest.mark.parametrize("dtype", ["float32", "complex64", "bool", "string", "uint8"])
def test_maps_hold_values_of_every_type(tf1, dtype):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            values = tf.as_string([1, 2, 3]) if dtype == "string" else tf.cast([1, 0, 3], dtype)
            parts = {"sparse_indices": tf.constant([[1, 0], [1, 2], [3, 1]], tf.int64), "sparse_values": values}
            numbers = session.run(tf.raw_ops.AddManySparseToTensorsMap(**parts, sparse_shape=tf.constant([5, 3], tf.int64), shared_name="m"))
            empty = tf.raw_ops.AddSparseToTensorsMap(sparse_indices=tf.zeros([0, 1], tf.int64), sparse_values=values[:0], sparse_shape=tf.constant([7], tf.int64),
                                                     shared_name="m")
            handles = [*numbers[::-1], session.run(empty)]
            found.append((numbers, session.run(tf.raw_ops.TakeManySparseFromTensorsMap(sparse_handles=handles, dtype=dtype, shared_name="m"))))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    for mine, other in zip(found[0][1], found[1][1]):
        np.testing.assert_array_equal(mine, other)
