"""Methods of datasets that call functions of elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from flowmill._internal.apply import call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor_spec import TensorSpec
from flowmill.data import _grouping, _resampling, _structure, _wire
from flowmill.data._base import BOOL, DatasetBase, derived, determinism, flat, int64, warn_without_parallel_calls
from flowmill.data._function import DatasetFunction
from flowmill.data._specs import DatasetSpec

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


def predicate_of(predicate: Callable, transformation: str, spec) -> DatasetFunction:
    """Returns a function of elements that says true or false.

    Raises:
        ValueError: if it returns something else.
    """
    function = DatasetFunction(predicate, transformation, spec)
    returned = function.output_spec
    if not (isinstance(returned, TensorSpec) and returned.is_compatible_with(TensorSpec([], BOOL))):
        raise ValueError(f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but its return type is {returned}.")
    return function


def dataset_function(map_func: Callable, transformation: str, spec) -> DatasetFunction:
    """Returns a function of elements that makes datasets.

    Raises:
        TypeError: if it returns something else.
    """
    function = DatasetFunction(map_func, transformation, spec)
    returned = function.output_spec
    if not isinstance(returned, DatasetSpec):
        kind = returned.value_type if hasattr(returned, "value_type") else type(returned)
        raise TypeError(f"The `map_func` argument must return a `Dataset` object. Got {kind!r}.")
    return function


def with_state(func: Callable, transformation: str, state_spec, element_spec, state_of: Callable[[Any], Any], what: str):
    """Returns a function of a state and an element, and the spec of the state after any number of calls.

    Args:
        func: the function.
        transformation: the function of the API that takes it.
        state_spec: the spec of the state at first.
        element_spec: the spec of the elements.
        state_of: returns the spec of the new state among that of what `func` returns.
        what: how messages of errors begin.

    Raises:
        TypeError: if the new state has other types.
    """
    while True:
        function = DatasetFunction(func, transformation, (state_spec, element_spec), add_to_graph=False)
        weaker = _structure.weakened(state_spec, state_of(function.output_spec), what)
        if weaker is None:
            function.add_to_graph()
            return function, state_spec
        state_spec = weaker


class Maps(DatasetBase):
    """Methods of :class:`Dataset` that take functions. Each function is called once, with tensors; if elements are tuples, with their parts."""

    def map(self, map_func: Callable, num_parallel_calls=None, deterministic: bool | None = None, synchronous: bool | None = None,
            use_unbounded_threadpool: bool | None = False, name: str | None = None) -> Dataset:
        """Returns what a function makes of each element.

        Args:
            map_func: the function. Tensors, variables and tables of the graph that it uses are captured.
            num_parallel_calls: how many calls may run at once.
            deterministic: whether results of calls that run at once keep their order.
            synchronous: whether to run calls on the caller's thread.
            use_unbounded_threadpool: whether calls may use any number of threads.
            name: what the op's metadata says.

        Raises:
            TypeError: if the function returns no element.
        """
        function = DatasetFunction(map_func, "Dataset.map()", self.element_spec)
        name = name if self._is_v2 else None
        if num_parallel_calls is None:
            if self._is_v2:
                warn_without_parallel_calls(deterministic)
            return derived(self, "MapDataset", function.captured, element_spec=function.output_spec, f=function.attr, use_inter_op_parallelism=True,
                           preserve_cardinality=self._is_v2, force_synchronous=bool(synchronous), name=name)
        if synchronous:
            raise ValueError("`synchronous` is not supported with `num_parallel_calls`, but `num_parallel_calls` was set to ", num_parallel_calls)
        parallel = int64(num_parallel_calls, "num_parallel_calls")
        return derived(self, "ParallelMapDatasetV2", function.captured, parallel, element_spec=function.output_spec, f=function.attr,
                       use_inter_op_parallelism=True, deterministic=determinism(deterministic), preserve_cardinality=self._is_v2,
                       use_unbounded_threadpool=bool(use_unbounded_threadpool) and self._is_v2, name=name)

    def map_with_legacy_function(self, map_func: Callable, num_parallel_calls=None, deterministic: bool | None = None,
                                 use_unbounded_threadpool: bool = False) -> Dataset:
        """Like :meth:`map`."""
        return self.map(map_func, num_parallel_calls, deterministic)

    def filter(self, predicate: Callable, name: str | None = None) -> Dataset:
        """Returns the elements for which a function returns a true scalar.

        Raises:
            ValueError: if the function returns something else.
        """
        function = predicate_of(predicate, "Dataset.filter()", self.element_spec)
        return derived(self, "FilterDataset", function.captured, predicate=function.attr, name=name)

    def filter_with_legacy_function(self, predicate: Callable) -> Dataset:
        """Like :meth:`filter`."""
        return self.filter(predicate)._as_v2()

    def take_while(self, predicate: Callable, name: str | None = None) -> Dataset:
        """Returns the elements before the first one for which a function returns false.

        Raises:
            ValueError: if the function returns something else.
        """
        function = predicate_of(predicate, "Dataset.take_while()", self.element_spec)
        return derived(self, "TakeWhileDataset", function.captured, predicate=function.attr, name=name, is_v2=True)

    def flat_map(self, map_func: Callable, name: str | None = None) -> Dataset:
        """Returns the elements of the datasets that a function makes of each element, one dataset after another.

        Raises:
            TypeError: if the function returns no dataset.
        """
        function = dataset_function(map_func, "Dataset.flat_map()", self.element_spec)
        return derived(self, "FlatMapDataset", function.captured, element_spec=function.output_spec.element_spec, f=function.attr, name=name)

    def interleave(self, map_func: Callable, cycle_length=None, block_length=None, num_parallel_calls=None, deterministic: bool | None = None,
                   name: str | None = None) -> Dataset:
        """Returns the elements of the datasets that a function makes of each element, several datasets in turn.

        Args:
            map_func: the function.
            cycle_length: from how many datasets to take in turn; as many as there are cores for None.
            block_length: how many elements to take from each, 1 for None.
            num_parallel_calls: how many datasets may be read at once.
            deterministic: whether elements of datasets that are read at once keep their order.
            name: what the op's metadata says.

        Raises:
            TypeError: if the function returns no dataset.
        """
        if num_parallel_calls is None:
            warn_without_parallel_calls(deterministic)
        function = dataset_function(map_func, "Dataset.interleave()", self.element_spec)
        cycle, block = int64(-1 if cycle_length is None else cycle_length, "cycle_length"), int64(block_length or 1, "block_length")
        spec = function.output_spec.element_spec
        if num_parallel_calls is None:
            return derived(self, "InterleaveDataset", function.captured, cycle, block, element_spec=spec, f=function.attr, name=name)
        buffered, prefetched = int64(-1, "buffer_output_elements"), int64(-1, "prefetch_input_elements")
        parallel = int64(num_parallel_calls, "num_parallel_calls")
        return derived(self, "ParallelInterleaveDatasetV4", function.captured, cycle, block, buffered, prefetched, parallel, element_spec=spec,
                       f=function.attr, deterministic=determinism(deterministic), name=name)

    def scan(self, initial_state, scan_func: Callable, name: str | None = None) -> Dataset:
        """Returns what a function makes of each element and a state that it hands on.

        Args:
            initial_state: the state for the first element, a structure.
            scan_func: called with the state and an element; returns the next state and what comes out.
            name: what the op's metadata says.

        Raises:
            TypeError: if it returns no pair, or a state of other types.
        """
        state = _structure.normalize(initial_state)

        def state_of(returned):
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError("Invalid `scan_func`. `scan_func` should return a pair consisting of new state and the output value but its return "
                                f"type is {returned}.")
            return returned[0]

        function, state_spec = with_state(scan_func, "Dataset.scan()", _structure.spec_of(state), self.element_spec, state_of,
                                          "Invalid `scan_func`. ")
        return derived(self, "ScanDataset", _structure.encode(state_spec, state), function.captured, element_spec=function.output_spec[1],
                       f=function.attr, preserve_cardinality=True, name=name, is_v2=True)

    def reduce(self, initial_state, reduce_func: Callable, name: str | None = None) -> Any:
        """Returns the state that a function makes of all elements, one after another.

        Args:
            initial_state: the state for the first element, a structure.
            reduce_func: called with the state and an element; returns the next state.
            name: what the op's metadata says.

        Raises:
            TypeError: if it returns a state of other types.
        """
        with get_default_graph().name_scope("initial_state"):
            state = _structure.normalize(initial_state)
        function, spec = with_state(reduce_func, "reduce()", _structure.spec_of(state), self.element_spec, lambda returned: returned, "")
        tensors = call("ReduceDataset", None, self._variant_tensor, _structure.encode(spec, state), function.captured, f=function.attr,
                       metadata=_wire.metadata(name), **flat(spec))
        return _structure.decode(spec, tensors)

    def group_by_window(self, key_func: Callable, reduce_func: Callable, window_size=None, window_size_func: Callable | None = None,
                        name: str | None = None) -> Dataset:
        """Returns the elements of datasets that a function makes of elements with the same key.

        Args:
            key_func: called with an element; returns its key, an int64 scalar.
            reduce_func: called with a key and a dataset of up to as many elements as the window's size; returns a dataset.
            window_size: how many elements a window has.
            window_size_func: called with a key; returns how many elements its windows have. Either this or `window_size` is given.
            name: what the op's metadata says.

        Raises:
            ValueError: if both sizes are given, or neither is, or a function returns no int64 scalar.
            TypeError: if `reduce_func` returns no dataset.
        """
        return _grouping.group_by_window(self, key_func, reduce_func, window_size, window_size_func, name)

    def bucket_by_sequence_length(self, element_length_func: Callable, bucket_boundaries, bucket_batch_sizes, padded_shapes=None, padding_values=None,
                                  pad_to_bucket_boundary: bool = False, no_padding: bool = False, drop_remainder: bool = False,
                                  name: str | None = None) -> Dataset:
        """Returns batches of elements with about the same length.

        Args:
            element_length_func: called with an element; returns its length, an int32 scalar.
            bucket_boundaries: the lengths that divide elements, rising.
            bucket_batch_sizes: the size of the batches for each of the ranges, one more than there are boundaries.
            padded_shapes: as for :meth:`padded_batch`.
            padding_values: as for :meth:`padded_batch`.
            pad_to_bucket_boundary: whether to fill up sizes that are not known to the boundary less one; longer elements fail the step.
            no_padding: whether elements of a batch have the same shape already.
            drop_remainder: whether to leave out last batches with fewer.
            name: what the op's metadata says.

        Raises:
            ValueError: for a wrong number of batch sizes.
        """
        return _grouping.bucket_by_sequence_length(
            self, element_length_func, bucket_boundaries, bucket_batch_sizes, padded_shapes, padding_values, pad_to_bucket_boundary, no_padding,
            drop_remainder, name)

    def rejection_resample(self, class_func: Callable, target_dist, initial_dist=None, seed=None, name: str | None = None) -> Dataset:
        """Returns pairs of a class and an element, of which some are left out so that classes have a distribution.

        Args:
            class_func: called with an element; returns its class, an int32 scalar.
            target_dist: the probabilities of classes, a floating vector.
            initial_dist: those of the elements, estimated for None.
            seed: the seed of the choice.
            name: what the ops' metadata says.
        """
        return _resampling.rejection_resample(self, class_func, target_dist, initial_dist, seed, name)
