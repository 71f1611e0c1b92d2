"""Checks of tensors' types, ranks and shapes: what is known while the graph is built is checked then, the rest while it runs."""

from __future__ import annotations

from typing import Any
from functools import reduce

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.array import rank as rank_of, shape, shape as shape_of
from flowmill._internal.array._creation import is_sparse
from flowmill._internal.control_flow import Assert, group, with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.debugging._values import message_prefix
from flowmill.dtypes import as_dtype, float32, int32
from flowmill.math import equal


@by_rows("_array.assert_type")
def assert_type(tensor, tf_type, message: str | None = None, name: str | None = None) -> Operation:
    """Checks a tensor's type.

    Args:
        tensor: the tensor.
        tf_type: the type it has to have.
        message: what the error begins with.
        name: the name of the scope.

    Returns:
        An operation that does nothing.

    Raises:
        TypeError: if it has another type.
    """
    tf_type = as_dtype(tf_type)
    with op_scope(name, "assert_type", tensor):
        if not is_sparse(tensor):
            tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype.base_dtype is not tf_type:
            raise TypeError(f"{message_prefix(message)}{getattr(tensor, 'name', tensor)} must be of type {tf_type!r}; got {tensor.dtype!r}")
        return call("NoOp", "statically_determined_correct_type")


def assert_integer(x, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that a tensor has integers.

    Args:
        x: the tensor.
        message: what the error begins with.
        name: the name of the scope.

    Returns:
        An operation that does nothing.

    Raises:
        TypeError: if it has not.
    """
    with op_scope(name, "assert_integer", x):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            raise TypeError(f'{message_prefix(message)}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype}')
        return call("NoOp", "statically_determined_was_integer")


class _StaticRank(Exception):
    """A rank that is known is not the one that was asked for."""


def _check_rank(x, ranks: list[Tensor], holds, condition, data, summarize) -> Operation:
    """Returns the operation that checks a rank, a no-op if it is known to be right.

    Raises:
        _StaticRank: if it is known to be wrong.
        ValueError: if the rank asked for is no scalar.
    """
    for rank in ranks:
        assert_type(rank, int32)
    known = [constant_value(r) for r in ranks]
    if all(k is not None for k in known):
        if any(np.ndim(k) for k in known):
            raise ValueError("Rank must be a scalar.")
        if x.get_shape().rank is not None:
            if not holds(x.get_shape().rank, [int(k) for k in known]):
                raise _StaticRank([int(k) for k in known])
            return call("NoOp", "static_checks_determined_all_ok")
    found = condition(rank_of(x), ranks)
    for rank, value in zip(ranks, known):
        if value is None:
            scalar = assert_rank(rank, 0, data=["Rank must be a scalar. Received rank: ", rank])
            found = with_dependencies([scalar], found)
    return Assert(found, data, summarize=summarize)


def _asserted_rank(default: str, what: str, x, ranks, holds, condition, data, summarize, message, name, several: bool = False) -> Operation:
    prefix = message_prefix(message)
    with op_scope(name, default, x, *ranks, data):
        if not is_sparse(x):
            x = convert_to_tensor(x, name="x")
        ranks = [convert_to_tensor(r, name="rank") for r in ranks]
        called = x.name if hasattr(x, "name") else str(x)
        if data is None:
            data = [prefix, f"Tensor {called} must have rank{what}", *ranks, "Received shape: ", shape(x)]
        try:
            return _check_rank(x, ranks, holds, condition, data, summarize)
        except _StaticRank as error:
            wanted = tuple(error.args[0]) if several else error.args[0][0]
            found = x.get_shape()
            raise ValueError(f"{prefix}Tensor {called} must have rank{what} {wanted}.  Received rank {found.rank}, shape {found}") from None


def assert_rank(x, rank, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that a tensor has a rank.

    Args:
        x: the tensor.
        rank: a number, or a scalar tensor.
        data: what to show when it has another one.
        summarize: how many elements of each tensor to show.
        message: what the error begins with.
        name: the name of the scope.

    Returns:
        An operation that fails if it has another one; one that does nothing if that is known.

    Raises:
        ValueError: if it is known to have another rank.
    """
    return _asserted_rank("assert_rank", "", x, [rank], lambda found, wanted: found == wanted[0],
                          lambda found, wanted: call("Equal", None, found, wanted[0]), data, summarize, message, name)


def assert_rank_at_least(x, rank, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that a tensor has at least a rank; the arguments are those of :func:`assert_rank`."""
    return _asserted_rank("assert_rank_at_least", " at least", x, [rank], lambda found, wanted: found >= wanted[0],
                          lambda found, wanted: call("GreaterEqual", None, found, wanted[0]), data, summarize, message, name)


def assert_rank_in(x, ranks, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that a tensor has one of some ranks; the other arguments are those of :func:`assert_rank`."""
    def condition(found, wanted):
        return reduce(lambda a, b: call("LogicalOr", None, a, b), [call("Equal", None, w, found) for w in wanted])
    return _asserted_rank("assert_rank_in", " in", x, list(ranks), lambda found, wanted: found in wanted, condition, data, summarize, message, name,
                          several=True)


def assert_scalar(tensor, name: str | None = None, message: str | None = None) -> Tensor:
    """Returns a tensor as it is, which is known to be a scalar.

    Raises:
        ValueError: if that is not known.
    """
    with op_scope(name, "assert_scalar", tensor) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if dims(tensor) != []:
            raise ValueError(f"{message_prefix(message)}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


def assert_proper_iterable(values) -> None:
    """Checks that values can be gone through, and are no tensor, array or text.

    Raises:
        TypeError: if they are, or cannot be.
    """
    if isinstance(values, (Tensor, np.ndarray, str, bytes)) or is_sparse(values):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


def assert_same_float_dtype(tensors=None, dtype=None) -> Any:
    """Returns the type of floating-point numbers that all tensors have, `float32` if there are none.

    Args:
        tensors: tensors; None does not count.
        dtype: the type they have to have.

    Raises:
        ValueError: if they have another one.
    """
    wanted, like = None if dtype is None else as_dtype(dtype), None
    for tensor in tensors or ():
        if tensor is None:
            continue
        found = tensor.dtype.base_dtype
        if wanted is None:
            wanted, like = found, tensor
        elif found is not wanted:
            as_ = "" if like is None else f" as {like.name}"
            raise ValueError(f"{tensor.name}, type={found}, must be of the same type ({wanted}){as_}.")
        elif like is None:
            like = tensor
    if wanted is None:
        return float32
    if not wanted.is_floating:
        raise ValueError(f"Expected floating point type, got {wanted}.")
    return wanted


def is_numeric_tensor(tensor) -> bool:
    """Returns true if a value is a tensor of numbers."""
    if not isinstance(tensor, Tensor):
        return False
    kind = tensor.dtype
    return kind.is_floating or kind.is_integer or kind.is_complex or kind.is_quantized


def assert_shapes(shapes, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that tensors have shapes, in which equal names mean equal sizes.

    Args:
        shapes: pairs of a tensor and its shape, or a dictionary. A shape is a tuple of sizes: numbers, names, None or ``"."`` for any; the first of
            it may be ``...`` or ``"*"`` for any number of sizes. A string of letters is a tuple of them.
        data: what to show when one is wrong.
        summarize: how many elements of each tensor to show.
        message: what the error begins with.
        name: the name of the scope.

    Returns:
        An operation that fails if a shape is wrong.

    Raises:
        ValueError: if one is known to be wrong.
    """
    pairs = list(shapes.items() if isinstance(shapes, dict) else shapes)
    pairs = [(getattr(x, "deref", lambda x=x: x)(), spec) for x, spec in pairs]
    with op_scope(name, "assert_shapes", [x for x, _ in pairs]):
        entries = []
        for x, spec in pairs:
            x = x if is_sparse(x) else convert_to_tensor(x)
            symbols, open_ended = _symbols(spec, x)
            sizes = shape_of(x)
            entries.append((x, symbols, open_ended, sizes))
        checks = [_rank_check(x, symbols, open_ended, data, summarize, message) for x, symbols, open_ended, _ in entries]
        checks = [c for c in checks if c is not None]
        known: dict = {}
        graph = entries[0][0].graph if entries else None
        for x, symbols, open_ended, sizes in entries:
            with graph.control_dependencies(checks[:len(entries)]):
                checks += _size_checks(x, symbols, open_ended, sizes, known, data, summarize, message)
    return group(*checks)


def _symbols(spec, x) -> tuple[list, bool]:
    """Returns the sizes of a shape, and whether there may be any number of them before."""
    if not hasattr(spec, "__iter__") and not hasattr(spec, "__getitem__"):
        raise ValueError(f"Tensor {x.name}.  Specified shape must be an iterable.  An iterable has the attribute `__iter__` or `__getitem__`.  "
                         f"Received specified shape: {spec}")
    symbols = [_symbol(s) for s in (spec.as_list() if hasattr(spec, "as_list") else spec)]
    for i, symbol in enumerate(symbols):
        if i and (symbol is Ellipsis or symbol == "*"):
            raise ValueError(f"Tensor {x.name} specified shape index {i}.  Symbol `...` or `*` for a variable number of unspecified dimensions is "
                             "only allowed as the first entry")
    # The shape of a scalar means one element to a vector.
    if not symbols and x.get_shape().rank == 1:
        symbols = [1]
    open_ended = bool(symbols) and (symbols[0] is Ellipsis or symbols[0] == "*")
    return (symbols[1:] if open_ended else symbols), open_ended


def _symbol(size):
    """Returns a size of a shape: digits as a number, anything else as it is."""
    if isinstance(size, (np.generic, str)):
        size = size.item() if isinstance(size, np.generic) else size
        return int(size) if isinstance(size, str) and size.isdigit() else size
    return size


def _rank_check(x, symbols: list, open_ended: bool, data, summarize, message) -> Operation | None:
    if open_ended:
        return assert_rank_at_least(x, len(symbols), data, summarize, message) if len(symbols) > 1 else None
    if len(symbols) > 1:
        return assert_rank(x, len(symbols), data, summarize, message)
    # A scalar and a vector of one element are the same here.
    return assert_rank_in(x, [0, 1], data, summarize, message)


def _size_checks(x, symbols: list, open_ended: bool, sizes: Tensor, known: dict, data, summarize, message) -> list[Operation]:
    static = x.get_shape()
    checks = []
    for i, symbol in enumerate(symbols):
        if symbol is None or symbol == ".":
            continue
        at = i - len(symbols) if open_ended else i
        found = static[at].value if static.rank else (1 if static.rank == 0 else None)
        if isinstance(symbol, int):
            wanted, where = symbol, "Specified explicitly"
        elif symbol not in known:
            known[symbol] = sizes[at] if found is None else found, f"Specified by tensor {x.name} dimension {at}"
            continue
        else:
            wanted, where = known[symbol]
        if isinstance(wanted, int) and found is not None:
            if wanted != found:
                raise ValueError(f"{message_prefix(message)}{where}.  Tensor {x.name} dimension {at} must have size {wanted}.  Received size "
                                 f"{found}, shape {static}")
            continue
        condition = equal(sizes[at] if found is None else found, wanted)
        shown = data or [message_prefix(message), where, f"Tensor {x.name} dimension", at, "must have size", wanted, "Received shape: ", shape_of(x)]
        checks.append(Assert(condition, shown, summarize=summarize))
    return checks
