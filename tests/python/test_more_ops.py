"""Serialised sparse tensors, CSV files, compressed strings, distances, Unicode, random numbers by rejection, cells and roots: against TensorFlow."""

import gzip
import zlib

import numpy as np
import pytest

from oracles import assert_same, both

STRING, INT32, INT64, FLOAT, DOUBLE = 7, 3, 9, 1, 2


@pytest.fixture
def dice():
    return np.random.RandomState(4)


def raw(tf1, op, tolerance=0.0, **arguments):
    """Asserts that an op gives what it gives there. NumPy arrays are inputs, everything else attributes or constants."""
    def build(m):
        inputs = {k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        made = getattr(m.raw_ops, op)(**inputs)
        outputs = list(made) if isinstance(made, (tuple, list)) else [made]
        return [t for part in outputs for t in (part if isinstance(part, (tuple, list)) else [part])]
    return assert_same(tf1, build, rtol=tolerance, atol=tolerance)


def text(values):
    return np.array(values, dtype=object)


SPARSE = {"indices": np.array([[0, 1], [0, 3], [2, 0]]), "shape": np.array([3, 4])}


@pytest.mark.parametrize("values", [np.array([1, 2, 3], np.int32), np.array([1.5, 2, 3], np.float32), text([b"a", b"b", b"c"])], ids=["int", "float", "text"])
def test_serialized_sparse_tensors(tf1, values):
    def there_and_back(m, many):
        parts = [m.constant(SPARSE["indices"]), m.constant(values), m.constant(SPARSE["shape"])]
        op = m.raw_ops.SerializeManySparse if many else m.raw_ops.SerializeSparse
        kinds = [m.string, m.variant]
        out = []
        for kind in kinds:
            made = op(sparse_indices=parts[0], sparse_values=parts[1], sparse_shape=parts[2], out_type=kind)
            out.extend(m.raw_ops.DeserializeSparse(serialized_sparse=made, dtype=parts[1].dtype))
            if many and kind == m.string:
                out.extend(m.raw_ops.DeserializeManySparse(serialized_sparse=made, dtype=parts[1].dtype))
        return out
    for many in (True, False):
        assert assert_same(tf1, lambda m, many=many: there_and_back(m, many)) is None


def test_bad_serialized_sparse_tensors(tf1):
    for value in ([b"a", b"b", b"c"], [[b"", b"", b""]]):
        assert raw(tf1, "DeserializeSparse", serialized_sparse=text(value), dtype=FLOAT) == "InvalidArgumentError"
    for indices, shape in ([[0, 1]], [0, 4]), ([[5, 1]], [3, 4]), ([[1], [0]], [3]):
        values = np.ones(len(indices), np.float32)
        attrs = {"sparse_indices": np.array(indices), "sparse_values": values, "sparse_shape": np.array(shape)}
        assert raw(tf1, "SerializeManySparse", **attrs) == "InvalidArgumentError"


def test_edit_distances(tf1, dice):
    for kind in (np.int64, np.float32, object):
        for normalize in (True, False):
            def sparse(n, high):
                places = sorted({tuple(p) for p in dice.randint(0, [2, 3, 5], [n, 3])})
                values = dice.randint(0, high, len(places))
                return np.array(places), text([str(v).encode() for v in values]) if kind is object else values.astype(kind)
            (hi, hv), (ti, tv) = sparse(9, 3), sparse(12, 3)
            shape = np.array([2, 3, 5])
            assert raw(tf1, "EditDistance", hypothesis_indices=hi, hypothesis_values=hv, hypothesis_shape=shape, truth_indices=ti, truth_values=tv,
                       truth_shape=shape, normalize=normalize) is None


SETS = {
    "DenseToDenseSetOperation": {"set1": np.array([[[1, 2], [3, 3]], [[4, 5], [6, 7]]]), "set2": np.array([[[2, 9, 9], [3, 4, 5]], [[4, 5, 6], [1, 2, 3]]])},
    "DenseToSparseSetOperation": {"set1": np.array([[1, 2], [3, 3], [7, 8]]), "set2_indices": np.array([[0, 0], [0, 1], [2, 0]]),
                                  "set2_values": np.array([2, 4, 8]), "set2_shape": np.array([3, 2])},
    "SparseToSparseSetOperation": {"set1_indices": np.array([[0, 0], [1, 0], [1, 1]]), "set1_values": np.array([2, 4, 8]),
                                   "set1_shape": np.array([3, 2]), "set2_indices": np.array([[1, 0], [2, 4]]), "set2_values": np.array([8, 5]),
                                   "set2_shape": np.array([3, 5])},
}


@pytest.mark.parametrize("operation", ["a-b", "b-a", "intersection", "union"])
def test_set_operations(tf1, operation):
    for op, inputs in SETS.items():
        for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, object):
            def typed(name, value):
                if not (name in ("set1", "set2") or name.endswith("values")):
                    return value
                return np.vectorize(lambda v: str(v).encode(), otypes=[object])(value) if kind is object else value.astype(kind)
            assert raw(tf1, op, set_operation=operation, **{k: typed(k, v) for k, v in inputs.items()}) is None, op


def test_bad_sets(tf1):
    dense = np.array([[1, 2], [3, 4]])
    assert raw(tf1, "DenseToDenseSetOperation", set1=dense, set2=dense, set_operation="xor") == "InvalidArgumentError"
    for indices, error in (([[0, 1], [0, 0]], "InvalidArgumentError"), ([[0, 0], [0, 5]], "InvalidArgumentError")):
        attrs = {"set_indices": np.array(indices), "set_values": np.array([1, 2]), "set_shape": np.array([2, 2])}
        assert raw(tf1, "SetSize", **attrs) == error
    assert raw(tf1, "SetSize", set_indices=np.array([[0, 0], [1, 0], [1, 1]]), set_values=np.array([1, 2, 2]), set_shape=np.array([2, 2])) is None


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
        assert raw(tf1, "DecodeCompressed", bytes=text([compress(d) for d in data]), compression_type=kind) is None
    for kind in ("ZLIB", "GZIP"):
        assert raw(tf1, "DecodeCompressed", bytes=text([b"this is not compressed at all"]), compression_type=kind) is not None
    assert raw(tf1, "DecodeCompressed", bytes=text([b"x"]), compression_type="ZIP") == "InvalidArgumentError"


UTF8 = ["", "abc", "Grüße, 世界", "\U0001f600\u0000\u0007z", "é"]
BROKEN = [b"a\xffb", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80x", b"ok\xc0\xaf"]


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_unicode_decoding(tf1, errors):
    encodings = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-16-LE": "utf-16-le", "UTF-32-BE": "utf-32-be", "utf8": "utf-8", "UTF-16BE": "utf-16-be"}
    for name, codec in encodings.items():
        values = [s.encode(codec) for s in UTF8]
        for broken in ([], BROKEN if codec == "utf-8" else []):
            for controls in (False, True):
                attrs = {"input": text(values + broken), "input_encoding": name, "errors": errors, "replace_control_characters": controls}
                raw(tf1, "UnicodeDecodeWithOffsets", **attrs)
                if not (errors == "ignore" and (controls or broken)):
                    raw(tf1, "UnicodeDecode", **attrs)
                for out in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                    raw(tf1, "UnicodeTranscode", output_encoding=out, **attrs)
    raw(tf1, "UnicodeTranscode", input=text([b"caf\xe9"]), input_encoding="ISO-8859-1", output_encoding="UTF-8", errors=errors)
    raw(tf1, "UnicodeTranscode", input=text([b"caf\xe9"]), input_encoding="US-ASCII", output_encoding="UTF-8", errors=errors)


@pytest.mark.parametrize("errors", ["strict", "replace", "ignore"])
def test_unicode_encoding(tf1, errors):
    good = np.array([72, 0xe9, 0x4e16, 0x1f600, 0], np.int32)
    bad = np.array([72, 0xd800, 0x110000, -1, 0xfffe, 0xfdd0, 65], np.int32)
    for values in (good, bad):
        for splits in ([0, 2, 2, len(values)], [0, len(values)], [1, len(values)], [0, 3], [0, 4, 2, len(values)]):
            for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
                raw(tf1, "UnicodeEncode", input_values=values, input_splits=np.array(splits), output_encoding=encoding, errors=errors)


def test_unicode_scripts(tf1, dice):
    points = np.concatenate([np.arange(0, 0x3000), dice.randint(0, 0x110000, 3000), [-1, 0x110000, 0xd800]]).astype(np.int32)
    assert raw(tf1, "UnicodeScript", input=points) is None


def test_fingerprints(tf1, dice):
    for data in (dice.randint(0, 9, [4, 3]).astype(np.int32), dice.randn(3, 2, 2), text([b"a", b"bc"]), text([[b"a", b"bc"], [b"", b"d"]])):
        assert raw(tf1, "Fingerprint", data=data, method=np.array(b"farmhash64", dtype=object)) is None
    feeds = {"method:0": b"md5"}
    def fed(m):
        return [m.raw_ops.Fingerprint(data=m.constant([1]), method=m.placeholder(m.string, name="method"))]
    assert assert_same(tf1, fed, feeds) == "InvalidArgumentError"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gamma_numbers(tf1, dtype):
    alpha = np.array([[0.3, 0.99, 1.0], [1.5, 10.0, 300.0]], dtype)
    assert raw(tf1, "RandomGamma", 2e-3 if dtype == np.float16 else 1e-6, shape=np.array([40, 2], np.int32), alpha=alpha, seed=3, seed2=5) is None
    assert raw(tf1, "RandomGamma", shape=np.array([0], np.int32), alpha=alpha, seed=3, seed2=5) is None


@pytest.mark.parametrize("dtype", [INT32, INT64, FLOAT, DOUBLE])
def test_poisson_numbers(tf1, dtype):
    for rate in (np.array([0.0, 0.5, 9.9, 10.0, 55.5, 1e4]), np.array([2.5, 20.0], np.float32), np.array([3, 30], np.int64)):
        assert raw(tf1, "RandomPoissonV2", shape=np.array([50], np.int32), rate=rate, seed=3, seed2=5, dtype=dtype) is None


def test_combined_boxes(tf1, dice):
    corners = dice.uniform(-0.2, 1.2, [2, 12, 3, 4]).astype(np.float32)
    scores = dice.permutation(2 * 12 * 3).reshape([2, 12, 3]).astype(np.float32) / 72
    for boxes in (corners, corners[:, :, :1]):
        for pad in (True, False):
            for clip in (True, False):
                for per_class, total in ((3, 7), (2, 50), (20, 4)):
                    assert raw(tf1, "CombinedNonMaxSuppression", boxes=boxes, scores=scores, max_output_size_per_class=np.array(per_class, np.int32),
                               max_total_size=np.array(total, np.int32), iou_threshold=np.float32([0.2])[0] + np.zeros([], np.float32),
                               score_threshold=np.array(0.3, np.float32), pad_per_class=pad, clip_boxes=clip) is None


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("peephole", [False, True])
def test_lstm_cells(tf1, dice, dtype, peephole):
    batch, inputs, cells, time = 3, 4, 5, 6
    def draw(*shape):
        return (dice.randn(*shape) * 0.5).astype(dtype)
    weights = {"w": draw(inputs + cells, 4 * cells), "wci": draw(cells), "wcf": draw(cells), "wco": draw(cells), "b": draw(4 * cells)}
    state = {"cs_prev": draw(batch, cells), "h_prev": draw(batch, cells)}
    tolerance = 1e-2 if dtype == np.float16 else 1e-5
    for clip in (-1.0, 0.3):
        attrs = {"cell_clip": clip, "use_peephole": peephole, **weights, **state}
        assert raw(tf1, "LSTMBlockCell", tolerance, x=draw(batch, inputs), forget_bias=0.7, **attrs) is None
        for steps in (time, 4):
            more = {"seq_len_max": np.array(steps), "x": draw(time, batch, inputs), **attrs}
            for op, options in (("BlockLSTM", {"forget_bias": 0.7}), ("BlockLSTMV2", {})):
                def build(m, op=op, options=options, more=more):
                    made = getattr(m.raw_ops, op)(**{k: m.constant(v) if isinstance(v, np.ndarray) else v for k, v in more.items()}, **options)
                    # TensorFlow leaves most of what comes after the last step open.
                    return [made.cs, made.h, *(t[:steps] for t in made)]  # noqa: B023 - called at once
                assert assert_same(tf1, build, rtol=tolerance, atol=tolerance) is None


def test_gru_cells(tf1, dice):
    def draw(*shape):
        return dice.randn(*shape).astype(np.float32)
    assert raw(tf1, "GRUBlockCell", 1e-5, x=draw(3, 4), h_prev=draw(3, 5), w_ru=draw(9, 10), w_c=draw(9, 5), b_ru=draw(10), b_c=draw(5)) is None


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transforms_of_volumes(tf1, dice, dtype):
    for shape in ([2, 3, 4, 5], [3, 1, 2], [2, 0, 3]):
        values = (dice.randn(*shape) + 1j * dice.randn(*shape)).astype(dtype)
        for op in ("FFT3D", "IFFT3D"):
            assert raw(tf1, op, 1e-4, input=values) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_square_roots_of_matrices(tf1, dice, dtype):
    half = dice.randn(2, 4, 4)
    matrices = (half @ half.transpose(0, 2, 1) + np.eye(4)).astype(dtype)
    if np.iscomplexobj(matrices):
        matrices += 1j * dice.randn(2, 4, 4).astype(dtype)
    assert raw(tf1, "MatrixSquareRoot", 1e-3, input=matrices) is None
    oblong = {"input:0": matrices[:, :3]}
    assert assert_same(tf1, lambda m: [m.raw_ops.MatrixSquareRoot(input=m.placeholder(matrices.dtype, name="input"))], oblong) == "InvalidArgumentError"




@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("op", ["AdagradDA", "SparseAdagradDA", "AddSign", "PowerSign"])
def test_rules_of_averages_and_signs(tf1, dice, op, resource):
    import flowmill
    slots = [dice.randn(4, 3).astype(np.float32) for _ in range(3 if "DA" in op else 2)]
    slots = slots[:2] + [np.abs(s) for s in slots[2:]]
    gradient = dice.randn(4, 3).astype(np.float32)
    gradient[0, 0] = 0
    results = []
    for m in (tf1, flowmill):
        with m.Graph().as_default(), m.Session() as session:
            variables = [m.get_variable(f"v{i}", initializer=m.constant(v), use_resource=resource) for i, v in enumerate(slots)]
            refs = [v.handle if resource else v._ref() if hasattr(v, "_ref") else v for v in variables]
            f = m.constant
            if "DA" in op:
                named = dict(zip(["var", "gradient_accumulator", "gradient_squared_accumulator"], refs))
                rest = {"lr": f(0.1), "l1": f(0.2), "l2": f(0.3), "global_step": f(7, m.int64), "grad": f(gradient)}
                if op == "SparseAdagradDA":
                    rest.update(grad=f(gradient[:2]), indices=f([2, 0]))
            else:
                named = dict(zip(["var", "m"], refs))
                rest = {"lr": f(0.1), "alpha" if op == "AddSign" else "logbase": f(1.3), "sign_decay": f(0.9), "beta": f(0.8), "grad": f(gradient)}
            name = ("Resource" if resource else "") + ("SparseApplyAdagradDA" if op == "SparseAdagradDA" else f"Apply{op}")
            step = getattr(m.raw_ops, name)(**named, **rest)
            session.run(m.global_variables_initializer())
            session.run(step)
            results.append(session.run([v.value() for v in variables]))
    for want, got in zip(*results):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["MutableHashTable", "MutableHashTableOfTensors"])
def test_tables_by_reference(tf1, op):
    def build(m):
        table = getattr(m.raw_ops, op)(key_dtype=m.string, value_dtype=m.int64, shared_name="table")
        insert = m.raw_ops.LookupTableInsert(table_handle=table, keys=m.constant([b"a", b"b"]), values=m.constant([1, 2], m.int64))
        with m.control_dependencies([insert]):
            size = m.raw_ops.LookupTableSize(table_handle=table)
            found = m.raw_ops.LookupTableFind(table_handle=table, keys=m.constant([b"b", b"z"]), default_value=m.constant(-1, m.int64))
        return [size, found]
    # References cannot be made by raw_ops in every version of TensorFlow: graphs of version 1 have them.
    results = both(tf1, build)
    assert isinstance(results[1], list) and results[1][0] == 2 and results[1][1].tolist() == [2, -1]
