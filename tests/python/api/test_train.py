"""Optimizers, learning rates and averages: the same nodes, and the same values over some steps, as TensorFlow's."""

import importlib

import numpy as np
import pytest
from compare import compare, same_error

import flowmill

OPTIMIZERS = {
    "GradientDescent": lambda t, step: t.GradientDescentOptimizer(0.1),
    "Momentum": lambda t, step: t.MomentumOptimizer(0.1, 0.9),
    "Momentum nesterov": lambda t, step: t.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "Adam": lambda t, step: t.AdamOptimizer(0.1),
    "Adagrad": lambda t, step: t.AdagradOptimizer(0.1),
    "AdagradDA": lambda t, step: t.AdagradDAOptimizer(0.1, step, l1_regularization_strength=0.01),
    "Adadelta": lambda t, step: t.AdadeltaOptimizer(0.5),
    "RMSProp": lambda t, step: t.RMSPropOptimizer(0.1, momentum=0.5),
    "CenteredRMSProp": lambda t, step: t.RMSPropOptimizer(0.1, centered=True),
    "Ftrl": lambda t, step: t.FtrlOptimizer(0.1, l2_regularization_strength=0.01),
    "FtrlV2": lambda t, step: t.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1, beta=0.3),
    "ProximalGradientDescent": lambda t, step: t.ProximalGradientDescentOptimizer(0.1, 0.01, 0.01),
    "ProximalAdagrad": lambda t, step: t.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
}


def trained(tf, make, resource, sparse, steps=4):
    """The nodes of a graph with an optimizer, its names, and the variables after each step."""
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=resource)
        e = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="e", use_resource=resource)
        step = tf.Variable(np.int64(0), name="step", trainable=False, use_resource=resource)
        optimizer = make(tf.train, step)
        grad = tf.IndexedSlices(tf.constant([[0.5, 1.0], [1.0, -1.0], [1.0, 1.0]]), tf.constant([0, 2, 0])) if sparse else tf.convert_to_tensor(e) * 0.5
        train = optimizer.apply_gradients([(tf.convert_to_tensor(v) - 0.5, v), (grad, e)], global_step=step)
        nodes = [(o.name, o.type, [t.name for t in o.inputs], sorted(c.name for c in o.control_inputs), sorted(o.colocation_groups()))
                 for o in graph.get_operations()]
        slots = [(name, optimizer.get_slot(e, name).name) for name in optimizer.get_slot_names()], [x.name for x in optimizer.variables()]
        assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]
        values = []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(steps):
                session.run(train)
                values.append(session.run([v, e, step, *optimizer.variables()]))
    return nodes, slots, values


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(tf1, name, resource, sparse):
    nodes, slots, values = trained(flowmill, OPTIMIZERS[name], resource, sparse)
    their_nodes, their_slots, their_values = trained(tf1, OPTIMIZERS[name], resource, sparse)
    assert nodes == their_nodes
    assert slots == their_slots
    for mine, other in zip(values, their_values, strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    assert not np.array_equal(values[0][1], values[-1][1])


@pytest.mark.parametrize("resource", [False, True])
def test_a_loss_becomes_smaller(tf1, resource):
    def losses(tf):
        with tf.Graph().as_default():
            x = tf.constant([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
            y = tf.constant([[1.0], [0.0], [2.0]])
            with tf.variable_scope("layer", use_resource=resource):
                w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
                b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), constraint=lambda t: tf.minimum(t, 0.1))
            off = tf.matmul(x, w) + b - y
            loss = tf.reduce_mean(off * off)
            step = tf.train.get_or_create_global_step()
            rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
            train = tf.train.MomentumOptimizer(rate, 0.5).minimize(loss, global_step=step)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                found = []
                for _ in range(6):
                    found.append(session.run([loss, rate, b]))
                    session.run(train)
                assert tf.train.global_step(session, step) == 6
            return found

    ours, theirs = losses(flowmill), losses(tf1)
    for mine, other in zip(ours, theirs, strict=True):
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    assert ours[-1][0] < ours[0][0]


def test_gradients_by_variables(tf1):
    def build(tf):
        v = tf.Variable([1.0, 2.0], name="v")
        r = tf.Variable([3.0, 4.0], name="r", use_resource=True)
        unused = tf.Variable(1.0, name="unused")
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        pairs = optimizer.compute_gradients(tf.reduce_sum(v * r), gate_gradients=optimizer.GATE_GRAPH)
        assert [x.name for _, x in pairs] == ["v:0", "r:0", "unused:0"] and pairs[2][0] is None and unused is pairs[2][1]
        return [g for g, _ in pairs if g is not None]

    compare(tf1, build, initialize=True, nodes=False)


ERRORS = {
    "no variables": (lambda tf: tf.train.AdamOptimizer().compute_gradients(tf.constant(1.0)), "No variables to optimize."),
    "no pairs": (lambda tf: tf.train.AdamOptimizer().apply_gradients([]), "No variables provided."),
    "no gradients": (lambda tf: tf.train.AdamOptimizer().apply_gradients([(None, tf.Variable(1.0))]), "No gradients provided for any variable"),
    "independent": (lambda tf: tf.train.AdamOptimizer().minimize(tf.constant(1.0), var_list=[tf.Variable(1.0)]), "check your graph for ops"),
    "type": (lambda tf: tf.train.AdamOptimizer().minimize(tf.constant(1), var_list=[tf.Variable(1.0)]), "Invalid type tf.int32 for Const:0"),
    "gate": (lambda tf: tf.train.AdamOptimizer().compute_gradients(tf.constant(1.0), gate_gradients=5), "gate_gradients must be one of"),
    "global step": (lambda tf: tf.train.assert_global_step(tf.constant([1])), 'Existing "global_step" is not scalar'),
    "second step": (lambda tf: [tf.train.create_global_step(), tf.train.create_global_step()], '"global_step" already exists.'),
    "boundaries": (lambda tf: tf.train.piecewise_constant(tf.constant(1), [1], [1.0]), "The length of boundaries should be 1 less"),
    "average": (lambda tf: tf.train.ExponentialMovingAverage(0.5).apply([tf.Variable(1)]), "The variables must be half, float, or double"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(tf1, case):
    same_error(tf1, *ERRORS[case])


DECAYS = {
    "exponential": lambda t, step: t.exponential_decay(0.1, step, 100, 0.9), "staircase": lambda t, step: t.exponential_decay(0.1, step, 100, 0.9, True),
    "polynomial": lambda t, step: t.polynomial_decay(0.1, step, 100, power=0.5), "cycle": lambda t, step: t.polynomial_decay(0.1, step, 100, cycle=True),
    "natural": lambda t, step: t.natural_exp_decay(0.1, step, 100, 0.3), "natural staircase": lambda t, step: t.natural_exp_decay(0.1, step, 100, 0.3, True),
    "inverse": lambda t, step: t.inverse_time_decay(0.1, step, 100, 0.3), "inverse staircase": lambda t, step: t.inverse_time_decay(0.1, step, 100, 0.3, True),
    "cosine": lambda t, step: t.cosine_decay(0.1, step, 100, 0.1), "restarts": lambda t, step: t.cosine_decay_restarts(0.1, step, 50, 2.0, 0.5),
    "equal restarts": lambda t, step: t.cosine_decay_restarts(0.1, step, 50, 1.0, 0.5, 0.1), "linear cosine": lambda t, step: t.linear_cosine_decay(0.1, step, 100),
    "piecewise": lambda t, step: t.piecewise_constant(step, [10, 120], [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("at", [0, 10, 70, 150])
@pytest.mark.parametrize("name", DECAYS)
@pytest.mark.usefixtures("control_flow")
def test_learning_rates(tf1, name, at):
    def build(tf):
        return DECAYS[name](tf.train, tf.Variable(np.int64(at), name="step"))

    # Conditionals bring inputs in before what takes them.
    compare(tf1, build, initialize=True, nodes=at == 0, ordered=name not in {"restarts", "equal restarts", "piecewise"}, rtol=1e-5)


def averaged(tf, zero_debias, resource, with_step):
    with tf.Graph().as_default() as graph:
        v = tf.Variable([1.0, 2.0], name="v", use_resource=resource)
        step = tf.train.get_or_create_global_step() if with_step else None
        t = tf.convert_to_tensor(v) * 2.0
        ema = tf.train.ExponentialMovingAverage(0.9, step, zero_debias=zero_debias)
        with tf.get_default_graph().control_dependencies([v.assign_add([1.0, 1.0])]):
            update = ema.apply([v, t])
        names = [ema.average_name(v), ema.average_name(t), ema.average(v).name, sorted(ema.variables_to_restore()),
                 [x.name for x in tf.moving_average_variables()], sorted(key for key in graph.get_all_collection_keys() if key != "cond_context")]
        nodes = {(o.name, o.type, *(i.name for i in o.inputs)) for o in graph.get_operations()}
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            values = []
            for _ in range(3):
                session.run(update)
                values.append(session.run([ema.average(v), ema.average(t)]))
    return nodes, names, values


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("zero_debias, with_step", [(False, False), (True, False), (False, True)])
def test_moving_averages(tf1, control_flow, zero_debias, resource, with_step):
    nodes, names, values = averaged(flowmill, zero_debias, resource, with_step)
    if control_flow == "functions" and not resource:
        # There the function that chooses the initial value gets a value that is not there. Here it never is a function.
        tf1.disable_control_flow_v2()
    their_nodes, their_names, their_values = averaged(tf1, zero_debias, resource, with_step)
    assert names == their_names
    # References are read once more, after what the average waits for.
    assert {n for n in nodes if "AssignMovingAvg" not in n[0]} == {n for n in their_nodes if "AssignMovingAvg" not in n[0]}
    assert not resource or nodes == their_nodes
    np.testing.assert_allclose([v[0] for v in values], [v[0] for v in their_values], rtol=1e-5)


def test_slots_of_parts():
    tf = flowmill
    with tf.Graph().as_default():
        w = tf.get_variable("w", [4, 2], partitioner=tf.fixed_size_partitioner(2))
        optimizer = tf.train.AdamOptimizer()
        optimizer.minimize(tf.reduce_sum(w * 2.0))
        first, second = (optimizer.get_slot(part, "m") for part in w)
        assert (first.name, second.name) == ("w/part_0/Adam:0", "w/part_1/Adam:0")
        assert second._get_save_slice_info().full_name == "w/Adam" and second._get_save_slice_info().spec == "4 2 2,2:0,2"


def test_an_optimizer_of_ones_own():
    tf = flowmill

    class Signs(tf.train.Optimizer):
        def __init__(self):
            super().__init__(False, "Signs")

        def _apply_dense(self, grad, var):
            return var.assign_sub(tf.sign(grad))

    with tf.Graph().as_default():
        v = tf.Variable([3.0, -3.0])
        train = Signs().minimize(tf.reduce_sum(v * v))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            np.testing.assert_array_equal(session.run(v), [2.0, -2.0])


@pytest.mark.parametrize("resource", [False, True])
def test_an_optimizer_says_only_what_it_is_used_with(tf1, resource):
    """Programs derive optimizers that override `apply_gradients` alone, or change one kind of variable."""
    found = []
    for tf in (tf1, flowmill):
        class Halves(tf.train.Optimizer):
            def __init__(self):
                super().__init__(False, "Halves")

            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                return tf.group(*(v.assign(v - 0.5 * g) for g, v in grads_and_vars))

        class Nothing(tf.train.Optimizer):
            def __init__(self):
                super().__init__(False, "Nothing")

        with tf.Graph().as_default():
            v = tf.Variable([3.0, -3.0], use_resource=resource)
            train = Halves().minimize(tf.reduce_sum(v * v * 0.5))
            with pytest.raises(NotImplementedError):
                Nothing().minimize(tf.reduce_sum(v * v))
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(train)
                found.append(session.run(v).tolist())
    assert found[0] == found[1] == [1.5, -1.5]


def test_losses_may_be_functions(tf1):
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            used = tf.get_variable("used", initializer=[1.0, 2.0], use_resource=True)
            tf.get_variable("unused", initializer=3.0, use_resource=True)
            optimizer = tf.train.GradientDescentOptimizer(0.5)
            pairs = optimizer.compute_gradients(lambda: tf.reduce_sum(used * used))
            step = optimizer.minimize(lambda: tf.reduce_sum(used * used), var_list=[used])
            session.run(tf.global_variables_initializer())
            found.append(([v.name for _, v in pairs], session.run(pairs[0][0]).tolist(), session.run(step), session.run(used).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("reuse", [None, "auto"])
def test_a_variable_that_moves_in_several_places(tf1, resource, reuse):
    """Each update has a bias of its own, unless the scope reuses variables."""
    found = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default(), tf.Session() as session:
            module = importlib.import_module("tensorflow.python.training.moving_averages" if tf is tf1 else "flowmill.python.training.moving_averages")
            with tf.variable_scope("scope", reuse=tf.AUTO_REUSE if reuse else None, use_resource=resource):
                average = tf.get_variable("average", [2], initializer=tf.zeros_initializer())
                updates = [module.assign_moving_average(average, [x, -x], 0.9) for x in (1.0, 2.0, 3.0)]
            session.run(tf.global_variables_initializer())
            values = [session.run(update) for update in updates]
            found.append((sorted(v.name for v in tf.global_variables()), np.array(values)))
    assert found[1][0] == found[0][0]
    np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-6)
