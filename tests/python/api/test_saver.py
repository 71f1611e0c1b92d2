"""Checkpoints, graphs with their collections, frozen graphs and SavedModels: each module reads what the other writes."""

import contextlib
import os

import numpy as np
import pytest
from compare import same_error

import flowmill
from flowmill import train

BOTH = pytest.mark.parametrize("writes", ["flowmill", "tensorflow"])
RESOURCE = pytest.mark.parametrize("resource", [False, True])


def modules(tf1, writes):
    return (flowmill, tf1) if writes == "flowmill" else (tf1, flowmill)


def model(tf, resource, offset=0.0):
    v = tf.Variable([1.0 + offset, 2.0], name="v", use_resource=resource)
    n = tf.Variable(np.int64(7 + offset), name="n", use_resource=resource, trainable=False)
    with tf.variable_scope("layer", use_resource=resource, partitioner=tf.fixed_size_partitioner(2)):
        p = tf.get_variable("p", [3, 2], initializer=tf.constant_initializer(3.0 + offset))
    return v, n, tf.convert_to_tensor(p)


def nodes(graph):
    return [(o.name, o.type, [t.name for t in o.inputs], sorted(c.name for c in o.control_inputs), sorted(o.colocation_groups()), o.device)
            for o in graph.get_operations()]


@pytest.mark.parametrize("arguments", [{}, {"sharded": True}, {"reshape": True, "name": "foo"}, {"max_to_keep": 3, "filename": "mine"}])
@RESOURCE
def test_the_operations_of_a_saver(tf1, resource, arguments):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default() as graph:
            model(tf, resource)
            saver = tf.train.Saver(**arguments)
            found.append((nodes(graph), str(saver.as_saver_def())))
    assert found[0] == found[1]


@pytest.mark.parametrize("sharded", [False, True])
@BOTH
@RESOURCE
def test_checkpoints_are_exchanged(tf1, tmp_path, resource, writes, sharded):
    writer, reader = modules(tf1, writes)
    prefix = str(tmp_path / "model")
    with writer.Graph().as_default():
        fetches = model(writer, resource, offset=10.0)
        with writer.Session() as session:
            session.run(writer.global_variables_initializer())
            path = writer.train.Saver(sharded=sharded).save(session, prefix, global_step=3)
            want = session.run(fetches)
    assert path == prefix + "-3" and os.path.isfile(path + ".meta") and not os.path.exists(path + "_temp")
    assert reader.train.latest_checkpoint(str(tmp_path)) == path
    with reader.Graph().as_default():
        fetches = model(reader, resource)
        with reader.Session() as session:
            reader.train.Saver().restore(session, path)
            for mine, other in zip(session.run(fetches), want, strict=True):
                np.testing.assert_array_equal(mine, other)
    assert train.list_variables(path) == [("layer/p", [3, 2]), ("n", []), ("v", [2])]


@BOTH
@RESOURCE
def test_graphs_are_exchanged_with_their_variables(tf1, tmp_path, resource, writes):
    writer, reader = modules(tf1, writes)
    with writer.Graph().as_default():
        x = writer.placeholder(writer.float32, [None, 2], name="x")
        v, n, _ = model(writer, resource, 1.0)
        y = writer.identity(x * v, name="y")
        writer.add_to_collection("outputs", y)
        writer.add_to_collection("sizes", 5)
        loss = writer.reduce_sum(y * y)
        step = writer.train.AdamOptimizer(0.1).minimize(loss, name="step")
        writer.add_to_collection("steps", step)
        with writer.Session() as session:
            session.run(writer.global_variables_initializer())
            path = writer.train.Saver().save(session, str(tmp_path / "m"))
            feeds = {"x:0": [[1.0, 1.0]]}
            want = session.run(y, feeds)
            session.run(step, feeds)
            trained = session.run(v)
    for scope in (None, "in"):
        with reader.Graph().as_default() as graph:
            saver = reader.train.import_meta_graph(path + ".meta", import_scope=scope, clear_devices=True)
            prefix = "in/" if scope else ""
            (out,), (op,) = reader.get_collection("outputs"), reader.get_collection("steps")
            assert out.name == prefix + "y:0" and reader.get_collection("sizes") == [5] and op.name == prefix + "step"
            variables = {v.name: v for v in reader.global_variables()}
            assert variables[prefix + "layer/p/part_1:0"]._get_save_slice_info().spec == "3 2 2,1:0,2"
            assert len(reader.trainable_variables()) == 3
            with reader.Session() as session:
                saver.restore(session, path)
                np.testing.assert_allclose(session.run(out, {prefix + "x:0": [[1.0, 1.0]]}), want)
                session.run(op, {prefix + "x:0": [[1.0, 1.0]]})
                np.testing.assert_allclose(session.run(graph.get_tensor_by_name(variables[prefix + "v:0"].value().name)), trained, rtol=1e-5)


def test_a_meta_graph_says_what_tensorflows_says(tf1):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default():
            with tf.variable_scope("part"):
                tf.get_variable("w", [2], regularizer=lambda x: x * 2.0)
                tf.get_variable("r", [2], use_resource=True)
            saver = tf.train.Saver()
            tf.add_to_collection("numbers", 1.5)
            tf.add_to_collection(tf.GraphKeys.SAVERS, saver)
            for arguments in ({}, {"export_scope": "part"}, {"collection_list": ["numbers"]}):
                message = tf.train.export_meta_graph(**arguments) if arguments else saver.export_meta_graph(strip_default_attrs=True)
                found.append((
                    arguments, [n.name for n in message.graph_def.node], {k: str(v) for k, v in message.collection_def.items()}, str(message.saver_def),
                    sorted(op.name for op in message.meta_info_def.stripped_op_list.op)))
                if not arguments:
                    attrs = {n.name: sorted(k for k in n.attr if k != "_has_manual_control_dependencies") for n in message.graph_def.node}
                    found.append(("attributes", attrs))
    half = len(found) // 2
    for mine, other in zip(found[:half], found[half:], strict=True):
        assert mine == other


def test_which_checkpoints_stay(tmp_path):
    tf = flowmill
    with tf.Graph().as_default():
        v = tf.Variable(1.0, name="v")
        step = tf.train.get_or_create_global_step()
        saver = tf.train.Saver({"renamed": v, "step": step}, max_to_keep=2)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            paths = [saver.save(session, str(tmp_path / "m"), global_step=i) for i in range(3)]
            session.run(step.assign(12))
            paths.append(saver.save(session, str(tmp_path / "m"), global_step=step, write_meta_graph=False))
            assert paths[-1].endswith("m-12") and saver.last_checkpoints == paths[-2:]
            assert sorted(os.listdir(tmp_path)) == sorted([
                "checkpoint", "m-2.index", "m-2.data-00000-of-00001", "m-2.meta", "m-12.index", "m-12.data-00000-of-00001"])
            state = tf.train.get_checkpoint_state(str(tmp_path))
            assert state.model_checkpoint_path == paths[-1] and list(state.all_model_checkpoint_paths) == paths[-2:]
            assert tf.train.list_variables(str(tmp_path)) == [("renamed", []), ("step", [])]
            assert len(tf.train.get_checkpoint_mtimes(paths)) == 2
            again = tf.train.Saver({"renamed": v, "step": step}, max_to_keep=1)
            again.recover_last_checkpoints(state.all_model_checkpoint_paths)
            again.save(session, str(tmp_path / "m"), global_step=13)
            assert not os.path.exists(paths[-1] + ".index")
            relative = tf.train.Saver([v], save_relative_paths=True)
            relative.save(session, str(tmp_path / "r"))
            assert tf.train.get_checkpoint_state(str(tmp_path)).model_checkpoint_path == str(tmp_path / "r")
            assert 'model_checkpoint_path: "r"' in (tmp_path / "checkpoint").read_text()
            tf.train.remove_checkpoint(str(tmp_path / "r"))
            assert not list(tmp_path.glob("r.*"))


def test_reshaped_and_missing(tmp_path):
    tf = flowmill
    with tf.Graph().as_default():
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
        with tf.Session() as session:
            session.run(v.initializer)
            path = tf.train.Saver().save(session, str(tmp_path / "m"))
    with tf.Graph().as_default():
        v = tf.Variable([0.0] * 4, name="v")
        with tf.Session() as session:
            tf.train.Saver(reshape=True).restore(session, path)
            np.testing.assert_array_equal(session.run(v), [1, 2, 3, 4])
            with pytest.raises(tf.errors.InvalidArgumentError, match="a mismatch between the current graph and the graph from the checkpoint"):
                tf.train.Saver().restore(session, path)
            other = tf.train.Saver({"w": v})
            with pytest.raises(tf.errors.NotFoundError, match="a Variable name or other graph key that is missing from the checkpoint"):
                other.restore(session, path)
            with pytest.raises(ValueError, match="The passed save_path is not a valid checkpoint"):
                other.restore(session, str(tmp_path / "nothing"))


ERRORS = {
    "nothing": (lambda tf: tf.train.Saver(), "No variables to save"),
    "twice": (lambda tf: tf.train.Saver([v := tf.Variable(1.0), v]), "At least two variables have the same name: Variable"),
    "two names": (lambda tf: tf.train.Saver({"a": (v := tf.Variable(1.0)), "b": v}), "The same saveable will be restored with two names"),
    "no variable": (lambda tf: tf.train.Saver({"a": tf.constant(1.0)}), "names_to_saveables must be a dict mapping string names to Tensors/Variables"),
    "deferred": (lambda tf: tf.train.Saver([tf.Variable(1.0)], defer_build=True), "If `var_list` is provided then build cannot be deferred"),
    "file": (lambda tf: tf.train.import_meta_graph("/no/such/file"), "does not exist"),
    "sub graph": (lambda tf: tf.graph_util.extract_sub_graph(tf.GraphDef(), ["x"]), "x is not in graph"),
    "names": (lambda tf: tf.graph_util.extract_sub_graph(tf.GraphDef(), "x"), None),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tf1, case):
    same_error(tf1, *ERRORS[case])


@RESOURCE
@BOTH
def test_frozen_graphs(tf1, control_flow, resource, writes):
    writer, reader = modules(tf1, writes)
    with writer.Graph().as_default() as graph:
        x = writer.placeholder(writer.float32, [2], name="x")
        v, _, p = model(writer, resource)
        rows = writer.gather(writer.Variable([[1.0, 2.0], [3.0, 4.0]], use_resource=resource), [1])
        y = writer.cond(writer.reduce_sum(x) > 0.0, lambda: x * v, lambda: x - v)
        y = writer.identity(y + rows[0] + p[0], name="y")
        writer.constant(1.0, name="unused")
        with writer.Session() as session:
            session.run(writer.global_variables_initializer())
            want = session.run(y, {x: [1.0, 1.0]})
            frozen = writer.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y"])
    assert not [n.name for n in frozen.node if n.op.startswith(("Variable", "VarHandle", "Assign", "Read", "Resource", "Ref")) or n.name == "unused"]
    smaller = writer.graph_util.remove_training_nodes(frozen, protected_nodes=["y"])
    # TensorFlow's leaves the functions out.
    for graph_def in (frozen,) if control_flow == "functions" and writer is tf1 else (frozen, smaller):
        with reader.Graph().as_default():
            y, = reader.import_graph_def(reader.GraphDef.FromString(graph_def.SerializeToString()), return_elements=["y:0"], name="")
            with reader.Session() as session:
                np.testing.assert_allclose(session.run(y, {"x:0": [1.0, 1.0]}), want)


def test_written_graphs(tmp_path):
    tf = flowmill
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
        path = tf.train.write_graph(graph, str(tmp_path / "d"), "g.pb", as_text=False)
        with open(path, "rb") as file:
            assert [n.name for n in tf.GraphDef.FromString(file.read()).node] == ["c"]


@RESOURCE
@BOTH
def test_saved_models(tf1, tmp_path, resource, writes):
    writer, reader = modules(tf1, writes)
    asset = tmp_path / "words.txt"
    asset.write_text("hello")
    directory = str(tmp_path / "model")
    with writer.Graph().as_default():
        x = writer.placeholder(writer.float32, [None, 2], name="x")
        v, n, p = model(writer, resource, 2.0)
        local = writer.Variable(1.0, collections=[writer.GraphKeys.LOCAL_VARIABLES], name="local", use_resource=resource)
        y = writer.identity(x * v + p[0] + local, name="y")
        name = writer.constant(str(asset), name="file")
        content = writer.raw_ops.ReadFile(filename=name)
        text = writer.Variable(content, collections=[writer.GraphKeys.LOCAL_VARIABLES], name="text", use_resource=resource, validate_shape=False).value()
        with writer.Session() as session:
            session.run([writer.global_variables_initializer(), writer.local_variables_initializer()])
            want = session.run(y, {x: [[1.0, 2.0]]})
            builder = writer.saved_model.Builder(directory)
            utils = writer.saved_model.signature_def_utils
            signature = utils.predict_signature_def({"in": x}, {"out": y, "text": text})
            assert utils.is_valid_signature(signature)
            builder.add_meta_graph_and_variables(
                session, [writer.saved_model.tag_constants.SERVING], {"serving_default": signature}, assets_collection=[name],
                main_op=writer.saved_model.main_op.main_op(), strip_default_attrs=True)
            builder.add_meta_graph(["other"], {"serving_default": signature})
            builder.save()
    asset.unlink()
    with reader.Graph().as_default(), reader.Session() as session:
        message = reader.saved_model.loader.load(session, ["serve"], directory)
        outputs = message.signature_def["serving_default"].outputs
        np.testing.assert_allclose(session.run(outputs["out"].name, {"x:0": [[1.0, 2.0]]}), want)
        assert session.run(outputs["text"].name) == b"hello"
        found = reader.saved_model.utils.get_tensor_from_tensor_info(outputs["out"])
        assert found.name == "y:0"


@BOTH
def test_simply_saved(tf1, tmp_path, writes):
    writer, reader = modules(tf1, writes)
    directory = str(tmp_path / "model")
    with writer.Graph().as_default():
        x = writer.placeholder(writer.float32, [2], name="x")
        y = x * writer.Variable([2.0, 3.0])
        with writer.Session() as session:
            session.run(writer.global_variables_initializer())
            writer.saved_model.simple_save(session, directory, {"x": x}, {"y": y})
            with pytest.raises(AssertionError, match="already exists, and isn't empty"):
                writer.saved_model.Builder(directory)
    model = flowmill.saved_model.load(directory)
    np.testing.assert_array_equal(model.signatures["serving_default"](x=[1.0, 1.0])["y"], [2.0, 3.0])
    with reader.Graph().as_default(), reader.Session() as session:
        message = reader.saved_model.load(session, ["serve"], directory)
        np.testing.assert_array_equal(session.run(message.signature_def["serving_default"].outputs["y"].name, {"x:0": [1.0, 1.0]}), [2.0, 3.0])


def test_signatures(tf1):
    def build(tf):
        utils = tf.saved_model.signature_def_utils
        examples, numbers, classes = (tf.placeholder(t, [None], name=t.name) for t in (tf.string, tf.float32, tf.string))
        made = [utils.classification_signature_def(examples, classes, numbers), utils.classification_signature_def(examples, None, numbers),
                utils.regression_signature_def(examples, numbers), utils.predict_signature_def({"a": numbers}, {"b": classes}),
                utils.build_signature_def({"a": tf.saved_model.utils.build_tensor_info(numbers)}, method_name="mine")]
        return [str(m) for m in made], [utils.is_valid_signature(m) for m in made]

    with flowmill.Graph().as_default(), tf1.Graph().as_default():
        assert build(flowmill) == build(tf1)


def test_names_of_methods_are_replaced(tf1, tmp_path):
    found = []
    for tf in (tf1, flowmill):
        directory = str(tmp_path / tf.__name__)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [], name="x")
            tf.saved_model.simple_save(session, directory, {"x": x}, {"y": x * 2.0})
        updater = tf.saved_model.signature_def_utils.MethodNameUpdater(directory)
        updater.replace_method_name("serving_default", "other/method", tags="serve")
        new = directory if tf is tf1 else directory + "_new"  # TensorFlow does not make directories, though it says so
        updater.save(None if tf is tf1 else new)
        with tf.Graph().as_default(), tf.Session() as session:
            graph = tf.saved_model.load(session, ["serve"], new)
            found.append(graph.signature_def["serving_default"].method_name)
        for arguments, match in ((("", "m"), "`signature_key` must be defined."), (("none", "m"), "does not have a signature_def with key: 'none'"),
                                 (("serving_default", "m", "none"), "could not be found in SavedModel")):
            with pytest.raises(ValueError, match=match):
                updater.replace_method_name(*arguments)
        with pytest.raises(OSError, match="SavedModel file does not exist at"):
            tf.saved_model.signature_def_utils.MethodNameUpdater(str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match="Directory already exists"):
        updater.save(new)
    assert found == ["other/method", "other/method"]


def test_graphs_without_training_nodes_have_no_further_fields(tf1):
    found = []
    for tf in (tf1, flowmill):
        graph_def = tf.GraphDef()
        graph_def.node.add(name="A", op="Aop", input=["B"])
        graph_def.node.add(name="B", op="Identity", input=["C"])
        graph_def.node.add(name="C", op="Cop")
        found.append(tf.graph_util.remove_training_nodes(graph_def).SerializeToString())
    assert found[0] == found[1]


@pytest.mark.parametrize("max_to_keep", [None, 0])
def test_savers_that_keep_all_remember_none(tf1, tmp_path, max_to_keep):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.Variable(1.0)
            saver = tf.train.Saver([v], max_to_keep=max_to_keep)
            session.run(v.initializer)
            path = saver.save(session, str(tmp_path / tf.__name__ / "s"))
            assert saver.last_checkpoints == [] and tf.train.latest_checkpoint(str(tmp_path / tf.__name__)) == path


@pytest.mark.parametrize("import_scope", [None, "inner"])
@pytest.mark.parametrize("around", [[], ["model"], ["model", "part"]])
def test_a_meta_graph_is_imported_into_the_name_scope(tf1, around, import_scope):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            v = tf.Variable([1.0, 2.0], name="v")
            tf.add_to_collection("results", tf.identity(v * 2.0, "doubled"))
            tf.train.Saver()
            message = tf.train.export_meta_graph()
        assert message.meta_info_def.tensorflow_git_version
        with tf.Graph().as_default() as graph, contextlib.ExitStack() as scopes:
            for name in around:
                scopes.enter_context(tf.name_scope(name))
            tf.train.import_meta_graph(message, import_scope=import_scope)
            found.append(([op.name for op in graph.get_operations()], [v.name for v in tf.global_variables()], [t.name for t in tf.get_collection("results")]))
    assert found[1] == found[0]
