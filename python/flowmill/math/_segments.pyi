# Made by python/make_stubs from the code.

from flowmill._internal.tensor import Tensor
from flowmill.raw_ops import _ApproxTopK, _TopKV2

def segment_max(data, segment_ids, name: str | None = None) -> Tensor:
    """The greatest elements of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
def segment_mean(data, segment_ids, name: str | None = None) -> Tensor:
    """The means of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
def segment_min(data, segment_ids, name: str | None = None) -> Tensor:
    """The smallest elements of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
def segment_prod(data, segment_ids, name: str | None = None) -> Tensor:
    """The products of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
def segment_sum(data, segment_ids, name: str | None = None) -> Tensor:
    """The sums of each segment.

    Args:
        data: the tensor; its parts along the first dimension are in segments.
        segment_ids: for each part the number of its segment, in rising order.
        name: the name of the operation.
    """
def unsorted_segment_max(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """The greatest elements of each segment.

    Args:
        data: the tensor.
        segment_ids: for each of its parts along the first dimensions the number of its segment, in any order; negative ones are left out.
        num_segments: how many segments there are.
        name: the name of the operation.
    """
def unsorted_segment_min(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """The smallest elements of each segment.

    Args:
        data: the tensor.
        segment_ids: for each of its parts along the first dimensions the number of its segment, in any order; negative ones are left out.
        num_segments: how many segments there are.
        name: the name of the operation.
    """
def unsorted_segment_prod(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """The products of each segment.

    Args:
        data: the tensor.
        segment_ids: for each of its parts along the first dimensions the number of its segment, in any order; negative ones are left out.
        num_segments: how many segments there are.
        name: the name of the operation.
    """
def unsorted_segment_sum(data, segment_ids, num_segments, name: str | None = None) -> Tensor:
    """The sums of each segment.

    Args:
        data: the tensor.
        segment_ids: for each of its parts along the first dimensions the number of its segment, in any order; negative ones are left out.
        num_segments: how many segments there are.
        name: the name of the operation.
    """
def unsorted_segment_mean(data, segment_ids, num_segments, name: str | None = None) -> Tensor: ...
def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name: str | None = None) -> Tensor: ...
def sparse_segment_sum(data, indices, segment_ids, name: str | None = None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """The sums of chosen parts of a tensor in each segment.

    Args:
        data: the tensor.
        indices: which parts along the first dimension.
        segment_ids: for each of `indices` the number of its segment, in rising order.
        name: the name of the operation.
        num_segments: how many segments there are, where that is more than the last number says.
        sparse_gradient: makes the gradient one of slices.
    """
def sparse_segment_mean(data, indices, segment_ids, name: str | None = None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """The means of chosen parts of a tensor in each segment.

    Args:
        data: the tensor.
        indices: which parts along the first dimension.
        segment_ids: for each of `indices` the number of its segment, in rising order.
        name: the name of the operation.
        num_segments: how many segments there are, where that is more than the last number says.
        sparse_gradient: makes the gradient one of slices.
    """
def sparse_segment_sqrt_n(data, indices, segment_ids, name: str | None = None, num_segments=None, sparse_gradient: bool = False) -> Tensor:
    """The sums, divided by the roots of sizes, of chosen parts of a tensor in each segment.

    Args:
        data: the tensor.
        indices: which parts along the first dimension.
        segment_ids: for each of `indices` the number of its segment, in rising order.
        name: the name of the operation.
        num_segments: how many segments there are, where that is more than the last number says.
        sparse_gradient: makes the gradient one of slices.
    """
def confusion_matrix(labels, predictions, num_classes=None, dtype=..., name: str | None = None, weights=None) -> Tensor: ...
def remove_squeezable_dimensions(
    labels: Tensor,
    predictions: Tensor,
    expected_rank_diff: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]: ...
def histogram_fixed_width(values, value_range, nbins=100, dtype=..., name: str | None = None) -> Tensor: ...
def histogram_fixed_width_bins(values, value_range, nbins=100, dtype=..., name: str | None = None) -> Tensor: ...
def top_k(input, k=1, sorted: bool = True, index_type=..., name: str | None = None) -> _TopKV2: ...
def in_top_k(predictions, targets, k, name: str | None = None) -> Tensor: ...
def approx_top_k(
    input,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> _ApproxTopK: ...
def approx_max_k(
    operand,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> _ApproxTopK: ...
def approx_min_k(
    operand,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> _ApproxTopK: ...
def is_non_decreasing(x, name: str | None = None) -> Tensor: ...
def is_strictly_increasing(x, name: str | None = None) -> Tensor: ...
def sobol_sample(dim, num_results, skip=0, dtype=..., name: str | None = None) -> Tensor: ...
def polyval(coeffs, x, name: str | None = None) -> Tensor: ...
def lbeta(x, name: str | None = None) -> Tensor: ...
