"""Datasets of what generators of Python yield."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from flowmill._internal import script_ops
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph
from flowmill._internal.session import Session
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import RaggedTensorSpec, SparseTensorSpec
from flowmill._internal.type_spec import TypeSpec
from flowmill.data import _nest, _structure
from flowmill.data._base import INT64, made
from flowmill.data._function import DatasetFunction
from flowmill.ragged import RaggedTensor

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


class _Generators:
    """The iterators that a dataset has of its generator, by numbers. Many steps may ask at once."""

    def __init__(self, generator: Callable):
        self._generator = generator
        self._numbers = itertools.count()
        self._arguments: dict[int, tuple] = {}
        self._iterators: dict[int, Iterator] = {}

    def begin(self, *arguments) -> np.ndarray:
        """Returns the number of a new iterator."""
        number = next(self._numbers)
        self._arguments[number] = arguments
        return np.array(number, np.int64)

    def next(self, number) -> Any:
        """Returns what an iterator yields next; the first call makes the iterator."""
        number = int(number)
        iterator = self._iterators.get(number)
        if iterator is None:
            iterator = self._iterators[number] = iter(self._generator(*self._arguments.pop(number)))
        return next(iterator)

    def end(self, number) -> np.ndarray:
        """Forgets an iterator."""
        self._arguments.pop(int(number), None)
        self._iterators.pop(int(number), None)
        return np.array(0, np.int64)


def _signature(output_types, output_shapes, signature) -> Any:
    """Returns the spec of the elements."""
    if signature is None:
        if output_types is None:
            raise TypeError("To specify the output signature you need to provide either the `output_signature` argument or the `output_types` "
                            "argument.")
        return _structure.of_legacy(output_types, output_shapes, None)
    for given, label in ((output_types, "output_types"), (output_shapes, "output_shapes")):
        if given is not None:
            raise TypeError(f"The `{label}` argument can not be used together with the `output_signature` argument.")
    for spec in _nest.flatten(signature):
        if not isinstance(spec, TypeSpec):
            raise TypeError(f"`output_signature` must contain objects that are subclass of `tf.TypeSpec` but found {type(spec)} which is not.")
    return signature


def from_generator(generator, output_types, output_shapes, args, output_signature, name: str | None) -> Dataset:
    """See :meth:`Dataset.from_generator`."""
    from flowmill.data._dataset import Dataset  # cycle: data._sources imports this module

    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    spec = _signature(output_types, output_shapes, output_signature)
    arguments = [convert_to_tensor(a, name=f"args_{i}") for i, a in enumerate(args or ())]
    state = _Generators(generator)

    def get_iterator_id_fn(_):
        return script_ops.numpy_function(state.begin, arguments, INT64)

    def generator_next_fn(number):
        arrays, types = _arrays_of(spec)
        tensors = script_ops.numpy_function(lambda n: arrays(_evaluated(state.next, n)), [number], types)
        return _element_of(spec, tensors)

    def finalize_fn(number):
        return script_ops.numpy_function(state.end, [number], INT64)

    def flat_map_fn(dummy) -> Dataset:
        label = "Dataset.from_generator()"
        init = DatasetFunction(get_iterator_id_fn, label, TensorSpec(dummy.shape, dummy.dtype))
        following = DatasetFunction(generator_next_fn, label, init.output_spec)
        finalize = DatasetFunction(finalize_fn, label, init.output_spec)
        return made("GeneratorDataset", spec, [], [dummy, *init.captured], following.captured, finalize.captured, init_func=init.attr,
                    next_func=following.attr, finalize_func=finalize.attr, name=name, is_v2=True)

    # A dataset in a dataset: each repetition calls `init_func` anew and so has a number of its own.
    return Dataset.from_tensors(0, name=name).flat_map(flat_map_fn, name=name)


def _evaluated(following: Callable, number) -> Any:
    """Returns what a generator yields, with values for the tensors that it made: sparse and ragged ones, too."""
    with Graph().as_default() as graph:
        element = following(number)
        leaves = _nest.flatten(element)
        fetches = {i: leaf for i, leaf in enumerate(leaves) if hasattr(leaf, "_components") or isinstance(leaf, Tensor)}
        if not fetches:
            return element
        with Session(graph=graph) as session:
            values = session.run(fetches)
    return _nest.pack_sequence_as(element, [values.get(i, leaf) for i, leaf in enumerate(leaves)])


def _arrays_of(spec) -> tuple[Callable, list]:
    """Returns what makes arrays of an element that a generator yields, and the types of the arrays."""
    components = _nest.flatten(spec)
    kinds = [_ARRAYS[type(c)] for c in components]
    types = [dtype for kind, component in zip(kinds, components) for dtype in kind[0](component)]

    def arrays(element) -> list[np.ndarray]:
        try:
            values = _nest.flatten_up_to(spec, element)
        except (TypeError, ValueError):
            raise TypeError("`generator` yielded an element that did not match the expected structure. The expected structure was "
                            f"{_structure.legacy_types(spec)}, but the yielded element was {element}.") from None
        return [array for kind, component, value in zip(kinds, components, values) for array in kind[1](component, value)]

    return arrays, types


def _element_of(spec, tensors) -> Any:
    """Returns the element that the arrays represent."""
    values, at = [], 0
    for component in _nest.flatten(spec):
        types, _, build = _ARRAYS[type(component)]
        count = len(types(component))
        values.append(build(component, tensors[at:at + count]))
        at += count
    return _nest.pack_sequence_as(spec, values)


def _array(value, dtype, shape: TensorShape) -> np.ndarray:
    """Returns a value as an array of a type and shape.

    Raises:
        TypeError: if it is of another type or shape.
    """
    wanted = dtype.as_numpy_dtype
    try:
        found = _strings(value) if dtype.name == "string" else np.asarray(value, dtype=wanted)
    except (TypeError, ValueError):
        raise TypeError("`generator` yielded an element that could not be converted to the expected type. The expected type was "
                        f"{dtype.name}, but the yielded element was {value}.") from None
    if not shape.is_compatible_with(found.shape):
        raise TypeError(f"`generator` yielded an element of shape {found.shape} where an element of shape {shape} was expected.")
    return found


def _strings(value) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind not in "OSU":
        raise TypeError("not a string")
    flat = [v if isinstance(v, bytes) else v.encode() for v in (np.asarray(value, object).reshape(-1) if array.size else ())]
    found = np.empty(len(flat), object)
    found[:] = flat
    return found.reshape(array.shape)


def _dense_arrays(spec: TensorSpec, value) -> list[np.ndarray]:
    return [_array(value, spec.dtype, spec.shape)]


def _dense(spec: TensorSpec, tensors):
    tensors[0].set_shape(spec.shape)
    return tensors[0]


def _sparse_arrays(spec: SparseTensorSpec, value) -> list[np.ndarray]:
    rank = spec.shape.rank
    return [_array(value.indices, INT64, TensorShape([None, rank])), _array(value.values, spec.dtype, TensorShape([None])),
            _array(value.dense_shape, INT64, TensorShape([rank]))]


def _sparse(spec: SparseTensorSpec, tensors):
    rank = spec.shape.rank
    for tensor, shape in zip(tensors, ([None, rank], [None], [rank])):
        tensor.set_shape(shape)
    value = SparseTensor(*tensors)
    value._known = spec.shape
    return value


def _ragged_arrays(spec: RaggedTensorSpec, value) -> list[np.ndarray]:
    found, splits = value, []
    for _ in range(spec.ragged_rank):
        splits.append(_array(found.row_splits, spec.row_splits_dtype, TensorShape([None])))
        found = found.values
    return [_array(found, spec.dtype, TensorShape(None)), *splits]


def _ragged(spec: RaggedTensorSpec, tensors):
    values, *splits = tensors
    if spec.shape.rank is not None:
        values.set_shape(TensorShape([None]).concatenate(spec.shape[spec.ragged_rank + 1:]))
    for tensor in splits:
        tensor.set_shape([None])
    return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


# For each kind of spec: the types of the arrays that represent a component, what makes them of a value, and what makes a component of their tensors.
_ARRAYS: dict[type, tuple[Callable, Callable, Callable]] = {
    TensorSpec: (lambda spec: [spec.dtype], _dense_arrays, _dense),
    SparseTensorSpec: (lambda spec: [INT64, spec.dtype, INT64], _sparse_arrays, _sparse),
    RaggedTensorSpec: (lambda spec: [spec.dtype] + [spec.row_splits_dtype] * spec.ragged_rank, _ragged_arrays, _ragged),
}
