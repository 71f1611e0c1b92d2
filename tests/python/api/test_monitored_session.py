"""Sessions that are watched over: what is initialized and restored, what hooks are asked and told."""

import glob
import os

import numpy as np
import pytest
from compare import same_error

import flowmill


def training(tf, resource=False):
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=resource)
    loss = tf.reduce_sum(v * v, name="loss")
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    return step, v, loss, train



def trained(tf, directory, steps):
    """Trains on from a directory; gives the losses and the files there are, without their times."""
    with tf.Graph().as_default():
        step, _, loss, train = training(tf)
        losses = []
        with tf.train.MonitoredTrainingSession(
                checkpoint_dir=directory, hooks=[tf.train.StopAtStepHook(last_step=steps)], save_checkpoint_steps=2, save_summaries_steps=None,
                log_step_count_steps=1) as session:
            while not session.should_stop():
                losses.append(session.run(loss))
                session.run(train)
        return losses


def test_training_goes_on_from_a_checkpoint(tf1, tmp_path):
    def files(directory):
        return sorted(f for f in os.listdir(directory) if not f.startswith("events"))

    found = []
    for tf, name in ((flowmill, "ours"), (tf1, "theirs")):
        directory = str(tmp_path / name)
        first = trained(tf, directory, 3)
        found.append((first, trained(tf, directory, 6), files(directory)))
    (ours_first, ours_second, our_files), (theirs_first, theirs_second, their_files) = found
    np.testing.assert_allclose(ours_first, theirs_first, rtol=1e-5)
    np.testing.assert_allclose(ours_second, theirs_second, rtol=1e-5)
    assert set(f.split(".")[0] for f in our_files) == set(f.split(".")[0] for f in their_files)
    # Each takes up where the other has ended.
    np.testing.assert_allclose(trained(flowmill, str(tmp_path / "theirs"), 8), trained(tf1, str(tmp_path / "ours"), 8), rtol=1e-5)
    events = [e for path in glob.glob(str(tmp_path / "ours" / "events*")) for e in tf1.train.summary_iterator(path)]
    assert any(v.tag == "global_step/sec" for e in events for v in e.summary.value)
    assert any(e.session_log.checkpoint_path for e in events)


def test_hooks_are_called_in_order():
    tf = flowmill
    calls = []

    class Hook(tf.train.SessionRunHook):
        def begin(self):
            calls.append("begin")
            tf.constant(1.0, name="made")

        def after_create_session(self, session, coord):
            calls.append("created")

        def before_run(self, run_context):
            calls.append("before")
            return tf.train.SessionRunArgs({"made": "made:0"}, feed_dict={"x:0": 3.0})

        def after_run(self, run_context, run_values):
            calls.append(run_values.results)
            assert run_context.original_args.fetches is y
            run_context.request_stop()

        def end(self, session):
            calls.append("end")

    with tf.Graph().as_default() as graph:
        y = tf.placeholder(tf.float32, [], name="x") * 2.0
        final = tf.train.FinalOpsHook(tf.constant(5))
        with tf.train.MonitoredSession(hooks=[Hook(), final]) as session:
            assert not session.should_stop()
            assert session.run(y) == 6.0
            assert session.should_stop() and session.graph is graph and graph.finalized
        assert calls == ["begin", "created", "before", {"made": 1.0}, "end"]
        assert final.final_ops_values == 5
        with pytest.raises(RuntimeError, match="Run called even after should_stop requested."):
            session.run(y)


def test_the_usual_hooks(tmp_path, caplog):
    tf = flowmill
    with tf.Graph().as_default():
        step, v, loss, train = training(tf, resource=True)
        x = tf.placeholder(tf.float32, [], name="x")
        lines = []
        hooks = [
            tf.train.StopAtStepHook(num_steps=4), tf.train.FeedFnHook(lambda: {x: 7.0}),
            tf.train.LoggingTensorHook({"loss": loss, "x": x}, every_n_iter=2, formatter=lambda d: lines.append(d) or "line"),
            tf.train.NanTensorHook(loss), tf.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path)),
            tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))]
        with tf.train.SingularMonitoredSession(hooks=hooks) as session:
            count = 0
            while not session.should_stop():
                session.run(train)
                count += 1
            assert session.raw_session().run(step) == 4 == count
        assert [line["x"] for line in lines] == [7.0, 7.0] and lines[0]["loss"] > lines[1]["loss"]
        assert glob.glob(str(tmp_path / "timeline-*.json"))
    tf.summary.FileWriterCache.clear()


def test_a_loss_that_is_no_number_stops():
    tf = flowmill
    for fail in (True, False):
        with tf.Graph().as_default():
            bad = tf.constant(float("nan")) + tf.Variable(0.0)
            session = tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(bad, fail_on_nan_loss=fail)])
            if fail:
                with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training."):
                    session.run(bad)
            else:
                session.run(bad)
                assert session.should_stop()
            session.close()


def test_the_end_of_data_ends_training():
    tf = flowmill
    with tf.Graph().as_default():
        counter = tf.Variable(0)
        following = counter.count_up_to(3)
        with tf.train.MonitoredSession() as session:
            found = []
            while not session.should_stop():
                found.append(session.run(following))
        assert found == [0, 1, 2]


def test_an_aborted_step_is_run_in_a_new_session():
    tf = flowmill
    failures = []

    class Aborts(tf.train.SessionRunHook):
        def before_run(self, run_context):
            if len(failures) < 2:
                failures.append(1)
                raise tf.errors.AbortedError(None, None, "gone")

    with tf.Graph().as_default():
        v = tf.Variable(3.0)
        with tf.train.MonitoredSession(hooks=[Aborts()]) as session:
            assert session.run(v) == 3.0 and len(failures) == 2
        with pytest.raises(tf.errors.AbortedError):
            failures.clear()
            tf.train.SingularMonitoredSession(hooks=[Aborts()]).run(v)


def test_a_scaffold_is_asked():
    tf = flowmill
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0)
        local = tf.Variable(2.0, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        x = tf.placeholder(tf.float32, [], name="x")
        seen = []
        scaffold = tf.train.Scaffold(
            init_op=v.assign(x).op, init_feed_dict={x: 5.0}, init_fn=lambda scaffold, session: seen.append(session.run(v)))
        with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as session:
            assert session.run([v, local]) == [5.0, 2.0] and seen == [5.0]
        assert graph.get_collection(tf.GraphKeys.SAVERS) == [scaffold.saver]
    with tf.Graph().as_default():
        tf.Variable(1.0)
        with pytest.raises(RuntimeError, match="Init operations did not make model ready"):
            tf.train.MonitoredSession(tf.train.ChiefSessionCreator(tf.train.Scaffold(init_op=tf.no_op())))


def test_step_functions():
    tf = flowmill
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        with tf.train.MonitoredSession() as session:
            assert session.run_step_fn(lambda step_context: step_context.run_with_hooks(v) + step_context.session.run(v)) == 2.0
            with pytest.raises(ValueError, match="may either have one `step_context` argument"):
                session.run_step_fn(lambda context: None)


def test_a_stop_from_a_step_function_ends_the_block():
    with flowmill.Graph().as_default(), flowmill.train.MonitoredSession() as session:
        session.run_step_fn(lambda step_context: step_context.request_stop())
        raise AssertionError("the block goes on")


@pytest.mark.parametrize("kind", ["MonitoredSession", "SingularMonitoredSession"])
def test_a_step_function_is_called_again_after_a_preemption(kind):
    calls = []

    def step(step_context):
        calls.append(step_context.session)
        if len(calls) == 1:
            raise flowmill.errors.AbortedError(None, None, "preempted")
        return step_context.run_with_hooks(one)

    with flowmill.Graph().as_default():
        one = flowmill.constant(1)
        session = getattr(flowmill.train, kind)()
        if kind == "SingularMonitoredSession":
            with pytest.raises(flowmill.errors.AbortedError):
                session.run_step_fn(step)
        else:
            assert session.run_step_fn(step) == 1
            assert calls[0] is not calls[1]
        session.close()


def test_a_session_is_made_again_if_its_initialization_is_preempted():
    calls = []

    def initialize(scaffold, session):
        calls.append(session)
        if len(calls) == 1:
            raise flowmill.errors.AbortedError(None, None, "preempted")

    with flowmill.Graph().as_default():
        with flowmill.train.MonitoredSession(flowmill.train.ChiefSessionCreator(scaffold=flowmill.train.Scaffold(init_fn=initialize))):
            assert len(calls) == 2


def test_the_graph_is_finalized_while_the_session_is_open():
    with flowmill.Graph().as_default() as graph:
        session = flowmill.train.MonitoredSession()
        assert graph.finalized
        session.close()
        assert not graph.finalized
        with pytest.raises(RuntimeError, match="already closed"):
            session.close()


def test_options_of_hooks_are_joined():
    class Wishes(flowmill.train.SessionRunHook):
        def before_run(self, run_context):
            return flowmill.train.SessionRunArgs(None, options=flowmill.RunOptions(timeout_in_ms=60_000, output_partition_graphs=True))

        def after_run(self, run_context, run_values):
            seen.append(run_values.options)

    seen = []
    with flowmill.Graph().as_default():
        one = flowmill.constant(1)
        with flowmill.train.MonitoredSession(hooks=[Wishes()]) as session:
            session.run(one, options=flowmill.RunOptions(timeout_in_ms=50_000, report_tensor_allocations_upon_oom=True))
    assert (seen[0].timeout_in_ms, seen[0].output_partition_graphs, seen[0].report_tensor_allocations_upon_oom) == (60_000, True, True)


ERRORS = {
    "stop": (lambda tf: tf.train.StopAtStepHook(), "One of num_steps or last_step must be specified."),
    "timer": (lambda tf: tf.train.SecondOrStepTimer(), "Either every_secs or every_steps should be provided."),
    "logging": (lambda tf: tf.train.LoggingTensorHook(["a"]), "must be provided"),
    "summary": (lambda tf: tf.train.SummarySaverHook(1), "Exactly one of scaffold or summary_op must be provided."),
    "step": (lambda tf: tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(last_step=1)]), "Global step should be created to use StopAtStepHook."),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tf1, case):
    same_error(tf1, *ERRORS[case])


@pytest.mark.parametrize("resource", [False, True])
def test_initial_values_from_a_checkpoint(tf1, tmp_path, resource):
    with flowmill.Graph().as_default():
        flowmill.get_variable("a", initializer=flowmill.constant([1.0, 2.0]))
        with flowmill.variable_scope("s"):
            flowmill.get_variable("b", initializer=flowmill.constant([[3.0, 4.0], [5.0, 6.0]]))
        with flowmill.Session() as session:
            session.run(flowmill.global_variables_initializer())
            path = flowmill.train.Saver().save(session, str(tmp_path / "m"))
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default():
            a = tf.get_variable("x", [2], use_resource=resource)
            with tf.variable_scope("t", partitioner=tf.fixed_size_partitioner(2), use_resource=resource):
                b = tf.get_variable("b", [2, 2])
            tf.train.init_from_checkpoint(path, {"a": a, "s/": "t/"})
            with pytest.raises(ValueError, match="doesn't match with shape of tensor s/b"):
                tf.train.init_from_checkpoint(path, {"s/b": a})
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                found.append(session.run([a, tf.convert_to_tensor(b)]))
    np.testing.assert_array_equal(found[0][0], [1.0, 2.0])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("kind", [list, tuple])
def test_a_value_of_a_checkpoint_for_several_variables(tf1, tmp_path, kind):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        flowmill.get_variable("a", initializer=flowmill.constant([1.0, 2.0]))
        session.run(flowmill.global_variables_initializer())
        path = flowmill.train.Saver().save(session, str(tmp_path / "m"))
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            variables = [tf.get_variable(name, [2]) for name in "xyz"]
            tf.train.init_from_checkpoint(path, kind([("a", variables[0]), ("a", "y"), ("a", variables[2])]))
            session.run(tf.global_variables_initializer())
            assert [value.tolist() for value in session.run(variables)] == [[1.0, 2.0]] * 3


def test_supervision(tmp_path):
    tf = flowmill
    for steps in (3, 5):
        with tf.Graph().as_default():
            step, _, loss, train = training(tf)
            supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=600)
            with supervisor.managed_session() as session:
                assert tf.train.global_step(session, step) == (0 if steps == 3 else 3)
                while not supervisor.should_stop():
                    session.run(train)
                    if tf.train.global_step(session, supervisor.global_step) == steps:
                        supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
                        break
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")
    assert os.path.isfile(tmp_path / "graph.pbtxt")
    with tf.Graph().as_default():
        training(tf)
        supervisor = tf.train.Supervisor(logdir=None)
        with pytest.raises(ZeroDivisionError), supervisor.managed_session():
            raise ZeroDivisionError
        assert supervisor.should_stop()


def test_queue_runners_of_what_is_no_session(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            with pytest.raises(TypeError, match="sess must be a `tf.Session` object"):
                tf.train.start_queue_runners("no session")
            assert tf.train.start_queue_runners(tf.train.MonitoredSession()) == []


def test_operations_that_are_ready_once_they_give_an_integer(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            tf.Variable(1.0, name="v")
            manager = tf.train.SessionManager(ready_op=tf.constant(1))
            manager.prepare_session("", init_op=tf.global_variables_initializer()).close()
