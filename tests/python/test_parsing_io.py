"""Serialised examples and tensors, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same, example


def batch(tf1):
    return [
        example(tf1, ids=[1, 2, 3], weight=[0.5], name=[b"a"], words=[b"x", b"yy"], pair=[1.0, 2.0], long=[1.0, 2.0, 3.0, 4.0], other=[9]),
        example(tf1, weight=[-1.0], words=[], pair=[3.0, 4.0], long=[5.0, 6.0]),
        example(tf1, ids=[-(2**62)], weight=[2.5], name=[b"\xff"], words=[b""], pair=[5.0, 6.0]),
        example(tf1, pair=[7.0, 8.0], weight=[0.0], ids=list(range(200))),
    ]


def features(tf1):
    io = tf1.io
    return {
        "ids": io.VarLenFeature(tf1.int64), "words": io.VarLenFeature(tf1.string), "weight": io.FixedLenFeature([], tf1.float32),
        "name": io.FixedLenFeature([1], tf1.string, default_value=b"none"), "pair": io.FixedLenFeature([2, 1], tf1.float32),
        "long": io.FixedLenSequenceFeature([2], tf1.float32, allow_missing=True, default_value=-1.0),
        "absent": io.FixedLenFeature([2], tf1.int64, default_value=[7, 8]),
    }


def flat(parsed):
    """The tensors of a dictionary of features, dense, sparse and ragged."""
    out = []
    for key in sorted(parsed):
        value = parsed[key]
        if hasattr(value, "dense_shape"):
            out += [value.indices, value.values, value.dense_shape]
        elif hasattr(value, "row_splits"):
            out += [value.values, value.row_splits]
        else:
            out.append(value)
    return out


def test_a_batch_of_examples(tf1):
    serialized = batch(tf1)
    assert assert_same(tf1, lambda m: flat(m.io.parse_example(m.constant(serialized), features(m)))) is None
    # By the first version of the op too.
    def first(m):
        x = m.placeholder(m.string, [None], name="x")
        return m.raw_ops.ParseExample(
            serialized=x, names=[], sparse_keys=["ids", "words"], dense_keys=["weight", "name"], dense_defaults=[np.float32([]), [b"none"]],
            sparse_types=[m.int64, m.string], dense_shapes=[[], [1]])
    def tensors(m):
        made = first(m)
        return [*made.sparse_indices, *made.sparse_values, *made.sparse_shapes, *made.dense_values]
    for n in (4, 1, 0):
        assert assert_same(tf1, tensors, {"x:0": np.array(serialized[:n], object)}) is None


def test_many_examples_by_several_threads(tf1):
    serialized = batch(tf1) * 100
    assert assert_same(tf1, lambda m: flat(m.io.parse_example(m.constant(serialized), features(m)))) is None


def test_ragged_features(tf1):
    serialized = batch(tf1)
    ragged = lambda m: {
        "ids": m.io.RaggedFeature(m.int64, row_splits_dtype=m.int64), "words": m.io.RaggedFeature(m.string), "long": m.io.RaggedFeature(m.float32)}
    assert assert_same(tf1, lambda m: flat(m.io.parse_example(m.constant(serialized), ragged(m)))) is None
    assert assert_same(tf1, lambda m: flat(m.io.parse_example(m.constant(serialized[:0], m.string), ragged(m)))) is None


def test_a_single_example(tf1):
    for serialized in batch(tf1):
        assert assert_same(tf1, lambda m: flat(m.io.parse_single_example(m.constant(serialized), features(m)))) is None

    def second(m):
        made = m.raw_ops.ParseExampleV2(
            serialized=m.constant(batch(tf1)[0]), names=[], sparse_keys=["ids"], dense_keys=["weight"], ragged_keys=["long", "words"],
            dense_defaults=[np.float32([])], num_sparse=1, sparse_types=[m.int64], ragged_value_types=[m.float32, m.string],
            ragged_split_types=[m.int32, m.int64], dense_shapes=[[]])
        return [*made.sparse_indices, *made.sparse_values, *made.sparse_shapes, *made.dense_values, *made.ragged_values, *made.ragged_row_splits]
    assert assert_same(tf1, second) is None


@pytest.mark.parametrize("spoil", [
    lambda b: [b[0], b"\xff\xff"], lambda b: [b[0][:-3]], lambda b: [b""], lambda b: [b[0], b[1][:10]],
    lambda b: [b[0].replace(b"weight", b"Weight")],
])
def test_examples_that_do_not_fit(tf1, spoil):
    serialized = spoil(batch(tf1))
    assert_same(tf1, lambda m: flat(m.io.parse_example(m.constant(serialized), features(m))))


@pytest.mark.parametrize("name, kind, shape", [
    ("ids", "float32", None), ("weight", "int64", []), ("pair", "float32", [3]), ("words", "string", [1]), ("missing", "string", []),
    ("long", "float32", [3]),
])
def test_features_that_do_not_fit(tf1, name, kind, shape):
    serialized = batch(tf1)

    def build(m):
        dtype = getattr(m, kind)
        feature = m.io.VarLenFeature(dtype) if shape is None else m.io.FixedLenFeature(shape, dtype)
        return flat(m.io.parse_example(m.constant(serialized), {name: feature}, example_names=[b"one", b"two", b"three", b"four"]))
    assert assert_same(tf1, build) == "InvalidArgumentError"


def test_the_wire_forms_that_protobuf_allows(tf1):
    """Lists that are not packed, in several pieces, and keys that come twice."""
    def varint(n):
        out = b""
        while n >= 128:
            out, n = out + bytes([n & 127 | 128]), n >> 7
        return out + bytes([n])
    field = lambda number, data: varint(number << 3 | 2) + varint(len(data)) + data
    entry = lambda key, feature: field(1, field(1, key) + field(2, feature))
    floats = field(2, b"\x0d" + np.float32(1.5).tobytes() + b"\x0d" + np.float32(2.5).tobytes())
    ints = field(3, b"\x08\x05\x08" + varint(2**64 - 1))
    message = field(1, entry(b"f", floats) + entry(b"i", ints) + entry(b"s", field(1, field(1, b"old"))) + entry(b"s", field(1, field(1, b"new"))))
    unknown = varint(15 << 3) + b"\x07"

    def build(m):
        io = m.io
        kinds = {"f": io.VarLenFeature(m.float32), "i": io.VarLenFeature(m.int64), "s": io.FixedLenFeature([], m.string)}
        return flat(io.parse_example(m.constant([message, message + unknown]), kinds))
    assert assert_same(tf1, build) is None


@pytest.mark.parametrize("value", [np.float32([[1, 2], [3, 4]]), np.int64(7), np.array([b"a", b"\xff"], object), np.zeros([0, 3], np.float16), np.array([True, False])])
def test_tensors(tf1, value):
    assert assert_same(tf1, lambda m: [m.io.serialize_tensor(m.constant(value)), m.io.parse_tensor(m.io.serialize_tensor(m.constant(value)), m.as_dtype(value.dtype if value.dtype != object else "string"))]) is None
    assert assert_same(tf1, lambda m: [m.io.parse_tensor(m.io.serialize_tensor(m.constant(value)), m.uint32)]) == "InvalidArgumentError"
    assert assert_same(tf1, lambda m: [m.io.parse_tensor(m.constant(b"\xff\xff"), m.uint32)]) == "InvalidArgumentError"
