"""Activations, normalisations, projections and attentions in the spellings of users' code give TensorFlow's values, whatever the optimiser makes of them."""

import numpy as np
import pytest

from oracles import assert_same

ROOT = np.float32(np.sqrt(2))

ACTIVATIONS = {
    "gelu_erf": lambda m, x: 0.5 * x * (1.0 + m.erf(x / ROOT)),
    "gelu_erfc": lambda m, x: x * (m.erfc(-x * np.float32(0.70710677)) * 0.5),
    "gelu_tanh": lambda m, x: x * 0.5 * (1.0 + m.tanh(np.float32(np.sqrt(2 / np.pi)) * (x + 0.044715 * m.pow(x, 3)))),
    "gelu_brackets": lambda m, x: 0.5 * (x + x * m.tanh(x * 0.7978846 * (1 + 0.044715 * x * x))),
    "swish_sigmoid": lambda m, x: x * m.sigmoid(x),
    "swish_quotient": lambda m, x: x / (1.0 + m.exp(-x)),
    "hard_swish": lambda m, x: x * m.nn.relu6(x + 3) / 6,
    "hard_swish_clip": lambda m, x: x * m.clip_by_value(x + 3, 0, 6) * np.float32(1 / 6),
    "hard_sigmoid": lambda m, x: m.nn.relu6(x + 3.0) * np.float32(0.16666667),
    "relu6_bounds": lambda m, x: m.minimum(m.maximum(x, 0.0), 6.0),
    "leaky_maximum": lambda m, x: m.maximum(x, 0.1 * x),
    "leaky_choice": lambda m, x: m.where(x > 0, x, 0.3 * x),
    "mish": lambda m, x: x * m.tanh(m.nn.softplus(x)),
    "softplus": lambda m, x: m.maximum(x, 0.0) + m.log1p(m.exp(-m.abs(x))),
    "softplus_naive": lambda m, x: m.log(1.0 + m.exp(x)),
    "elu": lambda m, x: m.where(x > 0, x, m.exp(x) - 1),
    "quick_gelu": lambda m, x: x * m.sigmoid(1.702 * x),
}


def values(seed, *shape):
    return np.random.RandomState(seed).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("batch", [1, 8])
def test_activations_behind_products_and_alone(tf1, activation, batch):
    f = ACTIVATIONS[activation]

    def build(m):
        x = m.placeholder("float32", [None, 5, 7, 3], name="x")
        conv = f(m, m.nn.bias_add(m.nn.conv2d(x, values(1, 3, 3, 3, 9), [1, 1, 1, 1], "SAME"), values(2, 9)))
        depthwise = f(m, m.nn.bias_add(m.nn.depthwise_conv2d(x, values(3, 3, 3, 3, 1), [1, 1, 1, 1], "VALID"), values(4, 3)))
        rows = m.reshape(x, [-1, 21])
        dense = f(m, m.matmul(rows, values(5, 21, 10)) + values(6, 10))
        heads = f(m, m.reshape(m.matmul(rows, values(7, 21, 12)), [-1, 5, 3, 4]) + values(8, 3, 4))
        return [f(m, x), conv, depthwise, dense, heads, f(m, x[:0])]
    assert assert_same(tf1, build, {"x:0": values(batch, batch, 5, 7, 3) * 3}, rtol=1e-4, atol=1e-5) is None


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_of_extreme_values(tf1, activation):
    x = np.float32([0, -0.0, 1e-30, -1e-30, 5, -5, 20, -20, 88, -88, 200, -200, 1e6, -1e6, 1e30, -1e30, np.inf, -np.inf, np.nan])

    def build(m):
        return [ACTIVATIONS[activation](m, m.placeholder("float32", [None, 19], name="x"))]
    assert assert_same(tf1, build, {"x:0": np.stack([x, x])}, rtol=1e-4, atol=1e-5) is None


# What follows a convolution or product `x` of 9 channels beside its bias and activation; `skip` has the same shape.
EPILOGUES = {
    "prelu_difference": lambda m, x, skip: m.nn.relu(x) - values(10, 9) * m.nn.relu(-x),
    "prelu_abs": lambda m, x, skip: m.nn.relu(x) + values(10, 9) * (x - m.abs(x)) * 0.5,
    "prelu_choice": lambda m, x, skip: m.where(x > 0, x, values(10, 9) * x),
    "norm_behind_activation": lambda m, x, skip: m.nn.batch_normalization(m.nn.relu(x), values(11, 9), values(12, 9) ** 2, None, values(13, 9), 1e-3),
    "scale_behind_activation": lambda m, x, skip: values(14, 9) + m.nn.relu(x) * values(13, 9),
    "residual_behind_activation": lambda m, x, skip: m.nn.relu(x) + skip,
    "residual_before_activation": lambda m, x, skip: skip + m.tanh(x),
    "layer_scale": lambda m, x, skip: skip + values(15, 9) * x,
    "layer_scale_product": lambda m, x, skip: m.add(m.multiply(x, values(15, 9)), skip),
    "gate_sigmoid": lambda m, x, skip: m.sigmoid(x) * skip,
    "gate_quotient": lambda m, x, skip: skip / (1.0 + m.exp(-x)),
    "excitation": lambda m, x, skip: x * m.sigmoid(m.reduce_mean(skip, list(range(1, len(skip.shape) - 1)), keepdims=True)),
    "clip": lambda m, x, skip: m.clip_by_value(m.nn.elu(x), -0.5, 0.7),
    "two_uses": lambda m, x, skip: m.exp(-x * x) + x,
    "wider": lambda m, x, skip: m.tanh(x)[None] * m.stack([skip, -skip]),
}


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("sizes", [(1, 5, 7), (8, 12, 10), (3, 90, 80)])
def test_functions_behind_convolutions_and_products(tf1, epilogue, sizes):
    f = EPILOGUES[epilogue]

    def build(m):
        x = m.placeholder("float32", [None, *sizes[1:], 3], name="x")
        skip = m.nn.conv2d(x, values(9, 1, 1, 3, 9), [1, 1, 1, 1], "SAME")
        conv = f(m, m.nn.bias_add(m.nn.conv2d(x, values(1, 3, 3, 3, 9), [1, 1, 1, 1], "SAME"), values(2, 9)), skip)
        plain = f(m, m.nn.conv2d(x, values(1, 5, 3, 3, 9), [1, 1, 1, 1], "SAME"), skip)
        depthwise = f(m, m.nn.depthwise_conv2d(x, values(3, 3, 3, 3, 3), [1, 1, 1, 1], "SAME"), skip)
        dense = f(m, m.matmul(m.reshape(x, [-1, 3]), values(5, 3, 9)) + values(6, 9), m.reshape(skip, [-1, 9]))
        return [conv, plain, depthwise, dense]
    assert assert_same(tf1, build, {"x:0": values(4, *sizes, 3)}, rtol=1e-4, atol=1e-5) is None


def layer_norms(m, x, gamma, beta):
    mean = m.reduce_mean(x, -1, keepdims=True)
    centred = x - mean
    variance = m.reduce_mean(m.square(centred), -1, keepdims=True)
    yield gamma * centred / m.sqrt(variance + 1e-6) + beta
    yield centred * m.rsqrt(m.maximum(variance, 1e-6)) + beta
    yield (x - mean) * m.rsqrt(m.reduce_mean(m.squared_difference(x, mean), axis=-1, keepdims=True) + 1e-5) * gamma
    mean, variance = m.nn.moments(x, axes=[-1], keepdims=True)
    yield m.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)
    mean = m.reduce_mean(x, -1, keepdims=True)
    variance = m.reduce_mean(x * x, -1, keepdims=True) - mean * mean
    yield (x - mean) / m.sqrt(variance + 1e-3)
    mean, variance = m.nn.moments(x, axes=[1, 2], keepdims=True)
    yield (x - mean) * m.rsqrt(variance + 1e-5) * gamma + beta
    yield x * m.rsqrt(m.reduce_mean(m.square(x), -1, keepdims=True) + 1e-6) * gamma
    yield m.nn.l2_normalize(x, -1)
    exponentials = m.exp(x - m.reduce_max(x, -1, keepdims=True))
    yield exponentials / m.reduce_sum(exponentials, -1, keepdims=True)
    shifted = x - m.reduce_max(x, 1, keepdims=True)
    yield shifted - m.log(m.reduce_sum(m.exp(shifted), 1, keepdims=True))
    yield m.nn.softmax(x) * gamma


@pytest.mark.parametrize("shape", [(1, 5, 33), (8, 5, 33), (2, 1, 1), (0, 5, 33), (2, 300, 40), (1, 2, 9001)])
def test_normalisations(tf1, shape):
    def build(m):
        x = m.placeholder("float32", [None, None, shape[2]], name="x")
        return list(layer_norms(m, x + 0.5, values(1, shape[2]), values(2, shape[2])))
    assert assert_same(tf1, build, {"x:0": values(3, *shape)}, rtol=1e-4, atol=1e-5) is None


@pytest.mark.parametrize("shape, groups", [((1, 7, 5, 6), 3), ((8, 7, 5, 6), 2), ((2, 40, 33, 16), 4), ((1, 3, 3, 8), 8), ((2, 5, 5, 8), 1)])
def test_group_and_instance_norms(tf1, shape, groups):
    batch, height, width, channels = shape

    def build(m):
        x = m.placeholder("float32", [None, height, width, channels], name="x")
        split = m.reshape(x, [-1, height, width, groups, channels // groups])
        mean, variance = m.nn.moments(split, [1, 2, 4], keepdims=True)
        factor = m.rsqrt(variance + 1e-3) * values(1, 1, 1, 1, groups, channels // groups)
        grouped = split * factor + (values(2, 1, 1, 1, groups, channels // groups) - mean * factor)
        mean, variance = m.nn.moments(x, [1, 2], keepdims=True)
        instance = (x - mean) / m.sqrt(variance + 1e-5)
        return [m.reshape(grouped, m.shape(x)), m.nn.relu(instance * values(3, channels) + values(4, channels))]
    assert assert_same(tf1, build, {"x:0": values(5, *shape)}, rtol=1e-4, atol=1e-5) is None


@pytest.mark.parametrize("equation, left, right", [
    ("abc,cd->abd", (None, 5, 6), (6, 7)),
    ("abc,cde->abde", (None, None, 6), (6, 2, 3)),
    ("abcd,cde->abe", (None, None, 2, 3), (2, 3, 7)),
    ("abcd,dce->abe", (None, 5, 2, 3), (3, 2, 7)),
    ("...c,cd->...d", (None, 5, 2, 3), (3, 7)),
    ("dc,abc->abd", (7, 6), (None, 5, 6)),
    ("aecd,abcd->acbe", (None, 5, 2, 3), (None, 4, 2, 3)),
    ("acbe,aecd->abcd", (None, 2, 4, 5), (None, 5, 2, 3)),
    ("bhqd,bhkd->bhqk", (None, 2, 4, 5), (None, 2, 6, 5)),
    ("abc,abd->acd", (None, 4, 5), (None, 4, 3)),
    ("ab,cb->ca", (None, 4), (3, 4)),
])
@pytest.mark.parametrize("batch", [1, 8, 0])
def test_equations(tf1, equation, left, right, batch):
    def fixed(shape):
        return [batch if i == 0 and size is None else 3 if size is None else size for i, size in enumerate(shape)]

    def build(m):
        operands = [m.placeholder("float32", shape, name=name) if None in shape else values(1, *shape) for shape, name in ((left, "x"), (right, "y"))]
        product = m.einsum(equation, *operands)
        return [product, m.nn.relu(product * 0.5 + 1.0)]
    feeds = {f"{name}:0": values(2, *fixed(shape)) for shape, name in ((left, "x"), (right, "y")) if None in shape}
    assert assert_same(tf1, build, feeds, rtol=1e-4, atol=1e-5) is None


def attention_by_equations(m, x, heads, size, mask):
    width = heads * size
    query, key, value = (m.einsum("abc,cde->abde", x, values(i, width, heads, size) / width) + values(i + 3, heads, size) for i in range(3))
    scores = m.einsum("aecd,abcd->acbe", key, query * np.float32(1 / np.sqrt(size)))
    context = m.einsum("acbe,aecd->abcd", m.nn.softmax(scores if mask is None else scores + (1.0 - mask) * -1e9), value)
    return m.einsum("abcd,cde->abe", context, values(7, heads, size, width)) + values(8, width)


def attention_by_transposes(m, x, heads, size, mask):
    width, length = heads * size, x.shape[1]

    def dense(i, y):
        return m.reshape(m.matmul(m.reshape(y, [-1, width]), values(i, width, width) / width) + values(i + 3, width), [-1, length, width])
    query, key, value = (m.transpose(m.reshape(dense(i, x), [-1, length, heads, size]), [0, 2, 1, 3]) for i in range(3))
    scores = m.matmul(query, key, transpose_b=True) / np.float32(np.sqrt(size))
    if mask is not None:
        scores = scores * mask - 1e9 * (1.0 - mask)
    context = m.transpose(m.matmul(m.nn.softmax(scores), value), [0, 2, 1, 3])
    return x + dense(7, m.reshape(context, [-1, length, width]))


def attention_written_out(m, x, heads, size, mask):
    width, length = heads * size, x.shape[1]
    projected = m.nn.bias_add(m.tensordot(x, values(0, width, 3 * width) / width, [[2], [0]]), values(1, 3 * width))
    query, key, value = m.unstack(m.transpose(m.reshape(projected, [-1, length, 3, heads, size]), [2, 0, 3, 1, 4]), axis=0)
    scores = m.matmul(query, m.transpose(key, [0, 1, 3, 2]))
    if mask is not None:
        scores = m.where_v2(mask > 0, scores, -1e9)
    scores = m.exp(scores - m.reduce_max(scores, -1, keepdims=True))
    return m.matmul(scores / m.reduce_sum(scores, -1, keepdims=True), value)


@pytest.mark.parametrize("spelling", [attention_by_equations, attention_by_transposes, attention_written_out])
@pytest.mark.parametrize("mask", ["none", "causal", "keys"])
@pytest.mark.parametrize("batch, length, heads, size", [(1, 7, 3, 5), (8, 16, 2, 8), (2, 1, 1, 4), (0, 7, 3, 5), (1, 200, 2, 33)])
def test_attention(tf1, spelling, mask, batch, length, heads, size):
    def build(m):
        x = m.placeholder("float32", [None, length, heads * size], name="x")
        visible = None
        if mask == "causal":
            visible = m.matrix_band_part(m.ones([length, length]), -1, 0)
        elif mask == "keys":
            visible = m.cast(m.range(length) < (length + 1) // 2, "float32")[m.newaxis, m.newaxis, m.newaxis, :]
        return [spelling(m, x, heads, size, visible)]
    assert assert_same(tf1, build, {"x:0": values(9, batch, length, heads * size)}, rtol=1e-4, atol=1e-5) is None
