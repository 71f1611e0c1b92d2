"""Sparse tensors on their way through a queue: steps keep them in a map of the session, the queue carries their numbers."""

from __future__ import annotations

from typing import Callable, NamedTuple

import flowmill as tf
from flowmill._internal.apply import call
from flowmill._internal.control_flow import with_dependencies
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_util import constant_value


class StoredSparse(NamedTuple):
    """The map that a sparse tensor is kept in.

    Attributes:
        map_op: the operation that names the map: the first one that adds to it.
        rank: the rank of the sparse tensors in it; None if it is not known.
    """

    map_op: Operation
    rank: int | None


def add_sparse_to_tensors_map(sparse: SparseTensor, container: str | None = None, shared_name: str | None = None, name: str | None = None) -> Tensor:
    """Keeps a sparse tensor in a map; returns its number."""
    return call("AddSparseToTensorsMap", name, *sparse._components(), container=container, shared_name=shared_name)


def add_many_sparse_to_tensors_map(sparse: SparseTensor, container: str | None = None, shared_name: str | None = None,
                                   name: str | None = None) -> Tensor:
    """Keeps a sparse tensor for each index of the first dimension in a map; returns their numbers."""
    return call("AddManySparseToTensorsMap", name, *sparse._components(), container=container, shared_name=shared_name)


def take_many_sparse_from_tensors_map(sparse_map_op: Operation, sparse_handles, rank: int | None = None, name: str | None = None) -> SparseTensor:
    """Takes sparse tensors out of a map, along a new first dimension.

    Args:
        sparse_map_op: an operation that adds to the map.
        sparse_handles: their numbers, a vector.
        rank: the rank of the result, if it is known.
        name: the name of the operation.

    Raises:
        TypeError: If the operation adds to no map.
    """
    if not isinstance(sparse_map_op, Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError(f"sparse_map_op must be one of AddSparseToTensorsMap or AddManySparseToTensorsMap. Instead, found `{sparse_map_op.type}`.")
    with tf.colocate_with(sparse_map_op):
        shared_name = _text(sparse_map_op.get_attr("shared_name")) or sparse_map_op.name
        indices, values, shape = call("TakeManySparseFromTensorsMap", name, sparse_handles, dtype=sparse_map_op.get_attr("T"),
                                      container=_text(sparse_map_op.get_attr("container")), shared_name=shared_name)
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def _text(value) -> str:
    return value.decode() if isinstance(value, bytes) else value


def if_kept(keep: Tensor, true_fn: Callable, false_fn: Callable):
    """Calls one of two functions if the value of a scalar is known, else makes a conditional of both."""
    value = constant_value(keep)
    if value is None:
        return tf.cond(keep, true_fn, false_fn)
    return true_fn() if value else false_fn()


def store(tensors: list, enqueue_many: bool, keep: Tensor, maps: list[StoredSparse | None] | None = None
          ) -> tuple[list[Tensor], list[StoredSparse | None]]:
    """Replaces sparse tensors by their numbers.

    Args:
        tensors: tensors and sparse tensors.
        enqueue_many: whether they are several elements, along their first dimension.
        keep: which elements go in: a scalar, or a vector of one for each element.
        maps: what an earlier call returned, whose maps are used.

    Returns:
        Tensors, of which those of numbers are columns, and the map of each that was sparse.
    """
    stored, made = [], []
    for tensor, of in zip(tensors, maps or [None] * len(tensors)):
        made.append(_store(tensor, of and of.map_op, enqueue_many, keep) if isinstance(tensor, SparseTensor) else tensor)
    for tensor, numbers, of in zip(tensors, made, maps or [None] * len(tensors)):
        if not isinstance(tensor, SparseTensor):
            stored.append((numbers, None))
            continue
        rank = tensor.dense_shape.shape.with_rank(1).as_list()[0]
        rank = rank - 1 if enqueue_many and rank is not None else rank
        stored.append((tf.expand_dims(numbers, [-1]), StoredSparse(of.map_op if of else _adding(numbers), rank)))
    return [numbers for numbers, _ in stored], [of for _, of in stored]


def _adding(numbers: Tensor) -> Operation:
    """Returns the operation that adds to a map, of which there is one in a conditional."""
    adding = [t.op for t in numbers.op.inputs if t.op.type in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")]
    return adding[0] if adding else numbers.op


def _store(sparse: SparseTensor, map_op: Operation | None, enqueue_many: bool, keep: Tensor) -> Tensor:
    name = map_op.name if map_op is not None else None
    if keep.shape.rank == 1:
        kept = tf.sparse.retain(sparse, tf.gather(keep, sparse.indices[:, 0]))
        return add_many_sparse_to_tensors_map(kept, shared_name=name)
    if enqueue_many:
        numbers = if_kept(keep, lambda: add_many_sparse_to_tensors_map(sparse, shared_name=name),
                          lambda: -1 * tf.ones(tf.shape(sparse)[0:1], tf.int64))
        numbers.set_shape([None])
        return numbers
    return if_kept(keep, lambda: add_sparse_to_tensors_map(sparse, shared_name=name), lambda: tf.constant(-1, tf.int64))


def restore(taken: list[Tensor], maps: list[StoredSparse | None]) -> list[Tensor | SparseTensor]:
    """Replaces columns of numbers by sparse tensors. All tensors of a batch wait for each other, so that no step takes a part alone."""
    found = [t if of is None else take_many_sparse_from_tensors_map(of.map_op, tf.squeeze(t, [1]), None if of.rank is None else of.rank + 1)
             for t, of in zip(taken, maps)]
    if not any(maps):
        return found
    values = [t.values if isinstance(t, SparseTensor) else t for t in found]

    def after(tensor):
        return with_dependencies(values, tensor)

    return [SparseTensor(after(t.indices), after(t.values), after(t.dense_shape)) if isinstance(t, SparseTensor) else after(t) for t in found]
