"""Functions that change variables: assignments, and scattering into parts of them."""

from __future__ import annotations

from flowmill._internal.apply import apply_op, call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape


def _is_ref(ref) -> bool:
    """Returns true if `ref` is a reference or a reference variable, and not a resource variable."""
    dtype = getattr(ref, "dtype", None)
    return dtype is not None and dtype._is_ref_dtype or not hasattr(ref, "handle")


def _reference(ref):
    found = getattr(ref, "_ref", None)
    return found() if callable(found) else ref


def assign(ref, value, validate_shape: bool | None = None, use_locking: bool | None = None, name: str | None = None):
    """Assigns a value to a variable.

    Args:
        ref: the variable, or a reference to it.
        value: a tensor of its type.
        validate_shape: whether the shape must be the variable's.
        use_locking: whether other operations wait meanwhile.
        name: the name of the operation.

    Returns:
        The variable as it is afterwards.
    """
    if _is_ref(ref):
        return call("Assign", name, _reference(ref), value, validate_shape=validate_shape, use_locking=use_locking)
    return ref.assign(value, name=name)


def assign_add(ref, value, use_locking: bool | None = None, name: str | None = None):
    """Adds to a variable; returns it as it is afterwards."""
    if _is_ref(ref):
        return call("AssignAdd", name, _reference(ref), value, use_locking=use_locking)
    return ref.assign_add(value)  # TensorFlow takes the name for references alone


def assign_sub(ref, value, use_locking: bool | None = None, name: str | None = None):
    """Subtracts from a variable; returns it as it is afterwards."""
    if _is_ref(ref):
        return call("AssignSub", name, _reference(ref), value, use_locking=use_locking)
    return ref.assign_sub(value)


def is_variable_initialized(ref, name: str | None = None) -> Tensor:
    """Returns true if a variable has a value."""
    if _is_ref(ref):
        return call("IsVariableInitialized", name, _reference(ref))
    return ref.is_initialized(name=name)


def count_up_to(ref, limit: int, name: str | None = None) -> Tensor:
    """Adds one to a variable and returns the value before; fails with `OutOfRangeError` at `limit`."""
    if _is_ref(ref):
        return call("CountUpTo", name, _reference(ref), limit=limit)
    return call("ResourceCountUpTo", name, ref.handle, limit=limit, T=ref.dtype)


def _scatter(op: str, ref, indices, updates, use_locking, name):
    if _is_ref(ref):
        return call("Scatter" + op, name, _reference(ref), indices, updates, use_locking=use_locking)
    return ref._scattered(op, indices, updates, name)


def scatter_update(ref, indices, updates, use_locking: bool = True, name: str | None = None):
    """Assigns `updates` to the rows of a variable that `indices` say; returns the variable."""
    return _scatter("Update", ref, indices, updates, use_locking, name)


def scatter_add(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Adds `updates` to the rows of a variable that `indices` say; returns the variable."""
    return _scatter("Add", ref, indices, updates, use_locking, name)


def scatter_sub(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Subtracts `updates` from the rows of a variable that `indices` say; returns the variable."""
    return _scatter("Sub", ref, indices, updates, use_locking, name)


def scatter_mul(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Multiplies the rows of a variable that `indices` say by `updates`; returns the variable."""
    return _scatter("Mul", ref, indices, updates, use_locking, name)


def scatter_div(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Divides the rows of a variable that `indices` say by `updates`; returns the variable."""
    return _scatter("Div", ref, indices, updates, use_locking, name)


def scatter_min(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Takes the smaller of `updates` and the rows of a variable that `indices` say; returns the variable."""
    return _scatter("Min", ref, indices, updates, use_locking, name)


def scatter_max(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Takes the greater of `updates` and the rows of a variable that `indices` say; returns the variable."""
    return _scatter("Max", ref, indices, updates, use_locking, name)


def _scatter_nd(op: str, ref, indices, updates, use_locking, name):
    if _is_ref(ref):
        return call("ScatterNd" + op, name, _reference(ref), indices, updates, use_locking=use_locking)
    return ref._scatter_nd(op, indices, updates, name)


def scatter_nd_update(ref, indices, updates, use_locking: bool = True, name: str | None = None):
    """Assigns `updates` to the slices of a variable that rows of `indices` say; returns the variable."""
    return _scatter_nd("Update", ref, indices, updates, use_locking, name)


def scatter_nd_add(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Adds `updates` to the slices of a variable that rows of `indices` say; returns the variable."""
    return _scatter_nd("Add", ref, indices, updates, use_locking, name)


def scatter_nd_sub(ref, indices, updates, use_locking: bool = False, name: str | None = None):
    """Subtracts `updates` from the slices of a variable that rows of `indices` say; returns the variable."""
    return _scatter_nd("Sub", ref, indices, updates, use_locking, name)


def batch_scatter_update(ref, indices, updates, use_locking: bool = True, name: str | None = None):
    """Assigns `updates` along the last dimension of `indices`, each batch of rows to its own batch of the variable: where `indices` has the shape
    ``[b, n]``, ``ref[i, indices[i, j]] = updates[i, j]``. Returns the variable."""
    indices = convert_to_tensor(indices, name="indices")
    rank = indices.shape.rank
    if rank is None:
        raise ValueError("The rank of `indices` must be known.")
    whole = _shape_of(indices)
    parts = [call("ExpandDims", None, indices, -1)]
    batches = call("StridedSlice", None, whole, [0], [-1], [1], begin_mask=1) if rank > 1 else None
    for axis in range(rank - 1):
        size = call("StridedSlice", None, batches, [axis], [axis + 1], [1], shrink_axis_mask=1)
        steps = call("Cast", None, call("Range", None, 0, size, 1), DstT=indices.dtype.base_dtype)
        steps = call("Reshape", None, steps, [1] * axis + [-1] + [1] * (rank - axis))
        target = call("ConcatV2", None, [whole, [1]], 0)
        parts.insert(axis, call("BroadcastTo", None, steps, target))
    places = call("ConcatV2", None, parts, -1) if len(parts) > 1 else parts[0]
    return scatter_nd_update(ref, places, updates, use_locking, name)


def _shape_of(tensor: Tensor):
    shape = tensor.shape
    return convert_to_tensor(shape.as_list(), "int32") if shape.is_fully_defined() else call("Shape", None, tensor)


def variable_op_v2(shape, dtype, name: str = "Variable", container: str = "", shared_name: str = "") -> Tensor:
    """Returns a reference to a value that stays between steps."""
    attrs = {"shape": TensorShape(shape), "dtype": dtype, "container": container, "shared_name": shared_name}
    return apply_op("VariableV2", name, (), attrs)._outputs[0]
