"""Sessions: running, options, statistics, closing, defaults."""

import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import flowmill as tf
from nodes import binary, const, counting_loop, graph, graph_def, node, placeholder


@pytest.fixture
def doubling():
    """y = x * 2, with an operation beside it."""
    return graph(placeholder("x"), const("two", 2.0), binary("y", "Mul", "x", "two"), node("nothing", "NoOp"))


@pytest.fixture
def endless():
    """A loop that takes hours: neither strands nor whole loops may keep it from being ended."""
    return graph(const("start", 0, np.int32), placeholder("limit", tf.int32, []), *counting_loop())


def test_run_and_callable(doubling):
    with tf.Session(graph=doubling) as sess:
        assert sess.run("y:0", {"x:0": 3.0}) == 6.0
        assert sess.run("nothing") is None
        call = sess.make_callable("y:0", ["x:0"])
        np.testing.assert_array_equal(call([1.0, 2.0]), [2.0, 4.0])
        both = sess.make_callable({"y": "y:0", "run": "nothing"}, [doubling.get_tensor_by_name("x:0")])
        assert both(np.float32(4)) == {"y": 8.0, "run": None}


def test_what_the_passes_did_can_be_seen():
    g = graph(const("a", 1.0), const("b", 2.0), binary("sum", "Add", "a", "b"), placeholder("x"), binary("y", "Mul", "x", "sum"), const("unused", 0.0))
    with tf.Session(graph=g) as sess:
        report = sess.optimizations("y:0", ["x:0"])
        changes = {p["name"]: p["changes"] for p in report["passes"]}
        assert changes["fold_constants"] == 1
        assert report["nodes_after"] < report["nodes_before"]
        assert all(p["error"] is None for p in report["passes"])
    with tf.Session(graph=g, config=tf.SessionOptions(disabled_passes=["fold_constants"])) as sess:
        assert "fold_constants" not in [p["name"] for p in sess.optimizations("y:0", ["x:0"])["passes"]]
    with tf.Session(graph=g, config=tf.SessionOptions(optimize=False)) as sess:
        assert sess.optimizations(["y:0"], ["x:0"])["passes"] == []


def test_a_graph_that_grows_between_steps():
    g = graph(const("a", 1.0))
    with tf.Session(graph=g) as sess:
        call = sess.make_callable("a:0")
        assert sess.run("a:0") == call() == 1.0
        with g.as_default():
            b, = tf.import_graph_def(graph_def(const("b", 2.0)), name="", return_elements=["b:0"])
        assert sess.run([b, "a:0"]) == [2.0, 1.0]
        assert call() == 1.0


def test_variables_live_in_a_session():
    g = graph(
        node("v", "VariableV2", dtype=tf.float32, shape=tf.TensorShape([])), const("one", 1.0),
        node("init", "Assign", "v", "one", T=tf.float32), node("grow", "AssignAdd", "v", "one", T=tf.float32),
        node("read", "Identity", "v", T=tf.float32))
    with tf.Session(graph=g) as first, tf.Session(graph=g) as second:
        first.run("init")
        second.run(g.get_operation_by_name("init"))
        for _ in range(3):
            first.run("grow:0")
        assert first.run("read:0") == 4.0
        assert second.run("read:0") == 1.0


def test_a_fed_array_may_change_after_the_step():
    g = graph(
        placeholder("x", shape=[1000]), node("v", "VariableV2", dtype=tf.float32, shape=tf.TensorShape([1000])),
        node("set", "Assign", "v", "x", T=tf.float32), node("read", "Identity", "v", T=tf.float32), node("same", "Identity", "x", T=tf.float32))
    with tf.Session(graph=g) as sess:
        x = np.ones(1000, np.float32)
        sess.run("set:0", {"x:0": x})
        x[:] = 2
        np.testing.assert_array_equal(sess.run("read:0"), np.ones(1000))
        got = sess.run("same:0", {"x:0": x})
        got[:] = 3
        np.testing.assert_array_equal(x, np.full(1000, 2))
        read = sess.run("read:0")
        read[:] = 4
        np.testing.assert_array_equal(sess.run("read:0"), np.ones(1000))


def test_defaults(doubling):
    assert tf.get_default_session() is None
    with tf.Session(graph=doubling) as sess:
        assert tf.get_default_session() is sess
        assert tf.get_default_graph() is doubling
        assert doubling.get_tensor_by_name("y:0").eval({"x:0": 1.0}) == 2.0
        doubling.get_operation_by_name("nothing").run()
        with pytest.raises(RuntimeError, match="not re-entrant"):
            sess.__enter__()
    assert tf.get_default_session() is None
    shell = tf.InteractiveSession(graph=doubling)
    assert doubling.get_tensor_by_name("y:0").eval({"x:0": 2.0}) == 4.0
    shell.close()
    assert tf.get_default_session() is None
    with pytest.raises(ValueError, match="No default session is registered"):
        doubling.get_tensor_by_name("y:0").eval()


def test_closed_and_empty(doubling):
    sess = tf.Session(graph=doubling)
    call = sess.make_callable("y:0", ["x:0"])
    sess.close()
    with pytest.raises(RuntimeError, match="Attempted to use a closed Session."):
        sess.run("y:0", {"x:0": 1.0})
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        call(1.0)
    with pytest.raises(RuntimeError, match="The Session graph is empty"):
        tf.Session(graph=tf.Graph()).run("y:0")


def test_wrong_arguments(doubling):
    with pytest.raises(TypeError, match="Session\\(config=config\\)"):
        tf.Session(tf.ConfigProto())
    with pytest.raises(TypeError, match="must be a tf.Graph"):
        tf.Session(graph="g")
    with pytest.raises(TypeError, match="must be a tf.ConfigProto"):
        tf.Session(config="fast")
    with pytest.raises(TypeError, match="speed"):
        tf.SessionOptions(speed=11)


def test_config(doubling):
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1, device_count={"CPU": 1}, allow_soft_placement=True)
    with tf.Session(graph=doubling, config=config) as sess:
        assert sess.run("y:0", {"x:0": 2.0}) == 4.0
    with tf.Session(graph=doubling, config=tf.SessionOptions(config, strands=False)) as sess:
        assert sess.run("y:0", {"x:0": 2.0}) == 4.0


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False}, {"intra_op_threads": 1, "inter_op_threads": 1, "loops": False}])
def test_timeouts(endless, options):
    with tf.Session(graph=endless, config=tf.SessionOptions(**options)) as sess:
        start = time.monotonic()
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run("loop/exit:0", {"limit:0": 2**31 - 1}, options=tf.RunOptions(timeout_in_ms=100))
        assert time.monotonic() - start < 20
        assert sess.run("loop/exit:0", {"limit:0": 7}) == 7
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with tf.Session(graph=endless, config=tf.SessionOptions(config, **options)) as sess:
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run("loop/exit:0", {"limit:0": 2**31 - 1})


def test_run_metadata(doubling):
    with tf.Session(graph=doubling) as sess:
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert sess.run("y:0", {"x:0": 2.0}, options, metadata) == 4.0
        stats = [s for d in metadata.step_stats.dev_stats for s in d.node_stats]
        assert "y" in [s.node_name for s in stats]
        for s in stats:
            assert s.all_start_micros > 1e15
            assert s.scheduled_nanos <= s.all_start_nanos
            assert s.op_start_rel_nanos <= s.op_end_rel_nanos <= s.all_end_rel_nanos
        sess.run("y:0", {"x:0": 2.0}, run_metadata=metadata)
        assert not metadata.step_stats.dev_stats
        with_options = sess.make_callable("y:0", ["x:0"], accept_options=True)
        with_options(1.0, options=options, run_metadata=metadata)
        assert metadata.step_stats.dev_stats


INTERRUPTED = """
import os, signal, sys, threading, time
# A process started in the background may have been told to ignore the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import flowmill as tf
import numpy as np
from nodes import const, counting_loop, graph, placeholder
g = graph(const("start", 0, np.int32), placeholder("limit", tf.int32, []), *counting_loop())
sess = tf.Session(graph=g, config=tf.SessionOptions(**eval(sys.argv[2])))
assert sess.run("loop/exit:0", {"limit:0": 3}) == 3
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    sess.run("loop/exit:0", {"limit:0": 2**31 - 1})
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 10)
print(sess.run("loop/exit:0", {"limit:0": 4}))
# A handler of the program's own runs in the middle of a step, which goes on.
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(time.monotonic()))
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    sess.run("loop/exit:0", {"limit:0": 2**31 - 1}, options=tf.RunOptions(timeout_in_ms=1500))
except tf.errors.DeadlineExceededError:
    print("deadline", time.monotonic() - seen[0] > 0.8)
"""


@pytest.mark.parametrize("options", [{}, {"strands": False, "loops": False}, {"intra_op_threads": 1, "inter_op_threads": 1, "loops": False}])
def test_control_c_ends_a_step(options):
    here = __file__.rpartition("/")[0]
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, here, repr(options)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:3] == ["interrupted True", "4", "deadline True"], done.stdout + done.stderr


DATA = pathlib.Path(__file__).parents[1] / "data"
FORKED = """
import os, sys
import numpy as np
import flowmill as tf

graph = tf.Graph()
with graph.as_default():
    tf.import_graph_def(sys.argv[1], name="")
options = dict(intra_op_threads=2, inter_op_threads=2)
parents = tf.Session(graph=graph, config=tf.SessionOptions(**options))
x = np.linspace(-1, 1, 64 * 784, dtype=np.float32).reshape(64, 784)
expected = parents.run("y:0", {"x:0": x})
child = os.fork()
if child == 0:
    for session in (parents, tf.Session(graph=graph, config=tf.SessionOptions(timeout=20.0, **options))):
        np.testing.assert_array_equal(session.run("y:0", {"x:0": x}), expected)
    os._exit(7)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_runs_its_parents_sessions_and_its_own():
    # In an interpreter of its own: what else this one has loaded need not bear a fork.
    model = DATA / "models" / "mlp.pb"
    done = subprocess.run([sys.executable, "-c", FORKED, str(model)], timeout=60, capture_output=True, text=True)
    assert done.returncode == 7, done.stderr


def test_close_ends_running_steps():
    import threading

    # The step counts itself in a queue before its loop begins, so that it is known to run.
    g = graph(
        const("zero", 0, np.int32), node("start", "Identity", "zero", "^count", T=tf.int32), placeholder("limit", tf.int32, []), *counting_loop(),
        node("running", "FIFOQueueV2", component_types=[tf.int32], capacity=1, shared_name="running"), node("size", "QueueSizeV2", "running"),
        node("count", "QueueEnqueueV2", "running", "zero", Tcomponents=[tf.int32]))
    sess = tf.Session(graph=g)
    raised = []

    def run():
        try:
            sess.run("loop/exit:0", {"limit:0": 2**31 - 1})
        except tf.errors.CancelledError as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    while sess.run("size:0") == 0:
        time.sleep(0.001)
    sess.close()
    thread.join(30)
    assert len(raised) == 1


def test_more_steps_than_a_session_keeps():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [])
        sums = [x + float(k) for k in range(1030)]
        with tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)) as sess:
            for k in [*range(1030), *range(10)]:
                assert sess.run(sums[k], {x: 1.0}) == 1.0 + k
