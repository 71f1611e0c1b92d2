"""The common parts of all datasets: the variant in the graph, the spec of the elements, iterators and options."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import call, signature
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill.data import _iterator, _structure, _wire
from flowmill.data._options import Options
from flowmill.dtypes import as_dtype

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset

INT64, BOOL, STRING = (as_dtype(name) for name in ("int64", "bool", "string"))


class DatasetBase:
    """A sequence of elements, represented by a variant tensor.

    Args:
        variant_tensor: the tensor.
        element_spec: what is known of the components of an element, in its form.
        inputs: the datasets that it is made of.
        is_v2: whether methods behave like those of version 2 of the API. TensorFlow's first version has such datasets where a method is newer.
    """

    def __init__(self, variant_tensor: Tensor, element_spec, inputs: Sequence[DatasetBase] = (), is_v2: bool = False):
        self._variant_tensor, self._element_spec, self._input_datasets, self._is_v2 = variant_tensor, element_spec, list(inputs), is_v2
        self._graph = get_default_graph()
        self._hints = Options()
        for dataset in self._input_datasets:
            self._hints = self._hints.merge(dataset._hints)
        self._hints._freeze()

    def _as_v2(self):
        """Makes methods behave like those of version 2; returns the dataset itself."""
        self._is_v2 = True
        return self

    def _inputs(self) -> list[DatasetBase]:
        return list(self._input_datasets)

    @property
    def element_spec(self) -> Any:
        """The specs of the components of an element, in its structure."""
        return self._element_spec

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
        """The classes of the components of an element, in its form: `Tensor`, `SparseTensor`, or a spec."""
        return _structure.legacy_classes(self._element_spec)

    def make_one_shot_iterator(self) -> _iterator.Iterator:
        """See :func:`flowmill.data.make_one_shot_iterator`."""
        return _iterator.make_one_shot_iterator(self)  # type: ignore[arg-type]

    def make_initializable_iterator(self, shared_name: str | None = None) -> _iterator.Iterator:
        """See :func:`flowmill.data.make_initializable_iterator`."""
        return _iterator.make_initializable_iterator(self, shared_name)  # type: ignore[arg-type]

    def as_numpy_iterator(self) -> _iterator.NumpyIterator:
        """See :class:`flowmill.data.NumpyIterator`."""
        return _iterator.NumpyIterator(self)  # type: ignore[arg-type]

    def options(self) -> Options:
        """Returns the hints that this dataset, and those that it is made of, were given."""
        return self._hints

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """Returns the same elements, with hints."""
        with get_default_graph().colocate_with(self._variant_tensor):
            made = derived(self, "OptionsDataset", serialized_options=options._serialized(), name=name)
        made._hints = self._hints.merge(options)
        made._hints._freeze()
        return made

    def cardinality(self) -> Tensor:
        """Returns the number of elements, an int64 scalar; -1 if they do not end, -2 if it is not known."""
        return call("DatasetCardinality", None, self._variant_tensor)

    def get_single_element(self, name: str | None = None) -> Any:
        """Returns the only element. A step fails with `InvalidArgumentError` if there are none, or several."""
        tensors = call("DatasetToSingleElement", None, self._variant_tensor, metadata=_wire.metadata(name), **flat(self._element_spec))
        return _structure.decode(self._element_spec, tensors)

    def apply(self, transformation_func: Callable[[Any], Dataset]) -> Dataset:
        """Returns what a function makes of this dataset.

        Raises:
            TypeError: if it returns no dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, DatasetBase):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(made)}.")
        if self._is_v2 or not made._is_v2:
            return made
        return dataset_of(made._variant_tensor, made._element_spec, made._input_datasets, False, made._hints)

    def __iter__(self):
        raise RuntimeError("`tf.data.Dataset` only supports Python-style iteration in eager mode or within tf.function.")

    def __len__(self):
        raise TypeError("`tf.data.Dataset` only supports `len` in eager mode. Use `tf.data.Dataset.cardinality()` instead.")

    def __bool__(self):
        return True

    def __repr__(self):
        return f"<_{self._variant_tensor.op.type.rstrip('V0123456789')} element_spec={self.element_spec}>"


def flat(element_spec) -> dict[str, Any]:
    """Returns the attributes of an op with the types and shapes of the tensors that represent an element."""
    return {"output_types": _structure.tensor_types(element_spec), "output_shapes": _structure.tensor_shapes(element_spec)}


def dataset_of(variant: Tensor, element_spec, inputs: Sequence[DatasetBase] = (), is_v2: bool = False, hints: Options | None = None) -> Dataset:
    """Returns a dataset for a variant tensor; the arguments are those of :class:`DatasetBase`."""
    from flowmill.data._dataset import Dataset  # cycle: data._dataset imports this module

    made = Dataset(variant, element_spec, inputs, is_v2)
    if hints is not None:
        made._hints = hints
    return made


def made(op: str, element_spec, inputs: Sequence[DatasetBase], *args, name: str | None = None, is_v2: bool = False, **attrs) -> Dataset:
    """Returns the dataset that an op makes.

    Args:
        op: the op.
        element_spec: what is known of the components of an element, in its form.
        inputs: the datasets that it is made of.
        args: the inputs of the op.
        name: what the op's metadata says.
        is_v2: see :class:`DatasetBase`.
        attrs: attributes besides the types and shapes of elements.
    """
    declared = signature(op, get_default_graph()).attrs
    attrs.update((attr, value) for attr, value in (*flat(element_spec).items(), ("metadata", _wire.metadata(name))) if attr in declared)
    return dataset_of(call(op, None, *args, **attrs), element_spec, inputs, is_v2)


def derived(dataset: DatasetBase, op: str, *args, element_spec=None, name: str | None = None, is_v2: bool | None = None, **attrs) -> Dataset:
    """Returns the dataset that an op makes of another one.

    Args:
        dataset: the other one.
        op: the op.
        args: the inputs of the op besides the other dataset.
        element_spec: what is known of the elements, None if they are those of the other one.
        name: what the op's metadata says.
        is_v2: see :class:`DatasetBase`; None if it follows the other one.
        attrs: attributes besides the types and shapes of elements.
    """
    spec = dataset._element_spec if element_spec is None else element_spec
    return made(op, spec, [dataset], dataset._variant_tensor, *args, name=name, is_v2=dataset._is_v2 if is_v2 is None else is_v2, **attrs)


def int64(value, name: str) -> Tensor:
    """Returns an argument as an int64 tensor with a name."""
    return convert_to_tensor(value, INT64, name)


def optional(value, name: str, default, dtype=INT64) -> Tensor:
    """Returns an argument as a tensor with a name, `default` for None."""
    return convert_to_tensor(default if value is None else value, dtype, name)


def determinism(deterministic: bool | None) -> str:
    """Returns the attribute that says whether elements keep their order."""
    return "default" if deterministic is None else "true" if deterministic else "false"


def warn_without_parallel_calls(deterministic) -> None:
    """Warns of an argument that means nothing."""
    if deterministic is not None:
        warnings.warn("The `deterministic` argument has no effect unless the `num_parallel_calls` argument is specified.", stacklevel=3)
