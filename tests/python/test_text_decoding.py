"""CSV lines, compressed strings, Unicode and fingerprints of text, against TensorFlow."""

import gzip
import zlib

import numpy as np
import pytest

from oracles import assert_same, assert_same_op, strings


@pytest.fixture
def dice():
    return np.random.RandomState(4)


CSV = [
    (["1,2,a", "3,,b", ",5,", "-1,7,\"q\"\"u,o\""], {}),
    (["1;2;a", "3;;b"], {"field_delim": ";"}),
    (["1,2,\"a\"", "3,4,b\"c"], {"use_quote_delim": False}),
    (["NA,2,x", "3,NA,NA"], {"na_value": "NA"}),
    (["9,1,8,2,a,7", "9,,8,,,"], {"select_cols": [1, 3, 4]}),
    (["1,2,a\n", "3,4,b\r\n"], {}),
    (["1,2"], {}), (["1,2,3,4"], {}), (["x,2,a"], {}), (["1,y,a"], {}), (["1,2,\"a"], {}), (["1,2,\"a\"b"], {}), (["1,2,a\"b"], {}), ([""], {}),
    (["1.5,2,a"], {}), (["99999999999,2,a"], {}),
]


@pytest.mark.parametrize("case", range(len(CSV)))
def test_csv(tf1, case):
    records, attrs = CSV[case]
    def build(m, required):
        defaults = [m.constant([] if required else [7], m.int32), m.constant([0.5], m.float32), m.constant([b"-"])]
        return list(m.raw_ops.DecodeCSV(records=m.constant(records), record_defaults=defaults, **attrs))
    for required in (True, False):
        assert_same(tf1, lambda m, required=required: build(m, required))


def test_numbers_of_csv(tf1):
    def build(m):
        defaults = [m.constant([1], m.int64), m.constant([2.0], m.float64)]
        return list(m.raw_ops.DecodeCSV(records=m.constant([["-9223372036854775808,1e300"], [" 12 , -.5 "]]), record_defaults=defaults))
    assert assert_same(tf1, build) is None


def test_compressed_strings(tf1):
    data = [b"", b"hello", bytes(range(256)) * 50]
    for kind, compress in (("", bytes), ("ZLIB", zlib.compress), ("GZIP", gzip.compress)):
        assert assert_same_op(tf1, "DecodeCompressed", bytes=strings([compress(d) for d in data]), compression_type=kind) is None
    for kind in ("ZLIB", "GZIP"):
        assert assert_same_op(tf1, "DecodeCompressed", bytes=strings([b"this is not compressed at all"]), compression_type=kind) is not None
    assert assert_same_op(tf1, "DecodeCompressed", bytes=strings([b"x"]), compression_type="ZIP") == "InvalidArgumentError"


UTF8 = ["", "abc", "Grüße, 世界", "\U0001f600\u0000\u0007z", "é"]

BROKEN = [b"a\xffb", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80x", b"ok\xc0\xaf"]


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_unicode_decoding(tf1, errors):
    encodings = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-16-LE": "utf-16-le", "UTF-32-BE": "utf-32-be", "utf8": "utf-8", "UTF-16BE": "utf-16-be"}
    for name, codec in encodings.items():
        values = [s.encode(codec) for s in UTF8]
        for broken in ([], BROKEN if codec == "utf-8" else []):
            for controls in (False, True):
                attrs = {"input": strings(values + broken), "input_encoding": name, "errors": errors, "replace_control_characters": controls}
                assert_same_op(tf1, "UnicodeDecodeWithOffsets", **attrs)
                if not (errors == "ignore" and (controls or broken)):
                    assert_same_op(tf1, "UnicodeDecode", **attrs)
                for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                    assert_same_op(tf1, "UnicodeTranscode", output_encoding=out, **attrs)
    assert_same_op(tf1, "UnicodeTranscode", input=strings([b"caf\xe9"]), input_encoding="ISO-8859-1", output_encoding="UTF-8", errors=errors)
    assert_same_op(tf1, "UnicodeTranscode", input=strings([b"caf\xe9"]), input_encoding="US-ASCII", output_encoding="UTF-8", errors=errors)


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_unicode_encoding(tf1, errors):
    good = np.array([72, 0xe9, 0x4e16, 0x1f600, 0], np.int32)
    bad = np.array([72, 0xd800, 0x110000, -1, 0xfffe, 0xfdd0, 65], np.int32)
    for values in (good, bad):
        for splits in ([0, 2, 2, len(values)], [0, len(values)], [1, len(values)], [0, 3], [0, 4, 2, len(values)]):
            for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                assert_same_op(tf1, "UnicodeEncode", input_values=values, input_splits=np.array(splits), output_encoding=encoding, errors=errors)


def test_unicode_scripts(tf1, dice):
    points = np.concatenate([np.arange(0, 0x3000), dice.randint(0, 0x110000, 3000), [-1, 0x110000, 0xd800]]).astype(np.int32)
    assert assert_same_op(tf1, "UnicodeScript", input=points) is None


def test_fingerprints(tf1, dice):
    for data in (dice.randint(0, 9, [4, 3]).astype(np.int32), dice.randn(3, 2, 2), strings([b"a", b"bc"]), strings([[b"a", b"bc"], [b"", b"d"]])):
        assert assert_same_op(tf1, "Fingerprint", data=data, method=np.array(b"farmhash64", dtype=object)) is None
    feeds = {"method:0": b"md5"}
    def fed(m):
        return [m.raw_ops.Fingerprint(data=m.constant([1]), method=m.placeholder(m.string, name="method"))]
    assert assert_same(tf1, fed, feeds) == "InvalidArgumentError"
