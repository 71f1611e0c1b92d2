"""Iterators: resources that hold a place in a dataset while sessions run."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.func_graph import to_function, unique_function_name
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.random_seed import get_seed
from flowmill._internal.session import Session
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import NoneTensorSpec, RaggedTensorSpec, SparseTensorSpec
from flowmill.data import _nest, _structure
from flowmill.data._capture import FactoryGraph, copy_by_value
from flowmill.data._specs import Optional
from flowmill.dtypes import as_dtype
from flowmill.errors import OutOfRangeError

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset

# After how many calls of `get_next` one more is likely a mistake.
_MANY_CALLS = 32

# The collection of the resources of a graph's iterators.
_ITERATORS = "iterators"


class Iterator:
    """A place in a dataset. Each step that runs what :meth:`get_next` returns goes to the next element; each session has its own place.

    Args:
        iterator_resource: the resource.
        initializer: the operation that goes to the first element, None for an iterator without one.
        output_types: the types of the components of an element, in its form.
        output_shapes: their shapes.
        output_classes: their classes.

    Raises:
        ValueError: if types, shapes or classes are None.
    """

    def __init__(self, iterator_resource: Tensor, initializer: Operation | None, output_types, output_shapes, output_classes):
        if output_types is None or output_shapes is None or output_classes is None:
            raise ValueError("All of `output_types`, `output_shapes`, and `output_classes` must be specified to create an iterator. Got "
                             f"`output_types` = {output_types!r}, `output_shapes` = {output_shapes!r}, `output_classes` = {output_classes!r}.")
        self._iterator_resource, self._initializer = iterator_resource, initializer
        self._element_spec = _structure.of_legacy(output_types, output_shapes, output_classes)
        self._string_handle = call("IteratorToStringHandle", None, iterator_resource)
        self._num_calls = 0
        get_default_graph().add_to_collection(_ITERATORS, iterator_resource)

    @classmethod
    def _of(cls, resource: Tensor, initializer: Operation | None, spec) -> Iterator:
        return cls(resource, initializer, _structure.legacy_types(spec), _structure.legacy_shapes(spec), _structure.legacy_classes(spec))

    @staticmethod
    def from_structure(output_types, output_shapes=None, shared_name: str | None = None, output_classes=None) -> Iterator:
        """Returns an iterator for several datasets of the same form; :meth:`make_initializer` says which.

        Args:
            output_types: the types of the components of an element, in its form.
            output_shapes: their shapes, None if nothing is known of them.
            shared_name: the name by which other graphs of the session reach the iterator.
            output_classes: their classes, None for tensors.
        """
        spec = _structure.of_legacy(output_types, output_shapes, output_classes)
        return Iterator._of(_resource(spec, shared_name), None, spec)

    @staticmethod
    def from_string_handle(string_handle, output_types, output_shapes=None, output_classes=None) -> Iterator:
        """Returns the iterator that a string refers to when a step runs: what :meth:`string_handle` of another one computes.

        Args:
            string_handle: the string, usually a placeholder.
            output_types: the types of the components of an element, in its form.
            output_shapes: their shapes, None if nothing is known of them.
            output_classes: their classes, None for tensors.
        """
        spec = _structure.of_legacy(output_types, output_shapes, output_classes)
        handle = convert_to_tensor(string_handle, as_dtype("string"))
        return Iterator._of(call("IteratorFromStringHandleV2", None, handle, **_flat(spec)), None, spec)

    @property
    def initializer(self) -> Operation:
        """The operation that goes to the first element.

        Raises:
            ValueError: for an iterator that has none.
        """
        if self._initializer is None:
            raise ValueError("The iterator does not have an initializer. This means it was likely created using "
                             "`tf.data.Dataset.make_one_shot_iterator()`. For an initializable iterator, use "
                             "`tf.data.Dataset.make_initializable_iterator()` instead.")
        return self._initializer

    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """Returns an operation that goes to the first element of a dataset.

        Raises:
            TypeError: if its elements have other types, shapes or classes.
        """
        with op_scope(name, "make_initializer") as scope:
            spec = dataset.element_spec
            for mine, theirs in ((self.output_types, _structure.legacy_types(spec)), (self.output_shapes, _structure.legacy_shapes(spec))):
                _nest.assert_same_structure(mine, theirs)
            for what, find, fits in (
                    ("output classes", _structure.legacy_classes, lambda a, b: a is b or a == b),
                    ("output types", _structure.legacy_types, lambda a, b: a == b),
                    ("output shapes compatible with", _structure.legacy_shapes, lambda a, b: a.is_compatible_with(b))):
                mine, theirs = find(self._element_spec), find(spec)
                if not all(fits(a, b) for a, b in zip(_nest.flatten(mine), _nest.flatten(theirs))):
                    raise TypeError(f"Expected {what} {mine!r} but got dataset with {what.removesuffix(' compatible with')} {theirs!r}.")
        with get_default_graph().colocate_with(self._iterator_resource):
            return call("MakeIterator", scope, dataset._variant_tensor, self._iterator_resource)

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element. A step that needs one past the last fails with `OutOfRangeError`."""
        self._num_calls += 1
        if self._num_calls > _MANY_CALLS:
            warnings.warn("An unusually high number of `Iterator.get_next()` calls was detected. Call it once and run what it returns in each "
                          "step: each call adds an operation to the graph.", stacklevel=2)
        with get_default_graph().colocate_with(self._iterator_resource):
            tensors = call("IteratorGetNext", name, self._iterator_resource, **_flat(self._element_spec))
            return _structure.decode(self._element_spec, tensors)

    def get_next_as_optional(self) -> Optional:
        """Returns the next element, or after the last one an :class:`Optional` that is not there."""
        with get_default_graph().colocate_with(self._iterator_resource):
            return Optional(call("IteratorGetNextAsOptional", None, self._iterator_resource, **_flat(self._element_spec)), self._element_spec)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns a string that refers to this iterator, to be fed to the placeholder of another one."""
        return self._string_handle if name is None else call("IteratorToStringHandle", name, self._iterator_resource)

    @property
    def output_types(self) -> Any:
        """The types of the components of an element, in its form."""
        return _structure.legacy_types(self._element_spec)

    @property
    def output_shapes(self) -> Any:
        """The static shapes of the components of an element, in its structure."""
        return _structure.legacy_shapes(self._element_spec)

    @property
    def output_classes(self) -> Any:
        """The classes of the components of an element, in its form."""
        return _structure.legacy_classes(self._element_spec)

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in its structure."""
        return self._element_spec


def _flat(spec) -> dict[str, Any]:
    return {"output_types": _structure.tensor_types(spec), "output_shapes": _structure.tensor_shapes(spec)}


def _resource(spec, shared_name: str | None) -> Tensor:
    return call("IteratorV2", None, container="", shared_name=shared_name or "", **_flat(spec))


def _check_graph(dataset: Dataset) -> None:
    graph, todo = get_default_graph(), [dataset]
    while todo:
        found = todo.pop()
        if found._graph is not graph:
            raise ValueError(f"The graph {graph} of the iterator is different from the graph {found._graph} the dataset: {found._variant_tensor} was "
                             "created in. Make sure that the dataset is created in the same graph as the iterator.")
        todo.extend(found._input_datasets)


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Returns an iterator that goes through the elements once and needs no initializer.

    Raises:
        ValueError: for a dataset that depends on placeholders, variables or tables.
    """
    _check_graph(dataset)
    graph = get_default_graph()
    get_seed(None)  # operations without a seed that follow have the next one
    body = FactoryGraph(unique_function_name("", "_make_dataset"), graph, functional=False)
    try:
        with body.as_default():
            body.outputs.append(body.capture(dataset._variant_tensor))
    except ValueError as error:
        if "Cannot capture a stateful node" not in str(error):
            raise
        raise ValueError(f"{error}: A likely cause of this error is that the dataset for which you are calling `make_one_shot_iterator()` captures a "
                         "stateful object, such as a `tf.Variable` or `tf.lookup.StaticHashTable`, which is not supported. Use "
                         "`make_initializable_iterator()` instead.") from None
    factory = to_function(body)
    with graph.colocate_with(dataset._variant_tensor):
        return Iterator._of(call("OneShotIterator", None, dataset_factory=factory, **_flat(dataset.element_spec)), None, dataset.element_spec)


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Returns an iterator that begins when its `initializer` runs, and again each time it does.

    Args:
        dataset: the dataset, which may depend on any tensors.
        shared_name: the name by which other graphs of the session reach the iterator.

    Raises:
        ValueError: for a dataset of another graph.
    """
    _check_graph(dataset)
    with get_default_graph().colocate_with(dataset._variant_tensor):
        resource = _resource(dataset.element_spec, shared_name)
        return Iterator._of(resource, call("MakeIterator", None, dataset._variant_tensor, resource), dataset.element_spec)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Returns the next element of an iterator, or after the last one an :class:`Optional` that is not there."""
    return iterator.get_next_as_optional()


class NumpyIterator:
    """The elements of a dataset as arrays, without a session of the caller's: what :meth:`Dataset.as_numpy_iterator` returns. TensorFlow has it
    where it runs eagerly.

    Args:
        dataset: a dataset that depends on no state and on no placeholders.

    Raises:
        TypeError: if elements have components that are no tensors, such as datasets.
        ValueError: if the dataset depends on state or on placeholders.
    """

    def __init__(self, dataset: Dataset):
        spec = dataset.element_spec
        for component in _nest.flatten(spec):
            if not isinstance(component, (TensorSpec, RaggedTensorSpec, SparseTensorSpec, NoneTensorSpec)):
                raise TypeError(f"`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce values of type "
                                f"{component.value_type}")
        graph = Graph()
        with graph.as_default():
            resource = _resource(spec, None)
            variant = copy_by_value(dataset._variant_tensor, graph)
            initializer = call("MakeIterator", None, variant, resource)
            element = _structure.decode(spec, call("IteratorGetNext", None, resource, **_flat(spec)))
        self._fetches = [part for part in _nest.flatten(element) if part is not None]
        self._form = element
        # The functions of Python that the dataset calls live as long as its graph does.
        self._dataset, self._session = dataset, Session(graph=graph)
        self._session.run(initializer)

    def __iter__(self) -> NumpyIterator:
        return self

    def __next__(self) -> Any:
        """Returns the next element in its form: arrays, scalars of NumPy, and values of sparse and ragged tensors."""
        try:
            values = iter(self._session.run(self._fetches))
        except OutOfRangeError:
            raise StopIteration from None
        return _nest.map_structure(lambda part: None if part is None else next(values), self._form)
