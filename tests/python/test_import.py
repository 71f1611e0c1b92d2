"""Importing graphs, and looking at them."""

import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import flowmill as tf
from nodes import binary, const, graph, graph_def, node, placeholder, tensor_proto


def two():
    return graph_def(const("a", 1.0), const("b", [1.0, 2.0]), binary("sum", "AddV2", "a", "b"))


def test_sources(tmp_path, tf1):
    message = two()
    path = tmp_path / "graph.pb"
    path.write_bytes(message.SerializeToString())
    theirs = tf1.GraphDef.FromString(message.SerializeToString())
    for source in (message, theirs, message.SerializeToString(), bytearray(message.SerializeToString()), path, str(path)):
        with tf.Graph().as_default() as g:
            assert tf.import_graph_def(source, name="") is None
        assert [op.name for op in g.get_operations()] == ["a", "b", "sum"]
        with tf.Session(graph=g) as sess:
            np.testing.assert_array_equal(sess.run("sum:0"), [2, 3])
        assert g.as_graph_def() == message
    with pytest.raises(TypeError, match="must be a GraphDef proto"):
        tf.import_graph_def(3)
    with pytest.raises(tf.errors.NotFoundError):
        tf.import_graph_def(tmp_path / "none.pb")


def test_prefixes():
    with tf.Graph().as_default() as g:
        assert tf.import_graph_def(two(), return_elements=["sum"])[0].name == "import/sum"
        assert tf.import_graph_def(two(), return_elements=["sum:0"])[0].name == "import_1/sum:0"
        assert tf.import_graph_def(two(), name="here", return_elements=["a", "sum:0"]) == [
            g.get_operation_by_name("here/a"), g.get_tensor_by_name("here/sum:0")]
        assert g.unique_name("here") == "here_1"
        tf.import_graph_def(two(), name="")
        assert tf.import_graph_def(two(), name="", return_elements=["sum"])[0].name == "sum_1"
        assert len(g.get_operations()) == 15


def test_input_map():
    with tf.Graph().as_default() as g:
        x, = tf.import_graph_def(graph_def(const("x", 10.0), node("first", "NoOp")), name="", return_elements=["x:0"])
        out, = tf.import_graph_def(two(), name="mapped", input_map={"a": x}, return_elements=["sum:0"])
        with tf.Session() as sess:
            np.testing.assert_array_equal(sess.run(out), [11, 12])
        controlled = graph_def(node("start", "NoOp"), node("then", "NoOp", "^start"))
        then, = tf.import_graph_def(controlled, name="c", input_map={"^start": g.get_operation_by_name("first")}, return_elements=["then"])
        assert then.control_inputs == [g.get_operation_by_name("first")]
        with pytest.raises(ValueError, match=r"not found in graph_def: \[nowhere:0\]"):
            tf.import_graph_def(two(), name="again", input_map={"nowhere:0": x})
        with pytest.raises(TypeError, match="must be a dictionary"):
            tf.import_graph_def(two(), input_map=[x])
        with pytest.raises(TypeError, match="must be strings"):
            tf.import_graph_def(two(), input_map={1: x})
        with pytest.raises(ValueError):
            tf.import_graph_def(two(), input_map={"a:0": graph(const("q", 1.0)).get_tensor_by_name("q:0")})


def test_return_elements():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="not found in graph def"):
            tf.import_graph_def(two(), return_elements=["c"])
        with pytest.raises(ValueError, match="Invalid return output 1"):
            tf.import_graph_def(two(), return_elements=["a:1"])
        with pytest.raises(TypeError, match="list of strings"):
            tf.import_graph_def(two(), return_elements=[3])
        assert tf.get_default_graph().version == 0  # nothing of it stays


def test_finalized_graphs_take_nothing():
    with tf.Graph().as_default() as g:
        g.finalize()
        with pytest.raises(RuntimeError, match="finalized"):
            tf.import_graph_def(two())


def test_producer_op_list():
    message = two()
    message.node[2].attr["from_the_future"].b = False
    ops = tf.OpList()
    op = ops.op.add(name="AddV2")
    op.attr.add(name="from_the_future", type="bool").default_value.b = False
    with tf.Graph().as_default() as g:
        tf.import_graph_def(message, producer_op_list=ops)
        assert "from_the_future" not in g.get_operation_by_name("import/sum").node_def.attr


def test_operations_and_tensors():
    g = graph(
        placeholder("x", shape=[None, 3]), node("go", "NoOp"),
        node("split", "Split", "axis", "x", num_split=3, T=tf.float32), const("axis", 1, np.int32),
        node("cast", "Cast", "split:1", "^go", SrcT=tf.float32, DstT=tf.int64), node("v", "VariableV2", dtype=tf.float32, shape=tf.TensorShape([2])))
    x, split, cast = (g.get_operation_by_name(n) for n in ("x", "split", "cast"))
    assert (split.name, split.type, len(split.outputs), split.device) == ("split", "Split", 3, "")
    assert g.get_tensor_by_name("split:1") is split.outputs[1] is cast.inputs[0]
    assert split.inputs == (g.get_tensor_by_name("axis:0"), x.outputs[0])
    assert cast.control_inputs == [g.get_operation_by_name("go")]
    assert x.outputs[0].consumers() == [split]
    assert cast.outputs[0].dtype == tf.int64 and x.outputs[0].dtype is tf.float32
    assert g.get_operation_by_name("v").outputs[0].dtype.name == "float32_ref"
    assert x.outputs[0].shape.as_list() == [None, 3]
    assert split.get_attr("num_split") == 3 and split.get_attr("T") is tf.float32
    assert cast.get_attr("Truncate") is False
    assert g.get_operation_by_name("axis").get_attr("value").dtype == 3
    assert [d.size for d in x.get_attr("shape").dim] == [-1, 3]
    with pytest.raises(ValueError, match="no attr named 'nothing'"):
        split.get_attr("nothing")
    assert split.node_def.input == ["axis", "x"] and split.op_def.name == "Split"
    assert g.as_graph_element("x") is x and g.as_graph_element(x.outputs[0]) is x.outputs[0]
    assert len({x.outputs[0].ref(), x.outputs[0].ref(), cast.outputs[0].ref()}) == 2
    assert str(x.outputs[0]) == 'Tensor("x:0", shape=(?, 3), dtype=float32)'
    with pytest.raises(TypeError, match="bool"):
        bool(x.outputs[0])
    with pytest.raises(KeyError, match="not in the graph"):
        g.get_operation_by_name("y")
    with pytest.raises(ValueError, match="refers to an Operation"):
        g.get_tensor_by_name("x")
    with pytest.raises(TypeError, match="strings"):
        g.get_tensor_by_name(3)
    x.outputs[0].set_shape([4, None])
    assert x.outputs[0].shape.as_list() == [4, 3]
    with pytest.raises(ValueError):
        x.outputs[0].set_shape([5, 3])


def test_scripts_edit_messages():
    message = two()
    message.node[0].attr["value"].tensor.CopyFrom(tensor_proto(np.float32(5)))
    for n in message.node:
        n.device = "/device:CPU:0"
    with tf.Graph().as_default() as g:
        out, = tf.import_graph_def(message, name="", return_elements=["sum:0"])
        assert out.device == "/device:CPU:0"
        with tf.Session() as sess:
            np.testing.assert_array_equal(sess.run(out), [6, 7])
    assert len(g.as_graph_def(from_version=2).node) == 1
    assert [s.dim[0].size for s in g.as_graph_def(add_shapes=True).node[1].attr["_output_shapes"].list.shape] == [2]


def test_default_graphs():
    tf.reset_default_graph()
    outer = tf.get_default_graph()
    assert tf.get_default_graph() is outer
    with tf.Graph().as_default() as g:
        assert tf.get_default_graph() is g
        with pytest.raises(AssertionError):
            tf.reset_default_graph()
    assert tf.get_default_graph() is outer
    tf.reset_default_graph()
    assert tf.get_default_graph() is not outer


def test_collections():
    g = tf.Graph()
    g.add_to_collection("losses", 1)
    g.add_to_collections(["losses", "all"], 2)
    assert g.get_collection("losses") == [1, 2] and g.get_collection("none") == []
    g.get_collection_ref("all").append(3)
    assert g.get_collection("all") == [2, 3]
    assert sorted(g.get_all_collection_keys()) == ["all", "losses"]


def test_dtypes():
    assert tf.as_dtype("float32") is tf.as_dtype(np.float32) is tf.as_dtype(1) is tf.as_dtype(float) is tf.float32
    assert tf.as_dtype(np.dtype("<i8")) is tf.int64 and tf.as_dtype(object) is tf.string and tf.as_dtype(np.dtype("U3")) is tf.string
    assert tf.float32 == np.float32 and tf.float32 != np.float64 and tf.float32 != "nothing"
    assert tf.float32.as_numpy_dtype is np.float32 and tf.string.as_numpy_dtype is object
    assert tf.complex64.real_dtype is tf.float32 and tf.int8.min == -128 and tf.uint16.max == 65535 and tf.float16.max == 65504
    assert tf.int32.is_integer and not tf.bool.is_integer and tf.bfloat16.is_floating and tf.bfloat16.size == 2
    assert tf.as_dtype(101).base_dtype is tf.float32 and tf.as_dtype(101)._is_ref_dtype
    for name in ("nothing", "int", "U3"):
        with pytest.raises(TypeError, match="Cannot convert"):
            tf.as_dtype(name)


def test_dtypes_are_tensorflows(tf1):
    for number in range(1, 31):
        theirs, ours = tf1.as_dtype(number), tf.as_dtype(number)
        for attribute in ("name", "is_integer", "is_floating", "is_complex", "is_bool", "is_quantized", "is_unsigned", "size"):
            assert getattr(ours, attribute) == getattr(theirs, attribute), (ours, attribute)
        assert (repr(ours), str(ours), hash(ours)) == (repr(theirs), str(theirs), hash(theirs))


def test_shapes():
    s = tf.TensorShape([None, 3])
    assert s.as_list() == [None, 3] and s[1].value == 3 and s[0].value is None and s[1] == 3 and len(s) == 2
    assert s.is_compatible_with([5, 3]) and not s.is_compatible_with([5, 4]) and s.merge_with([5, None]) == [5, 3]
    assert tf.TensorShape(None).rank is None and tf.TensorShape([2, 3]).num_elements() == 6 and s.num_elements() is None
    assert str(s) == "(?, 3)" and str(tf.TensorShape([2])) == "(2,)" and str(tf.TensorShape(None)) == "<unknown>"
    assert s.concatenate([1]).as_list() == [None, 3, 1] and s[1:].as_list() == [3]
    assert tf.TensorShape(s.as_proto()) == s
    with pytest.raises(ValueError):
        tf.TensorShape(None).as_list()
    with pytest.raises(ValueError):
        s.merge_with([1, 2, 3])


def test_import_is_light():
    code = "import sys; before = set(sys.modules); import flowmill; print(*{m.partition('.')[0] for m in set(sys.modules) - before})"
    loaded = set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())
    assert "flowmill" in loaded and not loaded & {"google", "tensorflow", "ml_dtypes", "numpy", "inspect"}, loaded


def test_the_package_has_the_modules_of_the_api_and_one_folder_of_internals(tf1):
    found = {module.name for module in pkgutil.iter_modules(tf.__path__)}
    assert "nn" in found and {name for name in found if not hasattr(tf1, name)} == {"__main__", "_core", "_internal", "contrib", "python", "serving"}


def test_import_loads_no_submodule_that_is_not_needed():
    """What the package offers comes with its first use, so that a process that only runs a graph does not pay for what builds one."""
    code = "import sys, flowmill._internal.names as n; print(*(m.removeprefix('flowmill.') for m in sys.modules if m.startswith('flowmill.'))); print(*(m for m, (_, inner) in n.NAMES.items() if not inner))"
    loaded, offered = (set(line.split()) for line in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines())
    assert "_internal.session" in loaded and not loaded & offered, loaded & offered
    assert len(loaded) <= 24, f"each module costs some 0.25 ms: {sorted(loaded)}"


def test_names_are_made_unique():
    with tf.Graph().as_default() as made:
        tf.add(tf.constant(1, name="a"), 2, name="b")
    with tf.Graph().as_default():
        for names in (["a", "b"], ["a_1", "b_1"]):
            found = tf.import_graph_def(made.as_graph_def(), return_elements=["a", "b"], name="")
            assert [op.name for op in found] == names and found[1].inputs[0].op is found[0]


@pytest.mark.parametrize("arguments, error, match", [
    ({"return_elements": ["a:b:c"]}, ValueError, "Cannot convert 'a:b:c' to a tensor name."),
    ({"graph_def": ""}, TypeError, "Argument `graph_def` must be a GraphDef proto"),
    ({"input_map": {"a:0": np.float32(1)}, "name": ""}, ValueError, "requires a non-empty `name` if `input_map` contains non-Tensor values"),
])
def test_wrong_arguments_of_imports(arguments, error, match):
    with tf.Graph().as_default(), pytest.raises(error, match=match):
        tf.import_graph_def(**{"graph_def": tf.GraphDef(), **arguments})
