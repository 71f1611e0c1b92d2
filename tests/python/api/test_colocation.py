"""`colocate_with`, nested, with nothing, and around gradients: the groups and devices are TensorFlow's."""

import flowmill
import pytest


def groups(tf, build):
    with tf.Graph().as_default() as graph:
        build(tf)
    return {op.name: (op.type, sorted(op.colocation_groups()), op.device) for op in graph.get_operations()}


def forward(tf):
    """A function of `a`, and the two operations that it has nothing to do with."""
    a = tf.constant(1.0, name="a")
    b = tf.square(a, name="b")
    return a, tf.add(b * 3.0, b, name="c"), tf.constant(2.0, name="o"), tf.constant(2.0, name="p")


def around(tf, a, c, **options):
    return tf.gradients(c, a, colocate_gradients_with_ops=True, **options)


def in_a_scope(tf):
    a, c, o, _ = forward(tf)
    with tf.colocate_with(o):
        around(tf, a, c)


def in_two_scopes(tf):
    a, c, o, p = forward(tf)
    with tf.colocate_with(o), tf.colocate_with(p):
        around(tf, a, c)


def in_a_scope_alone(tf):
    a, c, o, p = forward(tf)
    with tf.colocate_with(o), tf.colocate_with(p, ignore_existing=True):
        around(tf, a, c)


def in_no_scope(tf):
    a, c, o, _ = forward(tf)
    with tf.colocate_with(o), tf.colocate_with(None, ignore_existing=True):
        around(tf, a, c)


def by_themselves(tf):
    a, c, _, _ = forward(tf)
    around(tf, a, c)


def of_colocated_nodes(tf):
    o, p = tf.constant(2.0, name="o"), tf.constant(2.0, name="p")
    with tf.colocate_with(p):
        a = tf.constant(1.0, name="a")
        c = tf.square(a, name="b") * 3.0
    with tf.colocate_with(o):
        around(tf, a, c)


def on_devices(tf):
    with tf.device("/cpu:0"):
        a, o = tf.constant(1.0, name="a"), tf.constant(2.0, name="o")
        b = tf.square(a, name="b")
    with tf.device("/cpu:1"):
        c = b * 3.0 + b
    with tf.device("/cpu:2"), tf.colocate_with(o):
        around(tf, a, c)


def of_a_custom_gradient(tf):
    a, o = tf.constant(1.0, name="a"), tf.constant(2.0, name="o")
    b = tf.custom_gradient(lambda x: (x * x, lambda d: d * x * 2.0))(a)
    with tf.colocate_with(o):
        around(tf, a, b)


def of_a_loop(tf):
    o, x = tf.constant(2.0, name="o"), tf.constant(1.0, name="x")
    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]
    with tf.colocate_with(o):
        around(tf, x, y)


def of_a_branch(tf):
    o, x = tf.constant(2.0, name="o"), tf.constant(1.0, name="x")
    y = tf.cond(x > 0.0, lambda: x * x, lambda: x)
    with tf.colocate_with(o):
        around(tf, x, y)


# By the program: operations of gradients that must be the same; names of constants and the like differ.
GRADIENTS = {
    in_a_scope: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/b_grad/Mul_1", "gradients/AddN"],
    in_two_scopes: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/AddN"],
    in_a_scope_alone: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/AddN"],
    in_no_scope: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/AddN"],
    by_themselves: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/AddN"],
    of_colocated_nodes: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/b_grad/Mul_1"],
    on_devices: ["gradients/grad_ys_0", "gradients/mul_grad/Mul", "gradients/b_grad/Mul_1", "gradients/AddN"],
    of_a_custom_gradient: ["gradients/IdentityN_grad/mul", "gradients/IdentityN_grad/mul_1"],
    of_a_loop: ["gradients/while/mul_grad/Mul_1", "gradients/while/mul_grad/Mul_1/f_acc", "gradients/while/mul_grad/Mul_1/StackPopV2",
                "gradients/while/Exit_1_grad/b_exit", "gradients/while/mul/Enter_grad/b_acc"],
    of_a_branch: ["gradients/grad_ys_0", "gradients/cond/mul_grad/Mul", "gradients/Switch", "cond/Switch", "gradients/AddN"],
}


@pytest.mark.parametrize("build", GRADIENTS, ids=lambda b: b.__name__)
def test_gradients_join_the_groups_outside(tf1, build):
    ours, theirs = groups(flowmill, build), groups(tf1, build)
    for name in GRADIENTS[build]:
        assert ours[name] == theirs[name], name
    # Nothing else that has the same name differs, but for capacities of stacks, and loops' counters, which join no group of the loop here.
    both = {name for name in ours if name in theirs and ours[name][0] == theirs[name][0] and not name.endswith("/Const")}
    if build is of_a_loop:
        both = {name for name in both if "_grad/" in name or not name.startswith("gradients/")}
    assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}


def nested(tf):
    a, b = tf.constant(1.0, name="a"), tf.constant(1.0, name="b")
    with tf.colocate_with(a):
        c = tf.constant(1.0, name="c")
        with tf.colocate_with(a):
            tf.constant(1.0, name="d")
    with tf.colocate_with(b):
        with tf.colocate_with(c):
            tf.constant(1.0, name="e")
        tf.constant(1.0, name="f")


def without(tf):
    a = tf.constant(1.0, name="a")
    with tf.colocate_with(a):
        with tf.colocate_with(None, ignore_existing=True):
            tf.constant(1.0, name="c")
        with tf.init_scope():
            tf.constant(1.0, name="d")
        tf.constant(1.0, name="e")
    with tf.colocate_with(None, True):
        tf.constant(1.0, name="f")


def devices(tf):
    with tf.device("/cpu:0"):
        a = tf.constant(1.0, name="a")
    with tf.device("/cpu:1"):
        with tf.colocate_with(a):
            tf.constant(1.0, name="c")
            with tf.device("/cpu:2"):
                tf.constant(1.0, name="d")
        with tf.colocate_with(a, ignore_existing=True):
            tf.constant(1.0, name="e")
        tf.constant(1.0, name="f")
    with tf.device(lambda op: "/cpu:1"), tf.colocate_with(a):
        tf.constant(1.0, name="g")


def in_control_flow(tf):
    a = tf.constant(1.0, name="a")

    def body(i):
        with tf.colocate_with(a):
            return i + 1

    with tf.colocate_with(a):
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
        tf.cond(a > 0.0, lambda: a * a, lambda: a)
    tf.while_loop(lambda i: i < 3, body, [0])


@pytest.mark.parametrize("build", [nested, without, devices, in_control_flow], ids=lambda b: b.__name__)
def test_nested_scopes(tf1, build):
    assert groups(flowmill, build) == groups(tf1, build)


def test_nothing_is_no_operation(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=r"Trying to reset colocation \(op is None\) but ignore_existing is not True"):
            with tf.colocate_with(tf.constant(1.0)), tf.colocate_with(None):
                pass


def test_gradients_colocated_with_nodes_of_two_devices_run_with_soft_placement_only(tf1):
    for tf in (tf1, flowmill):
        for is_soft in (True, False):
            config = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=is_soft)
            with tf.Graph().as_default() as graph, tf.Session(config=config) as session:
                on_devices(tf)
                gradient = graph.get_tensor_by_name("gradients/b_grad/Mul_1:0")
                if is_soft:
                    assert session.run(gradient) == pytest.approx(8.0)
                    continue
                with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot colocate nodes {{colocation_node gradients/Shape}} and {{colocation_node o}}"):
                    session.run(gradient)


def test_a_device_within_a_branch_does_not_apply_to_switches(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            x = tf.constant(1.0)

            def branch(number, x=x, tf=tf):
                with tf.device(f"/cpu:{number}"):
                    return x * 2.0 + x
            tf.cond(x > 0.0, lambda: branch(1), lambda: branch(2))
            tf.while_loop(lambda i: i < 3, lambda i: i + tf.cast(branch(1), tf.int32), [0])
        found.append({op.name: op.device for op in graph.get_operations()})
    assert found[0] == found[1]


def test_device_functions_place_imported_nodes(tf1):
    def placed(tf):
        with tf.Graph().as_default() as source:
            a = tf.constant(1.0, name="a")
            with tf.device("/device:CPU:1"):
                tf.identity(a, name="b")
            with tf.colocate_with(a.op):
                tf.identity(a, name="c")
        with tf.Graph().as_default() as graph, tf.device(lambda op: "/device:CPU:0" if "a" in op.name else "/job:w/device:CPU:3"):
            tf.import_graph_def(source.as_graph_def(), name="")
        return {op.name: op.device for op in graph.get_operations()}
    assert placed(flowmill) == placed(tf1)
