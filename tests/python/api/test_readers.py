"""Readers and accumulators, as TensorFlow's."""

import gzip
import threading

import numpy as np
import pytest
from compare import same_error

import flowmill


@pytest.fixture
def files(tmp_path):
    (tmp_path / "one.txt").write_bytes(b"header\na\nb\r\n\nlast")
    (tmp_path / "two.txt").write_bytes(b"header\n")
    (tmp_path / "three.txt").write_bytes(b"header\nx\n")
    return [str(tmp_path / name) for name in ("one.txt", "two.txt", "three.txt")]


def records(tf, make, names, read=lambda reader, queue: reader.read(queue)):
    """Everything that a reader gives, the class of the error at the end, and its counts."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
        reader = make(tf)
        fetch = read(reader, queue)
        counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        session.run(queue.enqueue_many([names]))
        session.run(queue.close())
        out = []
        while True:
            try:
                out.append([np.asarray(v).tolist() for v in session.run(list(fetch))])
            except tf.errors.OpError as error:
                return out, type(error).__name__, session.run(counts), [(op.name, op.type) for op in graph.get_operations()]


def compare(tf1, make, names, **more):
    theirs, ours = (records(tf, make, names, **more) for tf in (tf1, flowmill))
    assert ours == theirs
    return ours


@pytest.mark.parametrize("skip", [None, 1, 3])
def test_lines(tf1, files, skip):
    found = compare(tf1, lambda tf: tf.TextLineReader(skip_header_lines=skip), files)
    assert found[1] == "OutOfRangeError"
    compare(tf1, lambda tf: tf.TextLineReader(skip_header_lines=skip, name="lines"), files, read=lambda reader, queue: reader.read_up_to(queue, 2))


def test_whole_files_and_names(tf1, files):
    compare(tf1, lambda tf: tf.WholeFileReader(), files)
    compare(tf1, lambda tf: tf.IdentityReader(), files)
    compare(tf1, lambda tf: tf.IdentityReader(), files, read=lambda reader, queue: reader.read_up_to(queue, 5))


@pytest.mark.parametrize("sizes", [(3, 0, 0, 0), (3, 2, 4, 0), (4, 1, 0, 2), (2, 0, 3, 5), (100, 0, 0, 0)])
def test_records_of_one_length(tf1, tmp_path, sizes):
    (tmp_path / "f").write_bytes(bytes(range(65, 90)))
    record, header, footer, hop = sizes
    compare(tf1, lambda tf: tf.FixedLengthRecordReader(record, header, footer, hop), [str(tmp_path / "f")])


def test_tf_records(tf1, tmp_path):
    for kind in ("", "GZIP", "ZLIB"):
        path = str(tmp_path / f"records{kind}")
        with tf1.python_io.TFRecordWriter(path, options=kind) as writer:
            for record in (b"", b"abc", b"x" * 5000):
                writer.write(record)
        compare(tf1, lambda tf: tf.TFRecordReader(options=tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.NONE if not kind else getattr(tf.python_io.TFRecordCompressionType, kind))), [path])
    plain = (tmp_path / "records").read_bytes()
    for name, contents in {"cut": plain[:-3], "head": plain[:20], "wrong": plain[:17] + b"!" + plain[18:], "zip": gzip.compress(plain)}.items():
        (tmp_path / name).write_bytes(contents)
        theirs, ours = (records(tf, lambda tf: tf.TFRecordReader(), [str(tmp_path / name)]) for tf in (tf1, flowmill))
        # TensorFlow takes some files that are cut off for files that end there.
        assert ours[0] == theirs[0] and ours[1] == "DataLossError" and theirs[1] in ("DataLossError", "OutOfRangeError")


def test_missing_files(tf1, tmp_path):
    for kind in ("TextLineReader", "WholeFileReader", "TFRecordReader"):
        assert compare(tf1, lambda tf: getattr(tf, kind)(), [str(tmp_path / "none")])[1] == "NotFoundError"


def test_states(tf1, files):
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
            reader, lines = tf.IdentityReader(), tf.TextLineReader()
            key, _ = reader.read(queue)
            session.run(queue.enqueue_many([[b"x", b"y", b"z"]]))
            session.run(key)
            state = session.run(reader.serialize_state())
            session.run(key)
            session.run(reader.restore_state(state))
            counts = session.run([reader.num_records_produced(), reader.num_work_units_completed()])
            session.run(reader.reset())
            again = session.run([reader.num_records_produced(), reader.num_work_units_completed()])
            with pytest.raises(tf.errors.UnimplementedError):
                session.run(lines.serialize_state())
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(reader.restore_state(b"\xff\xff"))
            results.append((state, counts, again, reader.supports_serialize, lines.supports_serialize))
    assert results[0] == results[1]


def test_a_read_waits_for_a_name(files):
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
        key, value = tf.TextLineReader(skip_header_lines=1).read(queue)
        enqueue = queue.enqueue_many([files])
        found = []
        threads = [threading.Thread(target=lambda: found.append(session.run(value))) for _ in range(4)]
        for thread in threads:
            thread.start()
        session.run(enqueue)
        for thread in threads:
            thread.join(30)
        assert sorted(found) == [b"", b"a", b"b", b"last"]
        blocked = threading.Thread(target=lambda: found.append(session.run([value, value.op])))
        blocked.start()
        blocked.join(30)
        assert found[-1][0] == b"x"


def test_a_read_that_waits_is_cancelled():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.string, shapes=[[]])
        reader = tf.IdentityReader()
        reads = [reader.read(queue)[0] for _ in range(3)]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(reads, options=tf.RunOptions(timeout_in_ms=100))
        session.run(queue.enqueue([b"later"]))
        assert session.run(reads[0]) == b"later"


@pytest.mark.parametrize("reduction", ["MEAN", "SUM"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_accumulators(tf1, reduction, dtype):
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            acc = tf.ConditionalAccumulator(dtype=getattr(tf, dtype), shape=[2], reduction_type=reduction)
            adds = [acc.apply_grad(tf.constant([i, 2.0 * i], dtype), local_step=step) for i, step in ((1, 0), (3, 0), (10, 5))]
            take, count = acc.take_grad(2), acc.num_accumulated()
            out = [session.run(count)]
            for add in adds:
                session.run(add)
                out.append(session.run(count))
            out.append(session.run(take).tolist())
            session.run(adds[0])
            out.append(session.run(count))
            session.run(acc.set_global_step(6))
            session.run(adds[2])
            out.append(session.run(count))
            results.append((out, [(op.name, op.type) for op in graph.get_operations()], take.shape.as_list(), acc.name, acc.dtype.name))
    assert results[0] == results[1]


@pytest.mark.parametrize("reduction", ["MEAN", "SUM"])
def test_sparse_accumulators(tf1, reduction):
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            acc = tf.SparseConditionalAccumulator(dtype=tf.float32, shape=[6, 2], reduction_type=reduction)
            session.run(acc.apply_indexed_slices_grad(tf.IndexedSlices(tf.constant([[3.0, 4], [1, 2]]), tf.constant([1, 4]))))
            session.run(acc.apply_grad([0, 1], [[7.0, 8], [5, 6]], [6, 2]))
            out = [session.run(acc.num_accumulated())]
            out += [v.tolist() for v in session.run(list(acc.take_grad(1)))]
            session.run(acc.apply_grad([3], [[5.0, 6]], local_step=1))
            taken = acc.take_indexed_slices_grad(1)
            out += [v.tolist() for v in session.run([taken.indices, taken.values, taken.dense_shape])]
            for bad in (acc.apply_grad([1], [[1.0]], local_step=9), acc.apply_grad([9], [[1.0, 2]], local_step=9),
                        acc.apply_grad([1, 2], [[1.0, 2]], local_step=9), acc.apply_grad([1], [[1.0, 2]], [7, 2], local_step=9)):
                with pytest.raises(tf.errors.InvalidArgumentError):
                    session.run(bad)
            results.append((out, [(op.name, op.type) for op in graph.get_operations()]))
    assert results[0] == results[1]


def test_a_taker_waits_for_gradients():
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        acc = tf.ConditionalAccumulator(tf.float32, shape=[])
        add, take, found = acc.apply_grad(2.0, local_step=10), acc.take_grad(3), []
        thread = threading.Thread(target=lambda: found.append(session.run(take)))
        thread.start()
        for _ in range(3):
            session.run(add)
        thread.join(30)
        assert found == [2.0]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(take, options=tf.RunOptions(timeout_in_ms=100))


def test_wrong_accumulators(tf1):
    same_error(tf1, lambda tf: tf.ConditionalAccumulator(tf.float32, reduction_type="Invalid"), "")
    same_error(tf1, lambda tf: tf.ConditionalAccumulator(tf.float32, shape=[2]).apply_grad([1.0, 2, 3]), "incompatible")
