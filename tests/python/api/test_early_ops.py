"""Ops that graphs of earlier versions, and debuggers, leave behind: the values and errors of TensorFlow."""

import numpy as np
import pytest

import flowmill
from compare import compare


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


def test_closed_queues_of_the_first_version(tf1):
    def build(tf):
        queue = tf.raw_ops.FIFOQueue(component_types=[tf.int32])
        before = tf.raw_ops.QueueIsClosed(handle=queue)
        with tf.control_dependencies([before]):
            close = tf.raw_ops.QueueClose(handle=queue)
        with tf.control_dependencies([close]):
            return before, tf.raw_ops.QueueIsClosed(handle=queue)
    compare(tf1, build)


@pytest.mark.parametrize("op", ["DebugIdentity", "DebugIdentityV2", "DebugGradientIdentity"])
def test_identities_of_debuggers(tf1, op):
    name = {"tensor_name": "x:0"} if op == "DebugIdentity" else {}
    compare(tf1, lambda tf: [getattr(tf.raw_ops, op)(input=tf.constant(value), **name) for value in ([1.5, 2.0], "text", True, np.zeros([0, 2]))])


@pytest.mark.parametrize("op", ["DebugIdentityV2", "DebugGradientIdentity"])
def test_gradients_pass_identities_of_debuggers(op):
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        x = flowmill.constant([1.0, 2.0])
        assert session.run(flowmill.gradients(getattr(flowmill.raw_ops, op)(input=x) * 3.0, x))[0].tolist() == [3, 3]


def test_urls_of_debuggers_are_refused():
    with flowmill.Graph().as_default(), flowmill.Session() as session, pytest.raises(flowmill.errors.UnimplementedError, match="debug_urls"):
        session.run(flowmill.raw_ops.DebugIdentityV2(input=1.0, debug_urls=["file:///tmp/x"]))


BOXES = np.float32([[[0.1, 0.2, 0.6, 0.9], [0.0, 0.0, 0.3, 0.3]]])


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
@pytest.mark.parametrize("seed_dtype", ["int32", "int64"])
def test_parts_of_images_by_a_seed(tf1, dtype, seed_dtype):
    for seed in ([1, 2], [-5, 2**31 - 1], [0, 0]):
        for covered in (0.0, 0.5, 1.0):
            compare(tf1, lambda tf: list(tf.raw_ops.StatelessSampleDistortedBoundingBox(
                image_size=tf.constant([40, 60, 3], dtype), bounding_boxes=BOXES, min_object_covered=covered, seed=tf.constant(seed, seed_dtype))))


def test_the_whole_image_counts_if_there_are_no_boxes(tf1):
    compare(tf1, lambda tf: list(tf.raw_ops.StatelessSampleDistortedBoundingBox(
        image_size=[40, 60, 3], bounding_boxes=np.zeros([1, 0, 4], "f"), min_object_covered=0.2, seed=[3, 4], use_image_if_no_bounding_boxes=True,
        aspect_ratio_range=[0.5, 2.0], area_range=[0.2, 0.7], max_attempts=5)))


@pytest.mark.parametrize("feeds", [
    {"image_size": [40, 60]}, {"bounding_boxes": np.zeros([2, 4], "f")}, {"bounding_boxes": BOXES + 1}, {"min_object_covered": -1.0},
    {"seed": [1, 2, 3]}, {"seed": 1}, {"bounding_boxes": np.zeros([1, 0, 4], "f")},
])
def test_bad_arguments_of_parts_of_images(tf1, feeds):
    codes = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            given = {"image_size": [40, 60, 3], "bounding_boxes": BOXES, "min_object_covered": 0.1, "seed": [1, 2]} | feeds
            inputs = {name: tf.placeholder({"image_size": tf.int32, "seed": tf.int64}.get(name, tf.float32)) for name in given}
            outputs = tf.raw_ops.StatelessSampleDistortedBoundingBox(**inputs)
            with pytest.raises(tf.errors.OpError) as raised:
                session.run(outputs, {inputs[name]: value for name, value in given.items()})
            codes.append(raised.value.error_code)
    assert codes[0] == codes[1]


def test_places_of_devices(tf1):
    compare(tf1, lambda tf: [tf.raw_ops.DeviceIndex(device_names=names) for names in (["GPU", "CPU", "CPU"], ["TPU"], ["CPU"], [])])


@pytest.mark.parametrize("value", [[1.5, 2.0], ["a", "b"], True, np.zeros([0, 2]), [1 + 2j]], ids=str)
def test_summaries_with_the_name_of_a_node(tf1, value):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            summary = tf.Summary.FromString(session.run(tf.raw_ops.TensorSummary(tensor=value, description="d", labels=["l"], name="scope/s")))
            (only,) = summary.value
            found.append((only.node_name, only.tag, tf.make_ndarray(only.tensor).tolist()))
    assert found[0] == found[1]
