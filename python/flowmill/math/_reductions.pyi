# Made by python/make_stubs from the code.

from flowmill._internal.tensor import Tensor

def range(start, limit=None, delta=1, dtype=None, name: str = 'range') -> Tensor: ...
def all_axes(x) -> Tensor: ...
def reduce_sum(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """The sum along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_mean(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """The mean along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_prod(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """The product along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_max(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """The greatest element along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_min(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """The smallest element along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_all(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """Whether all elements are true along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_any(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor:
    """Whether an element is true along dimensions.

    Args:
        input_tensor: the tensor.
        axis: the dimensions, a number or a list; all where it is None.
        keepdims: leaves those dimensions there, with size 1.
        name: the name of the operation.
        reduction_indices: `axis` by its old name.
        keep_dims: `keepdims` by its old name.
    """
def reduce_euclidean_norm(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor: ...
def reduce_variance(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor: ...
def reduce_std(input_tensor, axis=None, keepdims: bool = False, name: str | None = None) -> Tensor: ...
def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name: str | None = None, reduction_indices=None, keep_dims=None) -> Tensor: ...
def count_nonzero(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype=...,
    name: str | None = None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
) -> Tensor: ...
def zero_fraction(value, name: str | None = None) -> Tensor: ...
def cumsum(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor: ...
def cumprod(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor: ...
def cumulative_logsumexp(x, axis=0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor: ...
def argmax(input, axis=None, name: str | None = None, dimension=None, output_type=...) -> Tensor: ...
def argmin(input, axis=None, name: str | None = None, dimension=None, output_type=...) -> Tensor: ...
def arg_max(input, dimension, output_type=..., name: str | None = None) -> Tensor: ...
def arg_min(input, dimension, output_type=..., name: str | None = None) -> Tensor: ...
