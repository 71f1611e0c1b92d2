"""Ops that give summaries, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same


@pytest.mark.parametrize("values", [[0.0], [1.5, -2.5, 1e-13, 0.0, 1e30], list(range(-40, 100)), []])
def test_summaries_of_numbers(tf1, values):
    for dtype in ("float32", "float64", "int32", "uint8"):
        array = np.abs(np.float64(values)).astype(dtype) if dtype == "uint8" else np.float64(values).astype(dtype)

        def build(m):
            ops = m.raw_ops
            tags = [f"t{i}" for i in range(len(values))]
            scalars = ops.ScalarSummary(tags=m.constant(tags, m.string, [len(values)]), values=m.constant(array))
            histogram = ops.HistogramSummary(tag="h", values=m.constant(array))
            return [scalars, histogram, ops.MergeSummary(inputs=[scalars, histogram])]
        assert assert_same(tf1, build) is None


def test_summaries_of_tensors(tf1):
    import flowmill as tf

    metadata = tf1.SummaryMetadata(display_name="d").SerializeToString()
    assert assert_same(tf1, lambda m: [m.raw_ops.TensorSummaryV2(tag="t", tensor=m.constant([1.0, 2.0]), serialized_summary_metadata=metadata)]) is None
    with tf.Graph().as_default() as graph:
        made = tf.raw_ops.TensorSummaryV2(tag="t", tensor=tf.constant(["a"]), serialized_summary_metadata=metadata)
        assert tf1.Summary.FromString(tf.Session(graph=graph).run(made)).value[0].tensor.string_val == [b"a"]


def test_what_has_no_summary(tf1):
    for build in (
        lambda m: [m.raw_ops.HistogramSummary(tag="h", values=[1.0, float("nan")])],
        lambda m: [m.raw_ops.HistogramSummary(tag="h", values=[float("inf")])],
        lambda m: [m.raw_ops.ScalarSummary(tags=["a", "b"], values=m.placeholder_with_default([1.0], None))],
        lambda m: [m.raw_ops.MergeSummary(inputs=[m.raw_ops.ScalarSummary(tags="a", values=1.0)] * 2)],
        lambda m: [m.raw_ops.MergeSummary(inputs=["\x01\x02"])],
    ):
        assert assert_same(tf1, build) == "InvalidArgumentError"
