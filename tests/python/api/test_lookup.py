"""Tables, against TensorFlow's."""

import importlib

import numpy as np
import pytest
from compare import _described, same, same_error

import flowmill


def contrib(tf):
    return tf.lookup if tf is flowmill else importlib.import_module("tensorflow.python.ops.lookup_ops")


def words(tf, **options):
    return tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64), **options)


def of_file(tf, path, **options):
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(path, tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER, **options)


def static(tf, path):
    table = tf.lookup.StaticHashTable(words(tf), -1)
    return [table.lookup(tf.constant(["b", "z"])), table.size(), table.lookup(tf.SparseTensor([[0]], ["c"], [2]))]


def named(tf, path):
    table = tf.lookup.StaticHashTable(words(tf, name="kv"), -1, name="tab")
    return [table.lookup(tf.constant([["b"], ["z"]]), name="lk"), table.size(name="s"), table[tf.constant(["a"])]]


def from_lists(tf, path):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([10, 20], ["x", "y"], tf.int64, tf.string), "none")
    return table.lookup(tf.constant([20, 30], tf.int64))


def from_a_file(tf, path):
    table = tf.lookup.StaticHashTable(of_file(tf, path), -1)
    assert [t.op.name for t in tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)] == ["asset_path"]
    return table.lookup(tf.constant(["three", "zero"]))


def columns(tf, path):
    init = tf.lookup.TextFileInitializer(path + ".tsv", tf.int64, 1, tf.string, 0, delimiter=" ", vocab_size=2, name="tsv")
    return tf.lookup.StaticHashTable(init, "UNK").lookup(tf.constant([5, 6, 7], tf.int64))


def vocabulary(tf, path):
    table = tf.lookup.StaticVocabularyTable(of_file(tf, path), 3)
    assert table.name == "hash_table" and table.initializer.name == "text_file_init/InitializeTableFromTextFileV2"
    return [table.lookup(tf.constant(["two", "other", "word"])), table.size(), table.lookup(tf.SparseTensor([[0]], ["z"], [2]))]


def vocabulary_of_numbers(tf, path):
    init = tf.lookup.KeyValueTensorInitializer([10, 20], tf.constant([0, 1], tf.int64), tf.int64)
    table = tf.lookup.StaticVocabularyTable(init, 2, lookup_key_dtype=tf.int32)
    return table.lookup(tf.constant([10, 11, 12]))


def no_vocabulary(tf, path):
    table = tf.lookup.StaticVocabularyTable(None, 3)
    return [table.lookup(tf.constant(["a", "z"])), table.size()]


def indices(tf, path):
    made = contrib(tf)
    return [made.index_table_from_tensor(["a", "b"]).lookup(tf.constant(["b", "z"])),
            made.index_table_from_tensor(["a", "b"], num_oov_buckets=2).lookup(tf.constant(["b", "z"])),
            made.index_table_from_tensor([7, 8], dtype=tf.int32).lookup(tf.constant([8, 9], tf.int64)),
            made.index_table_from_file(path, num_oov_buckets=1).lookup(tf.constant(["two", "z"])),
            made.index_table_from_tensor(["a"], 5, hasher_spec=made.StrongHashSpec([1, 2])).lookup(tf.constant(["b", "z"]))]


def strings(tf, path):
    made = contrib(tf)
    return [made.index_to_string_table_from_tensor(["a", "b"]).lookup(tf.constant([1, 5], tf.int64)),
            made.index_to_string_table_from_file(path, default_value="U", vocab_size=3).lookup(tf.constant([2, 5], tf.int64))]


BUILDS = [static, named, from_lists, from_a_file, columns, vocabulary, vocabulary_of_numbers, no_vocabulary, indices, strings]


@pytest.mark.parametrize("build", BUILDS)
def test_tables_that_do_not_change(tf1, tmp_path, build):
    (tmp_path / "words").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "words.tsv").write_text("five 5\nsix 6\n")
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            fetches = build(tf, str(tmp_path / "words"))
            fetches = fetches if isinstance(fetches, list) else [fetches]
            shapes = [str(t.get_shape()) for t in fetches]
            initializer = tf.tables_initializer()
            assert initializer.name == "init_all_tables"
            if tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS):
                with pytest.raises(tf.errors.FailedPreconditionError, match="not initialized"):
                    sess.run(fetches)
            sess.run(initializer)
            found.append((_described(graph), shapes, sess.run(fetches)))
    assert found[1][:2] == found[0][:2]
    for mine, other in zip(found[1][2], found[0][2]):
        same(mine, other)


@pytest.mark.parametrize("dense", [False, True])
def test_tables_that_change(tf1, dense):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph, tf.Session() as sess:
            if dense:
                table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2)
            else:
                table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
            keys = tf.constant([3, 1, 2], tf.int64)
            insert = table.insert(keys, tf.constant([30, 10, 20], tf.int64))
            ask = [table.lookup(tf.constant([2, 9], tf.int64)), table.size()]
            remove, exported = table.remove(tf.constant([2, 9], tf.int64)), table.export()
            assert table.key_dtype == tf.int64 and table.value_dtype == tf.int64
            values = [sess.run(ask), sess.run(insert), sess.run(ask), sess.run(remove), sess.run(ask),
                      [a.tolist() for a in sess.run(exported)] if dense else sorted(zip(*map(list, sess.run(exported))))]
            found.append((_described(graph), [str(t.shape) for t in ask], values))
    assert found[1][:2] == found[0][:2]
    np.testing.assert_equal(found[1][2], found[0][2])


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.lookup.StaticHashTable(words(tf), -1).lookup(tf.constant([1])), "Dtype of argument `keys` must be"),
    (lambda tf: tf.lookup.StaticVocabularyTable(words(tf), 0), "`num_oov_buckets` must be > 0"),
    (lambda tf: tf.lookup.TextFileInitializer("f", tf.string, -3, tf.int64, -1), "`key_index` should be >= -2, received: -3."),
    (lambda tf: tf.lookup.TextFileInitializer("f", tf.string, -1, tf.int64, -1), "must be int64 if `key_index` is -1"),
    (lambda tf: tf.lookup.TextFileInitializer("f", tf.string, -2, tf.float32, -2), "string for `value_index` -2"),
    (lambda tf: tf.lookup.TextFileInitializer("", tf.string, -2, tf.int64, -1), "`filename` argument required"),
    (lambda tf: tf.lookup.TextFileInitializer("f", tf.string, -2, tf.int64, -1, vocab_size=0), "`vocab_size` should be > 0"),
    (lambda tf: contrib(tf).index_table_from_file(""), "`vocabulary_file` must be specified and must not be empty."),
    (lambda tf: contrib(tf).index_table_from_tensor(["a"], num_oov_buckets=-1), "must be greater or equal than 0"),
    (lambda tf: contrib(tf).index_table_from_tensor(["a"], dtype=tf.int32), "Invalid `dtype`"),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


def test_nothing_to_initialize(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            assert tf.tables_initializer(name="t").type == "NoOp" == tf.initialize_all_tables().type


@pytest.mark.parametrize("dense", [False, True])
def test_checkpoints_hold_tables_that_change(tf1, tmp_path, dense):
    """Each module writes a checkpoint that both read, with the same nodes."""
    def build(tf):
        if dense:
            table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.float32, -1.0, 0, -2, name="seen")
        else:
            table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="seen")
        keys = tf.constant([3, 1], tf.int64) if dense else tf.constant(["a", "b"])
        others = tf.constant([3, 7], tf.int64) if dense else tf.constant(["a", "z"])
        values = tf.constant([1, 2], tf.float32 if dense else tf.int64)
        return table.insert(keys, values), table.insert(others, values), table.lookup(tf.concat([keys, others], 0)), table.size(), tf.train.Saver()

    described = []
    for writer in (tf1, flowmill):
        path = str(tmp_path / writer.__name__ / "model")
        (tmp_path / writer.__name__).mkdir()
        with writer.Graph().as_default() as graph, writer.Session() as sess:
            insert, *_, saver = build(writer)
            sess.run(insert)
            saver.save(sess, path, write_meta_graph=False)
            described.append(_described(graph))
        for reader in (tf1, flowmill):
            with reader.Graph().as_default(), reader.Session() as sess:
                _, other, found, size, saver = build(reader)
                sess.run(other)
                saver.restore(sess, path)
                assert (sess.run(found).tolist(), sess.run(size)) == ([1, 2, 1, -1], 2)
    assert described[0] == described[1]


@pytest.mark.parametrize("key_type, key_shape, value_type, value_shape", [
    ("int64", (), "int64", ()), ("int32", (), "float32", ()), ("string", (), "int64", ()), ("string", (), "bool", ()),
    ("int64", (2,), "float64", (3,)), ("int32", (3,), "int32", ()), ("string", (2,), "float32", (2,)), ("int64", (1,), "int64", (1,)),
])
@pytest.mark.parametrize("num_buckets", [4, 16])
def test_buckets_of_dense_tables(tf1, key_type, key_shape, value_type, value_shape, num_buckets):
    """Exports hold every bucket in its place, whatever was inserted and removed before."""
    r = np.random.RandomState(7)

    def of(dtype, numbers):
        return numbers.astype(str).astype(object) if dtype == "string" else numbers.astype(dtype)

    steps = []
    seen = np.unique(r.randint(-10**6, 10**6, (40,) + key_shape), axis=0)
    for i in range(0, 40, 4):
        keys = seen[i:i + 4]
        steps.append(("insert", of(key_type, keys), of(value_type, r.randint(0, 100, (len(keys),) + value_shape))))
        if i % 3 == 0:
            steps.append(("remove", of(key_type, seen[[i, i + 1]]), None))
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            reserved = [of(key_type, np.full(key_shape, n)) for n in (-10**7, -10**7 - 1)]
            reserved = [key.tolist() for key in reserved]
            table = tf.lookup.experimental.DenseHashTable(
                tf.as_dtype(key_type), tf.as_dtype(value_type), of(value_type, np.zeros(value_shape)).tolist(), *reserved, initial_num_buckets=num_buckets)
            keys = tf.placeholder(key_type, (None,) + key_shape)
            values = tf.placeholder(value_type, (None,) + value_shape)
            ops, exported, size = {"insert": table.insert(keys, values), "remove": table.remove(keys)}, table.export(), table.size()
            results = []
            for op, some_keys, some_values in steps:
                sess.run(ops[op], {keys: some_keys} if some_values is None else {keys: some_keys, values: some_values})
                results.append([sess.run(size), *(a.tolist() for a in sess.run(exported))])
            found.append(results)
    assert found[1] == found[0]


@pytest.mark.parametrize("rows, match", [(3, "at least 4 and a power of 2, got: 3"), (8, None), (0, "at least 4 and a power of 2, got: 0")])
def test_imported_buckets(rows, match):
    """A table takes as many buckets as it is given, also full ones, in which each key that is not at its place is not found."""
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as sess:
        table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -2)
        keys, values = tf.placeholder(tf.int64, None), tf.placeholder(tf.int64, None)
        buckets = {keys: np.arange(1, rows + 1).reshape(rows, 1), values: np.arange(rows).reshape(rows, 1)}
        imported = tf.raw_ops.LookupTableImportV2(table_handle=table.resource_handle, keys=keys, values=values)
        if match:
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                sess.run(imported, buckets)
        else:
            sess.run(imported, buckets)
            lookups = table.lookup(tf.constant([1, 2, 8, 9, 100], tf.int64)), table.size()
            assert [a.tolist() for a in sess.run(lookups)] == [[0, 1, 7, -1, -1], 8]
            sess.run(table.insert(tf.constant([9], tf.int64), tf.constant([90], tf.int64)))
            assert [a.tolist() for a in sess.run(lookups)] == [[0, 1, 7, 90, -1], 9]


@pytest.mark.parametrize("attrs, match", [
    ({"initial_num_buckets": 12}, "power of 2, got: 12"), ({"initial_num_buckets": 2}, "power of 2, got: 2"), ({"max_load_factor": 1.0}, "max_load_factor"),
    ({"value_shape": [2, 2]}, "scalar or a vector"),
])
def test_wrong_dense_tables(tf1, attrs, match):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            handle = tf.raw_ops.MutableDenseHashTableV2(empty_key=0, deleted_key=-1, value_dtype=tf.float32, **attrs)
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                sess.run(tf.raw_ops.LookupTableSizeV2(table_handle=handle))


def test_a_default_value_that_is_a_matrix(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, [[-1, -1]])
            with pytest.raises(tf.errors.InvalidArgumentError, match="Default value must be a vector"):
                sess.run(table.size())


def test_a_table_that_is_not_saved():
    with flowmill.Graph().as_default():
        flowmill.lookup.experimental.MutableHashTable(flowmill.int64, flowmill.int64, -1, checkpoint=False)
        with pytest.raises(ValueError, match="No variables to save"):
            flowmill.train.Saver()


def test_ragged_keys(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            keys = tf.ragged.constant([["a", "x"], [], ["b"]])
            init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([5, 7], tf.int64))
            made = tf.lookup.StaticHashTable(init, -1).lookup(keys), tf.lookup.StaticVocabularyTable(
                tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3).lookup(keys)
            session.run(tf.tables_initializer())
            found.append([v.to_list() for v in session.run(made)])
    assert found[0] == found[1]


def test_savers_of_tables_alone(tf1, tmp_path):
    def table(tf):
        return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=-1, empty_key=0, deleted_key=-1, name="t")
    for tf in (tf1, flowmill):
        path = str(tmp_path / tf.__name__)
        with tf.Graph().as_default(), tf.Session() as session:
            saved = table(tf)
            saver = tf.train.Saver([saved])
            session.run(saved.insert(tf.constant([11, 12], tf.int64), tf.constant([1, 2], tf.int64)))
            saver.save(session, path)
        with tf.Graph().as_default(), tf.Session() as session:
            restored = table(tf)
            tf.train.Saver([restored]).restore(session, path)
            assert session.run(restored.lookup(tf.constant([11, 12, 13], tf.int64))).tolist() == [1, 2, -1]


def test_shape_of_values_of_keys_that_are_vectors(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=[-1, -2], empty_key=[0, 1], deleted_key=[-1, -1])
            assert table.lookup(tf.zeros([4, 2], tf.int64)).get_shape().as_list() == [4, 2]


def _table(tf, keys=(1, 2, 3), values=(5, 10, 15)):
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values, tf.int32, tf.int32), -1)


def _around(tf, x):
    """Returns the results of a lookup in tables that are made in a loop, in a branch, in a nested one and in a function."""
    found = [tf.map_fn(lambda y: _table(tf).lookup(y), x), tf.cond(tf.size(x) > 0, lambda: _table(tf).lookup(x), lambda: x)]
    found.append(tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.cond(i > 0, lambda: _table(tf).lookup(y), lambda: y)), [0, x])[1])
    found.append(tf.function(lambda y: _table(tf).lookup(y))(x))
    return found


@pytest.mark.parametrize("functional", [False, True])
def test_tables_in_control_flow_are_made_and_filled_outside(tf1, functional):
    if functional:
        flowmill.enable_control_flow_v2()
    try:
        with flowmill.Graph().as_default(), flowmill.Session() as session:
            found = _around(flowmill, flowmill.constant([2, 4, 1]))
            session.run(flowmill.tables_initializer())
            for values in session.run(found):
                assert values.tolist() == [10, -1, 5]
    finally:
        flowmill.disable_control_flow_v2()


def test_tables_in_loops_have_the_nodes_of_tensorflow(tf1):
    def build(tf):
        keys, values = tf.constant([1, 2, 3]), tf.constant([5, 10, 15])
        found = tf.map_fn(lambda y: _table(tf, keys, values).lookup(y), tf.constant([2, 4, 1]))
        with tf.control_dependencies([tf.tables_initializer()]):
            return tf.identity(found)

    nodes = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            build(tf)
            nodes.append(sorted((op.name, op.type) for op in graph.get_operations()))
    assert nodes[1] == nodes[0]
