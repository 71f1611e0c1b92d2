"""Blocks of space, patches, places; what has few bits: the same nodes, shapes and values as TensorFlow's."""

import numpy as np
import pytest

import flowmill
from compare import compare
from inputs import FEEDS, taking_inputs

CASES = {
    "required_space_to_batch_paddings": lambda tf, v: tf.required_space_to_batch_paddings([3, 4], [2, 2]),
    "required_space_to_batch_paddings 2": lambda tf, v: tf.required_space_to_batch_paddings(v.i, [2, 2]),
    "required_space_to_batch_paddings 3": lambda tf, v: tf.required_space_to_batch_paddings(v.i, [2, 2], [[1, 1], [0, 0]]),
    "space_to_batch": lambda tf, v: tf.space_to_batch(v.t4, [[0, 0], [0, 0]], 2),
    "space_to_batch_nd": lambda tf, v: tf.space_to_batch_nd(v.t4, [2, 2], [[0, 0], [0, 0]]),
    "batch_to_space": lambda tf, v: tf.batch_to_space(v.t4, [[0, 0], [0, 0]], 2),
    "batch_to_space_nd": lambda tf, v: tf.batch_to_space_nd(v.t4, [2, 2], [[0, 0], [0, 0]]),
    "depth_to_space": lambda tf, v: tf.depth_to_space(v.t4, 2),
    "space_to_depth": lambda tf, v: tf.space_to_depth(v.t4, 2),
    "extract_image_patches": lambda tf, v: tf.extract_image_patches(v.t4, [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], "VALID"),
    "quantize": lambda tf, v: tf.quantize(v.x, 0.0, 1.0, tf.quint8),
    "dequantize": lambda tf, v: tf.dequantize(tf.quantize(v.x, 0.0, 1.0, tf.quint8)[0], 0.0, 1.0),
    "quantize_and_dequantize": lambda tf, v: tf.quantization.quantize_and_dequantize(v.x, 0.0, 1.0),
    "fake_quant_with_min_max_args": lambda tf, v: tf.fake_quant_with_min_max_args(v.x),
    "fake_quant_with_min_max_vars": lambda tf, v: tf.fake_quant_with_min_max_vars(v.x, 0.0, 1.0),
    "fake_quant_with_min_max_vars_per_channel": lambda tf, v: tf.fake_quant_with_min_max_vars_per_channel(v.x, [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


WITH_NODES_OF_ITS_OWN = {
    "gather_nd": lambda tf, v: tf.gather_nd(v.x, [[0], [1]], batch_dims=1),
    "gather_nd 2": lambda tf, v: tf.gather_nd(v.t4, [[[0, 1], [1, 2]], [[0, 0], [1, 1]], [[0, 0], [1, 1]], [[0, 0], [1, 1]]], batch_dims=1),
    "batch_gather": lambda tf, v: tf.batch_gather(v.x, [[0], [1]]),
    "batch_gather 2": lambda tf, v: tf.batch_gather(v.t4, [[[[0]] * 4] * 4] * 4),
    "repeat": lambda tf, v: tf.repeat(v.x, [1, 2], axis=0),
    "repeat 2": lambda tf, v: tf.repeat(v.x, [1, 2, 0], axis=-1),
    "parallel_stack": lambda tf, v: tf.parallel_stack([v.x, v.x]),
    "sort": lambda tf, v: tf.sort(v.i),
    "sort 2": lambda tf, v: tf.sort(v.x, direction="DESCENDING"),
    "sort 3": lambda tf, v: tf.sort(v.x, axis=0),
    "argsort": lambda tf, v: tf.argsort(v.x, axis=0),
    "argsort 2": lambda tf, v: tf.argsort(v.i, direction="DESCENDING"),
}


@pytest.mark.parametrize("case", WITH_NODES_OF_ITS_OWN.values(), ids=WITH_NODES_OF_ITS_OWN.keys())
def test_the_same_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, nodes=False)


def test_parts_of_a_tensor_of_unknown_rank_are_repeated():
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        data = flowmill.placeholder(flowmill.float32)
        value = session.run(flowmill.repeat(data, [1, 2, 0], axis=1), {data: FEEDS["x"]})
    assert (value == np.repeat(FEEDS["x"], [1, 2, 0], axis=1)).all()


def test_sizes_of_what_is_padded_by_tensors(tf1):
    def build(tf):
        x = tf.placeholder(tf.float32, [None, 3, 2], "x")
        more = tf.shape(x)[0]
        return tf.pad(x, [[0, more], [1, 1], [0, 0]]), tf.pad(x, [[0, more], [1, 1], [0, 0]], mode="SYMMETRIC")
    compare(tf1, build, {"x": np.ones([2, 3, 2], np.float32)})


@pytest.mark.parametrize("of", ["tensor", "reference", "resource"])
def test_indices_out_of_range_are_ignored_on_request(tf1, of):
    def build(tf):
        values = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        params = values if of == "tensor" else tf.get_variable("v", initializer=values, use_resource=of == "resource")
        found = tf.gather_nd(params, [[[1, 0]], [[-1, 0]], [[0, 2]]], bad_indices_policy="IGNORE")
        return [found, tf.gradients(found, params)[0]]

    compare(tf1, build, nodes=False, initialize=True)


@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.complex64, object])
@pytest.mark.parametrize("size", [(0,), (7,), (3, 5), (2, 40_000)])
def test_tensors_that_alternate_along_the_last_axis(dtype, size):
    values = [(np.arange(np.prod(size)).reshape(size) % 100 + 100 * i).astype(dtype) for i in range(3)]
    if dtype is object:
        values = [np.vectorize(lambda x: str(x).encode(), otypes=[object])(value) for value in values]
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        parts = [flowmill.placeholder(flowmill.string if dtype is object else dtype, size) for _ in values]
        joined = flowmill.concat([part[..., None] for part in parts], -1)
        for found in session.run([flowmill.stack(parts, -1), joined], dict(zip(parts, values))):
            np.testing.assert_array_equal(found, np.stack(values, -1))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gathering_of_single_elements_and_rows(index, depth):
    random = np.random.RandomState(0)
    params = random.rand(6, 5, 4).astype(np.float32)
    indices = random.randint(0, 4, (300, depth)).astype(index)
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        places = flowmill.placeholder(index)
        found = flowmill.gather_nd(params, places)
        np.testing.assert_array_equal(session.run(found, {places: indices}), params[tuple(indices.T)])
        for wrong in (-1, 6, np.iinfo(index).min, np.iinfo(index).max):
            indices[299, 0] = wrong
            with pytest.raises(flowmill.errors.InvalidArgumentError, match=r"indices\[299\] = \[" + str(wrong)):
                session.run(found, {places: indices})
