"""Variables that begin with another program's values, devices of clusters, loops that train."""

import numpy as np
import pytest
from compare import same_error

import flowmill


@pytest.fixture
def checkpoint(tf1, tmp_path):
    """What another program saved."""
    with tf1.Graph().as_default(), tf1.Session() as session:
        tf1.get_variable("words", initializer=np.arange(8, dtype=np.float32).reshape(4, 2))
        tf1.get_variable("columns", initializer=np.arange(8, dtype=np.float32).reshape(2, 4))
        tf1.get_variable("net/w", initializer=np.float32([1.0, 2.0]))
        tf1.get_variable("old_name", initializer=np.float32(7.0))
        session.run(tf1.global_variables_initializer())
        path = tf1.train.Saver().save(session, str(tmp_path / "before"))
    (tmp_path / "old").write_text("a\nb\nc\nd\n")
    (tmp_path / "new").write_text("d\nx\na\n")
    return path


def filled(tf, number):
    """An initializer; TensorFlow's own ones for constants do not take shapes that are tensors."""
    return lambda shape, dtype=None, partition_info=None: tf.fill(shape, number)


CASES = {
    "trainable ones": lambda tf, c, v: tf.train.warm_start(c, "net"),
    "by expressions": lambda tf, c, v: tf.train.warm_start(c, ["net/.*", "words_not_there"]),
    "by themselves": lambda tf, c, v: tf.train.warm_start(c, [v["w"]]),
    "by other names": lambda tf, c, v: tf.train.warm_start(c, [v["w"], v["n"]], var_name_to_prev_var_name={"new_name": "old_name"}),
    "by words": lambda tf, c, v: tf.train.warm_start(c, None, {
        "words": tf.train.VocabInfo(v["new"], 3, 1, v["old"], backup_initializer=filled(tf, -1.0)),
        "columns": tf.train.VocabInfo(v["new"], 3, 1, v["old"], backup_initializer=filled(tf, -2.0), axis=1)}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("resource", [False, True])
def test_variables_begin_with_what_was_saved(tf1, checkpoint, tmp_path, case, resource):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            def variable(name, shape, tf=tf, **options):
                return tf.get_variable(name, shape, initializer=tf.zeros_initializer(), use_resource=resource, **options)
            v = {"words": variable("words", [4, 2]), "columns": variable("columns", [2, 4]), "w": variable("net/w", [2]), "n": variable("new_name", []),
                 "new": str(tmp_path / "new"), "old": str(tmp_path / "old")}
            CASES[case](tf, checkpoint, v)
            session.run(tf.global_variables_initializer())
            found.append(session.run([v[n] for n in ("words", "columns", "w", "n")]))
    for mine, other in zip(found[1], found[0]):
        np.testing.assert_array_equal(mine, other)
    assert any(np.any(value) for value in found[1])


def test_nodes_are_those_of_tensorflow(tf1, checkpoint, tmp_path):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            v = {"new": str(tmp_path / "new"), "old": str(tmp_path / "old")}
            for name, shape in (("words", [4, 2]), ("columns", [2, 4])):
                tf.get_variable(name, shape, initializer=tf.zeros_initializer(), use_resource=False)
            tf.train.warm_start(checkpoint, ["words", "columns"], {
                "words": tf.train.VocabInfo(v["new"], 3, 1, v["old"]),
                "columns": tf.train.VocabInfo(v["new"], 3, 1, v["old"], axis=1)})
            found.append([(op.name, op.type, [t.name for t in op.inputs]) for op in graph.get_operations()])
    assert sorted(found[1]) == sorted(found[0])


REMAP = {"new_vocab_offset": 1, "num_new_vocab": 2}


@pytest.mark.parametrize("attrs, files", [
    (REMAP, ("new", "old")), ({"new_vocab_offset": 0, "num_new_vocab": 3, "old_vocab_size": 2}, ("new", "old")),
    ({"new_vocab_offset": 3, "num_new_vocab": 0}, ("new", "old")), (REMAP, ("windows", "new")), (REMAP, ("old", "windows")),
    ({"new_vocab_offset": 2, "num_new_vocab": 2}, ("new", "old")), (REMAP, ("new", "twice")), (REMAP, ("", "old")), (REMAP, ("new", "")),
    (REMAP, ("absent", "old")), (REMAP | {"old_vocab_size": 9}, ("new", "old")),
])
def test_places_of_words(tf1, checkpoint, tmp_path, attrs, files):
    (tmp_path / "windows").write_bytes(b"d\r\n\r\nb\r\nlast")
    (tmp_path / "twice").write_text("a\nb\na\n")
    new, old = (str(tmp_path / name) if name else "" for name in files)
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            outputs = tf.raw_ops.GenerateVocabRemapping(new_vocab_file=new, old_vocab_file=old, **attrs)
            assert [str(t.shape) for t in outputs] == [f"({attrs['num_new_vocab']},)", "()"]
            try:
                found.append([value.tolist() for value in session.run(outputs)])
            except tf.errors.OpError as error:
                found.append(error.error_code)
    assert found[1] == found[0]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("rows, columns, values, options, match", [
    ([2, -1, 0], [1, -1], [7.0, 8.0, 9.0, 10.0], {"num_cols": 2}, None), ([3, 1, 2], [], [], {}, None), ([3, -1, 1], [], [5.0] * 2, {}, None),
    ([3, 0], [1, 0], [], {"max_rows_in_memory": 1}, None), ([3, 0], [1, 0], [], {"max_rows_in_memory": 3}, None), ([-1, -1], [], [1.0] * 4, {}, None),
    (np.zeros(0), [], [], {}, None), ([0, 0], [], [], {}, "Old ID 0 is mapped to both new ID 0 and 1, which is not supported"),
    ([[0]], [], [], {"num_rows": 1}, "The `row_remapping` tensor must be 1-D"), ([0], [], [], {"num_rows": 2}, "Size of row_remapping is 1 instead of"),
    ([0], [1], [], {}, "Provided col_remapping, but its size is 1 instead of being equal to num_cols=2"), ([0], [], [], {"num_cols": 3}, "2nd dimension is 2"),
    ([0, -1], [], [1.0], {}, "initializing_values contained 1 elements, but more missing values remain"),
    ([0, -1], [], [1.0] * 3, {}, "initializing_values contained 3 elements, but only 2 elements were used"),
    ([0], [], [], {"name": "net/w"}, "of invalid rank 1 instead of expected shape of rank 2"), ([0], [], [], {"name": "absent"}, "absent"),
    ([0], [], [], {"name": "whole"}, "has invalid type int32 instead of expected type float"),
])
def test_matrices_with_rows_and_columns_in_other_places(tf1, tmp_path, version, rows, columns, values, options, match):
    path, found = str(tmp_path / "saved"), []
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name, value in (("words", np.arange(8, dtype="f").reshape(4, 2)), ("whole", np.zeros([2, 2], "i")), ("net/w", np.zeros(2, "f"))):
            tf1.get_variable(name, initializer=value)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver(write_version=2).save(session, path + "2")
        tf1.train.Saver(write_version=1).save(session, path + "1")
    options = {"num_rows": len(rows), "num_cols": len(columns) or 2} | options
    name = options.pop("name", "words")
    # TensorFlow's kernel reads the second format alone.
    for tf, format in ((tf1, 2), (flowmill, version)):
        with tf.Graph().as_default(), tf.Session() as session:
            remapping = [tf.placeholder(tf.int64), tf.placeholder(tf.int64)]
            matrix = tf.raw_ops.LoadAndRemapMatrix(ckpt_path=f"{path}{format}", old_tensor_name=name, row_remapping=remapping[0],
                                                   col_remapping=remapping[1], initializing_values=np.array(values, "f"), **options)
            try:
                found.append((matrix.shape.as_list(), session.run(matrix, dict(zip(remapping, (rows, columns)))).tolist()))
            except tf.errors.OpError as error:
                assert match is not None and match in str(error), error
                found.append(error.error_code)
    assert found[1] == found[0]


def test_a_row_that_is_not_in_the_checkpoint_is_an_error(checkpoint):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        matrix = flowmill.raw_ops.LoadAndRemapMatrix(ckpt_path=checkpoint, old_tensor_name="words", row_remapping=[9], col_remapping=[],
                                                     initializing_values=[], num_rows=1, num_cols=2)
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="out of bounds"):
            session.run(matrix)


@pytest.mark.parametrize("use", [
    lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2, old_row_vocab_file="o")([3, 2]),
    lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2)([3, 2]), lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2)([3]),
    lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2)([3, 1]), lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2)([4, 2]),
    lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2, initializer=3), lambda ops: ops._load_and_remap_matrix_initializer("c", "t", 3, 2)([0, 2]),
])
def test_wrong_initializers(tf1, use):
    def build(tf):
        if tf is flowmill:
            from flowmill.python.training import checkpoint_ops
        else:
            from tensorflow.python.training import checkpoint_ops
        return use(checkpoint_ops)
    same_error(tf1, build)


def test_embeddings_by_words(tf1, checkpoint, tmp_path):
    from tensorflow.python.training import checkpoint_ops as theirs
    from flowmill.python.training import checkpoint_ops as ours

    found = []
    for tf, ops in ((tf1, theirs), (flowmill, ours)):
        with tf.Graph().as_default(), tf.Session() as session:
            initializer = ops._load_embedding_initializer(checkpoint, "words", 3, 2, str(tmp_path / "old"), str(tmp_path / "new"), num_oov_buckets=1,
                                                          initializer=tf.ones_initializer())
            found.append(session.run(initializer([4, 2])).tolist())
    assert found[1] == found[0] == [[6, 7], [1, 1], [0, 1], [1, 1]]


def test_rows_in_parts(tf1, checkpoint, tmp_path):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            words = tf.get_variable("words", [4, 2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2))
            tf.train.warm_start(checkpoint, "words", {"words": tf.train.VocabInfo(
                str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), backup_initializer=filled(tf, 9.0))})
            session.run(tf.global_variables_initializer())
            found.append(np.concatenate(session.run(list(words))))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[1], [[6, 7], [9, 9], [0, 1], [9, 9]])


@pytest.mark.parametrize("build, match", [
    (lambda tf, c: tf.train.VocabInfo("a", 1, 0, "b", axis=2), "The only supported values for the axis argument are 0 and 1."),
    (lambda tf, c: (tf.get_variable("net/w", [2]), tf.train.warm_start(c, "net", var_name_to_prev_var_name={"other": "w"})), "You provided the following"),
    (lambda tf, c: tf.train.warm_start(c, [3]), "it must be all `Variable` or all `str`."),
    (lambda tf, c: (tf.get_variable("absent", [2]), tf.train.warm_start(c, ".*")), "absent is not found in"),
])
def test_errors(tf1, checkpoint, build, match):
    same_error(tf1, lambda tf: build(tf, checkpoint), match)


@pytest.mark.parametrize("options", [
    {"ps_tasks": 2}, {"cluster": {"ps": ["a:1", "b:1", "c:1"], "worker": ["d:1"]}}, {"ps_tasks": 2, "ps_device": "/job:server/device:CPU:0"},
    {"ps_tasks": 1, "worker_device": "/job:worker/task:3/device:GPU:0"}, {"ps_tasks": 2, "merge_devices": False}, {"ps_tasks": 3, "ps_ops": ["Const"]},
    {"ps_tasks": 3, "ps_strategy": lambda op: 2}, {"ps_tasks": 2, "worker_device": None},
])
def test_devices_of_clusters(tf1, options):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            with tf.device(tf.train.replica_device_setter(**options)):
                for i in range(3):
                    tf.get_variable(f"v{i}", [2], use_resource=i == 1)
                tf.constant(1.0, name="c")
                with tf.device("/device:CPU:1"):
                    tf.constant(1.0, name="d")
                    tf.get_variable("w", [2], initializer=tf.zeros_initializer())
                with tf.device("/job:other"):
                    tf.get_variable("x", [2], initializer=tf.zeros_initializer())
            found.append({o.name: o.device for o in graph.get_operations()})
    assert found[1] == found[0] and len(set(found[1].values())) > 2
    for tf in (tf1, flowmill):
        assert tf.train.replica_device_setter() is None and tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    same_error(tf1, lambda tf: tf.train.replica_device_setter(cluster=3), "must be a dictionary mapping one or more job names")
    same_error(tf1, lambda tf: tf.train.replica_device_setter(1, ps_strategy=3), "ps_strategy must be callable")


def test_a_loop_that_begins_again(tmp_path):
    tf = flowmill
    steps = []
    with tf.Graph().as_default():
        count = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0, save_model_secs=0)

        def step(session, by, stop):
            steps.append((int(session.run(count)), by))
            if len(steps) == 2:
                raise tf.errors.AbortedError(None, None, "a server is gone")
            if len(steps) == 4:
                supervisor.request_stop()
        tf.train.basic_train_loop(supervisor, step, args=(3,), kwargs={"stop": True})
    assert [by for _, by in steps] == [3] * 4


@pytest.mark.parametrize("device, resource", [(None, False), ("/job:ps", False), (None, True)])
def test_supervisors_of_replicas_need_variables_on_devices(tf1, tmp_path, device, resource):
    raised = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.device(device):
            tf.Variable(1.0, name="v", use_resource=resource)
            try:
                tf.train.Supervisor(logdir=str(tmp_path), is_chief=False)
                raised.append(None)
            except ValueError as error:
                raised.append("must have their device set" in str(error))
    assert raised[1] == raised[0]


def test_threads_of_queue_runners_are_named_as_in_tensorflow(tf1):
    names = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            queue = tf.FIFOQueue(10, tf.float32, shapes=[[]])
            runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0), queue.enqueue(2.0, name="second")])
            names.append(sorted(thread.name for thread in runner.create_threads(session, tf.train.Coordinator())))
    assert names[1] == names[0]
