"""Graph functions, gradients that functions bring along, and control flow whose branches and bodies are functions."""

import numpy as np
import pytest
from compare import compare, same_error

import flowmill
from flowmill.python.framework.function import Defun

X = np.array([1.0, 2.0], np.float32)


@pytest.fixture
def functional(tf1):
    """Lets both modules make functions of control flow."""
    for tf in (tf1, flowmill):
        tf.enable_control_flow_v2()
    yield tf1
    for tf in (tf1, flowmill):
        tf.disable_control_flow_v2()


def placeholder(tf, name="x", dtype="float32", shape=(2,)):
    return tf.raw_ops.Placeholder(dtype=tf.as_dtype(dtype), shape=list(shape), name=name)


def check(tf1, build, feeds=None, **options):
    """What functions are called differs, and what comes first of what they take."""
    return compare(tf1, build, feeds, ordered=False, **options)


def exported(tf1, build, feeds):
    """What TensorFlow gives for the graph that is built here."""
    with flowmill.Graph().as_default() as graph:
        fetches = [t.name for t in build(flowmill)]
    with tf1.Graph().as_default() as theirs:
        tf1.import_graph_def(tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString()), name="")
        with tf1.Session(graph=theirs) as session:
            return session.run(fetches, feeds)


@pytest.mark.parametrize("x", [1.0, -1.0])
def test_cond(functional, x):
    def build(tf):
        x, y = placeholder(tf, shape=()), placeholder(tf, "y")
        inner = tf.cond(x > 0, lambda: (x + y, tf.no_op()), lambda: (y * 2.0, tf.group(tf.identity(y))), name="choose")
        alone = tf.cond(x > 0.0, lambda: [y], lambda: [y * y])
        nested = tf.cond(x > 0.0, lambda: tf.cond(y[0] > 1.5, lambda: x, lambda: -x), lambda: {"k": x}["k"])
        return inner, alone, nested
    check(functional, build, {"x": x, "y": X})
    wanted = check(functional, lambda tf: build(tf)[0][0], {"x": x, "y": X})
    got = exported(functional, lambda tf: [build(tf)[0][0]], {"x:0": x, "y:0": X})
    np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("index", [0, 1, 2, 7, -1])
def test_switch_case(tf1, index):
    def build(tf):
        i, x = placeholder(tf, "i", "int32", ()), placeholder(tf)
        return (tf.switch_case(i, [lambda: x, lambda: x + 1.0, lambda: x * 3.0]),
                tf.switch_case(i, {1: lambda: x, 0: lambda: -x}, default=lambda: x * x, name="choose"))
    check(tf1, build, {"i": index, "x": X})


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.switch_case(1, [lambda: 1]), "'branch_index' must be a Tensor"),
    (lambda tf: tf.switch_case(tf.constant(1.0), [lambda: 1]), "'branch_index' must be an integer Tensor"),
    (lambda tf: tf.switch_case(tf.constant(1), []), "Must provide at least one item in 'branch_fns'"),
    (lambda tf: tf.switch_case(tf.constant(1), {1: lambda: 1, 2: lambda: 2}), "must form contiguous range of [0 to 2)"),
    (lambda tf: tf.switch_case(tf.constant(1), [(0, 1)]), "fn for key 0 must be callable."),
    (lambda tf: tf.switch_case(tf.constant(1), [lambda: 1, lambda: 2.0]), "must have the same number, type, and overall structure of return values."),
])
def test_errors_of_switch_case(tf1, build, match):
    same_error(tf1, build, match)


@pytest.mark.parametrize("build, match", [
    (lambda tf: tf.cond(True, lambda: 1, lambda: 2), "pred must not be a Python bool"),
    (lambda tf: tf.cond(tf.constant(True), lambda: 1, lambda: 2.0), "true_fn and false_fn arguments to tf.cond must have the same number, type"),
    (lambda tf: tf.cond(tf.constant(True), lambda: [1, 2], lambda: (1, 2)), "true_fn and false_fn arguments to tf.cond must have the same number, type"),
    (lambda tf: tf.while_loop(lambda i: i < 3, lambda i: tf.constant(1.0), [0]), "enters the loop with type"),
    (lambda tf: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i, tf.raw_ops.ConcatV2(values=[x, x], axis=0)), [0, tf.constant([1.0])]),
     "enters the loop with shape (1,), but has shape (2,) after one iteration."),
])
def test_errors_of_functional_control_flow(functional, build, match):
    same_error(functional, build, match)


def their_defun():
    from tensorflow.python.framework.function import Defun as theirs

    return theirs


def programs_of_functions(tf):
    defun = Defun if tf is flowmill else their_defun()
    x = placeholder(tf)

    @defun(tf.float32, tf.float32, func_name="Foo", out_names=["a", "b"], noinline=True)
    def foo(x, y):
        return x + y, tf.exp(x) * 2.0

    @defun(tf.float32)
    def calls(x):
        a, b = foo(x, x)
        return tf.cond(a[0] > b[0], lambda: a, lambda: b)

    outside = tf.constant(2.0)

    @defun()
    def captures():
        return outside * 3.0

    @defun()
    def any_number(*xs):
        return tf.add_n(list(xs))

    return [foo(x, x * 2.0, name="call"), calls(x), captures(), any_number(x, x, x), foo(1.0, 2.0)]


@pytest.mark.usefixtures("control_flow")
def test_functions(tf1):
    check(tf1, programs_of_functions, {"x": X}, nodes=False)  # names of functions without one end with a hash
    with flowmill.Graph().as_default() as graph:
        programs_of_functions(flowmill)
    definitions = {f.signature.name: f for f in graph.as_graph_def().library.function}
    foo = definitions["Foo"]
    assert [a.name for a in foo.signature.input_arg] == ["x", "y"] and [a.name for a in foo.signature.output_arg] == ["a", "b"]
    assert foo.attr["_noinline"].b
    assert graph.get_operation_by_name("call").type == "Foo"


@pytest.mark.usefixtures("control_flow")
def test_functions_are_exported(tf1):
    with flowmill.Graph().as_default() as graph:
        found = programs_of_functions(flowmill)
        names = [t.name for t in (*found[0], *found[1:4])]
        with flowmill.Session(graph=graph) as session:
            wanted = session.run(names, {"x:0": X})
    with tf1.Graph().as_default() as theirs:
        tf1.import_graph_def(tf1.GraphDef.FromString(graph.as_graph_def().SerializeToString()), name="")
        with tf1.Session(graph=theirs) as session:
            for got, want in zip(session.run(names, {"x:0": X}), wanted):
                np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("options, match", [
    ({"types": ("float32",)}, "input types is not compatible with the allowed arguments"),
])
def test_errors_of_functions(options, match):
    with pytest.raises(ValueError, match=match):
        Defun(*options["types"])(lambda x, y: x)
    with pytest.raises(ValueError, match="must be a callable"):
        Defun()(3)
    with pytest.raises(ValueError, match="are not supported"):
        Defun()(lambda x=1: x)
    with pytest.raises(ValueError, match="can not return None"), flowmill.Graph().as_default():
        Defun()(lambda: [None])()


@pytest.mark.usefixtures("control_flow")
def test_gradients_that_functions_bring(tf1):
    def build(tf):
        defun = Defun if tf is flowmill else their_defun()
        x = placeholder(tf)

        @defun(tf.float32, python_grad_func=lambda op, dy: dy * op.inputs[0] * 7.0)
        def tripled(x):
            return x * 3.0
        return tf.gradients(tripled(x), x)
    check(tf1, build, {"x": X}, nodes=False)


@pytest.mark.usefixtures("control_flow")
def test_custom_gradient(tf1):
    def build(tf):
        @tf.custom_gradient
        def log1pexp(x):
            e = tf.exp(x)
            return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

        @tf.custom_gradient
        def two(x, y):
            return (x * y, x + y), lambda a, b: (a * 5.0, b * 7.0)
        x = placeholder(tf)
        y = log1pexp(x)
        return y, tf.gradients(y, x), tf.gradients(two(x, y), [x, y])
    check(tf1, build, {"x": np.array([1.0, 200.0], np.float32)}, nodes=False)


def test_gradient_override_map(tf1):
    name = "FlowmillTest"
    for tf in (tf1, flowmill):
        tf.RegisterGradient(name)(lambda op, dy: dy * 11.0)
    try:
        def build(tf):
            x = placeholder(tf)
            with tf.get_default_graph().gradient_override_map({"Square": name}):
                y = tf.square(x)
            return tf.gradients(y, x), tf.gradients(tf.square(x), x)
        check(tf1, build, {"x": X}, nodes=False)
    finally:
        from flowmill._internal import gradients_impl

        gradients_impl._registry.pop(name)


@pytest.mark.usefixtures("control_flow")
def test_hessians(tf1):
    def build(tf):
        x = placeholder(tf)
        return tf.hessians(tf.reduce_sum(x * x * x * x[0]), x)
    check(tf1, build, {"x": X}, nodes=False)


def test_gradients_in_a_body_by_what_is_outside(functional):
    def build(tf):
        x = placeholder(tf)
        w = tf.get_variable("w", initializer=np.float32([1.5, 2.5]), use_resource=True)
        h, rows = tf.exp(x) * w, tf.gather(w, [0, 1, 1])

        def body(i, a):
            by_x, by_w = tf.gradients(h * h * tf.cast(i, tf.float32) * x, [x, w])
            inner = tf.cond(i > 1, lambda: tf.gradients(h * h + a, x)[0], lambda: x)
            return i + 1, a + by_x + by_w + inner + tf.gradients(rows * 2.0, w)[0]
        return tf.while_loop(lambda i, a: i < 3, body, [0, x]), tf.gradients(h, x)
    check(functional, build, {"x": X}, nodes=False, initialize=True)


@pytest.mark.parametrize("use_resource", [True, False])
def test_variables_are_made_outside(tf1, functional, use_resource):
    def build(tf):
        defun = Defun if tf is flowmill else their_defun()
        x = placeholder(tf)

        @defun(tf.float32)
        def scaled(x):
            return x * tf.get_variable("w", [2], initializer=tf.constant_initializer(3.0), use_resource=use_resource)
        with tf.variable_scope("part"):
            out = scaled(x)
        b = tf.get_variable("b", [2], initializer=tf.ones_initializer(), use_resource=True)
        return out, tf.cond(x[0] > 0.0, lambda: x + b, lambda: x * b), tf.while_loop(lambda v: v[0] < 9.0, lambda v: v + b, [x])
    names = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            build(tf)
            names.append([v.name for v in tf.global_variables()])
    assert names[0] == names[1] == ["part/w:0", "b:0"]
    check(tf1, build, {"x": X}, nodes=False, initialize=True)
