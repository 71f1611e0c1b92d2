"""Devices and groups of operations that have to share one, as scopes of both modules give them."""

import pytest

import flowmill
from compare import same_error


def _described(tf, build):
    with tf.Graph().as_default() as graph:
        asked = build(tf)
        return {op.name: (op.device, sorted(op.colocation_groups())) for op in graph.get_operations()}, asked


def _nested(tf):
    a, b, c = (tf.constant(1.0, name=name) for name in "abc")
    with tf.colocate_with(a):
        with tf.colocate_with(b):
            tf.identity(c, "both")
        with tf.colocate_with(c, ignore_existing=True):
            tf.identity(c, "inner")
        tf.identity(c, "outer")
        with tf.colocate_with(None, ignore_existing=True):
            tf.identity(c, "neither")


def _devices(tf):
    with tf.device("/cpu:0"):
        placed = tf.constant(1.0, name="placed")
    free = tf.constant(1.0, name="free")
    with tf.device("/job:x/gpu:1"):
        for name, on in (("placed", placed), ("free", free)):
            with tf.colocate_with(on):
                tf.identity(free, f"with_{name}")
                with tf.device("/cpu:3"):
                    tf.identity(free, f"within_{name}")
        with tf.colocate_with(free), tf.colocate_with(placed):
            tf.identity(free, "with_both")
            with tf.device("/cpu:3"):
                tf.identity(free, "within_both")
        with tf.colocate_with(placed), tf.colocate_with(free):
            tf.identity(free, "turned")
        with tf.colocate_with(None, ignore_existing=True):
            tf.identity(free, "of_none")


def _functions(tf):
    asked = []

    def choose(op):
        asked.append(op.name)
        return "/cpu:7"

    with tf.device("/cpu:0"):
        placed = tf.constant(1.0, name="placed")
    free = tf.constant(1.0, name="free")
    with tf.device(choose):
        for name, on in (("placed", placed), ("free", free)):
            with tf.colocate_with(on):
                tf.identity(free, f"with_{name}")
                with tf.device("/job:a"), tf.device(choose):
                    tf.identity(free, f"within_{name}")
    return asked


def _reference_variables(tf):
    with tf.device("/cpu:2"):
        v = tf.Variable(1.0, name="v", use_resource=False)
    u = tf.Variable(1.0, name="u", use_resource=False)
    with tf.device("/gpu:1"):
        a = tf.constant(1.0, name="a")
        for name, variable in (("v", v), ("u", u)):
            tf.assign(variable, 2.0, name=f"assign_{name}")
            with tf.colocate_with(a):
                tf.assign(variable, 3.0, name=f"with_a_{name}")
            with tf.colocate_with(u), tf.device("/cpu:5"):
                tf.assign(variable, 3.0, name=f"with_u_{name}")
            with tf.colocate_with(variable):
                tf.Variable(1.0, name=f"beside_{name}", use_resource=False)
                tf.Variable(lambda: 1.0, name=f"late_{name}", use_resource=False)
        tf.Variable(lambda: 1.0, name="cached", use_resource=False, caching_device="/cpu:9")
        tf.scatter_update(tf.Variable([1.0, 2.0], use_resource=False, name="rows"), [0], [1.0], name="scattered")


def _resource_variables(tf):
    with tf.device("/cpu:2"):
        v = tf.Variable(1.0, name="v", use_resource=True)
    u = tf.Variable(1.0, name="u", use_resource=True)
    with tf.device("/gpu:1"):
        a = tf.constant(1.0, name="a")
        for name, variable in (("v", v), ("u", u)):
            variable.value()
            variable.read_value()
            variable + 1.0
            with tf.colocate_with(a):
                variable.assign(3.0, name=f"with_a_{name}")
                variable.value()
            with tf.colocate_with(variable):
                tf.identity(a)
                tf.Variable(1.0, name=f"beside_{name}", use_resource=True)
                tf.Variable(lambda: 1.0, name=f"late_{name}", use_resource=True)
        with tf.device(lambda op: "/cpu:6" if "Var" in op.type else "/gpu:8"):
            for resource in (True, False):
                tf.Variable(lambda: 1.0, name=f"late_{resource}", use_resource=resource)
                tf.Variable(1.0, name=f"cached_{resource}", use_resource=resource, caching_device="/cpu:9")


def _variables_within_colocation(tf):
    v = tf.Variable(1.0, name="v", use_resource=False)
    with tf.device("/gpu:1"), tf.colocate_with(v), tf.device("/cpu:3"):
        tf.get_variable("inner", [2])
    with tf.colocate_with(v), tf.device("/gpu:1"), tf.colocate_with(v):
        tf.get_variable("none", [2])
    with tf.device("/gpu:1"), tf.colocate_with(v):
        tf.get_variable("outer", [2])


def _slots(tf):
    v, r = tf.Variable(1.0, name="v", use_resource=False), tf.Variable(1.0, name="r", use_resource=True)
    for make in (lambda: tf.train.MomentumOptimizer(0.1, 0.9), lambda: tf.train.AdamOptimizer(0.1)):
        with tf.device("/gpu:1"):
            make().apply_gradients([(tf.constant(1.0), v), (tf.constant(1.0), r)])


def _loops(tf):
    a = tf.constant(1.0, name="a")
    with tf.device("/cpu:1"), tf.colocate_with(a):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        tf.cond(a > 0, lambda: a + 1.0, lambda: a)
        tf.TensorArray(tf.float32, 3).write(0, 1.0).stack()
    with tf.device("/cpu:1"):
        queue = tf.FIFOQueue(3, tf.float32)
        queue.enqueue(1.0)
        queue.dequeue()


@pytest.mark.parametrize("build", [_nested, _devices, _functions, _reference_variables, _resource_variables, _variables_within_colocation, _slots, _loops],
                         ids=lambda f: f.__name__.strip("_"))
def test_groups_and_devices(tf1, build):
    ours, theirs = _described(flowmill, build), _described(tf1, build)
    assert ours == theirs, [(n, ours[0].get(n), theirs[0].get(n)) for n in ours[0].keys() | theirs[0].keys() if ours[0].get(n) != theirs[0].get(n)][:5]


def test_colocation_is_not_reset_by_mistake(tf1):
    def reset(tf):
        with tf.colocate_with(None):
            pass

    same_error(tf1, reset, "Trying to reset colocation (op is None) but ignore_existing is not True")


def test_gradients_of_functions_join_the_groups(tf1):
    def build(tf):
        @tf.custom_gradient
        def twice(x):
            return x * 2.0, lambda g: tf.negative(g, "by_hand")

        with tf.device("/cpu:3"):
            x = tf.placeholder(tf.float32, [2], name="x")
            y = twice(x)
        tf.gradients(y, x, colocate_gradients_with_ops=True)

    ours, theirs = _described(flowmill, build)[0], _described(tf1, build)[0]
    (name,) = [n for n in theirs if n.endswith("by_hand")]
    assert ours[name] == theirs[name] and ours[name][0] == "/device:CPU:3"


def test_variable_scopes_that_end_before_those_in_them(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            scope = tf.variable_scope("outer")
            scope.__enter__()
            with tf.variable_scope("inner"), pytest.raises(RuntimeError, match="Improper nesting of variable_scope"):
                scope.__exit__(None, None, None)


def test_variables_of_templates(tf1):
    def made(tf):
        def body():
            return tf.get_variable("w", []) + tf.get_variable("n", [], trainable=False)
        template = tf.make_template("t", body)
        before = template.non_trainable_variables
        template()
        unnamed = tf.make_template("", body)
        unnamed()
        return before, [v.name for v in template.non_trainable_variables], template.non_trainable_weights == template.non_trainable_variables, \
            unnamed.variable_scope_name
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.variable_scope("outer"):
            found.append(made(tf))
    assert found[0] == found[1]


def _lifted(tf):
    """Returns the operations that `init_scope` makes in bodies of functions: their graphs, names and devices."""
    outer, found = tf.get_default_graph(), []

    def note(label):
        with tf.init_scope():
            made = tf.constant(1.0, name=label)
            found.append((made.op.graph is outer, made.op.name, made.op.device))

    @tf.function
    def f(x):
        note("plain")
        with tf.name_scope("named"), tf.device("/cpu:0"):
            note("placed")
            y = tf.cond(x > 0, lambda: [note("in_branch"), x][1], lambda: x)
        return tf.while_loop(lambda z: z < 3.0, lambda z: [[note("in_loop"), z + 1.0][1]], [y])

    with tf.device("/cpu:0"), tf.name_scope("around"):
        f(tf.constant(1.0))
    note("outside")
    return found


def test_init_scope_leaves_functions(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default():
            found.append(_lifted(tf))
    assert found[1] == found[0]
    assert all(is_outside for is_outside, _, _ in found[1])
