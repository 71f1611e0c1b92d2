"""Segments, counts, bounds, bits: the same nodes, shapes and values as TensorFlow's."""

import pytest

import flowmill
from compare import compare
from inputs import FEEDS, taking_inputs

CASES = {
    "segment_sum": lambda tf, v: tf.segment_sum(v.x, v.i),
    "segment_mean": lambda tf, v: tf.segment_mean(v.x, v.i),
    "segment_prod": lambda tf, v: tf.segment_prod(v.x, v.i),
    "segment_max": lambda tf, v: tf.segment_max(v.x, v.i),
    "segment_min": lambda tf, v: tf.segment_min(v.x, v.i),
    "unsorted_segment_sum": lambda tf, v: tf.unsorted_segment_sum(v.x, v.i, 3),
    "unsorted_segment_prod": lambda tf, v: tf.unsorted_segment_prod(v.x, v.i, 3),
    "unsorted_segment_max": lambda tf, v: tf.unsorted_segment_max(v.x, v.i, 2),
    "unsorted_segment_min": lambda tf, v: tf.unsorted_segment_min(v.x, v.i, 2),
    "unsorted_segment_mean": lambda tf, v: tf.unsorted_segment_mean(v.x, v.i, 3),
    "unsorted_segment_sqrt_n": lambda tf, v: tf.unsorted_segment_sqrt_n(v.x, v.i, 3),
    "sparse_segment_sum": lambda tf, v: tf.sparse_segment_sum(v.x, v.i, v.i),
    "sparse_segment_mean": lambda tf, v: tf.sparse_segment_mean(v.x, v.i, v.i, num_segments=3),
    "sparse_segment_sqrt_n": lambda tf, v: tf.sparse_segment_sqrt_n(v.x, v.i, v.i),
    "matmul": lambda tf, v: tf.matmul(v.x, v.m, a_is_sparse=True),
    "bincount": lambda tf, v: tf.math.bincount(v.i),
    "bincount 2": lambda tf, v: tf.math.bincount(v.i, minlength=3, maxlength=5),
    "bincount 3": lambda tf, v: tf.math.bincount(v.i, weights=[1.0, 2.0]),
    "histogram_fixed_width": lambda tf, v: tf.histogram_fixed_width(v.x, [0.0, 1.0], 5),
    "histogram_fixed_width_bins": lambda tf, v: tf.histogram_fixed_width_bins(v.x, [0.0, 1.0], 5),
    "top_k": lambda tf, v: tf.math.top_k(v.x, 2),
    "in_top_k": lambda tf, v: tf.math.in_top_k(v.x, v.i, 1),
    "polyval": lambda tf, v: tf.math.polyval([v.x, v.x, 1.0], v.s),
    "polyval 2": lambda tf, v: tf.math.polyval([1.0], v.s),
    "lbeta": lambda tf, v: tf.math.lbeta(v.x + 1.0),
    "clip_by_value": lambda tf, v: tf.clip_by_value(v.x, 0.0, 1.0),
    "clip_by_value 2": lambda tf, v: tf.clip_by_value(v.x, 0, 1),
    "clip_by_value 3": lambda tf, v: tf.clip_by_value(v.x, v.s - 1.0, v.x),
    "clip_by_norm": lambda tf, v: tf.clip_by_norm(v.x, 1.0),
    "clip_by_norm 2": lambda tf, v: tf.clip_by_norm(v.x, 1.0, axes=[0]),
    "clip_by_average_norm": lambda tf, v: tf.clip_by_average_norm(v.x, 1.0),
    "global_norm": lambda tf, v: tf.global_norm([v.x, None, v.m]),
    "clip_by_global_norm": lambda tf, v: tf.clip_by_global_norm([v.x, None, v.m], 1.0),
    "clip_by_global_norm 2": lambda tf, v: tf.clip_by_global_norm([v.x], 1.0, use_norm=v.s),
    "bitwise_and": lambda tf, v: tf.bitwise.bitwise_and(v.i, 1),
    "bitwise_or": lambda tf, v: tf.bitwise.bitwise_or(v.i, 1),
    "bitwise_xor": lambda tf, v: tf.bitwise.bitwise_xor(v.i, 1),
    "invert": lambda tf, v: tf.bitwise.invert(v.i),
    "left_shift": lambda tf, v: tf.bitwise.left_shift(v.i, 1),
    "right_shift": lambda tf, v: tf.bitwise.right_shift(v.i, 1),
    "linspace": lambda tf, v: tf.linspace(0.0, 1.0, 3),
    "linspace 2": lambda tf, v: tf.linspace(v.s, 7.0, 5),
    "linspace 3": lambda tf, v: tf.linspace([0.0, 1.0], [1.0, 3.0], 3),
    "linspace 4": lambda tf, v: tf.linspace([0.0, 1.0], [1.0, 3.0], 3, axis=-1),
    "linspace 5": lambda tf, v: tf.linspace(1, 7, tf.constant(4), name="l"),
    "linspace 6": lambda tf, v: tf.linspace(2.0, 7.0, 1),
    "div_no_nan 2": lambda tf, v: tf.div_no_nan([4, 3], v.i),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_same_nodes(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS)


# What control flow brings in is made before what takes it, not after.
WITH_CONTROL_FLOW = {
    "confusion_matrix": lambda tf, v: tf.confusion_matrix(v.i, v.i),
    "confusion_matrix 2": lambda tf, v: tf.confusion_matrix(v.i, v.i, 3),
    "confusion_matrix 3": lambda tf, v: tf.confusion_matrix(v.i, v.i, 3, weights=v.i),
    "zero_fraction": lambda tf, v: tf.math.zero_fraction(v.x),
}


@pytest.mark.parametrize("case", WITH_CONTROL_FLOW.values(), ids=WITH_CONTROL_FLOW.keys())
@pytest.mark.usefixtures("control_flow")
def test_the_same_with_control_flow(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, ordered=False)


WITH_NODES_OF_ITS_OWN = {
    "bessel_i0": lambda tf, v: tf.math.bessel_i0(v.x),
    "bessel_i1": lambda tf, v: tf.math.bessel_i1(v.x),
    "approx_max_k": lambda tf, v: tf.math.approx_max_k(v.x, 1),
}


@pytest.mark.parametrize("case", WITH_NODES_OF_ITS_OWN.values(), ids=WITH_NODES_OF_ITS_OWN.keys())
def test_the_same_values(tf1, case):
    compare(tf1, taking_inputs(case), FEEDS, nodes=False)


def test_the_smallest_elements():
    """TensorFlow has no kernel for this on a CPU."""
    with flowmill.Graph().as_default(), flowmill.Session() as session:
        values, places = session.run(flowmill.math.approx_min_k([[3.0, 1.0, 2.0], [5.0, 7.0, 6.0]], 2))
    assert values.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    assert places.tolist() == [[1, 2], [0, 2]]


def test_clipping_tensors_of_several_types_by_a_global_norm(tf1):
    def build(tf):
        tensors = [tf.constant([-3.0, 0.0]), tf.constant([4.0, 0.0], tf.bfloat16)]
        clipped, _ = tf.clip_by_global_norm(tensors, 4.0, use_norm=tf.constant(5.0))
        return [tf.cast(t, tf.float32) for t in clipped]
    compare(tf1, build, nodes=False)
