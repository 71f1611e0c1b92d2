"""Fake quantisation beside TensorFlow: limits, halves, NaN, channels without a range, gradients."""

import numpy as np
import pytest

import flowmill

RANGES = [(0.0, 6.0), (-6.0, 6.0), (-1.0, 0.3), (-0.1, 10.0), (0.5, 1.5), (0.0, 0.0)]


def elements():
    random = np.random.default_rng(5)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-30, 6.0, -6.0, 0.0117647, 0.0117648]
    return np.concatenate([np.float32(special), random.normal(0, 4, 5000).astype(np.float32)])


@pytest.mark.parametrize("narrow_range", [False, True])
@pytest.mark.parametrize("num_bits", [2, 8, 16])
@pytest.mark.parametrize("low, high", RANGES)
def test_elements_are_rounded_as_by_tensorflow(tf1, low, high, num_bits, narrow_range):
    x = elements()
    ramp = np.float32(np.linspace(low - 0.3, high + 0.3, 1001))

    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(tf.float32, [None])
            options = {"num_bits": num_bits, "narrow_range": narrow_range}
            of_vars = tf.fake_quant_with_min_max_vars(fed, low, high, **options)
            fetches = [of_vars, *tf.gradients(of_vars, fed)]
            if low <= 0 <= high and low < high:
                fetches.append(tf.fake_quant_with_min_max_args(fed, low, high, **options))
            return [value for each in (x, ramp) for value in session.run(fetches, {fed: each})]

    for mine, theirs in zip(run(flowmill), run(tf1), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_channels_have_ranges_of_their_own(tf1):
    x = elements()[: 5000 // len(RANGES) * len(RANGES)].reshape(-1, len(RANGES))
    x[np.isnan(x)] = 1
    x[3, 0] = np.nan
    low, high = np.float32(RANGES).T

    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            fed, limits = tf.placeholder(tf.float32, [None, len(RANGES)]), [tf.placeholder(tf.float32, [len(RANGES)]) for _ in range(2)]
            y = tf.fake_quant_with_min_max_vars_per_channel(fed, *limits)
            return session.run([y, *tf.gradients(y, [fed, *limits])], {fed: x, limits[0]: low, limits[1]: high})

    for mine, theirs in zip(run(flowmill), run(tf1), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_what_is_fed_is_left_alone():
    x = elements()
    before = x.copy()
    with flowmill.Session() as session:
        fed = flowmill.placeholder(flowmill.float32, [None])
        session.run(flowmill.fake_quant_with_min_max_args(fed), {fed: x})
    np.testing.assert_array_equal(x, before)
