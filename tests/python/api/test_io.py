"""Examples, files and encodings in graphs, against TensorFlow's."""

import re

import numpy as np
import pytest
from compare import compare, same_error
from oracles import example

import flowmill


def batch(tf1):
    return np.array([
        example(tf1, f=[1.0, 2.0], ids=[3, 4], name=[b"x"], ix=[5, 1], iy=[0, 2], val=[0.5, 1.5], seq=[1.0, 2.0, 3.0, 4.0]),
        example(tf1, f=[3.0, 4.0], ix=[2], iy=[1], val=[9.0])], object)


FEATURES = {
    "fixed": lambda tf: {"f": tf.FixedLenFeature([2], tf.float32), "name": tf.FixedLenFeature([], tf.string, default_value="none")},
    "variable": lambda tf: {"ids": tf.VarLenFeature(tf.int64), "f": tf.FixedLenFeature((2, 1), "float32"), "val": tf.io.VarLenFeature(tf.float32)},
    "sequence": lambda tf: {"seq": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
                            "ids": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True, default_value=-1)},
    "sparse": lambda tf: {"s": tf.SparseFeature("ix", "val", tf.float32, 100), "val": tf.VarLenFeature(tf.float32)},
    "sparse_in_two_dimensions": lambda tf: {"s": tf.SparseFeature(["ix", "iy"], "val", tf.float32, [100, 50], already_sorted=True)},
}


@pytest.mark.parametrize("name", [None, "p"])
@pytest.mark.parametrize("kind", FEATURES)
def test_examples_are_parsed(tf1, kind, name):
    compare(tf1, lambda tf: tf.parse_example(tf.placeholder(tf.string, [None], name="x"), FEATURES[kind](tf), name), {"x": batch(tf1)})


@pytest.mark.parametrize("name", [None, "p"])
@pytest.mark.parametrize("kind", FEATURES)
def test_one_example_is_parsed(tf1, kind, name):
    compare(tf1, lambda tf: tf.io.parse_single_example(tf.placeholder(tf.string, [], name="x"), FEATURES[kind](tf), name), {"x": batch(tf1)[0]})


def test_names_of_examples(tf1):
    compare(tf1, lambda tf: tf.parse_example(tf.placeholder(tf.string, [2], name="x"), FEATURES["fixed"](tf), example_names=["a", "b"]),
                  {"x": batch(tf1)})


def test_sequence_examples(tf1):
    train = tf1.train
    feature = train.Feature(int64_list=train.Int64List(value=[7]))
    floats = train.FeatureList(feature=[train.Feature(float_list=train.FloatList(value=v)) for v in ([1.0, 2.0], [3.0])])
    ints = train.FeatureList(feature=[feature, feature])
    serialized = train.SequenceExample(context=train.Features(feature={"c": feature}),
                                       feature_lists=train.FeatureLists(feature_list={"v": floats, "s": ints})).SerializeToString()

    def build(tf, function, shape):
        return function(tf.placeholder(tf.string, shape, name="x"), {"c": tf.FixedLenFeature([], tf.int64), "d": tf.VarLenFeature(tf.string)},
                        {"s": tf.FixedLenSequenceFeature([], tf.int64), "v": tf.VarLenFeature(tf.float32)})

    compare(tf1, lambda tf: build(tf, tf.parse_single_sequence_example, []), {"x": serialized})
    compare(tf1, lambda tf: build(tf, tf.io.parse_sequence_example, [None]), {"x": np.array([serialized, serialized], object)})


def sequences(tf1):
    """Three messages: both lists and the context are whole, partly there, and empty; and one whose context is too short."""
    train = tf1.train

    def feature(values):
        values = list(values)
        if values and isinstance(values[0], bytes):
            return train.Feature(bytes_list=train.BytesList(value=values))
        if values and isinstance(values[0], float):
            return train.Feature(float_list=train.FloatList(value=values))
        return train.Feature(int64_list=train.Int64List(value=values)) if values else train.Feature()

    def message(context, lists):
        features = train.FeatureLists(feature_list={k: train.FeatureList(feature=[feature(v) for v in steps]) for k, steps in lists.items()})
        return train.SequenceExample(context=train.Features(feature={k: feature(v) for k, v in context.items()}), feature_lists=features).SerializeToString()

    return [
        message({"c": [7, 8], "d": [b"x", b"yz"]}, {"s": [[1, 2], [3, 4], [5, 6]], "v": [[1.0, 2.0], [], [3.0]], "t": [[b"a"], [b"b"]]}),
        message({"c": [9, 10]}, {"s": [], "v": [[4.5]]}),
        message({}, {"s": [[1, 2]], "t": [[], [b"c", b"d"]]}),
        message({"c": [1]}, {"s": [[1, 2]]}),
    ]


LISTS = {"context_sparse_types": ["string"], "context_dense_shapes": [[2]], "feature_list_sparse_types": ["float", "string"],
         "feature_list_dense_types": ["int64"], "feature_list_dense_shapes": [[2]]}


def sequences_v1(tf, serialized, names=(), lackable=("s",), default=(-1, -2)):
    return tf.raw_ops.ParseSequenceExample(
        serialized=serialized, debug_name=tf.constant(names, tf.string, [len(names)]), context_dense_defaults=[tf.constant(default, tf.int64)],
        feature_list_dense_missing_assumed_empty=lackable, context_sparse_keys=["d"], context_dense_keys=["c"], feature_list_sparse_keys=["v", "t"],
        feature_list_dense_keys=["s"], Ncontext_sparse=1, Ncontext_dense=1, Nfeature_list_sparse=2, Nfeature_list_dense=1,
        **{k: [tf.as_dtype(t) for t in v] if k.endswith("types") else v for k, v in LISTS.items()})


def single_sequence(tf, serialized, names=(), lackable=("s",), default=(-1, -2)):
    return tf.raw_ops.ParseSingleSequenceExample(
        serialized=serialized, feature_list_dense_missing_assumed_empty=tf.constant(lackable, tf.string, [len(lackable)]), context_sparse_keys=["d"],
        context_dense_keys=["c"], feature_list_sparse_keys=["v", "t"], feature_list_dense_keys=["s"],
        context_dense_defaults=[tf.constant(default, tf.int64)], debug_name=tf.constant(names[0] if names else ""),
        **{k: [tf.as_dtype(t) for t in v] if k.endswith("types") else v for k, v in LISTS.items()})


def flat(outputs):
    return [t for part in outputs for t in (part if isinstance(part, (list, tuple)) else [part])]


@pytest.mark.parametrize("messages", [[0], [0, 1], [2, 1, 0], []])
def test_sequence_examples_of_the_first_op(tf1, messages):
    serialized = np.array([sequences(tf1)[i] for i in messages], object)
    compare(tf1, lambda tf: flat(sequences_v1(tf, tf.placeholder(tf.string, [None], name="x"))), {"x": serialized})


@pytest.mark.parametrize("message", [0, 1, 2])
def test_single_sequence_examples(tf1, message):
    compare(tf1, lambda tf: flat(single_sequence(tf, tf.placeholder(tf.string, [], name="x"))), {"x": sequences(tf1)[message]})


@pytest.mark.parametrize("message, arguments, words", [
    (3, {}, [r"Number of int64 values != expected|Unexpected number of elements in example m"]),
    (2, {"default": ()}, ["[Ff]eature:? '?c'?"]),
    ("", {"lackable": ()}, ["Name: m, Feature list 's' is required but could not be found"]),
    ("garbage", {}, ["[Pp]arse"]),
    (0, {"default": (1, 2, 3)}, ["shape"]),
])
@pytest.mark.parametrize("op", [sequences_v1, single_sequence])
def test_wrong_sequence_examples(tf1, op, message, arguments, words):
    """The codes are TensorFlow's, and the messages name what is wrong."""
    serialized = sequences(tf1)[message] if isinstance(message, int) else message
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError) as raised:
            sess.run(flat(op(tf, serialized if op is single_sequence else [serialized], ["m"], **arguments)))
        for word in words:
            assert re.search(word, str(raised.value)), (tf.__name__, str(raised.value))


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.parse_example(["x"], {}), "Argument `features` cannot be None or falsy"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.float32}), "Unsupported DType"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenFeature([None], tf.float32)}), "Consider using FixedLenSequenceFeature"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenFeature([2, None], tf.float32)}), "need to be known"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenFeature(None, tf.float32)}), "Missing shape for feature a"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.VarLenFeature(None)}), "Missing type for feature a"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenSequenceFeature([], tf.float32)}), "requires allow_missing to be True"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.FixedLenFeature([2], tf.float32, [1.0, 2.0, 3.0])}), "Cannot reshape a tensor with 3 elements"),
    (lambda tf: tf.parse_single_example(["x"], {"a": tf.FixedLenFeature([], tf.float32)}), "Input serialized must be a scalar"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.SparseFeature("i", "v", tf.float32, 3), "v": tf.VarLenFeature(tf.int64)}), "Conflicting type"),
    (lambda tf: tf.parse_single_sequence_example("x"), "at least one should have values"),
    (lambda tf: tf.decode_csv(["1"], [[1], [2]], select_cols=[1, 0]), "select_cols is not strictly increasing."),
    (lambda tf: tf.decode_csv(["1"], [[1]], select_cols=[0, 1]), "Length of select_cols and record_defaults do not match."),
    (lambda tf: tf.decode_raw(), None),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


CASES = {
    "csv": lambda tf: [tf.decode_csv(["1,2.5,x", "3,,\"y,z\""], [[1], [2.0], ["d"]]),
                       tf.io.decode_csv(tf.constant("1;2"), [tf.constant([], tf.int32)], field_delim=";", select_cols=[1], name="c")],
    "raw": lambda tf: [tf.decode_raw(["ab"], tf.uint8), tf.decode_raw(bytes=tf.constant("ab"), out_type=tf.int16, little_endian=False)],
    "base64": lambda tf: [tf.encode_base64("ab"), tf.io.encode_base64(["ab?"], pad=True, name="e"), tf.decode_base64("YWI")],
    "compressed": lambda tf: tf.decode_compressed(tf.constant("ab")),
    "json": lambda tf: tf.decode_json_example('{"features": {}}'),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_tensorflows(tf1, name):
    compare(tf1, CASES[name])


def test_tensors_as_strings(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            written = tf.serialize_tensor(tf.constant([[1.5, 2.5]]))
            read = tf.io.parse_tensor(written, tf.float32)
            assert read.shape.rank is None and read.dtype == tf.float32
            np.testing.assert_array_equal(sess.run(read), [[1.5, 2.5]])
            assert tf.parse_tensor("", tf.int32, name="n").op.name == "n"


def test_files_in_graphs(tf1, tmp_path):
    for tf in (tf1, flowmill):
        path = str(tmp_path / tf.__name__ / "a.txt")
        with tf.Graph().as_default(), tf.Session() as sess:
            write = tf.write_file(path, "text")
            assert write.type == "WriteFile"
            sess.run(write)
            assert sess.run(tf.read_file(path)) == b"text"
            assert sess.run(tf.io.matching_files(str(tmp_path / tf.__name__ / "*"))).tolist() == [path.encode()]
            with pytest.raises(tf.errors.NotFoundError):
                sess.run(tf.io.read_file(path + "x"))


def test_outputs_that_are_several_lists(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as sess:
            found = tf.raw_ops.ParseExampleV2(
                serialized=batch(tf1), names=np.array([], object), sparse_keys=["ids", "ix"], dense_keys=["f"], ragged_keys=np.array([], object),
                dense_defaults=[tf.constant([], tf.float32)], num_sparse=2, sparse_types=[tf.int64, tf.int64], ragged_value_types=[],
                ragged_split_types=[], dense_shapes=[[2]])
            assert [len(part) for part in found] == [2, 2, 2, 1, 0, 0]
            assert sess.run(found.sparse_values[1]).tolist() == [5, 1, 2]
            assert sess.run(found.dense_values[0]).tolist() == [[1, 2], [3, 4]]
