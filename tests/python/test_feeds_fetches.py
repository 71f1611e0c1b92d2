"""What can be fed and fetched, and what TensorFlow's exceptions for the rest are."""

import collections

import numpy as np
import pytest

import flowmill as tf
from nodes import binary, const, graph, node, placeholder


@pytest.fixture
def g():
    return graph(
        placeholder("x", shape=[None, 2]), placeholder("n", tf.int32, []), placeholder("any"), const("a", 1.0), const("b", 2.0),
        binary("sum", "AddV2", "a", "b"), binary("twice", "AddV2", "x", "x"), node("nothing", "NoOp", "^sum"))


@pytest.fixture
def sess(g):
    with tf.Session(graph=g) as session:
        yield session


Pair = collections.namedtuple("Pair", "first second")


class Attrs:
    """What the package attrs makes of a class."""

    Attribute = collections.namedtuple("Attribute", "name")
    __attrs_attrs__ = (Attribute("left"), Attribute("right"))

    def __init__(self, left, right):
        self.left, self.right = left, right


def test_structures_of_fetches(g, sess):
    a, b = g.get_tensor_by_name("a:0"), g.get_tensor_by_name("b:0")
    op = g.get_operation_by_name("nothing")
    assert sess.run(a) == 1.0
    assert sess.run("a:0") == 1.0
    assert sess.run(b"a:0") == 1.0
    assert sess.run(op) is None
    assert sess.run([a, op, b, a]) == [1.0, None, 2.0, 1.0]
    assert sess.run((a, "b:0")) == (1.0, 2.0)
    assert sess.run([]) == []
    assert sess.run({"x": a, "y": [b, {"z": (a, op)}]}) == {"x": 1.0, "y": [2.0, {"z": (1.0, None)}]}
    ordered = sess.run(collections.OrderedDict([("second", b), ("first", a)]))
    assert type(ordered) is collections.OrderedDict and list(ordered) == ["second", "first"]
    pair = sess.run(Pair(a, [b]))
    assert type(pair) is Pair and pair == Pair(1.0, [2.0])
    assert type(sess.run((a, b))) is tuple and type(sess.run(Pair(a, b))) is Pair
    both = sess.run(Attrs(a, Pair(b, op)))
    assert type(both) is Attrs and both.left == 1.0 and both.right == Pair(2.0, None)
    for _ in range(2):  # looked up, then known
        assert sess.run([a, b]) == [1.0, 2.0]
        assert sess.run((a, b)) == (1.0, 2.0)


def test_scalars_are_numpy_scalars_and_arrays_are_arrays(sess):
    assert type(sess.run("sum:0")) is np.float32
    got = sess.run("twice:0", {"x:0": [[1, 2]]})
    assert type(got) is np.ndarray and got.dtype == np.float32 and got.flags.writeable
    np.testing.assert_array_equal(got, [[2, 4]])


def test_keys_of_feeds(g, sess):
    x, n = g.get_tensor_by_name("x:0"), g.get_tensor_by_name("n:0")
    for key in (x, "x:0", b"x:0"):
        np.testing.assert_array_equal(sess.run("twice:0", {key: [[1, 2]]}), [[2, 4]])
    assert sess.run([x, n], {(x, n): ([[1, 2]], 3)})[1] == 3
    assert sess.run("sum:0", {"a:0": 10.0}) == 12.0  # not only placeholders
    assert sess.run("sum:0", {"sum:0": 5.0}) == 5.0
    assert sess.run("sum:0", {}) == 3.0
    for value in ([[1, 2]], ((1, 2),), np.array([[1, 2]]), np.array([[1, 2]], np.int8), np.array([[2, 4], [0, 0]])[:1] // 2, np.asfortranarray([[1.0, 2]])):
        np.testing.assert_array_equal(sess.run("twice:0", {x: value}), [[2, 4]])


@pytest.mark.parametrize("feeds, error, text", [
    ({"x:0": [1, 2, 3]}, ValueError, r"Cannot feed value of shape \(3,\) for Tensor x:0, which has shape \(\?, 2\)"),
    ({"x:0": [["a", "b"]]}, ValueError, "could not convert"),
    ({"nowhere:0": 1}, TypeError, "Cannot interpret feed_dict key as Tensor"),
    ({"x": 1}, TypeError, "Cannot interpret feed_dict key as Tensor.*refers to an Operation"),
    ({3: 1}, TypeError, "Cannot interpret feed_dict key as Tensor"),
    ({"n:0": 3000000000}, TypeError, "Try explicitly setting the type of the feed tensor to a larger type"),
    ([("x:0", 1)], TypeError, "must be a dictionary"),
])
def test_refused_feeds(sess, feeds, error, text):
    for _ in range(2):
        with pytest.raises(error, match=text):
            sess.run("sum:0", feeds)
    assert sess.run("sum:0") == 3.0


def test_a_tensor_is_no_value(g, sess):
    a = g.get_tensor_by_name("a:0")
    for name in ("x:0", "n:0", "any:0"):
        with pytest.raises(TypeError, match="The value of a feed cannot be a tf.Tensor object"):
            sess.run("sum:0", {name: a})


def test_unfeedable(g, sess):
    a = g.get_tensor_by_name("a:0")
    g.prevent_feeding(a)
    with pytest.raises(ValueError, match="Tensor a:0 may not be fed."):
        sess.run("sum:0", {a: 1.0})


@pytest.mark.parametrize("fetch, error, text", [
    (None, TypeError, "Argument `fetch` = None has invalid type"),
    (3, TypeError, "Argument `fetch` = 3 has invalid type"),
    ([None], TypeError, "Argument `fetch` = None has invalid type"),
    ({"a": 1.5}, TypeError, "Argument `fetch` = 1.5 has invalid type"),
    ("nowhere", ValueError, "cannot be interpreted as a Tensor.*not in the graph"),
    ("nowhere:0", ValueError, "cannot be interpreted as a Tensor.*does not exist"),
    ("a:1", ValueError, "cannot be interpreted as a Tensor.*only has 1 outputs"),
    ("a:b", ValueError, "cannot be interpreted as a Tensor.*not a valid one"),
])
def test_refused_fetches(sess, fetch, error, text):
    with pytest.raises(error, match=text):
        sess.run(fetch)


def test_fetch_of_another_graph(sess):
    other = graph(const("a", 1.0))
    with pytest.raises(ValueError, match="is not an element of this graph"):
        sess.run(other.get_tensor_by_name("a:0"))


TYPES = [
    np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_, np.complex64,
    np.complex128,
]


@pytest.mark.parametrize("dtype", TYPES, ids=lambda d: d.__name__)
@pytest.mark.parametrize("size", [0, 3, 1000])
def test_types_go_through(dtype, size):
    g = graph(placeholder("x", tf.as_dtype(dtype)), node("y", "Identity", "x", T=tf.as_dtype(dtype)))
    values = (np.arange(size) % 50).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + values * 1j
    values = values.astype(dtype)
    with tf.Session(graph=g) as sess:
        got = sess.run("y:0", {"x:0": values})
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, values)
        strided = np.stack([values, values], axis=1)[:, 0]
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": strided}), values)
        if size:
            scalar = sess.run("y:0", {"x:0": values[-1]})
            assert scalar.dtype == dtype and scalar.shape == () and scalar == values[-1]


def test_bfloat16():
    import ml_dtypes

    g = graph(placeholder("x", tf.bfloat16), node("y", "Identity", "x", T=tf.bfloat16))
    with tf.Session(graph=g) as sess:
        values = np.arange(1000).astype(ml_dtypes.bfloat16)
        got = sess.run("y:0", {"x:0": values})
        assert got.dtype == ml_dtypes.bfloat16
        np.testing.assert_array_equal(got, values)
        assert sess.run("y:0", {"x:0": 1.5}) == 1.5


def test_strings():
    g = graph(placeholder("x", tf.string), node("y", "Identity", "x", T=tf.string))
    with tf.Session(graph=g) as sess:
        assert sess.run("y:0", {"x:0": "ä"}) == "ä".encode()
        assert sess.run("y:0", {"x:0": b"\0\xff"}) == b"\0\xff"
        for value in (["a", b"b"], np.array(["a", "b"]), np.array([b"a", b"b"]), np.array(["a", b"b"], object)):
            got = sess.run("y:0", {"x:0": value})
            assert got.dtype == object and got.tolist() == [b"a", b"b"]
        got = sess.run("y:0", {"x:0": [["a"], ["b"]]})
        assert got.shape == (2, 1) and got[1, 0] == b"b"
        assert sess.run("y:0", {"x:0": np.zeros([0, 2], object)}).shape == (0, 2)
        with pytest.raises(TypeError):
            sess.run("y:0", {"x:0": [1, 2]})


def test_resources_go_from_step_to_step():
    g = graph(
        node("v", "VarHandleOp", dtype=tf.float32, shape=tf.TensorShape([]), shared_name="v"), const("one", 1.0),
        node("set", "AssignVariableOp", "v", "one", dtype=tf.float32), placeholder("handle", tf.resource),
        node("read", "ReadVariableOp", "handle", dtype=tf.float32))
    with tf.Session(graph=g) as sess:
        sess.run("set")
        handle = sess.run("v:0")
        assert sess.run("read:0", {"handle:0": handle}) == 1.0


def test_a_target_runs_though_nobody_reads_it_and_other_nodes_wait():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [64, 64])
        unread = tf.matmul(x, x, name="unread")
        with tf.control_dependencies([unread]):
            y = tf.tanh(x, name="y")

        def products(fetches):
            metadata = tf.RunMetadata()
            with tf.Session() as sess:
                sess.run(fetches, {x: np.eye(64)}, tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), metadata)
            nodes = [node for device in metadata.step_stats.dev_stats for node in device.node_stats]
            return [node.node_name for node in nodes if "MatMul" in node.timeline_label]

        assert products(y) == []
        assert products([y, unread.op]) == products([y, unread]) == ["unread"]
