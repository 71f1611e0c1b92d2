"""Messages of protocol buffers taken apart and made, as TensorFlow does it."""

import numpy as np
import pytest

import flowmill
from compare import compare, same_error
from oracles import words_of


def _set(tf1):
    """A set of descriptors with a field of every type: single, repeated and packed, with defaults, an extension."""
    from google.protobuf import descriptor_pb2

    kinds = descriptor_pb2.FieldDescriptorProto.Type
    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="test", syntax="proto2")
    file.enum_type.add(name="Color").value.add(name="RED", number=3)
    inner = file.message_type.add(name="Inner")
    inner.field.add(name="x", number=1, type=kinds.Value("TYPE_INT32"), label=1)
    message = file.message_type.add(name="All")
    message.extension_range.add(start=1000, end=2000)
    number = 0
    for kind in _KINDS:
        for label, suffix in ((1, ""), (3, "s"), (3, "_packed")):
            if suffix == "_packed" and kind in ("string", "bytes", "message", "group"):
                continue
            number += 1
            field = message.field.add(name=kind + suffix, number=number, type=kinds.Value(f"TYPE_{kind.upper()}"), label=label)
            if kind == "enum":
                field.type_name = ".test.Color"
            if kind == "message":
                field.type_name = ".test.Inner"
            if kind == "group":
                group = message.nested_type.add(name=f"Group{suffix}")
                group.field.add(name="y", number=1, type=kinds.Value("TYPE_INT32"), label=1)
                field.type_name, field.name = f".test.All.Group{suffix}", f"group{suffix}"
            if suffix == "_packed":
                field.options.packed = True
            if not suffix and kind in _DEFAULTS:
                field.default_value = _DEFAULTS[kind]
    file.extension.add(name="more", number=1000, type=kinds.Value("TYPE_INT64"), label=1, extendee=".test.All")
    return descriptor_pb2.FileDescriptorSet(file=[file])


_KINDS = {
    "double": "float64", "float": "float32", "int32": "int32", "int64": "int64", "uint32": "uint32", "uint64": "uint64", "sint32": "int32",
    "sint64": "int64", "fixed32": "uint32", "fixed64": "uint64", "sfixed32": "int32", "sfixed64": "int64", "bool": "bool", "enum": "int32",
    "string": "string", "bytes": "string", "message": "string", "group": "string",
}
_WIDER = {"float": "float64", "int32": "int64", "uint32": "uint64", "sint32": "int64", "fixed32": "uint64", "sfixed32": "int64"}
_DEFAULTS = {"double": "1.5", "float": "-2.5", "int32": "-7", "int64": "-8", "bool": "true", "string": "hello", "bytes": "bytes"}
_NUMBERS = [0, 1, 5, 127, 128, 300, 2 ** 31 - 1]


def _values(kind, dtype):
    if dtype == "string":
        return [b"\x08\x01", b"\x08\x96\x01", b""] if kind in ("message", "group") else [b"a", b"", b"\xc3\xa4"]
    if dtype == "bool":
        return [True, False, True]
    if dtype.startswith("float"):
        return [1.5, -0.25, 3e10]
    return (_NUMBERS + [-1, -300, -2 ** 31] if not dtype.startswith("u") else [*_NUMBERS, 2 ** 32 - 1])[::2]


def _names(kind):
    return [kind, kind + "s"] + ([] if kind in ("string", "bytes", "message", "group") else [kind + "_packed"])


@pytest.mark.parametrize(("kind", "wider"), [(kind, False) for kind in _KINDS] + [(kind, True) for kind in _WIDER])
def test_every_type(tf1, kind, wider):
    source = b"bytes://" + _set(tf1).SerializeToString()
    dtype = _WIDER[kind] if wider else _KINDS[kind]
    names, values = _names(kind), _values(kind, dtype)
    if wider and kind == "int32":
        # Packed ones lose their sign in TensorFlow.
        values = [abs(value) for value in values]

    def build(tf):
        fields = [tf.constant([values, values[::-1]], getattr(tf, dtype)) for _ in names]
        sizes = np.array([[1] + [len(values)] * (len(names) - 1), [0] * len(names)], np.int32)
        out_of_order = tf.io.encode_proto(sizes, fields[::-1], names[::-1], "test.All", source)
        in_order = tf.io.encode_proto(sizes, fields, names, "test.All", source)
        found = tf.io.decode_proto(in_order, "test.All", names, [getattr(tf, dtype)] * len(names), source)
        clean = tf.io.decode_proto(in_order, "test.All", names, [getattr(tf, dtype)] * len(names), source, sanitize=kind != "string")
        return [out_of_order, in_order, found.sizes, *found.values, clean.sizes, *clean.values]

    compare(tf1, build)


def test_packed_negative_numbers_keep_their_sign():
    """TensorFlow gives 4294967295."""
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        found = flowmill.io.decode_proto(b"\x1a\x0a" + b"\xff" * 9 + b"\x01", _TYPE, ["bad_consumers"], [flowmill.int64])
        assert session.run(found.values[0]).tolist() == [-1]


def _versions():
    from tensorflow.core.framework.versions_pb2 import VersionDef

    return VersionDef(producer=5, min_consumer=2, bad_consumers=[1, 2, 300]).SerializeToString()


_TYPE = "tensorflow.VersionDef"


def _decode(tf, contents, fields=("producer", "bad_consumers"), dtypes=None, **options):
    found = tf.io.decode_proto(contents, options.pop("type", _TYPE), list(fields), dtypes or [tf.int32] * len(fields), **options)
    return [found.sizes, *found.values]


WORKING = {
    "own messages": lambda tf: _decode(tf, _versions()),
    "batch": lambda tf: _decode(tf, [[_versions(), b""], [b"", _versions()]], ["bad_consumers", "min_consumer"], name="d"),
    "no fields": lambda tf: _decode(tf, _versions(), []),
    "text": lambda tf: _decode(tf, "producer: 7 bad_consumers: [4, 5]", message_format="text"),
    "text 2": lambda tf: _decode(tf, "", message_format="text"),
    "another wire type": lambda tf: _decode(tf, b"\x0d\0\0\0\0"),
    "packed though single": lambda tf: _decode(tf, b"\x0a\x02\x05\x06"),
    "not packed": lambda tf: _decode(tf, b"\x18\x05\x18\x06"),
    "the last one": lambda tf: _decode(tf, b"\x08\x05\x08\x06"),
    "unknown fields": lambda tf: _decode(tf, b"\x98\x01\x05\x9b\x01\x08\x01\x9c\x01\xa2\x01\x01a\x08\x07"),
    "well known": lambda tf: _decode(tf, b"\x08\x05", ["value"], type="google.protobuf.Int32Value"),
    "packed by default": lambda tf: [tf.io.encode_proto([[1, 2]], [[[5]], [[1, 300, 4]]], ["producer", "bad_consumers"], _TYPE)],
    "by number": lambda tf: [tf.io.encode_proto([[1, 2]], [[[1, 300, 4]], [[5, 6]]], ["bad_consumers", "producer"], _TYPE, name="e")],
    "less than none": lambda tf: [tf.io.encode_proto([[1, -4]], [[[5]], [[1, 300, 4]]], ["producer", "bad_consumers"], _TYPE)],
}


@pytest.mark.parametrize("build", WORKING.values(), ids=WORKING.keys())
def test_the_same_values(tf1, build):
    compare(tf1, build)


def _later(tf, value):
    return tf.placeholder_with_default(np.array(value, np.int32), None)


FAILING = {
    "type": lambda tf: _decode(tf, _versions(), ["producer"], [tf.float32]),
    "field": lambda tf: _decode(tf, _versions(), ["producer", "x"]),
    "message": lambda tf: _decode(tf, _versions(), type="a.B"),
    "count": lambda tf: _decode(tf, _versions(), ["producer"], [tf.int32, tf.int32]),
    "format": lambda tf: _decode(tf, _versions(), message_format="x"),
    "file": lambda tf: _decode(tf, _versions(), descriptor_source="/not/there"),
    "bytes": lambda tf: _decode(tf, _versions(), descriptor_source=b"bytes://abc"),
    "cut off": lambda tf: _decode(tf, _versions()[:-1]),
    "cut off 2": lambda tf: _decode(tf, b"\x08"),
    "cut off 3": lambda tf: _decode(tf, b"\x0a\x09\x05\x06"),
    "packed": lambda tf: _decode(tf, b"\x0a\x02\x85\x86"),
    "other field": lambda tf: _decode(tf, b"\x98\x01"),
    "other field 2": lambda tf: _decode(tf, b"\xa2\x01\x05a"),
    "no tag": lambda tf: _decode(tf, b"\x00\x01"),
    "end of a group": lambda tf: _decode(tf, b"\x0c"),
    "text": lambda tf: _decode(tf, "producer: ", message_format="text"),
    "sanitize": lambda tf: _decode(tf, _versions()[:-1], sanitize=True),
    "nothing": lambda tf: _decode(tf, np.zeros([0], "S1")),
    "size": lambda tf: tf.io.encode_proto([[1, 4]], [[[5]], [[1, 300, 4]]], ["producer", "bad_consumers"], _TYPE),
    "sizes": lambda tf: tf.io.encode_proto([[1]], [[[5]], [[1, 300, 4]]], ["producer", "bad_consumers"], _TYPE),
    "values": lambda tf: tf.io.encode_proto([[1, 1]], [[[5.0]], [[1, 300, 4]]], ["producer", "bad_consumers"], _TYPE),
    "values 2": lambda tf: tf.io.encode_proto([[1, 1]], [[[5]]], ["producer", "bad_consumers"], _TYPE),
    "values 3": lambda tf: tf.io.encode_proto([[1, 1]], [_later(tf, [5]), _later(tf, [1])], ["producer", "bad_consumers"], _TYPE),
    "values 4": lambda tf: tf.io.encode_proto([[1, 1]], [_later(tf, [[5]]), _later(tf, [[1], [2]])], ["producer", "bad_consumers"], _TYPE),
    "encoded field": lambda tf: tf.io.encode_proto([[1, 1]], [[[5]], [[1]]], ["producer", "bad"], _TYPE),
    "encoded message": lambda tf: tf.io.encode_proto([[1]], [[[5]]], ["producer"], "a.B"),
}


@pytest.mark.parametrize("build", FAILING.values(), ids=FAILING.keys())
def test_the_same_failures(tf1, build):
    messages = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises(tf.errors.OpError) as error:
            session.run(build(tf))
        messages.append((type(error.value).__name__, words_of(error.value)))
    theirs, ours = messages
    assert ours[0] == theirs[0]
    assert theirs[1] in ours[1]


def test_a_file_of_descriptors(tf1, tmp_path):
    path = tmp_path / "all.descriptors"
    path.write_bytes(_set(tf1).SerializeToString())
    message = b"\x08\x05\xc0\x3e\x07"

    def build(tf):
        found = tf.io.decode_proto([message, b""], "test.All", ["test.more", "bool", "string"], [tf.int64, tf.bool, tf.string], str(path))
        return [found.sizes, *found.values]

    compare(tf1, build)


def test_deep_texts_are_refused():
    text = "attr { value { func { " * 10000
    with flowmill.Graph().as_default(), flowmill.Session() as session, pytest.raises(flowmill.errors.DataLossError):
        session.run(_decode(flowmill, text, ["name"], [flowmill.string], type="tensorflow.NameAttrList", message_format="text"))
    groups = b"\x9b\x01" * 100000
    with flowmill.Graph().as_default(), flowmill.Session() as session, pytest.raises(flowmill.errors.DataLossError):
        session.run(_decode(flowmill, groups))


def test_the_same_errors(tf1):
    f = ["producer"]
    same_error(tf1, lambda tf: tf.io.encode_proto([1], [[5]], f, _TYPE), "Shape must be at least rank 2 but is rank 1")
    same_error(tf1, lambda tf: tf.io.encode_proto([[1, 1]], [[[5]], [[5], [6]]], ["producer", "bad_consumers"], _TYPE))
    same_error(tf1, lambda tf: tf.io.decode_proto(5, _TYPE, f, [tf.int32]))
