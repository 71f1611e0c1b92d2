"""Pipelines of input made of queues: threads, which `train.start_queue_runners` starts, fill them; steps take batches out."""

from __future__ import annotations

from typing import Any

import flowmill as tf
from flowmill._internal.apply import call, op_scope
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.sparse_tensor import SparseTensor
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType
from flowmill.queue import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from flowmill.train import _stored_sparse
from flowmill.train._stored_sparse import StoredSparse

__all__ = [
    "batch", "batch_join", "input_producer", "limit_epochs", "match_filenames_once", "maybe_batch", "maybe_batch_join", "maybe_shuffle_batch",
    "maybe_shuffle_batch_join", "range_input_producer", "shuffle_batch", "shuffle_batch_join", "slice_input_producer", "string_input_producer",
]


def match_filenames_once(pattern, name: str | None = None):
    """The names of files that match a pattern, as a local variable: looked up when it is initialized."""
    with op_scope(name, "matching_filenames", pattern) as scope:
        return tf.Variable(name=scope, initial_value=tf.io.matching_files(pattern), trainable=False, validate_shape=False,
                           collections=[GraphKeys.LOCAL_VARIABLES])


def limit_epochs(tensor: Tensor, num_epochs: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor that can be computed `num_epochs` times and raises `OutOfRangeError` then; any number of times for None. A local variable counts.

    Raises:
        ValueError: if `num_epochs` is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with op_scope(name, "limit_epochs", tensor) as scope:
        epochs = tf.Variable(tf.constant(0, tf.int64), name="epochs", trainable=False, collections=[GraphKeys.LOCAL_VARIABLES])
        with get_default_graph().control_dependencies([epochs.count_up_to(num_epochs)]):
            return tf.identity(tensor, name=scope)


def _summary_of_size(name: str, value: Tensor) -> None:
    """Adds a summary of how full a queue is."""
    with get_default_graph().name_scope(name) as scope:
        made = call("ScalarSummary", scope, scope[:-1], value)
    get_default_graph().add_to_collection(GraphKeys.SUMMARIES, made)


def _run(queue: QueueBase, enqueue_ops: list[Operation], cancel_op: Operation | None = None) -> None:
    """Adds a queue runner that fills a queue, with one thread per operation."""
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, enqueue_ops, cancel_op=cancel_op))


def input_producer(input_tensor, element_shape=None, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                   shared_name: str | None = None, summary_name: str | None = None, name: str | None = None, cancel_op=None) -> FIFOQueue:
    """Returns a queue of a tensor's rows, again and again.

    Args:
        input_tensor: the rows.
        element_shape: the shape of one, if the tensor's is not known.
        num_epochs: how often all rows come; for ever if it is None.
        shuffle: mixes the rows of an epoch.
        seed: the seed of that.
        capacity: how many rows the queue holds.
        shared_name: the name by which sessions share the queue.
        summary_name: the name of a summary of how full it is.
        name: the name of the operations.
        cancel_op: what cancels the threads.

    Raises:
        ValueError: if the shape of a row is not known.
    """
    with op_scope(name, "input_producer", input_tensor):
        input_tensor = convert_to_tensor(input_tensor, name="input_tensor")
        rank_known = input_tensor.shape.with_rank_at_least(1)
        element_shape = TensorShape(None if rank_known.rank is None else rank_known.as_list()[1:]).merge_with(TensorShape(element_shape))
        if not element_shape.is_fully_defined():
            raise ValueError("Either `input_tensor` must have a fully defined shape or `element_shape` must be specified")
        if shuffle:
            input_tensor = tf.random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        queue = FIFOQueue(capacity, [input_tensor.dtype.base_dtype], [element_shape], shared_name=shared_name, name=name)
        _run(queue, [queue.enqueue_many([input_tensor])], cancel_op)
        if summary_name is not None:
            _summary_of_size(summary_name, tf.cast(queue.size(), tf.float32) * (1.0 / capacity))
        return queue


def string_input_producer(string_tensor, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                          shared_name: str | None = None, name: str | None = None, cancel_op=None) -> FIFOQueue:
    """Returns a queue of strings, such as the names of files. Arguments are as for :func:`input_producer`.

    Raises:
        ValueError: if there are none.
    """
    nothing = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not hasattr(string_tensor, "_as_tensor") and not string_tensor:
        raise ValueError(nothing)
    with op_scope(name, "input_producer", string_tensor) as scope:
        string_tensor = convert_to_tensor(string_tensor, tf.string)
        with get_default_graph().control_dependencies([tf.Assert(tf.greater(tf.size(string_tensor), 0), [nothing])]):
            string_tensor = tf.identity(string_tensor)
        return input_producer(string_tensor, [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope, cancel_op)


def range_input_producer(limit, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> FIFOQueue:
    """Returns a queue of the integers below `limit`. Arguments are as for :func:`input_producer`."""
    with op_scope(name, "input_producer", limit) as scope:
        return input_producer(tf.range(limit), [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope)


def slice_input_producer(tensor_list, num_epochs: int | None = None, shuffle: bool = True, seed: int | None = None, capacity: int = 32,
                         shared_name: str | None = None, name: str | None = None) -> list[Tensor]:
    """Returns a row of each of some tensors, the same one of all; another one each step. Arguments are as for :func:`input_producer`.

    Raises:
        ValueError: if there are no tensors.
    """
    with op_scope(name, "input_producer", tensor_list):
        tensors = [tf.convert_to_tensor_or_indexed_slices(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(tf.shape(tensors[0])[0], num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [tf.gather(t, index) for t in tensors]


class _Inputs:
    """The tensors that go into the queue of a batch: in order, by lists for several threads, and the users' structure of them."""

    def __init__(self, tensors_list):
        self.keys = None
        if isinstance(tensors_list[0], dict):
            self.keys = sorted(tensors_list[0], key=str)
            if any(set(t) != set(self.keys) for t in tensors_list):
                raise ValueError("All dictionaries to batch must have the same keys.")
            tensors_list = [[t[key] for key in self.keys] for t in tensors_list]
        self.lists = [list(tensors) for tensors in tensors_list]
        self.dtypes: list[DType] = []
        self.maps: list[StoredSparse | None] = []

    def parts(self) -> list:
        """Returns all tensors that go in."""
        return [part for tensors in self.lists for t in tensors for part in (t._components() if isinstance(t, SparseTensor) else [t])]

    def convert(self) -> None:
        """Makes tensors of the values that are none.

        Raises:
            ValueError: If there are none.
        """
        self.lists = [[t if isinstance(t, SparseTensor) else convert_to_tensor(t) for t in tensors] for tensors in self.lists]
        if not self.lists[0]:
            raise ValueError("Expected at least one tensor in batch().")

    def store_sparse(self, enqueue_many: bool, keep: Tensor) -> None:
        """Replaces sparse tensors by their numbers in a map, and finds the types of what goes into the queue.

        Raises:
            ValueError: If a tensor is sparse in some of the lists.
            TypeError: If types differ between lists.
        """
        first, stored_lists = None, []
        for tensors in self.lists:
            stored, maps = _stored_sparse.store(tensors, enqueue_many, keep, first)
            first = maps if first is None else first
            if any((a is None) != (b is None) or (a and b and None not in (a.rank, b.rank) and a.rank != b.rank) for a, b in zip(first, maps)):
                raise ValueError(f"Inconsistent SparseTensors list: {self.lists[0]} vs. {tensors}")
            stored_lists.append(stored)
        self.lists, self.maps = stored_lists, first or []
        self.dtypes = [t.dtype.base_dtype for t in self.lists[0]]
        for other in self.lists[1:]:
            if [t.dtype.base_dtype for t in other] != self.dtypes:
                raise TypeError(f"Expected types to be consistent: {self.dtypes} vs {[t.dtype.base_dtype for t in other]}")

    def shapes(self, given, enqueue_many: bool) -> list[TensorShape]:
        """Returns the shapes of an element's components: what all lists agree upon.

        Raises:
            ValueError: If the rank of a tensor is not known.
        """
        if given is not None:
            return [TensorShape(s) for s in given]
        found = []
        for parts in zip(*self.lists):
            shapes = []
            for tensor in parts:
                shape = tensor.shape
                if shape.rank is None:
                    raise ValueError(f"Cannot infer Tensor's rank: {tensor}")
                shapes.append(shape.as_list()[1:] if enqueue_many else shape.as_list())
            found.append(TensorShape([sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes)]))
        return found

    def as_users(self, taken):
        """Returns what came out of the queue in the structure that went in."""
        taken = _stored_sparse.restore(taken if isinstance(taken, list) else [taken], self.maps)
        if self.keys is not None:
            return dict(zip(self.keys, taken))
        return taken[0] if len(taken) == 1 else taken


def _kept(keep_input, enqueue_many: bool) -> Tensor:
    """Returns which elements go in.

    Raises:
        ValueError: for a tensor of a rank that does not fit.
    """
    keep = convert_to_tensor(keep_input)
    if keep.shape.rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and keep.shape.rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _enqueue(queue: QueueBase, tensors: list[Tensor], enqueue_many: bool, keep: Tensor) -> Operation:
    put = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep.shape.rank == 1:
        chosen = tf.cast(keep, tf.int32)
        return put([tf.dynamic_partition(t, chosen, 2)[1] for t in tensors])
    made = _stored_sparse.if_kept(keep, lambda: put(tensors), tf.no_op)
    return made if isinstance(made, Operation) else made.op


def _batch(inputs: _Inputs, make_queue, default: str, name: str | None, batch_size, num_threads: int, enqueue_many: bool, keep_input, shapes,
           allow_smaller_final_batch: bool, summary) -> Any:
    with op_scope(name, default, *inputs.parts(), keep_input) as scope:
        inputs.convert()
        keep = _kept(keep_input, enqueue_many)
        inputs.store_sparse(enqueue_many, keep)
        queue = make_queue(inputs.dtypes, inputs.shapes(shapes, enqueue_many))
        ops = [_enqueue(queue, tensors, enqueue_many, keep) for tensors in inputs.lists]
        _run(queue, ops * num_threads)
        summary(queue)
        take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
        return inputs.as_users(take(batch_size, name=scope))


def _in_order(tensors_list, keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name,
              name, default):
    def make_queue(dtypes, found):
        if dynamic_pad:
            return PaddingFIFOQueue(capacity, dtypes, found, shared_name=shared_name)
        if not all(shape.is_fully_defined() for shape in found):
            raise ValueError(f"All shapes must be fully defined: {found}")
        return FIFOQueue(capacity, dtypes, found, shared_name=shared_name)

    def summary(queue):
        _summary_of_size(f"fraction_of_{capacity}_full", tf.cast(queue.size(), tf.float32) * (1.0 / capacity))

    return _batch(_Inputs(tensors_list), make_queue, default, name, batch_size, num_threads, enqueue_many, keep_input, shapes,
                  allow_smaller_final_batch, summary)


def _shuffled(tensors_list, keep_input, batch_size, num_threads, capacity, min_after_dequeue, seed, enqueue_many, shapes, allow_smaller_final_batch,
              shared_name, name, default):
    if capacity <= min_after_dequeue:
        raise ValueError(f"capacity {capacity} must be bigger than min_after_dequeue {min_after_dequeue}.")

    def make_queue(dtypes, found):
        return RandomShuffleQueue(capacity, min_after_dequeue, dtypes, found, seed=seed, shared_name=shared_name)

    def summary(queue):
        above = tf.cast(tf.maximum(0, queue.size() - min_after_dequeue), tf.float32)
        _summary_of_size(f"fraction_over_{min_after_dequeue}_of_{capacity - min_after_dequeue}_full", above * (1.0 / (capacity - min_after_dequeue)))

    return _batch(_Inputs(tensors_list), make_queue, default, name, batch_size, num_threads, enqueue_many, keep_input, shapes,
                  allow_smaller_final_batch, summary)


def batch(tensors, batch_size, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes=None, dynamic_pad: bool = False,
          allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None):
    """Elements of several steps side by side, along a new first dimension.

    Args:
        tensors: the tensors of an element: a list, or a dictionary.
        batch_size: how many elements a batch has.
        num_threads: how many threads fill the queue; the order is kept with one.
        capacity: how many elements the queue holds.
        enqueue_many: whether the tensors are several elements, along their first dimension.
        shapes: the shapes of an element's tensors, if they are not known.
        dynamic_pad: lets sizes differ and fills up with zeros.
        allow_smaller_final_batch: gives the last elements though they are fewer.
        shared_name: the name by which sessions share the queue.
        name: the name of the operations.

    Returns:
        What `tensors` is, in batches; a tensor alone if it is a list of one.

    Raises:
        ValueError: if shapes are not known, or `tensors` is empty.
    """
    return maybe_batch(tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
                       shared_name, name)


def maybe_batch(tensors, keep_input, batch_size, num_threads: int = 1, capacity: int = 32, enqueue_many: bool = False, shapes=None,
                dynamic_pad: bool = False, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None):
    """Like :func:`batch`, with only the elements for which `keep_input` is true."""
    return _in_order([tensors], keep_input, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
                     allow_smaller_final_batch, shared_name,
                     name, "batch")


def batch_join(tensors_list, batch_size, capacity: int = 32, enqueue_many: bool = False, shapes=None, dynamic_pad: bool = False,
               allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None):
    """Like :func:`batch`, but one thread for each of the lists, or dictionaries, of `tensors_list` fills the queue."""
    return maybe_batch_join(tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch, shared_name, name)


def maybe_batch_join(tensors_list, keep_input, batch_size, capacity: int = 32, enqueue_many: bool = False, shapes=None, dynamic_pad: bool = False,
                     allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None):
    """Like :func:`batch_join`, with only the elements for which `keep_input` is true."""
    return _in_order(list(tensors_list), keep_input, batch_size, 1, capacity, enqueue_many, shapes, dynamic_pad, allow_smaller_final_batch,
                     shared_name, name, "batch_join")


def shuffle_batch(tensors, batch_size, capacity: int, min_after_dequeue: int, num_threads: int = 1, seed: int | None = None,
                  enqueue_many: bool = False, shapes=None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                  name: str | None = None):
    """Like :func:`batch`, in random order.

    Args:
        tensors, batch_size, capacity, num_threads, enqueue_many, shapes, allow_smaller_final_batch, shared_name, name: as for :func:`batch`.
        min_after_dequeue: how many elements stay in the queue, so that they are well mixed.
        seed: the seed of the random numbers.

    Raises:
        ValueError: as there, and if `capacity` is not larger than `min_after_dequeue`.
    """
    return maybe_shuffle_batch(tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many, shapes,
                               allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch(tensors, batch_size, capacity: int, min_after_dequeue: int, keep_input, num_threads: int = 1, seed: int | None = None,
                        enqueue_many: bool = False, shapes=None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                        name: str | None = None):
    """Like :func:`shuffle_batch`, with only the elements for which `keep_input` is true."""
    return _shuffled([tensors], keep_input, batch_size, num_threads, capacity, min_after_dequeue, seed, enqueue_many, shapes,
                     allow_smaller_final_batch,
                     shared_name, name, "shuffle_batch")


def shuffle_batch_join(tensors_list, batch_size, capacity: int, min_after_dequeue: int, seed: int | None = None, enqueue_many: bool = False,
                       shapes=None, allow_smaller_final_batch: bool = False, shared_name: str | None = None, name: str | None = None):
    """Like :func:`shuffle_batch`, but one thread for each of the lists, or dictionaries, of `tensors_list` fills the queue."""
    return maybe_shuffle_batch_join(tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
                                    allow_smaller_final_batch, shared_name, name)


def maybe_shuffle_batch_join(tensors_list, batch_size, capacity: int, min_after_dequeue: int, keep_input, seed: int | None = None,
                             enqueue_many: bool = False, shapes=None, allow_smaller_final_batch: bool = False, shared_name: str | None = None,
                             name: str | None = None):
    """Like :func:`shuffle_batch_join`, with only the elements for which `keep_input` is true."""
    return _shuffled(list(tensors_list), keep_input, batch_size, 1, capacity, min_after_dequeue, seed, enqueue_many, shapes,
                     allow_smaller_final_batch,
                     shared_name, name, "shuffle_batch_join")
