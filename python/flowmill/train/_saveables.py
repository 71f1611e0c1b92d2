"""The contents of checkpoints: tensors by name, of variables and of other objects with state."""

from __future__ import annotations

import abc

from flowmill import _core
from flowmill._internal.apply import call
from flowmill._internal.control_flow import group
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.lazy_numpy import np
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.state import assign
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variables import PartitionedVariable, Variable, global_variables


class SaveSpec:
    """A tensor in a checkpoint.

    Args:
        tensor: the tensor that is saved, or a function without arguments that gives it.
        slice_spec: which part of a whole it is, as `Variable.SaveSliceInfo.spec` says it; empty for a whole.
        name: its name in the checkpoint.
        dtype: its type, that of `tensor` if it is None.
        device: where it is saved.
    """

    def __init__(self, tensor, slice_spec: str, name: str, dtype=None, device: str | None = None):
        self._tensor, self.slice_spec, self.name = tensor, slice_spec, name
        self.dtype = (tensor.dtype if dtype is None else dtype).base_dtype
        self.device = device

    @property
    def tensor(self) -> Tensor:
        """The tensor that is saved."""
        return self._tensor() if callable(self._tensor) and not isinstance(self._tensor, Tensor) else self._tensor


class SaveableObject(abc.ABC):
    """Something with state that is saved and restored. Subclasses define :meth:`restore`.

    Args:
        op: the operation, tensor or variable whose device it is on.
        specs: what it saves, a list of :class:`SaveSpec`.
        name: its name.
    """

    def __init__(self, op, specs: list[SaveSpec], name: str):
        self.op, self.specs, self.name = op, specs, name

    @property
    def device(self) -> str:
        """The device it is on."""
        return getattr(self.op, "device", "")

    @abc.abstractmethod
    def restore(self, restored_tensors, restored_shapes) -> Operation:
        """An operation that takes over what a checkpoint held.

        Args:
            restored_tensors: a tensor for each spec.
            restored_shapes: a shape for each, to be given to it, or None.
        """


class _Reference(SaveableObject):
    def __init__(self, variable, slice_spec: str, name: str):
        tensor = variable if isinstance(variable, Tensor) else variable.value() if slice_spec else variable._ref()
        super().__init__(variable, [SaveSpec(tensor, slice_spec, name, variable.dtype)], name)

    def restore(self, restored_tensors, restored_shapes) -> Operation:
        """Assigns the tensor."""
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = call("Reshape", None, value, restored_shapes[0])
        known = self.op.get_shape().is_fully_defined()
        return assign(self.op, value, validate_shape=restored_shapes is None and known).op


class _Resource(SaveableObject):
    def __init__(self, variable: ResourceVariable, slice_spec: str, name: str):
        self.variable = variable
        tensor = (lambda: _read_again(variable)) if slice_spec else variable._graph_element
        super().__init__(variable, [SaveSpec(tensor, slice_spec, name, variable.dtype)], name)

    def restore(self, restored_tensors, restored_shapes) -> Operation:
        """Assigns the tensor.

        Raises:
            ValueError: if its shape cannot be the variable's.
        """
        value = restored_tensors[0]
        if restored_shapes is not None:
            value = call("Reshape", None, value, restored_shapes[0])
        with get_default_graph().device(self.variable.device):
            value = call("Identity", None, value)
        self.variable.shape.assert_is_compatible_with(value.shape)
        return call("AssignVariableOp", None, self.variable.handle, value)


def _read_again(variable: ResourceVariable) -> Tensor:
    with get_default_graph().device(variable.device):
        with get_default_graph().name_scope("Read"):
            if _core.op_signature("DisableCopyOnRead") is not None:
                call("DisableCopyOnRead", None, variable.handle)
            value = variable._read()
        value = call("Identity", None, value)
    with get_default_graph().device("/device:CPU:0"):
        return call("Identity", None, value)


def default_objects(scope: str | None = None) -> list:
    """Returns the objects that are saved by default: global variables, and other objects in the collection for them."""
    return global_variables(scope) + get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)


def _by_name(objects) -> dict[str, object]:
    """Variables by the names that a checkpoint has them by; parts of a whole in a list.

    Raises:
        ValueError: if two have the same name.
    """
    found: dict[str, object] = {}
    for item in sorted(objects, key=lambda o: o.name):
        if hasattr(item, "_saveable"):  # a table
            item = item._saveable()
        if isinstance(item, SaveableObject):
            found[item.name] = item
            continue
        info = item._get_save_slice_info() if isinstance(item, Variable) else None
        if isinstance(item, PartitionedVariable):
            name, item = item.name, list(item)
        elif info is not None:
            name = info.full_name
            parts = found.setdefault(name, [])
            if not isinstance(parts, list):
                raise ValueError(f"Mixing slices and non-slices with the same name: {name}")
            parts.append(item)
            continue
        elif isinstance(item, Variable):
            name = item.op.name
        elif isinstance(item, Tensor) and item.dtype._is_ref_dtype:
            name = item.op.name
        else:
            raise TypeError(f"Variable to save is not a Variable: {item}")
        if name in found:
            raise ValueError(f"At least two variables have the same name: {name}")
        found[name] = item
    return found


def saveables_of(objects) -> list[SaveableObject]:
    """Returns the savers of a list of variables, or of a dictionary of variables by their names in the checkpoint, sorted by name.

    Raises:
        ValueError: if two have the same name, or one is listed twice.
        TypeError: if something cannot be saved.
    """
    named = objects if isinstance(objects, dict) else _by_name(objects)
    found: list[SaveableObject] = []
    seen: set[int] = set()
    for name in sorted(named):
        if not isinstance(name, str):
            raise TypeError(f"names_to_saveables must be a dict mapping string names to trackable operations. Name is not a string: {name}")
        item = named[name]
        if isinstance(item, PartitionedVariable):
            item = list(item)
        for made in _saveables(name, item):
            key = id(made.op)
            if key in seen:
                raise ValueError(f"The same saveable will be restored with two names: {made.name}")
            seen.add(key)
            found.append(made)
    return found


def _saveables(name: str, item):
    if isinstance(item, SaveableObject):
        yield item
    elif isinstance(item, (list, tuple)):
        whole = None
        for part in item:
            if not isinstance(part, Variable):
                raise ValueError(f"Slices must all be Variables: {part}")
            info = part._get_save_slice_info()
            if info is None:
                raise ValueError(f"Slices must all be slices: {part}")
            if whole not in (None, info.full_name):
                raise ValueError(f"Slices must all be from the same tensor: {whole} != {info.full_name}")
            whole = info.full_name
            yield (_Resource if isinstance(part, ResourceVariable) else _Reference)(part, info.spec, name)
    elif isinstance(item, ResourceVariable):
        yield _Resource(item, "" if item._get_save_slice_info() is None else item._get_save_slice_info().spec, name)
    elif isinstance(item, Variable):
        yield _Reference(item, "" if item._get_save_slice_info() is None else item._get_save_slice_info().spec, name)
    elif isinstance(item, Tensor) and item.dtype._is_ref_dtype:
        yield _Reference(item, "", name)
    else:
        raise TypeError(f"names_to_saveables must be a dict mapping string names to Tensors/Variables. Not a variable: {item}")


def restored_shapes(saveable: SaveableObject) -> list:
    """Returns the shapes that the tensors of a saveable have now."""
    found = []
    for spec in saveable.specs:
        shape = spec.tensor.shape
        found.append(np.array(shape.as_list(), np.int32) if shape.is_fully_defined() else call("Shape", None, spec.tensor))
    return found


def restored(saveables: list[SaveableObject], filename: Tensor, reshape: bool, name: str) -> Operation:
    """Returns an operation called `name` that restores all of `saveables` from the checkpoint called `filename`."""
    graph = get_default_graph()
    specs = [spec for saveable in saveables for spec in saveable.specs]
    with graph.device("/cpu:0"):
        tensors = call("RestoreV2", None, filename, [s.name for s in specs], [s.slice_spec for s in specs], dtypes=[s.dtype for s in specs])
    at, assigned = 0, []
    for saveable in saveables:
        count = len(saveable.specs)
        with graph.device(saveable.device):
            shapes = restored_shapes(saveable) if reshape else None
            assigned.append(saveable.restore(tensors[at:at + count], shapes))
        at += count
    return group(*assigned, name=name)
