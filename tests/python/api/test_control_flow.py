"""Conditionals, loops, cases and what is built of them: the same nodes as TensorFlow, the same values."""

import collections

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

Pair = collections.namedtuple("Pair", "a b")


def placeholder(tf, name="x", dtype="float32", shape=()):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=None if shape is None else list(shape), name=name)


def check(tf1, build, feeds=None, **options):
    """Loops and conditionals make what brings inputs in before what takes them, TensorFlow after it."""
    return compare(tf1, build, feeds, ordered=False, **options)


@pytest.mark.parametrize("x", [1.0, -1.0])
@pytest.mark.parametrize("branches", [
    (lambda tf, x, y: x + y, lambda tf, x, y: x * y),
    (lambda tf, x, y: x, lambda tf, x, y: y),
    (lambda tf, x, y: 1.0, lambda tf, x, y: x),
    (lambda tf, x, y: [x, y], lambda tf, x, y: [y, x]),
    (lambda tf, x, y: [x], lambda tf, x, y: [y]),
    (lambda tf, x, y: Pair(x, {"k": [y, 2]}), lambda tf, x, y: Pair(y, {"k": [x, 3]})),
    (lambda tf, x, y: (tf.no_op(), x), lambda tf, x, y: (tf.group(x, y), y)),
    (lambda tf, x, y: tf.cond(y > 0, lambda: x, lambda: y), lambda tf, x, y: tf.cond(x > y, lambda: x + y, lambda: y)),
])
def test_cond(tf1, control_flow, branches, x):
    def build(tf):
        x, y = placeholder(tf), placeholder(tf, "y")
        return tf.cond(x > 0, lambda: branches[0](tf, x, y), lambda: branches[1](tf, x, y))
    check(tf1, build, {"x": x, "y": 0.5})


def test_a_tuple_of_one_and_a_tensor(tf1, control_flow):
    def build(tf):
        x, y = placeholder(tf), placeholder(tf, "y")
        return tf.cond(x > 0, lambda: (x,), lambda: y)
    if control_flow == "frames":
        check(tf1, build, {"x": 1.0, "y": 0.5})
    else:
        same_error(tf1, build, "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure")


@pytest.mark.parametrize("strict", [True, False])
def test_strict_cond_keeps_lists_of_one(tf1, control_flow, strict):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            out = tf.cond(tf.constant(True), lambda tf=tf: [tf.constant(1)], lambda tf=tf: [tf.constant(2)], strict=strict)
            assert isinstance(out, list) == (strict or control_flow == "functions")


@pytest.mark.usefixtures("control_flow")
def test_cond_of_operations(tf1):
    check(tf1, lambda tf: tf.cond(tf.constant(True), tf.no_op, tf.no_op, name="choose"))


def _after(tf, *waited):
    with tf.control_dependencies(list(waited)):
        return tf.constant(2.0)


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("branch", [
    lambda tf: _after(tf, tf.constant(1.0)),
    lambda tf: _after(tf, _after(tf, tf.constant(1.0)), tf.constant(3.0)),
    lambda tf: _after(tf, tf.constant(1.0)) + _after(tf, tf.constant(3.0)),
])
@pytest.mark.usefixtures("control_flow")
def test_a_constant_of_a_branch_waits_for_another(tf1, branch, taken):
    check(tf1, lambda tf: tf.cond(tf.constant(taken), lambda: branch(tf), lambda: tf.constant(0.0)))
    check(tf1, lambda tf: tf.cond(placeholder(tf, "p", "bool"), lambda: branch(tf), lambda: tf.constant(0.0)), {"p": taken})


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.usefixtures("control_flow")
def test_cond_calls_a_function_with_a_constant(tf1, taken):
    def build(tf):
        f = tf.function(lambda x: _after(tf, x) * x)
        return tf.cond(placeholder(tf, "p", "bool"), lambda: f(tf.constant(3.0)), lambda: tf.constant(0.0))
    check(tf1, build, {"p": taken}, nodes=False)


@pytest.mark.usefixtures("control_flow")
def test_cond_of_indexed_slices(tf1):
    def build(tf):
        x = placeholder(tf, shape=(2, 3))

        def branch(index):
            return lambda: tf.IndexedSlices(x + 1.0, tf.constant([index, 0]), tf.constant([4, 3]))
        out = tf.cond(x[0, 0] > 0, branch(1), branch(2))
        return out.values, out.indices, out.dense_shape
    check(tf1, build, {"x": np.ones((2, 3))})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.cond(True, lambda: 1, lambda: 2), "'pred' must not be a Python bool."),
    (lambda tf: tf.cond(tf.constant(True), 1, lambda: 2), "'true_fn' must be callable."),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1, 2), "'false_fn' must be callable."),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1), "'false_fn' argument required"),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2, fn1=lambda: 3), "may not be set simultaneously"),
    (lambda tf: tf.cond(tf.constant(True), lambda: None, lambda: None), "'true_fn' must have a return value."),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: None), "'false_fn' must have a return value."),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2.0), "must have the same type(s). Received int32 from 'true_fn' and float32 from 'false_fn'."),
    (lambda tf: tf.cond(tf.constant(True), lambda: [1, 2], lambda: [1]), "The two structures don't have the same nested structure"),
    (lambda tf: tf.cond(tf.constant(True), lambda: [1, 2], lambda: (1, 2)), "don't have the same sequence type"),
    (lambda tf: tf.cond(tf.constant(True), lambda: [], lambda: []), "must return at least one result."),
])
def test_errors_of_cond(tf1, build, match):
    same_error(tf1, build, match)


LOOPS = {
    "one variable": lambda tf, x: tf.while_loop(lambda i: i < 5, lambda i: i + 1, [0]),
    "one variable, as a list": lambda tf, x: tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0], return_same_structure=True),
    "two": lambda tf, x: tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * 2.0), [0, x]),
    "named": lambda tf, x: tf.while_loop(lambda i, v: i < 5, lambda i, v: [i + 1, v * x], (0, x), name="repeat", parallel_iterations=3),
    "structures": lambda tf, x: tf.while_loop(
        lambda i, p: i < 3, lambda i, p: (i + 1, Pair(p.a + x, {"u": p.b["u"] * 2.0})), (0, Pair(x, {"u": x}))),
    "invariants of the body": lambda tf, x: tf.while_loop(lambda v: v < 50.0, lambda v: v * 2.0 + x + tf.constant(1.0), [x]),
    "a bound": lambda tf, x: tf.while_loop(lambda i, v: i < 50, lambda i, v: (i + 1, v + x), (0, x), maximum_iterations=4),
    "a bound, one variable": lambda tf, x: tf.while_loop(lambda i: i < 50, lambda i: i + 1, [0], maximum_iterations=4),
    "a bound, one structure": lambda tf, x: tf.while_loop(lambda v: v[0] < 50, lambda v: [v[0] + 1, v[1] + x], [[0, x]], maximum_iterations=4),
    "never": lambda tf, x: tf.while_loop(lambda v: v < -50.0, lambda v: v * 2.0, [x]),
    "nested": lambda tf, x: tf.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, tf.while_loop(lambda j, w: j < i, lambda j, w: (j + 1, w + x), [0, v])[1]), [0, x]),
    "cond in it": lambda tf, x: tf.while_loop(
        lambda i, v: i < 4, lambda i, v: (i + 1, tf.cond(v < 3.0, lambda: v + x, lambda: x)), [0, x]),
    "control dependencies": lambda tf, x: _waiting(tf, x),
}


def _waiting(tf, x):
    before = tf.no_op("before")
    with tf.get_default_graph().control_dependencies([before, x]):
        return tf.while_loop(lambda i, v: i < tf.constant(3), lambda i, v: (i + 1, v + tf.constant(1.0)), [0, x])


@pytest.mark.parametrize("loop", LOOPS)
def test_while_loop(tf1, control_flow, loop):
    def build(tf):
        return LOOPS[loop](tf, placeholder(tf))
    if control_flow == "functions" and loop == "a bound, one structure":
        same_error(tf1, build, "The two structures don't have the same nested structure")
    else:
        check(tf1, build, {"x": 1.5})


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("loop", LOOPS)
def test_while_loop_in_cond(tf1, control_flow, loop, taken):
    if control_flow == "functions" and loop == "a bound, one structure":
        pytest.skip("structures like this one are errors in loops that are functions")

    def build(tf):
        x = placeholder(tf)
        return tf.cond(placeholder(tf, "p", "bool"), lambda: LOOPS[loop](tf, x), lambda: LOOPS[loop](tf, x))
    check(tf1, build, {"x": 1.5, "p": taken})


@pytest.mark.usefixtures("control_flow")
def test_shape_invariants(tf1):
    def build(tf):
        x = placeholder(tf, shape=(2, 3))
        rows = tf.TensorShape([None, 3])
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.raw_ops.ConcatV2(values=[v, x], axis=0)), [0, x],
                             shape_invariants=[tf.TensorShape([]), rows])
    check(tf1, build, {"x": np.ones((2, 3))})


@pytest.mark.usefixtures("control_flow")
def test_loops_do_not_end_by_shapes(tf1):
    def build(tf):
        x = placeholder(tf, shape=(None, 3))
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2.0), [0, x])
    check(tf1, build, {"x": np.ones((2, 3))})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.while_loop(1, lambda i: i, [0]), "'cond' must be callable."),
    (lambda tf: tf.while_loop(lambda i: i < 3, 1, [0]), "'body' must be callable."),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i, [0], parallel_iterations=0), "'parallel_iterations' must be a positive integer."),
    (lambda tf: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i, tf.raw_ops.ConcatV2(values=[x, x], axis=0)), [0, tf.constant([1.0])]),
     "enters the loop with shape (1,), but has shape (2,) after one iteration. To allow the shape to vary across iterations, use the `shape_invariants`"),
    (lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: i, [0, 1]), None),
    (lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: (i, [j]), [0, 1]), None),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i, [0], shape_invariants=[3]), "'shape' must be one of TypeSpec, TensorShape or None."),
])
def test_errors_of_while_loop(tf1, control_flow, build, match):
    same_error(tf1, build, match)


# Loops that are functions say nothing of these.
@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.while_loop(lambda: True, lambda: 1, []), "'loop_vars' must be provided."),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: i, [0], maximum_iterations=[1]), "'maximum_iterations' must be a scalar."),
    (lambda tf: tf.while_loop(lambda i: i[0] < 3, lambda i: i, [tf.constant([1, 2])], shape_invariants=[tf.TensorShape([3])]),
     "is not compatible with the initial shape of the loop variable. It enters the loop with shape (2,), but the specified shape invariant is (3,)."),
])
def test_errors_of_loops_of_frames(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.usefixtures("control_flow")
def test_case(tf1):
    def build(tf):
        x = placeholder(tf)
        return [
            tf.case([(x < 1.0, lambda: x + 1.0), (x < 3.0, lambda: x * 2.0)], default=lambda: -x),
            tf.case([(x < 1.0, lambda: x + 1.0), (x < 3.0, lambda: x * 2.0)], exclusive=True, name="one"),
            tf.case({x < 1.0: lambda: [x + 1.0], x > 3.0: lambda: [x * 2.0]}, default=lambda: [-x], strict=True),
        ]
    for x in (2.0,):
        check(tf1, build, {"x": x})


@pytest.mark.usefixtures("control_flow")
def test_case_without_a_true_predicate_fails():
    with flowmill.Graph().as_default() as graph:
        x = placeholder(flowmill)
        out = flowmill.case([(x < 1.0, lambda: x), (x < 2.0, lambda: -x)])
        with flowmill.Session(graph=graph) as session:
            assert session.run(out, {x: 1.5}) == -1.5
            with pytest.raises(flowmill.errors.InvalidArgumentError, match="None of conditions evaluated as True"):
                session.run(out, {x: 2.5})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.case(1), "'pred_fn_pairs' must be a list, tuple, or dict."),
    (lambda tf: tf.case([1]), "Each entry in 'pred_fn_pairs' must be a 2-tuple."),
    (lambda tf: tf.case([(True, lambda: 1)]), "pred must be a Tensor, got: True"),
    (lambda tf: tf.case([(tf.constant(1), lambda: 1)]), "pred must be Tensor of type bool: Const:0"),
    (lambda tf: tf.case([(tf.constant(True), 1)]), "must be callable."),
])
@pytest.mark.usefixtures("control_flow")
def test_errors_of_case(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.usefixtures("control_flow")
def test_assert(tf1):
    def build(tf):
        x = placeholder(tf)
        with tf.get_default_graph().control_dependencies([tf.Assert(x > 0.0, [x, "is not positive"]), tf.Assert(x < 9.0, ["too large"], name="small")]):
            return x + 1.0
    check(tf1, build, {"x": 1.0})
    with flowmill.Graph().as_default() as graph, flowmill.Session(graph=graph) as session:
        out = build(flowmill)
        with pytest.raises(flowmill.errors.InvalidArgumentError, match="is not positive"):
            session.run(out, {"x:0": -1.0})


@pytest.mark.usefixtures("control_flow")
def test_group_by_devices(tf1):
    def build(tf):
        graph = tf.get_default_graph()
        ops = []
        for device in ("/cpu:0", "/cpu:0", ""):
            with graph.device(device):
                ops.append(tf.no_op())
        x = placeholder(tf)
        with graph.control_dependencies([tf.group(*ops, name="all"), tf.group(), tf.group([x, {"y": x}]), *[t.op for t in tf.tuple([x, None, x]) if t is not None]]):
            return tf.constant(1)
    check(tf1, build, {"x": 1.0})


ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)

OVER_ROWS = {
    "map_fn": lambda tf, x, y: tf.map_fn(lambda r: r * 2.0, x),
    "map_fn of several": lambda tf, x, y: tf.map_fn(lambda p: (p[0] + p[1], p[1]), (x, y)),
    "map_fn with types": lambda tf, x, y: tf.map_fn(lambda r: (tf.raw_ops.Cast(x=r, DstT=tf.int32), {"k": r}), x, dtype=(tf.int32, {"k": tf.float32})),
    "map_fn, name": lambda tf, x, y: tf.map_fn(lambda r: r, x, name="rows", parallel_iterations=2, back_prop=False, infer_shape=False),
    "foldl": lambda tf, x, y: tf.foldl(lambda a, r: a * 0.5 + r, x),
    "foldl with a start": lambda tf, x, y: tf.foldl(lambda a, r: (a[0] + r[0], a[1] * r[1]), (x, y), initializer=(y[0], x[1])),
    "foldr": lambda tf, x, y: tf.foldr(lambda a, r: a * 0.5 + r, x),
    "foldr with a start": lambda tf, x, y: tf.foldr(lambda a, r: a * 0.5 + r, x, initializer=y[0]),
    "scan": lambda tf, x, y: tf.scan(lambda a, r: a * 0.5 + r, x),
    "scan with a start": lambda tf, x, y: tf.scan(lambda a, r: (a[0] + r[0], a[1] * r[1]), (x, y), initializer=(y[0], x[1])),
    "scan in reverse": lambda tf, x, y: tf.scan(lambda a, r: a * 0.5 + r, x, reverse=True),
    "scan in reverse with a start": lambda tf, x, y: tf.scan(lambda a, r: a * 0.5 + r, x, initializer=y[0], reverse=True, infer_shape=False),
}


@pytest.mark.parametrize("rows", [4, None])
@pytest.mark.parametrize("function", OVER_ROWS)
@pytest.mark.usefixtures("control_flow")
def test_functions_over_rows(tf1, function, rows):
    def build(tf):
        return OVER_ROWS[function](tf, placeholder(tf, shape=(rows, 3)), placeholder(tf, "y", shape=(rows, 3)))
    check(tf1, build, {"x": ROWS, "y": ROWS - 5})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.map_fn(1, tf.constant([1.0])), None),
    (lambda tf: tf.map_fn(lambda x: x, tf.constant(1.0)), "Elements in elems must be 1+ dimensional Tensors, not scalars"),
    (lambda tf: tf.map_fn(lambda x: x, []), "which does not contain any Tensors."),
    (lambda tf: tf.map_fn(lambda x: (x, x), tf.constant([1.0])), None),
    (lambda tf: tf.map_fn(lambda x: x[0], (tf.constant([1.0, 2.0]), tf.constant([1.0]))), None),
    (lambda tf: tf.foldl(1, tf.constant([1.0])), None),
    (lambda tf: tf.scan(lambda a, x: (a, x), tf.constant([1.0])), None),
])
@pytest.mark.usefixtures("control_flow")
def test_errors_of_functions_over_rows(tf1, build, match):
    if match is None:
        with pytest.raises((TypeError, ValueError, AttributeError)), tf1.Graph().as_default():
            build(tf1)
        with pytest.raises((TypeError, ValueError)), flowmill.Graph().as_default():
            build(flowmill)
    else:
        same_error(tf1, build, match)


@pytest.mark.usefixtures("control_flow")
def test_cond_in_a_scope_that_is_entered_again(tf1):
    def build(tf):
        x = placeholder(tf)
        with tf.name_scope("choose") as scope:
            tf.identity(x, name="switch_t")
        return tf.cond(x > 0.0, lambda: (x, tf.no_op()), lambda: (-x, tf.no_op()), name=scope)
    check(tf1, build, {"x": 1.0})


def sparse(tf):
    return tf.SparseTensor(tf.constant([[0], [3]], tf.int64), tf.constant([2.0, 4.0]), tf.constant([10], tf.int64))


def rows(tf):
    return tf.RaggedTensor.from_row_lengths(tf.range(6), tf.constant([3, 1, 2], tf.int64))


def slices(tf):
    return tf.IndexedSlices(tf.ones([2, 2]), tf.constant([0, 3]), tf.constant([10, 2]))


GROWING = {
    "sparse": (sparse, lambda tf, x: tf.sparse_add(x, tf.SparseTensor([[1]], [1.0], [10])), None),
    "sparse of any rank": (sparse, lambda tf, x: tf.SparseTensor(tf.concat([x.indices, x.indices[:, :1]], 1), x.values, tf.concat([x.dense_shape, [10]], 0)), [None]),
    "longer rows": (rows, lambda tf, x: tf.concat([x, x], 1), None),
    "more rows": (rows, lambda tf, x: tf.concat([x, x], 0), lambda tf: tf.RaggedTensorSpec([None, None], tf.int32)),
    "more slices": (slices, lambda tf, x: tf.IndexedSlices(tf.concat([x.values, x.values], 0), tf.concat([x.indices, x.indices], 0), x.dense_shape), [None, 2]),
}


@pytest.mark.parametrize("kind", GROWING)
@pytest.mark.usefixtures("control_flow")
def test_composites_grow_in_loops(tf1, kind):
    begin, grow, invariant = GROWING[kind]

    def build(tf):
        shape = tf.TensorShape(invariant) if isinstance(invariant, list) else invariant and invariant(tf)
        shapes = None if shape is None else [tf.TensorShape([]), shape]
        _, x = tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, grow(tf, x)), [tf.constant(0), begin(tf)], shape_invariants=shapes)
        parts = [x.flat_values, x.row_splits] if hasattr(x, "row_splits") else [x.indices, x.values, x.dense_shape]
        return [tf.identity(part) for part in parts]
    compare(tf1, build, {}, nodes=False)


@pytest.mark.usefixtures("control_flow")
def test_specs_that_variables_do_not_fit(tf1):
    def build(tf):
        specs = [tf.TensorSpec([], tf.int32), tf.SparseTensorSpec([None])]
        return tf.while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x), [tf.constant(0), tf.constant([1])], specs)
    same_error(tf1, build, "is not compatible with")


def test_a_branch_that_returns_none_instead_of_a_tensor(tf1, control_flow):
    match = "Lengths of branch outputs of cond must match" if control_flow == "functions" else "'false_fn' must have a return value"
    same_error(tf1, lambda tf: tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: None), match)


def test_functions_of_conditionals_are_control_flow_graphs(tf1, control_flow):
    if control_flow == "functions":
        for tf in (tf1, flowmill):
            with tf.Graph().as_default():
                found = []
                tf.cond(tf.constant(True), lambda tf=tf: found.append(tf.get_default_graph().is_control_flow_graph) or 1, lambda: 2)
                assert found == [True]


@pytest.mark.parametrize("several", [False, True])
def test_tensors_of_other_branches(tf1, several):
    def build(tf):
        @tf.function
        def body():
            kept = []

            def first():
                kept.append(tf.identity(tf.constant(1.0), name="kept"))
                return kept[0]

            def second():
                return tf.identity(kept[0])
            return tf.switch_case(tf.constant(0), [first, second]) if several else tf.cond(tf.constant(True), first, second)
        return body()
    same_error(tf1, build, "is accessed from branch 1." if several else "in true_fn is accessed from false_fn.")


def test_slices_and_tensors_of_branches_are_not_reconciled(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            @tf.function
            def f(x):
                return tf.cond(tf.constant(True), lambda: tf.IndexedSlices(x + 1, tf.constant([0])), lambda: x)

            with pytest.raises(TypeError, match="Cannot reconcile tf.cond 0-th outputs"):
                f(tf.constant([10]))


@pytest.mark.parametrize("taken", [False, True])
def test_a_merge_waits_for_dead_nodes_and_is_live(tf1, taken):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            predicate = tf.placeholder(tf.bool, [], name="p")
            sides = tf.raw_ops.Switch(data=tf.constant(2.0), pred=predicate)
            other = tf.raw_ops.Switch(data=tf.constant([3.0]), pred=predicate)
            values = [sides[0] + 1.0, sides[1] * 5.0]
            with tf.control_dependencies([tf.negative(other[0]), tf.negative(other[1])]):
                merged = tf.raw_ops.Merge(inputs=values)
            with tf.control_dependencies([merged[0]]):
                after = tf.constant(7.0) + 0.0
            with tf.Session(graph=graph) as session:
                found.append(session.run([*merged, after], {predicate: taken}))
    assert found[0] == found[1]
