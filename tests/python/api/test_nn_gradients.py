"""Gradients through `tf.nn`, `tf.image` and `tf.layers`: values as TensorFlow computes them."""

import flowmill
import numpy as np
import pytest
from compare import same

RNG = np.random.RandomState(7)
FEEDS = {"x": RNG.randn(3, 4), "p": RNG.rand(3, 4) + 0.1, "cube": RNG.randn(2, 3, 4), "seq": RNG.randn(2, 7, 3), "im": RNG.rand(2, 6, 7, 3),
         "f1": RNG.randn(3, 3, 2), "f2": RNG.randn(3, 3, 3, 2), "dw": RNG.randn(2, 2, 3, 2), "pw": RNG.randn(1, 1, 6, 2), "bias": RNG.rand(3) + 0.5,
         "table": RNG.randn(6, 2)}
FEEDS = {k: v.astype(np.float32) for k, v in FEEDS.items()}


def gradients(tf, expression):
    names = sorted(n for n in FEEDS if f"i.{n}" in expression)
    with tf.Graph().as_default(), tf.Session() as session:
        made = {n: tf.placeholder(tf.float32, FEEDS[n].shape, name=n) for n in names}
        inputs = type("Inputs", (), made)
        outputs = eval(expression, {"tf": tf, "i": inputs, "np": np})
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        total = tf.add_n([tf.reduce_sum(tf.sin(tf.reshape(o, [-1]))) for o in outputs])
        found = tf.gradients(total, [made[n] for n in names])
        found = [tf.convert_to_tensor(g) for g in found if g is not None]
        session.run(tf.global_variables_initializer())
        return session.run(found, {made[n]: FEEDS[n] for n in names})


CASES = [
    "tf.nn.relu(i.x)", "tf.nn.relu6(i.x * 4)", "tf.nn.elu(i.x)", "tf.nn.selu(i.x)", "tf.nn.leaky_relu(i.x)", "tf.nn.swish(i.x)", "tf.nn.swish(i.x, i.bias[0])",
    "tf.nn.softplus(i.x)", "tf.nn.softsign(i.x)", "tf.nn.crelu(i.x)", "tf.nn.softmax(i.cube, axis=1)", "tf.nn.log_softmax(i.x)", "tf.nn.l2_loss(i.x)",
    "tf.nn.bias_add(i.im, i.bias)", "tf.nn.conv2d(i.im, i.f2, 1, 'SAME')", "tf.nn.conv2d(i.im, i.f2, 2, 'VALID')", "tf.nn.conv1d(i.seq, i.f1, 1, 'SAME')",
    "tf.nn.atrous_conv2d(i.im, i.f2, 2, 'VALID')", "tf.nn.depthwise_conv2d(i.im, i.dw, [1, 1, 1, 1], 'SAME')",
    "tf.nn.separable_conv2d(i.im, i.dw, i.pw, [1, 1, 1, 1], 'VALID')", "tf.nn.max_pool(i.im, 2, 2, 'SAME')", "tf.nn.avg_pool(i.im, 3, 2, 'VALID')",
    "tf.nn.conv2d_transpose(i.im, tf.ones([2, 2, 4, 3]), [2, 12, 14, 4], 2)", "tf.nn.l2_normalize(i.x, 1)", "tf.nn.moments(i.im, [0, 1, 2])",
    "tf.nn.batch_normalization(i.im, i.bias, i.bias * 2, i.bias, i.bias, 1e-3)", "tf.nn.sigmoid_cross_entropy_with_logits(labels=i.p, logits=i.x)",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(i.p), logits=i.x)",
    "tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(i.p), logits=i.x)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=i.x)",
    "tf.nn.weighted_cross_entropy_with_logits(labels=i.p, logits=i.x, pos_weight=2.0)", "tf.nn.log_poisson_loss(i.p, i.x)",
    "tf.nn.embedding_lookup(i.table, [[0, 5], [2, 2]])", "tf.nn.embedding_lookup(i.table, [0, 5], max_norm=0.5)",
    "tf.nn.embedding_lookup([i.table, i.table[:5]], [0, 5, 10, 3])", "tf.nn.top_k(i.x, 2)[0]", "tf.layers.flatten(i.im)",
    "tf.layers.dense(i.x, 3, kernel_initializer=tf.ones_initializer())", "tf.image.flip_left_right(i.im)", "tf.image.per_image_standardization(i.im)",
    "tf.image.crop_to_bounding_box(i.im, 1, 1, 3, 3)", "tf.image.rgb_to_grayscale(i.im)",
    "tf.image.total_variation(i.im)", "tf.image.sobel_edges(i.im)",
]


@pytest.mark.parametrize("expression", CASES)
def test_gradients(tf1, expression):
    ours, theirs = gradients(flowmill, expression), gradients(tf1, expression)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        same(mine, other, 1e-3, 1e-4)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("multiplier, strides, padding", [(1, 1, "SAME"), (2, 2, "VALID")])
def test_depthwise_convolutions_of_every_float_type(tf1, dtype, multiplier, strides, padding):
    def run(tf):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.cast(FEEDS["im"], dtype)
            w = tf.cast(FEEDS["dw"][..., :multiplier], dtype)
            y = tf.nn.depthwise_conv2d(x, w, [1, strides, strides, 1], padding)
            return session.run([tf.cast(t, tf.float64) for t in (y, *tf.gradients(y * y, [x, w]))])

    tolerance = {"float64": 1e-12, "float16": 1e-2, "bfloat16": 5e-2}[dtype]
    for ours, theirs in zip(run(flowmill), run(tf1)):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * np.abs(theirs).max())
