"""No array of a program shares memory with a tensor that outlives the step: what functions return, what is fed, what is fetched."""

import numpy as np
import pytest

import flowmill as tf

N = 1000


def aligned():
    """An array whose memory begins at a multiple of 64 bytes, as tensors' memory does."""
    raw = np.zeros(N * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start:start + N * 4].view(np.float32)


class Subclass(np.ndarray):
    pass


def read_only(buffer):
    view = buffer.view()
    view.flags.writeable = False
    return view


BUFFERS = {"owned": lambda: np.zeros(N, np.float32), "aligned": aligned, "of bytes": lambda: np.frombuffer(bytearray(4 * N), np.float32)}
RETURNED = {
    "the array": lambda b: b, "a view": lambda b: b[:], "a read-only view": read_only, "a subclass": lambda b: b.view(Subclass),
    "a memoryview": memoryview, "a reshaped view": lambda b: b.reshape(N, 1)[:, 0],
}


@pytest.mark.parametrize("returned", RETURNED)
@pytest.mark.parametrize("buffer", BUFFERS)
@pytest.mark.parametrize("api", ["py_func", "numpy_function", "py_function"])
def test_a_function_refills_what_it_returned(api, buffer, returned):
    array = BUFFERS[buffer]()

    def fill(i):
        array[:] = i
        return RETURNED[returned](array)

    def call(i):
        made = getattr(tf, api)(fill, [i], tf.float32)
        made.set_shape([N])
        return made

    with tf.Graph().as_default(), tf.Session() as session:
        _, values = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t.write(i, call(i))), [0, tf.TensorArray(tf.float32, 5)], parallel_iterations=1)
        first = call(tf.constant(1))
        with tf.control_dependencies([first]):
            second = call(tf.constant(2))
        assert session.run(values.stack())[:, 0].tolist() == [0, 1, 2, 3, 4]
        assert session.run(tf.stack([first, second]))[:, N - 1].tolist() == [1, 2]


def test_one_array_in_two_results():
    kept = []

    def twice(x):
        array = x + 1
        kept.append(array)
        return array, array

    with tf.Graph().as_default(), tf.Session() as session:
        first, second = tf.py_func(twice, [tf.zeros([N])], [tf.float32, tf.float32])
        with tf.control_dependencies([first, second]):
            written = tf.py_func(lambda: kept[0].fill(7) or np.float32(0), [], tf.float32)
        with tf.control_dependencies([written]):
            total = first + second
        assert session.run(total)[0] == 2


def test_the_argument_as_the_result():
    kept = []
    with tf.Graph().as_default(), tf.Session() as session:
        same = tf.py_func(lambda x: kept.append(x) or x, [tf.zeros([N]) + 1.0], tf.float32)
        with tf.control_dependencies([same]):
            written = tf.py_func(lambda: kept[0].fill(7) or np.float32(0), [], tf.float32)
        with tf.control_dependencies([written]):
            assert session.run(tf.identity(same) + 0.0)[0] == 1


def test_a_generator_that_fills_one_array():
    def generate():
        array = np.zeros(N, np.float32)
        for i in range(4):
            array[:] = i
            yield array

    with tf.Graph().as_default(), tf.Session() as session:
        batches = tf.data.Dataset.from_generator(generate, tf.float32, [N]).batch(4)
        assert session.run(tf.data.make_one_shot_iterator(batches).get_next())[:, 0].tolist() == [0, 1, 2, 3]
        element = tf.data.make_one_shot_iterator(tf.data.Dataset.from_generator(generate, tf.float32, [N])).get_next()
        queue = tf.FIFOQueue(4, [tf.float32], [[N]])
        put = queue.enqueue([element])
        for _ in range(4):
            session.run(put)
        assert session.run(queue.dequeue_many(4))[:, 0].tolist() == [0, 1, 2, 3]


def list_variable(value):
    handle = tf.raw_ops.VarHandleOp(dtype=tf.variant, shape=[], shared_name="list")
    elements = tf.raw_ops.TensorListFromTensor(tensor=tf.reshape(value, [1, N]), element_shape=tf.constant([N]))
    put = tf.raw_ops.AssignVariableOp(resource=handle, value=elements)
    read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.variant)
    return put, tf.raw_ops.TensorListStack(input_handle=read, element_shape=tf.constant([N]), element_dtype=tf.float32)


def optional_variable(value):
    handle = tf.raw_ops.VarHandleOp(dtype=tf.variant, shape=[], shared_name="optional")
    put = tf.raw_ops.AssignVariableOp(resource=handle, value=tf.raw_ops.OptionalFromValue(components=[value]))
    read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.variant)
    return put, tf.raw_ops.OptionalGetValue(optional=read, output_types=[tf.float32], output_shapes=[[N]])[0]


def list_queue(value):
    queue = tf.FIFOQueue(1, [tf.variant], [[]])
    elements = tf.raw_ops.TensorListFromTensor(tensor=tf.reshape(value, [1, N]), element_shape=tf.constant([N]))
    return queue.enqueue([elements]), tf.raw_ops.TensorListStack(
        input_handle=queue.dequeue(), element_shape=tf.constant([N]), element_dtype=tf.float32)


def variable(use_resource):
    def make(value):
        made = tf.get_variable("v", [N], use_resource=use_resource)
        return made.assign(value), made
    return make


def queue(value):
    made = tf.FIFOQueue(1, [tf.float32], [[N]])
    return made.enqueue([value]), made.dequeue()


KEEPERS = {
    "variable": variable(True), "reference": variable(False), "queue": queue, "list in a variable": list_variable,
    "list in a queue": list_queue, "optional in a variable": optional_variable,
}


@pytest.mark.parametrize("keeper", KEEPERS)
def test_what_was_fed_may_change_after_the_step(keeper):
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [N])
        put, get = KEEPERS[keeper](fed)
        session.run(tf.global_variables_initializer())
        array = aligned()
        session.run(put, {fed: array})
        array[:] = 77
        assert np.all(session.run(get) == 0)


def test_the_owner_of_a_fetched_array_is_no_tensor():
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [N])
        kept = tf.get_variable("v", [N], use_resource=True)
        assign = kept.assign(fed)
        session.run(tf.global_variables_initializer())
        array = session.run(fed + 1.0, {fed: np.zeros(N, np.float32)})
        assert array.base is not None and array.flags.writeable
        with pytest.raises((TypeError, ValueError)):
            session.run(assign, {fed: array.base})
        session.run(assign, {fed: array})
        array[:] = 77
        assert np.all(session.run(kept) == 1)


def test_a_dataset_keeps_the_values_it_was_made_of():
    array = np.arange(2 * N, dtype=np.float32).reshape(2, N)
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.data.Dataset.from_tensor_slices(array)
        array[:] = 7
        elements = list(dataset.as_numpy_iterator())
        assert [e[0] for e in elements] == [0, N]
        elements[0][:] = 7
        assert session.run(tf.data.make_one_shot_iterator(dataset).get_next())[0] == 0


def test_the_rows_of_a_ragged_tensor_may_change_after_the_step():
    with tf.Graph().as_default(), tf.Session() as session:
        splits, values = tf.placeholder(tf.int64, [N // 2]), tf.placeholder(tf.float32, [N])
        handle = tf.raw_ops.VarHandleOp(dtype=tf.variant, shape=[], shared_name="ragged")
        encoded = tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=values, batched_input=False)
        put = tf.raw_ops.AssignVariableOp(resource=handle, value=encoded)
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.variant)
        decoded = tf.raw_ops.RaggedTensorFromVariant(
            encoded_ragged=read, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=tf.int64)
        fed_splits, fed_values = aligned().view(np.int64), aligned()
        fed_splits[-1] = N
        session.run(put, {splits: fed_splits, values: fed_values})
        fed_splits[:], fed_values[:] = 7, 7
        rows, kept = session.run([decoded.output_nested_splits[0], decoded.output_dense_values])
        assert rows[-1] == N and not rows[:-1].any() and not kept.any()
