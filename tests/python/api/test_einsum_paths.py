"""Products of more than two tensors: the same binary products as TensorFlow's, and the same values."""

import numpy as np
import pytest

from compare import compare

RNG = np.random.default_rng(2)
A, B, C, D = (RNG.normal(size=shape).astype("f") for shape in ((3, 4), (4, 5), (5, 2), (2, 3)))


@pytest.mark.parametrize("optimize", [None, "greedy", "optimal", "auto"])
@pytest.mark.parametrize("equation, values", [
    ("ij,jk,kl->il", (A, B, C)), ("ij,jk,kl,li->", (A, B, C, D)), ("ij,jk,kl,lm->im", (A, B, C, D)), ("ij,ij,jk->k", (A, A, B)), ("ij,jk,kl", (A, B, C)),
])
def test_chains(tf1, equation, values, optimize):
    options = {} if optimize is None else {"optimize": optimize}
    compare(tf1, lambda tf: tf.einsum(equation, *map(tf.constant, values), **options))


@pytest.mark.parametrize("equation, values", [
    ("a,b,c->abc", (A[0], B[0], C[0])), ("...i,...i,j->...j", (A, A, B[0])), ("bij,bjk,bkl->bil", (A[None], B[None], C[None])), ("ii,ij,jk->k", (A[:, :3], A, B)),
])
def test_values(tf1, equation, values):
    compare(tf1, lambda tf: tf.einsum(equation, *map(tf.constant, values)), nodes=False)


def test_unknown_sizes(tf1):
    def build(tf):
        x, y = tf.placeholder(tf.float32, [None, 4], name="x"), tf.placeholder(tf.float32, [4, None], name="y")
        return tf.einsum("ij,jk,kl->il", x, y, tf.constant(C))

    compare(tf1, build, {"x": A, "y": B}, nodes=False)
