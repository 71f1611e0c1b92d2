"""Iterators: what takes elements out of a dataset while a graph runs."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

import numpy as np

from flowmill import errors, script_ops
from flowmill._convert import constant, convert_to_tensor
from flowmill.compat import as_text
from flowmill.data._dataset import Dataset, Elements, _with_shapes, get_output_types
from flowmill.data._pipeline import Run
from flowmill.data._structure import Structure, rebuild
from flowmill.dtypes import string
from flowmill.graph import get_default_graph
from flowmill.tensor import Operation, Tensor

_NOT_INITIALIZED = ("GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer operation for this "
                    "iterator before getting the next element.")


class _State:
    """Where an iterator is. Many steps may ask at once."""

    def __init__(self, begin=None):
        self._lock = threading.Lock()
        self._begin = begin
        self._elements = None
        self.handle: str | None = None

    def start(self, dataset: Dataset, values: dict) -> None:
        with self._lock:
            self._elements = iter(dataset._elements(Run(values)))

    def next(self) -> list:
        with self._lock:
            if self._elements is None:
                if self._begin is None:
                    raise errors.FailedPreconditionError(None, None, _NOT_INITIALIZED)
                self._elements = iter(self._begin())
            try:
                return next(self._elements)
            except StopIteration:
                raise errors.OutOfRangeError(None, None, "End of sequence") from None


# States by the strings that stand for them.
_states: weakref.WeakValueDictionary[str, _State] = weakref.WeakValueDictionary()
_numbers = itertools.count()


class Iterator(Elements):
    """Gives the elements of a dataset, one for each step that runs what :meth:`get_next` gives."""

    def __init__(self, structure: Structure, state: _State, initializer: Operation | None):
        """For this package alone; :func:`make_one_shot_iterator` and its kin make iterators."""
        self._structure, self._state, self._initializer = structure, state, initializer
        self._string_handle: Tensor | None = None

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name=None, output_classes=None) -> Iterator:
        """An iterator for several datasets of the same form; :meth:`make_initializer` says which."""
        return Iterator(Structure(_with_shapes(output_types, output_shapes)), _State(), None)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None) -> Iterator:
        """The iterator that a string stands for when a step runs: what :meth:`string_handle` of one with elements of this form gives."""
        iterator = Iterator(Structure(_with_shapes(output_types, output_shapes)), _State(), None)
        iterator._string_handle = convert_to_tensor(string_handle, string)
        return iterator

    def string_handle(self, name: str | None = None) -> Tensor:
        """A string that stands for this iterator, to be fed to the placeholder of another one."""
        if self._string_handle is not None:
            return self._string_handle
        if self._state.handle is None:
            self._state.handle = f"iterator_{next(_numbers)}"
            _states[self._state.handle] = self._state
            get_default_graph().__dict__.setdefault("_iterator_states", []).append(self._state)  # it lives as long as the graph
        return constant(self._state.handle, name=name or "IteratorToStringHandle")

    @property
    def initializer(self) -> Operation:
        """The operation that goes to the first element.

        Raises:
            ValueError: for an iterator that has none.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """An operation that goes to the first element of a dataset.

        Raises:
            TypeError: where its elements have other types.
        """
        if get_output_types(dataset) != get_output_types(self):
            raise TypeError(f"Expected output types {get_output_types(self)!r} but got dataset with output types {get_output_types(dataset)!r}.")
        return _initializer(dataset, self._state, name or "make_initializer")

    def get_next(self, name: str | None = None):
        """The next element; a step that asks for one past the last fails with `OutOfRangeError`."""
        types = [dtype for dtype, _ in self._structure.parts]
        if self._string_handle is None:
            tensors = script_ops.py_func(self._state.next, [], types, stateful=True, name=name or "IteratorGetNext")
        else:
            tensors = script_ops.py_func(_next_of, [self._string_handle], types, stateful=True, name=name or "IteratorGetNext")
        for tensor, (_, shape) in zip(tensors, self._structure.parts):
            tensor.set_shape(shape)
        return self._structure.pack(tensors)


def _next_of(handle: bytes) -> list:
    """The next element of the iterator that a string stands for."""
    state = _states.get(as_text(handle))
    if state is None:
        raise errors.InvalidArgumentError(None, None, f"There is no iterator with the handle {handle!r}.")
    return state.next()


def _initializer(dataset: Dataset, state: _State, name: str) -> Operation:
    tensors = dataset._tensors()

    def start(*values) -> tuple:
        state.start(dataset, {id(t): v for t, v in zip(tensors, values)})
        return ()

    return script_ops.py_func(start, tensors, [], stateful=True, name=name)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """An iterator that goes through the elements once and needs no initializer.

    Raises:
        ValueError: for a dataset that depends on tensors that are no constants.
    """
    values = _constants(dataset, "`Dataset.make_one_shot_iterator()`")
    return Iterator(dataset._structure, _State(lambda: dataset._elements(Run(values))), None)


def _constants(dataset: Dataset, what: str) -> dict:
    """The values of the constants that a dataset depends on, for what takes no others."""
    from flowmill.tensor_util import constant_value

    values = {}
    for tensor in dataset._tensors():
        value = constant_value(tensor)
        if value is None:
            raise ValueError(f"Failed to create a one-shot iterator for a dataset. {what} does not support datasets that capture stateful objects or "
                             f"placeholders, such as {tensor!r}. Use `Dataset.make_initializable_iterator()`.")
        values[id(tensor)] = value
    return values


class NumpyIterator:
    """The elements of a dataset as arrays, without a session: what :meth:`Dataset.as_numpy_iterator` gives. TensorFlow has it where it runs eagerly.

    Args:
        dataset: a dataset that depends on no tensors but constants.

    Raises:
        ValueError: where it depends on others.
        TypeError: where elements are sparse.
    """

    def __init__(self, dataset: Dataset):
        if any(c.is_sparse for c in dataset._structure.components):
            raise TypeError(f"as_numpy_iterator() takes datasets of tensors, not of SparseTensors: {dataset.output_classes}")
        self._template = dataset._structure.template
        self._elements = iter(dataset._elements(Run(_constants(dataset, "as_numpy_iterator()"))))

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        """The next element, arrays in its form, scalars as NumPy's."""
        parts = (np.asarray(part) for part in next(self._elements))
        return rebuild(self._template, [part[()] if part.ndim == 0 else part for part in parts])


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """An iterator that begins when its `initializer` runs, and again each time it does. Tensors that the dataset depends on are computed then."""
    state = _State()
    return Iterator(dataset._structure, state, _initializer(dataset, state, "make_initializer"))
