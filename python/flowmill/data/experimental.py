"""Transformations that :meth:`Dataset.apply` takes."""

from __future__ import annotations

from collections.abc import Callable

from flowmill.data._specs import Optional

# A hint to choose a number of threads.
AUTOTUNE = -1

__all__ = ["AUTOTUNE", "Optional", "map_and_batch", "parallel_interleave", "shuffle_and_repeat", "unbatch"]


def map_and_batch(map_func, batch_size, num_parallel_batches=None, drop_remainder=False, num_parallel_calls=None) -> Callable:
    """As `map`, then `batch`."""
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size, count=None, seed=None) -> Callable:
    """As `shuffle`, then `repeat`."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(map_func, cycle_length, block_length=1, sloppy=False, buffer_output_elements=None, prefetch_input_elements=None) -> Callable:
    """As `interleave`."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def unbatch() -> Callable:
    """As `unbatch`."""
    return lambda dataset: dataset.unbatch()
