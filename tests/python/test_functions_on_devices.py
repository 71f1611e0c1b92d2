"""Functions whose bodies have nodes on several CPU devices, compared with TensorFlow."""

import numpy as np
import pytest
from test_devices import config, placed

import flowmill


def function_modules(tf1):
    from tensorflow.python.framework import function as theirs
    from flowmill.python.framework import function as ours

    return [(flowmill, ours), (tf1, theirs)]


def run_both(tf1, program, **options):
    """Runs `program(tf, function, session)` in both modules and compares what it returns."""
    results = []
    for tf, function in function_modules(tf1):
        with tf.Graph().as_default(), tf.Session(config=config(tf, **options)) as session:
            results.append(program(tf, function, session))
    np.testing.assert_equal(results[0], results[1])
    return results[0]


def over_devices(tf, x):
    with tf.device("/cpu:1"):
        y = tf.multiply(x, 2.0, name="y")
    with tf.device("/cpu:2"):
        z = tf.add(y, 1.0, name="z")
    return y * z


def called_on_device_3(tf, function, noinline):
    """Returns a function of which nodes are on two devices, a placeholder, and the function's result for it on a third device."""
    @function.Defun(tf.float32, noinline=noinline)
    def f(x):
        return over_devices(tf, x)

    x = tf.placeholder(tf.float32, [2])
    with tf.device("/cpu:3"):
        return f, x, f(x)


@pytest.mark.parametrize("noinline", [False, True])
def test_a_call_spans_devices(tf1, noinline):
    def program(tf, function, session):
        f, x, y = called_on_device_3(tf, function, noinline)
        return session.run([y, f(y) + 1.0], {x: [1.0, 2.0]})

    run_both(tf1, program)


def test_inlined_bodies_keep_their_devices():
    tf = flowmill

    @tf.function(autograph=False)
    def f(x):
        with tf.device("/cpu:1"):
            a = tf.multiply(x, 2.0, name="a")
        with tf.device("/task:0"):
            b = tf.subtract(a, 2.0, name="b")
        return tf.maximum(a, b, name="c")

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        x = tf.placeholder(tf.float32, [2])
        with tf.device("/cpu:3"):
            y = f(x)
        y = tf.negative(y, name="d")
        values, devices = placed(tf, session, y, {x: [1.0, 2.0]})
        assert values.tolist() == [-2.0, -4.0]
        # Passes name the constants that they add after a node, behind an underscore.
        leaves = {name.rpartition("/")[2]: device[-1] for name, device in devices.items()}
        devices = {leaf[0]: device for leaf, device in leaves.items() if leaf != "y" and not leaf.startswith("_")}
        assert devices == {"a": "1", "b": "3", "c": "3", "d": "0"}


def test_device_functions_and_colocation_in_bodies():
    tf = flowmill

    def where(op):
        return {"Mul": "/cpu:1", "AddV2": "/cpu:2"}.get(op.type, "")

    @tf.function(autograph=False)
    def f(x):
        with tf.device(where):
            a = tf.add(tf.multiply(x, 2.0, name="mul"), 1.0, name="add")
        with tf.colocate_with(a.op):
            return tf.square(x, name="square") + a

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        x = tf.placeholder(tf.float32, [2])
        values, devices = placed(tf, session, f(x), {x: [1.0, 2.0]})
        assert values.tolist() == [4.0, 9.0]
        devices = {name.rpartition("/")[2]: device[-1] for name, device in devices.items()}
        assert [devices[name] for name in ("mul", "add", "square")] == ["1", "2", "2"]


def test_a_variable_is_read_where_it_is(tf1):
    """The body of a call that is not inlined has the handle of a variable on another device."""
    def program(tf, function, session):
        import tensorflow

        raw_ops = flowmill.raw_ops if tf is flowmill else tensorflow.raw_ops

        @function.Defun(tf.resource, tf.float32)
        def f(handle, x):
            with tf.device("/cpu:2"):
                y = x * 3.0
            return raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32) * y

        with tf.device("/cpu:1"):
            v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        f.add_to_graph(tf.get_default_graph())
        call = raw_ops.StatefulPartitionedCall(args=[v.handle, tf.constant([1.0, 1.0])], Tout=[tf.float32], f=f)[0]
        session.run(tf.global_variables_initializer())
        return [session.run(call), session.run(v.assign_add([1.0, 1.0])), session.run(call)]

    run_both(tf1, program)


def test_bodies_that_are_called_span_devices_without_optimization(tf1):
    """Branches and loops whose bodies are called and not inlined."""
    def program(tf, function, session):
        results = []
        predicate = tf.placeholder(tf.bool, [])
        y = tf.cond(predicate, lambda: over_devices(tf, tf.constant(3.0)), lambda: tf.constant(10.0) + 1.0)
        for value in (True, False):
            results.append(session.run(y, {predicate: value}))

        def body(i, x):
            with tf.device("/cpu:1"):
                j = i + 1
            return j, over_devices(tf, x) * 0.1

        results.append(session.run(tf.while_loop(lambda i, _: i < 20, body, [0, 1.5])))
        return results

    enable = flowmill.enable_control_flow_v2, tf1.enable_control_flow_v2
    disable = flowmill.disable_control_flow_v2, tf1.disable_control_flow_v2
    try:
        [f() for f in enable]
        reference = run_both(tf1, program)
        with flowmill.Graph().as_default() as graph:
            options = flowmill.SessionOptions(device_count={"CPU": 4}, lower=False)
            with flowmill.Session(graph=graph, config=options) as session:
                np.testing.assert_allclose(np.hstack(program(flowmill, None, session)), np.hstack(reference), rtol=1e-6)
    finally:
        [f() for f in disable]


def test_many_calls_at_once_do_not_mix_their_tensors():
    tf = flowmill
    from flowmill.python.framework import function

    @function.Defun(tf.float32, noinline=True)
    def f(x):
        return over_devices(tf, x)

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        x = tf.placeholder(tf.float32, [3])
        y = tf.stack([f(x + float(i)) for i in range(32)])
        loop = tf.while_loop(lambda i, _: i < 8, lambda i, s: (i + 1, s + tf.reshape(f(x + tf.cast(i, tf.float32)), [3])), [0, x], parallel_iterations=8)[1]
        value = np.float32([1.0, 2.0, 3.0])
        expected = [(value + i) * 2 * ((value + i) * 2 + 1) for i in range(32)]
        for _ in range(5):
            stacked, summed = session.run([y, loop], {x: value})
            np.testing.assert_allclose(stacked, expected, rtol=1e-6)
            np.testing.assert_allclose(summed, value + sum(expected[:8]), rtol=1e-6)


@pytest.mark.parametrize("noinline", [False, True])
def test_gradients_of_functions(tf1, noinline):
    def program(tf, function, session):
        _, x, y = called_on_device_3(tf, function, noinline)
        return session.run(tf.gradients(y, x), {x: [1.0, 2.0]})

    run_both(tf1, program)


def test_functions_of_datasets(tf1):
    def program(tf, function, session):
        with tf.device("/cpu:1"):
            dataset = tf.data.Dataset.range(4).map(lambda x: over_devices(tf, tf.cast(x, tf.float32)), num_parallel_calls=2)
            element = tf.data.make_one_shot_iterator(dataset).get_next()
        return [session.run(element) for _ in range(4)]

    run_both(tf1, program)


def test_a_failure_on_one_device_ends_the_call():
    tf = flowmill
    from flowmill.python.framework import function

    @function.Defun(tf.float32, noinline=True)
    def f(x):
        with tf.device("/cpu:1"), tf.control_dependencies([tf.Assert(tf.reduce_all(x > 0.0), ["not positive"])]):
            y = x * 2.0
        with tf.device("/cpu:2"):
            return y + 1.0

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        x = tf.placeholder(tf.float32, [1])
        y = f(x)
        for value, good in ((1.0, True), (-1.0, False), (2.0, True)):
            if good:
                assert session.run(y, {x: [value]}) == [value * 2 + 1]
            else:
                with pytest.raises(tf.errors.InvalidArgumentError, match="not positive"):
                    session.run(y, {x: [value]})


def test_a_call_that_waits_on_another_device_ends_with_its_step():
    """A call whose body waits for an empty queue ends at the step's deadline, and when another step fills the queue."""
    tf = flowmill
    from flowmill.python.framework import function

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        with tf.device("/cpu:1"):
            queue = tf.FIFOQueue(4, [tf.float32], [[]])

        @function.Defun(tf.resource, noinline=True)
        def f(handle):
            with tf.device("/cpu:1"):
                taken = tf.raw_ops.QueueDequeueV2(handle=handle, component_types=[tf.float32])[0]
            with tf.device("/cpu:2"):
                return tf.reshape(taken, []) * 2.0

        with tf.device("/cpu:0"):
            f.add_to_graph(tf.get_default_graph())
            y = tf.raw_ops.StatefulPartitionedCall(args=[queue.queue_ref], Tout=[tf.float32], f=f)[0]
        for i in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(y, options=tf.RunOptions(timeout_in_ms=50))
            _, value = session.run([queue.enqueue(float(i)), y])
            assert value == 2.0 * i


def functions_over_devices(tf, function):
    """Returns two branches and the body of a `For`, with nodes on two devices each."""
    @function.Defun(tf.float32)
    def doubled(x):
        return over_devices(tf, x)

    @function.Defun(tf.float32)
    def shifted(x):
        with tf.device("/cpu:3"):
            return x + 100.0

    @function.Defun(tf.int32, tf.float32)
    def body(i, x):
        with tf.device("/cpu:1"):
            step = tf.cast(i, tf.float32)
        with tf.device("/cpu:2"):
            return x * 0.5 + step

    return [doubled, shifted], body


@pytest.mark.parametrize("device", ["", "/cpu:2"])
def test_case_and_for_call_functions_over_devices(tf1, device):
    def program(tf, function, session):
        branches, body = functions_over_devices(tf, function)
        index, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float32, [2])
        with tf.device(device):
            case = tf.raw_ops.Case(branch_index=index, input=[x], Tout=[tf.float32], branches=branches)[0]
            repeated = tf.raw_ops.For(start=0, limit=5, delta=1, input=[x], body=body)[0]
        return [session.run([case, repeated], {index: i, x: [1.0, -2.0]}) for i in (0, 1, 7)]

    for lower in (True, False):
        results = []
        for tf, function in function_modules(tf1):
            options = config(tf) if tf is tf1 else tf.SessionOptions(config(tf), lower=lower)
            with tf.Graph().as_default(), tf.Session(config=options) as session:
                results.append(program(tf, function, session))
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)


@pytest.mark.parametrize("device", ["", "/cpu:3"])
def test_a_trace_has_the_nodes_of_called_functions(tf1, device):
    def program(tf, function, session):
        @function.Defun(tf.float32, noinline=True)
        def inner(x):
            return tf.exp(x, name="inner_exp") * 2.0

        @function.Defun(tf.float32, noinline=True)
        def f(x):
            return tf.add(inner(over_devices(tf, x)), 1.0, name="outer_add") * 2.0

        x = tf.placeholder(tf.float32, [2])
        with tf.device(device):
            result = f(x)
        metadata = tf.RunMetadata()
        session.run(result, {x: [0.5, 1.0]}, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        nodes = [node.node_name for of_device in metadata.step_stats.dev_stats for node in of_device.node_stats]
        return sorted(name for name in nodes if name in ("y", "z", "inner_exp", "outer_add"))

    assert run_both(tf1, program) == ["inner_exp", "outer_add", "y", "z"]


def test_a_trace_has_the_nodes_of_each_iteration_of_a_called_body():
    tf = flowmill
    tf.enable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf.placeholder(tf.float32, [])
            y = tf.while_loop(lambda v: v < 10.0, lambda v: tf.add(v, 4.0, name="of_body") / 2.0 + v / 2.0, [x])
            metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            with tf.Session(graph=graph, config=tf.SessionOptions(lower=False)) as session:
                session.run(y, {x: 1.0}, options, metadata)
    finally:
        tf.disable_control_flow_v2()
    nodes = [node.node_name for of_device in metadata.step_stats.dev_stats for node in of_device.node_stats]
    assert nodes.count("of_body") == 5


def test_measured_costs_are_those_of_the_graphs_own_nodes():
    tf = flowmill
    from flowmill.python.framework import function

    @function.Defun(tf.float32, noinline=True)
    def f(x):
        return tf.exp(x, name="of_function") * 2.0

    with tf.Graph().as_default():
        y = f(tf.placeholder(tf.float32, [2], name="x"))
        metadata, options = tf.RunMetadata(), tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session(config=tf.SessionOptions(build_cost_model=1)) as session:
            session.run(y, {"x:0": [1.0, 2.0]}, options, metadata)
    traced = [node.node_name for of_device in metadata.step_stats.dev_stats for node in of_device.node_stats]
    assert "of_function" in traced and "of_function" not in [node.name for node in metadata.cost_graph.node]
