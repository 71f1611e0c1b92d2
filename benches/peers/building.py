"""Building graphs from Python, differentiating them, and steps of training: Flowmill beside TensorFlow."""
import os
import subprocess
import sys
import time

import numpy as np

from measure import Row, minimum

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples", "training")
ADDED = 200


def module(engine):
    if engine == "flowmill":
        import flowmill
        return flowmill
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    import tensorflow.compat.v1 as tf
    tf.disable_v2_behavior()
    return tf


def additions(engine):
    """So many times an addition of a constant, in a new graph."""
    tf = module(engine)

    def call():
        with tf.Graph().as_default():
            y = tf.placeholder(tf.float32, [])
            for _ in range(ADDED):
                y = y + 1.0
    return call


def resnet50(engine):
    """The graph of ResNet-50 from functions of `tf.nn`, with its variables, in a new graph."""
    tf = module(engine)

    def convolution(x, filters, size, stride, relu=True):
        kernel = tf.get_variable("kernel", [size, size, int(x.shape[3]), filters])
        x = tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1], padding="SAME")
        scale, offset = (tf.get_variable(n, [filters]) for n in ("scale", "offset"))
        mean, variance = (tf.get_variable(n, [filters], trainable=False) for n in ("mean", "variance"))
        x, _, _ = tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)
        return tf.nn.relu(x) if relu else x

    def block(x, filters, stride):
        with tf.variable_scope("a"):
            y = convolution(x, filters, 1, stride)
        with tf.variable_scope("b"):
            y = convolution(y, filters, 3, 1)
        with tf.variable_scope("c"):
            y = convolution(y, 4 * filters, 1, 1, relu=False)
        if stride > 1 or int(x.shape[3]) != 4 * filters:
            with tf.variable_scope("shortcut"):
                x = convolution(x, 4 * filters, 1, stride, relu=False)
        return tf.nn.relu(x + y)

    def call():
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 224, 224, 3])
            with tf.variable_scope("stem"):
                x = convolution(x, 64, 7, 2)
            x = tf.nn.max_pool(x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
            for stage, (filters, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
                for i in range(blocks):
                    with tf.variable_scope("stage%d_%d" % (stage, i)):
                        x = block(x, filters, 2 if i == 0 and stage else 1)
            x = tf.reduce_mean(x, [1, 2])
            with tf.variable_scope("logits"):
                tf.nn.softmax(tf.matmul(x, tf.get_variable("kernel", [2048, 1000])) + tf.get_variable("bias", [1000]))
    return call


def mlp_gradients(engine):
    """`tf.gradients` through 50 layers and a loop; the graph before them stays the same."""
    tf = module(engine)
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 32])
        weights = [tf.constant(np.eye(32, dtype=np.float32)) for _ in range(50)]
        y = x
        for w in weights:
            y = tf.tanh(tf.matmul(y, w) + 1.0)
        _, y = tf.while_loop(lambda i, _: i < 5, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, weights[0]))), [tf.constant(0), y])
        loss = tf.reduce_sum(y)

    def call():
        with graph.as_default():
            tf.gradients(loss, weights)
    return call


def training(engine, name):
    """A step of training of one of the examples."""
    sys.path.insert(0, EXAMPLES)
    tf = module(engine)
    example = __import__(name)
    with tf.Graph().as_default():
        if name == "digits":
            images, labels = example.load()
            x, y, loss, train, _ = example.build(tf)
            feeds = {x: images[:50], y: labels[:50]}
        else:
            inputs, targets, loss, train, *_ = example.build(tf)
            before, after = next(example.batches(1))
            feeds = {inputs: before, targets: after}
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return lambda: session.run([loss, train], feeds)


def imports(turns=5):
    """Seconds of a process that imports a module, the least of some."""
    scripts = {"flowmill": "import flowmill", "tensorflow": "import tensorflow.compat.v1", "numpy": "import numpy"}
    best = dict.fromkeys(scripts, float("inf"))
    for _ in range(turns):
        for name, script in scripts.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def rows(found, seconds):
    found = {name: found[name] for name in ("flowmill", "tensorflow")}

    def pair(maker, *arguments):
        for name, process in found.items():
            process.make(maker, name, *arguments)
        return minimum(found, seconds)

    yield Row("adding a binary op with a constant from Python", pair(additions), 50, 200, "us", ADDED)
    yield Row("building ResNet-50's graph from Python", pair(resnet50), 30, 100)
    yield Row("`gradients` of a 50-layer MLP with a while_loop", pair(mlp_gradients), 20, 50)
    yield Row("a training step of the digits CNN", pair(training, "digits"), 1.5, 3)
    yield Row("a training step of the char-RNN", pair(training, "char_rnn"), 1.5, 3)
    best = imports()
    yield Row("importing the package (NumPy alone: %.0f ms)" % (best.pop("numpy") * 1e3), best, 35, None, "s")
