"""Nested structures of lists, tuples, named tuples and dictionaries (by sorted keys), flat and back.

A *composite* is an object made of several tensors, such as IndexedSlices: it has a method ``_components()`` that returns them and one
``_with_components(tensors)`` that makes another of the same kind, or an attribute ``_type_spec`` with a spec that does both. Functions take it apart if
`expand_composites` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MappingView, MutableMapping, Sequence
from typing import Any


def is_nested(value) -> bool:
    """Returns true for a structure: a sequence other than a string, a mapping, or a view of one, but no composite."""
    return isinstance(value, (list, tuple, Mapping, MappingView, Sequence)) and not isinstance(value, (str, bytes)) and not hasattr(value, "_components")


def _is_composite(value) -> bool:
    return (hasattr(value, "_components") or hasattr(value, "_type_spec")) and not isinstance(value, type)


def _describes_composite(value) -> bool:
    """Returns true for a spec whose values are composites; it has their place in a structure of specs."""
    return hasattr(value, "_component_specs") and hasattr(value.value_type, "_components")


def _children(structure) -> list:
    if isinstance(structure, Mapping):
        return [structure[key] for key in _keys(structure)]
    return list(structure)


def _keys(structure: Mapping) -> list:
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def flatten(structure, expand_composites: bool = False) -> list:
    """Returns the elements of a structure, in order. An element alone gives a list of itself."""
    if expand_composites and _is_composite(structure):
        if hasattr(structure, "_components"):
            return list(structure._components())
        return flatten(structure._type_spec._to_components(structure), expand_composites)
    if not is_nested(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child, expand_composites)]


def _rebuild(structure, children: list):
    if isinstance(structure, Mapping):
        values = dict(zip(_keys(structure), children))
        pairs = [(key, values[key]) for key in structure]
        factory = getattr(structure, "default_factory", None)
        if factory is not None:
            return type(structure)(factory, pairs)
        if not isinstance(structure, MutableMapping):
            return type(structure)(pairs)
        rebuilt = type(structure)()
        for key, child in pairs:
            rebuilt[key] = child
        return rebuilt
    if isinstance(structure, (MappingView, range)):
        return children
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*children)
    return type(structure)(children)


def pack_sequence_as(structure, flat_sequence, expand_composites: bool = False) -> Any:
    """Elements in the form of a structure.

    Raises:
        ValueError: if there are more or fewer of them than the structure has.
    """
    flat = list(flat_sequence)
    count = len(flatten(structure, expand_composites))
    if count != len(flat):
        raise ValueError(f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had {len(flat)} items.")
    return _pack(structure, iter(flat), expand_composites)


def _pack(structure, flat: Iterator, expand_composites: bool):
    if expand_composites and _is_composite(structure):
        if hasattr(structure, "_components"):
            return structure._with_components([next(flat) for _ in structure._components()])
        spec = structure._type_spec
        return spec._from_components(_pack(spec._to_components(structure), flat, expand_composites))
    if not is_nested(structure):
        return next(flat)
    return _rebuild(structure, [_pack(child, flat, expand_composites) for child in _children(structure)])


def map_structure(function: Callable, *structures, expand_composites: bool = False):
    """`function` of the elements of structures of the same form, in that form."""
    for other in structures[1:]:
        assert_same_structure(structures[0], other, expand_composites=expand_composites)
    leaves = zip(*(flatten(s, expand_composites) for s in structures))
    return pack_sequence_as(structures[0], [function(*leaf) for leaf in leaves], expand_composites)


def flatten_up_to(shallow, structure) -> list:
    """Returns the parts of `structure` at the places of the elements of `shallow`.

    Raises:
        ValueError: if `structure` is not as deep as `shallow`.
    """
    if not is_nested(shallow):
        return [structure]
    if not is_nested(structure):
        raise ValueError(f"The two structures don't have the same nested structure: {shallow!r} and {structure!r}.")
    if isinstance(shallow, Mapping):
        return [leaf for key in _keys(shallow) for leaf in flatten_up_to(shallow[key], structure[key])]
    if len(shallow) != len(structure):
        raise ValueError(f"The two structures don't have the same sequence length: {len(shallow)} and {len(structure)}.")
    return [leaf for a, b in zip(shallow, structure) for leaf in flatten_up_to(a, b)]


def map_structure_up_to(shallow, function: Callable, *structures):
    """Applies `function` to the parts of structures at the places of the elements of `shallow`; returns the results in the form of `shallow`."""
    return pack_sequence_as(shallow, [function(*parts) for parts in zip(*(flatten_up_to(shallow, s) for s in structures))])


def assert_same_structure(first, second, check_types: bool = True, expand_composites: bool = False) -> None:
    """Checks that two structures have the same form; lists and tuples are different forms.

    Raises:
        ValueError: if one has an element in the place of a structure of the other, or more of them.
        TypeError: if both have structures of different kinds.
    """
    try:
        _assert_same(first, second, check_types, expand_composites)
    except (TypeError, ValueError) as error:
        dots = [map_structure(lambda _: _DOT, s) for s in (first, second)]
        raise type(error)(
            f"The two structures don't have the same nested structure.\n\nFirst structure: {_described(first)}\n\nSecond structure: {_described(second)}\n\n"
            f"More specifically: {error}\nEntire first structure:\n{dots[0]}\nEntire second structure:\n{dots[1]}") from None


def _assert_same(first, second, check_types: bool, expand_composites: bool) -> None:
    nested = [is_nested(s) or (expand_composites and (_is_composite(s) or _describes_composite(s))) for s in (first, second)]
    if nested[0] != nested[1]:
        sequence, element = (first, second) if nested[0] else (second, first)
        raise ValueError(f'Substructure "{_described(sequence)}" is a sequence, while substructure "{_described(element)}" is not')
    if not is_nested(first) or not is_nested(second):
        return
    both_maps = isinstance(first, Mapping) and isinstance(second, Mapping)
    if check_types and not both_maps and type(first) is not type(second):
        raise TypeError(
            f"The two namedtuples don't have the same sequence type. First structure {_described(first)} has type {type(first).__name__}, while second "
            f"structure {_described(second)} has type {type(second).__name__}")
    if both_maps and set(first) != set(second):
        raise ValueError(
            f"The two dictionaries don't have the same set of keys. First structure has keys {list(first)}, while second structure has keys {list(second)}")
    a, b = _children(first), _children(second)
    if len(a) != len(b):
        raise ValueError(
            f"The two structures don't have the same number of elements. First structure: {_described(first)}. Second structure: {_described(second)}")
    for x, y in zip(a, b):
        _assert_same(x, y, check_types, expand_composites)


class _Dot:
    def __repr__(self):
        return "."


_DOT = _Dot()


def _described(value) -> str:
    return f"type={type(value).__name__} str={value}"
