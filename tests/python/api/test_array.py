"""Making, arranging and picking tensors: the same nodes, shapes and values as TensorFlow's."""

import numpy as np
import pytest

from compare import compare, same_error
from inputs import FEEDS, taking_inputs

CASES = {
    "zeros": lambda tf, v: tf.zeros([2, 3]),
    "zeros 2": lambda tf, v: tf.zeros([200, 30]),
    "zeros 3": lambda tf, v: tf.zeros(v.i),
    "zeros 4": lambda tf, v: tf.zeros([v.i[0], 3], name="q"),
    "ones": lambda tf, v: tf.ones([2, 3], tf.int32),
    "ones 2": lambda tf, v: tf.ones([]),
    "ones 3": lambda tf, v: tf.ones(v.i),
    "zeros 5": lambda tf, v: tf.zeros([2], tf.string),
    "zeros 6": lambda tf, v: tf.zeros(tf.TensorShape([2]), tf.bool),
    "zeros_like": lambda tf, v: tf.zeros_like(v.x),
    "zeros_like 2": lambda tf, v: tf.zeros_like(v.u),
    "zeros_like 3": lambda tf, v: tf.zeros_like(v.u, tf.int32),
    "zeros_like 4": lambda tf, v: tf.zeros_like([1, 2]),
    "ones_like": lambda tf, v: tf.ones_like(v.x),
    "ones_like 2": lambda tf, v: tf.ones_like(v.u),
    "ones_like 3": lambda tf, v: tf.ones_like(v.p, tf.int32),
    "ones_like 4": lambda tf, v: tf.ones_like(v.x, optimize=False),
    "placeholder_with_default": lambda tf, v: tf.placeholder_with_default([1.0, 2.0], [None]),
    "fill": lambda tf, v: tf.fill([2, 3], 9),
    "shape": lambda tf, v: tf.shape(v.x),
    "shape 2": lambda tf, v: tf.shape(v.u, out_type=tf.int64),
    "shape 3": lambda tf, v: tf.shape([1, 2]),
    "size": lambda tf, v: tf.size(v.x),
    "size 2": lambda tf, v: tf.size(v.p, name="n"),
    "rank": lambda tf, v: tf.rank(v.x),
    "rank 2": lambda tf, v: tf.rank(v.u),
    "reshape": lambda tf, v: tf.reshape(v.x, [-1]),
    "concat": lambda tf, v: tf.concat([v.x], 1),
    "concat 2": lambda tf, v: tf.concat([v.x, v.p], 0),
    "concat 3": lambda tf, v: tf.concat([v.x, [[1.0, 2.0, 3.0]]], 0),
    "stack": lambda tf, v: tf.stack([v.x, v.x]),
    "stack 2": lambda tf, v: tf.stack([v.x, v.x], axis=1),
    "stack 3": lambda tf, v: tf.stack([1, 2]),
    "stack 4": lambda tf, v: tf.stack([v.s, 2.0]),
    "stack 5": lambda tf, v: tf.stack([v.s, 2.0], axis=-1),
    "unstack": lambda tf, v: tf.unstack(v.x, axis=1),
    "split": lambda tf, v: tf.split(v.x, 3, 1),
    "split 2": lambda tf, v: tf.split(v.x, [1, 2], 1),
    "strided_slice": lambda tf, v: tf.strided_slice(v.x, [0, 0], [1, 1]),
    "gather": lambda tf, v: tf.gather(v.x, [0, 1]),
    "gather 2": lambda tf, v: tf.gather(v.x, [0, 1], axis=1),
    "gather 3": lambda tf, v: tf.gather(v.x, [[0], [1]], axis=1, batch_dims=1),
    "gather_nd": lambda tf, v: tf.gather_nd(v.x, [[0, 1]]),
    "transpose": lambda tf, v: tf.transpose(v.x),
    "transpose 2": lambda tf, v: tf.transpose(v.u),
    "transpose 3": lambda tf, v: tf.transpose(v.z, conjugate=True),
    "transpose 4": lambda tf, v: tf.transpose(v.x, [1, 0]),
    "pad": lambda tf, v: tf.pad(v.x, [[1, 1], [0, 0]]),
    "pad 2": lambda tf, v: tf.pad(v.x, [[1, 1], [0, 0]], constant_values=2),
    "pad 3": lambda tf, v: tf.pad(v.x, [[1, 1], [0, 0]], "REFLECT"),
    "pad 4": lambda tf, v: tf.pad(v.x, [[1, 1], [0, 0]], "symmetric"),
    "one_hot": lambda tf, v: tf.one_hot(v.i, 3),
    "one_hot 2": lambda tf, v: tf.one_hot(v.i, 3, on_value=5, off_value=1, axis=0),
    "where": lambda tf, v: tf.where(v.b),
    "where 2": lambda tf, v: tf.where(v.b, v.x, v.x),
    "where_v2": lambda tf, v: tf.where_v2(v.b, v.x, 1.0),
    "boolean_mask": lambda tf, v: tf.boolean_mask(v.x, v.b),
    "boolean_mask 2": lambda tf, v: tf.boolean_mask(v.x, [True, False]),
    "boolean_mask 3": lambda tf, v: tf.boolean_mask(v.x, [True, False, True], axis=1),
    "sequence_mask": lambda tf, v: tf.sequence_mask(v.i),
    "sequence_mask 2": lambda tf, v: tf.sequence_mask(v.i, 5, tf.float32),
    "sequence_mask 3": lambda tf, v: tf.sequence_mask([1, 2]),
    "unique": lambda tf, v: tf.unique(v.i),
    "unique_with_counts": lambda tf, v: tf.unique_with_counts(v.i),
    "reverse": lambda tf, v: tf.reverse(v.x, [0]),
    "roll": lambda tf, v: tf.roll(v.x, 1, 0),
    "broadcast_to": lambda tf, v: tf.broadcast_to(v.x, [2, 2, 3]),
    "broadcast_dynamic_shape": lambda tf, v: tf.broadcast_dynamic_shape(v.i, v.i),
    "meshgrid": lambda tf, v: tf.meshgrid(v.i, [1, 2, 3]),
    "meshgrid 2": lambda tf, v: tf.meshgrid([1, 2], [1, 2, 3], indexing="ij"),
    "identity": lambda tf, v: tf.identity(v.x),
    "identity 2": lambda tf, v: tf.identity([1]),
    "identity_n": lambda tf, v: tf.identity_n([v.x, [1]]),
    "dynamic_partition": lambda tf, v: tf.dynamic_partition(v.x, v.i, 2),
    "dynamic_stitch": lambda tf, v: tf.dynamic_stitch([v.i, [1, 2]], [v.x, v.x]),
    "invert_permutation": lambda tf, v: tf.invert_permutation(v.i),
    "setdiff1d": lambda tf, v: tf.setdiff1d(v.i, [1]),
    "expand_dims": lambda tf, v: tf.expand_dims(v.x, 1),
    "expand_dims 2": lambda tf, v: tf.expand_dims(v.x, dim=1),
    "repeat": lambda tf, v: tf.repeat(v.x, 2, axis=1),
    "repeat 2": lambda tf, v: tf.repeat(v.x, 2),
    "searchsorted": lambda tf, v: tf.searchsorted([[1.0, 2.0]], [[1.0]]),
    "searchsorted 2": lambda tf, v: tf.searchsorted([1.0, 2.0], [1.0], side="right"),
    "sort": lambda tf, v: tf.sort(v.x),
    "argsort": lambda tf, v: tf.argsort(v.x, direction="DESCENDING"),
    "reverse_sequence": lambda tf, v: tf.reverse_sequence(v.x, v.i, 1, 0),
    "unravel_index": lambda tf, v: tf.unravel_index([3], [2, 2]),
    "scatter_nd": lambda tf, v: tf.scatter_nd([[0]], [1], [2]),
    "tensor_scatter_nd_update": lambda tf, v: tf.tensor_scatter_nd_update(v.x, [[0]], [[1, 2, 3]]),
    "guarantee_const": lambda tf, v: tf.guarantee_const(v.x),
    "batch_gather": lambda tf, v: tf.batch_gather(v.x, [[2], [0]]),
    "clip_by_norm": lambda tf, v: tf.clip_by_norm(v.x, -1.0),
    "clip_by_norm 2": lambda tf, v: tf.clip_by_norm(v.x, v.x[0, 0]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes_and_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# Functions that cannot be called so, and what their errors say.
ERRORS = {
    "where": (lambda tf, v: tf.where(v.b, v.x), "x and y must both be non-None or both be None."),
    "stack": (lambda tf, v: tf.stack([1, 2], axis=3), "not in range [-1, 1)"),
    "squeeze": (lambda tf, v: tf.squeeze(v.x, 0), "Can not squeeze dim[0], expected a dimension of 1, got 2"),
    "pad": (lambda tf, v: tf.pad(v.x, [[1, 1], [0, 0]], "foo"), 'expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC"'),
    "one_hot": (lambda tf, v: tf.one_hot(v.i, 3, on_value=5., off_value=1), "does not match dtype"),
    "one_hot dtype": (lambda tf, v: tf.one_hot([0, 1], 3, dtype=tf.bool), "Expected bool"),
    "expand_dims": (lambda tf, v: tf.expand_dims(v.x), "Must specify an axis argument to tf.expand_dims()"),
    "expand_dims twice": (lambda tf, v: tf.expand_dims(v.x, 1, dim=1), "annot specify"),
    "unstack": (lambda tf, v: tf.unstack(v.u), "Cannot infer argument `num` from shape"),
    "unstack axis": (lambda tf, v: tf.unstack(v.x, axis=2), "not in range [-2, 2)"),
    "split": (lambda tf, v: tf.split(v.x, tf.constant(2)), "Rank-0 tensors are not supported as the num_or_size_splits argument to split"),
    "split sizes": (lambda tf, v: tf.split(v.x, tf.placeholder(tf.int32, [None])), "Cannot infer argument `num` from shape"),
    "boolean_mask": (lambda tf, v: tf.boolean_mask(v.x, True), "mask cannot be scalar."),
    "boolean_mask rank": (lambda tf, v: tf.boolean_mask(v.x, tf.placeholder(tf.bool)), "Number of mask dimensions must be specified"),
    "boolean_mask shape": (lambda tf, v: tf.boolean_mask(v.x, [True, False, True]), "are incompatible"),
    "sequence_mask": (lambda tf, v: tf.sequence_mask(v.i, v.i), "Argument `maxlen` must be scalar for sequence_mask"),
    "meshgrid": (lambda tf, v: tf.meshgrid(v.i, v.i, indexing="no"), "must be either 'xy' or 'ij'"),
    "searchsorted": (lambda tf, v: tf.searchsorted([1.], [1.], side="no"), "must be either 'right' or 'left'"),
    "sort": (lambda tf, v: tf.sort(v.x, direction="no"), "Argument `direction` should be one of"),
    "reshape": (lambda tf, v: tf.reshape(v.x, [4]), "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)"),
    "concat": (lambda tf, v: tf.concat([v.x, v.i], 0), "that don't all match"),
    "gather": (lambda tf, v: tf.gather(v.x, []), "not in list of allowed values: int16, int32, int64"),
    "broadcast_static_shape": (
        lambda tf, v: tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3])), "Incompatible shapes for broadcasting"),
    "matrix_transpose": (lambda tf, v: tf.matrix_transpose(v.i), "(batch) matrix"),
    "matrix_set_diag": (lambda tf, v: tf.matrix_set_diag([[0]], 0), "must be at least rank 1"),
    "matrix_set_diag rank": (lambda tf, v: tf.matrix_set_diag(v.x, [1.0], k=(0, 1)), "must be rank 2 but is rank 1"),
    "matrix_set_diag order": (lambda tf, v: tf.matrix_set_diag(v.x, [[1.0, 2.0]], k=(1, 0)), "lower_diag_index is greater than upper_diag_index"),
    "matrix_set_diag bounds": (lambda tf, v: tf.matrix_set_diag(v.x, [1.0], k=3), "_diag_index is out of bound."),
    "as_dtype": (lambda tf, v: tf.cast(v.x, "int"), "Cannot convert the argument `type_value`: 'int' to a TensorFlow DType."),
    "dtype": (lambda tf, v: tf.DType(0), "0"),
    "clip_by_norm": (lambda tf, v: tf.clip_by_norm(tf.reshape(v.x, [2, 3, 1]), [1.0, 2.0]), "are incompatible"),
}


@pytest.mark.parametrize("case, message", ERRORS.values(), ids=ERRORS.keys())
def test_the_same_errors(tf1, case, message):
    same_error(tf1, taking_inputs(case), message)


INDICES = {
    "unknown end": lambda tf, a: a[:a.shape[0]],
    "unknown begin": lambda tf, a: a[a.shape[0]:],
    "unknown step": lambda tf, a: a[::a.shape[0]],
    "beside a tensor": lambda tf, a: a[0, :a.shape[1], tf.constant(1):a.shape[0]],
    "int16": lambda tf, a: a[tf.constant(1, tf.int16):],
    "int64": lambda tf, a: a[tf.constant(1, tf.int64):a.shape[0]],
}


@pytest.mark.parametrize("name", INDICES)
def test_bounds_that_are_not_known(tf1, name):
    feeds = {"a": np.arange(12, dtype=np.float32).reshape(2, 2, 3)}
    compare(tf1, lambda tf: INDICES[name](tf, tf.placeholder(tf.float32, [None, 2, 3], name="a")), feeds)


@pytest.mark.parametrize("index", [lambda tf: tf.constant(1, tf.uint8), lambda tf: np.array([0]), lambda tf: True, lambda tf: 1.0])
def test_what_is_no_index(tf1, index):
    same_error(tf1, lambda tf: tf.ones([2, 3])[index(tf)])
