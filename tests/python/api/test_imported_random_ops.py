"""Random ops that only imported graphs contain: the values and errors of TensorFlow."""

import numpy as np
import pytest

import flowmill


def imported(tf, op, inputs, producer, fetch=0, **attrs):
    """Runs an op of a graph that an earlier version made, once per step: values of three steps, or the code of the error."""
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
        tensors = [tf.placeholder(value.dtype) if isinstance(value, np.ndarray) else value(tf) for value in inputs]
        feeds = {t: value for t, value in zip(tensors, inputs) if isinstance(value, np.ndarray)}
        session.run(tf.global_variables_initializer())
        message = tf.GraphDef()
        message.versions.producer = producer
        node = message.node.add(name="n", op=op)
        for i, tensor in enumerate(tensors):
            node.input.append(f"i{i}")
            placeholder = message.node.add(name=f"i{i}", op="Placeholder")
            placeholder.attr["dtype"].type = tensor.dtype.as_datatype_enum
        for name, value in attrs.items():
            if isinstance(value, int):
                node.attr[name].i = value
            else:
                node.attr[name].type = tf.as_dtype(value).as_datatype_enum
        (made,) = tf.import_graph_def(message, {f"i{i}": t for i, t in enumerate(tensors)}, ["n"], name="")
        try:
            return made.outputs[fetch].shape.as_list() if made.outputs[fetch].shape.rank is not None else None, \
                [session.run(made.outputs[fetch], feeds) for _ in range(3)]
        except tf.errors.OpError as error:
            return error.error_code


IMAGE = np.arange(5 * 7 * 2).reshape(5, 7, 2)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float32", "float64"])
@pytest.mark.parametrize("size", [[3, 4], [5, 7], [5, 2], [0, 3], [1, 1]])
def test_random_crops(tf1, dtype, size):
    ours, theirs = (imported(tf, "RandomCrop", [IMAGE.astype(dtype), np.int64(size)], 7, T=dtype, seed=3, seed2=4) for tf in (flowmill, tf1))
    assert ours[0] == theirs[0]
    np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.parametrize("image, size", [(IMAGE[0], [1, 1]), (IMAGE, [1, 1, 1]), (IMAGE, [[1, 1]]), (IMAGE, [6, 1]), (IMAGE, [1, 8])])
def test_bad_random_crops(tf1, image, size):
    ours, theirs = (imported(tf, "RandomCrop", [image, np.int64(size)], 7, T="int64", seed=3) for tf in (flowmill, tf1))
    assert ours == theirs and isinstance(ours, int)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("state", [[1, 5, 0, 7], [3, 2**40, 1, -7, 9], [2, 5, 0, 7], [1, 5, 0], []])
def test_normal_numbers_of_a_state_with_its_algorithm(tf1, dtype, state):
    def variable(tf):
        return tf.Variable(np.int64(state), use_resource=True, dtype=tf.int64).handle
    ours, theirs = (imported(tf, "StatefulStandardNormal", [variable, np.int64([3, 7])], 28, dtype=dtype, shape_dtype="int64") for tf in (flowmill, tf1))
    if isinstance(theirs, int):
        assert ours == theirs
        return
    for mine, other in zip(ours[1], theirs[1]):
        np.testing.assert_allclose(np.asarray(mine, np.float64), np.asarray(other, np.float64), rtol=1e-5)
