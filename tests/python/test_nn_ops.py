"""Volumes, pools and other operations of neural networks, against TensorFlow."""

import numpy as np
import pytest

from oracles import assert_same
from test_image_ops import fed


@pytest.fixture
def dice():
    return np.random.RandomState(8)


FLOATS = [("float16", 2e-2), ("float32", 1e-4), ("float64", 1e-9)]
WINDOWS = [([1, 1, 1], [1, 1, 1]), ([2, 3, 2], [1, 1, 1]), ([2, 2, 2], [2, 2, 2]), ([3, 2, 1], [1, 2, 3]), ([1, 3, 3], [2, 1, 2])]


def windows(padding):
    """Where a window is smaller than its stride, TensorFlow's padding of volumes is negative: it leaves out pixels in front."""
    return [(w, s) for w, s in WINDOWS if padding == "VALID" or all(a >= b for a, b in zip(w, s))]


def normal(dice, shape, dtype):
    return dice.normal(size=shape).astype(dtype)


@pytest.mark.parametrize("dtype, tolerance", FLOATS)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_convolved_volumes(tf1, dice, dtype, tolerance, padding):
    for window, strides in windows(padding):
        x, f = normal(dice, [2, 4, 5, 6, 3], dtype), normal(dice, [*window, 3, 4], dtype)
        attrs = {"strides": [1, *strides, 1], "padding": padding}
        assert fed(tf1, "Conv3D", {"input": x, "filter": f}, tolerance * 5, **attrs) is None
        size = [-(-n // s) if padding == "SAME" else -(-(n - w + 1) // s) for n, w, s in zip([4, 5, 6], window, strides)]
        g = normal(dice, [2, *size, 4], dtype)
        assert fed(tf1, "Conv3DBackpropInputV2", {"input_sizes": np.int32(x.shape), "filter": f, "out_backprop": g}, tolerance * 10, **attrs) is None
        assert fed(tf1, "Conv3DBackpropFilterV2", {"input": x, "filter_sizes": np.int32(f.shape), "out_backprop": g}, tolerance * 40, **attrs) is None
        assert fed(tf1, "Conv3D", {"input": x[0], "filter": f}, **attrs) is not None
        assert fed(tf1, "Conv3D", {"input": x, "filter": f[:, :, :, :2]}, **attrs) is not None


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_pooled_volumes(tf1, dice, padding):
    dtype, tolerance = "float32", 1e-4
    for window, strides in windows(padding):
        x = normal(dice, [2, 4, 5, 6, 3], dtype)
        attrs = {"ksize": [1, *window, 1], "strides": [1, *strides, 1], "padding": padding}
        assert fed(tf1, "AvgPool3D", {"input": x}, tolerance, **attrs) is None
        assert fed(tf1, "MaxPool3D", {"input": x}, **attrs) is None
        size = [-(-n // s) if padding == "SAME" else -(-(n - w + 1) // s) for n, w, s in zip([4, 5, 6], window, strides)]
        g = normal(dice, [2, *size, 3], dtype)
        assert fed(tf1, "AvgPool3DGrad", {"orig_input_shape": np.int32(x.shape), "grad": g}, tolerance, **attrs) is None

        def build(m):
            v, h = m.constant(x), m.constant(g)
            y = m.raw_ops.MaxPool3D(input=v, **attrs)
            grad = m.raw_ops.MaxPool3DGrad(orig_input=v, orig_output=y, grad=h, **attrs)
            return [y, grad, m.raw_ops.MaxPool3DGradGrad(orig_input=v, orig_output=y, grad=v, **attrs)]
        assert assert_same(tf1, build, rtol=1e-5) is None


def test_equal_maxima_of_volumes(tf1, dice):
    x = dice.randint(0, 2, [1, 4, 4, 4, 2]).astype(np.float32)

    def build(m):
        attrs = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "SAME"}
        y = m.raw_ops.MaxPool3D(input=x, **attrs)
        return [m.raw_ops.MaxPool3DGrad(orig_input=x, orig_output=y, grad=m.ones_like(y), **attrs),
                m.raw_ops.MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=m.constant(np.arange(x.size, dtype=np.float32).reshape(x.shape)), **attrs)]
    assert assert_same(tf1, build) is None


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_maxima_and_where_they_are(tf1, dice, dtype, padding):
    x = dice.randint(0, 9, [2, 5, 6, 3]).astype(dtype)
    for batch in (False, True):
        attrs = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": padding, "include_batch_in_index": batch}

        def build(m):
            narrow = m.raw_ops.MaxPoolWithArgmax(input=m.constant(x), Targmax="int32", **attrs)
            y, at = m.raw_ops.MaxPoolWithArgmax(input=m.constant(x), Targmax="int64", **attrs)
            return [*narrow, y, at, m.raw_ops.MaxPoolGradWithArgmax(input=m.constant(x), grad=y, argmax=at, **attrs)]
        assert assert_same(tf1, build) is None


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_windows_that_are_inputs(tf1, dice, padding):
    x = normal(dice, [2, 5, 6, 3], "float32")

    def build(m):
        size, strides = m.constant([1, 2, 3, 1]), m.constant([1, 2, 1, 1])
        y = m.raw_ops.MaxPoolV2(input=m.constant(x), ksize=size, strides=strides, padding=padding)
        attrs = {"ksize": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "padding": padding}
        return [y, m.raw_ops.MaxPoolGradV2(orig_input=x, orig_output=y, grad=y * 2, ksize=size, strides=strides, padding=padding),
                m.raw_ops.MaxPoolGradGrad(orig_input=x, orig_output=y, grad=x * 2, **attrs),
                m.raw_ops.MaxPoolGradGradV2(orig_input=x, orig_output=y, grad=x * 2, ksize=size, strides=strides, padding=padding)]
    assert assert_same(tf1, build, rtol=1e-6) is None


@pytest.mark.parametrize("radius, bias, alpha, beta", [(5, 1.0, 1.0, 0.5), (2, 2.0, 1e-4, 0.75), (0, 1.0, 0.5, 0.5), (1, 0.5, 2.0, 1.0)])
def test_local_responses(tf1, dice, radius, bias, alpha, beta):
    x, g = normal(dice, [2, 3, 4, 9], "float32"), normal(dice, [2, 3, 4, 9], "float32")
    attrs = {"depth_radius": radius, "bias": bias, "alpha": alpha, "beta": beta}

    def build(m):
        y = m.raw_ops.LRN(input=x, **attrs)
        return [y, m.raw_ops.LRNGrad(input_grads=g, input_image=x, output_image=y, **attrs)]
    assert assert_same(tf1, build, rtol=1e-4, atol=1e-5) is None
    assert fed(tf1, "LRN", {"input": x[0]}, **attrs) is not None


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_dilations(tf1, dice, padding, dtype):
    x, f = (dice.normal(size=[2, 7, 8, 3]) * 9).astype(dtype), (dice.normal(size=[2, 3, 3]) * 9).astype(dtype)
    for strides, rates in (([1, 1], [1, 1]), ([2, 1], [1, 2]), ([1, 3], [2, 2])):
        attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}

        def build(m):
            y = m.raw_ops.Dilation2D(input=m.constant(x), filter=m.constant(f), **attrs)
            return [y, m.raw_ops.Dilation2DBackpropInput(input=x, filter=f, out_backprop=y, **attrs),
                    m.raw_ops.Dilation2DBackpropFilter(input=x, filter=f, out_backprop=y, **attrs)]
        assert assert_same(tf1, build, rtol=1e-5, atol=1e-4) is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("merge", [False, True])
def test_greedy_decoding(tf1, dice, dtype, merge):
    x = dice.randint(0, 5, [6, 3, 4]).astype(dtype)
    for blank in (-1, 0, 2):
        for lengths in ([6, 3, 0], [6, 6, 6], [7, 1, 1], [6, 3]):
            fed(tf1, "CTCGreedyDecoder", {"inputs": x, "sequence_length": np.int32(lengths)}, merge_repeated=merge, blank_index=blank)
    assert fed(tf1, "CTCGreedyDecoder", {"inputs": x[0], "sequence_length": np.int32([1])}) is not None


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [2, 8, 16])
def test_simulated_quantisation(tf1, dice, narrow, bits):
    x, g = (dice.normal(size=[5, 4]) * 4).astype(np.float32), dice.normal(size=[5, 4]).astype(np.float32)
    attrs = {"num_bits": bits, "narrow_range": narrow}
    for low, high in ((-6.0, 6.0), (0.1, 5.0), (-3.0, -0.5), (-0.3, 7.1)):
        assert fed(tf1, "FakeQuantWithMinMaxArgs", {"inputs": x}, 1e-5, min=low, max=high, **attrs) is None
        assert fed(tf1, "FakeQuantWithMinMaxArgsGradient", {"gradients": g, "inputs": x}, 1e-5, min=low, max=high, **attrs) is None
        ends = {"min": np.float32(low), "max": np.float32(high)}
        assert fed(tf1, "FakeQuantWithMinMaxVars", {"inputs": x, **ends}, 1e-5, **attrs) is None
        assert fed(tf1, "FakeQuantWithMinMaxVarsGradient", {"gradients": g, "inputs": x, **ends}, 1e-5, **attrs) is None
    ends = {"min": np.float32([-6, 0.1, -3, 0]), "max": np.float32([6, 5, -0.5, 0])}
    assert fed(tf1, "FakeQuantWithMinMaxVarsPerChannel", {"inputs": x, **ends}, 1e-5, **attrs) is None
    assert fed(tf1, "FakeQuantWithMinMaxVarsPerChannelGradient", {"gradients": g, "inputs": x, **ends}, 1e-5, **attrs) is None
    assert fed(tf1, "FakeQuantWithMinMaxVarsPerChannel", {"inputs": x[:, :3], **ends}, **attrs) is not None


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_data_formats(tf1, dtype):
    for source, target in (("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NHWC", "NHWC")):
        formats = {"src_format": source, "dst_format": target}
        assert fed(tf1, "DataFormatDimMap", {"x": np.array([[0, 1, 2], [3, -1, -4]], dtype)}, **formats) is None
        for values in ([7, 4, 9, 3], [4, 9], [[1, 2], [3, 4], [5, 6], [7, 8]], [[3, 4], [5, 6]]):
            assert fed(tf1, "DataFormatVecPermute", {"x": np.array(values, dtype)}, **formats) is None
        assert fed(tf1, "DataFormatVecPermute", {"x": np.array([1, 2, 3], dtype)}, **formats) is not None


@pytest.mark.parametrize("dtype, tolerance", FLOATS[1:])
@pytest.mark.parametrize("signed", [False, True])
def test_quantised_and_back(tf1, dice, dtype, tolerance, signed):
    x = (dice.normal(size=[5, 4]) * 4).astype(dtype)
    x = x if signed else np.abs(x)
    ends = {"input_min": np.array(-3 if signed else 0, dtype), "input_max": np.array(4, dtype)}
    for given in (False, True):
        attrs = {"signed_input": signed, "range_given": given}
        for rounding in ("HALF_TO_EVEN", "HALF_UP"):
            assert fed(tf1, "QuantizeAndDequantizeV2", {"input": x, **ends}, tolerance, num_bits=6, round_mode=rounding, **attrs) is None
        assert fed(tf1, "QuantizeAndDequantizeV3", {"input": x, **ends, "num_bits": np.int32(5)}, tolerance, narrow_range=signed, **attrs) is None
        assert fed(tf1, "QuantizeAndDequantizeV3", {"input": x, **ends, "num_bits": np.int32(0)}, **attrs) is not None


@pytest.mark.parametrize("op", ["LogUniformCandidateSampler", "UniformCandidateSampler"])
@pytest.mark.parametrize("unique", [False, True])
def test_sampled_classes(tf1, op, unique):
    classes = np.int64([[0, 5], [7, 2], [99, 31]])
    for size, count in ((100, 20), (128, 64), (100, 100)):
        def build(m):
            first = getattr(m.raw_ops, op)(true_classes=classes, num_true=2, num_sampled=count, unique=unique, range_max=size, seed=3, seed2=17)
            second = m.raw_ops.ComputeAccidentalHits(true_classes=classes, sampled_candidates=first[0], num_true=2)
            return [*first, *second]
        assert assert_same(tf1, build, rtol=1e-4) is None
    for change in ({"range_max": 50}, {"num_true": 3}, {"range_max": 100, "num_sampled": 101}):
        attrs = {"num_true": 2, "num_sampled": 5, "unique": unique, "range_max": 100, "seed": 1, **change}
        fed(tf1, op, {"true_classes": classes}, 1e-4, **attrs)


@pytest.mark.parametrize("dtype", ["qint8", "quint8", "qint16", "quint16"])
@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
def test_quantised_types(tf1, dice, dtype, mode):
    x = (dice.normal(size=[4, 6]) * 3).astype(np.float32)
    for low, high in ((-5.0, 6.0), (0.0, 4.0), (-3.0, 1.0), (0.0, 0.0)):
        for rounding in ("HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN") if mode == "SCALED" else ("HALF_AWAY_FROM_ZERO",):
            def build(m):
                y, least, greatest = m.raw_ops.QuantizeV2(input=x, min_range=low, max_range=high, T=dtype, mode=mode, round_mode=rounding)
                back = m.raw_ops.Dequantize(input=y, min_range=least, max_range=greatest, mode=mode)
                return [m.cast(m.bitcast(y, dtype[1:]), "int32"), least, greatest, back]
            assert assert_same(tf1, build, rtol=1e-4, atol=1e-5) is None
