"""What TensorFlow's own tests pin down of executor and sessions, by the number that TESTING.md lists it under."""

import threading
import time
import types

import numpy as np
import pytest

import flowmill as tf
from flowmill.python.framework.function import Defun
from nodes import binary, const, counting_loop, graph, node, placeholder

WAYS = [{}, {"strands": False, "loops": False}, {"inter_op_threads": 1, "intra_op_threads": 1}, {"optimize": False}]
f32, i32 = tf.float32, tf.int32


def wire(name):
    """The attributes that join a send and a receive."""
    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    return dict(tensor_name=name, send_device=device, send_device_incarnation=1, recv_device=device)


@pytest.mark.parametrize("options", WAYS)
def test_behaviour_1_tensors_travel_by_rendezvous(options):
    g = graph(
        placeholder("x"), const("one", 1.0), node("send", "_Send", "x", T=f32, **wire("a")), node("recv", "_Recv", tensor_type=f32, **wire("a")),
        binary("y", "AddV2", "recv", "one"))
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        for x in (1.0, 2.0):
            assert sess.run(["y:0", "send"], {"x:0": x}) == [x + 1, None]


@pytest.mark.parametrize("options", WAYS)
def test_behaviour_5_dead_tensors_are_sent_as_dead(options):
    g = graph(
        placeholder("p", tf.bool, []), const("one", 1.0), node("switch", "Switch", "one", "p", T=f32),
        node("send", "_Send", "switch:1", T=f32, **wire("a")), node("recv", "_Recv", tensor_type=f32, **wire("a")),
        node("neg", "Neg", "switch", T=f32), node("merge", "Merge", "neg", "recv", T=f32, N=2))
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        assert sess.run(["merge:0", "send"], {"p:0": True})[0] == 1.0
        assert sess.run(["merge:0", "send"], {"p:0": False})[0] == -1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Retval"):
            sess.run(["recv:0", "send"], {"p:0": False})


@pytest.mark.parametrize("options", WAYS)
def test_behaviour_6_a_failure_ends_what_waits_at_the_rendezvous(options):
    g = graph(
        placeholder("x"), placeholder("y"), node("recv", "_Recv", tensor_type=f32, **wire("never")),
        node("bad", "MatMul", "x", "y", T=f32, transpose_a=False, transpose_b=False))
    with tf.Session(graph=g, config=tf.SessionOptions(**options)) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            sess.run(["recv:0", "bad:0"], {"x:0": np.ones([2, 3]), "y:0": np.ones([4, 5])})
        assert raised.value.node_name == "bad"
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run("recv:0", options=tf.RunOptions(timeout_in_ms=100))
        assert sess.run("bad:0", {"x:0": [[2.0]], "y:0": [[3.0]]}) == [[6.0]]


def doubling():
    """y = 2 x, z = y + 1."""
    return graph(placeholder("x"), const("two", 2.0), binary("y", "Mul", "x", "two"), const("one", 1.0), binary("z", "AddV2", "y", "one"))


def callable_options(feed=(), fetch=(), target=(), connect=(), **run_options):
    """What a `CallableOptions` message says."""
    connections = [types.SimpleNamespace(from_tensor=a, to_tensor=b) for a, b in connect]
    return types.SimpleNamespace(feed=feed, fetch=fetch, target=target, tensor_connection=connections, run_options=tf.RunOptions(**run_options))


@pytest.mark.parametrize("options", WAYS)
def test_behaviour_32_fetches_feeds_and_connections(options):
    with tf.Session(graph=doubling(), config=tf.SessionOptions(**options)) as sess:
        assert sess.run(["y:0", "y:0", "x:0"], {"x:0": 3.0}) == [6.0, 6.0, 3.0]
        # What computes a fed tensor does not run, nor what that needs.
        assert sess.run("z:0", {"y:0": 5.0}) == 6.0
        call = sess._make_callable_from_options(callable_options(["x:0"], ["z:0", "y:0"], connect=[("x:0", "y:0")]))
        assert call(4.0) == [5.0, 4.0]
        call = sess._make_callable_from_options(callable_options([], ["z"], connect=[("two:0", "y:0")]))
        assert call() == [3.0]
        for connect, text in [
            ([("z:0", "y:0")], "would create a cycle"), ([("nowhere:0", "y:0")], "unknown node"), ([("x:7", "y:0")], "unknown edge"),
            ([("two:0", "x:0")], "fed more than once"), ([("one:0", "y:0"), ("two:0", "y:0")], "fed more than once"),
        ]:
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                sess._make_callable_from_options(callable_options(["x:0"], ["z:0"], connect=connect))
        with pytest.raises(tf.errors.NotFoundError):
            sess._make_callable_from_options(callable_options(["x:0"], ["z:0"], connect=[("two:0", "nowhere:0")]))


def test_behaviour_32_our_connections_are_tensorflows(tf1):
    from tensorflow.core.protobuf import config_pb2

    with tf1.Graph().as_default() as g:
        x = tf1.placeholder(tf1.float32, [], name="x")
        tf1.constant(5.0, name="c")
        tf1.add(tf1.multiply(x, 2.0, name="y"), x, name="z")
    with tf.Graph().as_default() as own:
        tf.import_graph_def(g.as_graph_def(), name="")
    asked = config_pb2.CallableOptions(feed=["x:0"], fetch=["z:0"])
    asked.tensor_connection.add(from_tensor="c:0", to_tensor="y:0")
    with tf1.Session(graph=g) as theirs, tf.Session(graph=own) as ours:
        three = np.float32(3.0)
        assert ours._make_callable_from_options(asked)(three) == theirs._make_callable_from_options(asked)(three) == [8.0]


def test_behaviour_33_variables_live_as_long_as_their_session():
    g = graph(
        node("v", "VariableV2", dtype=f32, shape=tf.TensorShape([])), const("one", 1.0), node("init", "Assign", "v", "one", T=f32),
        node("grow", "AssignAdd", "v", "one", T=f32))
    with tf.Session(graph=g) as sess:
        sess.run("init")
        assert [sess.run("grow:0") for _ in range(3)] == [2.0, 3.0, 4.0]
        with tf.Session(graph=g) as other:
            with pytest.raises(tf.errors.FailedPreconditionError):
                other.run("v:0")
        assert sess.run("v:0") == 4.0
    with pytest.raises(RuntimeError):
        sess.run("v:0")


def test_behaviour_36_a_fed_reference_is_not_assigned_to():
    g = graph(
        node("v", "VariableV2", dtype=f32, shape=tf.TensorShape([])), const("one", 1.0), node("grow", "AssignAdd", "v", "one", T=f32),
        binary("plus", "AddV2", "v", "one"))
    with tf.Session(graph=g) as sess:
        assert sess.run("plus:0", {"v:0": 2.0}) == 3.0
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            sess.run("grow:0", {"v:0": 2.0})
        assert "grow" in str(raised.value)


def test_behaviour_40_handles_of_tensors_survive_steps():
    g = graph(
        placeholder("x"), node("keep", "GetSessionHandle", "x", T=f32), placeholder("handle", tf.string, []),
        node("get", "GetSessionTensor", "handle", dtype=f32), node("forget", "DeleteSessionTensor", "handle"))
    with tf.Session(graph=g) as sess:
        kept = np.float32([1, 2])
        first, second = sess.run("keep:0", {"x:0": kept}), sess.run("keep:0", {"x:0": 3.0})
        kept[0] = 7
        assert first.handle != second.handle
        for _ in range(2):
            np.testing.assert_array_equal(sess.run("get:0", {"handle:0": first.handle}), [1, 2])
        assert sess.run("get:0", {"handle:0": second.handle}) == 3.0
        sess.run("forget", {"handle:0": first.handle})
        with pytest.raises(tf.errors.InvalidArgumentError, match="not in the session store") as raised:
            sess.run("get:0", {"handle:0": first.handle})
        assert raised.value.node_name == "get"
        assert sess.run("get:0", {"handle:0": second.handle}) == 3.0
        with tf.Session(graph=g) as other, pytest.raises(tf.errors.InvalidArgumentError):
            other.run("get:0", {"handle:0": second.handle})


def test_behaviour_41_callables_end_with_their_session_and_survive_its_completion():
    g = doubling()
    sess = tf.Session(graph=g)
    call = sess.make_callable("z:0", ["x:0"])
    again = sess._make_callable_from_options(callable_options(["x:0"], ["y:0"]))
    sess.run("y:0", {"x:0": 1.0})
    sess._core.finalize()
    assert (call(1.0), again(1.0), sess.run("y:0", {"x:0": 2.0})) == (3.0, [2.0], 4.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Session has been finalized."):
        sess.run(["y:0", "z:0"], {"x:0": 1.0})
    assert call(2.0) == 5.0
    sess.close()
    for ended in (call, again):
        with pytest.raises(tf.errors.CancelledError, match="Session has been closed."):
            ended(1.0)


def test_behaviour_42_pools_of_threads():
    work = graph(placeholder("x"), node("y", "MatMul", "x", "x", T=f32, transpose_a=False, transpose_b=False))
    x = np.eye(300, dtype=np.float32)
    config = tf.ConfigProto()
    config.session_inter_op_thread_pool.add(num_threads=2, global_name="behaviour_42")
    config.session_inter_op_thread_pool.add(num_threads=1)
    with tf.Session(graph=work, config=config) as one, tf.Session(graph=work, config=config) as two:
        for sess in (one, two):
            for pool in (0, 1, -1):
                np.testing.assert_array_equal(sess.run("y:0", {"x:0": x}, options=tf.RunOptions(inter_op_thread_pool=pool)), x)
            for pool in (2, -2, 10**6):
                with pytest.raises(tf.errors.InvalidArgumentError, match=f"Invalid inter_op_thread_pool: {pool}"):
                    sess.run("y:0", {"x:0": x}, options=tf.RunOptions(inter_op_thread_pool=pool))
    other = tf.ConfigProto()
    other.session_inter_op_thread_pool.add(num_threads=3, global_name="behaviour_42")
    with pytest.raises(tf.errors.InvalidArgumentError, match="behaviour_42"):
        tf.Session(graph=work, config=other)
    with tf.Session(graph=work, config=tf.ConfigProto(inter_op_parallelism_threads=-1)) as sess:
        np.testing.assert_array_equal(sess.run("y:0", {"x:0": x}), x)
        with pytest.raises(tf.errors.InvalidArgumentError):
            sess.run("y:0", {"x:0": x}, options=tf.RunOptions(inter_op_thread_pool=1))


def test_behaviour_43_a_kernel_with_state_serves_signatures_that_need_different_outputs():
    """Every output is computed whether or not a step needs it, so that one signature's steps do not starve another's."""
    kinds = [f32, i32]
    g = graph(
        node("queue", "FIFOQueueV2", component_types=kinds, capacity=-1, shared_name="", container=""), placeholder("a", f32, []), placeholder("b", i32, []),
        node("put", "QueueEnqueueV2", "queue", "a", "b", Tcomponents=kinds, timeout_ms=-1),
        node("take", "QueueDequeueV2", "queue", component_types=kinds, timeout_ms=-1))
    with tf.Session(graph=g) as sess:
        for i in range(6):
            sess.run("put", {"a:0": i / 2, "b:0": i})
        assert sess.run("take:1") == 0
        assert sess.run("take:0") == 0.5
        assert sess.run(["take:1", "take:0"]) == [2, 1.0]
        assert (sess.run("take") is None, sess.run("take:0"), sess.run("take:1")) == (True, 2.0, 5)


def test_behaviour_44_devices_of_what_is_pruned():
    astray = const("astray", 1.0)
    astray.device = "/device:GPU:0"
    nodes = [astray, const("fine", 2.0), binary("both", "AddV2", "astray", "fine")]
    with tf.Session(graph=graph(*nodes)) as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device for operation astray") as raised:
            sess.run("fine:0")
        assert raised.value.node_name == "astray"
    config = tf.ConfigProto()
    config.graph_options.place_pruned_graph = True
    with tf.Session(graph=graph(*nodes), config=config) as sess:
        assert sess.run("fine:0") == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="astray"):
            sess.run("both:0")
        assert sess.run("fine:0") == 2.0
    with tf.Session(graph=graph(*nodes), config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        assert sess.run("both:0") == 3.0


@pytest.mark.parametrize("device, cpus, good", [
    ("/device:CPU:0", 1, True), ("/cpu:0", 1, True), ("/job:localhost/replica:0/task:0/device:CPU:0", 1, True), ("/device:CPU:*", 1, True),
    ("/device:CPU:1", 1, False), ("/device:CPU:1", 2, True), ("/job:worker/task:0", 1, False), ("/gpu:0", 1, False), ("nonsense", 1, False),
])
def test_behaviours_45_and_48_devices_that_exist(device, cpus, good):
    placed = const("placed", 1.0)
    placed.device = device
    with tf.Session(graph=graph(placed, const("fine", 2.0)), config=tf.ConfigProto(device_count={"CPU": cpus})) as sess:
        if good:
            assert sess.run("placed:0") == 1.0
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match="placed"):
                sess.run("placed:0")


def test_a_graph_that_grows_is_placed_as_it_grows():
    g = graph(const("fine", 2.0))
    astray = const("astray", 1.0)
    astray.device = "/device:GPU:0"
    with tf.Session(graph=g) as sess:
        assert sess.run("fine:0") == 2.0
        with g.as_default():
            tf.import_graph_def(tf.GraphDef(node=[astray]), name="")
        with pytest.raises(tf.errors.InvalidArgumentError, match="astray"):
            sess.run(["fine:0", "fine:0"][:1])
            sess.run("astray:0")


@pytest.mark.parametrize("options", WAYS)
def test_behaviour_37_closing_ends_steps_that_wait(options):
    """A step that waits for an element of an empty queue, and one in a loop, end when their session is closed."""
    kinds = [f32]
    g = graph(
        node("queue", "FIFOQueueV2", component_types=kinds, capacity=-1, shared_name="", container=""),
        node("take", "QueueDequeueV2", "queue", component_types=kinds, timeout_ms=-1), const("start", 0, np.int32), placeholder("limit", i32, []),
        *counting_loop())
    sess = tf.Session(graph=g, config=tf.SessionOptions(**options))
    raised = []

    def run(fetch, feeds):
        try:
            sess.run(fetch, feeds)
        except tf.errors.OpError as error:
            raised.append(type(error))

    threads = [threading.Thread(target=run, args=a) for a in (("take:0", None), ("loop/exit:0", {"limit:0": 2**31 - 1}))]
    for t in threads:
        t.start()
    time.sleep(0.3)
    sess.close()
    for t in threads:
        t.join(30)
    assert raised == [tf.errors.CancelledError] * 2


def test_behaviour_39_partial_runs_take_each_feed_and_give_each_fetch_once(tf1):
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as sess:
            a, b, c = (module.placeholder(module.float32, [], name=n) for n in "abc")
            total = module.add(a, b, name="total")
            product = module.multiply(total, c, name="product")
            handle = sess.partial_run_setup([total, product], [a, b, c])
            assert sess.partial_run(handle, total, {a: 1.0, b: 2.0}) == 3.0
            for fetch, feeds, text in [
                (product, {a: 2.0}, "The feed a:0 has already been fed"), (total, {}, "The fetch total:0 has already been fetched"),
                ("a:0", {}, "was not specified in partial_run_setup"),
            ]:
                with pytest.raises(module.errors.InvalidArgumentError, match=text):
                    sess.partial_run(handle, fetch, feeds)
            handle = sess.partial_run_setup([product], [a, b, c])
            with pytest.raises(module.errors.InvalidArgumentError, match="can't be computed from the feeds"):
                sess.partial_run(handle, product, {a: 1.0, b: 2.0})


def test_behaviour_50_resources_go_through_nested_calls():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable(3.0, use_resource=True)

        @Defun(tf.resource)
        def read(handle):
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=f32) * 2.0

        @Defun(tf.resource)
        def twice(handle):
            return read(handle) + read(handle)

        fetched = twice(v.handle)
        sess.run(v.initializer)
        assert sess.run(fetched) == 12.0


def test_behaviour_54_functions_are_called_as_they_are_defined(tf1):
    from tensorflow.python.framework import function as theirs

    for module, defun in ((tf1, theirs.Defun), (tf, Defun)):
        with module.Graph().as_default(), module.Session() as sess:
            @defun(module.float32)
            def doubled(x):
                return module.identity(x) * 2.0

            with pytest.raises(ValueError, match="Expected 1 arguments, got 2."):
                doubled(module.constant(1.0), module.constant(1.0))
            with pytest.raises(ValueError, match="Expected 1 arguments, got 0."):
                doubled()
            called = doubled(module.constant(2.0), name="called")
            # The call can be fetched though its body takes its place.
            assert sess.run([called, "called:0"]) == [4.0, 4.0]
            assert sess.run("called") is None

            v = module.Variable(0.0, use_resource=True)

            @defun(module.resource)
            def counting(handle):
                module.raw_ops.AssignAddVariableOp(resource=handle, value=module.constant(1.0))
                return module.constant(7)

            counted = counting(v.handle)
            sess.run(v.initializer)
            assert sess.run(counted) == 7
            # What changes state runs though no result depends on it.
            assert sess.run(v) == 1.0


def test_behaviour_55_gradients_of_calls(tf1):
    from tensorflow.python.framework import function as theirs

    values = []
    for module, defun in ((tf1, theirs.Defun), (tf, Defun)):
        with module.Graph().as_default(), module.Session() as sess:
            @defun(module.float32, module.float32)
            def mixed(x, y):
                return x * y + module.where(x > y, x, y) + (x + y)

            x, y = module.constant([2.0, 1.0]), module.constant([3.0, -1.0])
            values.append(sess.run(module.gradients(mixed(x, y), [x, y])))
    np.testing.assert_array_equal(values[0], values[1])
    np.testing.assert_array_equal(values[1], [[4.0, 1.0], [4.0, 2.0]])


@pytest.mark.parametrize("options", WAYS)
def test_behaviours_56_and_57_lowered_loops_and_branches(tf1, options):
    """Functional loops and branches: side effects of what is taken, none of what is not, and branches without results."""
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default(), tf.Session(config=tf.SessionOptions(**options)) as sess:
            v, p, which = tf.Variable(0.0, use_resource=True), tf.placeholder(tf.bool, []), tf.placeholder(i32, [])

            def step(i):
                with tf.control_dependencies([v.assign_add(1.0).op]):
                    return i + 1

            loop = tf.while_loop(lambda i: i < 5, step, [0])
            branch = tf.cond(p, lambda: v.assign_add(10.0).op, tf.no_op)
            case = tf.switch_case(which, [lambda: tf.constant(7), lambda: tf.constant(8)])
            sess.run(v.initializer)
            assert (sess.run(loop), sess.run(v)) == (5, 5.0)
            sess.run(branch, {p: False})
            assert sess.run(v) == 5.0
            sess.run(branch, {p: True})
            assert sess.run(v) == 15.0
            # One that is not there is the last.
            assert [sess.run(case, {which: n}) for n in (0, 1, 9, -1)] == [7, 8, 8, 8]
    finally:
        tf.disable_control_flow_v2()


def test_an_integer_is_no_string():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.string, [], name="x")
        with pytest.raises(TypeError, match="Type of feed value 1 with type <class 'int'> is not compatible with Tensor type"):
            sess.run(x, {x: 1})
