"""Square roots of matrices and three-dimensional Fourier transforms, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same, assert_same_op


@pytest.fixture
def dice():
    return np.random.RandomState(4)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_transforms_of_volumes(tf1, dice, dtype):
    for shape in ([2, 3, 4, 5], [3, 1, 2], [2, 0, 3]):
        values = (dice.randn(*shape) + 1j * dice.randn(*shape)).astype(dtype)
        for op in ("FFT3D", "IFFT3D"):
            assert assert_same_op(tf1, op, 1e-4, input=values) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_square_roots_of_matrices(tf1, dice, dtype):
    half = dice.randn(2, 4, 4)
    matrices = (half @ half.transpose(0, 2, 1) + np.eye(4)).astype(dtype)
    if np.iscomplexobj(matrices):
        matrices += 1j * dice.randn(2, 4, 4).astype(dtype)
    assert assert_same_op(tf1, "MatrixSquareRoot", 1e-3, input=matrices) is None
    oblong = {"input:0": matrices[:, :3]}
    assert assert_same(tf1, lambda m: [m.raw_ops.MatrixSquareRoot(input=m.placeholder(matrices.dtype, name="input"))], oblong) == "InvalidArgumentError"
