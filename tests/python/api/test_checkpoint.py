"""Checkpoints by objects: TensorFlow reads what is written here, and the other way round."""

import numpy as np
import pytest
from compare import same_error

import flowmill

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

BOTH_WAYS = pytest.mark.parametrize("writer, reader", [(0, 1), (1, 0), (1, 1)], ids=["read", "written", "ours"])


def model(tf, start, prefix="", resource=True):
    """Objects that own variables, whose names say nothing of the attributes."""
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(np.float32([1.0, 2.0]) + start, name=prefix + "w", use_resource=resource)
            self.parts = [tf.Variable(3.0 + start, name=prefix + "a", use_resource=resource), tf.Variable([b"s", b"t"], name=prefix + "b")]
            self.named = {"k/1": tf.Variable([1, 2], name=prefix + "q", use_resource=resource), "n.2": tf.Module(name="inner")}
            self.named["n.2"].x = tf.Variable(np.float64(start), name=prefix + "x")
            self.sizes = [1, 2]
    net = Net()
    dense = tf.layers.Dense(2, kernel_initializer=tf.constant_initializer(start + 0.5), name=prefix + "dense")
    out = dense(tf.ones([1, 3]))
    optimizer = tf.train.AdamOptimizer(0.1)
    step = tf.Variable(np.int64(start), name=prefix + "step", use_resource=resource)
    update = optimizer.minimize(tf.reduce_sum(net.w * net.w * net.parts[0]) + tf.reduce_sum(out * out), step, var_list=[net.w, dense.kernel])
    checkpoint = tf.train.Checkpoint(net=net, layer=dense, optimizer=optimizer, step=step)
    checkpoint.more = {"of": net}
    variables = [net.w, *net.parts, net.named["k/1"], net.named["n.2"].x, dense.kernel, dense.bias, step,
                 *(optimizer.get_slot(v, n) for v in (net.w, dense.kernel) for n in ("m", "v"))]
    return checkpoint, update, variables


@pytest.mark.parametrize("resource", [True, False])
@BOTH_WAYS
def test_values_go_both_ways(tf1, tmp_path, writer, reader, resource):
    modules = tf1, flowmill
    tf = modules[writer]
    with tf.Graph().as_default():
        checkpoint, update, variables = model(tf, 1.0, resource=resource)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(update)
            paths = [checkpoint.save(str(tmp_path / "c"), session=session) for _ in range(2)]
            wanted = session.run(variables)
    assert paths == [str(tmp_path / "c-1"), str(tmp_path / "c-2")]
    tf = modules[reader]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[1]
    with tf.Graph().as_default():
        checkpoint, update, variables = model(tf, 5.0, "other_", resource)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            checkpoint.restore(paths[1]).assert_consumed().run_restore_ops(session)
            for got, want in zip(session.run(variables), wanted):
                np.testing.assert_array_equal(got, want)
            assert session.run(checkpoint.save_counter) == 2
        with tf.Session() as session:
            checkpoint.restore(paths[0]).initialize_or_restore(session)
            np.testing.assert_array_equal(session.run(variables[0]), wanted[0])
            assert checkpoint.save(str(tmp_path / "d"), session=session) == str(tmp_path / "d-2")


def test_keys_are_those_of_tensorflow(tf1, tmp_path):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            checkpoint, update, _ = model(tf, 1.0)
            session.run(tf.global_variables_initializer())
            path = checkpoint.save(str(tmp_path / tf.__name__), session=session)
        listed = tf1.train.load_checkpoint(path)
        found.append((sorted(listed.get_variable_to_shape_map().items()), _objects(listed.get_tensor("_CHECKPOINTABLE_OBJECT_GRAPH"))))
    assert found[0][0] == found[1][0]
    assert found[0][1] == found[1][1]


def _objects(serialized):
    """Objects by all names that lead to them; how they are numbered does not matter."""
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    nodes = trackable_object_graph_pb2.TrackableObjectGraph.FromString(serialized).nodes
    found = {}

    def visit(path, place, around):
        node = nodes[place]
        slots = sorted((s.slot_name, nodes[s.original_variable_node_id].attributes[0].checkpoint_key,
                        nodes[s.slot_variable_node_id].attributes[0].checkpoint_key) for s in node.slot_variables)
        # TensorFlow lists lists and dictionaries of numbers and what Keras keeps of layers, too: objects without values.
        if node.attributes or slots:
            found[path] = [(a.name, a.full_name, a.checkpoint_key) for a in node.attributes], slots
        for child in node.children:
            if child.node_id not in around:
                visit(f"{path}.{child.local_name}", child.node_id, around | {child.node_id})
    visit("root", 0, {0})
    return found


def test_what_does_not_match(tf1, tmp_path):
    def variables(tf, *names):
        return {name: tf.Variable(float(i), name=name, use_resource=True) for i, name in enumerate(names)}
    for tf in (tf1, flowmill):
        prefix = str(tmp_path / tf.__name__)
        with tf.Graph().as_default(), tf.Session() as session:
            saved = tf.train.Checkpoint(**variables(tf, "a", "b"))
            session.run(tf.global_variables_initializer())
            prefix = saved.save(prefix, session=session)
            fewer = tf.train.Checkpoint(a=saved.a)
            with pytest.raises(AssertionError, match="Unresolved object in checkpoint"):
                fewer.restore(prefix).assert_consumed()
            fewer.restore(prefix).expect_partial().run_restore_ops(session)
            more = tf.train.Checkpoint(a=saved.a, b=saved.b, c=tf.Variable(7.0, use_resource=True))
            with pytest.raises(AssertionError, match="Found 1 Python objects that were not bound to checkpointed values"):
                more.restore(prefix).assert_consumed()
            if tf is flowmill:
                with pytest.raises(AssertionError, match="Found 1 Python objects"):
                    more.restore(prefix).assert_existing_objects_matched()
                fewer.restore(prefix).assert_existing_objects_matched().assert_nontrivial_match()
                saved.write(prefix, session)
                with pytest.raises(AssertionError, match="Nothing except the root object matched a checkpointed value"):
                    tf.train.Checkpoint(z=more.c).read(prefix).assert_nontrivial_match()
            more.restore(prefix).initialize_or_restore(session)
            assert session.run([more.a, more.b, more.c]) == [0.0, 1.0, 7.0]
            fresh = tf.train.Checkpoint(a=tf.Variable(9.0, use_resource=True))
            with pytest.raises(AssertionError, match=r"No checkpoint specified \(save_path=None\)"):
                fresh.restore(None).assert_consumed()
            fresh.restore(None).initialize_or_restore(session)
            assert session.run(fresh.a) == 9.0
    same_error(tf1, lambda tf: tf.train.Checkpoint(a=3), "`Checkpoint` was expecting a trackable object (an object derived from `Trackable`), got 3")
    same_error(tf1, lambda tf: tf.train.Checkpoint().restore("/no/such/file"))


def test_checkpoints_by_names_are_read(tmp_path):
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        v, w = tf.Variable(3.0, name="v", use_resource=True), tf.Variable([1, 2], name="w", use_resource=True)
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "names"))
        session.run([v.assign(0.0), w.assign([0, 0])])
        tf.train.Checkpoint(first=v, others=[w]).restore(path).run_restore_ops(session)
        assert session.run(v) == 3.0 and session.run(w).tolist() == [1, 2]


def test_objects_may_come_after_the_checkpoint(tmp_path):
    tf = flowmill
    with tf.Graph().as_default(), tf.Session() as session:
        module = tf.Module()
        status = None
        saved = tf.train.Checkpoint(m=tf.Module())
        saved.m.v = tf.Variable(2.0)
        session.run(tf.global_variables_initializer())
        path = saved.write(str(tmp_path / "late"), session)
        status = tf.train.Checkpoint(m=module).read(path)
        module.v = tf.Variable(5.0)
        status.assert_consumed().run_restore_ops(session)
        assert session.run(module.v) == 2.0


def test_the_newest_are_kept(tf1, tmp_path):
    found = []
    for tf in (tf1, flowmill):
        directory = tmp_path / tf.__name__
        with tf.Graph().as_default(), tf.Session().as_default() as session:
            v = tf.Variable(1.0, use_resource=True)
            checkpoint = tf.train.Checkpoint(v=v)
            manager = tf.train.CheckpointManager(checkpoint, str(directory), max_to_keep=2, checkpoint_name="model")
            session.run(tf.global_variables_initializer())
            if tf is tf1:
                session.run(checkpoint.save_counter.initializer)
            paths = [manager.save() for _ in range(3)] + [manager.save(checkpoint_number=9)]
            session.run(v.assign(5.0))
            again = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(directory), max_to_keep=2)
            found.append(([p.removeprefix(str(directory)) for p in (*paths, *manager.checkpoints, again.latest_checkpoint, *again.checkpoints)],
                          sorted(p.name for p in directory.iterdir())))
            tf.train.Checkpoint(v=v).restore(again.latest_checkpoint).run_restore_ops(session)
            assert session.run(v) == 1.0
    assert found[0] == found[1]
    same_error(tf1, lambda tf: tf.train.CheckpointManager(tf.train.Checkpoint(), "x", 0), "Expected a positive integer or `None` for `max_to_keep`")


@pytest.mark.parametrize("dense", [False, True])
def test_tables_are_saved_with_objects(tmp_path, dense):
    def table():
        keys = {"empty_key": -1, "deleted_key": -2} if dense else {}
        return (flowmill.lookup.experimental.DenseHashTable if dense else flowmill.lookup.experimental.MutableHashTable)(
            flowmill.int64, flowmill.int64, 0, **keys)

    with flowmill.Graph().as_default(), flowmill.Session() as session:
        saved, variable = table(), flowmill.Variable(2.0)
        session.run([saved.insert([1, 2], [10, 20]), variable.initializer])
        checkpoint = flowmill.train.Checkpoint(table=saved, v=variable)
        path = checkpoint.write(tmp_path / "ckpt")
        count = len(session.graph.get_operations())
        checkpoint.write(tmp_path / "again")
        assert len(session.graph.get_operations()) == count
        assert {"table/.ATTRIBUTES/table-keys", "table/.ATTRIBUTES/table-values"} <= {name for name, _ in flowmill.train.list_variables(path)}
        other = table()
        session.run(other.insert([3], [30]))
        status = flowmill.train.Checkpoint(table=other, v=variable).read(path)
        status.run_restore_ops()
        count = len(session.graph.get_operations())
        status.run_restore_ops()
        assert len(session.graph.get_operations()) == count
        assert session.run(other.lookup(flowmill.constant([1, 2, 3], flowmill.int64))).tolist() == [10, 20, 0]


CELLS = {
    "basic": lambda c: c.BasicRNNCell(2),
    "gates": lambda c: c.GRUCell(2),
    "basic lstm": lambda c: c.BasicLSTMCell(2),
    "peepholes": lambda c: c.LSTMCell(3, use_peepholes=True, num_proj=2),
    "dropout": lambda c: c.DropoutWrapper(c.GRUCell(2), 0.5),
    "residual": lambda c: c.ResidualWrapper(c.BasicRNNCell(2)),
    "device": lambda c: c.DeviceWrapper(c.BasicRNNCell(2), "/cpu:0"),
    "stack": lambda c: c.MultiRNNCell([c.BasicRNNCell(2), c.DropoutWrapper(c.GRUCell(2))]),
    "stack of stacks": lambda c: c.MultiRNNCell((c.MultiRNNCell([c.BasicRNNCell(2)]), c.LSTMCell(2))),
}


@pytest.mark.parametrize("make", CELLS.values(), ids=CELLS)
def test_checkpoints_of_cells_are_exchanged(tf1, tmp_path, make):
    """The keys are the names that variables were made with; stacked cells have numbers."""
    paths, values, keys = [], [], []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session, session.as_default():
            cell = make(tf.nn.rnn_cell)
            cell(tf.ones([1, 2]), cell.zero_state(1, tf.float32))
            session.run(tf.global_variables_initializer())
            paths.append(tf.train.Checkpoint(cell=cell).save(str(tmp_path / tf.__name__)))
            values.append(session.run([v for v in tf.global_variables() if v.name != "save_counter:0"]))
            keys.append([name for name, _ in tf.train.list_variables(paths[-1])])
    assert keys[1] == keys[0]
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        cell = make(flowmill.nn.rnn_cell)
        cell(flowmill.ones([1, 2]), cell.zero_state(1, flowmill.float32))
        variables = flowmill.global_variables()
        for path, expected in zip(paths, values):
            flowmill.train.Checkpoint(cell=cell).restore(path).assert_consumed().run_restore_ops(session)
            for ours, theirs in zip(session.run(variables), expected, strict=True):
                np.testing.assert_array_equal(ours, theirs)
