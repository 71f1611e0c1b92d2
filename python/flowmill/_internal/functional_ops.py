"""Functions over the rows of tensors: `map_fn`, `foldl`, `foldr`, `scan`. Each is a loop over TensorArrays."""

from __future__ import annotations

import contextlib

from flowmill import nest
from flowmill._internal.apply import graph_of
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.loops import while_loop
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_array import TensorArray, _shape
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import as_dtype


@contextlib.contextmanager
def _scope(name: str, values):
    graph = graph_of(values)
    with graph.as_default(), graph.name_scope(name):
        yield


def _check_callable(fn) -> None:
    if not callable(fn):
        raise TypeError(f"The provided function {getattr(fn, '__name__', fn)} is not callable. fn must be callable.")


def _converted(elems) -> list[Tensor]:
    flat = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
    if not flat:
        raise ValueError(f"elems must be a Tensor or (possibly nested) sequence of Tensors. Got {elems}, which does not contain any Tensors.")
    return flat


def _static_rows(flat: list[Tensor]) -> int | None:
    """Returns the number of rows as far as it is known, the same for all."""
    rows = flat[0].shape.with_rank_at_least(1).dims[0] if flat[0].shape.rank is not None else None
    for other in flat[1:]:
        if rows is not None and other.shape.rank is not None:
            rows.assert_is_compatible_with(other.shape.with_rank_at_least(1).dims[0])
    return None if rows is None else rows.value


def _rows(tensor: Tensor, static: int | None):
    """Returns the number of rows: a number if it is known."""
    return static or _shape(tensor)[0]


def map_fn(fn, elems, dtype=None, parallel_iterations: int | None = None, back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
           name: str | None = None, fn_output_signature=None):
    """Returns the results of `fn` for each row, stacked.

    Args:
        fn: called with the structure of one row of each tensor; returns a structure like `elems`, or like `dtype` if that is given.
        elems: a tensor, or a structure of tensors with equally many rows, which may be ragged or sparse.
        dtype: the types of what `fn` gives, in its structure; those of `elems` if it is None.
        parallel_iterations: how many rows may be worked on at once, 10 if it is None.
        back_prop: whether gradients go through.
        swap_memory: not used.
        infer_shape: whether `fn` gives tensors of the same shape for all rows.
        name: the name of the scope.
        fn_output_signature: as `dtype`; may hold specs of dense, ragged and sparse tensors.

    Raises:
        TypeError: if `fn` cannot be called, or gives a structure of another kind.
        ValueError: if there are no tensors, they are scalars, or the numbers of rows differ.
    """
    _check_callable(fn)
    signature = dtype if fn_output_signature is None else fn_output_signature
    given = nest.flatten(elems)
    with _scope(name or "map", given):
        taken = [_Rows.of_value(e) for e in given]
        flat = _converted([rows.whole for rows in taken])
        if flat[0].shape.rank == 0:
            raise ValueError("Elements in elems must be 1+ dimensional Tensors, not scalars")
        static = _static_rows(flat)
        n = _rows(flat[0], static)
        arrays = [TensorArray(t.dtype, size=n, dynamic_size=False, infer_shape=True) for t in flat]
        arrays = [array.unstack(t) for array, t in zip(arrays, flat)]
        i = constant(0)
        made = [_Rows(t.dtype if rows.spec is None else _any_rows(rows.spec)) for t, rows in zip(flat, taken)] if signature is None \
            else [_Rows(t) for t in nest.flatten(signature)]
        results = [TensorArray(rows.dtype, size=n, dynamic_size=False, infer_shape=infer_shape, element_shape=rows.shape) for rows in made]

        def compute(i, results):
            value = fn(nest.pack_sequence_as(elems, [rows.decoded(array.read(i)) for rows, array in zip(taken, arrays)]))
            nest.assert_same_structure(elems if signature is None else signature, value)
            parts = nest.flatten(value)
            return i + 1, [array.write(i, rows.encoded(part)) for array, rows, part in zip(results, made, parts)]

        _, results = while_loop(lambda i, _: i < n, compute, (i, results), parallel_iterations=parallel_iterations or 10, back_prop=back_prop,
                                swap_memory=swap_memory, maximum_iterations=n)
        stacked = [array.stack() for array in results]
        for tensor in stacked:
            tensor.set_shape(TensorShape([static]).concatenate(tensor.shape[1:]))
        return nest.pack_sequence_as(elems if signature is None else signature, [rows.together(t, static) for rows, t in zip(made, stacked)])


class _Rows:
    """The form in which rows go through TensorArrays: tensors as they are, ragged and sparse tensors in variants.

    Args:
        kind: the type or the spec of a row.
        whole: the tensor that the array holds the rows of, for rows that are taken apart.
    """

    def __init__(self, kind, whole=None):
        self.whole, self.spec = whole, kind if _is_composite(kind) else None
        self.dtype = as_dtype("variant") if self.spec is not None else getattr(kind, "dtype", kind)
        self.shape = None if self.spec is not None else getattr(kind, "shape", None)

    @classmethod
    def of_value(cls, value) -> _Rows:
        """Returns the rows of a tensor."""
        if isinstance(value, Tensor) or not hasattr(value, "_components"):
            return cls(None, value)
        from flowmill._internal.composite_specs import type_spec_from_value  # start-up: few programs map ragged or sparse tensors

        spec = type_spec_from_value(value)
        (whole,) = _encoding_of(spec).encode_batch(spec, value)
        return cls(_encoding_of(spec).unbatch(spec), whole)

    def encoded(self, value):
        """Returns what the array holds for a row."""
        return value if self.spec is None else _encoding_of(self.spec).encode(self.spec, value)[0]

    def decoded(self, tensor: Tensor):
        """Returns the row that an element of the array represents."""
        return tensor if self.spec is None else _encoding_of(self.spec).decode(self.spec, [tensor])

    def together(self, tensor: Tensor, count: int | None):
        """Returns all rows as one tensor."""
        if self.spec is None:
            return tensor
        encoding = _encoding_of(self.spec)
        return encoding.decode(encoding.batch(self.spec, count), [tensor])


def _is_composite(kind) -> bool:
    return hasattr(kind, "_component_specs") and kind._component_specs is not kind


def _encoding_of(spec):
    from flowmill.data._encodings import encoding_of  # start-up: few programs map ragged or sparse tensors

    return encoding_of(spec)


def _any_rows(spec):
    """Returns the spec of rows of any shape like those of `spec`."""
    return spec._with_shape(TensorShape(None if spec.shape.rank is None else [None] * spec.shape.rank))


def _unstacked(elems, flat: list[Tensor], n):
    """Returns the rows of tensors as arrays, in their structure."""
    return nest.pack_sequence_as(elems, [TensorArray(t.dtype, size=n, dynamic_size=False, infer_shape=True).unstack(t) for t in flat])


def _read(arrays, i):
    return nest.map_structure(lambda array: array.read(i), arrays)


def foldl(fn, elems, initializer=None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, name: str | None = None):
    """Combines rows from the first to the last: ``fn(fn(initializer, row0), row1)`` …

    Args:
        fn: called with what came out so far and the structure of a row of each tensor; returns what comes out now.
        elems: a tensor, or a structure of tensors with equally many rows.
        initializer: what to begin with, any structure; the first row if it is None.
        parallel_iterations: how many calls may run at once.
        back_prop: whether gradients go through.
        swap_memory: not used.
        name: the name of the scope.

    Raises:
        TypeError: if `fn` cannot be called.
    """
    _check_callable(fn)
    with _scope(name or "foldl", nest.flatten(elems)):
        flat = _converted(elems)
        n = _rows(flat[0], _static_rows(flat[:1]))
        arrays = _unstacked(elems, flat, n)
        a, i = (_read(arrays, 0), constant(1)) if initializer is None else (initializer, constant(0))

        def compute(i, a):
            a = fn(a, _read(arrays, i))
            return [i + 1, a]

        _, result = while_loop(lambda i, a: i < n, compute, [i, a], parallel_iterations=parallel_iterations, back_prop=back_prop,
                               swap_memory=swap_memory, maximum_iterations=n)
        return result


def foldr(fn, elems, initializer=None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, name: str | None = None):
    """Combines rows from the last to the first; otherwise as :func:`foldl`."""
    _check_callable(fn)
    with _scope(name or "foldr", nest.flatten(elems)):
        flat = _converted(elems)
        n = _rows(flat[0], _static_rows(flat[:1]))
        arrays = _unstacked(elems, flat, n)
        i = n if initializer is not None else n - 1
        a = _read(arrays, i) if initializer is None else initializer

        def compute(i, a):
            i -= 1
            return [i, fn(a, _read(arrays, i))]

        _, result = while_loop(lambda i, a: i > 0, compute, [i, a], parallel_iterations=parallel_iterations, back_prop=back_prop,
                               swap_memory=swap_memory, maximum_iterations=n)
        return result


def scan(fn, elems, initializer=None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True,
         reverse: bool = False, name: str | None = None):
    """Returns all that comes out on the way of combining rows, stacked: the last row is what :func:`foldl` gives.

    Args:
        fn: called with what came out so far and the structure of a row of each tensor; returns what comes out now, in the structure of `initializer`,
            of `elems` if that is None.
        elems: a tensor, or a structure of tensors with equally many rows.
        initializer: what to begin with; the first row if it is None, which is the first of the result then.
        parallel_iterations: how many calls may run at once.
        back_prop: whether gradients go through.
        swap_memory: not used.
        infer_shape: whether what comes out has the same shape each time.
        reverse: whether to begin with the last row. The result's rows belong to those of `elems` still.
        name: the name of the scope.

    Raises:
        TypeError: if `fn` cannot be called, or gives a structure of another kind.
        ValueError: if the numbers of rows differ.
    """
    _check_callable(fn)
    structure = elems if initializer is None else initializer
    with _scope(name or "scan", nest.flatten(elems)):
        flat = _converted(elems)
        n = flat[0].shape.as_list()[0] if flat[0].shape.rank else None
        if n is None:
            n = _shape(flat[0])[0]
        arrays = [TensorArray(t.dtype, size=n, dynamic_size=False, element_shape=t.shape[1:], infer_shape=True) for t in flat]
        arrays = [array.unstack(t) for array, t in zip(arrays, flat)]
        if initializer is None:
            start, i = [array.read(n - 1 if reverse else 0) for array in arrays], 1
        else:
            start, i = [convert_to_tensor(part) for part in nest.flatten(initializer)], 0
        results = [TensorArray(a.dtype, size=n, element_shape=a.shape if infer_shape else None, dynamic_size=False, infer_shape=infer_shape)
                   for a in start]
        if initializer is None:
            results = [array.write(n - 1 if reverse else 0, a) for array, a in zip(results, start)]

        def compute(i, a, results):
            row = nest.pack_sequence_as(elems, [array.read(i) for array in arrays])
            made = fn(nest.pack_sequence_as(structure, a), row)
            nest.assert_same_structure(structure, made)
            parts = nest.flatten(made)
            results = [array.write(i, part) for array, part in zip(results, parts)]
            return (i - 1 if reverse else i + 1), parts, results

        goes_on = (lambda i, _a, _r: i >= 0) if reverse else (lambda i, _a, _r: i < n)
        _, _, results = while_loop(goes_on, compute, (n - 1 - i if reverse else i, start, results), parallel_iterations=parallel_iterations,
                                   back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=n)
        stacked = [array.stack() for array in results]
        rows = _static_rows(flat)
        for tensor in stacked:
            tensor.set_shape(TensorShape([rows]).concatenate(tensor.shape[1:]))
        return nest.pack_sequence_as(structure, stacked)


__all__ = ["foldl", "foldr", "map_fn", "scan"]
