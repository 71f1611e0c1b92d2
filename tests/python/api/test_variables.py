"""Variables, variable scopes and initializers: the same nodes and values as TensorFlow's."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill as tf


def slices(module, values, indices):
    return module.IndexedSlices(module.constant(values), module.constant(indices))


@pytest.mark.parametrize("resource", [False, True])
def test_reads_and_writes(tf1, resource):
    def build(tf):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=resource)
        with tf.get_default_graph().control_dependencies([v.assign([[5.0, 6.0], [7.0, 8.0]])]):
            added = v.assign_add([[1.0, 1.0], [1.0, 1.0]])
        with tf.get_default_graph().control_dependencies([added]):
            last = tf.assign_sub(v, [[2.0, 2.0], [2.0, 2.0]], name="last")
        with tf.get_default_graph().control_dependencies([last]):
            return [v.read_value(), v.assign([[0.0, 1.0], [2.0, 3.0]], read_value=False), v[0:1], tf.is_variable_initialized(v), v + 1.0]

    compare(tf1, build, initialize=True, values=False)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("kind", ["update", "add", "sub", "mul", "div", "min", "max"])
def test_scatters(tf1, resource, kind):
    def build(tf):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=resource)
        method = getattr(v, f"scatter_{kind}")(slices(tf, [[2.0, 3.0]], [1]))
        with tf.get_default_graph().control_dependencies([method]):
            second = getattr(tf, f"scatter_{kind}")(v, [0], [[0.5, 5.0]])
        with tf.get_default_graph().control_dependencies([second]):
            return v.read_value()

    values = compare(tf1, build, initialize=True)
    assert not np.array_equal(values[0], [[1, 2], [3, 4]])


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("kind", ["update", "add"])
def test_scatters_of_slices(tf1, resource, kind):
    def build(tf):
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v", use_resource=resource)
        with tf.get_default_graph().control_dependencies([getattr(v, f"scatter_nd_{kind}")([[0, 1]], [7.0])]):
            return getattr(tf, f"scatter_nd_{kind}")(v, [[1]], [[8.0, 9.0]])

    compare(tf1, build, initialize=True)


@pytest.mark.parametrize("resource", [False, True])
def test_batches_are_scattered(resource):
    with tf.Graph().as_default():
        v = tf.Variable([[1, 2, 3], [4, 5, 6]], use_resource=resource)
        changed = tf.batch_scatter_update(v, [[0, 2], [1, 0]], [[10, 20], [30, 40]])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            np.testing.assert_array_equal(session.run(changed), [[10, 2, 20], [40, 30, 6]])


@pytest.mark.parametrize("resource", [False, True])
def test_what_it_says_of_itself(tf1, resource):
    def described(tf):
        with tf.Graph().as_default() as graph:
            v = tf.Variable(lambda: tf.constant([1, 2]), name="v", use_resource=resource, trainable=False)
            w = tf.Variable(v.dtype.base_dtype.as_numpy_dtype(3), use_resource=resource, collections=["mine"], constraint=abs)
            assert graph.get_collection("mine") == [w]
            return [
                (x.name, x.op.name, x.op.type, x.dtype.name, str(x.shape), x.trainable, x.initializer.name, x.initial_value.name, repr(x), x.device,
                 x.constraint, str(x.to_proto()), x.synchronization.name, x.aggregation.name)
                for x in (v, w)], [(key, len(graph.get_collection(key))) for key in graph.get_all_collection_keys()], [x.name for x in tf.trainable_variables()]

    ours = described(tf)
    theirs = described(tf1)
    ours[1].sort()
    theirs[1].sort()
    assert ours == theirs


@pytest.mark.parametrize("resource", [False, True])
def test_messages_bring_variables_back(tf1, resource):
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=resource, trainable=False)
        message = tf1.Variable(0.0).to_proto().__class__.FromString(v.to_proto().SerializeToString())
        back = tf.Variable.from_proto(v.to_proto())
        assert (back.name, back.trainable, back.initializer, type(back)) == (v.name, False, v.initializer, type(v))
        with tf.Session() as session:
            session.run(back.initializer)
            np.testing.assert_array_equal(session.run(back.assign_add([1.0, 1.0])), [2.0, 3.0])
        data = graph.as_graph_def().SerializeToString()
    with tf1.Graph().as_default():
        tf1.import_graph_def(tf1.GraphDef.FromString(data), name="in")
        theirs = tf1.Variable(variable_def=message, import_scope="in", use_resource=resource)
        with tf1.Session() as session:
            session.run(theirs.initializer)
            np.testing.assert_array_equal(session.run(theirs.assign_add([1.0, 1.0])), [2.0, 3.0])


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.usefixtures("control_flow")
def test_initial_values_of_other_variables(resource):
    with tf.Graph().as_default():
        x = tf.Variable(3, name="x", use_resource=resource)
        y = tf.Variable(x.initialized_value() * 2, name="y", use_resource=resource)
        z = tf.Variable(y * 2 if resource else x + 1, name="z")
        with tf.Session() as session:
            session.run(y.initializer)
            session.run(z.initializer)
            assert session.run([y, z]) == [6, 12 if resource else 4]


def test_load_eval_and_counting():
    with tf.Graph().as_default():
        for resource in (False, True):
            v = tf.Variable(1, use_resource=resource)
            with tf.Session() as session:
                with pytest.raises(tf.errors.FailedPreconditionError):
                    session.run(v)
                v.load(5, session)
                assert v.eval() == 5 and session.run(v.count_up_to(6)) == 5
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(v.count_up_to(6))
            with pytest.raises(ValueError, match="Either session argument should be provided"):
                v.load(5)


def test_a_changed_resource_variable_is_read_after_the_change():
    with tf.Graph().as_default():
        v = tf.Variable(1.0, use_resource=True)
        changed = v.assign(2.0).assign_add(3.0)
        assert isinstance(changed, tf.Variable)
        doubled = changed * 2.0
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(doubled) == 10.0


INITIALIZERS = {
    "zeros": {}, "ones": {}, "constant": {"value": [1, 2]}, "random_uniform": {"minval": -2.0, "maxval": 3.0}, "random_normal": {"stddev": 2.0},
    "truncated_normal": {"mean": 1.0}, "uniform_unit_scaling": {"factor": 1.5}, "variance_scaling": {"mode": "fan_out", "distribution": "uniform"},
    "glorot_uniform": {}, "glorot_normal": {}, "he_normal": {}, "he_uniform": {}, "lecun_normal": {}, "lecun_uniform": {}, "orthogonal": {"gain": 2.0},
    "identity": {"gain": 3.0},
}


@pytest.mark.parametrize("name", [name for name in INITIALIZERS if name != "orthogonal"])
def test_initializers(tf1, name):
    def build(tf):
        tf.set_random_seed(7)
        made = getattr(tf.initializers, name)(**INITIALIZERS[name])
        whole = tf.get_variable("w", [4, 6], initializer=made)
        with tf.variable_scope("parts", partitioner=tf.fixed_size_partitioner(2)):
            parts = tf.get_variable("w", [5, 5], initializer=made)
        return [whole, made([3, 3], dtype=tf.float64), *parts]

    values = compare(tf1, build, initialize=True, rtol=1e-4, atol=1e-4)
    assert np.isfinite(values[0]).all()
    assert getattr(tf.initializers, name)(**INITIALIZERS[name]).get_config() == getattr(tf1.initializers, name)(**INITIALIZERS[name]).get_config()


@pytest.mark.parametrize("shape", [[4, 6], [6, 4], [2, 3, 4]])
def test_orthogonal_initializers(tf1, shape):
    def described(tf):
        with tf.Graph().as_default() as graph:
            tf.get_variable("w", shape, initializer=tf.orthogonal_initializer(gain=2.0, seed=3))
            return [(op.name, op.type, [t.name for t in op.inputs]) for op in graph.get_operations()]

    assert described(tf) == described(tf1)


def test_initializers_of_other_types(tf1):
    def build(tf):
        return [
            tf.zeros_initializer()([2], dtype=tf.string), tf.ones_initializer(tf.bool)([2]), tf.zeros_initializer()([1000], dtype=tf.int64),
            tf.constant_initializer(3)([2, 2]), tf.random_uniform_initializer(0, 10, seed=3, dtype=tf.int32)([3]), tf.zeros_initializer()([]),
            tf.glorot_uniform_initializer(seed=1)([3, 3, 2, 4]), tf.variance_scaling_initializer(distribution="untruncated_normal", seed=4)([7])]

    compare(tf1, build)


def test_scopes(tf1):
    def build(tf):
        made = []

        def get(name, shape=(3,), **arguments):
            made.append(tf.get_variable(name, list(shape), initializer=tf.zeros_initializer(), **arguments))
            tf.constant(len(made))

        with tf.variable_scope("a"):
            get("z", (300, 300), regularizer=lambda x: x * 2.0)
            with tf.variable_scope("b", reuse=tf.AUTO_REUSE) as inner:
                get("w")
                get("w")
        with tf.variable_scope("a"):
            get("y")
        with tf.variable_scope(None, "a") as again:
            get("y")
        with tf.variable_scope(again, reuse=True):
            get("y")
        with tf.variable_scope(again, auxiliary_name_scope=False):
            tf.constant(1)
        with tf.variable_scope(again), tf.variable_scope("b"):
            for _ in range(2):
                with tf.variable_scope(None, "c", use_resource=True):
                    get("y")
        with tf.variable_scope(inner) as entered, tf.get_default_graph().name_scope(entered.original_name_scope):
            tf.constant(1, name="there")
            get("v")
        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
            get("q")
        assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
        assert [v.name for v in again.trainable_variables()] == ["a_1/y:0", "a_1/b/c/y:0", "a_1/b/c_1/y:0"]
        return made

    compare(tf1, build, initialize=True)


def test_scopes_give_defaults(tf1):
    def build(tf):
        def getter(getter, name, *args, **kwargs):
            return getter(name + "_got", *args, **kwargs)

        def outer(getter, name, *args, **kwargs):
            return getter("o_" + name, *args, **kwargs)

        with tf.variable_scope("s", initializer=tf.ones_initializer(), dtype=tf.float64, custom_getter=outer):
            with tf.variable_scope("t", custom_getter=getter, caching_device="/cpu:0"):
                v = tf.get_variable("v", [2])
            w = tf.get_variable("w", [2], dtype=tf.int32, initializer=tf.zeros_initializer)
        return v, w

    compare(tf1, build, initialize=True)


@pytest.mark.parametrize("resource", [False, True])
def test_variables_in_parts(tf1, resource):
    def build(tf):
        with tf.variable_scope("a", partitioner=tf.fixed_size_partitioner(2), use_resource=resource):
            w = tf.get_variable("w", [5, 3], initializer=tf.ones_initializer())
            x = tf.get_variable("x", initializer=tf.constant([1.0, 2.0, 3.0]))
            assert tf.get_variable("scalar", [], initializer=tf.zeros_initializer()).shape == []
        with tf.variable_scope("a", reuse=True):
            assert tf.get_variable("w") is w
        assert [p._get_save_slice_info().spec for p in w] == ["5 3 0,3:0,3", "5 3 3,2:0,3"]
        return tf.convert_to_tensor(w) + 1.0, tf.convert_to_tensor(x)

    compare(tf1, build, initialize=True)


@pytest.mark.parametrize("partitioner, arguments", [
    ("fixed_size_partitioner", {"num_shards": 4, "axis": 1}), ("variable_axis_size_partitioner", {"max_shard_bytes": 64}),
    ("variable_axis_size_partitioner", {"max_shard_bytes": 8, "max_shards": 3}), ("min_max_variable_partitioner", {"max_partitions": 3, "min_slice_size": 100}),
])
def test_partitioners(tf1, partitioner, arguments):
    for shape in ([10, 3], [1, 64], [100, 100]):
        ours = getattr(tf, partitioner)(**arguments)(shape=tf.TensorShape(shape), dtype=tf.float32)
        assert ours == getattr(tf1, partitioner)(**arguments)(shape=tf1.TensorShape(shape), dtype=tf1.float32), shape


ERRORS = {
    "exists": (lambda tf: [tf.get_variable("w", [2]), tf.get_variable("w", [2])], "Variable w already exists, disallowed. Did you mean to set reuse=True"),
    "shape": (lambda tf: [tf.get_variable("w", [2]), tf.get_variable_scope().reuse_variables(), tf.get_variable("w", [3])],
              "Trying to share variable w, but specified shape (3,) and found shape (2,)."),
    "type": (lambda tf: [tf.get_variable("w", [2]), tf.get_variable_scope().reuse_variables(), tf.get_variable("w", [2], tf.int32)],
             "Trying to share variable w, but specified dtype int32 and found dtype float32_ref."),
    "missing": (lambda tf: tf.get_variable_scope().reuse_variables() or tf.get_variable("w", [3]), "Variable w does not exist, or was not created with"),
    "nothing": (lambda tf: tf.get_variable("w"), "Variable w did not get an initializer, so its `shape` argument must be specified."),
    "unknown size": (lambda tf: tf.get_variable("w", [None]), "The initializer passed is not valid."),
    "shape of a value": (lambda tf: tf.get_variable("w", [2], initializer=3.0), "If initializer is a constant, do not specify shape."),
    "type of a value": (lambda tf: tf.get_variable("w", initializer=3.0, dtype=tf.float64), "and explicit dtype"),
    "complex": (lambda tf: tf.get_variable("w", [2], tf.complex64), "An initializer for variable w of <dtype: 'complex64'> is required"),
    "no value": (lambda tf: tf.Variable(), "initial_value must be specified"),
    "collections": (lambda tf: tf.Variable(1, collections="a"), "collections argument to Variable constructor must be a list, tuple, or set."),
    "constraint": (lambda tf: tf.Variable(1, constraint=3), "The `constraint` argument must be a callable."),
    "scope": (lambda tf: tf.variable_scope(None), "If default_name is None then name_or_scope is required"),
    "reuse": (lambda tf: tf.variable_scope("a", reuse="yes"), "The reuse parameter must be True or False or None."),
    "iteration": (lambda tf: list(tf.Variable([1, 2])), None),
    "assign": (lambda tf: tf.Variable([1, 2]).assign([1, 2, 3]), "Dimension 0 in both shapes must be equal, but are 2 and 3."),
    "assign resource": (lambda tf: tf.Variable([1, 2], use_resource=True).assign([1, 2, 3]), "Shape mismatch.The variable shape (2,), and the assigned"),
    "unpartitioned": (lambda tf: [tf.get_variable("w", [2]), tf.get_variable("w", [2], partitioner=tf.fixed_size_partitioner(2))],
                      "A partitioner was provided, but an unpartitioned version of the variable was found: w."),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tf1, case):
    same_error(tf1, *ERRORS[case])


def test_creators(tf1):
    def build(tf):
        def creator(next_creator, **kwargs):
            kwargs["name"] = "made_" + kwargs["name"]
            return next_creator(**kwargs)

        with tf.variable_creator_scope(creator):
            return tf.get_variable("v", [2], initializer=tf.zeros_initializer()), tf.Variable(1.0, name="w")

    compare(tf1, build, initialize=True)


def test_resource_variables_by_default():
    try:
        tf.enable_resource_variables()
        with tf.Graph().as_default():
            assert tf.Variable(1.0).op.type == "VarHandleOp" and tf.resource_variables_enabled()
    finally:
        tf.disable_resource_variables()
    with tf.Graph().as_default():
        assert tf.Variable(1.0).op.type == "VariableV2"


def test_initialization(tf1):
    def build(tf):
        tf.Variable(1, name="x")
        tf.Variable(tf.constant([2]), collections=[tf.GraphKeys.LOCAL_VARIABLES])
        tf.get_local_variable("z", [2], use_resource=True, initializer=tf.ones_initializer())
        return tf.local_variables_initializer(), tf.global_variables_initializer(), tf.assert_variables_initialized()

    compare(tf1, build, initialize=True, values=False)


def test_templates_share_variables(tf1):
    def build(tf):
        def scaled(x, by):
            return x * tf.get_variable("w", initializer=by)

        first = tf.make_template("scaled", scaled, by=2.0)
        second = tf.make_template("scaled", scaled, create_scope_now_=True, by=3.0)
        made = [first(tf.constant(1.0)), first(tf.constant(5.0)), second(tf.constant(1.0)), second(tf.constant(5.0))]
        assert [v.name for v in second.trainable_variables] == [f"{second.variable_scope_name}w:0"]
        assert len(tf.trainable_variables()) == 2
        return made

    values = compare(tf1, build, initialize=True)
    assert values == [2.0, 10.0, 3.0, 15.0]


def test_a_template_makes_no_variables_later(tf1):
    def build(tf):
        template = tf.make_template("t", lambda: tf.Variable(1.0))
        return [template(), template()]

    same_error(tf1, build, "Trainable variable created when calling a template after the first time")


@pytest.mark.parametrize("resource", [False, True])
def test_variables_without_a_value_are_reported(tf1, resource):
    def build(tf):
        tf.Variable(1.0, name="a", use_resource=resource)
        tf.Variable(1.0, name="b", use_resource=resource, collections=["nothing"])
        tf.Variable(1.0, name="c", use_resource=resource, collections=[tf.GraphKeys.LOCAL_VARIABLES])
        return tf.report_uninitialized_variables()

    values = compare(tf1, build)
    assert values[0].tolist() == [b"a", b"c"]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.usefixtures("control_flow")
def test_variables_in_branches_and_loops(tf1, resource):
    def build(tf):
        v = tf.Variable(2.0, name="v", use_resource=resource)
        p = tf.placeholder(tf.bool, [], name="p")
        chosen = tf.cond(p, lambda: v + 1.0, lambda: v * tf.get_variable("w", initializer=tf.ones_initializer(), shape=[]))
        _, total = tf.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t + v), [0, 0.0])
        return chosen, total, tf.constant(1.0) if resource else tf.gradients(chosen, [v])[0]

    with tf.Graph().as_default():
        made = build(tf)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run(made, {"p:0": True}) == (3.0, 6.0, 1.0)
    compare(tf1, build, {"p": np.array(False)}, initialize=True, nodes=False)


@pytest.mark.parametrize("resource", [False, True])
def test_slices_are_assigned_to(tf1, resource):
    def build(tf):
        v = tf.Variable([[1, 2, 3], [4, 5, 6]], use_resource=resource)
        with tf.get_default_graph().control_dependencies([v[0, 1:].assign([7, 8])]):
            return v[1].assign([9, 9, 9], name="row")

    values = compare(tf1, build, initialize=True)
    np.testing.assert_array_equal(values[0], [[1, 7, 8], [9, 9, 9]])


@pytest.mark.parametrize("resource", [False, True])
def test_variables_are_fetched_and_fed(resource):
    with tf.Graph().as_default():
        v, w = tf.Variable(1.0, use_resource=resource), tf.Variable([2.0], use_resource=resource)
        doubled = v * 2.0
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(2):
                assert session.run(v) == 1.0 and session.run([v, w])[1] == [2.0] and session.run({"a": w, "b": (v, v)})["b"] == (1.0, 1.0)
                assert session.run(v.assign(3.0)) == 3.0 and session.run(v.assign(1.0)) == 1.0
                if resource:
                    assert session.run(tf.identity(v), {v: 5.0}) == 1.0
                else:
                    assert session.run(doubled, {v: 5.0}) == 10.0
            assert session.make_callable([v, doubled])() == [1.0, 2.0] and session.make_callable(v)() == 1.0


@pytest.mark.parametrize("method", ["scatter_add", "scatter_sub", "scatter_update", "scatter_max"])
def test_changes_after_one_another(tf1, method):
    def build(tf):
        v = tf.Variable(np.zeros(4, "f"), use_resource=True)
        rows = tf.IndexedSlices(tf.constant([1.0, 2.0]), tf.constant([0, 2]))
        once = getattr(v, method)(rows)
        return tf.identity(getattr(once, method)(rows))

    compare(tf1, build, initialize=True, nodes=False)


def test_slices_after_one_another(tf1):
    def build(tf):
        v = tf.Variable(np.zeros(4, "f"), use_resource=True)
        return tf.identity(v.scatter_nd_add([[1]], [5.0]).scatter_nd_add([[1]], [5.0]))

    compare(tf1, build, initialize=True, nodes=False)


def test_values_as_initializers_of_partitioned_variables(tf1):
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            parts = module.create_partitioned_variables([4], [2], module.constant([1, 2, 3, 4]))
            session.run(module.global_variables_initializer())
            assert [part.dtype.base_dtype.name for part in parts] == ["int32", "int32"]
            assert [part.name for part in parts] == ["PartitionedVariable/part_0:0", "PartitionedVariable/part_1:0"]
            assert parts[0]._get_save_slice_info().full_name == "PartitionedVariable"
            assert [session.run(part).tolist() for part in parts] == [[1, 2], [3, 4]]


@pytest.mark.parametrize("use_resource", [False, True])
def test_initial_values_inside_of_loops(tf1, use_resource):
    def build(tf):
        def body(i, _):
            return i + 1, tf.Variable(tf.zeros([], tf.int32), use_resource=use_resource).read_value()
        return tf.while_loop(lambda i, _: i < 3, body, [0, 0])
    same_error(tf1, build, "inside a control-flow")


def test_functions_that_assign_do_not_read(tf1):
    for module in (tf1, tf):
        with module.Graph().as_default():
            v = module.Variable(1.0, use_resource=True)
            graph = module.function(lambda v=v: v.assign(2.0).op and None).get_concrete_function().graph
            assert "ReadVariableOp" not in [op.type for op in graph.get_operations()]


def test_unconnected_gradients_of_resource_variables(tf1):
    for module in (tf1, tf):
        with module.Graph().as_default(), module.Session() as session:
            v = module.Variable([[3.0, 4.0]], use_resource=True)
            grad, = module.gradients(module.constant(0.0), [v], unconnected_gradients="zero")
            session.run(v.initializer)
            assert grad.shape.as_list() == [1, 2] and session.run(grad).tolist() == [[0.0, 0.0]]


def test_iterating_over_variables(tf1):
    same_error(tf1, lambda tf: list(tf.Variable([0.0, 1.0])), "Iterating over a symbolic `tf.Tensor` is not allowed")


def test_batch_scatter_along_a_vector(tf1):
    def build(module):
        ref = module.Variable([1.0, 2.0, 3.0])
        with module.control_dependencies([ref.initializer]):
            return module.identity(module.batch_scatter_update(ref, [2, 0], [7.0, 8.0]))
    compare(tf1, build, nodes=False)
