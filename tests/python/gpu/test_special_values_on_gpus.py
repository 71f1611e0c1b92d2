"""Values for which kernels of GPUs could differ from the CPU's: variants that are made of several tensors, and NaN where states are clipped."""

import numpy as np
import pytest

import flowmill as tf

pytestmark = pytest.mark.usefixtures("num_gpus")

ON_GPU = tf.ConfigProto(device_count={"GPU": 1})


def test_ragged_tensors_of_equal_rows_are_added():
    with tf.Graph().as_default() as graph:
        splits, values = tf.placeholder(tf.int64, [4]), [tf.placeholder(tf.float32, [5]) for _ in range(2)]
        encoded = [tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=each, batched_input=False) for each in values]
        with tf.device("/gpu:0"):
            total = tf.add_n(encoded)
        decoded = tf.raw_ops.RaggedTensorFromVariant(
            encoded_ragged=total, input_ragged_rank=1, output_ragged_rank=1, Tvalues=tf.float32, Tsplits=tf.int64)
    with tf.Session(graph=graph, config=ON_GPU) as session:
        feed = {splits: [0, 2, 2, 5], values[0]: [1, 2, 3, 4, 5], values[1]: [10, 20, 30, 40, 50]}
        for _ in range(3):
            rows, sums = session.run([decoded.output_nested_splits[0], decoded.output_dense_values], feed)
            assert rows.tolist() == [0, 2, 2, 5] and sums.tolist() == [11, 22, 33, 44, 55]


def test_a_clipped_state_stays_nan():
    random = np.random.default_rng(3)
    x, state, kernel = (random.normal(0, 2, shape).astype(np.float32) for shape in ([2, 3], [2, 4], [7, 16]))
    x[1, 2] = np.nan

    def run(device):
        with tf.Graph().as_default() as graph, tf.device(device):
            fed, zeros = tf.placeholder(tf.float32, [2, 3]), tf.zeros([4])
            cell = tf.raw_ops.LSTMBlockCell(x=fed, cs_prev=state, h_prev=state, w=kernel, wci=zeros, wcf=zeros, wco=zeros, b=tf.zeros([16]), cell_clip=0.5)
            fetches = [cell.cs, cell.h]
        with tf.Session(graph=graph, config=ON_GPU) as session:
            return session.run(fetches, {fed: x})

    for found, expected in zip(run("/gpu:0"), run("/cpu:0")):
        assert np.isnan(expected[1]).all() and not np.isnan(expected[0]).any()
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
