"""Datasets and their iterators: what they give is what TensorFlow's give."""

import numpy as np
import pytest
from compare import same, same_error

import flowmill


def drain(tf, build, most=50):
    """All elements of a dataset, at most so many, with its types and shapes."""
    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = build(tf)
        following = tf.data.make_one_shot_iterator(dataset).get_next()
        described = [tf.data.get_output_types(dataset), tf.data.get_output_shapes(dataset)]
        elements = []
        for _ in range(most):
            try:
                elements.append(sess.run(following))
            except tf.errors.OutOfRangeError as error:
                assert "End of sequence" in str(error)
                break
        return repr(described).replace("Dimension(", "").replace(")", ""), elements


def flat(value):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def rows(tf):
    return tf.data.Dataset.from_tensor_slices(({"a": np.arange(5, dtype=np.int32), "b": np.arange(10.0).reshape(5, 2)}, ["v", "w", "x", "y", "z"]))


def counted(n):
    for i in range(n):
        yield [i] * i, str(i)


CASES = {
    "tensors": lambda tf: tf.data.Dataset.from_tensors((tf.constant([1.0, 2.0]), 3)),
    "slices": rows,
    "range": lambda tf: tf.data.Dataset.range(2, 11, 3),
    "batch": lambda tf: rows(tf).batch(2),
    "batch_without_the_rest": lambda tf: rows(tf).batch(2, drop_remainder=True),
    "map": lambda tf: tf.data.Dataset.range(4).map(lambda x: (x * 2, {"s": tf.as_string(x)}), num_parallel_calls=2).prefetch(1),
    "map_of_tuples": lambda tf: rows(tf).map(lambda features, word: tf.cast(features["a"], tf.float64) + features["b"]),
    "filter": lambda tf: tf.data.Dataset.range(10).filter(lambda x: tf.equal(x % 3, 1)),
    "take_skip_repeat": lambda tf: tf.data.Dataset.range(10).skip(2).take(3).repeat(2),
    "for_ever": lambda tf: tf.data.Dataset.range(3).repeat(),
    "zip": lambda tf: tf.data.Dataset.zip((tf.data.Dataset.range(3), {"x": tf.data.Dataset.range(10, 20)})),
    "concatenate": lambda tf: tf.data.Dataset.range(2).concatenate(tf.data.Dataset.range(5, 7)),
    "enumerate_shard": lambda tf: tf.data.Dataset.range(10).shard(3, 1).enumerate(start=5),
    "flat_map": lambda tf: tf.data.Dataset.range(1, 4).flat_map(lambda x: tf.data.Dataset.from_tensors(x * 10).repeat(x)),
    "interleave": lambda tf: tf.data.Dataset.range(1, 6).interleave(
        lambda x: tf.data.Dataset.range(x).map(lambda y: y + 100), cycle_length=2, block_length=2),
    "padded_batch": lambda tf: tf.data.Dataset.range(1, 6).map(lambda x: (tf.fill([x], x), x)).padded_batch(2, padded_shapes=([None], [])),
    "padded_batch_with_values": lambda tf: tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], "s")).padded_batch(3, [5], padding_values="-"),
    "generator": lambda tf: tf.data.Dataset.from_generator(lambda: counted(4), (tf.int64, tf.string), ([None], [])),
    "generator_with_arguments": lambda tf: tf.data.Dataset.from_generator(
        lambda n: ((float(i) for i in range(n))), tf.float32, args=(tf.constant(3),)),
    "unbatch": lambda tf: rows(tf).batch(3).apply(tf.data.experimental.unbatch()),
    "cache": lambda tf: tf.data.Dataset.range(3).cache().repeat(2),
    "nothing": lambda tf: tf.data.Dataset.range(0).repeat(),
    "map_and_batch": lambda tf: tf.data.Dataset.range(5).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 2)),
    "constant_sizes": lambda tf: tf.data.Dataset.range(5).batch(tf.constant(2, tf.int64)),
}


@pytest.mark.parametrize("name", CASES)
def test_elements_are_tensorflows(tf1, name):
    theirs, ours = (drain(tf, CASES[name]) for tf in (tf1, flowmill))
    assert ours[0] == theirs[0]
    assert len(ours[1]) == len(theirs[1])
    for mine, other in zip(ours[1], theirs[1]):
        assert type(mine) is type(other) or not isinstance(other, (tuple, dict))
        for a, b in zip(flat(mine), flat(other), strict=True):
            same(a, b)
            assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind


def test_files(tf1, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (tmp_path / "b.txt").write_bytes(b"four\n\nfive\n")
    (tmp_path / "f.bin").write_bytes(b"HH" + bytes(range(6)) + b"F")
    files = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    record = str(tmp_path / "r")
    with flowmill.io.TFRecordWriter(record, "GZIP") as writer:
        for i in range(3):
            writer.write(b"record %d" % i)
    for build in (lambda tf: tf.data.TextLineDataset(files), lambda tf: tf.data.TFRecordDataset([record], compression_type="GZIP"),
                  lambda tf: tf.data.Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False).flat_map(tf.data.TextLineDataset),
                  lambda tf: tf.data.FixedLengthRecordDataset(str(tmp_path / "f.bin"), 2, header_bytes=2, footer_bytes=1)):
        assert drain(flowmill, build) == drain(tf1, build)


def test_examples_in_record_files(tf1, tmp_path):
    path = str(tmp_path / "examples")
    with flowmill.io.TFRecordWriter(path) as writer:
        for i in range(5):
            feature = {"x": tf1.train.Feature(float_list=tf1.train.FloatList(value=[i, i + 0.5])),
                       "ids": tf1.train.Feature(int64_list=tf1.train.Int64List(value=range(i)))}
            writer.write(tf1.train.Example(features=tf1.train.Features(feature=feature)).SerializeToString())

    def build(tf):
        features = {"x": tf.FixedLenFeature([2], tf.float32), "ids": tf.VarLenFeature(tf.int64)}
        return tf.data.TFRecordDataset(path).batch(2).map(lambda s: tf.parse_example(s, features))

    theirs, ours = drain(tf1, build), drain(flowmill, build)
    assert len(ours[1]) == 3
    for mine, other in zip(ours[1], theirs[1]):
        for a, b in zip(flat(mine), flat(other), strict=True):
            same(a, b)


def test_batches_of_features_of_files(tf1, tmp_path):
    for name in "ab":
        with flowmill.io.TFRecordWriter(str(tmp_path / name)) as writer:
            for i in range(3):
                feature = {"x": tf1.train.Feature(float_list=tf1.train.FloatList(value=[i, i + 0.5])),
                           "label": tf1.train.Feature(bytes_list=tf1.train.BytesList(value=[b"%d" % i])),
                           "ids": tf1.train.Feature(int64_list=tf1.train.Int64List(value=range(i)))}
                writer.write(tf1.train.Example(features=tf1.train.Features(feature=feature)).SerializeToString())

    def build(tf):
        features = {"x": tf.FixedLenFeature([2], tf.float32), "label": tf.FixedLenFeature([], tf.string), "ids": tf.VarLenFeature(tf.int64)}
        return tf.data.experimental.make_batched_features_dataset(
            str(tmp_path / "*"), 4, features, label_key="label", num_epochs=1, shuffle=False, reader_num_threads=2)

    theirs, ours = drain(tf1, build), drain(flowmill, build)
    assert ours[0] == theirs[0] and len(ours[1]) == len(theirs[1]) == 2
    for mine, other in zip(ours[1], theirs[1]):
        for a, b in zip(flat(mine), flat(other), strict=True):
            same(a, b)


def test_shuffled_elements_are_all_there():
    def build(seed):
        return lambda tf: tf.data.Dataset.range(20).shuffle(7, seed=seed).repeat(2)

    found = [int(v) for v in drain(flowmill, build(3))[1]]
    assert sorted(found[:20]) == list(range(20)) == sorted(found[20:])
    assert found[:20] != found[20:] and found[:20] != list(range(20))
    assert found == [int(v) for v in drain(flowmill, build(3))[1]] != [int(v) for v in drain(flowmill, build(4))[1]]
    fixed = [int(v) for v in drain(flowmill, lambda tf: tf.data.Dataset.range(9).shuffle(9, 1, reshuffle_each_iteration=False).repeat(2))[1]]
    assert fixed[:9] == fixed[9:]


def test_iterators_begin_anew(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            limit = tf.placeholder(tf.int64, [])
            values = tf.placeholder(tf.float32, [None])
            dataset = tf.data.Dataset.zip((tf.data.Dataset.range(limit), tf.data.Dataset.from_tensor_slices(values)))
            iterator = dataset.make_initializable_iterator()
            number, value = iterator.get_next()
            assert value.shape.as_list() == [] and number.dtype == tf.int64 == iterator.output_types[0]
            with pytest.raises(tf.errors.OpError, match="iterator has not been initialized"):
                sess.run(number)
            for n in (2, 3):
                sess.run(iterator.initializer, {limit: n, values: [1.5, 2.5, 3.5, 4.5]})
                assert [sess.run((number, value)) for _ in range(n)] == [(i, i + 1.5) for i in range(n)]
                with pytest.raises(tf.errors.OutOfRangeError):
                    sess.run(number)
            with pytest.raises(ValueError):
                dataset.make_one_shot_iterator()


@pytest.mark.parametrize("threads", [0, 1])
def test_pipelines_that_work_hard_run_beside_steps(threads):
    import threading

    tf = flowmill
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    with tf.Graph().as_default() as graph, tf.Session(config=config, graph=graph) as sess:
        dataset = tf.data.Dataset.range(24).map(lambda x: tf.matmul(tf.fill([200, 200], tf.cast(x, tf.float32)), tf.ones([200, 200])))
        total = tf.reduce_sum(tf.matmul(dataset.make_one_shot_iterator().get_next(), tf.ones([200, 200])))
        found = []

        def work():
            for _ in range(6):
                found.append(float(sess.run(total)))

        workers = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert sorted(found) == [i * 200.0**4 for i in range(24)]


def test_one_iterator_for_several_datasets(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            train, test = tf.data.Dataset.range(3), tf.data.Dataset.range(10, 12)
            iterator = tf.data.Iterator.from_structure(train.output_types, train.output_shapes)
            following = iterator.get_next()
            for dataset, wanted in ((train, [0, 1, 2]), (test, [10, 11]), (train, [0, 1, 2])):
                sess.run(iterator.make_initializer(dataset))
                assert [int(sess.run(following)) for _ in wanted] == wanted
            with pytest.raises(TypeError):
                iterator.make_initializer(tf.data.Dataset.from_tensors(1.0))


def test_a_string_says_which_iterator(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            train, test = tf.data.Dataset.range(3).repeat(), tf.data.Dataset.range(10, 12)
            handle = tf.placeholder(tf.string, [])
            following = tf.data.Iterator.from_string_handle(handle, train.output_types, train.output_shapes).get_next() * 2
            one, other = train.make_one_shot_iterator(), test.make_initializable_iterator()
            first, second = sess.run([one.string_handle(), other.string_handle()])
            sess.run(other.initializer)
            order = [first, second, first, second, first]
            assert [int(sess.run(following, {handle: h})) for h in order] == [0, 20, 2, 22, 4]
            with pytest.raises(tf.errors.OutOfRangeError):
                sess.run(following, {handle: second})
            assert int(sess.run(following, {handle: first})) == 0


def test_elements_that_do_not_fit():
    batch = drain_error(lambda tf: tf.data.Dataset.range(1, 4).map(lambda x: tf.fill([x], x)).batch(2))
    assert isinstance(batch, flowmill.errors.InvalidArgumentError) and "Cannot batch tensors with different shapes" in str(batch)
    shape = drain_error(lambda tf: tf.data.Dataset.from_generator(lambda: iter([[1, 2]]), tf.int32, [3]))
    assert isinstance(shape, flowmill.errors.InvalidArgumentError) and "yielded an element of shape (2,)" in str(shape)
    with flowmill.Graph().as_default():
        elsewhere = flowmill.constant(1, flowmill.int64)
    with flowmill.Graph().as_default(), pytest.raises(ValueError, match="must be from the same graph"):
        flowmill.data.Dataset.range(3).map(lambda x: x + elsewhere)


def drain_error(build):
    with pytest.raises(flowmill.errors.OpError) as found:
        drain(flowmill, build)
    return found.value


def _sparse(tf):
    return tf.SparseTensor([[0, 1], [1, 2], [1, 3]], [1.0, 2.0, 3.0], [3, 4])


SPARSE = {
    "slices": lambda tf: tf.data.Dataset.from_tensor_slices((_sparse(tf), [1, 2, 3])),
    "batch": lambda tf: tf.data.Dataset.from_tensor_slices({"s": _sparse(tf), "n": [1, 2, 3]}).batch(2),
    "batch without the rest": lambda tf: tf.data.Dataset.from_tensor_slices(_sparse(tf)).batch(2, drop_remainder=True),
    "batch of batches": lambda tf: tf.data.Dataset.from_tensors(_sparse(tf)).repeat(4).batch(2).batch(2),
    "unbatch": lambda tf: tf.data.Dataset.from_tensors((_sparse(tf), [1, 2, 3])).unbatch(),
    "growing": lambda tf: tf.data.Dataset.range(4).map(lambda n: tf.SparseTensor(
        tf.reshape(tf.range(n), [-1, 1]), tf.range(n), [5])).batch(3),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_elements(tf1, name):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            dataset = SPARSE[name](tf)
            element = tf.data.make_one_shot_iterator(dataset).get_next()
            values = []
            with tf.Session() as session:
                with pytest.raises(tf.errors.OutOfRangeError):
                    while True:
                        values.append(session.run(element))
            found.append((repr(dataset.element_spec), repr(values)))
    assert found[1] == found[0]


def test_sparse_elements_that_do_not_fit(tf1):
    same_error(tf1, lambda tf: tf.data.Dataset.from_tensors(_sparse(tf)).padded_batch(2, [3, 4]),
               "is only supported for datasets that produce tensor elements")


def test_generators_of_sparse_and_ragged_tensors(tf1):
    def build(tf):
        def generator():
            for i in range(1, 4):
                yield tf.SparseTensor([[0], [1]], [i, i + 1], [3]), tf.ragged.constant([[i] * i, []])
        signature = tf.SparseTensorSpec([3], tf.int32), tf.RaggedTensorSpec([2, None], tf.int32)
        return tf.data.Dataset.from_generator(generator, output_signature=signature).map(lambda s, r: (tf.sparse.to_dense(s), r.to_tensor()))

    theirs, ours = drain(tf1, build), drain(flowmill, build)
    assert ours[0] == theirs[0] and len(ours[1]) == len(theirs[1]) == 3
    for mine, other in zip(ours[1], theirs[1]):
        for a, b in zip(mine, other, strict=True):
            same(a, b)
