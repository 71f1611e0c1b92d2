"""Queues in a graph: elements are tuples of tensors, put in by some steps and taken out by others, which wait for each other."""

from __future__ import annotations

import hashlib
from typing import Any

import flowmill as tf
from flowmill._internal.apply import apply_op, call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.random_seed import get_seed
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill.dtypes import DType, as_dtype

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue"]


def _types(dtypes) -> list[DType]:
    return [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _shapes(shapes, dtypes: list[DType], *, partial: bool = False) -> list[TensorShape] | None:
    """Returns the shapes of an element's components; None if they are not stated. Where they are `partial`, sizes may be unknown, ranks may not."""
    if shapes is None:
        return None
    is_one = isinstance(shapes, TensorShape) or not isinstance(shapes, (list, tuple)) or all(isinstance(d, int) or d is None for d in shapes)
    if is_one and not (isinstance(shapes, (list, tuple)) and not shapes and len(dtypes) != 1):
        shapes = [shapes]
    found = [TensorShape(s) for s in shapes]
    if not partial and not all(s.is_fully_defined() for s in found):
        raise ValueError(f"All shapes must be fully defined: {found}")
    if any(s.rank is None for s in found):
        raise ValueError(f"All shapes must have a defined rank: {found}")
    if len(found) != len(dtypes):
        raise ValueError(f"Queue shapes must have the same length as dtypes, received len(shapes)={len(found)}, len(dtypes)={len(dtypes)}")
    return found


def _names(names, dtypes: list[DType]) -> list[str] | None:
    if not names:
        return None
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(dtypes):
        raise ValueError(f"List of names must have the same length as the list of dtypes, received len(names)={len(names)},len(dtypes)={len(dtypes)}")
    return names


class QueueBase:
    """The base class of queues.

    Args:
        dtypes: the types of an element's components.
        shapes: their shapes, None if they may differ.
        names: their names, where elements are dictionaries.
        queue_ref: the tensor that refers to the queue.
    """

    def __init__(self, dtypes, shapes, names, queue_ref: Tensor):
        self._dtypes, self._names, self._queue_ref = dtypes, names, queue_ref
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None)] * len(dtypes)
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index: Tensor, queues) -> QueueBase:
        """Returns the one of some queues, alike, that a tensor's value says.

        Raises:
            TypeError: if they are no queues, or not alike.
        """
        if not queues or not isinstance(queues, (list, tuple)) or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if not all(first.dtypes == q.dtypes for q in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(first.names == q.names for q in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [shape.most_specific_common_supertype(others) for shape, *others in zip(*(q.shapes for q in queues))]
        chosen = tf.gather(tf.stack([q.queue_ref for q in queues]), index)
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that refers to the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that makes it."""
        return self._queue_ref.op.name

    @property
    def dtypes(self) -> list[DType]:
        """The types of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components, as far as they are known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components, None if elements are tuples."""
        return self._names

    def _components(self, values) -> list[Any]:
        """Returns an element's components in order."""
        if isinstance(values, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(values, key=str):
                raise ValueError("Keys in dictionary to enqueue do not match names of Queue.  "
                                 f"Dictionary: {sorted(values, key=str)},Queue: {sorted(self._names, key=str)}")
            return [values[name] for name in self._names]
        if self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        return list(values) if isinstance(values, (list, tuple)) else [values]

    def _tensors(self, values) -> list[Tensor]:
        return [convert_to_tensor(v, d, f"component_{i}") for i, (v, d) in enumerate(zip(self._components(values), self._dtypes))]

    def enqueue(self, vals, name: str | None = None) -> Operation:
        """Puts in an element: waits while the queue is full, fails with `CancelledError` if it is closed.

        Args:
            vals: a tensor, a tuple of them, or a dictionary if the queue has names.
            name: the name of the operation.

        Raises:
            ValueError: if shapes or names do not fit.
        """
        with op_scope(name, f"{self._name}_enqueue", vals if isinstance(vals, (list, tuple)) else [vals]) as scope:
            tensors = self._tensors(vals)
            for tensor, shape in zip(tensors, self._shapes):
                tensor.shape.assert_is_compatible_with(shape)
            return apply_op("QueueEnqueueV2", scope, (self._queue_ref, tensors))

    def enqueue_many(self, vals, name: str | None = None) -> Operation:
        """Puts in several elements, which lie along the first dimension. Arguments are as for :meth:`enqueue`.

        Raises:
            ValueError: if shapes or names do not fit.
        """
        with op_scope(name, f"{self._name}_EnqueueMany", vals if isinstance(vals, (list, tuple)) else [vals]) as scope:
            tensors = self._tensors(vals)
            count = tensors[0].shape.with_rank_at_least(1).dims
            count = None if count is None else count[0]
            for tensor, shape in zip(tensors, self._shapes):
                found = tensor.shape.with_rank_at_least(1)
                if found.dims is None:
                    continue
                count = found.dims[0] if count is None else count.merge_with(found.dims[0])
                TensorShape(found.as_list()[1:]).assert_is_compatible_with(shape)
            return apply_op("QueueEnqueueManyV2", scope, (self._queue_ref, tensors))

    def _element(self, op: Operation):
        """Returns a dequeued element in the form that users get."""
        tensors = list(op.outputs)
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors if tensors else op

    def dequeue(self, name: str | None = None):
        """Takes out an element: waits while there is none; fails with `OutOfRangeError` if the queue is closed and empty.

        Returns:
            A tensor, a list of them, or a dictionary if the queue has names.
        """
        op = apply_op("QueueDequeueV2", name or f"{self._name}_Dequeue", (self._queue_ref,), {"component_types": self._dtypes})
        for tensor, shape in zip(op.outputs, self._shapes):
            tensor.set_shape(shape)
        return self._element(op)

    def _dequeue(self, kind: str, n, name: str | None, size: int | None):
        op = apply_op(f"QueueDequeue{kind}V2", name or f"{self._name}_Dequeue{kind}", (self._queue_ref, n), {"component_types": self._dtypes})
        for tensor, shape in zip(op.outputs, self._shapes):
            tensor.set_shape(TensorShape([size]).concatenate(shape))
        return self._element(op)

    def dequeue_many(self, n, name: str | None = None):
        """Takes out `n` elements, along a new first dimension; fails with `OutOfRangeError` if fewer are left in a closed queue."""
        return self._dequeue("Many", n, name, constant_value(n) if isinstance(n, Tensor) else n)

    def dequeue_up_to(self, n, name: str | None = None):
        """Like :meth:`dequeue_many`, but takes the last elements of a closed queue even if they are fewer."""
        return self._dequeue("UpTo", n, name, None)

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Closes the queue for new elements. Pending enqueues are completed later, or cancelled."""
        return apply_op("QueueCloseV2", name or f"{self._name}_Close", (self._queue_ref,), {"cancel_pending_enqueues": cancel_pending_enqueues})

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns true if the queue is closed."""
        return call("QueueIsClosedV2", name or f"{self._name}_Is_Closed", self._queue_ref)

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements in it, int32."""
        return call("QueueSizeV2", name or f"{self._name}_Size", self._queue_ref)


def _made(op: str, name: str | None, dtypes: list[DType], shapes: list[TensorShape] | None, **attrs) -> Tensor:
    return call(op, name, component_types=dtypes, shapes=shapes, **attrs)


class FIFOQueue(QueueBase):
    """A queue that gives elements in the order in which they came.

    Args:
        capacity: how many elements it holds at most; any number if it is negative.
        dtypes: the types of an element's components, or the one.
        shapes: their shapes, which :meth:`dequeue_many` needs.
        names: their names, if elements are dictionaries.
        shared_name: the name by which sessions share it.
        name: its name.
    """

    def __init__(self, capacity: int, dtypes, shapes=None, names=None, shared_name: str | None = None, name: str = "fifo_queue"):
        dtypes = _types(dtypes)
        shapes, names = _shapes(shapes, dtypes), _names(names, dtypes)
        with tf.device("CPU"):
            queue = _made("FIFOQueueV2", name, dtypes, shapes, capacity=capacity, shared_name=shared_name)
        super().__init__(dtypes, shapes, names, queue)


class RandomShuffleQueue(QueueBase):
    """A queue that gives elements in random order.

    Args:
        capacity: how many elements it holds at most.
        min_after_dequeue: how many stay in it, so that they are well mixed, until it is closed.
        dtypes, shapes, names, shared_name, name: as for :class:`FIFOQueue`.
        seed: the seed of the random numbers.
    """

    def __init__(self, capacity: int, min_after_dequeue: int, dtypes, shapes=None, names=None, seed: int | None = None,
                 shared_name: str | None = None, name: str = "random_shuffle_queue"):
        dtypes = _types(dtypes)
        shapes, names = _shapes(shapes, dtypes), _names(names, dtypes)
        seed, seed2 = _seeds(seed, shared_name)
        super().__init__(dtypes, shapes, names, _made(
            "RandomShuffleQueueV2", name, dtypes, shapes, capacity=capacity, min_after_dequeue=min_after_dequeue, seed=seed, seed2=seed2,
            shared_name=shared_name))


def _seeds(seed: int | None, shared_name: str | None) -> tuple[int, int]:
    """Returns the graph's and the queue's seed; queues that are shared get theirs from their name if they have none."""
    first, second = get_seed(seed)
    if first is None and second is None:
        return 0, 0
    if seed is None and shared_name is not None:
        second = int(hashlib.md5((str(first) + shared_name).encode()).hexdigest()[:8], 16) & 0x7FFFFFFF
    return first or 0, second or 0


class PaddingFIFOQueue(QueueBase):
    """Like :class:`FIFOQueue`, but components may differ in the sizes that their shapes leave open; :meth:`dequeue_many` pads them with zeros.

    Args:
        capacity, dtypes, shapes, names, shared_name, name: as for :class:`FIFOQueue`; there have to be shapes, of known ranks.
    """

    def __init__(self, capacity: int, dtypes, shapes, names=None, shared_name: str | None = None, name: str = "padding_fifo_queue"):
        dtypes = _types(dtypes)
        shapes, names = _shapes(shapes, dtypes, partial=True), _names(names, dtypes)
        if shapes is None or len(dtypes) != len(shapes):
            raise ValueError("Shapes must be provided for all components, "
                             f"but received {len(dtypes)} dtypes and {0 if shapes is None else len(shapes)} shapes.")
        super().__init__(dtypes, shapes, names, _made("PaddingFIFOQueueV2", name, dtypes, shapes, capacity=capacity, shared_name=shared_name))


class PriorityQueue(QueueBase):
    """A queue that gives the element with the least priority first. The first component, besides those of `types`, is an int64: its priority.

    Args:
        capacity: how many elements it holds at most.
        types: the types of an element's other components.
        shapes, names, shared_name, name: as for :class:`FIFOQueue`.
    """

    def __init__(self, capacity: int, types, shapes=None, names=None, shared_name: str | None = None, name: str = "priority_queue"):
        types = _types(types)
        shapes = _shapes(shapes, types)
        handle = _made("PriorityQueueV2", name, types, shapes or [], capacity=capacity, shared_name=shared_name)
        dtypes = [tf.int64, *types]
        super().__init__(dtypes, None if shapes is None else [TensorShape([]), *shapes], names, handle)
