"""Linear models trained by stochastic dual coordinate ascent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.apply import call
from flowmill._internal.tensor import Tensor

if TYPE_CHECKING:
    from flowmill._internal.graph import Operation
    from flowmill.raw_ops import _SdcaOptimizer


def sdca_fprint(input, name: str | None = None) -> Tensor:  # noqa: A002
    """Fingerprints of strings: two `int64` numbers for each of a vector of strings."""
    return call("SdcaFprint", name, input)


def sdca_optimizer(sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights, example_labels,
                   sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type: str, l1: float, l2: float,
                   num_loss_partitions: int, num_inner_iterations: int, adaptative: bool = True, name: str | None = None) -> _SdcaOptimizer:
    """One pass over a batch of examples.

    Args:
        sparse_example_indices: for each group of sparse features a vector: the example of each feature, in order.
        sparse_feature_indices: likewise, which feature it is.
        sparse_feature_values: likewise, its value; groups at the end may have none, whose values are 1.
        dense_features: for each group of dense features a matrix with a row for each example.
        example_weights: how much each example counts.
        example_labels: the label of each example: 0 or 1 for classes.
        sparse_indices: for each group the features that have weights.
        sparse_weights: for each group their weights.
        dense_weights: for each group of dense features their weights.
        example_state_data: four numbers for each example: its dual variable, losses and weight.
        loss_type: ``"logistic_loss"``, ``"squared_loss"``, ``"hinge_loss"``, ``"smooth_hinge_loss"`` or ``"poisson_loss"``.
        l1: what the sizes of weights cost.
        l2: what their squares cost.
        num_loss_partitions: on how many machines examples are.
        num_inner_iterations: not used.
        adaptative: takes examples more often that have more to gain.
        name: the name of the operation.

    Returns:
        The new `example_state_data`, and what is to be added to the sparse and to the dense weights.
    """
    return call("SdcaOptimizer", name, sparse_example_indices, sparse_feature_indices, sparse_feature_values, dense_features, example_weights,
                example_labels, sparse_indices, sparse_weights, dense_weights, example_state_data, loss_type=loss_type, l1=l1, l2=l2,
                num_loss_partitions=num_loss_partitions, num_inner_iterations=num_inner_iterations, adaptative=adaptative)


def sdca_shrink_l1(weights, l1: float, l2: float, name: str | None = None) -> Operation:
    """Moves the weights in a list of variables towards zero, by ``l1 / l2``."""
    return call("SdcaShrinkL1", name, weights, l1=l1, l2=l2)
