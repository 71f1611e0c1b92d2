"""`tf.metrics` over several batches, with TensorFlow as the oracle."""

import flowmill
import numpy as np
import pytest
from compare import _described, compare, same, same_error

RNG = np.random.RandomState(2)
BATCHES = [
    {"x": RNG.randn(4, 3), "p": RNG.rand(4, 3), "w": RNG.randint(0, 3, (4, 1)), "c": RNG.randint(0, 3, (4,)), "d": RNG.randint(0, 3, (4,)),
     "b": RNG.randint(0, 2, (4, 3))}
    for _ in range(3)
]
TYPES = {"x": "float32", "p": "float32", "w": "float32", "c": "int64", "d": "int64", "b": "bool"}
BATCHES = [{k: v.astype(TYPES[k]) for k, v in batch.items()} for batch in BATCHES]


class Inputs:
    def __init__(self, tf, unknown):
        self._tf, self._unknown = tf, unknown

    def __getattr__(self, name):
        shape = BATCHES[0][name].shape
        made = self._tf.placeholder(TYPES[name], [None] * len(shape) if self._unknown else shape, name=name)
        setattr(self, name, made)
        return made


def run(tf, expression, unknown):
    graph = tf.Graph()
    with graph.as_default():
        value, update = eval(expression, {"tf": tf, "i": Inputs(tf, unknown), "np": np})
        with tf.Session(graph=graph) as session:
            session.run(tf.local_variables_initializer())
            values = [session.run(value)]
            names = {op.name for op in graph.get_operations()}
            for batch in BATCHES:
                feeds = {k + ":0": v for k, v in batch.items() if k in names}
                values.append(session.run(update, feeds))
                values.append(session.run(value))
        variables = [(v.name, v.dtype.base_dtype.name, str(v.shape)) for v in tf.local_variables()]
        assert tf.get_collection("metric_variables") == tf.local_variables()
    return graph, (value, update), values, variables


def check(tf1, expression, unknown=False, nodes=True):
    theirs, their_tensors, their_values, their_variables = run(tf1, expression, unknown)
    ours, our_tensors, our_values, our_variables = run(flowmill, expression, unknown)
    for mine, other in zip(our_tensors, their_tensors):
        assert (mine.dtype.base_dtype.name, str(mine.shape)) == (other.dtype.base_dtype.name, str(other.shape))
    for mine, other in zip(our_values, their_values, strict=True):
        same(mine, other, 1e-5, 1e-6)
    if nodes:
        assert our_variables == their_variables
        assert sorted(_described(ours)) == sorted(_described(theirs))


CASES = [
    "tf.metrics.mean(i.x)", "tf.metrics.mean(i.x, weights=i.w, name='m')", "tf.metrics.mean(i.x, 2.0)", "tf.metrics.mean_tensor(i.x)",
    "tf.metrics.mean_tensor(i.x, i.w)", "tf.metrics.accuracy(i.c, i.d)",
    "tf.metrics.accuracy(i.c, tf.cast(i.d, tf.float32), weights=i.w[:, 0], name='a')",
    "tf.metrics.accuracy(tf.expand_dims(i.c, 1), i.d)", "tf.metrics.mean_absolute_error(i.x, i.p)", "tf.metrics.mean_squared_error(i.x, i.p, i.w)",
    "tf.metrics.root_mean_squared_error(i.x, i.p)", "tf.metrics.mean_relative_error(i.x, i.p, tf.ones_like(i.x) * 2)",
    "tf.metrics.mean_cosine_distance(i.x, i.p, 1)", "tf.metrics.percentage_below(i.x, 0.3)", "tf.metrics.percentage_below(i.x, 0.3, i.w, name='z')",
    "tf.metrics.true_positives(i.b, i.x > 0)", "tf.metrics.true_negatives(i.b, i.x > 0)", "tf.metrics.false_positives(i.b, i.x > 0, weights=i.w)",
    "tf.metrics.false_negatives(i.b, i.x > 0, name='f')", "tf.metrics.precision(i.b, i.x > 0)", "tf.metrics.recall(i.b, i.x > 0, weights=i.w)",
    "tf.metrics.mean_per_class_accuracy(i.c, i.d, 3)", "tf.metrics.mean_per_class_accuracy(i.c, i.d, 3, weights=i.w[:, 0])",
    "tf.metrics.mean_iou(i.c, i.d, 3)", "tf.metrics.mean_iou(i.c, i.d, 4, weights=i.w[:, 0], name='iou')",
    "tf.metrics.auc(i.b, i.p)", "tf.metrics.auc(i.b, i.p, weights=i.w, num_thresholds=20, curve='PR', summation_method='careful_interpolation')",
    "tf.metrics.auc(i.b, i.p, thresholds=[0.7, 0.2], summation_method='minoring')",
    "tf.metrics.auc(i.b, i.p, num_thresholds=9, curve='PR', summation_method='majoring')",
    "tf.metrics.true_positives_at_thresholds(i.b, i.p, [0.2, 0.6])", "tf.metrics.true_negatives_at_thresholds(i.b, i.p, [0.2, 0.6], i.w)",
    "tf.metrics.false_positives_at_thresholds(i.b, i.p, [0.2, 0.6])", "tf.metrics.false_negatives_at_thresholds(i.b, i.p, [0.2, 0.6])",
    "tf.metrics.precision_at_thresholds(i.b, i.p, [0.2, 0.6], name='t')", "tf.metrics.recall_at_thresholds(i.b, i.p, [0.2, 0.6], i.w)",
    "tf.metrics.sensitivity_at_specificity(i.b, i.p, 0.5)", "tf.metrics.specificity_at_sensitivity(i.b, i.p, 0.5, num_thresholds=30)",
]


@pytest.mark.parametrize("expression", CASES)
def test_metrics(tf1, expression):
    check(tf1, expression)


@pytest.mark.parametrize("expression", [c for c in CASES if "mean_tensor" not in c])
@pytest.mark.usefixtures("control_flow")
def test_metrics_of_sizes_unknown(tf1, expression):
    # TensorFlow compares shapes of weights by operations on sets.
    check(tf1, expression, unknown=True, nodes="i.w" not in expression)


@pytest.mark.parametrize("expression", [
    "tf.metrics.recall_at_k(i.c, i.x, 2)", "tf.metrics.precision_at_k(i.c, i.x, 2, class_id=1, weights=i.w[:, 0])",
    "tf.metrics.recall_at_k(tf.stack([i.c, i.d], 1), i.x, 2, class_id=0)", "tf.metrics.precision_at_top_k(i.c, tf.stack([i.d, i.c], 1))",
    "tf.metrics.recall_at_top_k(tf.stack([i.c, i.d], 1), tf.stack([i.d, (i.d + 1) % 3], 1), k=2)", "tf.metrics.sparse_precision_at_k(i.c, i.x, 1)",
    "tf.metrics.average_precision_at_k(tf.stack([i.c, i.d], 1), i.x, 2)", "tf.metrics.sparse_average_precision_at_k(i.c, i.x, 3, weights=i.w[:, 0])",
    "tf.metrics.average_precision_at_k(tf.stack([i.c, i.d + 5], 1), i.x, 2)",
])
def test_metrics_of_the_best_classes(tf1, expression):
    # TensorFlow has operations on sets for these.
    check(tf1, expression, nodes=False)


def test_metrics_are_collected(tf1):
    for tf in (tf1, flowmill):
        with tf.Graph().as_default() as graph:
            value, update = tf.metrics.accuracy([1], [1], metrics_collections=["m"], updates_collections=["u", "v"])
            assert graph.get_collection("m") == [value] and graph.get_collection("u") == graph.get_collection("v") == [update]


@pytest.mark.parametrize("expression", [
    "tf.metrics.accuracy(i.c, i.x)", "tf.metrics.auc(i.b, i.p, curve='other')", "tf.metrics.auc(i.b, i.p, summation_method='other')",
    "tf.metrics.sensitivity_at_specificity(i.b, i.p, 2.0)", "tf.metrics.mean(i.x, weights=[1.0, 2.0])", "tf.metrics.mean_iou(i.c, i.x, 3)",
    "tf.metrics.average_precision_at_k(i.c, i.x, 0)",
])
def test_errors(tf1, expression):
    same_error(tf1, lambda tf: eval(expression, {"tf": tf, "i": Inputs(tf, False)}))


def test_labels_as_the_value_of_a_sparse_tensor(tf1):
    def build(tf):
        labels = tf.SparseTensorValue(np.array([[0, 0], [0, 1], [1, 0]]), np.array([2, 0, 1], np.int64), np.array([2, 3]))
        predictions = tf.constant([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
        return [tf.metrics.recall_at_k(labels, predictions, 2)[1], tf.metrics.average_precision_at_k(labels, predictions, 2)[1]]
    compare(tf1, build, nodes=False, initialize=True)


@pytest.mark.parametrize("labels", [([[0], [1]], [2, 0], [2]), ([[0, 0], [0, 1], [1, 0]], [2, -1, 7], [2, 2])])
def test_sparse_labels_of_lower_rank_and_out_of_range(tf1, labels):
    def build(tf):
        indices, values, sizes = labels
        predictions = tf.constant([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
        sparse = tf.SparseTensorValue(np.array(indices), np.array(values, np.int64), np.array(sizes))
        return [tf.metrics.recall_at_k(sparse, predictions, 2)[1], tf.metrics.precision_at_k(sparse, predictions, 1)[1]]
    compare(tf1, build, nodes=False, initialize=True)
