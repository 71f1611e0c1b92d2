"""Functions of strings, against TensorFlow's."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

CASES = {
    "as_string": lambda tf: [tf.as_string(tf.constant([1.5, -2.25])), tf.as_string(tf.constant([1.5]), precision=3),
                             tf.strings.as_string(tf.constant([12345678.0]), scientific=True), tf.as_string(tf.constant([1, -20]), width=5, fill="0"),
                             tf.as_string(tf.constant([True, False])), tf.as_string(tf.constant([0.1], tf.float64), shortest=True)],
    "join": lambda tf: [tf.string_join([["a", "b"], "c"], "-"), tf.strings.join([tf.constant("a"), tf.constant("b")], name="j")],
    "string_split": lambda tf: [tf.string_split(["a b", "c", ""]), tf.string_split(["a|b||c"], "|", skip_empty=False, name="x"),
                                tf.string_split(["ab"], delimiter="")],
    "split": lambda tf: [tf.strings.split(["a  b ", "c"]), tf.strings.split(["a,b,c", ",d"], sep=",", maxsplit=1), tf.strings.split(source=["x y"])],
    "to_number": lambda tf: [tf.string_to_number(["1", "-2.5e3"]), tf.strings.to_number(tf.constant("2"), tf.int64, name="n"),
                             tf.strings.to_number(input="3", out_type=tf.float64)],
    "substr": lambda tf: [tf.substr("abc", 1, 2), tf.strings.substr(tf.constant(["äbc"]), 1, 2, unit="UTF8_CHAR", name="s"),
                          tf.strings.substr(["hello", "world"], [-3, 0], [2, 1])],
    "regex": lambda tf: [tf.regex_replace(tf.constant("abcab"), "a(b)", r"\1x"), tf.regex_replace("aa", tf.constant("a"), "b", replace_global=False),
                         tf.strings.regex_full_match(["aab", "b"], "a*"), tf.strings.regex_full_match("a", tf.constant("."))],
    "cases": lambda tf: [tf.strings.length(["a", "ä"]), tf.strings.length("ä", unit="UTF8_CHAR"), tf.strings.lower("ABC"),
                         tf.strings.upper("äb", encoding="utf-8"), tf.strings.strip(" a\n"), tf.string_strip([" a", "b "])],
    "hashes": lambda tf: [tf.string_to_hash_bucket(["a", "b"], 10), tf.string_to_hash_bucket_fast(["a", "hello"], 1000),
                          tf.string_to_hash_bucket_strong("a", 1000, [1, 2]), tf.strings.to_hash_bucket(input="a", num_buckets=5)],
    "reduce_join": lambda tf: [tf.reduce_join([["a", "b"]]), tf.reduce_join([["a", "b"], ["c", "d"]], axis=0, separator="-", keep_dims=True),
                               tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=[1], name="r")],
    "format": lambda tf: [tf.strings.format("a {} b", tf.constant([1, 2])), 
                          tf.strings.format("{}|{}", [tf.constant([[1.5, 2], [3, 4]]), tf.constant(3)]),
                          tf.strings.format("a %t", tf.range(10), placeholder="%t", summarize=2)],
    "unicode": lambda tf: [tf.strings.unicode_transcode("aä", "UTF-8", "UTF-16-BE"), tf.strings.unicode_script([97, 1072])],
    "segments": lambda tf: [tf.strings.unsorted_segment_join(["a", "b", "c"], [0, 1, 0], 2, separator=":")],
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_as_tensorflows(tf1, name):
    compare(tf1, CASES[name])


def test_reduce_join_of_an_unknown_shape(tf1):
    compare(tf1, lambda tf: tf.reduce_join(tf.placeholder(tf.string, name="x")), {"x": np.array([["a", "b"]], object)})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.strings.format("{}", []), "expects 1 tensors"),
    (lambda tf: tf.strings.substr("a", 1, 2, unit="LINE"), "LINE"),
    (lambda tf: tf.string_to_number(["1"], out_type=tf.string), None),
    (lambda tf: tf.strings.lower(1), None),
    (lambda tf: tf.strings.split(["a"], source=["b"]), "Cannot specify both"),
])
def test_wrong_arguments(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.parametrize("result_type", ["SparseTensor", "RaggedTensor"])
@pytest.mark.parametrize("source", [
    [["a  b ", ""], [" c", "d e f"]], [[["a,b"], ["c"]]], np.zeros([2, 0], object), np.zeros([0, 2], object),
    lambda tf: tf.ragged.constant([["a b", "c"], [], [" d  e"]]), lambda tf: tf.ragged.constant([[["a b"], []], [], [["c", "", "d,e,f"]]]),
    lambda tf: tf.RaggedTensor.from_row_splits([["a b", "c"], ["d", "e f"]], [0, 0, 2]),
])
@pytest.mark.parametrize("arguments", [{}, {"sep": ","}, {"sep": ",", "maxsplit": 1}])
def test_strings_of_many_dimensions_are_split(tf1, source, arguments, result_type):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            strings = source(tf) if callable(source) else tf.constant(source, tf.string)
            parts = tf.strings.split(strings, result_type=result_type, **arguments)
            is_sparse = result_type == "SparseTensor"
            found.append(session.run([parts.indices, parts.values, parts.dense_shape] if is_sparse else [parts.flat_values, *parts.nested_row_splits]))
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
