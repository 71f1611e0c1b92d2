"""Input made to break things: each gives an error of the right class that names the node, and the session works on."""

import threading

import numpy as np
import pytest

import flowmill as tf
from nodes import binary, const, graph, graph_def, node, placeholder

f32, i32 = tf.float32, tf.int32


def varint(n):
    out = b""
    while n >= 128:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


@pytest.mark.parametrize("depth", [50, 200, 20_000])
def test_messages_nested_deeply(depth):
    """An attribute that is a function with an attribute that is a function, and so on: an error, not the end of the stack."""
    value = field(10, field(1, b"f"))
    for _ in range(depth):
        value = field(10, field(1, b"f") + field(2, field(1, b"a") + field(2, value)))
    message = field(1, field(1, b"x") + field(2, b"NoOp") + field(5, field(1, b"a") + field(2, value)))
    with tf.Graph().as_default() as g:
        try:
            tf.import_graph_def(message, name="")
            assert depth < 200
        except tf.errors.DataLossError:
            assert g.version == 0
        tf.import_graph_def(graph_def(const("fine", 1.0)), name="")
        with tf.Session() as sess:
            assert sess.run("fine:0") == 1.0


def function(name, *nodes, ret):
    made = tf.FunctionDef()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=1)
    made.signature.output_arg.add(name="y", type=1)
    made.node_def.extend(nodes)
    made.ret["y"] = ret
    return made


def with_functions(nodes, functions):
    message = graph_def(*nodes)
    message.library.function.extend(functions)
    made = tf.Graph()
    with made.as_default():
        tf.import_graph_def(message, name="")
    return made


def call(name, f, *inputs):
    made = node(name, "PartitionedCall", *inputs, Tin=[f32], Tout=[f32])
    made.attr["f"].func.name = f
    return made


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False}, {"inter_op_threads": 4}])
def test_functions_that_call_themselves_and_each_other(options):
    recursive = function("f", call("again", "f", "x"), ret="again:output:0")
    even, odd = function("even", call("a", "odd", "x"), ret="a:output:0"), function("odd", call("b", "even", "x"), ret="b:output:0")
    g = with_functions([const("one", 1.0), call("top", "f", "one"), call("pair", "even", "one")], [recursive, even, odd])
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        for fetch in ("top:0", "pair:0"):
            with pytest.raises(tf.errors.ResourceExhaustedError, match="nest deeper"):
                sess.run(fetch)
            assert sess.run("one:0") == 1.0


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False, "optimize": False}])
def test_arguments_and_results_that_somebody_wrote(options):
    g = graph(
        placeholder("x"), node("far", "_Arg", T=f32, index=7), node("own", "_Arg", T=i32, index=0), node("ret", "_Retval", "x", T=f32, index=0),
        binary("sum", "AddV2", "x", "far"))
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        for fetch in ("far:0", "own:0", "sum:0", "ret"):
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                sess.run(fetch, {"x:0": 1.0})
            assert raised.value.node_name
        assert sess.run("x:0", {"x:0": 1.0}) == 1.0


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False, "optimize": False}])
def test_handles_of_the_first_tables_are_references(options):
    g = graph(
        node("table", "HashTable", key_dtype=tf.string, value_dtype=tf.int64, container="", shared_name="t", use_node_name_sharing=False),
        const("keys", ["a", "b"], object), const("values", [1, 2], np.int64), const("default", -1, np.int64),
        node("init", "InitializeTable", "table", "keys", "values", Tkey=tf.string, Tval=tf.int64),
        node("find", "LookupTableFind", "table", "keys", "default", Tin=tf.string, Tout=tf.int64))
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        with pytest.raises(tf.errors.FailedPreconditionError):
            sess.run("find:0")
        sess.run("init")
        assert sess.run("find:0").tolist() == [1, 2]
        sess.run("table:0")


def test_names_that_are_none():
    with tf.Session(graph=graph(const("a", 1.0), const("b", 2.0))) as sess:
        for name in ("a:0\nb:0", "a\n", "a\x0cb", "", ":", "a:-1", "a:99999999999999999999", "^a", "a:0:0", "\ud800"):
            with pytest.raises((ValueError, KeyError, TypeError, tf.errors.OpError)):
                sess.run(name)
        with pytest.raises(tf.errors.NotFoundError):
            sess._core.make_callable([], ["a:0\nb:0"], [], None)
        assert sess.run("a:0") == 1.0


def test_types_of_parts_that_do_not_fit():
    g = graph(
        placeholder("z", tf.complex64), node("real", "Real", "z", T=tf.complex64, Tout=tf.float64),
        placeholder("x"), node("complex", "Complex", "x", "x", T=f32, Tout=tf.complex128))
    with tf.Session(graph=g) as sess:
        for fetch, feeds in (("real:0", {"z:0": 1j}), ("complex:0", {"x:0": 1.0})):
            with pytest.raises(tf.errors.NotFoundError, match="No registered"):
                sess.run(fetch, feeds)


def test_sizes_past_all_memory():
    i64 = tf.int64
    g = graph(
        placeholder("n", i64), placeholder("x"), placeholder("s", tf.string), const("zero", 0, np.int64), const("one", 1, np.int64), const("word", "w", object),
        node("range", "Range", "zero", "n", "one", Tidx=i64), node("tile", "Tile", "x", "n", T=f32, Tmultiples=i64),
        node("broadcast", "BroadcastTo", "x", "n", T=f32, Tidx=i64), node("words", "Fill", "n", "word", T=tf.string, index_type=i64),
        node("empty", "Empty", "dims", dtype=f32, init=True), placeholder("dims", i32), node("pad", "Pad", "x", "pads", T=f32, Tpaddings=i64), placeholder("pads", i64))
    huge = 1 << 40
    with tf.Session(graph=g) as sess:
        for fetch, feeds in [
            ("range:0", {"n:0": huge}), ("tile:0", {"x:0": [1.0], "n:0": [huge]}), ("broadcast:0", {"x:0": 1.0, "n:0": [huge, huge]}),
            ("words:0", {"n:0": [huge]}), ("empty:0", {"dims:0": [2**31 - 1] * 2}), ("pad:0", {"x:0": [1.0], "pads:0": [[0, huge]]}),
        ]:
            with pytest.raises((tf.errors.ResourceExhaustedError, tf.errors.InvalidArgumentError)) as raised:
                sess.run(fetch, feeds)
            assert raised.value.node_name == fetch[:-2], raised.value
        assert sess.run("range:0", {"n:0": 3}).tolist() == [0, 1, 2]


def test_sessions_closed_while_many_threads_use_them():
    g = graph(placeholder("x"), node("y", "MatMul", "x", "x", T=f32, transpose_a=False, transpose_b=False))
    x = np.eye(64, dtype=np.float32)
    for _ in range(10):
        sess = tf.Session(graph=g)
        other = []

        def run():
            try:
                while True:
                    np.testing.assert_array_equal(sess.run("y:0", {"x:0": x}), x)
            except tf.errors.CancelledError:
                pass
            except RuntimeError as error:  # closed before the step began
                if "closed" not in str(error):
                    other.append(error)
            except Exception as error:  # noqa: BLE001
                other.append(error)

        threads = [threading.Thread(target=run) for _ in range(4)]
        for t in threads:
            t.start()
        sess.close()
        for t in threads:
            t.join(30)
            assert not t.is_alive()
        assert not other
