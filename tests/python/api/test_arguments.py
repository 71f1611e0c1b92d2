"""Variables, sparse tensors and IndexedSlices as arguments: the same nodes, shapes and values as TensorFlow's."""

import pytest

from compare import compare
from inputs import FEEDS, taking_inputs

# Initial values are random ones.
OF_VARIABLES = {
    "gather": lambda tf, v: tf.gather(tf.get_variable("v", [4, 3]), [0, 1]),
    "gather 2": lambda tf, v: tf.gather(tf.get_variable("v", [4, 3], use_resource=True), [0, 1]),
    "gather 3": lambda tf, v: tf.gather(tf.get_variable("v", [4, 3], use_resource=True), [0, 1], axis=1),
    "gather_nd": lambda tf, v: tf.gather_nd(tf.get_variable("v", [4, 3], use_resource=True), [[0, 1]]),
    "gather_nd 2": lambda tf, v: tf.gather_nd(tf.get_variable("v", [4, 3]), [[0, 1]]),
    "reduce_sum": lambda tf, v: tf.reduce_sum(tf.get_variable("v", [4, 3])),
    "reduce_sum 2": lambda tf, v: tf.reduce_sum(tf.get_variable("v", [4, 3], use_resource=True), 1),
    "matmul": lambda tf, v: tf.matmul(v.x, tf.get_variable("v", [3, 2])),
    "matmul 2": lambda tf, v: tf.matmul(v.x, tf.get_variable("v", [3, 2], use_resource=True)),
    "shape": lambda tf, v: tf.shape(tf.get_variable("v", [3, 2])),
    "rank": lambda tf, v: tf.rank(tf.get_variable("v", [3, 2], use_resource=True)),
    "size": lambda tf, v: tf.size(tf.get_variable("v", [3, 2])),
    "zeros_like": lambda tf, v: tf.zeros_like(tf.get_variable("v", [3, 2])),
    "ones_like": lambda tf, v: tf.ones_like(tf.get_variable("v", [3, 2], use_resource=True)),
    "identity": lambda tf, v: tf.identity(tf.get_variable("v", [3, 2])),
    "identity 2": lambda tf, v: tf.identity(tf.get_variable("v", [3, 2], use_resource=True)),
    "cast": lambda tf, v: tf.cast(tf.get_variable("v", [3, 2]), tf.float64),
    "cast 2": lambda tf, v: tf.cast(tf.get_variable("v", [3, 2], use_resource=True), tf.float32),
    "cast 3": lambda tf, v: tf.cast(tf.get_variable("v", [3, 2]), tf.float32),
    "concat": lambda tf, v: tf.concat([tf.get_variable("v", [3, 3]), v.m], 0),
    "stack": lambda tf, v: tf.stack([tf.get_variable("v", [3, 3]), v.m]),
    "stack 2": lambda tf, v: tf.stack([tf.get_variable("v", [3, 3], use_resource=True), v.m], axis=1),
    "add_n": lambda tf, v: tf.add_n([tf.get_variable("v", [3, 3], use_resource=True), v.m]),
    "add": lambda tf, v: tf.add(tf.get_variable("v", [3, 3]), 1.0),
    "multiply": lambda tf, v: tf.multiply(tf.get_variable("v", [3, 3]), 2.0),
    "square": lambda tf, v: tf.square(tf.get_variable("v", [3, 3])),
    "transpose": lambda tf, v: tf.transpose(tf.get_variable("v", [3, 3])),
    "reshape": lambda tf, v: tf.reshape(tf.get_variable("v", [3, 3], use_resource=True), [-1]),
    "unstack": lambda tf, v: tf.unstack(tf.get_variable("v", [3, 3])),
    "split": lambda tf, v: tf.split(tf.get_variable("v", [3, 3]), 3),
    "expand_dims": lambda tf, v: tf.expand_dims(tf.get_variable("v", [3, 3]), 0),
    "clip_by_value": lambda tf, v: tf.clip_by_value(tf.get_variable("v", [3, 3]), 0.0, 1.0),
    "clip_by_norm": lambda tf, v: tf.clip_by_norm(tf.get_variable("v", [3, 3]), 1.0),
    "argmax": lambda tf, v: tf.argmax(tf.get_variable("v", [3, 3]), 1),
    "where": lambda tf, v: tf.where(v.b, v.x, tf.get_variable("v", [2, 3])),
    "norm": lambda tf, v: tf.norm(tf.get_variable("v", [3, 3])),
    "abs": lambda tf, v: tf.abs(tf.get_variable("v", [3, 3])),
    "boolean_mask": lambda tf, v: tf.boolean_mask(tf.get_variable("v", [3, 3]), [True, False, True]),
    "tile": lambda tf, v: tf.tile(tf.get_variable("v", [3, 3]), [1, 2]),
    "slice": lambda tf, v: tf.slice(tf.get_variable("v", [3, 3]), [0, 0], [1, 1]),
    "equal": lambda tf, v: tf.equal(tf.get_variable("v", [3, 3]), 0.0),
    "tensordot": lambda tf, v: tf.tensordot(tf.get_variable("v", [3, 3]), v.m, 1),
    "global_norm": lambda tf, v: tf.global_norm([tf.get_variable("v", [3, 3])]),
    "clip_by_global_norm": lambda tf, v: tf.clip_by_global_norm([tf.get_variable("v", [3, 3], use_resource=True)], 1.0),
    "truediv": lambda tf, v: tf.truediv(tf.get_variable("v", [3, 3]), 2.0),
    "divide": lambda tf, v: tf.divide(tf.get_variable("v", [3, 3]), 2.0),
    "divide 2": lambda tf, v: tf.divide(3.0, tf.get_variable("v", [3, 3])),
    "reduce_logsumexp": lambda tf, v: tf.reduce_logsumexp(tf.get_variable("v", [3, 3]), 1),
    "one_hot": lambda tf, v: tf.one_hot(tf.get_variable("v", [3], tf.int32, tf.zeros_initializer()), 3),
    "einsum": lambda tf, v: tf.einsum("ij,jk->ik", tf.get_variable("v", [3, 3]), v.m),
    "Print": lambda tf, v: tf.Print(tf.get_variable("v", [3, 3]), [v.x]),
    "reduce_sum 3": lambda tf, v: tf.reduce_sum(tf.get_variable("v", [4, 3], use_resource=True)),
    "reduce_mean": lambda tf, v: tf.reduce_mean(tf.get_variable("v", [4, 3]), 0),
    "divide 3": lambda tf, v: tf.divide(3.0, v.x),
    "divide 4": lambda tf, v: tf.divide(3.0, 2.0),
    "divide 5": lambda tf, v: tf.divide([1], [2]),
    "cumsum": lambda tf, v: tf.cumsum(tf.get_variable("v", [4, 3])),
    "argmin": lambda tf, v: tf.math.argmin(tf.get_variable("v", [4, 3])),
}


@pytest.mark.parametrize("case", OF_VARIABLES.values(), ids=OF_VARIABLES.keys())
def test_the_same_nodes_with_variables(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, initialize=True, values=False)


OF_COMPOSITES = {
    "size": lambda tf, v: tf.size(tf.SparseTensor([[0, 1]], [1.0], [2, 3])),
    "shape": lambda tf, v: tf.shape(tf.SparseTensor([[0, 1]], [1.0], [2, 3])),
    "rank": lambda tf, v: tf.rank(tf.SparseTensor([[0, 1]], [1.0], [2, 3])),
    "cast": lambda tf, v: tf.cast(tf.SparseTensor([[0, 1]], [1.0], [2, 3]), tf.int32).values,
    "zeros_like": lambda tf, v: tf.zeros_like(tf.SparseTensor([[0, 1]], [-1.0], [2, 3])),
    "identity": lambda tf, v: tf.identity(tf.SparseTensor([[0, 1]], [-1.0], [2, 3])).values,
    "identity 2": lambda tf, v: tf.identity(tf.IndexedSlices(v.x, v.i)).values,
    "clip_by_norm": lambda tf, v: tf.clip_by_norm(tf.IndexedSlices(v.x, v.i), 1.0).values,
    "scalar_mul": lambda tf, v: tf.scalar_mul(2.0, tf.IndexedSlices(v.x, v.i)).values,
    "global_norm": lambda tf, v: tf.global_norm([tf.IndexedSlices(v.x, v.i), v.m]),
    "clip_by_global_norm": lambda tf, v: tf.clip_by_global_norm([tf.IndexedSlices(v.x, v.i), v.m], 1.0)[0][0].values,
    "cast 2": lambda tf, v: tf.cast(tf.IndexedSlices(v.x, v.i), tf.float64).values,
    "add_n": lambda tf, v: tf.add_n([tf.IndexedSlices(v.x, v.i, tf.constant([2, 3]))]),
}


@pytest.mark.parametrize("case", OF_COMPOSITES.values(), ids=OF_COMPOSITES.keys())
def test_the_same_nodes_and_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


WITH_OTHER_NAMES = {
    "abs": lambda tf, v: tf.abs(tf.SparseTensor([[0, 1]], [-1.0], [2, 3])).values,
    "square": lambda tf, v: tf.square(tf.SparseTensor([[0, 1]], [-1.0], [2, 3])).values,
}


@pytest.mark.parametrize("case", WITH_OTHER_NAMES.values(), ids=WITH_OTHER_NAMES.keys())
def test_the_same_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, nodes=False)


def test_functions_of_ops_have_the_parameters_of_tensorflow(tf1):
    """Their names; what follows from the inputs may be given, which TensorFlow's functions refuse."""
    import inspect

    import flowmill
    from flowmill import _core

    different = {}
    for op in dir(tf1.raw_ops):
        if not op.startswith("_") and _core.op_signature(op) is not None:
            theirs, ours = (set(inspect.signature(getattr(tf.raw_ops, op)).parameters) for tf in (tf1, flowmill))
            required = {n for n, p in inspect.signature(getattr(flowmill.raw_ops, op)).parameters.items() if p.default is p.empty}
            if theirs - ours or required - theirs:
                different[op] = sorted(theirs ^ ours)
    assert not different
