"""What the engine itself costs: a node, a loop iteration, a call."""
import numpy as np

from measure import Row, minimum

CHAIN = WIDE = 10_000
ITERATIONS = 1_000


def _tf():
    import tensorflow.compat.v1 as tf
    return tf


def graph_of(build):
    """A serialised GraphDef that `build(tf)` made, and the name of the fetched tensor."""
    tf = _tf()
    graph = tf.Graph()
    with graph.as_default():
        name = build(tf).name
    return graph.as_graph_def().SerializeToString(), name


def tensorflow_session(graph_def, threads, rewrite=True):
    tf = _tf()
    from tensorflow.core.protobuf import rewriter_config_pb2
    config = tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    if not rewrite:
        # Otherwise TensorFlow folds the scalar graphs below into one constant.
        off = rewriter_config_pb2.RewriterConfig.OFF
        config.graph_options.rewrite_options.constant_folding = off
        config.graph_options.rewrite_options.arithmetic_optimization = off
        config.graph_options.optimizer_options.opt_level = -1
    graph = tf.Graph()
    with graph.as_default():
        message = tf.GraphDef()
        message.ParseFromString(graph_def)
        tf.import_graph_def(message, name="")
    return tf.Session(graph=graph, config=config)


def flowmill_session(graph_def, threads, **options):
    import flowmill
    graph = flowmill.Graph()
    with graph.as_default():
        flowmill.import_graph_def(graph_def, name="")
    return flowmill.Session(graph=graph, config=flowmill.SessionOptions(intra_op_threads=threads, inter_op_threads=threads, **options))


def chain(tf):
    x = tf.placeholder(tf.float32, [], "x")
    y = x
    for _ in range(CHAIN):
        y = y + x
    return y


def wide(tf):
    x = tf.placeholder(tf.float32, [], "x")
    # Each of another value: equal nodes would become one.
    return tf.add_n([tf.sin(x + float(i)) for i in range(WIDE // 2)])


def loop(tf):
    n = tf.placeholder(tf.int32, [], "n")
    one = tf.constant(1.0)
    _, a = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a + one), [tf.constant(0), tf.constant(0.0)])
    return tf.identity(a)


def scalar(tf):
    return tf.placeholder(tf.float32, [], "x") + 1.0


def _pair(build, feed, threads, rewrite, seconds):
    graph_def, fetch = graph_of(build)
    peers = {"flowmill": flowmill_session(graph_def, threads), "tensorflow": tensorflow_session(graph_def, threads, rewrite)}
    return minimum({name: (lambda s=s: s.run(fetch, feed)) for name, s in peers.items()}, seconds)


def rows(seconds):
    tf = _tf()
    x = {"x:0": np.float32(0.5)}
    yield Row("chain of 10,000 scalar adds, a node", _pair(chain, x, 1, False, seconds), 10, 20, "ns", CHAIN)
    yield Row("5,000 times a scalar addition and its sine beside each other, a node", _pair(wide, x, 1, False, seconds), 10, 20, "ns", WIDE)
    tf.disable_control_flow_v2()
    yield Row("v1 while_loop, 2 variables, an iteration", _pair(loop, {"n:0": np.int32(ITERATIONS)}, 1, True, seconds), 10, 30, "ns", ITERATIONS)
    tf.enable_control_flow_v2()
    yield Row("v2 While, 2 variables, an iteration", _pair(loop, {"n:0": np.int32(ITERATIONS)}, 1, True, seconds), 10, 30, "ns", ITERATIONS)
    tf.disable_control_flow_v2()
    yield Row("Session.run, one scalar fed and fetched", _pair(scalar, x, 2, True, seconds), 20, 50, "us")
