"""Networks on a GPU: the recorded models, the digits demo's model, and steps of training, against the CPU."""

import numpy as np
import pytest

import flowmill as tf

ON_GPU = {"device_count": {"GPU": 1}, "allow_soft_placement": True}
TRAINING_STEPS = 3


def _launches(stub) -> int:
    return stub.stub_cuda_launches(0) if stub else 0


@pytest.mark.parametrize("name", ["mlp", "bert_small", "lstm_small", "resnet_small", "mobilenetv2_small"])
def test_recorded_models(data, num_gpus, stub, tolerance, name):
    expected = np.load(data / "models" / f"{name}.npz")
    x, y = str(expected["input_name"]), str(expected["output_name"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(data / "models" / f"{name}.pb", name="")
    batch = min((k.removeprefix("x_") for k in expected if k.startswith("x_b")), key=lambda batch: int(batch[1:]))
    before = _launches(stub)
    with tf.Session(graph=graph, config=tf.SessionOptions(**ON_GPU)) as session:
        got = session.run(y, {x: expected[f"x_{batch}"]})
    want = next(expected[k] for k in expected if k.endswith(f"_{batch}") and not k.startswith("x_"))
    np.testing.assert_allclose(got, want, **tolerance)
    assert not stub or _launches(stub) > before, "kernels run on the GPU"


def test_digits(data, num_gpus, tolerance):
    directory = data.parents[1] / "examples" / "digits"
    expected = np.load(directory / "expected.npz")
    with tf.Graph().as_default() as graph, tf.Session(graph=graph, config=tf.SessionOptions(**ON_GPU)) as session:
        meta = tf.saved_model.load(session, ["serve"], str(directory / "1"))
        signature = meta.signature_def["serving_default"]
        outputs = {name: signature.outputs[name].name for name in ("probabilities", "classes")}
        got = session.run(outputs, {signature.inputs["images"].name: expected["images"]})
    np.testing.assert_allclose(got["probabilities"], expected["probabilities"], **tolerance)
    np.testing.assert_array_equal(got["classes"], expected["classes"])


def _weights(name, shape):
    values = np.random.RandomState(len(name) + sum(shape)).normal(0, 0.3, shape).astype(np.float32)
    return tf.get_variable(name, initializer=tf.constant(values))


def _mlp():
    x = tf.placeholder(tf.float32, [None, 8])
    hidden = tf.nn.relu(tf.matmul(x, _weights("w1", [8, 16])) + _weights("b1", [16]))
    return x, [4, 8], tf.matmul(hidden, _weights("w2", [16, 5])) + _weights("b2", [5])


def _batch_norm(x, name, channels):
    normalized, mean, variance = tf.nn.fused_batch_norm(x, 1.0 + _weights(f"{name}_scale", [channels]), _weights(f"{name}_offset", [channels]))
    return normalized + 0.0 * (mean + variance)


def _residual():
    """Two residual blocks with batch norms, as in ResNet-50."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 3])
    y = tf.nn.conv2d(x, _weights("stem", [3, 3, 3, 8]), strides=[1, 1, 1, 1], padding="SAME")
    for i in range(2):
        inner = y
        for j, size in enumerate([1, 3, 1]):
            inner = tf.nn.conv2d(inner, _weights(f"conv{i}{j}", [size, size, 8, 8]), strides=[1, 1, 1, 1], padding="SAME")
            inner = tf.nn.relu(_batch_norm(inner, f"norm{i}{j}", 8))
        y = tf.nn.relu(y + inner)
        y = tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    return x, [2, 6, 6, 3], tf.matmul(tf.reduce_mean(y, [1, 2]), _weights("top", [8, 5]))


def _inverted_residual():
    """An expansion, a depthwise convolution and a projection, as in MobileNetV2."""
    x = tf.placeholder(tf.float32, [None, 6, 6, 4])
    y = tf.nn.relu6(_batch_norm(tf.nn.conv2d(x, _weights("expand", [1, 1, 4, 12]), strides=[1, 1, 1, 1], padding="SAME"), "norm1", 12))
    y = tf.nn.depthwise_conv2d(y, _weights("depthwise", [3, 3, 12, 1]), strides=[1, 1, 1, 1], padding="SAME")
    y = tf.nn.relu6(_batch_norm(y, "norm2", 12))
    y = x + _batch_norm(tf.nn.conv2d(y, _weights("project", [1, 1, 12, 4]), strides=[1, 1, 1, 1], padding="SAME"), "norm3", 4)
    return x, [2, 6, 6, 4], tf.matmul(tf.reduce_mean(y, [1, 2]), _weights("top", [4, 5]))


def _layer_norm(x, name):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.rsqrt(variance + 1e-6) * (1.0 + _weights(f"{name}_scale", [8])) + _weights(f"{name}_offset", [8])


def _transformer():
    """A layer of BERT: embeddings, attention with two heads, layer norms, a product with GELU."""
    x = tf.placeholder(tf.int32, [None, 5])
    y = tf.gather(_weights("embeddings", [11, 8]), x) + _weights("positions", [5, 8])
    queries, keys, values = (tf.einsum("bth,hnd->bntd", y, _weights(name, [8, 2, 4])) for name in ("query", "key", "value"))
    attention = tf.nn.softmax(tf.matmul(queries, keys, transpose_b=True) * 0.5)
    y = _layer_norm(y + tf.einsum("bntd,ndh->bth", tf.matmul(attention, values), _weights("output", [2, 4, 8])), "norm1")
    inner = tf.tensordot(y, _weights("inner", [8, 16]), [[2], [0]])
    inner = 0.5 * inner * (1.0 + tf.erf(inner * 0.7071))
    y = _layer_norm(y + tf.tensordot(inner, _weights("outer", [16, 8]), [[2], [0]]), "norm2")
    return x, [2, 5], tf.matmul(y[:, 0], _weights("top", [8, 5]))


def _lstm():
    x = tf.placeholder(tf.float32, [None, 4, 3])
    gates = _weights("gates", [3 + 6, 24])

    def step(t, state, output):
        i, j, f, o = tf.split(tf.matmul(tf.concat([x[:, t], output], 1), gates), 4, axis=1)
        state = tf.sigmoid(f + 1.0) * state + tf.sigmoid(i) * tf.tanh(j)
        return t + 1, state, tf.sigmoid(o) * tf.tanh(state)
    start = tf.zeros(tf.stack([tf.shape(x)[0], 6]))
    invariants = [tf.TensorShape([]), tf.TensorShape([None, 6]), tf.TensorShape([None, 6])]
    _, _, output = tf.while_loop(lambda t, *_: t < 4, step, [tf.constant(0), start, start], shape_invariants=invariants)
    return x, [2, 4, 3], tf.matmul(output, _weights("top", [6, 5]))


NETWORKS = {f.__name__.lstrip("_"): f for f in (_mlp, _residual, _inverted_residual, _transformer, _lstm)}
OPTIMIZERS = [lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.01), lambda: tf.train.MomentumOptimizer(0.1, 0.9)]


def _train(build, optimizer, options):
    """Returns the losses of some steps and the logits after them."""
    with tf.Graph().as_default() as graph:
        x, shape, logits = build()
        labels = tf.placeholder(tf.int32, [None])
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train = optimizer().minimize(loss)
        initialize = tf.global_variables_initializer()
    random = np.random.RandomState(7)
    inputs = random.randint(0, 11, shape) if x.dtype == tf.int32 else random.normal(0, 1, shape).astype(np.float32)
    feeds = {x: inputs, labels: random.randint(0, 5, shape[:1])}
    with tf.Session(graph=graph, config=tf.SessionOptions(**options)) as session:
        session.run(initialize)
        losses = [session.run([loss, train], feeds)[0] for _ in range(TRAINING_STEPS)]
        return losses, session.run(logits, feeds)


@pytest.mark.parametrize("functional", [False, True], ids=["frames", "functions"])
@pytest.mark.parametrize("name", NETWORKS)
def test_training(control_flow, num_gpus, stub, tolerance, name, functional):
    if functional and name != "lstm":
        return  # no control flow
    (tf.enable_control_flow_v2 if functional else tf.disable_control_flow_v2)()
    for optimizer in OPTIMIZERS[: 1 if functional else 3]:
        expected = _train(NETWORKS[name], optimizer, {})
        before = _launches(stub)
        losses, logits = _train(NETWORKS[name], optimizer, ON_GPU)
        assert not stub or _launches(stub) > before, "kernels run on the GPU"
        np.testing.assert_allclose(losses, expected[0], **tolerance)
        np.testing.assert_allclose(logits, expected[1], **{key: 10 * value for key, value in tolerance.items()})
