"""Functions over the rows of tensors whose results say themselves what they are: `vectorized_map`."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.func_graph import FuncGraph, trace
from flowmill._internal.functional_ops import map_fn
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor_shape import TensorShape

__all__ = ["vectorized_map"]


def vectorized_map(fn, elems, fallback_to_while_loop: bool = True, warn: bool = True):
    """Returns the results of `fn` for each row, stacked: like :func:`flowmill.map_fn`, row by row, without stated types.

    Args:
        fn: called with the structure of one row of each tensor, once more than rows are worked on; returns any structure of tensors, of the same
            shape for all rows.
        elems: a tensor, or a structure of tensors with equally many rows; those with one row have it for all.
        fallback_to_while_loop: not used: it is a loop.
        warn: not used.

    Raises:
        ValueError: if the numbers of rows differ.
    """
    elems = nest.map_structure(convert_to_tensor, elems)
    flat = nest.flatten(elems)
    rows = {t.shape.as_list()[0] for t in flat if t.shape.rank} - {1}
    if len(rows - {None}) > 1:
        raise ValueError(f"The batch dimensions of the elements differ: {sorted(rows - {None})}.")
    single = [t.shape.rank is not None and t.shape.as_list()[0] == 1 and bool(rows) for t in flat]

    def called(parts):
        parts = iter(parts)
        return fn(nest.pack_sequence_as(elems, [t[0] if alone else next(parts) for t, alone in zip(flat, single)]))

    mapped = [t for t, s in zip(flat, single) if not s]
    body = FuncGraph("vectorized_map", get_default_graph(), functional=get_default_graph().building_function)
    parameters = [body.placeholder(t.dtype, TensorShape(None) if t.shape.rank is None else t.shape[1:]) for t in mapped]
    trace(body, lambda: called(parameters), ())
    types = nest.pack_sequence_as(body.structured_outputs, [t.dtype for t in body.outputs])
    return map_fn(called, mapped, dtype=types)
