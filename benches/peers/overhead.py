"""What the engine itself costs: a node, a loop iteration, a call."""
import numpy as np

from measure import Row, minimum

CHAIN = WIDE = 10_000
ITERATIONS = 1_000


def _tf():
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    return tf


def graph_of(build, v2):
    """A serialised GraphDef that `build(tf)` made, with functional loops or with frames, and the name of the fetched tensor."""
    tf = _tf()
    (tf.enable_control_flow_v2 if v2 else tf.disable_control_flow_v2)()
    graph = tf.Graph()
    with graph.as_default():
        name = build(tf).name
    return graph.as_graph_def().SerializeToString(), name


def graph_maker(build, v2):
    return lambda: graph_of(build, v2)


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


def caller(engine, graph_def, fetch, feed, threads, rewrite):
    session = flowmill_session(graph_def, threads) if engine == "flowmill" else tensorflow_session(graph_def, threads, rewrite)
    return lambda: session.run(fetch, feed)


def rows(found, seconds):
    found = {name: found[name] for name in ("flowmill", "tensorflow")}

    def pair(build, feed, threads=1, rewrite=True, v2=False):
        found["tensorflow"].make(graph_maker, build, v2)
        graph_def, fetch = found["tensorflow"].call()
        for name, process in found.items():
            process.make(caller, name, graph_def, fetch, feed, threads, rewrite)
        return minimum(found, seconds)

    x, n = {"x:0": np.float32(0.5)}, {"n:0": np.int32(ITERATIONS)}
    yield Row("chain of 10,000 scalar adds, a node", pair(chain, x, rewrite=False), 10, 20, "ns", CHAIN)
    yield Row("5,000 times a scalar addition and its sine beside each other, a node", pair(wide, x, rewrite=False), 10, 20, "ns", WIDE)
    yield Row("v1 while_loop, 2 variables, an iteration", pair(loop, n), 10, 30, "ns", ITERATIONS)
    yield Row("v2 While, 2 variables, an iteration", pair(loop, n, v2=True), 10, 30, "ns", ITERATIONS)
    yield Row("Session.run, one scalar fed and fetched", pair(scalar, x, threads=2), 20, 50, "us")
