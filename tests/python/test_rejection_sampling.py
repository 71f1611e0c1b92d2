"""Gamma and Poisson numbers, which are drawn by rejection: TensorFlow's own values."""

import numpy as np
import pytest

from oracles import assert_same_op

INT32, INT64, FLOAT, DOUBLE = 3, 9, 1, 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gamma_numbers(tf1, dtype):
    alpha = np.array([[0.3, 0.99, 1.0], [1.5, 10.0, 300.0]], dtype)
    assert assert_same_op(tf1, "RandomGamma", 2e-3 if dtype == np.float16 else 1e-6, shape=np.array([40, 2], np.int32), alpha=alpha, seed=3, seed2=5) is None
    assert assert_same_op(tf1, "RandomGamma", shape=np.array([0], np.int32), alpha=alpha, seed=3, seed2=5) is None


@pytest.mark.parametrize("dtype", [INT32, INT64, FLOAT, DOUBLE])
def test_poisson_numbers(tf1, dtype):
    for rate in (np.array([0.0, 0.5, 9.9, 10.0, 55.5, 1e4]), np.array([2.5, 20.0], np.float32), np.array([3, 30], np.int64)):
        assert assert_same_op(tf1, "RandomPoissonV2", shape=np.array([50], np.int32), rate=rate, seed=3, seed2=5, dtype=dtype) is None
