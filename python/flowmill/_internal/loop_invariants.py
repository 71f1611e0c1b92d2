"""Static shapes of the variables of loops."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape


def invariants_of(loop_vars, flat: list[Tensor], shape_invariants) -> list[TensorShape]:
    """Returns the shape that each tensor among the variables has in all iterations.

    Args:
        loop_vars: the variables.
        flat: their tensors.
        shape_invariants: a shape, a spec or None for each variable; None for shapes that follow from the variables.

    Raises:
        TypeError: if a variable does not fit its spec, or the invariant is something else.
    """
    if shape_invariants is None:
        if len(nest.flatten(loop_vars)) == len(flat):  # tensors alone
            return [t.shape for t in flat]
        shape_invariants = nest.map_structure(lambda _: None, loop_vars)
    nest.assert_same_structure(loop_vars, shape_invariants, check_types=False)
    shapes = []
    for variable, shape in zip(nest.flatten(loop_vars), nest.flatten_up_to(loop_vars, shape_invariants)):
        shapes.extend(_of_variable(variable, shape))
    return shapes


def _of_variable(variable, shape) -> list[TensorShape]:
    """Returns the shapes that the components of a variable have by the invariant that is given for it."""
    if isinstance(shape, TensorShape) and isinstance(variable, Tensor):
        return [shape]
    from flowmill._internal.composite_specs import type_spec_from_value  # start-up: most loops have tensors and no specs
    from flowmill._internal.type_spec import TypeSpec  # start-up: most loops have tensors and no specs

    if isinstance(shape, TypeSpec):
        if not shape.is_compatible_with(variable):
            raise TypeError(f"TypeSpec {shape!r} is not compatible with {variable!r}")
        spec = shape
    elif shape is not None and not isinstance(shape, TensorShape):
        raise TypeError(f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(shape)}")
    elif isinstance(variable, SparseTensor):
        spec = type_spec_from_value(variable) if shape is None else _sparse(variable, shape)
    elif isinstance(variable, IndexedSlices):
        spec = type_spec_from_value(variable) if shape is None else _slices(variable, shape)
    elif hasattr(variable, "row_splits"):
        spec = type_spec_from_value(variable)
        spec = spec if shape is None else spec._with_shape(shape)
    else:
        return [shape] if shape is not None else [t.shape for t in map(convert_to_tensor, nest.flatten(variable, expand_composites=True))]
    return [component.shape for component in nest.flatten(spec._component_specs)]


def _sparse(variable: SparseTensor, shape: TensorShape):
    """Returns the spec for an invariant ``[rank]``, which is the shape of the tensor `dense_shape`."""
    from flowmill._internal.composite_specs import SparseTensorSpec  # start-up: as in `_of_variable`

    rank = None if shape.rank is None else shape.with_rank(1).as_list()[0]
    return SparseTensorSpec(None if rank is None else [None] * rank, variable.dtype)


def _slices(variable: IndexedSlices, shape: TensorShape):
    """Returns the spec for an invariant that is the shape of the slices."""
    from flowmill._internal.composite_specs import IndexedSlicesSpec  # start-up: as in `_of_variable`

    whole = TensorShape([None]).concatenate(shape[1:])
    dense_shape = variable.dense_shape
    return IndexedSlicesSpec(whole, variable.dtype, variable.indices.dtype, None if dense_shape is None else dense_shape.dtype, shape[:1])


__all__ = ["invariants_of"]
