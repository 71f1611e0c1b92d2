"""The class of datasets."""

from __future__ import annotations

from typing import Any

from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.data import _structure
from flowmill.data._base import DatasetBase
from flowmill.data._batches import Batches
from flowmill.data._iterator import Iterator
from flowmill.data._maps import Maps
from flowmill.data._sources import Sources
from flowmill.data._transformations import Transformations


class Dataset(Maps, Batches, Transformations, Sources):
    """A sequence of elements: nested tuples and dictionaries of tensors, sparse and ragged tensors, and datasets.

    It is an operation of the graph. Static methods such as :meth:`from_tensor_slices` make datasets, methods make others of them, and iterators
    (:meth:`make_one_shot_iterator`, :meth:`make_initializable_iterator`) give elements to the graph.
    """


class NestedDatasets:
    """A tensor of datasets, as batches of datasets have it.

    Args:
        variant_tensor: the tensor.
        element_spec: what is known of the elements of each.
        shape: the tensor's shape.
    """

    def __init__(self, variant_tensor: Tensor, element_spec, shape: TensorShape):
        self._variant_tensor, self.element_spec, self.shape = variant_tensor, element_spec, shape


def from_variant(variant: Tensor, structure) -> Dataset:
    """Returns the dataset that a variant tensor represents.

    Args:
        variant: the tensor, a scalar.
        structure: what is known of the components of an element, in its form.
    """
    return Dataset(variant, structure, (), True)


def to_variant(dataset: DatasetBase) -> Tensor:
    """Returns the variant tensor that represents a dataset."""
    return dataset._variant_tensor


def get_structure(dataset_or_iterator) -> Any:
    """Returns what is known of the components of elements, in their form.

    Raises:
        TypeError: for what is no dataset and no iterator.
    """
    if not isinstance(dataset_or_iterator, (DatasetBase, Iterator)):
        raise TypeError("Invalid `dataset_or_iterator`. `dataset_or_iterator` must be a `tf.data.Dataset` or tf.data.Iterator object, but got "
                        f"{type(dataset_or_iterator)}.")
    return dataset_or_iterator.element_spec


def get_output_types(dataset_or_iterator) -> Any:
    """Returns the types of the components of elements, in their form."""
    return _structure.legacy_types(get_structure(dataset_or_iterator))


def get_output_shapes(dataset_or_iterator) -> Any:
    """Returns what is known of the shapes of the components of elements, in their form."""
    return _structure.legacy_shapes(get_structure(dataset_or_iterator))


def get_output_classes(dataset_or_iterator) -> Any:
    """Returns the classes of the components of elements, in their form."""
    return _structure.legacy_classes(get_structure(dataset_or_iterator))
