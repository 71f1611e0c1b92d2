"""Ragged features of examples and of sequences: nodes, shapes, values and errors are TensorFlow's."""

import numpy as np
import pytest
from compare import compare, same_error
from oracles import example, feature


def message(tf1, context, lists=None):
    """An example, or with lists a sequence."""
    if lists is None:
        return example(tf1, **context)
    features = tf1.train.Features(feature={key: feature(tf1, values) for key, values in context.items()})
    made = {key: tf1.train.FeatureList(feature=[feature(tf1, values) for values in steps]) for key, steps in lists.items()}
    return tf1.train.SequenceExample(context=features, feature_lists=tf1.train.FeatureLists(feature_list=made)).SerializeToString()


def parts(value):
    """The tensors that a feature consists of."""
    if hasattr(value, "nested_row_splits"):
        return [value.flat_values, *value.nested_row_splits]
    return [value.indices, value.values, value.dense_shape] if hasattr(value, "dense_shape") else [value]


def all_parts(*found):
    return [parts(features[key]) for features in found for key in sorted(features)]


# Six values in rows of 2, 0, 3 and 1, by each kind of partition; rows two by two.
EXAMPLE = {
    "v": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "words": [b"a", b"bc"],
    "RowSplits": [0, 2, 2, 5, 6], "RowLengths": [2, 0, 3, 1], "RowStarts": [0, 2, 2, 5], "RowLimits": [2, 2, 5, 6], "ValueRowIds": [0, 0, 2, 2, 2, 3],
    "pairs": [0, 2, 4]}
SHORT = {
    "v": [7.0, 8.0, 9.0, 10.0], "words": [], "RowSplits": [0, 3, 4], "RowLengths": [3, 1], "RowStarts": [0, 3], "RowLimits": [3, 4],
    "ValueRowIds": [0, 0, 0, 1], "pairs": [0, 2]}
KINDS = ["RowSplits", "RowLengths", "RowStarts", "RowLimits", "ValueRowIds"]


def features(tf, kind):
    of = tf.io.RaggedFeature
    found = {"r": of(tf.float32, "v", [getattr(of, kind)(kind)], tf.int64, validate=True), "words": of(tf.string), "v": of(tf.float32, row_splits_dtype=tf.int64)}
    if kind != "ValueRowIds":
        found["deep"] = of(tf.float32, "v", [of.RowSplits("pairs"), getattr(of, kind)(kind)], tf.int64)
    found["uniform"] = of(tf.float32, "v", [of.UniformRowLength(2)], tf.int64)
    found["uniform_twice"] = of(tf.float32, "v", (of.UniformRowLength(1), of.UniformRowLength(2)), tf.int64)
    if kind == "RowLengths":
        found["uniform_rows"] = of(tf.float32, "v", [of.UniformRowLength(2), of.RowLengths(kind)], tf.int64)
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_single", [False, True], ids=["batch", "single"])
def test_examples(tf1, kind, is_single):
    one = message(tf1, EXAMPLE)
    value = one if is_single else np.array([one, message(tf1, SHORT), message(tf1, {})], object)

    def build(tf):
        serialized = tf.placeholder(tf.string, [] if is_single else [None], name="x")
        return all_parts((tf.parse_single_example if is_single else tf.parse_example)(serialized, features(tf, kind)))
    compare(tf1, build, {"x": value}, nodes=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("is_single", [False, True], ids=["batch", "single"])
def test_sequences(tf1, kind, is_single):
    steps = {key: [EXAMPLE[key], SHORT[key], []] for key in EXAMPLE}
    one = message(tf1, {"v": [1.0], "words": [b"x", b""]}, steps)
    value = one if is_single else np.array([one, message(tf1, {}, {}), message(tf1, {"words": [b"y"]}, {k: v[1:2] for k, v in steps.items()})], object)

    def build(tf):
        serialized = tf.placeholder(tf.string, [] if is_single else [None], name="x")
        parse = tf.parse_single_sequence_example if is_single else tf.io.parse_sequence_example
        context = {"v": tf.io.RaggedFeature(tf.float32), "words": tf.io.RaggedFeature(tf.string, row_splits_dtype=tf.int64)}
        return all_parts(*parse(serialized, context, features(tf, kind)))
    compare(tf1, build, {"x": value}, nodes=False)


STEPS = {"v": [[1.0, 2.0], [3.0]], "s": [[1], [2]], "w": [[b"a"], [b"b"]], "m": [[1, 2], [3, 4]]}
FEWER = {"v": [[]], "s": [[5]], "w": [], "m": [[5, 6]]}


@pytest.mark.parametrize("is_single", [False, True], ids=["batch", "single"])
def test_lists_of_features(tf1, is_single):
    one = message(tf1, {"c": [7], "d": [b"q"]}, STEPS)
    value = one if is_single else np.array([one, message(tf1, {"d": []}, FEWER)], object)

    def build(tf):
        serialized = tf.placeholder(tf.string, [] if is_single else [None], name="x")
        parse = tf.parse_single_sequence_example if is_single else tf.io.parse_sequence_example
        return all_parts(*parse(
            serialized, {"c": tf.FixedLenFeature([], tf.int64, -1), "d": tf.VarLenFeature(tf.string), "none": tf.FixedLenFeature([2], tf.float32, [1, 2])},
            {"s": tf.FixedLenSequenceFeature([], tf.int64), "m": tf.FixedLenSequenceFeature([2], tf.int64), "w": tf.VarLenFeature(tf.string),
             "v": tf.VarLenFeature(tf.float32), "lacks": tf.FixedLenSequenceFeature([3], tf.string, allow_missing=True)}))
    compare(tf1, build, {"x": value}, nodes=False)


@pytest.mark.parametrize("lists, match", [
    ({"s": [[1, 2]]}, "Key: s, Index: 0.  Number of values != expected.  values size: 2 but output shape: []"),
    ({"s": [[1], []]}, "Number of values != expected.  values size: 0 but output shape: []"),
    ({"s": [[1.0]]}, "Feature list: s, Index: 0.  Data types don't match. Expected type: int64"),
    ({}, "Feature list 's' is required but could not be found."),
])
def test_what_sequences_must_hold(tf1, lists, match):
    value = message(tf1, {}, lists)
    import flowmill

    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            _, found = tf.parse_single_sequence_example(value, None, {"s": tf.FixedLenSequenceFeature([], tf.int64)})
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(found["s"])
            assert match in str(raised.value)


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.io.RaggedFeature(tf.int32), "must be int64, float32, or bytes"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, ""), "`value_key` must not be empty"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, 3), "`value_key` must be a string"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.float32), "must be int32 or int64"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, partitions=3), "must be a list or tuple"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, partitions=["x"]), "partition"),
    (lambda tf: tf.io.RaggedFeature(tf.int64, validate=1), "must be a bool"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.io.RaggedFeature(tf.int64, "v"), "b": tf.io.RaggedFeature(tf.float32, "v")}), "Conflicting type"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.io.RaggedFeature(tf.int64, "v"), "b": tf.io.RaggedFeature(tf.int64, "v", row_splits_dtype=tf.int64)}),
     "Conflicting partition type"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.io.RaggedFeature(tf.int64, "v"), "v": tf.VarLenFeature(tf.int64)}), "must not intersect"),
    (lambda tf: tf.parse_example(["x"], {"a": tf.io.RaggedFeature(tf.int64, "v"), "v": tf.FixedLenFeature([], tf.int64)}), "must not intersect"),
])
def test_errors(tf1, build, match):
    same_error(tf1, build, match)


def test_partitions_that_do_not_fit(tf1):
    import flowmill

    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            wrong = message(tf1, {"v": [1.0, 2.0], "n": [1]})
            found = tf.parse_example([wrong], {"r": tf.io.RaggedFeature(tf.float32, "v", [tf.io.RaggedFeature.RowLengths("n")], validate=True)})
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(found["r"])
