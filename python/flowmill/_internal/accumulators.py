"""Accumulators of gradients: a gradient counts if it is not older than the accumulator's step."""

from __future__ import annotations

from flowmill._internal.apply import apply_op, call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType, int64
from flowmill.math import cast

__all__ = ["ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator"]


def _step(value) -> Tensor:
    return cast(convert_to_tensor(value), int64)


class ConditionalAccumulatorBase:
    """The base class of both kinds of accumulators.

    Args:
        dtype: the gradients' type.
        shape: their shape, None if it is not known.
        accumulator_ref: the tensor that refers to the accumulator.
    """

    _kind = "ResourceAccumulator"

    def __init__(self, dtype, shape, accumulator_ref: Tensor):
        self._dtype, self._shape, self._accumulator_ref = dtype, TensorShape(shape), accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that refers to the accumulator."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The operation's name."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The gradients' type."""
        return self._dtype

    def num_accumulated(self, name: str | None = None) -> Tensor:
        """Returns the number of gradients in it, an int32 scalar."""
        return call(f"{self._kind}NumAccumulated", name or f"{self._name}_NumAccumulated", self._accumulator_ref)

    def set_global_step(self, new_global_step, name: str | None = None) -> Operation:
        """Sets the step below which gradients are out of date."""
        return apply_op(f"{self._kind}SetGlobalStep", name, (self._accumulator_ref, _step(new_global_step)))


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients, or gives their mean.

    Args:
        dtype: their type, a floating one.
        shape: their shape, None if it is not known.
        shared_name: the name by which sessions share it.
        name: the name of the operation.
        reduction_type: ``"MEAN"`` or ``"SUM"``.
    """

    def __init__(self, dtype, shape=None, shared_name: str | None = None, name: str = "conditional_accumulator", reduction_type: str = "MEAN"):
        made = call("ResourceConditionalAccumulator", name, dtype=dtype, shape=TensorShape(shape), shared_name=shared_name,
                    reduction_type=reduction_type)
        super().__init__(dtype, shape, made)

    def apply_grad(self, grad, local_step=0, name: str | None = None) -> Operation:
        """Adds a gradient, unless `local_step` is less than the accumulator's step.

        Raises:
            ValueError: for another shape.
        """
        grad = convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        return apply_op("ResourceAccumulatorApplyGradient", name, (self._accumulator_ref, _step(local_step), grad))

    def take_grad(self, num_required, name: str | None = None) -> Tensor:
        """The mean or the sum of all gradients, as soon as there are `num_required`; empties the accumulator and adds one to its step."""
        taken = call("ResourceAccumulatorTakeGradient", name, self._accumulator_ref, num_required, dtype=self._dtype)
        taken.set_shape(self._shape)
        return taken


class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """Sums gradients of rows, or gives the mean of each row. Arguments are as for :class:`ConditionalAccumulator`."""

    _kind = "Accumulator"

    def __init__(self, dtype, shape=None, shared_name: str | None = None, name: str = "sparse_conditional_accumulator",
                 reduction_type: str = "MEAN"):
        made = call("SparseConditionalAccumulator", name, dtype=dtype, shape=TensorShape(shape), shared_name=shared_name,
                    reduction_type=reduction_type)
        super().__init__(dtype, shape, made)

    def apply_indexed_slices_grad(self, grad: IndexedSlices, local_step=0, name: str | None = None) -> Operation:
        """Adds a gradient that is an `IndexedSlices`."""
        return self.apply_grad(grad.indices, grad.values, grad.dense_shape, local_step, name)

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name: str | None = None) -> Operation:
        """Adds a gradient of rows, unless `local_step` is less than the accumulator's step.

        Args:
            grad_indices: the rows' numbers, a vector.
            grad_values: the rows.
            grad_shape: the shape of the whole; None or empty if it is not known.
            local_step: the step that the gradient was computed for.
            name: the name of the operation.
        """
        step, indices = _step(local_step), cast(grad_indices, int64)
        inputs = (self._accumulator_ref, step, indices, grad_values, cast([] if grad_shape is None else grad_shape, int64))
        return apply_op("SparseAccumulatorApplyGradient", name, inputs, {"has_known_shape": grad_shape is not None})

    def take_grad(self, num_required, name: str | None = None):
        """Indices, values and shape of the mean or the sum, as soon as there are `num_required` gradients."""
        return call("SparseAccumulatorTakeGradient", name, self._accumulator_ref, num_required, dtype=self._dtype)

    def take_indexed_slices_grad(self, num_required, name: str | None = None) -> IndexedSlices:
        """Like :meth:`take_grad`, but returns an `IndexedSlices`."""
        taken = self.take_grad(num_required, name)
        return IndexedSlices(values=taken.values, indices=taken.indices, dense_shape=taken.shape)
