"""`tf.losses`: what TensorFlow computes, collects and refuses."""

import numpy as np
import pytest
from compare import compare, same_error

RNG = np.random.RandomState(1)
X = RNG.randn(4, 3).astype(np.float32)
P = (RNG.rand(4, 3) * 0.8 + 0.1).astype(np.float32)
ONE_HOT = np.eye(3, dtype=np.float32)[[0, 2, 1, 1]]
ROWS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)


def evaluated(expression, unknown=False):
    def build(tf):
        shape = [None, None] if unknown else [4, 3]
        x, p = tf.placeholder(tf.float32, shape, name="x"), tf.placeholder(tf.float32, shape, name="p")
        return eval(expression, {"tf": tf, "x": x, "p": p, "ONE_HOT": ONE_HOT, "ROWS": ROWS, "np": np, "R": tf.losses.Reduction})

    return build


CASES = [
    "tf.losses.absolute_difference(x, p)", "tf.losses.absolute_difference(x, p, weights=ROWS, scope='a')",
    "tf.losses.absolute_difference(x, p, weights=0.0)", "tf.losses.cosine_distance(x, p, axis=1)",
    "tf.losses.cosine_distance(x, p, dim=0, weights=2.0)",
    "tf.losses.hinge_loss(ONE_HOT, x)", "tf.losses.huber_loss(x, p, delta=0.3)", "tf.losses.log_loss(ONE_HOT, p, weights=ROWS)",
    "tf.losses.mean_squared_error(x, p)", "tf.losses.mean_squared_error(x, p, reduction=R.NONE)",
    "tf.losses.mean_squared_error(x, p, reduction=R.SUM)",
    "tf.losses.mean_squared_error(x, p, weights=ROWS, reduction=R.MEAN)", "tf.losses.mean_squared_error(x, p, 3.0, reduction=R.SUM_OVER_BATCH_SIZE)",
    "tf.losses.mean_squared_error(x, p, weights=ROWS, reduction=R.SUM_BY_NONZERO_WEIGHTS, loss_collection=None)",
    "tf.losses.mean_squared_error(x, p, weights=tf.placeholder_with_default(2.0, []))",
    "tf.losses.mean_pairwise_squared_error(x, p)", "tf.losses.mean_pairwise_squared_error(x, p, weights=ROWS, scope='m')",
    "tf.losses.sigmoid_cross_entropy(ONE_HOT, x)", "tf.losses.sigmoid_cross_entropy(ONE_HOT, x, label_smoothing=0.1, weights=ROWS)",
    "tf.losses.softmax_cross_entropy(ONE_HOT, x)", "tf.losses.softmax_cross_entropy(ONE_HOT, x, label_smoothing=0.2, scope='s')",
    "tf.losses.sparse_softmax_cross_entropy([0, 2, 1, 1], x)",
    "tf.losses.sparse_softmax_cross_entropy([[0], [2], [1], [1]], x, weights=[1.0, 0.0, 2.0, 1.0])",
    "tf.losses.sparse_softmax_cross_entropy(np.array([0, 2, 1, 1]), x, weights=ROWS)", "tf.losses.compute_weighted_loss(x)",
    "tf.losses.compute_weighted_loss(tf.cast(x, tf.float16), weights=2)",
]


@pytest.mark.parametrize("expression", CASES, ids=[e[:80] for e in CASES])
def test_losses(tf1, expression):
    compare(tf1, evaluated(expression), {"x": X, "p": P}, rtol=1e-4)


# Weights whose rank is not known are compared with values by operations on sets in TensorFlow.
@pytest.mark.parametrize("expression", CASES, ids=[e[:80] for e in CASES])
@pytest.mark.usefixtures("control_flow")
def test_losses_of_sizes_unknown(tf1, expression):
    compare(tf1, evaluated(expression, unknown=True), {"x": X, "p": P}, rtol=1e-4, nodes="ROWS" not in expression, ordered=False)


def test_total_losses(tf1):
    def build(tf):
        x = tf.constant(X)
        tf.losses.mean_squared_error(x, P, scope="first")
        tf.losses.absolute_difference(x, P, scope="second")
        tf.losses.add_loss(tf.reduce_sum(x, name="more"))
        tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.reduce_sum(x * x, name="regular"))
        assert len(tf.losses.get_losses()) == 3 and len(tf.losses.get_losses("second")) == 1
        assert len(tf.losses.get_regularization_losses()) == 1
        return (tf.losses.get_total_loss(), tf.losses.get_total_loss(False, name="without"), tf.losses.get_total_loss(scope="first"),
                tf.losses.get_regularization_loss())

    compare(tf1, build)


def test_regularization_losses_where_there_are_none(tf1):
    compare(tf1, lambda tf: tf.losses.get_regularization_loss())


ERRORS = [
    "tf.losses.mean_squared_error(None, p)", "tf.losses.mean_squared_error(x, p[:, :2])",
    "tf.losses.mean_squared_error(x, p, reduction='sum of all')",
    "tf.losses.mean_squared_error(x, p, weights=[1.0, 2.0])", "tf.losses.mean_squared_error(x, p, weights=[[1.0], [2.0]])",
    "tf.losses.cosine_distance(x, p)", "tf.losses.softmax_cross_entropy(ONE_HOT, None)", "tf.losses.get_total_loss()",
]


@pytest.mark.parametrize("expression", ERRORS)
def test_errors(tf1, expression):
    same_error(tf1, evaluated(expression))


@pytest.mark.usefixtures("control_flow")
def test_weights_are_checked_when_the_graph_runs():
    import flowmill as tf

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        weights = tf.placeholder(tf.float32, None)
        loss = tf.losses.mean_squared_error(x, tf.zeros_like(x), weights)
        assert session.run(loss, {x: X, weights: ROWS}) == pytest.approx(float((X**2 * ROWS).sum() / 9), rel=1e-5)
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {x: X, weights: [1.0, 2.0]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="weights can not be broadcast to values"):
            session.run(loss, {x: X, weights: [[1.0, 2.0]]})
