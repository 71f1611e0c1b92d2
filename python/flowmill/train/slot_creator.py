"""Slots: variables beside a variable that an optimizer, or an average, keeps something of it in."""

from __future__ import annotations

from flowmill._internal.apply import call
from flowmill._internal.convert import constant
from flowmill._internal.graph import get_default_graph
from flowmill._internal.init_ops import Zeros
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.tensor import Tensor
from flowmill._internal.variable_scopes import get_variable, get_variable_scope, variable_scope
from flowmill._internal.variables import Variable


def _slot(primary, initial_value, shape, dtype) -> Variable:
    """Returns the slot in the variable scope that is open, which has its name."""
    scope = get_variable_scope()
    partitioner = scope.partitioner
    # A part's slot is not cut again.
    scope.set_partitioner(None)
    use_resource = isinstance(primary, ResourceVariable) or (not isinstance(primary, Variable) and None)
    slot = get_variable("", initializer=initial_value, trainable=False, use_resource=use_resource, shape=shape, dtype=dtype)
    scope.set_partitioner(partitioner)
    info = primary._get_save_slice_info() if isinstance(primary, Variable) else None
    if info is not None:
        name = slot.name[len(primary.op.name) + 1: -2]
        slot._set_save_slice_info(
            Variable.SaveSliceInfo(f"{info.full_name}/{name}", list(info.full_shape), list(info.var_offset), list(info.var_shape)))
    return slot


def _within(primary, name: str, colocate_with_primary: bool, make) -> Variable:
    with variable_scope(None, f"{primary.op.name}/{name}"):
        if not colocate_with_primary:
            return make()
        with get_default_graph().colocate_with(primary.op):
            return make()


def create_slot(primary, val, name: str, colocate_with_primary: bool = True) -> Variable:
    """Returns a slot of a variable or tensor, with an initial value.

    Args:
        primary: what it is a slot of.
        val: a tensor.
        name: goes behind the name of `primary`.
        colocate_with_primary: whether it has the device of `primary`.
    """
    return _within(primary, name, colocate_with_primary, lambda: _slot(primary, val, None, None))


def create_slot_with_initializer(primary, initializer, shape, dtype, name: str, colocate_with_primary: bool = True) -> Variable:
    """Returns a slot with an initializer, a shape and a type; arguments otherwise as of :func:`create_slot`."""
    return _within(primary, name, colocate_with_primary, lambda: _slot(primary, initializer, shape, dtype))


def create_zeros_slot(primary, name: str, dtype=None, colocate_with_primary: bool = True) -> Variable:
    """Returns a slot of zeros with the shape of `primary`; arguments otherwise as of :func:`create_slot`."""
    dtype = primary.dtype.base_dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(primary, Zeros(), shape, dtype, name, colocate_with_primary)
    source = primary if isinstance(primary, Tensor) else primary.initialized_value()
    return create_slot(primary, call("Fill", "zeros", call("Shape", None, source), _zero(dtype)), name, colocate_with_primary)


def _zero(dtype) -> Tensor:
    return constant(0, dtype)
