"""Modules of TensorFlow's inner package that programs import from: their names are objects of the public API."""

import importlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import flowmill as tf
from flowmill.python._modules import MODULES

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "inner_modules.md"

# Names of TensorFlow 1 that TensorFlow 2 has elsewhere, and names that are Flowmill's own.
ELSEWHERE = {
    "framework.function", "framework.test_util", "framework.graph_util", "framework.tensor_util", "layers.base", "ops.rnn_cell", "ops.rnn_cell_impl",
    "ops.array_ops", "ops.control_flow_ops", "platform.googletest", "eager.function", "framework.meta_graph", "ops.losses.util", "framework.device",
    "framework.smart_cond", "pywrap_tensorflow", "layers.core", "layers.convolutional", "layers.normalization", "layers.pooling", "ops.ref_variable", "framework.graph_util_impl",
    "framework.sparse_tensor", "training.server_lib", "training.checkpoint_management", "layers.utils", "framework.ops",
}


def names_of(module):
    for home, names in MODULES[module].items():
        for entry in names.split() if names != "*" else ():
            outer, _, inner = entry.partition("=")
            yield outer, home, inner or outer


@pytest.mark.parametrize("module", MODULES)
def test_names_are_public_objects(module):
    made = importlib.import_module(f"flowmill.python.{module}")
    for name, home, inner in names_of(module):
        public = importlib.import_module(f"flowmill.{home}" if home else "flowmill")
        assert getattr(made, name) is getattr(public, inner), name
        assert name in dir(made)
    for home in (h for h, names in MODULES[module].items() if names == "*"):
        public = importlib.import_module(f"flowmill.{home}")
        for name in (n for n in dir(public) if not n.startswith("_")):
            assert getattr(made, name) is getattr(public, name), name


@pytest.mark.parametrize("module", sorted(MODULES.keys() - ELSEWHERE))
def test_names_are_those_of_tensorflow(tf1, module):
    try:
        theirs = importlib.import_module(f"tensorflow.python.{module}")
    except ImportError:
        pytest.skip("a module of TensorFlow 1")
    assert not [name for name, _, _ in names_of(module) if not hasattr(theirs, name)]


def test_modules_are_reached_as_attributes():
    from flowmill.python.framework import ops

    assert tf.python.framework.ops is ops
    assert importlib.import_module("flowmill.python.ops.nn").softmax is tf.nn.softmax


@pytest.mark.parametrize("statement", [
    "import flowmill.python.nothing", "import flowmill.python.ops.nothing", "from flowmill.python.ops import nothing",
    "from flowmill.python.ops.array_ops import nothing", "from flowmill.python.ops.gen_array_ops import no_such_op", "from flowmill.python import nothing",
    "import flowmill.python.keras", "from flowmill.python.keras import layers",
])
def test_missing_names(statement):
    with pytest.raises(ImportError, match="flowmill"):
        exec(statement)


def test_missing_attributes():
    from flowmill.python.ops import array_ops, gen_array_ops

    for module in (array_ops, gen_array_ops, tf.python):
        with pytest.raises(AttributeError, match="flowmill"):
            module.no_such_name


@pytest.mark.parametrize(("module", "function", "arguments"), [
    ("gen_math_ops", "mat_mul", ([[1.0, 2.0]], [[3.0], [4.0]])),
    ("gen_math_ops", "_sum", ([[1.0, 2.0]], [1])),
    ("gen_array_ops", "reshape", ([1.0, 2.0], [2, 1])),
    ("gen_array_ops", "concat_v2", ([[1.0], [2.0]], 0)),
    ("gen_nn_ops", "l2_loss", ([1.0, 2.0],)),
    ("gen_nn_ops", "max_pool", (np.ones([1, 4, 4, 1], np.float32), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")),
    ("gen_random_ops", "random_uniform", ([2], tf.float32, 3, 4)),
])
def test_functions_of_ops(tf1, module, function, arguments):
    found = []
    for package, api in (("tensorflow", tf1), ("flowmill", tf)):
        home = importlib.import_module(f"{package}.python.ops.{module}")
        with api.Graph().as_default() as graph, api.Session() as session:
            given = [api.float32 if a is tf.float32 else a for a in arguments]
            found.append((session.run(getattr(home, function)(*given)), [(op.name, op.type) for op in graph.get_operations()]))
    np.testing.assert_array_equal(found[1][0], found[0][0])
    assert found[1][1] == found[0][1]


def test_a_timeline_has_the_operations_of_a_step():
    from flowmill.python.client import timeline

    with tf.Graph().as_default(), tf.Session() as session:
        product = tf.matmul(tf.random_uniform([8, 8]), tf.random_uniform([8, 8]), name="product")
        metadata = tf.RunMetadata()
        session.run(product, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
    events = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())["traceEvents"]
    assert "product" in [e["args"]["name"] for e in events if e["ph"] == "X"]
    assert all(e["dur"] > 0 for e in events if e["ph"] == "X" and e["args"]["op"] == "MatMul")


def test_deprecated_functions_warn_once(monkeypatch):
    from flowmill.python.util import deprecation

    logged = []
    monkeypatch.setattr(tf.logging, "warning", lambda message, *args: logged.append(message % args))

    @deprecation.deprecated("2030-01-01", "Use another.")
    def old(x):
        return x + 1

    @deprecation.deprecated_args(None, "Leave it out.", "size")
    def resized(size=None):
        return size

    assert [old(1), old(2), resized(size=3), resized()] == [2, 3, 3, None]
    assert len(logged) == 2
    assert "after 2030-01-01" in logged[0]
    with deprecation.silence():
        deprecation.deprecated(None, "Use another.")(lambda: None)()
    assert len(logged) == 2


def test_decorators_keep_names():
    from flowmill.python.util import tf_decorator

    def target():
        """Says what it does."""

    def around():
        return target()

    made = tf_decorator.make_decorator(target, around)
    assert made.__name__ == "target"
    assert tf_decorator.unwrap(made) == ([made], target)


def test_the_page_lists_all_modules():
    page = PAGE.read_text()
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}
    for module in MODULES:
        package, _, name = module.partition(".")
        assert f"`{name or package}`" in rows[package], module


def test_importing_the_package_loads_none_of_them():
    code = "import sys, flowmill; sys.exit(any(m.startswith('flowmill.python') for m in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
