"""Errors of steps that TensorFlow raises, too, in words that its users match."""

import threading

import numpy as np
import pytest

import flowmill


def parse_single(tf, feature, **keys):
    example = tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
    return list(tf.io.parse_single_example(tf.constant(example), keys).values())


def words(tf, *values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def apply_sparse(tf, shape, *gradients):
    accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=shape, shared_name="a")
    return [accumulator.apply_grad(indices, np.ones(size, np.float32), whole) for indices, size, whole in gradients]


ERRORS = {
    "segment ids below zero": (
        lambda tf: tf.segment_sum(tf.placeholder_with_default([1.0, 2.0], None), [-2, -1]), "segment ids must be >= 0"),
    "sparse segment ids below zero": (lambda tf: tf.sparse_segment_sum([1.0, 2.0], [0, 1], [-2, -1]), "segment ids must be >= 0"),
    "gradient of too few segments": (
        lambda tf: tf.raw_ops.SparseSegmentSumGrad(grad=[[1.0]], indices=[0, 1], segment_ids=[0, 4], output_dim0=2), "Invalid number of segments"),
    "place in ids of any rank": (lambda tf: tf.unsorted_segment_sum([[1.0]], [[2]], 2), r"segment_ids\[0,0\] = 2 is out of range \[0, 2\)"),
    "key without a value": (
        lambda tf: parse_single(tf, {}, c=tf.FixedLenFeature([2], tf.float32)), r"Feature: c \(data type: float\) is required but could not be found"),
    "values that fill no row": (
        lambda tf: parse_single(tf, {"b": words(tf, b"x")}, b=tf.FixedLenSequenceFeature([2], tf.string, allow_missing=True)),
        "feature with key b: number of elements should be divisible by 2, found 1 instead"),
    "too many values": (
        lambda tf: parse_single(tf, {"a": words(tf, b"x", b"y")}, a=tf.FixedLenFeature([1], tf.string)), "Key: a.  Can't parse serialized Example"),
    "bytes that are no tensor": (lambda tf: tf.io.parse_tensor("bogus", tf.float32), "Could not parse `serialized` as TensorProto, base64: Ym9ndXM"),
    "sparse gradient of another shape": (
        lambda tf: apply_sparse(tf, [2, 2, None], ([0], [1, 2], [2, 2])), "expected shape rank at least 3, got 2"),
    "sparse gradient out of range": (
        lambda tf: apply_sparse(tf, [2, None], ([3], [1, 2], [2, 2])), "index of slice 0 exceeded limits of shape; index is 3 exceeded 2"),
    "padding as large as a window": (
        lambda tf: tf.raw_ops.MaxPool(input=np.ones([1, 3, 3, 1], np.float32), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
                                      explicit_paddings=[0, 0, 0, 1, 0, 2, 0, 0]), "Right padding 2 needs to be smaller than the window size 2"),
    "pooling over the batch": (
        lambda tf: tf.nn.avg_pool(tf.placeholder_with_default(np.ones([2, 2, 2, 1], np.float32), None), 1, [2, 1, 1, 1], "SAME"),
        "Pooling is not yet supported on the batch dimension"),
    "concatenated scalars": (lambda tf: tf.concat([tf.placeholder_with_default(1, None)] * 2, tf.placeholder_with_default(0, [])), "Can't concatenate scalars"),
    "shapes to concatenate": (
        lambda tf: tf.raw_ops.ConcatOffset(concat_dim=1, shape=[[2, 3, 5], [2, 7, 10]]),
        r"Input 1 has shape \[2 7 10\] and doesn't match input 0 with shape \[2 3 5\]"),
    "diagonal of rank 0": (
        lambda tf: tf.matrix_set_diag(tf.placeholder_with_default([[1.0]], None), tf.placeholder_with_default(1.0, None)), "diagonal must be at least 1-dim"),
    "format without H and W": (
        lambda tf: tf.raw_ops.DataFormatVecPermute(x=[[0, 1], [2, 3]], src_format="1234", dst_format="4321"),
        "Format specifier must contain H and W for 2D case"),
    "format of eight letters": (lambda tf: tf.raw_ops.DataFormatDimMap(x=[0], src_format="12345678", dst_format="87654321"), "Source format must be of length 4 or 5"),
    "empty state": (
        lambda tf: tf.raw_ops.LSTMBlockCell(x=np.ones([2, 3], np.float32), cs_prev=np.ones([2, 0], np.float32), h_prev=np.ones([2, 0], np.float32),
                                            w=np.ones([3, 0], np.float32), wci=np.ones([0], np.float32), wcf=np.ones([0], np.float32),
                                            wco=np.ones([0], np.float32), b=np.ones([0], np.float32)), "is empty"),
    "greatest index below zero": (
        lambda tf: tf.raw_ops.RandomIndexShuffle(index=[0], seed=[1, 2, 3], max_index=[-1]), "max_index must be >= 0"),
    "sparse values without indices": (
        lambda tf: tf.raw_ops.SparseReorder(input_indices=np.zeros([1, 3], np.int64), input_values=[1, 2, 3], input_shape=[1, 1, 1]),
        r"Number of elements in indices \(1\) and values \(3\) do not match"),
    "sparse index out of bounds": (
        lambda tf: tf.raw_ops.SparseSplit(split_dim=1, indices=[[0, 0], [1, 10]], values=[1.0, 2.0], shape=[3, 5], num_split=2), "out of bounds"),
    "product of dimensions and points": (
        lambda tf: tf.raw_ops.SobolSample(dim=2560, num_results=16384000, skip=0), r"num_results\*dim must be less than 2147483647"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_read_as_in_tensorflow(tf1, case):
    build, match = ERRORS[case]
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session, pytest.raises((tf.errors.OpError, ValueError), match=match):
            session.run(build(tf))


@pytest.mark.parametrize("first, second, match", [
    (("FIFOQueue", 10, "float32", None), ("FIFOQueue", 15, "float32", None), "capacity 10 but requested capacity was 15"),
    (("FIFOQueue", 10, "float32", None), ("FIFOQueue", 10, "int32", None), "component types float but requested component types were int32"),
    (("FIFOQueue", 10, "float32", [[1]]), ("FIFOQueue", 10, "float32", [[2]]), "component shapes"),
    (("PaddingFIFOQueue", 10, "float32", [[None]]), ("PaddingFIFOQueue", 10, "float32", [[None, 2]]), "component shapes"),
])
def test_shared_queues_are_opened_with_equal_options(tf1, first, second, match):
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            opened = [getattr(tf, kind)(n, [dtype], shapes=shapes, shared_name="q") for kind, n, dtype, shapes in (first, second, first)]
            assert session.run(opened[0].size()) == session.run(opened[2].size()) == 0
            with pytest.raises(tf.errors.InvalidArgumentError, match=match):
                session.run(opened[1].size())


def test_sparse_accumulators_take_gradients_of_more_dimensions(tf1):
    found = []
    for tf in (flowmill, tf1):
        with tf.Graph().as_default(), tf.Session() as session:
            accumulator = tf.SparseConditionalAccumulator(tf.float32, shape=(), name="q")
            for indices, values in ([0, 1], [[1, 0], [0, 2]]), ([0, 2], [[0, 1], [3, 0]]):
                session.run(accumulator.apply_grad(indices, np.float32(values), [3, 2]))
            found.append(session.run(accumulator.take_grad(1)))
    for mine, other in zip(*found, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_steps_end_when_their_session_is_closed():
    with flowmill.Graph().as_default():
        session = flowmill.Session()
        element = flowmill.FIFOQueue(1, [flowmill.int32]).dequeue()
        raised = []

        def wait():
            with pytest.raises(flowmill.errors.CancelledError) as error:
                session.run(element)
            raised.append(error.value)

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(1)  # the step waits for an element by then
        session.close()
        thread.join(20)
    assert "was cancelled by an explicit call to `Session::Close()`" in str(raised[0])
