"""Checkpoints of the first format, by the ops that write and read them: what one module writes, the other reads."""

import numpy as np
import pytest

import flowmill
from compare import _described

_TYPES = ["float32", "float64", "int32", "int64", "uint8", "int16", "int8", "complex64", "bool", "string"]


def _values():
    made = {}
    for i, name in enumerate(_TYPES):
        if name == "string":
            made[name] = np.array([[b"a", b""], [b"\x00\xff", b"word" * 100]], object)
        elif name == "bool":
            made[name] = np.array([[True, False, True]])
        else:
            made[name] = (np.arange(6).reshape(2, 3) * (i + 1) - 3).astype(name)
    made["a/scalar"] = np.float32(2.5)
    made["empty"] = np.zeros([0, 4], np.float32)
    return made


def _save(tf, path, values):
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.raw_ops.Save(filename=path, tensor_names=list(values), data=[tf.constant(v) for v in values.values()]))


def _restore(tf, path, values):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run({n: tf.raw_ops.Restore(file_pattern=path, tensor_name=n, dt=tf.as_dtype(tf.constant(v).dtype)) for n, v in values.items()})


@pytest.mark.parametrize("writes", [False, True], ids=["TensorFlow writes", "we write"])
def test_tensors_are_kept(tf1, tmp_path, writes):
    path, kept = str(tmp_path / "checkpoint"), _kept(tf1, tmp_path)
    values = {n: v for n, v in _values().items() if n in kept}
    assert len(values) > 9
    writer, reader = (flowmill, tf1) if writes else (tf1, flowmill)
    _save(writer, path, values)
    for tf in (reader, writer):
        for name, found in _restore(tf, path, values).items():
            assert found.dtype == np.asarray(values[name]).dtype or found.dtype == object
            np.testing.assert_array_equal(found, values[name], err_msg=name)
    assert (tmp_path / "checkpoint").is_file()


def _kept(tf1, tmp_path):
    """The types that TensorFlow's op writes."""
    kept = set()
    for name, value in _values().items():
        try:
            _save(tf1, str(tmp_path / "try"), {name: value})
        except (tf1.errors.OpError, TypeError, ValueError):
            continue
        kept.add(name)
    return kept


@pytest.mark.parametrize("writes", [False, True], ids=["TensorFlow writes", "we write"])
def test_slices_make_a_whole(tf1, tmp_path, writes):
    path = str(tmp_path / "checkpoint")
    whole = np.arange(24, dtype=np.float32).reshape(4, 6)
    writer, reader = (flowmill, tf1) if writes else (tf1, flowmill)
    with writer.Graph().as_default(), writer.Session() as session:
        session.run(writer.raw_ops.SaveSlices(
            filename=path, tensor_names=["w", "w", "b"], shapes_and_slices=["4 6 0,2:-", "4 6 2,2:-", ""],
            data=[writer.constant(whole[:2]), writer.constant(whole[2:]), writer.constant([7, 8])]))
    for tf in (reader, writer):
        with tf.Graph().as_default(), tf.Session() as session:
            def slice_of(what):
                return tf.raw_ops.RestoreSlice(file_pattern=path, tensor_name="w", shape_and_slice=what, dt=tf.float32)

            found = session.run([slice_of(""), slice_of("4 6 0,2:-"), slice_of("4 6 1,2:0,3"), slice_of("4 6 -:4,2"),
                                 tf.raw_ops.Restore(file_pattern=path, tensor_name="b", dt=tf.int32)])
        for mine, wanted in zip(found, [whole, whole[:2], whole[1:3, :3], whole[:, 4:6], [7, 8]]):
            np.testing.assert_array_equal(mine, wanted)


def test_savers_of_the_first_format(tf1, tmp_path):
    def variables(tf):
        return [tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=False),
                tf.get_variable("scope/w", initializer=tf.constant([[3, 4]]), use_resource=True)]

    for writer, reader in ((tf1, flowmill), (flowmill, tf1)):
        directory = tmp_path / writer.__name__
        directory.mkdir()
        with writer.Graph().as_default(), writer.Session() as session:
            made = variables(writer)
            session.run(writer.global_variables_initializer())
            session.run(writer.assign(made[0], [5.0, 6.0]))
            path = writer.train.Saver(write_version=writer.train.SaverDef.V1).save(session, str(directory / "model"), global_step=3)
        with reader.Graph().as_default(), reader.Session() as session:
            made = variables(reader)
            reader.train.Saver().restore(session, path)
            v, w = session.run(made)
            np.testing.assert_array_equal(v, [5.0, 6.0])
            np.testing.assert_array_equal(w, [[3, 4]])
        assert [(n, list(s)) for n, s in flowmill.train.list_variables(path)] == [("scope/w", [1, 2]), ("v", [2])]


def test_nodes_of_savers_of_the_first_format(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
            tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2))
            saver = tf.train.Saver(write_version=tf.train.SaverDef.V1, max_to_keep=2)
            found.append((str(saver.saver_def), [n for n in _described(graph) if n[0].startswith("save")]))
    assert found[1] == found[0]
    with flowmill.Graph().as_default():
        flowmill.get_variable("v", [1])
        with pytest.raises(ValueError, match="versions 1 and 2, not 3"):
            flowmill.train.Saver(write_version=3)


@pytest.mark.parametrize("writes", [False, True], ids=["TensorFlow writes", "we write"])
def test_a_file_for_each_device(tf1, tmp_path, writes):
    """The checkpoint's name is a pattern of the files' names."""
    made = []

    def variables(tf):
        with tf.device("/cpu:0"):
            v = tf.get_variable("v", initializer=tf.constant(3.0))
        return [v, tf.get_variable("w", initializer=tf.constant([4.0]))]

    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            variables(tf)
            saver = tf.train.Saver(sharded=True, write_version=tf.train.SaverDef.V1)
            made.append((str(saver.saver_def), [n for n in _described(graph) if n[0].startswith("save")]))
    assert made[1] == made[0]
    writer, reader = (flowmill, tf1) if writes else (tf1, flowmill)
    with writer.Graph().as_default(), writer.Session() as session:
        variables(writer)
        session.run(writer.global_variables_initializer())
        saver = writer.train.Saver(sharded=True, write_version=writer.train.SaverDef.V1, max_to_keep=1)
        saver.save(session, str(tmp_path / "old"))
        path = saver.save(session, str(tmp_path / "model"))
    assert path == str(tmp_path / "model-?????-of-00002")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["checkpoint", "model-00000-of-00002", "model-00001-of-00002", "model.meta"]
    assert flowmill.train.checkpoint_exists(path) and flowmill.train.latest_checkpoint(str(tmp_path)) == path
    for tf in (reader, writer):
        with tf.Graph().as_default(), tf.Session() as session:
            v, w = variables(tf)
            tf.train.Saver().restore(session, path)
            assert [session.run(v), *session.run(w)] == [3.0, 4.0]


def test_old_checkpoints_of_the_first_format_are_removed(tmp_path):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        flowmill.get_variable("v", initializer=flowmill.constant([1.0]))
        session.run(flowmill.global_variables_initializer())
        saver = flowmill.train.Saver(write_version=flowmill.train.SaverDef.V1, max_to_keep=1)
        for step in (1, 2):
            saver.save(session, str(tmp_path / "m"), global_step=step, write_meta_graph=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "m-2"]


def test_what_is_not_there(tf1, tmp_path):
    path = str(tmp_path / "checkpoint")
    _save(flowmill, path, {"a": np.float32(1.0)})
    for tf in (tf1, flowmill):
        for name, file, dtype, kinds in (("b", path, tf.float32, tf.errors.NotFoundError), ("a", str(tmp_path / "none"), tf.float32, tf.errors.NotFoundError),
                                         ("a", path, tf.int32, tf.errors.InvalidArgumentError)):
            with tf.Graph().as_default(), tf.Session() as session, pytest.raises(kinds):
                session.run(tf.raw_ops.Restore(file_pattern=file, tensor_name=name, dt=dtype))


def test_parts_of_variables_are_read_from_their_specs(tf1):
    for tf in (tf1, flowmill):
        found = tf.Variable.SaveSliceInfo.from_spec("10 20 0,5:0,20")
        assert (found.full_shape, found.var_offset, found.var_shape, found.spec) == ([10, 20], [0, 0], [5, 20], "10 20 0,5:0,20")
        assert tf.Variable.SaveSliceInfo.from_spec("").full_shape is None
        for bad in ("10", "10 20 0,5:x,20", "a 0,5", "10 0:5", "10 0,b"):
            with pytest.raises(ValueError, match="Spec string"):
                tf.Variable.SaveSliceInfo.from_spec(bad)
