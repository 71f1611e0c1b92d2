"""Initial values of variables from checkpoints."""

from __future__ import annotations

import os

from flowmill._internal.apply import call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.variable_scopes import _store
from flowmill._internal.variables import PartitionedVariable, Variable
from flowmill.train import _saveables
from flowmill.train._readers import latest_checkpoint, load_checkpoint


def init_from_checkpoint(ckpt_dir_or_file, assignment_map) -> None:
    """Makes the initializers of variables take values from a checkpoint.

    Args:
        ckpt_dir_or_file: the checkpoint, or a directory, whose newest is taken.
        assignment_map: for names in the checkpoint the variables: a dictionary, or a list of pairs. A name that ends with a slash is a scope, and the
            variable that of one (``"/"`` is all); otherwise a variable, a list of its parts, or its name.

    Raises:
        ValueError: if the checkpoint lacks a name, the graph a variable, or shapes differ.
    """
    path = os.fspath(ckpt_dir_or_file)
    file = latest_checkpoint(path) if os.path.isdir(path) else path
    reader = load_checkpoint(path)
    shapes = reader.get_variable_to_shape_map()
    known = _store()._vars
    for name, target in sorted(_pairs(assignment_map), key=lambda pair: str(pair[0])):
        if name.endswith("/"):
            _from_scope(path, file, shapes, known, name, target)
            continue
        if isinstance(target, str):
            target = _called(known, target, path)
        elif isinstance(target, PartitionedVariable):
            target = list(target)
        _assign(path, file, shapes, target if isinstance(target, list) else [target], name)


def _pairs(assignment_map):
    """Returns the pairs of a dictionary, or those of a list, in which a name may occur several times."""
    return assignment_map.items() if hasattr(assignment_map, "items") else assignment_map


def _called(known: dict, name: str, path: str):
    if name in known:
        return known[name]
    parts = []
    while f"{name}/part_{len(parts)}" in known:
        parts.append(known[f"{name}/part_{len(parts)}"])
    if not parts:
        raise ValueError(f"Assignment map with scope only name {path} should map to scope only {name}. Should be 'scope/': 'other_scope/'."
                         if name.endswith("/") else f"A variable called {name} is not in the graph.")
    return parts


def _from_scope(path: str, file, shapes: dict, known: dict, source: str, target) -> None:
    if not isinstance(target, str) or "/" in target and not target.endswith("/") or target and not target.endswith("/"):
        raise ValueError(f"Assignment map with scope only name {source} should map to scope only {target}. Should be 'scope/': 'other_scope/'.")
    prefix = "" if target == "/" else target
    names = {}
    for name, variable in known.items():
        if name.startswith(prefix):
            whole = name.rpartition("/part_")[0] if variable._get_save_slice_info() is not None else name
            names.setdefault(whole, []).append(variable)
    for name in sorted(names):
        tensor_name = ("" if source == "/" else source) + name[len(prefix):]
        if tensor_name not in shapes:
            raise ValueError(f"Tensor {tensor_name} ({name} in {target or '/'}) is not found in {path} checkpoint")
        _assign(path, file, shapes, names[name], tensor_name)


def _assign(path: str, file, shapes: dict, variables: list[Variable], tensor_name: str) -> None:
    if tensor_name not in shapes:
        raise ValueError(f"Tensor {tensor_name} is not found in {path} checkpoint {shapes}")
    for variable in variables:
        info = variable._get_save_slice_info()
        shape = variable.shape.as_list() if info is None else list(info.full_shape)
        if shape != list(shapes[tensor_name]):
            raise ValueError(f"Shape of variable {variable.name} ({variable.shape}) doesn't match with shape of tensor {tensor_name} "
                             f"({shapes[tensor_name]}) from checkpoint reader.")
        graph = get_default_graph()
        with graph.device(variable.device), graph.device("/cpu:0"):
            value = call("RestoreV2", "checkpoint_initializer", file, [tensor_name], ["" if info is None else info.spec],
                         dtypes=[variable.dtype.base_dtype])[0]
        saveable, = _saveables.saveables_of([variable])
        variable._initializer = saveable.restore([value], None)
        value.set_shape(variable.shape)
        variable._initial_value = value
