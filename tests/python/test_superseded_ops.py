"""Ops that early graphs contain, or graphs that a tool rewrote: graphs of early producers run as in TensorFlow."""

import numpy as np
import pytest

import flowmill as tf
from nodes import const, node

RANDOM = np.random.RandomState(7)
FLOAT = tf.float32


def run_both(tf1, nodes, fetches, producer=1):
    """The values and the static shapes of `fetches` there and here, or the classes of the errors; "refused" or "removed" if the graph cannot be imported."""
    results = []
    message = tf.GraphDef(node=nodes)
    message.versions.producer = producer
    for module in (tf1, tf):
        with module.Graph().as_default() as graph:
            graph_def = module.GraphDef.FromString(message.SerializeToString())
            try:
                module.import_graph_def(graph_def, name="")
            except (ValueError, module.errors.OpError) as error:
                results.append("removed" if "It has been removed in version" in str(error) else "refused")
                continue
            shapes = [str(graph.get_tensor_by_name(f).shape) for f in fetches]
            with module.Session(graph=graph) as session:
                try:
                    results.append((shapes, session.run(fetches)))
                except module.errors.OpError as error:
                    results.append(type(error).__name__)
    return results


def check(tf1, nodes, fetches, producer=1, tolerance=1e-4):
    theirs, ours = run_both(tf1, nodes, fetches, producer)
    if isinstance(theirs, str):
        # Shapes that contradict each other are an error of the step here, not of the import.
        assert ours == theirs or (theirs, ours) == ("refused", "InvalidArgumentError")
        return theirs
    assert not isinstance(ours, str), ours
    assert ours[0] == theirs[0]
    for mine, other in zip(ours[1], theirs[1], strict=True):
        mine, other = np.asarray(mine), np.asarray(other)
        assert mine.dtype == other.dtype and mine.shape == other.shape
        if other.dtype.kind in "fc":
            np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(mine, other)
    return None


def one_op(tf1, op, *inputs, outputs=1, producer=1, tolerance=1e-4, **attrs):
    """Compares an op of constants, given as arrays."""
    nodes = [const(f"in{i}", value, None) for i, value in enumerate(inputs)]
    nodes.append(node("op", op, *[n.name for n in nodes], **attrs))
    return check(tf1, nodes, [f"op:{i}" for i in range(outputs)], producer, tolerance)


def ints(*values):
    return np.array(values, np.int32)


MATRICES = RANDOM.randn(2, 3, 3)
SYMMETRIC = MATRICES @ MATRICES.transpose(0, 2, 1) + 3 * np.eye(3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_matrices(tf1, dtype):
    a, s, rhs = MATRICES.astype(dtype), SYMMETRIC.astype(dtype), RANDOM.randn(2, 3, 2).astype(dtype)
    T = tf.as_dtype(dtype)
    for op, inputs, attrs in [
        ("BatchMatrixBandPart", [a, np.int64(1), np.int64(0)], {}), ("BatchMatrixDiag", [a[0]], {}), ("BatchMatrixDiagPart", [a], {}),
        ("BatchMatrixSetDiag", [a, a[:, 0]], {}), ("BatchMatrixDeterminant", [a], {}), ("BatchMatrixInverse", [a], {}),
        ("BatchMatrixInverse", [a], {"adjoint": True}), ("BatchMatrixSolve", [a, rhs], {"adjoint": True}),
        ("BatchMatrixSolveLs", [a, rhs, np.float64(0.5)], {}), ("BatchMatrixTriangularSolve", [s, rhs], {"lower": False}),
        ("BatchCholesky", [s], {}), ("BatchCholeskyGrad", [np.linalg.cholesky(s), a], {}),
    ]:
        assert one_op(tf1, op, *inputs, T=T, tolerance=1e-3, **attrs) is None, op
        assert one_op(tf1, op, *inputs, T=T, producer=21, **attrs) == "removed", op
    assert one_op(tf1, "BatchMatrixInverse", RANDOM.rand(2, 3).astype(dtype), T=T) == "InvalidArgumentError"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_decompositions_of_batches(tf1, dtype):
    """Vectors have a sign of their own, so that products are compared with the matrix."""
    s, T = SYMMETRIC.astype(dtype), tf.as_dtype(dtype)
    for op in ("SelfAdjointEig", "BatchSelfAdjointEig"):
        theirs, ours = run_both(tf1, [const("s", s, None), node("op", op, "s", T=T)], ["op:0"])
        assert theirs[0] == ours[0]
        np.testing.assert_allclose(ours[1][0][:, 0], theirs[1][0][:, 0], rtol=1e-3)
        values, vectors = ours[1][0][:, 0], ours[1][0][:, 1:]
        np.testing.assert_allclose(vectors * values[:, None] @ vectors.transpose(0, 2, 1), s, rtol=1e-3, atol=1e-4)
    for op, attrs, outputs in (("BatchSelfAdjointEigV2", {"compute_v": False}, 1), ("BatchSvd", {"compute_uv": False}, 1)):
        assert one_op(tf1, op, s, T=T, outputs=outputs, tolerance=1e-3, **attrs) is None


def test_fourier_transforms_of_batches():
    """TensorFlow has no kernels."""
    x = (RANDOM.randn(2, 3, 4, 2) + 1j * RANDOM.randn(2, 3, 4, 2)).astype(np.complex64)
    for op, axes in (("FFT", [3]), ("FFT2D", [2, 3]), ("FFT3D", [1, 2, 3])):
        for kind, function in (("Batch", np.fft.fftn), ("BatchI", np.fft.ifftn)):
            graph_def = tf.GraphDef(node=[const("x", x, None), node("y", kind + op, "x")])
            graph_def.versions.producer = 1
            with tf.Graph().as_default() as graph:
                tf.import_graph_def(graph_def, name="")
                with tf.Session(graph=graph) as session:
                    np.testing.assert_allclose(session.run("y:0"), function(x, axes=axes), rtol=1e-4, atol=1e-4)


def test_the_first_contrast(tf1):
    for dtype in (np.uint8, np.int16, np.int32, np.float32, np.float64):
        image = (RANDOM.rand(2, 4, 5, 3) * 200).astype(dtype)
        bounds = [np.float32(v) for v in (1.7, 20, 180)]
        assert one_op(tf1, "AdjustContrast", image, *bounds, T=tf.as_dtype(dtype), tolerance=1e-3) is None
    assert one_op(tf1, "AdjustContrast", image, np.ones(2, np.float32), *bounds[1:], T=tf.float64) == "refused"


def test_gradients_of_tiles():
    """TensorFlow's kernel cannot run: it asks for an attribute that the op does not have."""
    value = RANDOM.randint(0, 9, [4, 6]).astype(np.int32)
    for multiples in (ints(2, 3), ints(1, 1), ints(4, 2), ints(3, 1), ints(0, 1)):
        message = tf.GraphDef(node=[const("x", value, None), const("m", multiples, None), node("y", "TileGrad", "x", "m", T=tf.int32)])
        message.versions.producer = 1
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(message, name="")
            with tf.Session(graph=graph) as session:
                if multiples[0] in (0, 3):
                    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple"):
                        session.run("y:0")
                else:
                    expected = value.reshape(multiples[0], 4 // multiples[0], multiples[1], 6 // multiples[1]).sum((0, 2))
                    np.testing.assert_array_equal(session.run("y:0"), expected)


def test_exponentials_of_matrices(tf1):
    for dtype in ("float32", "float64", "complex64", "complex128"):
        for scale in (0.1, 1.0, 5.0):
            value = (scale * MATRICES).astype(dtype)
            assert one_op(tf1, "MatrixExponential", value, T=tf.as_dtype(dtype), tolerance=1e-2 * scale) is None
    assert one_op(tf1, "MatrixExponential", np.ones((2, 3)), T=tf.float64) == "refused"


@pytest.mark.parametrize("scale_after", [False, True])
def test_the_gradient_of_the_first_batch_normalization(tf1, scale_after):
    x, g = RANDOM.randn(2, 3, 4, 5), RANDOM.randn(2, 3, 4, 5)
    mean, variance, gamma = RANDOM.randn(5), RANDOM.rand(5) + 0.5, RANDOM.randn(5)
    for dtype in (np.float32, np.float64):
        inputs = [v.astype(dtype) for v in (x, mean, variance, gamma, g)]
        assert one_op(tf1, "BatchNormWithGlobalNormalizationGrad", *inputs, outputs=5, T=tf.as_dtype(dtype), variance_epsilon=0.01,
                      scale_after_normalization=scale_after) is None


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_gradients_of_volumes(tf1, padding):
    x, w = RANDOM.randn(1, 4, 5, 6, 2).astype("f"), RANDOM.randn(2, 2, 3, 2, 3).astype("f")
    g = RANDOM.randn(*((1, 4, 5, 6, 3) if padding == "SAME" else (1, 3, 4, 4, 3))).astype("f")
    for op in ("Conv3DBackpropInput", "Conv3DBackpropFilter"):
        assert one_op(tf1, op, x, w, g, T=FLOAT, strides=[1] * 5, padding=padding, tolerance=1e-3) is None
        assert one_op(tf1, op, x, w, g[:, :1], T=FLOAT, strides=[1] * 5, padding=padding) == "InvalidArgumentError"


def array_nodes(version):
    """An array of three elements, of which two are written one by one, then read, gathered and counted."""
    v = version
    return [
        const("size", 3, np.int32), const("zero", 0, np.int32), const("one", 1, np.int32), const("two", 2, np.int32),
        const("a", [1.0, 2.0]), const("b", [3.0, 4.0]), const("rest", [[5.0, 6.0]]), const("at", [2], np.int32), const("all", [2, 0, 1], np.int32),
        const("flow", 0.0),
        node("array", f"TensorArray{v}", "size", dtype=FLOAT, clear_after_read=False),
        node("w0", f"TensorArrayWrite{v}", "array", "zero", "a", "flow", T=FLOAT),
        node("w1", f"TensorArrayWrite{v}", "array", "one", "b", "w0:0", T=FLOAT),
        node("w2", f"TensorArrayScatter{v}", "array", "at", "rest", "w1:0", T=FLOAT),
        node("read", f"TensorArrayRead{v}", "array", "one", "w2:0", dtype=FLOAT),
        node("gather", f"TensorArrayGather{v}", "array", "all", "w2:0", dtype=FLOAT, element_shape=tf.TensorShape([2])),
        node("concat", f"TensorArrayConcat{v}", "array", "w2:0", dtype=FLOAT),
        node("count", f"TensorArraySize{v}", "array", "w2:0"),
        node("close", f"TensorArrayClose{v}", "array", "^read", "^gather", "^concat", "^count"),
    ]


@pytest.mark.parametrize("version", ["", "V2"])
def test_tensor_arrays_by_strings(tf1, version):
    fetches = ["read:0", "gather:0", "concat:0", "concat:1", "count:0"]
    assert check(tf1, array_nodes(version), fetches) is None
    late = array_nodes(version) + [node("late", f"TensorArraySize{version}", "array", "flow", "^close")]
    assert check(tf1, late, ["late:0"]) == "InvalidArgumentError"
    twice = array_nodes(version) + [node("again", f"TensorArrayWrite{version}", "array", "zero", "a", "w2:0", T=FLOAT)]
    assert check(tf1, twice, ["again:0"]) == "InvalidArgumentError"


@pytest.mark.parametrize("version", ["", "V2"])
def test_gradients_of_tensor_arrays_by_strings(tf1, version):
    nodes = array_nodes(version) + [
        node("grads", f"TensorArrayGrad{version}", "array", "w2:0", source="gradients"),
        node("g0", f"TensorArrayWrite{version}", "grads", "zero", "b", "flow", T=FLOAT),
        node("g1", f"TensorArrayWrite{version}", "grads", "zero", "b", "g0:0", T=FLOAT),
        node("sum", f"TensorArrayRead{version}", "grads", "zero", "g1:0", dtype=FLOAT),
    ]
    assert check(tf1, nodes, ["sum:0"]) is None


def test_packed_tensor_arrays(tf1):
    nodes = [
        const("size", 2, np.int32), const("flow", 0.0), const("rows", [[1.0, 2.0], [3.0, 4.0]]), const("more", [[1.0], [2.0], [3.0]]),
        node("array", "TensorArray", "size", dtype=FLOAT),
        node("put", "TensorArrayUnpack", "array", "rows", "flow", T=FLOAT),
        node("get", "TensorArrayPack", "array", "put:0", dtype=FLOAT),
        node("bad", "TensorArrayUnpack", "array", "more", "flow", T=FLOAT),
    ]
    assert check(tf1, nodes, ["get:0"]) is None
    assert check(tf1, nodes, ["bad:0"]) == "InvalidArgumentError"


def test_the_first_stacks(tf1):
    nodes = [
        const("a", [1.0, 2.0]), const("b", 3.0),
        node("stack", "Stack", elem_type=FLOAT),
        node("p0", "StackPush", "stack", "a", T=FLOAT),
        node("p1", "StackPush", "stack", "b", "^p0", T=FLOAT),
        node("x", "StackPop", "stack", "^p1", elem_type=FLOAT),
        node("y", "StackPop", "stack", "^x", elem_type=FLOAT),
        node("empty", "StackPop", "stack", "^y", elem_type=FLOAT),
    ]
    assert check(tf1, nodes, ["p1:0", "x:0", "y:0"], producer=20) is None
    assert check(tf1, nodes, ["empty:0"], producer=20) == "InvalidArgumentError"
