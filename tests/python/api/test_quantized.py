"""Ops on quantised integers, as TensorFlow's compute them: the same bits."""

import numpy
import pytest

import flowmill

STORED = {"qint8": numpy.int8, "quint8": numpy.uint8, "qint16": numpy.int16, "quint16": numpy.uint16, "qint32": numpy.int32}


def arguments(tf, value):
    """An array as a tensor; with a quantised type's name beside it, of that type."""
    if isinstance(value, list):
        return [arguments(tf, v) for v in value]
    if isinstance(value, tuple):
        return tf.bitcast(tf.constant(value[0]), getattr(tf, value[1]))
    return tf.constant(value)


def run(tf, op, inputs, attrs):
    """The results as arrays, quantised ones as their integers; or the type and the first words of the error."""
    attrs = {name: getattr(tf, value) if isinstance(value, str) and value in STORED else value for name, value in attrs.items()}
    with tf.Graph().as_default() as graph:
        made = getattr(tf.raw_ops, op)(**{name: arguments(tf, value) for name, value in inputs.items()}, **attrs)
        outputs = [made] if hasattr(made, "dtype") else list(made)
        outputs = [tf.bitcast(out, STORED[out.dtype.name]) if out.dtype.name in STORED else out for out in outputs]
        with tf.Session(graph=graph) as session:
            try:
                return session.run(outputs)
            except tf.errors.OpError as error:
                return type(error).__name__


def compare(tf1, op, inputs, exact=True, **attrs):
    """Asserts that results or classes of errors are TensorFlow's; gives the class of the error, None for results."""
    ours, theirs = run(flowmill, op, inputs, attrs), run(tf1, op, inputs, attrs)
    if isinstance(theirs, str):
        assert ours == theirs, (op, inputs, attrs)
        return theirs
    for our, their in zip(ours, theirs, strict=True):
        our, their = numpy.asarray(our), numpy.asarray(their)
        assert (our.dtype, our.shape) == (their.dtype, their.shape), (op, attrs)
        if exact:
            assert our.tobytes() == their.tobytes(), (op, inputs, attrs, our, their)
        elif their.dtype.kind == "f":
            numpy.testing.assert_allclose(our, their, rtol=1e-6)
        else:
            assert abs(our.astype(int) - their).max(initial=0) <= 1, (op, our, their)
    return None


class Random:
    """Random inputs; ranges are of many sizes, and now and then of one number."""

    def __init__(self, seed):
        self.rng = numpy.random.default_rng(seed)

    def __call__(self, n):
        return int(self.rng.integers(n))

    def of(self, kind, *shape):
        info = numpy.iinfo(STORED[kind])
        values = self.rng.integers(info.min, info.max, size=shape, endpoint=True)
        if kind == "qint32" and self(2):
            values //= 1 << self(24)
        return values.astype(STORED[kind]), kind

    def range(self, low="min", high="max", size=(), is_wide=True):
        size_of = 10.0 ** self.rng.integers(-3, 4)
        ends = numpy.sort(self.rng.normal(size=(2, *size)) * size_of, axis=0).astype(numpy.float32)
        if is_wide and self(4):
            ends[0], ends[1] = -abs(ends[0]), abs(ends[1])
        if not is_wide and self(8) == 0:
            ends[1] = ends[0]
        return {low: ends[0] if size else numpy.float32(ends[0]), high: ends[1] if size else numpy.float32(ends[1])}


SEEDS = range(25)


@pytest.mark.parametrize("mode", ["MIN_COMBINED", "MIN_FIRST", "SCALED"])
@pytest.mark.parametrize("kind", STORED)
def test_numbers_become_integers_and_integers_numbers(tf1, kind, mode):
    for seed in range(12):
        r = Random(seed)
        shape = [(7,), (2, 3, 4), (0,), (3, 5)][r(4)]
        axis = r(len(shape)) if mode != "MIN_FIRST" and r(2) else -1
        size = (shape[axis],) if axis >= 0 else ()
        ends = r.range("min_range", "max_range", size, is_wide=False)
        x = (r.rng.normal(size=shape) * 2 * abs(ends["max_range"]).max(initial=0.1)).astype(numpy.float32)
        narrow = bool(r(2))
        rounding = {"round_mode": "HALF_TO_EVEN"} if mode == "SCALED" and r(2) else {}
        assert compare(tf1, "QuantizeV2", {"input": x, **ends}, T=kind, mode=mode, narrow_range=narrow, axis=axis,
                       ensure_minimum_range=[0.01, 0.0, 0.5][r(3)], **rounding) is None
        assert compare(tf1, "Dequantize", {"input": r.of(kind, *shape), **ends}, mode=mode, narrow_range=narrow, axis=axis) is None
    reversed_ends = {"min_range": numpy.float32(1), "max_range": numpy.float32(-1)}
    assert compare(tf1, "QuantizeV2", {"input": x, **reversed_ends}, T=kind, mode=mode) == "InvalidArgumentError"


def test_a_mode_without_axes(tf1):
    r = Random(0)
    ends = {"min_range": -numpy.ones(3, numpy.float32), "max_range": numpy.ones(3, numpy.float32)}
    x = r.rng.normal(size=(2, 3)).astype(numpy.float32)
    assert compare(tf1, "QuantizeV2", {"input": x, **ends}, T="quint8", mode="MIN_FIRST", axis=1) == "UnimplementedError"
    assert compare(tf1, "Dequantize", {"input": r.of("quint8", 2, 3), **ends}, mode="MIN_FIRST", axis=1) == "UnimplementedError"


@pytest.mark.parametrize("version", [2, 3, 4])
def test_what_is_quantised_and_dequantised(tf1, version):
    for seed in SEEDS:
        r = Random(seed)
        dtype = [numpy.float32, numpy.float64][r(2)]
        given = bool(r(2))
        # With a range for each slice, TensorFlow's versions 2 and 4 take no range that is given.
        axis = r(2) if r(2) and not (given and version != 3) else -1
        ends = r.range("input_min", "input_max", (3 + axis,) if axis >= 0 else (), is_wide=False)
        ends = {name: value.astype(dtype) for name, value in ends.items()}
        x = r.rng.normal(size=(3, 4)).astype(dtype)
        bits = 1 + r(16)
        more = {} if version == 3 else {"num_bits": bits, "round_mode": ["HALF_TO_EVEN", "HALF_UP"][r(2)]}
        inputs = {"input": x, **ends, **({"num_bits": numpy.int32(bits)} if version == 3 else {})}
        more |= {"signed_input": bool(r(2)), "range_given": given, "narrow_range": bool(r(2)), "axis": axis}
        assert compare(tf1, f"QuantizeAndDequantizeV{version}", inputs, **more) is None


def test_the_gradient_passes_in_the_range(tf1):
    for seed in SEEDS:
        r = Random(seed)
        axis = r(3) - 1
        ends = r.range("input_min", "input_max", (3 + axis,) if axis >= 0 else ())
        x, dy = r.rng.normal(size=(2, 3, 4)).astype(numpy.float32)
        assert compare(tf1, "QuantizeAndDequantizeV4Grad", {"gradients": dy, "input": x, **ends}, axis=axis) is None
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            x = tf.constant([-3.0, -1.0, 0.2, 3.0])
            y = tf.quantization.quantize_and_dequantize_v2(x, -1.0, 1.0, range_given=True, axis=None)
            first, = tf.gradients(y * y, x)
            assert "QuantizeAndDequantizeV4Grad" in {node.op for node in graph.as_graph_def().node}
            with tf.Session(graph=graph) as session:
                results.append(session.run([y, first]))
    numpy.testing.assert_array_equal(results[0], results[1])


def test_the_first_version_takes_its_range_from_attributes():
    # TensorFlow lets no new graph have the op.
    with flowmill.Graph().as_default() as graph:
        message = flowmill.GraphDef()
        message.versions.producer = 20
        node = message.node.add(name="x", op="Placeholder")
        node.attr["dtype"].type = 1
        node = message.node.add(name="y", op="QuantizeAndDequantize", input=["x"])
        node.attr["T"].type = 1
        node.attr["range_given"].b = True
        node.attr["input_min"].f, node.attr["input_max"].f = -1, 1
        flowmill.import_graph_def(message, name="")
        same = flowmill.raw_ops.QuantizeAndDequantizeV2(input=graph.get_tensor_by_name("x:0"), input_min=-1.0, input_max=1.0, range_given=True)
        with flowmill.Session(graph=graph) as session:
            got, want = session.run(["y:0", same], {"x:0": [0.3, -4.0, 0.999]})
    numpy.testing.assert_array_equal(got, want)


def test_activations(tf1):
    for seed in SEEDS:
        r = Random(seed)
        kind = ["quint8", "qint32"][r(2)]
        for op in ("QuantizedRelu", "QuantizedRelu6"):
            ends = r.range("min_features", "max_features", is_wide=False)
            assert compare(tf1, op, {"features": r.of(kind, 3, 4), **ends}, out_type=kind) is None


def test_the_bound_of_an_activation():
    # TensorFlow declares the op, and has no kernel for it: a bound of 6 is that of `QuantizedRelu6`.
    r = Random(1)
    inputs = {"features": r.of("quint8", 50), "min_features": numpy.float32(-3), "max_features": numpy.float32(9)}
    six, = [run(flowmill, "QuantizedRelu6", inputs, {"out_type": "quint8"})]
    bounded = run(flowmill, "QuantizedReluX", {**inputs, "max_value": numpy.float32(6)}, {"out_type": "quint8"})
    for ours, theirs in zip(bounded, six, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)
    lower = run(flowmill, "QuantizedReluX", {**inputs, "max_value": numpy.float32(2)}, {"out_type": "quint8"})
    assert lower[0].max() < six[0].max()


@pytest.mark.parametrize("op", ["QuantizedAdd", "QuantizedMul"])
def test_sums_and_products(tf1, op):
    for seed in SEEDS:
        r = Random(seed)
        x, y = [((3, 4), (3, 4)), ((2, 3, 4), (4,)), ((), (5,)), ((3, 2), ()), ((1,), (1,)), ((4,), (2, 3, 4))][r(6)]
        ends = r.range("min_x", "max_x", is_wide=False) | r.range("min_y", "max_y")
        # Ranges of one number are refused.
        expected = "InvalidArgumentError" if ends["min_x"] == ends["max_x"] else None
        assert compare(tf1, op, {"x": r.of("quint8", *x), "y": r.of("quint8", *y), **ends}, Toutput="qint32") == expected
    ends = r.range("min_x", "max_x") | r.range("min_y", "max_y")
    assert compare(tf1, op, {"x": r.of("quint8", 0, 3), "y": r.of("quint8", 3), **ends}, Toutput="qint32") == "InvalidArgumentError"


def test_a_bias_is_added(tf1):
    for seed in SEEDS:
        r = Random(seed)
        kind = ["quint8", "qint8"][r(2)]
        shape = [(3, 4), (2, 3, 4), (2, 3, 2, 4), (0, 4)][r(4)]
        ends = r.range("min_input", "max_input", is_wide=False) | r.range("min_bias", "max_bias")
        assert compare(tf1, "QuantizedBiasAdd", {"input": r.of(kind, *shape), "bias": r.of(kind, 4), **ends}, out_type="qint32") is None


def test_matrices(tf1):
    for seed in SEEDS:
        r = Random(seed)
        m, k, n = 1 + r(5), 1 + r(300), 1 + r(6)
        ta, tb = bool(r(2)), bool(r(2))
        a, b = r.of("quint8", *((k, m) if ta else (m, k))), r.of("quint8", *((n, k) if tb else (k, n)))
        ends = r.range("min_a", "max_a", is_wide=False) | r.range("min_b", "max_b")
        assert compare(tf1, "QuantizedMatMul", {"a": a, "b": b, **ends}, Toutput="qint32", transpose_a=ta, transpose_b=tb) is None


def test_convolutions(tf1):
    for seed in range(60):
        r = Random(seed)
        rows, columns, stride = 1 + r(3), 1 + r(3), 1 + r(5)
        images = r.of("quint8", 1 + r(2), 3 + r(6), 3 + r(6), 1 + r(3))
        filters = r.of("quint8", rows, columns, images[0].shape[3], 1 + r(4))
        ends = r.range("min_input", "max_input", is_wide=False) | r.range("min_filter", "max_filter", is_wide=False)
        assert compare(tf1, "QuantizedConv2D", {"input": images, "filter": filters, **ends}, out_type="qint32", strides=[1, stride, stride, 1],
                       padding=["SAME", "VALID"][r(2)]) is None


def test_a_signed_filter():
    # TensorFlow's kernel for it leaves its outputs unset: the same numbers as bytes, 128 more, give the same sums.
    r = Random(3)
    images, filters = r.of("quint8", 1, 5, 5, 2), r.of("qint8", 3, 3, 2, 4)
    moved = (filters[0].astype(int) + 128).astype(numpy.uint8), "quint8"
    ends = r.range("min_input", "max_input") | r.range("min_filter", "max_filter")
    sums = [run(flowmill, "QuantizedConv2D", {"input": images, "filter": f, **ends}, {"strides": [1, 1, 1, 1], "padding": "SAME"})
            for f in (filters, moved)]
    for ours, theirs in zip(*sums, strict=True):
        numpy.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("op", ["QuantizedAvgPool", "QuantizedMaxPool"])
def test_pools(tf1, op):
    for seed in SEEDS:
        r = Random(seed)
        images = r.of(["quint8", "qint8"][r(2)], 1 + r(2), 3 + r(6), 3 + r(6), 1 + r(3))
        assert compare(tf1, op, {"input": images, **r.range("min_input", "max_input")}, ksize=[1, 1 + r(3), 1 + r(3), 1],
                       strides=[1, 1 + r(2), 1 + r(2), 1], padding=["SAME", "VALID"][r(2)]) is None


def test_tensors_are_joined(tf1):
    for seed in SEEDS:
        r = Random(seed)
        kind, axis, count = ["quint8", "qint32"][r(2)], r(2), 2 + r(3)
        # Of a tensor without elements TensorFlow takes the range for that of the next one: such a one comes last here.
        sizes = [1 + r(3) for _ in range(count - 1)] + [r(4)]
        values = [r.of(kind, *((size, 3) if axis == 0 else (2, size))) for size in sizes]
        ends = [r.range(is_wide=False) for _ in range(count)]
        if r(3) == 0:
            ends = ends[:1] * count
        mins, maxes = [e["min"] for e in ends], [e["max"] for e in ends]
        assert compare(tf1, "QuantizedConcat", {"concat_dim": numpy.int32(axis), "values": values, "input_mins": mins, "input_maxes": maxes}) is None


def test_a_shape_changes(tf1):
    r = Random(0)
    for kind in ("quint8", "qint32"):
        for shape in ([3, -1], [12], [2, 2, 3], [5, 2]):
            inputs = {"tensor": r.of(kind, 2, 6), "shape": numpy.array(shape, numpy.int32), **r.range("input_min", "input_max")}
            if shape == [5, 2]:
                with pytest.raises(ValueError, match="Cannot reshape a tensor with 12 elements"):
                    compare(tf1, "QuantizedReshape", inputs)
            else:
                assert compare(tf1, "QuantizedReshape", inputs) is None


def test_batches_are_normalised(tf1):
    for seed in SEEDS:
        r = Random(seed)
        inputs = {"t": r.of("quint8", 2, 3, 2, 4)} | r.range("t_min", "t_max")
        for name in ("m", "v", "beta", "gamma"):
            inputs |= {name: r.of("quint8", 4)} | r.range(f"{name}_min", f"{name}_max")
        inputs["v_min"] = numpy.float32(0.01)
        inputs["v_max"] = numpy.float32(abs(inputs["v_max"]) + 1)
        assert compare(tf1, "QuantizedBatchNormWithGlobalNormalization", inputs, out_type="qint32", variance_epsilon=0.001,
                       scale_after_normalization=bool(r(2))) is None


def test_instances_are_normalised(tf1):
    # The reciprocal root of TensorFlow's kernel is the processor's own, which is not exact.
    for seed in SEEDS:
        r = Random(seed)
        given = {"output_range_given": True, "given_y_min": -2.0, "given_y_max": 3.0} if r(2) else {}
        assert compare(tf1, "QuantizedInstanceNorm", {"x": r.of("quint8", 2, 3, 4, 1 + r(5)), **r.range("x_min", "x_max")}, exact=False, **given) is None


def test_images_are_resized(tf1):
    for seed in SEEDS:
        r = Random(seed)
        kind = ["quint8", "qint32", "float32"][r(3)]
        shape = (2, 1 + r(6), 1 + r(6), 1 + r(4))
        images = r.of(kind, *shape) if kind in STORED else r.rng.normal(size=shape).astype(numpy.float32)
        size = numpy.array([1 + r(9), 1 + r(9)], numpy.int32)
        grid = [{}, {"align_corners": True}, {"half_pixel_centers": True}][r(3)]
        assert compare(tf1, "QuantizedResizeBilinear", {"images": images, "size": size, **r.range()}, **grid) is None


def test_integers_become_smaller(tf1):
    for seed in range(60):
        r = Random(seed)
        x = r.of("qint32", [0, 1, 30][r(3)])
        ends = r.range("input_min", "input_max", is_wide=False)
        assert compare(tf1, "RequantizationRange", {"input": x, **ends}) is None
        assert compare(tf1, "QuantizeDownAndShrinkRange", {"input": x, **ends}, out_type="quint8") is None
        asked = r.range("requested_output_min", "requested_output_max")
        # The range that is asked for must begin at 0 or below.
        expected = "InvalidArgumentError" if asked["requested_output_min"] > 0 else None
        assert compare(tf1, "Requantize", {"input": x, **ends, **asked}, out_type=["quint8", "qint8"][r(2)]) == expected


def test_integers_become_smaller_by_channels(tf1):
    for seed in SEEDS:
        r = Random(seed)
        x = r.of("qint32", 2, 3, 2, 5)
        ends = r.range("input_min", "input_max", (5,))
        assert compare(tf1, "RequantizationRangePerChannel", {"input": x, **ends}, clip_value_max=[6.0, 1e30][r(2)]) is None
        asked = {"requested_output_min": numpy.float32(-1 - r(3)), "requested_output_max": numpy.float32(1 + r(3))}
        assert compare(tf1, "RequantizePerChannel", {"input": x, **ends, **asked}, out_type=["quint8", "qint8"][r(2)]) is None


def test_what_is_refused(tf1):
    r = Random(0)
    image, matrix = r.of("quint8", 1, 4, 4, 2), r.of("quint8", 3, 3)
    one, two = numpy.float32(1), numpy.float32(2)
    filters, none = r.of("quint8", 2, 2, 2, 3), r.of("quint8", 0, 4, 4, 2)
    conv = {"filter": filters, "min_input": one, "max_input": two, "min_filter": one, "max_filter": two}
    asked = {"requested_output_min": one, "requested_output_max": two}
    cases = [
        ("QuantizedConv2D", {"input": image, **conv}, {"strides": [1, 1, 2, 1], "padding": "SAME"}),
        ("QuantizedConv2D", {"input": none, **conv}, {"strides": [1, 1, 1, 1], "padding": "SAME"}),
        ("QuantizedMatMul", {"a": matrix, "b": matrix, "min_a": two, "max_a": one, "min_b": one, "max_b": two}, {}),
        ("QuantizedMul", {"x": matrix, "y": matrix, "min_x": one, "max_x": two, "min_y": two, "max_y": two}, {}),
        ("QuantizedInstanceNorm", {"x": image, "x_min": two, "x_max": one}, {}),
        ("Requantize", {"input": r.of("qint32", 3), "input_min": one, "input_max": two, **asked}, {"out_type": "quint8"}),
    ]
    for op, inputs, attrs in cases:
        assert compare(tf1, op, inputs, **attrs) == "InvalidArgumentError", op


def network(tf, r):
    """A small network as the tool `quantize_graph` made it: numbers are quantised, 32-bit sums become bytes of the range that they use."""
    image = tf.placeholder(tf.float32, [2, 8, 8, 3], name="image")
    weights, bias, matrix = [tf.constant(x.astype(numpy.float32)) for x in r]

    def quantized(x):
        return tf.quantize_v2(x, tf.reduce_min(x), tf.reduce_max(x), tf.quint8, mode="MIN_FIRST")

    def smaller(sums):
        return tf.raw_ops.QuantizeDownAndShrinkRange(input=sums[0], input_min=sums[1], input_max=sums[2], out_type=tf.quint8)

    x, w, b = quantized(image), quantized(weights), quantized(bias)
    x = smaller(tf.nn.quantized_conv2d(x[0], w[0], x[1], x[2], w[1], w[2], strides=[1, 1, 1, 1], padding="SAME"))
    sums = tf.raw_ops.QuantizedBiasAdd(input=x[0], bias=b[0], min_input=x[1], max_input=x[2], min_bias=b[1], max_bias=b[2], out_type=tf.qint32)
    least, greatest = tf.raw_ops.RequantizationRange(input=sums[0], input_min=sums[1], input_max=sums[2])
    x = tf.raw_ops.Requantize(input=sums[0], input_min=sums[1], input_max=sums[2], requested_output_min=least, requested_output_max=greatest,
                              out_type=tf.quint8)
    x = tf.raw_ops.QuantizedRelu(features=x[0], min_features=x[1], max_features=x[2])
    x = tf.nn.quantized_max_pool(x[0], x[1], x[2], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    y = tf.nn.quantized_avg_pool(x[0], x[1], x[2], ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], padding="SAME")
    x = tf.quantized_concat(3, [x[0], y[0]], [x[1], y[1]], [x[2], y[2]])
    x = tf.raw_ops.QuantizedReshape(tensor=x[0], shape=[2, -1], input_min=x[1], input_max=x[2])
    m = quantized(matrix)
    x = smaller(tf.raw_ops.QuantizedMatMul(a=x[0], b=m[0], min_a=x[1], max_a=x[2], min_b=m[1], max_b=m[2]))
    return image, tf.dequantize(x[0], x[1], x[2], mode="MIN_FIRST", name="result")


def test_a_quantised_network_is_tensorflows(tf1):
    rng = numpy.random.default_rng(5)
    constants = rng.normal(size=(3, 3, 3, 4)), rng.normal(size=4), rng.normal(size=(128, 5))
    images = rng.normal(size=(2, 8, 8, 3))
    results = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            image, result = network(tf, constants)
            with tf.Session(graph=graph) as session:
                results.append(session.run(result, {image: images}))
            message = graph.as_graph_def().SerializeToString()
    numpy.testing.assert_array_equal(results[0], results[1])
    # The same from a message, and what Flowmill writes TensorFlow runs.
    with tf1.Graph().as_default() as graph:
        tf1.import_graph_def(tf1.GraphDef.FromString(message), name="")
        with tf1.Session(graph=graph) as session:
            numpy.testing.assert_array_equal(session.run("result:0", {"image:0": images}), results[0])
