"""Workers whose steps count as one, and clusters as a value."""

import numpy as np
import pytest

import flowmill
from compare import _described, same_error


def _build(tf, resource, sparse=False, total=None, **options):
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]), use_resource=resource)
    w = tf.get_variable("w", initializer=tf.constant([[1.0], [3.0]]), use_resource=resource)
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(0.5), replicas_to_aggregate=2, total_num_replicas=total, **options)
    x = tf.placeholder(tf.float32, [2], name="x")
    rows = tf.IndexedSlices(tf.constant([[1.0]]), tf.constant([1])) if sparse else tf.ones([2, 1])
    train = optimizer.apply_gradients([(x, v), (rows, w)], global_step=step)
    return optimizer, step, (v, w), x, train


@pytest.mark.parametrize("options", [{}, {"sparse": True}, {"total": 3, "name": "together"}], ids=str)
def test_graphs(tf1, options):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            with tf.device("/cpu:0"):
                optimizer, *_ = _build(tf, resource=False, **options)
            optimizer.get_init_tokens_op()
            runner = optimizer.get_chief_queue_runner()
            nodes = {name: (op, inputs) for name, op, inputs, _ in _described(graph)}
            names = (runner.name, [op.name for op in runner.enqueue_ops], optimizer.chief_init_op.name, optimizer.local_step_init_op.name,
                     optimizer.ready_for_local_init_op.name, optimizer.get_slot_names(), [v.name for v in optimizer.variables()])
            found.append((nodes, names))
    (theirs, their_names), (ours, our_names) = found
    # TensorFlow's tokens are made of the value that all readers share, which changes where it lies.
    assert ours.pop("read") == ("Identity", ["global_step:0"])
    op, inputs = ours["Fill"]
    ours["Fill"] = op, [{"read:0": "global_step/read:0"}.get(i, i) for i in inputs]
    assert ours == theirs, {n: (ours.get(n), theirs.get(n)) for n in ours.keys() | theirs.keys() if ours.get(n) != theirs.get(n)}
    assert our_names == their_names


def _trained(tf, resource, **options):
    """What one worker, whose steps count as one by two, makes of variables in six steps, and the step."""
    with tf.Graph().as_default():
        optimizer, step, variables, x, train = _build(tf, resource, total=1, **options)
        hook = optimizer.make_session_run_hook(is_chief=True, num_tokens=1)
        hook.begin()
        coord = tf.train.Coordinator()
        with tf.Session() as session:
            with pytest.raises(RuntimeError, match="Init operations did not make model ready for SyncReplicasOptimizer local_init"):
                hook.after_create_session(session, coord)
            session.run(tf.global_variables_initializer())
            hook.after_create_session(session, coord)
            for grad in ([1.0, 0.0], [3.0, 2.0]) * 3:
                session.run(train, {x: grad})
            return session.run([step, *variables])


@pytest.mark.parametrize("options", [{"resource": True}, {"resource": False}, {"resource": False, "sparse": True}, {"resource": True, "sparse": True}],
                         ids=str)
def test_steps_count_together(tf1, options):
    ours = _trained(flowmill, **options)
    # Each step takes half of the mean (2, 1) away.
    np.testing.assert_allclose(ours[1], [1.0 - 3.0, 2.0 - 1.5])
    assert ours[0] == 3
    for mine, other in zip(ours, _trained(tf1, **options), strict=True):
        np.testing.assert_allclose(mine, other)


def test_mistakes_of_workers(tf1):
    def optimizer(tf):
        return tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(1.0), 3, 1)

    def with_too_few_tokens(tf):
        of = optimizer(tf)
        of.apply_gradients([(tf.constant(1.0), tf.Variable(1.0))], tf.train.create_global_step())
        of.get_init_tokens_op(1)

    same_error(tf1, lambda tf: optimizer(tf).apply_gradients([], tf.train.create_global_step()), "Must supply at least one variable")
    same_error(tf1, lambda tf: optimizer(tf).apply_gradients([(1.0, tf.Variable(1.0))]), "Global step is required to check staleness")
    same_error(tf1, lambda tf: optimizer(tf).get_init_tokens_op(), "get_init_tokens_op() should be called after apply_gradients().")
    same_error(tf1, lambda tf: optimizer(tf).get_chief_queue_runner(), "Should be called after apply_gradients().")
    same_error(tf1, lambda tf: optimizer(tf).make_session_run_hook(True).begin(), "SyncReplicasOptimizer.apply_gradient should be called before")
    same_error(tf1, with_too_few_tokens, "Too few tokens to finish the first step: 1 (given) vs 2 (needed)")


_CLUSTERS = [{}, {"a": ["x:1", "y:2"], "b": {3: "z:4", 1: "q:2"}}, {"b": {1: "z:4", 0: "x"}, "a": ("x",)}, {"a": []}]


@pytest.mark.parametrize("jobs", _CLUSTERS, ids=str)
def test_clusters(tf1, jobs):
    found = []
    for tf in (tf1, flowmill):
        cluster = tf.train.ClusterSpec(jobs)
        same = tf.train.ClusterSpec(cluster)
        found.append((repr(cluster), str(cluster), cluster.as_dict(), cluster.jobs, bool(cluster), cluster == same, cluster != same,
                      cluster == jobs, [(cluster.num_tasks(j), cluster.task_indices(j), cluster.job_tasks(j)) for j in jobs if jobs[j]],
                      str(cluster.as_cluster_def()), repr(tf.train.ClusterSpec(cluster.as_cluster_def()))))
    assert found[0] == found[1]


def test_mistakes_with_clusters(tf1):
    def of(jobs, use=lambda cluster: None):
        return lambda tf: use(tf.train.ClusterSpec(jobs))

    jobs = {"b": {3: "z:4"}}
    assert flowmill.train.ClusterSpec(jobs).task_address("b", 3) == "z:4"
    same_error(tf1, of(3), "must be a dictionary mapping one or more job names")
    same_error(tf1, of({"a": "x"}), "The tasks for job 'a' must be a list or a dictionary from integers to strings.")
    same_error(tf1, of({3: ["x"]}), "Job name 3 must be bytes or unicode")
    same_error(tf1, of({"a": [3]}), "Task address 3 must be bytes or unicode")
    same_error(tf1, of({"a": {"k": "x"}}), "invalid literal for int()")
    same_error(tf1, of(jobs, lambda c: c.num_tasks("x")), "No such job in cluster: 'x'")
    same_error(tf1, of(jobs, lambda c: c.job_tasks("x")), "No such job in cluster: 'x'")
    same_error(tf1, of(jobs, lambda c: c.task_address("b", 2)), "No task with index 2 in job 'b'")
    same_error(tf1, of(jobs, lambda c: hash(c)), "unhashable type: 'ClusterSpec'")


def test_devices_of_a_cluster():
    cluster = flowmill.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": ["c:1"]})
    with flowmill.Graph().as_default(), flowmill.device(flowmill.train.replica_device_setter(cluster=cluster)):
        assert [flowmill.get_variable(name, [1]).device for name in "uvw"] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
