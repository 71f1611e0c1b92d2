"""Frozen models, against outputs that TensorFlow gave."""

import numpy as np
import pytest

import flowmill as tf


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["mlp", "bert_small", "lstm_small", "resnet_small", "mobilenetv2_small"])
def test_outputs_equal_tensorflows(data, name, threads):
    expected = np.load(data / "models" / f"{name}.npz")
    x, y = str(expected["input_name"]), str(expected["output_name"])
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(data / "models" / f"{name}.pb", name="")
    batches = sorted(k.removeprefix("x_") for k in expected if k.startswith("x_b"))
    assert len(batches) == 2
    with tf.Session(graph=graph, config=tf.SessionOptions(intra_op_threads=threads, inter_op_threads=threads)) as sess:
        for batch in batches:
            got = sess.run(y, {x: expected[f"x_{batch}"]})
            want = next(expected[k] for k in expected if k.endswith(f"_{batch}") and not k.startswith("x_"))
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_digits(data):
    expected = np.load(data.parents[1] / "examples" / "digits" / "expected.npz")
    model = tf.saved_model.load(data.parents[1] / "examples" / "digits" / "1")
    outputs = model.signatures["serving_default"](images=expected["images"])
    np.testing.assert_allclose(outputs["probabilities"], expected["probabilities"], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(outputs["classes"], expected["classes"])
