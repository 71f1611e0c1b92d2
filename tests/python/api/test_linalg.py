"""Linear algebra: the same nodes, shapes and values as TensorFlow's."""

import numpy as np
import pytest

from compare import compare_built, compare_in_tensorflow, same_error
from inputs import FEEDS, taking_inputs

# Some of these have no kernel yet.
CASES = {
    "eye": lambda tf, v: tf.eye(3),
    "eye 2": lambda tf, v: tf.eye(2, 3, batch_shape=[2]),
    "eye 3": lambda tf, v: tf.eye(v.i[1]),
    "eye 4": lambda tf, v: tf.eye(v.i[1], 3),
    "eye 5": lambda tf, v: tf.eye(3, dtype=tf.int32, name="I"),
    "diag": lambda tf, v: tf.diag(v.i),
    "diag_part": lambda tf, v: tf.diag_part(v.m),
    "matrix_diag": lambda tf, v: tf.matrix_diag(v.x),
    "matrix_diag_part": lambda tf, v: tf.matrix_diag_part(v.m),
    "matrix_set_diag": lambda tf, v: tf.matrix_set_diag(v.m, [1.0, 2.0, 3.0]),
    "diag 2": lambda tf, v: tf.linalg.diag(v.x, k=1),
    "diag 3": lambda tf, v: tf.linalg.diag(v.b),
    "diag_part 2": lambda tf, v: tf.linalg.diag_part(v.m, k=-1),
    "set_diag": lambda tf, v: tf.linalg.set_diag(v.m, [1.0, 2.0], k=1),
    "tensor_diag": lambda tf, v: tf.linalg.tensor_diag(v.i),
    "band_part": lambda tf, v: tf.linalg.band_part(v.m, 1, 0),
    "matrix_band_part": lambda tf, v: tf.matrix_band_part(v.m, 0, -1),
    "norm": lambda tf, v: tf.norm(v.x),
    "norm 2": lambda tf, v: tf.norm(v.x, axis=1),
    "norm 3": lambda tf, v: tf.norm(v.x, ord=1, axis=1, keepdims=True),
    "norm 4": lambda tf, v: tf.norm(v.x, ord="fro", axis=[0, 1]),
    "norm 5": lambda tf, v: tf.norm(v.x, ord=np.inf),
    "norm 6": lambda tf, v: tf.norm(v.x, ord=3),
    "norm 7": lambda tf, v: tf.norm(v.x, ord=1.5, axis=0, keep_dims=True),
    "norm 8": lambda tf, v: tf.norm(v.z),
    "norm 9": lambda tf, v: tf.norm(v.u),
    "norm 10": lambda tf, v: tf.norm(v.m, 1, axis=[0, 1]),
    "norm 11": lambda tf, v: tf.norm(v.m, np.inf, axis=(0, 1), keepdims=True),
    "trace": lambda tf, v: tf.trace(v.m),
    "svd": lambda tf, v: tf.svd(v.x, compute_uv=False),
    "self_adjoint_eigvals": lambda tf, v: tf.self_adjoint_eigvals(v.m),
    "self_adjoint_eig": lambda tf, v: tf.self_adjoint_eig(v.m)[0],
    "cholesky": lambda tf, v: tf.cholesky(v.m),
    "cholesky_solve": lambda tf, v: tf.cholesky_solve(tf.cholesky(v.m), v.m),
    "matrix_solve": lambda tf, v: tf.matrix_solve(v.m, v.m),
    "matrix_inverse": lambda tf, v: tf.matrix_inverse(v.m),
    "matrix_determinant": lambda tf, v: tf.matrix_determinant(v.m),
    "matrix_triangular_solve": lambda tf, v: tf.matrix_triangular_solve(v.m, v.m),
    "matrix_solve_ls": lambda tf, v: tf.matrix_solve_ls(v.m, v.m),
    "matrix_solve_ls 2": lambda tf, v: tf.matrix_solve_ls(v.x, v.x),
    "matrix_solve_ls 3": lambda tf, v: tf.matrix_solve_ls(v.m, v.m, l2_regularizer=0.1),
    "logdet": lambda tf, v: tf.linalg.logdet(v.m),
    "slogdet": lambda tf, v: tf.linalg.slogdet(v.m),
    "matrix_transpose": lambda tf, v: tf.matrix_transpose(v.x),
    "matrix_transpose 2": lambda tf, v: tf.matrix_transpose(v.u),
    "adjoint": lambda tf, v: tf.linalg.adjoint(v.z),
    "pinv": lambda tf, v: tf.linalg.pinv(v.x),
    "matrix_rank": lambda tf, v: tf.linalg.matrix_rank(v.x),
    "pinv of checked matrices": lambda tf, v: tf.linalg.pinv(v.u, validate_args=True),
    "matrix_rank of checked matrices": lambda tf, v: tf.linalg.matrix_rank(v.u, validate_args=True),
    "matrix_rank of a list": lambda tf, v: tf.linalg.matrix_rank([[1, 2], [2, 4]]),
    "normalize": lambda tf, v: tf.linalg.normalize(v.x),
    "matvec": lambda tf, v: tf.linalg.matvec(v.x, [1.0, 2.0, 3.0]),
    "matmul": lambda tf, v: tf.linalg.matmul(v.x, v.m),
    "cross": lambda tf, v: tf.cross(v.m, v.m),
    # The factors are what they are but for signs.
    "qr": lambda tf, v: tf.abs(tf.qr(v.m)[1]),
    "matrix_solve 2": lambda tf, v: tf.matrix_solve(v.m, v.m, adjoint=True),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes(tf1, case):
    compare_built(tf1, taking_inputs(case), FEEDS)


# Calls that fail, and what both modules say.
ERRORS = {
    "norm": (lambda tf, v: tf.norm(v.x, "bad"), "'ord' must be a supported vector norm, got bad"),
    "norm negative": (lambda tf, v: tf.norm(v.x, -1), "'ord' must be a supported vector norm, got -1"),
    "norm matrix": (lambda tf, v: tf.norm(v.x, 3, axis=[0, 1]), "'ord' must be a supported matrix norm in"),
    "norm axes": (lambda tf, v: tf.norm(v.x, axis=[0, 1, 2]), "'axis' must be None, an integer, or a tuple of 2 unique integers, got [0, 1, 2]"),
    "norm same axes": (lambda tf, v: tf.norm(v.x, axis=[1, 1]), "'axis' must be None, an integer, or a tuple of 2 unique integers, got (1, 1)"),
    "pinv": (lambda tf, v: tf.linalg.pinv(tf.constant([[1, 2]])), "Input `a` must have `float`-like `dtype`"),
    "pinv 2": (lambda tf, v: tf.linalg.pinv(tf.constant([1.0, 2.0])), "Input `a` must have at least 2 dimensions"),
    "matrix_rank": (lambda tf, v: tf.linalg.matrix_rank([1.0, 2.0]), "Input `a` must have at least 2 dimensions"),
    "cholesky": (lambda tf, v: tf.cholesky(v.x), "Dimensions must be equal, but are 2 and 3"),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


# Functions whose nodes are our own.
WITH_NODES_OF_ITS_OWN = {
    "norm": lambda tf, v: tf.norm(v.m, 2, axis=[0, 1]),
    "norm of a batch": lambda tf, v: tf.norm(v.t4, 2, axis=[0, 2], keepdims=True),
    "expm": lambda tf, v: tf.linalg.expm(v.m),
    "expm large": lambda tf, v: tf.linalg.expm(v.m * 4.0),
    "expm of a batch": lambda tf, v: tf.linalg.expm(tf.cast([v.m, v.m * 0.0, v.m * 5.0], tf.float64)),
    "expm unknown size": lambda tf, v: tf.linalg.expm(tf.placeholder_with_default(v.m, [None, None])),
}


@pytest.mark.parametrize("case", WITH_NODES_OF_ITS_OWN.values(), ids=WITH_NODES_OF_ITS_OWN.keys())
@pytest.mark.usefixtures("control_flow")
def test_tensorflow_gives_our_graph_the_same_values(tf1, case):
    compare_in_tensorflow(tf1, taking_inputs(case), FEEDS)
