"""`tf.nn`: activations, convolutions, pooling, losses, embeddings and normalisation as TensorFlow builds and computes them."""

import numpy as np
import pytest
from compare import compare, same_error

RNG = np.random.RandomState(0)
FEEDS = {
    "x": RNG.randn(3, 4), "cube": RNG.randn(2, 3, 4), "seq": RNG.randn(2, 7, 3), "im": RNG.randn(2, 8, 9, 3), "chw": RNG.randn(2, 3, 8, 9),
    "vol": RNG.randn(1, 4, 5, 6, 2), "deep": RNG.randn(2, 2, 6, 6, 3), "p": RNG.rand(3, 4) + 0.1, "small": RNG.randn(2, 4, 4, 4),
}
FEEDS = {k: v.astype(np.float32) for k, v in FEEDS.items()}
FILTERS = {
    "f1": RNG.randn(3, 3, 4), "f2": RNG.randn(3, 3, 3, 4), "f3": RNG.randn(2, 2, 2, 2, 3), "dw": RNG.randn(3, 3, 3, 2), "pw": RNG.randn(1, 1, 6, 5),
    "bias": RNG.randn(3), "table": RNG.randn(6, 2), "classes": RNG.randn(5, 4),
}
FILTERS = {k: v.astype(np.float32) for k, v in FILTERS.items()}


class Inputs:
    """Placeholders and constants by name, made when they are asked for."""

    def __init__(self, tf, unknown):
        self._tf, self._unknown, self.feeds = tf, unknown, {}

    def __getattr__(self, name):
        if name in FEEDS:
            self.feeds[name] = FEEDS[name]
            shape = [None] * FEEDS[name].ndim if self._unknown else FEEDS[name].shape
            made = self._tf.placeholder(self._tf.float32, shape, name=name)
        else:
            made = self._tf.constant(FILTERS[name], name=name)
        setattr(self, name, made)
        return made


def check(tf1, expression, unknown=False, **options):
    used = {}

    def build(tf):
        inputs = Inputs(tf, unknown)
        found = expression(tf, inputs)
        used.update(inputs.feeds)
        return found

    return compare(tf1, build, used, **options)


def cases(*expressions):
    return pytest.mark.parametrize("expression", expressions, ids=[e[:70] for e in expressions])


def evaluated(expression):
    return lambda tf, i: eval(expression, {"tf": tf, "i": i, "np": np})


@cases(
    "tf.nn.relu(i.x)", "tf.nn.relu(i.x, name='a/b')", "tf.nn.relu([1.0, -2.0])", "tf.nn.relu6(i.x * 9)", "tf.nn.elu(i.x)", "tf.nn.selu(i.x)",
    "tf.nn.softplus(i.x)", "tf.nn.softsign(i.x)", "tf.nn.leaky_relu(i.x)", "tf.nn.leaky_relu(i.x, alpha=np.float32(0.1), name='l')",
    "tf.nn.leaky_relu([1, -2])", "tf.nn.crelu(i.x)", "tf.nn.crelu(i.im, axis=1, name='c')", "tf.nn.swish(i.x)", "tf.nn.silu(i.x, 2.0)",
    "tf.nn.sigmoid(i.x)", "tf.nn.tanh(i.x)", "tf.nn.l2_loss(i.im)", "tf.nn.bias_add(i.im, i.bias)", "tf.nn.bias_add(i.seq, i.bias, 'NWC')",
    "tf.nn.bias_add(i.im, [1.0, 2.0, 3.0], name='b')", "tf.nn.bias_add(i.chw, i.bias, data_format='NCHW')",
    "tf.nn.xw_plus_b(i.x, i.classes[:4], [1.0, 2.0, 3.0, 4.0])", "tf.nn.relu_layer(i.x, i.classes[:4], [1.0, 2.0, 3.0, 4.0], name='r')",
    "tf.nn.softmax(i.x)", "tf.nn.softmax(i.cube, name='s')", "tf.nn.softmax(i.cube, axis=2)", "tf.nn.log_softmax(i.x, -1)",
    "tf.nn.softmax(i.cube, axis=0)", "tf.nn.softmax(i.cube, dim=1, name='s')", "tf.nn.log_softmax(i.cube, axis=-2)",
    "tf.nn.top_k(i.x, 2)", "tf.nn.top_k(i.x, k=tf.constant(3), sorted=True, name='t')", "tf.nn.in_top_k(i.x, [0, 1, 2], 2)",
    "tf.nn.depth_to_space(i.small, 2)", "tf.nn.space_to_depth(i.small, 2, name='s')",
)
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
def test_activations(tf1, expression, unknown):
    check(tf1, evaluated(expression), unknown)


@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
@pytest.mark.usefixtures("control_flow")
def test_the_part_that_is_zero(tf1, unknown):
    # Nodes that bring tensors into a branch come first here.
    check(tf1, lambda tf, i: tf.nn.zero_fraction(tf.nn.relu(i.x)), unknown, ordered=False)


@cases(
    "tf.nn.conv2d(i.im, i.f2, [1, 1, 1, 1], 'SAME')", "tf.nn.conv2d(i.im, filters=i.f2, strides=2, padding='VALID', name='c')",
    "tf.nn.conv2d(i.im, i.f2, [1, 2], 'VALID', dilations=1)", "tf.nn.conv2d(i.im, i.f2, 1, [[0, 0], [1, 2], [0, 3], [0, 0]])",
    "tf.nn.conv2d(i.im, i.f2, [1, 1, 1, 1], 'VALID', dilations=[1, 2, 2, 1])", "tf.nn.conv2d(i.deep, i.f2, 1, 'SAME')",
    "tf.nn.conv1d(i.seq, i.f1, 1, 'SAME')", "tf.nn.conv1d(i.seq, i.f1, stride=2, padding='VALID', name='c')",
    "tf.nn.conv2d_transpose(tf.nn.conv2d(i.im, i.f2, 2, 'SAME'), i.f2, [2, 8, 9, 3], strides=[1, 2, 2, 1])",
    "tf.nn.conv2d_transpose(tf.nn.conv2d(i.im, i.f2, 2, 'SAME'), i.f2, tf.shape(i.im), 2, name='t')",
    "tf.nn.conv1d_transpose(tf.nn.conv1d(i.seq, i.f1, 2, 'SAME'), i.f1, [2, 7, 3], 2)",
    "tf.nn.conv_transpose(tf.nn.conv2d(i.im, i.f2, 2, 'SAME'), i.f2, [2, 8, 9, 3], 2)",
    "tf.nn.conv2d_backprop_input([2, 8, 9, 3], i.f2, tf.nn.conv2d(i.im, i.f2, 1, 'SAME'), [1, 1, 1, 1], 'SAME')",
    "tf.nn.conv2d_backprop_filter(i.im, [3, 3, 3, 4], tf.nn.conv2d(i.im, i.f2, 1, 'SAME'), [1, 1, 1, 1], 'SAME')",
    "tf.nn.depthwise_conv2d_native(i.im, i.dw, [1, 1, 1, 1], 'SAME')", "tf.nn.depthwise_conv2d(i.im, i.dw, [1, 2, 2, 1], 'VALID')",
    "tf.nn.depthwise_conv2d(i.im, i.dw, [1, 1, 1, 1], 'SAME', rate=[2, 2])", "tf.nn.separable_conv2d(i.im, i.dw, i.pw, [1, 1, 1, 1], 'SAME')",
    "tf.nn.separable_conv2d(i.im, i.dw, i.pw, [1, 1, 1, 1], 'VALID', rate=[1, 2], name='s')", "tf.nn.convolution(i.im, i.f2, 'SAME')",
    "tf.nn.convolution(i.im, i.f2, 'VALID', dilation_rate=[2, 1])", "tf.nn.convolution(i.im, i.f2, 'SAME', dilations=[2, 3], name='c')",
    "tf.nn.convolution(i.seq, i.f1, 'SAME', strides=[2])", "tf.nn.convolution(i.seq, i.f1, 'VALID', dilation_rate=[2])",
    "tf.nn.convolution(i.im, FILTER, 'SAME')".replace("FILTER", "np.ones([2, 2, 3, 1], np.float32)"),
    "tf.nn.atrous_conv2d(i.im, i.f2, 2, 'SAME')", "tf.nn.atrous_conv2d(i.im, i.f2, 1, 'VALID')",
    "tf.nn.atrous_conv2d_transpose(tf.nn.atrous_conv2d(i.im, i.f2, 2, 'SAME'), i.f2, [2, 8, 9, 3], 2, 'SAME')",
    "tf.nn.with_space_to_batch(i.im, [2, 2], 'VALID', lambda x, n, p: tf.nn.max_pool(x, 2, 1, p))",
)
def test_convolutions(tf1, expression):
    check(tf1, evaluated(expression), rtol=1e-4, atol=1e-4)


@cases(
    "tf.nn.conv2d(i.im, i.f2, 1, 'SAME')", "tf.nn.conv1d(i.seq, i.f1, 1, 'SAME')", "tf.nn.atrous_conv2d(i.im, i.f2, 2, 'SAME')",
    "tf.nn.depthwise_conv2d(i.im, i.dw, [1, 1, 1, 1], 'SAME', rate=[2, 2])", "tf.nn.convolution(i.seq, i.f1, 'SAME', dilation_rate=[2])",
)
def test_convolutions_of_sizes_unknown(tf1, expression):
    check(tf1, evaluated(expression), True, rtol=1e-4, atol=1e-4)


SPARSE = "tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 0], tf.int64), [3, 2])"
WEIGHTS = "tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [1.0, 3.0, 0.5], [3, 2])"


@cases(
    f"tf.nn.embedding_lookup_sparse(i.table, {SPARSE}, None, combiner='sum')", 
    "tf.nn.safe_embedding_lookup_sparse(i.table, tf.sparse_placeholder(tf.int64))",
    "tf.nn.safe_embedding_lookup_sparse([i.table, i.table], tf.sparse_placeholder(tf.int64), tf.sparse_placeholder(tf.float32), default_id=1)",
    "tf.nn.conv3d(i.vol, i.f3, [1, 1, 1, 1, 1], 'SAME')", "tf.nn.max_pool3d(i.vol, 2, 2, 'SAME')", "tf.nn.avg_pool3d(i.vol, 2, 2, 'VALID')",
    "tf.nn.lrn(i.im)", "tf.nn.dilation2d(i.im, i.dw[:, :, :, 0], [1, 1, 1, 1], [1, 1, 1, 1], 'SAME')",
    "tf.nn.erosion2d(i.im, i.dw[:, :, :, 0], [1, 1, 1, 1], [1, 1, 1, 1], 'SAME')", "tf.nn.max_pool_with_argmax(i.im, 2, 2, 'SAME')"
    .replace("2, 2", "[1, 2, 2, 1], [1, 2, 2, 1]"),
    "tf.nn.conv3d_transpose(tf.zeros([1, 4, 5, 6, 3]), i.f3, [1, 4, 5, 6, 2], 1)", "tf.nn.conv2d(i.chw, i.f2, 1, 'SAME', data_format='NCHW')",
    "tf.nn.ctc_greedy_decoder(i.cube, [2, 2, 2])[1]", "tf.nn.pool(i.vol, [2, 2, 2], 'MAX', 'VALID')",
)
def test_graphs_of_ops_that_are_not_run(tf1, expression):
    """Ops without a kernel in one of the two engines: nodes and shapes alone."""
    import flowmill

    kinds = []
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            found = evaluated(expression)(tf, Inputs(tf, False))
            outputs = list(found) if isinstance(found, tuple) else [found]
            kinds.append(([(o.name, o.type, [t.name for t in o.inputs]) for o in graph.get_operations()],
                          [(t.dtype.name, str(t.shape)) for t in outputs]))
    assert kinds[0] == kinds[1]


@cases(
    "tf.nn.max_pool(i.im, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')", "tf.nn.max_pool(i.im, ksize=3, strides=2, padding='VALID', name='p')",
    "tf.nn.avg_pool(i.im, 2, 1, 'SAME')", "tf.nn.avg_pool(value=i.im, ksize=[1, 3, 3, 1], strides=[1, 1, 1, 1], padding='VALID')",
    "tf.nn.max_pool2d(i.im, 2, 2, 'VALID')", "tf.nn.avg_pool2d(i.im, 2, 2, 'VALID')", "tf.nn.max_pool1d(i.seq, 2, 2, 'SAME')",
    "tf.nn.avg_pool1d(i.seq, 3, 1, 'VALID', name='a')", "tf.nn.max_pool_v2(i.im, 2, 2, 'SAME')", "tf.nn.avg_pool_v2(i.im, 2, 2, 'SAME')",
    "tf.nn.max_pool_v2(i.seq, 2, 2, 'SAME')", "tf.nn.pool(i.im, [2, 2], 'MAX', 'SAME', strides=[2, 2])",
    "tf.nn.pool(i.im, [2, 2], 'AVG', 'VALID', dilation_rate=[2, 2], name='q')", "tf.nn.pool(i.seq, [2], 'AVG', 'SAME')",
)
def test_pooling(tf1, expression):
    check(tf1, evaluated(expression))


LABELS = "tf.constant(np.eye(4, dtype=np.float32)[:3])"


@cases(
    f"tf.nn.sigmoid_cross_entropy_with_logits(labels={LABELS}, logits=i.x)",
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=i.p, logits=i.x, name='s')",
    f"tf.nn.softmax_cross_entropy_with_logits(labels={LABELS}, logits=i.x)",
    f"tf.nn.softmax_cross_entropy_with_logits_v2({LABELS}, i.x, name='s')",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=i.cube, logits=i.cube)",
    "tf.nn.softmax_cross_entropy_with_logits_v2(labels=i.cube, logits=i.cube, axis=1)",
    f"tf.nn.softmax_cross_entropy_with_logits(labels={LABELS}, logits=i.x, dim=0)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=i.x)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=np.array([[0, 3, 1], [1, 2, 0]]), logits=i.cube, name='s')",
    "tf.nn.weighted_cross_entropy_with_logits(labels=i.p, logits=i.x, pos_weight=3.0)",
    "tf.nn.weighted_cross_entropy_with_logits(targets=i.p, logits=i.x, pos_weight=tf.constant([1.0, 2.0, 3.0, 4.0]))",
    "tf.nn.log_poisson_loss(i.p, i.x)", "tf.nn.log_poisson_loss(i.p, i.x, compute_full_loss=True)",
    "tf.nn.l2_normalize(i.x)", "tf.nn.l2_normalize(i.x, 1, name='n')", "tf.nn.l2_normalize(i.cube, dim=[0, 2])",
    "tf.nn.moments(i.im, [0, 1, 2])", "tf.nn.moments(i.x, [0], keep_dims=True, name='m')", "tf.nn.moments(i.x, axes=[1], keepdims=False)",
    "tf.nn.weighted_moments(i.x, [0], i.p)", "tf.nn.weighted_moments(i.x, [1], i.p, keep_dims=True, name='m')",
    "tf.nn.sufficient_statistics(i.x, [0])[:3]", "tf.nn.sufficient_statistics(i.x, [0], shift=1.0, keep_dims=True)",
    "tf.nn.normalize_moments(*tf.nn.sufficient_statistics(i.x, [0]))", "tf.nn.normalize_moments(*tf.nn.sufficient_statistics(i.x, [0], shift=0.5))",
    "tf.nn.batch_normalization(i.x, tf.constant([0.0, 1.0, 2.0, 3.0]), tf.constant([1.0, 2.0, 3.0, 4.0]), None, None, 1e-3)",
    "tf.nn.batch_normalization(i.im, i.bias, i.bias * i.bias, i.bias, i.bias, 1e-3, name='b')",
    "tf.nn.batch_norm_with_global_normalization(i.im, i.bias, i.bias * i.bias, i.bias, i.bias, 1e-3, True)",
    "tf.nn.fused_batch_norm(i.im, i.bias, i.bias)",
    "tf.nn.fused_batch_norm(i.im, i.bias, i.bias, i.bias, i.bias * i.bias, is_training=False, name='f')[0]",
    "tf.nn.embedding_lookup(i.table, [[0, 5], [2, 2]])", "tf.nn.embedding_lookup(i.table, [0, 5], max_norm=0.5, name='e')",
    "tf.nn.embedding_lookup([i.table, i.table[:5]], [0, 5, 10, 3])",
    "tf.nn.embedding_lookup([i.table, i.table[:5]], [[0, 5], [10, 3]], partition_strategy='div')",
    f"tf.nn.embedding_lookup_sparse(i.table, {SPARSE}, {WEIGHTS})",
    f"tf.nn.embedding_lookup_sparse(i.table, {SPARSE}, {WEIGHTS}, combiner='sqrtn', name='e', max_norm=1.0)",
    "tf.nn.scale_regularization_loss([1.0, 2.0])",
    "tf.nn.collapse_repeated(tf.cast(i.x * 2, tf.int32), [4, 3, 2])",
)
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
def test_losses_and_normalisation(tf1, expression, unknown):
    check(tf1, evaluated(expression), unknown, rtol=1e-4, atol=1e-5)


def test_the_average_of_losses(tf1):
    # TensorFlow also checks that the size of the batch is not negative.
    check(tf1, lambda tf, i: tf.nn.compute_average_loss([1.0, 2.0, 4.0]), nodes=False)
    check(tf1, lambda tf, i: tf.nn.compute_average_loss(i.x[0], [1.0, 0.0, 2.0, 0.5], global_batch_size=8), nodes=False)


SAMPLED = "(tf.constant([1, 4], tf.int64), tf.constant([[0.5], [0.25], [0.5]]), tf.constant([0.3, 0.4]))"


@cases(
    f"tf.nn.nce_loss(i.classes, tf.constant([0.1, 0.2, 0.3, 0.4, 0.5]), tf.constant([[0], [2], [3]], tf.int64), i.x, 2, 5, sampled_values={SAMPLED})",
    f"tf.nn.sampled_softmax_loss(i.classes, tf.zeros([5]), tf.constant([[0], [2], [3]]), i.x, 2, 5, sampled_values={SAMPLED}, "
    "remove_accidental_hits=False)",
    f"tf.nn.nce_loss([i.classes[:3], i.classes[3:]], tf.zeros([5]), tf.constant([[0], [2], [3]], tf.int64), i.x, 2, 5, sampled_values={SAMPLED}, "
    "partition_strategy='div', name='n')",
)
def test_sampled_losses(tf1, expression):
    check(tf1, evaluated(expression), rtol=1e-4, atol=1e-5)


TRUE = "tf.constant([[0], [2], [3]], tf.int64)"


@cases(
    f"tf.nn.uniform_candidate_sampler({TRUE}, 1, 2, True, 5, seed=3)", f"tf.nn.log_uniform_candidate_sampler({TRUE}, 1, 2, False, 5, name='s')",
    f"tf.nn.compute_accidental_hits({TRUE}, tf.constant([2, 4], tf.int64), 1)",
    f"tf.nn.nce_loss(i.classes, tf.zeros([5]), {TRUE}, i.x, 2, 5)", f"tf.nn.nce_loss(i.classes, tf.zeros([5]), {TRUE}, i.x, 2, 5, remove_accidental_hits=True)",
    f"tf.nn.sampled_softmax_loss(i.classes, tf.zeros([5]), {TRUE}, i.x, 2, 5, seed=1)",
)
def test_losses_over_samples_build_what_tensorflow_does(tf1, expression):
    check(tf1, evaluated(expression), values=False)


@cases(
    "tf.nn.dropout(i.x, 0.5)", "tf.nn.dropout(i.x, keep_prob=tf.constant(0.5), seed=1, name='d')", "tf.nn.dropout(i.x, rate=0.3, noise_shape=[3, 1])",
    "tf.nn.dropout(i.x, rate=0.0)", "tf.nn.dropout(i.x, keep_prob=1)",
    "tf.nn.dropout(i.x, rate=tf.placeholder_with_default(0.5, []))",
)
@pytest.mark.parametrize("unknown", [False, True], ids=["static", "dynamic"])
def test_dropout_builds_what_tensorflow_does(tf1, expression, unknown):
    check(tf1, evaluated(expression), unknown, values=False)


def test_dropout_completes_the_shape_of_its_noise(tf1):
    check(tf1, evaluated("tf.nn.dropout(i.x, rate=0.3, noise_shape=[None, 1])"), values=False)


def test_dropout_with_a_seed_gives_what_tensorflow_gives(tf1):
    def build(tf):
        tf.set_random_seed(7)
        return tf.nn.dropout(tf.ones([50, 20]), keep_prob=0.4, seed=3), tf.nn.dropout(tf.ones([50, 20]), keep_prob=0.4)

    compare(tf1, build)


def test_dropout_of_nothing_counts_among_the_seeds(tf1):
    def build(tf):
        tf.set_random_seed(2)
        dropped = [tf.nn.dropout(tf.ones([3]), keep_prob=1.0), tf.nn.dropout(tf.ones([3]), rate=0.0, seed=4)]
        return [*dropped, tf.random_uniform([4])]
    compare(tf1, build)


@cases(
    "tf.nn.dropout(i.x, rate=1.5)", "tf.nn.dropout(tf.constant([1]), rate=0.5)", "tf.nn.dropout(i.x)", "tf.nn.bias_add(i.im, i.bias, 'HWC')",
    "tf.nn.softmax(i.x, axis=5)", "tf.nn.conv2d(i.im, i.f2, [1, 1, 1], 'SAME')", "tf.nn.conv2d(i.im, i.f2, 1, [[1, 1]])",
    "tf.nn.conv2d(i.im, i.f2, 1, 'EXPLICIT')", "tf.nn.conv1d(i.seq, i.f1, 1, 'SAME', data_format='CWN')", "tf.nn.conv2d(i.im, i.f1, 1, 'SAME')",
    "tf.nn.convolution(i.im, i.f2, 'SAME', strides=[2, 2], dilation_rate=[2, 2])",
    "tf.nn.sigmoid_cross_entropy_with_logits(labels=[1.0], logits=i.x)",
    "tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[[1]], logits=i.x)", "tf.nn.softmax_cross_entropy_with_logits(logits=i.x)",
    "tf.nn.embedding_lookup(None, [1])", "tf.nn.embedding_lookup([], [1])", "tf.nn.embedding_lookup([i.table, i.table], [1], 'other')",
    "tf.nn.embedding_lookup_sparse(i.table, [1], None)", f"tf.nn.embedding_lookup_sparse(i.table, {SPARSE}, None, combiner='max')",
    "tf.nn.fused_batch_norm(i.im, i.bias, i.bias, is_training=False)", "tf.nn.max_pool(i.im, 0, 1, 'SAME')",
    "tf.nn.pool(i.im, [2, 2], 'MIN', 'SAME')", "tf.nn.pool(i.im, [2, 2], 'MAX', 'SAME', dilation_rate=[2, 2])",
    "tf.nn.max_pool_with_argmax(i.im, 2, 2, 'SAME', data_format='NCHW')", "tf.nn.moments(i.x, [0], keep_dims=True, keepdims=True)",
    "tf.nn.relu(tf.constant(['a']))", "tf.nn.not_there",
)
def test_errors(tf1, expression):
    same_error(tf1, lambda tf: evaluated(expression)(tf, Inputs(tf, False)))


def test_every_name_is_there():
    import flowmill.nn

    for name in flowmill.nn._NAMES:
        assert callable(getattr(flowmill.nn, name)) or name in ("experimental", "rnn_cell"), name
    with pytest.raises(AttributeError, match="flowmill has no tf.nn.nothing"):
        flowmill.nn.nothing


def test_different_labels(tf1):
    compare(tf1, lambda tf: tf.nn.ctc_unique_labels(tf.constant([[3, 1, 3, 1], [2, 2, 2, 0]])), nodes=False)


@pytest.mark.parametrize("noise_shape", [None, [3, 1]])
@pytest.mark.parametrize("rate", [0.0, 0.25, "tensor"])
def test_dropout_with_seeds_of_its_own(tf1, rate, noise_shape):
    def build(tf):
        x, share = tf.ones([3, 5]), tf.constant(0.5) if rate == "tensor" else rate

        def uniform(shape, dtype):
            return tf.random.stateless_uniform(shape, seed=[3, 4], dtype=dtype)
        return [tf.nn.experimental.stateless_dropout(x, share, [1, 2], noise_shape=noise_shape),
                tf.nn.experimental.stateless_dropout(x, share, [1, 2], "philox"),
                tf.nn.experimental.general_dropout(x, share, uniform, noise_shape)]
    compare(tf1, build, nodes=False)
    same_error(tf1, lambda tf: tf.nn.experimental.stateless_dropout(tf.ones([2]), 1.0, [1, 2]), "range [0, 1)")
