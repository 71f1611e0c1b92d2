"""Methods of datasets that give the same elements, or some of them, in some order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill.data import _choices, _nest, _seeds, _structure
from flowmill.data._base import STRING, DatasetBase, derived, int64, made

if TYPE_CHECKING:
    from flowmill.data._dataset import Dataset


class Transformations(DatasetBase):
    """Methods of :class:`Dataset` that change which elements come, and in which order."""

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Returns these elements, then those of another dataset of the same types.

        Raises:
            TypeError: if types differ.
        """
        try:
            spec = _structure.common(self.element_spec, dataset.element_spec)
        except (TypeError, ValueError):
            raise TypeError(f"Incompatible dataset elements:\n  {self.element_spec} vs.   {dataset.element_spec}") from None
        return made("ConcatenateDataset", spec, [self, dataset], self._variant_tensor, dataset._variant_tensor, name=name, is_v2=self._is_v2)

    def repeat(self, count=None, name: str | None = None) -> Dataset:
        """Returns the elements again and again, `count` times; without end for None and -1."""
        return derived(self, "RepeatDataset", int64(-1 if count is None else count, "count"), name=name)

    def take(self, count, name: str | None = None) -> Dataset:
        """Returns the first `count` elements; all for -1."""
        return derived(self, "TakeDataset", int64(count, "count"), name=name)

    def skip(self, count, name: str | None = None) -> Dataset:
        """Returns all but the first `count` elements; none for -1."""
        return derived(self, "SkipDataset", int64(count, "count"), name=name)

    def shard(self, num_shards, index, name: str | None = None) -> Dataset:
        """Returns every `num_shards`-th element, from that at `index` on."""
        return derived(self, "ShardDataset", int64(num_shards, "num_shards"), int64(index, "index"), name=name)

    def enumerate(self, start=0, name: str | None = None) -> Dataset:
        """Returns pairs of a number, int64 from `start` on, and an element."""
        from flowmill.data._dataset import Dataset  # cycle: data._dataset imports this module

        numbers = _choices.replicated(Dataset.range(start, 2**63 - 1, name=name))
        return Dataset.zip((numbers, self), name=name)

    def shuffle(self, buffer_size, seed=None, reshuffle_each_iteration: bool | None = None, name: str | None = None) -> Dataset:
        """Returns the elements in random order: each is drawn from `buffer_size` of them.

        Args:
            buffer_size: from how many.
            seed: the seed of the order.
            reshuffle_each_iteration: whether the order differs each time the elements begin anew, as it does for None.
            name: what the op's metadata says.
        """
        size = int64(buffer_size, "buffer_size")
        return derived(self, "ShuffleDataset", size, *_seeds.seeds_of(seed), reshuffle_each_iteration=reshuffle_each_iteration, name=name)

    def prefetch(self, buffer_size=None, name: str | None = None) -> Dataset:
        """Returns the same elements, up to `buffer_size` of which are computed before they are needed, on a thread of the dataset's own."""
        buffer_size = -1 if buffer_size is None else buffer_size
        size = int64(buffer_size, "buffer_size")
        with get_default_graph().colocate_with(self._variant_tensor):
            return derived(self, "PrefetchDataset", size, legacy_autotune=isinstance(buffer_size, int) and buffer_size == -1, name=name)

    def cache(self, filename="", name: str | None = None) -> Dataset:
        """Returns the same elements, kept once all of them came: in a file, or in memory for an empty name."""
        return derived(self, "CacheDataset", convert_to_tensor(filename, STRING, "filename"), name=name)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """Returns the elements that can be computed."""
        return derived(self, "IgnoreErrorsDataset", log_warning=log_warning, is_v2=True)

    def unique(self, name: str | None = None) -> Dataset:
        """Returns each element once, where it came first.

        Raises:
            TypeError: for components other than int32, int64 and string tensors.
        """
        for dtype in _nest.flatten(self.output_types):
            if getattr(dtype, "name", None) not in ("int32", "int64", "string"):
                raise TypeError(f"`tf.data.Dataset.unique` does not support type {dtype} -- only `tf.int32`, `tf.int64`, and `tf.string` are "
                                "supported.")
        return derived(self, "UniqueDataset", name=name, is_v2=True)
