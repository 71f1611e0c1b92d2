"""Sessions and predictors that compute models of float32 in bfloat16."""

import numpy as np
import pytest

import flowmill as tf
from flowmill import serving


def _product(config=None):
    """Returns the product of two vectors of 512 numbers that bfloat16 has only roughly."""
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [1, 512])
        product = tf.matmul(x, tf.constant(np.full((512, 1), 1.001, np.float32)))
        return float(session.run(product, {x: np.full((1, 512), 1.001, np.float32)})[0, 0])


@pytest.mark.parametrize("name", ["auto_mixed_precision_mkl", "auto_mixed_precision_onednn_bfloat16"])
@pytest.mark.parametrize(("toggle", "expected"), [(0, 512 * 1.001**2), (1, 512.0), (2, 512 * 1.001**2), (3, 512.0)])
def test_the_rewriter_rounds_factors(name, toggle, expected):
    config = tf.ConfigProto()
    setattr(config.graph_options.rewrite_options, name, toggle)
    assert _product(config) == pytest.approx(expected, rel=1e-5)


def test_sessions_are_exact_by_default():
    assert _product() == pytest.approx(512 * 1.001**2, rel=1e-5)


def test_predictors_compute_in_bfloat16(data):
    model = data / "models" / "mlp.pb"
    x = np.random.default_rng(0).random((4, 784), np.float32)
    exact, rough = (next(iter(serving.Predictor(model, inference_precision=precision)(x=x).values())) for precision in ("f32", "bf16"))
    assert not np.array_equal(exact, rough)
    np.testing.assert_allclose(rough, exact, atol=0.02 * np.abs(exact).max())


def test_other_precisions_are_refused(data):
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 'f32' or 'bf16', not 'fp4'"):
        serving.Predictor(data / "models" / "mlp.pb", inference_precision="fp4")
