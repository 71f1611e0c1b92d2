"""Graphs with datasets that TensorFlow writes: every element is TensorFlow's, and so are the ends and the errors."""

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import flowmill as tf

tensorflow = pytest.importorskip("tensorflow")
tf1 = tensorflow.compat.v1


def elements(module, graph, names, before=(), limit=200):
    """All elements of the tensors `names`, then the class of the error that ends them."""
    found = []
    with module.Session(graph=graph) as sess:
        if before:
            sess.run(list(before))
        while len(found) < limit:
            try:
                found.append(sess.run(names))
            except module.errors.OpError as error:
                found.append(type(error).__name__)
                if isinstance(error, module.errors.OutOfRangeError):
                    break
                if len(found) > 1 and isinstance(found[-2], str):
                    break
    return found


def imported(graph):
    own = tf.Graph()
    with own.as_default():
        tf.import_graph_def(graph.as_graph_def().SerializeToString(), name="")
    return own


def assert_equal(ours, theirs):
    assert len(ours) == len(theirs), (ours, theirs)
    for got, want in zip(ours, theirs):
        if isinstance(want, str) or isinstance(got, str):
            assert got == want, (ours, theirs)
            continue
        for g, w in zip(got, want):
            if isinstance(w, np.ndarray) and w.dtype != object:
                assert g.dtype == w.dtype
            np.testing.assert_array_equal(g, w)


def flatten(structure):
    return tensorflow.nest.flatten(structure, expand_composites=True)


PIPELINES = {
    "range": lambda d: d.range(5),
    "range_down": lambda d: d.range(10, -5, -4),
    "range_int32": lambda d: d.range(3, output_type=tf1.int32),
    "tensors": lambda d: d.from_tensors((tf1.constant([1, 2]), tf1.constant("a"))),
    "slices": lambda d: d.from_tensor_slices({"a": np.arange(6).reshape(3, 2), "b": ["x", "y", "z"]}),
    "sparse_slices": lambda d: d.from_tensor_slices(tf1.SparseTensor([[0, 1], [2, 0], [2, 3]], [1.0, 2.0, 3.0], [4, 5])),
    "map": lambda d: d.range(4).map(lambda x: (x * x, tf1.cast(x, tf1.float32) / 3)),
    "map_parallel": lambda d: d.range(50).map(lambda x: x * 3, num_parallel_calls=4),
    "map_capture": lambda d: (lambda c: d.range(4).map(lambda x: x + c))(tf1.constant(10, tf1.int64)),
    "map_string": lambda d: d.range(3).map(tf1.as_string).map(lambda s: tf1.strings.join([s, "!"])),
    "filter": lambda d: d.range(10).filter(lambda x: tf1.equal(x % 3, 1)),
    "take": lambda d: d.range(10).take(3),
    "take_all": lambda d: d.range(3).take(-1),
    "skip": lambda d: d.range(10).skip(7),
    "skip_all": lambda d: d.range(3).skip(-1),
    "repeat": lambda d: d.range(3).repeat(2),
    "repeat_for_ever": lambda d: d.range(3).repeat().take(10),
    "repeat_nothing": lambda d: d.range(0).repeat(),
    "batch": lambda d: d.range(7).batch(3),
    "batch_drop": lambda d: d.range(7).batch(3, drop_remainder=True),
    "batch_strings": lambda d: d.from_tensor_slices(["a", "bb", "ccc"]).batch(2),
    "batch_uneven": lambda d: d.range(3).map(lambda x: tf1.fill([x], x)).batch(2),
    "padded_batch": lambda d: d.range(1, 6).map(lambda x: tf1.fill([x], x)).padded_batch(2, padded_shapes=[None]),
    "padded_batch_values": lambda d: d.range(1, 4)
    .map(lambda x: (tf1.fill([x, 2], 7), tf1.as_string(x)))
    .padded_batch(2, padded_shapes=([4, 3], []), padding_values=(-1, "p")),
    "padded_too_small": lambda d: d.range(1, 4).map(lambda x: tf1.fill([x], x)).padded_batch(2, padded_shapes=[2]),
    "unbatch": lambda d: d.from_tensor_slices(np.arange(12).reshape(2, 3, 2)).apply(tf1.data.experimental.unbatch()),
    "shuffle": lambda d: d.range(20).shuffle(8, seed=1),
    "shuffle_repeat": lambda d: d.range(5).shuffle(3, seed=4).repeat(3),
    "repeat_shuffle": lambda d: d.range(5).repeat(3).shuffle(12, seed=4),
    "shuffle_fixed": lambda d: d.range(6).shuffle(4, seed=2, reshuffle_each_iteration=False).repeat(3),
    "shuffle_all": lambda d: d.range(9).shuffle(100, seed=3),
    "shuffle_and_repeat": lambda d: d.range(6).apply(tf1.data.experimental.shuffle_and_repeat(4, 3, seed=9)),
    "shuffle_and_repeat_long": lambda d: d.range(3).apply(tf1.data.experimental.shuffle_and_repeat(50, 9, seed=9)),
    "zip": lambda d: d.zip((d.range(3), d.range(10, 20).batch(2))),
    "concatenate": lambda d: d.range(2).concatenate(d.range(7, 9)),
    "flat_map": lambda d: d.range(4).flat_map(lambda x: d.range(x)),
    "interleave": lambda d: d.range(5).interleave(lambda x: d.from_tensors(x).repeat(x), cycle_length=2, block_length=2),
    "interleave_parallel": lambda d: d.range(9).interleave(
        lambda x: d.from_tensors(x).repeat(x), cycle_length=3, block_length=2, num_parallel_calls=2
    ),
    "interleave_legacy": lambda d: d.range(7).apply(
        tf1.data.experimental.parallel_interleave(lambda x: d.from_tensors(x).repeat(x), cycle_length=3, block_length=2)
    ),
    "window": lambda d: d.range(7).window(3, shift=2).flat_map(lambda w: w.batch(3)),
    "window_stride": lambda d: d.range(9).window(2, shift=3, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(4)),
    "shard": lambda d: d.range(10).shard(3, 1),
    "prefetch": lambda d: d.range(30).prefetch(4),
    "prefetch_auto": lambda d: d.range(5).prefetch(tf1.data.experimental.AUTOTUNE),
    "cache": lambda d: d.range(4).map(lambda x: x + 1).cache().repeat(2),
    "scan": lambda d: d.range(1, 5).apply(tf1.data.experimental.scan(tf1.constant(0, tf1.int64), lambda s, x: (s + x, s * x))),
    "take_while": lambda d: d.range(10).apply(tf1.data.experimental.take_while(lambda x: x < 4)),
    "unique": lambda d: d.from_tensor_slices([1, 2, 1, 3, 2]).apply(tf1.data.experimental.unique()),
    "unique_strings": lambda d: d.from_tensor_slices(["a", "b", "a"]).apply(tf1.data.experimental.unique()),
    "group_by_window": lambda d: d.range(12).apply(
        tf1.data.experimental.group_by_window(lambda x: x % 3, lambda key, w: w.batch(2).map(lambda x: x + 100 * key), window_size=2)
    ),
    "group_by_reducer": lambda d: d.range(10).apply(
        tf1.data.experimental.group_by_reducer(
            lambda x: x % 3,
            tf1.data.experimental.Reducer(lambda key: tf1.constant(0, tf1.int64), lambda s, x: s + x, lambda s: s),
        )
    ),
    "bucket": lambda d: d.range(1, 9)
    .map(lambda x: tf1.fill([x], x))
    .apply(tf1.data.experimental.bucket_by_sequence_length(lambda x: tf1.shape(x)[0], [3, 6], [2, 2, 2])),
    "dense_to_sparse": lambda d: d.range(1, 5)
    .map(lambda x: tf1.fill([x], x))
    .apply(tf1.data.experimental.dense_to_sparse_batch(2, [6])),
    "sample": lambda d: tf1.data.experimental.sample_from_datasets([d.range(5), d.range(10, 15)], weights=[0.3, 0.7], seed=5),
    "choose": lambda d: tf1.data.experimental.choose_from_datasets([d.range(3), d.range(10, 13)], d.range(2).repeat(3)),
    "random": lambda d: tf1.data.experimental.RandomDataset(seed=5).take(6),
    "enumerate": lambda d: d.range(4).enumerate(start=7),
    "map_and_batch": lambda d: d.range(8).apply(tf1.data.experimental.map_and_batch(lambda x: x * 2, 3)),
    "ignore_errors": lambda d: d.from_tensor_slices([1.0, 0.0, 2.0])
    .map(lambda x: tf1.check_numerics(1.0 / x, "bad"))
    .apply(tf1.data.experimental.ignore_errors()),
    "failing_element": lambda d: d.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf1.check_numerics(1.0 / x, "bad")),
    "failing_parallel": lambda d: d.from_tensor_slices([1.0, 0.0, 2.0]).map(
        lambda x: tf1.check_numerics(1.0 / x, "bad"), num_parallel_calls=2
    ),
    "assert_cardinality": lambda d: d.range(5).apply(tf1.data.experimental.assert_cardinality(4)),
    "batch_zero": lambda d: d.range(3).batch(tf1.constant(0, tf1.int64)),
    "control_flow": lambda d: d.range(6).map(lambda x: tf1.cond(tf1.equal(x % 2, 0), lambda: x, lambda: -x)),
    "loop": lambda d: d.range(4).map(lambda x: tf1.while_loop(lambda i, s: i < x, lambda i, s: (i + 1, s + i), [tf1.constant(0, tf1.int64)] * 2)[1]),
    "reduce": lambda d: d.range(3).map(lambda x: d.range(x).reduce(tf1.constant(0, tf1.int64), lambda s, y: s + y)),
    "parse_example": lambda d: d.from_tensors(
        [tf1.train.Example(features=tf1.train.Features(feature={"a": tf1.train.Feature(int64_list=tf1.train.Int64List(value=[i]))})).SerializeToString() for i in range(3)]
    ).apply(tf1.data.experimental.parse_example_dataset({"a": tf1.FixedLenFeature([1], tf1.int64), "b": tf1.VarLenFeature(tf1.float32)})),
    "rebatch": lambda d: d.range(10).batch(4).rebatch(3) if hasattr(d, "rebatch") else d.range(1),
    "with_options": lambda d: d.range(4).with_options(tf1.data.Options()).map(lambda x: x + 1),
}


@pytest.mark.parametrize("initializable", [False, True], ids=["one_shot", "initializable"])
@pytest.mark.parametrize("name", PIPELINES)
def test_elements_are_tensorflows(name, initializable):
    with tf1.Graph().as_default() as graph:
        dataset = PIPELINES[name](tf1.data.Dataset)
        if initializable:
            iterator = tf1.data.make_initializable_iterator(dataset)
            before = [iterator.initializer.name]
        else:
            try:
                iterator = tf1.data.make_one_shot_iterator(dataset)
            except ValueError:
                pytest.skip("captures something")
            before = []
        names = [t.name for t in flatten(iterator.get_next())]
    own = imported(graph)

    def run(module, graph):
        try:
            return elements(module, graph, names, before)
        except module.errors.OpError as error:
            return [type(error).__name__]

    assert_equal(run(tf, own), run(tf1, graph))


@pytest.fixture
def graph():
    with tf1.Graph().as_default() as g:
        yield g


def test_captured_variables_and_tables(graph):
    table = tf1.lookup.StaticHashTable(tf1.lookup.KeyValueTensorInitializer(["a", "b"], tf1.constant([1, 2], tf1.int64)), -1)
    variable = tf1.get_variable("v", initializer=tf1.constant(10, tf1.int64), use_resource=True)
    dataset = tf1.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(lambda s: table.lookup(s) * variable)
    iterator = tf1.data.make_initializable_iterator(dataset)
    names = [iterator.get_next().name]
    before = [tf1.global_variables_initializer().name, tf1.tables_initializer().name]
    own = imported(graph)
    with tf.Session(graph=own) as sess:
        sess.run(before)
        sess.run(iterator.initializer.name)
        assert [sess.run(names[0]) for _ in range(3)] == [10, 20, -10]


def test_an_initializer_begins_again_and_reads_its_feeds(graph):
    count = tf1.placeholder(tf1.int64, [], name="count")
    iterator = tf1.data.make_initializable_iterator(tf1.data.Dataset.range(count))
    name = iterator.get_next().name
    with tf.Session(graph=imported(graph)) as sess:
        with pytest.raises(tf.errors.FailedPreconditionError, match="iterator has not been initialized"):
            sess.run(name)
        for n in (2, 3):
            sess.run(iterator.initializer.name, {"count:0": n})
            assert [sess.run(name) for _ in range(n)] == list(range(n))
            for _ in range(2):
                with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence") as caught:
                    sess.run(name)
                assert caught.value.op.name == name.split(":")[0]


def test_sessions_have_their_own_places_and_feeds_replace_the_pipeline(graph):
    name = tf1.data.make_one_shot_iterator(tf1.data.Dataset.range(3)).get_next().name
    own = imported(graph)
    with tf.Session(graph=own) as a, tf.Session(graph=own) as b:
        assert [a.run(name), a.run(name), b.run(name), a.run(name), b.run(name)] == [0, 1, 0, 2, 1]
        assert b.run(name, {name: 7}) == 7
        assert b.run(name) == 2


def test_a_reinitializable_and_a_feedable_iterator(graph):
    Dataset = tf1.data.Dataset
    iterator = tf1.data.Iterator.from_structure(tf1.int64, [])
    first, second = iterator.make_initializer(Dataset.range(2)), iterator.make_initializer(Dataset.range(10, 12))
    name = iterator.get_next().name
    handle = tf1.placeholder(tf1.string, [], name="handle")
    fed = tf1.data.Iterator.from_string_handle(handle, tf1.int64, []).get_next().name
    one = tf1.data.make_one_shot_iterator(Dataset.range(5)).string_handle().name
    two = tf1.data.make_one_shot_iterator(Dataset.range(50, 55)).string_handle().name
    with tf.Session(graph=imported(graph)) as sess:
        sess.run(first.name)
        assert sess.run(name) == 0
        sess.run(second.name)
        assert [sess.run(name), sess.run(name)] == [10, 11]
        handles = sess.run([one, two])
        got = [sess.run(fed, {"handle:0": handles[i % 2]}) for i in range(4)]
        assert got == [0, 50, 1, 51]


def test_get_next_as_optional_tells_the_end(graph):
    iterator = tf1.data.make_initializable_iterator(tf1.data.Dataset.range(1))
    optional = tf1.data.experimental.get_next_as_optional(iterator)
    name = optional.has_value().name
    with tf.Session(graph=imported(graph)) as sess:
        sess.run(iterator.initializer.name)
        assert [sess.run(name) for _ in range(3)] == [True, False, False]


def test_files(graph, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\r\n")
    (tmp_path / "b.txt").write_text("three")
    with tf1.io.TFRecordWriter(str(tmp_path / "r")) as writer:
        for record in (b"x", b"yy"):
            writer.write(record)
    (tmp_path / "f").write_bytes(b"H" + b"abcd" + b"F")
    Dataset = tf1.data.Dataset
    names = []
    for dataset in (
        tf1.data.TextLineDataset([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]),
        tf1.data.TFRecordDataset(str(tmp_path / "r")),
        tf1.data.FixedLengthRecordDataset(str(tmp_path / "f"), 2, header_bytes=1, footer_bytes=1),
        Dataset.list_files(str(tmp_path / "*.txt"), shuffle=False).flat_map(tf1.data.TextLineDataset),
        tf1.data.TextLineDataset(str(tmp_path / "missing")),
    ):
        names.append(tf1.data.make_one_shot_iterator(dataset).get_next().name)
    own = imported(graph)
    for name in names:
        ours, theirs = elements(tf, own, [name]), elements(tf1, graph, [name])
        # After a file that cannot be opened comes the next one, where TensorFlow tries the same file for ever.
        assert_equal(ours[:1] if ours[0] == "NotFoundError" else ours, theirs[:1] if theirs[0] == "NotFoundError" else theirs)


def test_a_timeout_ends_a_step_that_waits_and_loses_no_element(graph):
    queue = tf1.FIFOQueue(10, tf1.int64, [[]], name="queue")
    put = queue.enqueue(tf1.constant(5, tf1.int64)).name
    dataset = tf1.data.Dataset.range(3).map(lambda x: x + queue.dequeue())
    iterator = tf1.data.make_initializable_iterator(dataset)
    name = iterator.get_next().name
    with tf.Session(graph=imported(graph)) as sess:
        sess.run(iterator.initializer.name)
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                sess.run(name, options=tf.RunOptions(timeout_in_ms=50))
        sess.run(put)
        assert sess.run(name) == 5
        sess.run(put)
        assert sess.run(name) == 6


def data_threads():
    """The number of threads that have the name of those of iterators."""
    count = 0
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
            count += file.read().startswith("flowmill-data")
    return count


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_closing_a_session_ends_the_threads(graph):
    dataset = tf1.data.Dataset.range(10**9).map(lambda x: x + 1, num_parallel_calls=8).prefetch(2)
    name = tf1.data.make_one_shot_iterator(dataset).get_next().name
    own = imported(graph)
    for close in (lambda sess: sess.close(), lambda sess: None):
        sess = tf.Session(graph=own)
        assert [sess.run(name) for _ in range(3)] == [1, 2, 3]
        # One works ahead, one makes elements; those without work end by themselves.
        assert wait_for(lambda: data_threads() >= 2)
        close(sess)
        del sess
        gc.collect()
        assert wait_for(lambda: data_threads() == 0)


def test_closing_a_session_ends_a_step_that_waits(graph):
    queue = tf1.FIFOQueue(10, tf1.int64, [[]], name="queue")
    iterator = tf1.data.make_initializable_iterator(tf1.data.Dataset.range(3).map(lambda x: x + queue.dequeue()).prefetch(1))
    name = iterator.get_next().name
    sess = tf.Session(graph=imported(graph))
    sess.run(iterator.initializer.name)
    outcome = []

    def step():
        try:
            sess.run(name)
        except tf.errors.OpError as error:
            outcome.append(type(error).__name__)

    before = data_threads()
    thread = threading.Thread(target=step)
    thread.start()
    wait_for(lambda: data_threads() > before or outcome)
    sess.close()
    thread.join(10)
    assert outcome == ["CancelledError"]


def test_a_saved_graph_with_a_pipeline_loads(graph, tmp_path):
    iterator = tf1.data.make_initializable_iterator(tf1.data.Dataset.range(4).map(lambda x: x * 2).batch(2))
    tf1.identity(iterator.get_next(), name="x")
    builder = tf1.saved_model.Builder(str(tmp_path / "model"))
    with tf1.Session(graph=graph) as sess:
        builder.add_meta_graph_and_variables(sess, ["serve"], main_op=iterator.initializer)
    builder.save()
    with tf.Session(graph=tf.Graph()) as sess:
        tf.saved_model.load(sess, ["serve"], str(tmp_path / "model"))
        assert [sess.run("x:0").tolist() for _ in range(2)] == [[0, 2], [4, 6]]


FORKED = """
import os
import flowmill as tf

plain = tf.data.make_one_shot_iterator(tf.data.Dataset.range(500).batch(2)).get_next()
ahead = tf.data.make_one_shot_iterator(tf.data.Dataset.range(9).prefetch(2)).get_next()
with tf.Session() as sess:
    sess.run(ahead)
    # A process forks as soon as an element has come, many times.
    for k in range(100):
        assert sess.run(plain)[0] == 2 * k
        process = os.fork()
        if process == 0:
            code = 1
            try:
                assert sess.run(plain).tolist() == [2 * k + 2, 2 * k + 3]
                try:
                    sess.run(ahead)
                except tf.errors.FailedPreconditionError:
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert sess.run(ahead) == 1
"""


def test_a_forked_process_goes_on_without_threads():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=60)
