"""Contexts of conditionals and loops go with MetaGraphs, to TensorFlow and back, and let imported loops be differentiated."""

import numpy as np
import pytest

import flowmill


def build(tf):
    x, w = tf.placeholder(tf.float32, [], name="x"), tf.constant(2.0, name="w")
    _, v = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.cond(v < 4.0, lambda: v * w, lambda: v + w)), (0, x), maximum_iterations=9,
                         parallel_iterations=7, name="loop")
    return tf.identity(tf.cond(x > 0, lambda: v * w, lambda: v + 1.0), name="y")


def exported(tf, scope=None):
    with tf.Graph().as_default():
        if scope is None:
            build(tf)
        else:
            with tf.name_scope(scope):
                build(tf)
        return tf.train.export_meta_graph(export_scope=scope)


def messages(meta_graph, tf1):
    from tensorflow.core.protobuf import control_flow_pb2

    return {name: [getattr(control_flow_pb2, kind).FromString(v) for v in meta_graph.collection_def[name].bytes_list.value]
            for name, kind in (("while_context", "WhileContextDef"), ("cond_context", "CondContextDef"))}


def without_values(message):
    """What is the same in both: TensorFlow lists only those outputs of a `Switch` that are taken."""
    for definition in (message, *(getattr(n, n.WhichOneof("ctxt")) for n in message.nested_contexts)):
        values = definition.values_def.values
        values[:] = sorted(v for v in values if "Switch" not in v)
    return message


@pytest.mark.parametrize("scope", [None, "part"])
def test_messages(tf1, scope):
    theirs, ours = (messages(exported(tf, scope), tf1) for tf in (tf1, flowmill))
    assert [len(theirs[k]) for k in theirs] == [len(ours[k]) for k in ours] == [1, 2]
    for name in theirs:
        for a, b in zip(theirs[name], ours[name]):
            if scope is not None:  # TensorFlow leaves the scope in the names of inner contexts, and would put it before them once more
                assert not any(scope in str(n) for n in b.nested_contexts)
                del a.nested_contexts[:], b.nested_contexts[:]
            assert without_values(a) == without_values(b)


@pytest.mark.usefixtures("control_flow")
def test_imported_loops_have_gradients(tf1):
    found = []
    for exporter, importer in ((tf1, flowmill), (flowmill, tf1), (tf1, tf1), (flowmill, flowmill)):
        message = importer.MetaGraphDef.FromString(exported(exporter).SerializeToString())
        with importer.Graph().as_default() as graph:
            importer.train.import_meta_graph(message, import_scope="in")
            x, y = graph.get_tensor_by_name("in/x:0"), graph.get_tensor_by_name("in/y:0")
            (gradient,) = importer.gradients(y, x)
            with importer.Session(graph=graph) as session:
                found.append([session.run([y, gradient], {x: value}) for value in (1.5, -3.0)])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0])


def test_contexts_of_operations():
    with flowmill.Graph().as_default() as graph:
        build(flowmill)
        looped = graph.get_operation_by_name("loop/LoopCond")._get_control_flow_context()
        assert looped.name == "loop/while_context" and looped.IsWhileContext() and looped.outer_context is None
        assert looped.pivot.name == "loop/LoopCond:0" and looped.parallel_iterations == 7 and looped.back_prop
        assert len(looped.loop_enters) == len(looped.loop_exits) == 3
        branch = graph.get_operation_by_name("loop/cond/mul")._get_control_flow_context()
        assert branch.IsCondContext() and branch.branch == 1 and branch.outer_context == looped
        assert branch.pred.name == "loop/cond/pred_id:0" and branch.pivot.name == "loop/cond/switch_t:0"
        assert graph.get_operation_by_name("x")._get_control_flow_context() is None
        assert graph.get_collection(flowmill.GraphKeys.WHILE_CONTEXT) == [looped]
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="which is not in the graph"):
            type(looped).from_proto(looped.to_proto(), import_scope="elsewhere")


@pytest.mark.usefixtures("control_flow")
def test_loops_that_are_not_differentiated(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [], name="x")
            y = tf.while_loop(lambda v: v < 5.0, lambda v: v * 2.0, [x], back_prop=False, swap_memory=True)
            assert tf.gradients(y, x) == [None]
            assert tf.gradients(y + x, x)[0] is not None


def test_tensors_of_other_loops_are_no_inputs(tf1):
    for tf in (tf1, flowmill):
        inside = []

        def body(i):
            inside.append(tf.constant(1))  # noqa: B023 - called at once
            return i + inside[0]  # noqa: B023

        with tf.Graph().as_default():
            tf.while_loop(lambda i: i < 10, body, [0])
            name = inside[0].op.name
            with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'sum' because '{name}' is in a while loop"):
                tf.add(1, inside[0], name="sum")
            with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'cond/sum' because '{name}' is in a while loop"):
                tf.cond(tf.less(1, 2), lambda: tf.add(1, inside[0], name="sum"), lambda: tf.constant(0))  # noqa: B023
            with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'while_1/sum' because they are in different while loops"):
                tf.while_loop(lambda i: i < 10, lambda i: tf.add(1, inside[0], name="sum"), [0])  # noqa: B023
            with pytest.raises(ValueError, match=f"Cannot use '{name}' as input to 'while_2/NextIteration' because they are in different while loops"):
                tf.while_loop(lambda i: i < 10, lambda i: inside[0], [0])  # noqa: B023
