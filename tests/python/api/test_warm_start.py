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
