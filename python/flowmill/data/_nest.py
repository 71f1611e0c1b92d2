"""Structures of dataset elements: nested tuples, named tuples and dictionaries. A list is an element, unlike in :mod:`flowmill.nest`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flowmill._internal.sparse_tensor import SparseTensorValue


def is_nested(value) -> bool:
    """Returns true for a structure, false for an element of one."""
    return isinstance(value, (tuple, Mapping)) and not isinstance(value, SparseTensorValue) and not hasattr(value, "_components")


def _children(structure) -> list:
    return [structure[key] for key in sorted(structure)] if isinstance(structure, Mapping) else list(structure)


def flatten(structure) -> list:
    """Returns the elements of a structure in order, those of a dictionary by its sorted keys."""
    if not is_nested(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child)]


def pack_sequence_as(structure, flat_sequence) -> Any:
    """Returns elements in the form of a structure.

    Raises:
        ValueError: if there are more or fewer elements than the structure has.
    """
    flat, count = list(flat_sequence), len(flatten(structure))
    if len(flat) != count:
        raise ValueError(f"Structure had {count} atoms, but flat_sequence had {len(flat)} items. Structure: {structure}, flat_sequence: {flat}.")
    return _pack(structure, iter(flat))


def _pack(structure, flat: Iterator):
    if not is_nested(structure):
        return next(flat)
    children = [_pack(child, flat) for child in _children(structure)]
    if isinstance(structure, Mapping):
        values = dict(zip(sorted(structure), children))
        pairs = [(key, values[key]) for key in structure]
        factory = getattr(structure, "default_factory", None)
        return type(structure)(pairs) if factory is None else type(structure)(factory, pairs)
    return type(structure)(*children) if hasattr(structure, "_fields") else tuple(children)


def map_structure(function: Callable, *structures) -> Any:
    """Returns what `function` makes of the elements of structures of the same form, in that form."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other)
    return pack_sequence_as(structures[0], [function(*leaves) for leaves in zip(*map(flatten, structures))])


def assert_same_structure(first, second, check_types: bool = True) -> None:
    """Checks that two structures have the same form.

    Raises:
        ValueError: if they have different numbers of elements or keys.
        TypeError: if they are of different classes.
    """
    if is_nested(first) != is_nested(second):
        raise ValueError(f"The two structures don't have the same nested structure. First structure: {first}, second structure: {second}.")
    if not is_nested(first):
        return
    if check_types and type(first) is not type(second) and not (isinstance(first, Mapping) and isinstance(second, Mapping)):
        raise TypeError(f"The two structures don't have the same sequence type. First structure has type {type(first)}, while second structure has "
                        f"type {type(second)}.")
    if isinstance(first, Mapping) and set(first) != set(second):
        raise ValueError(f"The two dictionaries don't have the same set of keys. First keys: {list(first)}, second keys: {list(second)}.")
    if len(first) != len(second):
        raise ValueError(f"The two structures don't have the same number of elements. First structure: {first}, second structure: {second}.")
    for a, b in zip(_children(first), _children(second)):
        assert_same_structure(a, b, check_types)


def flatten_up_to(shallow, structure) -> list:
    """Returns the parts of `structure` at the places where `shallow` has elements.

    Raises:
        TypeError: if `structure` is of another class, or is an element where `shallow` is not.
        ValueError: if it has another number of elements, or other keys.
    """
    if not is_nested(shallow):
        return [structure]
    if not is_nested(structure):
        raise TypeError(f"If shallow structure is a sequence, input must also be a sequence. Input has type: '{type(structure).__name__}'.")
    if isinstance(shallow, Mapping) != isinstance(structure, Mapping):
        raise TypeError("The two structures don't have the same sequence type. Input structure has type "
                        f"'{type(structure).__name__}', while shallow structure has type '{type(shallow).__name__}'.")
    if len(shallow) != len(structure):
        raise ValueError("The two structures don't have the same sequence length. Input structure has length "
                         f"{len(structure)}, while shallow structure has length {len(shallow)}.")
    if isinstance(shallow, Mapping) and set(shallow) != set(structure):
        raise ValueError(f"The two structures don't have the same keys. Input structure has keys {list(structure)}, while shallow structure has "
                         f"keys {list(shallow)}.")
    return [leaf for a, b in zip(_children(shallow), _children(structure)) for leaf in flatten_up_to(a, b)]


def map_structure_up_to(shallow, function: Callable, *structures) -> Any:
    """Returns what `function` makes of the parts of structures where `shallow` has elements, in the form of `shallow`."""
    return pack_sequence_as(shallow, [function(*parts) for parts in zip(*(flatten_up_to(shallow, s) for s in structures))])
