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
                      len(exported) if dense else sorted(zip(*map(list, sess.run(exported))))]
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
    """Each module writes a checkpoint that both read, with the same nodes; but TensorFlow reads dense tables by the places that its keys have."""
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
        for reader in (flowmill,) if dense and writer is flowmill else (tf1, flowmill):
            with reader.Graph().as_default(), reader.Session() as sess:
                _, other, found, size, saver = build(reader)
                sess.run(other)
                saver.restore(sess, path)
                assert (sess.run(found).tolist(), sess.run(size)) == ([1, 2, 1, -1], 2)
    assert dense or described[0] == described[1]


def test_a_table_that_is_not_saved():
    with flowmill.Graph().as_default():
        flowmill.lookup.experimental.MutableHashTable(flowmill.int64, flowmill.int64, -1, checkpoint=False)
        with pytest.raises(ValueError, match="No variables to save"):
            flowmill.train.Saver()
