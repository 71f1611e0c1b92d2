"""Gradients of gamma variables and of incomplete gamma functions: the same values as TensorFlow's."""

import pytest

from compare import compare

ALPHAS = [1e-3, 0.01, 0.1, 0.5, 1.0, 1.0, 2.0, 5.0, 10.0, 10.0, 100.0, 100.0, 1000.0, 5000.0]

SAMPLES = [1e-4, 0.001, 0.2, 0.4, 1.0, 4.0, 3.0, 2.0, 12.0, 9.0, 95.0, 110.0, 1010.0, 4900.0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_slopes_of_gamma_variables(tf1, dtype):
    # In single precision TensorFlow loses digits where parameters are large.
    tolerance, count = (5e-4, -1) if dtype == "float32" else (1e-7, None)

    def build(tf):
        alphas, samples = tf.constant(ALPHAS[:count], getattr(tf, dtype)), tf.constant(SAMPLES[:count], getattr(tf, dtype))
        return tf.raw_ops.RandomGammaGrad(alpha=alphas, sample=samples), tf.raw_ops.IgammaGradA(a=alphas, x=samples)
    compare(tf1, build, rtol=tolerance, atol=1e-6)

    def gradients(tf):
        alphas, samples = tf.constant(ALPHAS[3:8], getattr(tf, dtype)), tf.constant([[0.3], [2.5]], getattr(tf, dtype))
        return [tf.gradients(f(alphas, samples), [alphas, samples]) for f in (tf.igamma, tf.igammac)]
    compare(tf1, gradients, nodes=False, rtol=10 * tolerance)


def test_gradients_of_gamma_variables(tf1):
    def build(tf):
        alphas = tf.constant([[0.3, 1.0], [4.0, 30.0]])
        samples = tf.random_gamma([3], alphas, beta=tf.constant([2.0, 0.5]), seed=4)
        return samples, tf.gradients(tf.square(samples), alphas)[0]
    compare(tf1, build, nodes=False, rtol=1e-4)
