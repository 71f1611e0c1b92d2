"""Variables, queues, tables, iterators and arrays on several CPU devices, compared with TensorFlow."""

import pytest
from test_devices import check_placed, config, placed

import flowmill


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables(tf1, use_resource):
    def program(tf, session):
        with tf.device("/cpu:1"):
            v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=use_resource)
        with tf.device("/cpu:2"):
            doubled = tf.multiply(v, 2.0, name="doubled")
        added = tf.assign_add(v, [1.0, 1.0])
        session.run(tf.global_variables_initializer())
        values, devices = placed(tf, session, doubled)
        return [values, session.run(added), session.run(doubled), session.run(v)], devices

    check_placed(tf1, program, "v", "doubled")


@pytest.mark.parametrize("use_resource", [False, True])
def test_gradients_and_optimizers_of_variables(tf1, use_resource):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            variables = []
            for i in range(4):
                with tf.device(f"/cpu:{i}"):
                    variables.append(tf.get_variable(f"v{i}", initializer=[1.0 + i, 2.0], use_resource=use_resource))
            with tf.device("/cpu:3"):
                loss = tf.reduce_sum(tf.square(tf.add_n(variables) * variables[0]))
            step = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss, colocate_gradients_with_ops=True)
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(step)
            return session.run(variables)

    for ours, theirs in zip(program(flowmill), program(tf1)):
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_queues(tf1):
    """Operations on a resource run where it is, also those that request another device."""
    def program(tf, session):
        with tf.device("/cpu:1"):
            queue = tf.FIFOQueue(3, [tf.float32], [[]], name="queue")
        with tf.device("/cpu:2"):
            enqueue = queue.enqueue(1.5)
        taken = queue.dequeue(name="taken")
        with tf.device("/cpu:2"):
            result = tf.negative(taken, name="result")
        session.run(enqueue)
        return placed(tf, session, result)

    check_placed(tf1, program, "queue", "taken", "result")


def test_tables(tf1):
    def program(tf, session):
        with tf.device("/cpu:1"):
            table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1, name="table")
        keys = tf.placeholder(tf.string, [2])
        with tf.device("/cpu:2"):
            found = table.lookup(keys, name="found")
        session.run(tf.tables_initializer())
        return placed(tf, session, found, {keys: ["b", "x"]})

    check_placed(tf1, program, "table")


def test_iterators(tf1):
    def program(tf, session):
        with tf.device("/cpu:1"):
            iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(5).map(lambda x: x * x))
        element = iterator.get_next(name="element")
        with tf.device("/cpu:2"):
            result = tf.negative(element, name="result")
        session.run(iterator.initializer)
        values, devices = placed(tf, session, result)
        return [values, session.run(result), session.run(result)], devices

    check_placed(tf1, program, "IteratorV2", "element", "result")


def test_one_shot_iterators(tf1):
    def program(tf, session):
        with tf.device("/cpu:1"):
            element = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3).map(lambda x: x + 5)).get_next(name="element")
        values, devices = placed(tf, session, element)
        return [values, session.run(element)], devices

    check_placed(tf1, program, "OneShotIterator", "element")


def test_tensor_arrays(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            with tf.device("/cpu:1"):
                array = tf.TensorArray(tf.float32, 3)
            for i in range(3):
                with tf.device(f"/cpu:{i + 1}"):
                    array = array.write(i, tf.fill([2], float(i)))
            with tf.device("/cpu:2"):
                return session.run(array.stack()).tolist()

    assert program(flowmill) == program(tf1)


def test_session_handles_name_the_device_of_their_tensor(tf1):
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
            with tf.device("/cpu:1"):
                handle = tf.get_session_handle(tf.constant([1.0, 2.0]) + 1.0)
            kept = session.run(handle)
            holder, tensor = tf.get_session_tensor(kept.handle, tf.float32)
            value = session.run(tensor * 2.0, {holder: kept.handle}).tolist()
            kept.delete()
            return kept.handle.split(";")[-1], value

    assert program(flowmill) == program(tf1)


def test_devices_have_containers_of_their_own(tf1):
    """Variables and queues of one name on two devices are two objects."""
    def program(tf):
        with tf.Graph().as_default(), tf.Session(config=config(tf, 2)) as session:
            reads, writes, sizes = [], [], []
            for i in range(2):
                with tf.device(f"/cpu:{i}"):
                    handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="v")
                    writes.append(tf.raw_ops.AssignVariableOp(resource=handle, value=1.0 + i))
                    reads.append(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32))
                    queue = tf.FIFOQueue(3, [tf.float32], [[]], shared_name="q")
                    enqueue = queue.enqueue(0.5)
                    sizes.append(queue.size())
            session.run(writes)
            session.run(enqueue)
            return session.run(reads), session.run(sizes)

    assert program(flowmill) == program(tf1) == ([1.0, 2.0], [0, 1])


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("use_resource", [False, True])
def test_savers(tf1, tmp_path, sharded, use_resource):
    def program(tf, path):
        with tf.Graph().as_default(), tf.Session(config=config(tf, 3)) as session:
            variables = []
            for i in range(3):
                with tf.device(f"/cpu:{i}"):
                    variables.append(tf.get_variable(f"v{i}", initializer=[float(i)] * 2, use_resource=use_resource))
            saver = tf.train.Saver(sharded=sharded)
            session.run(tf.global_variables_initializer())
            saved = saver.save(session, str(path), write_meta_graph=False)
            session.run([tf.assign(v, [9.0, 9.0]) for v in variables])
            saver.restore(session, saved)
            return [v.tolist() for v in session.run(variables)], [name.rpartition("/")[2] for name in [saved]]

    assert program(flowmill, tmp_path / "a") == program(tf1, tmp_path / "a")


def test_partitioned_variables_are_restored_to_other_devices(tmp_path):
    tf = flowmill

    def variable(place):
        with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(2)):
            with tf.device(place):
                return tf.get_variable("v", [4], initializer=tf.ones_initializer())

    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        v = variable("/cpu:1")
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "c"), write_meta_graph=False)
    with tf.Graph().as_default(), tf.Session(config=config(tf)) as session:
        v = variable("/cpu:3")
        tf.train.Saver().restore(session, path)
        assert session.run(tf.convert_to_tensor(v)).tolist() == [1.0] * 4
