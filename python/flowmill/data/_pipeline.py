"""How elements, lists of arrays, come out of datasets: one generator for each of their kinds."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from flowmill import errors, gfile
from flowmill.data._structure import Structure, _leaves, as_array
from flowmill.io._records import TFRecordOptions
from flowmill.tensor import Tensor

Element = list
Elements = Iterator[Element]


class Run:
    """What an iterator knows from its beginning: the values of tensors, by their ids, and the state of datasets that keep one."""

    def __init__(self, values: dict[int, Any], state: dict | None = None):
        self._values, self.state = values, {} if state is None else state

    def value(self, argument) -> Any:
        """The value of a dataset's argument."""
        return self._values[id(argument)] if isinstance(argument, Tensor) else argument

    def random(self, key, seeds: tuple[int | None, int | None], again: bool) -> np.random.Generator:
        """Random numbers of a dataset: others each time they are asked for, where `again` says so."""
        if key not in self.state:
            self.state[key] = itertools.count(), np.random.SeedSequence().entropy
        count, entropy = self.state[key]
        turn = next(count) if again else 0
        known = [s for s in seeds if s is not None]
        return np.random.default_rng([*(s & 0xFFFFFFFFFFFFFFFF for s in known), turn] if known else [entropy, turn])


def slices(parts: list, are_sparse: list[bool]) -> Elements:
    """The rows of arrays, which have as many; of those that stand for sparse tensors where `are_sparse` says so, three for each."""
    left = iter(parts)
    components = [[next(left) for _ in range(3 if is_sparse else 1)] for is_sparse in are_sparse]
    sizes = {int(c[2][0]) if is_sparse else len(c[0]) for c, is_sparse in zip(components, are_sparse)}
    if len(sizes) > 1:
        raise errors.InvalidArgumentError(None, None, f"All inputs must have the same number of rows, got {sorted(sizes)}")
    return ([part for c, is_sparse in zip(components, are_sparse) for part in (_sparse_row(*c, i) if is_sparse else [_row(c[0], i)])]
            for i in range(min(sizes, default=0)))


def _sparse_row(indices: np.ndarray, values: np.ndarray, shape: np.ndarray, i: int) -> list[np.ndarray]:
    chosen = indices[:, 0] == i
    return [indices[chosen, 1:], values[chosen], shape[1:]]


def _row(array: np.ndarray, i: int) -> np.ndarray:
    row = array[i]
    if isinstance(row, np.ndarray):
        return row
    made = np.empty((), array.dtype)
    made[()] = row
    return made


def generated(generator: Callable, arguments: list, structure: Structure) -> Elements:
    """What a user's generator gives, checked."""
    for value in generator(*arguments):
        leaves = _leaves(tuple(value) if isinstance(value, list) and len(structure.components) > 1 else value)
        if len(leaves) != len(structure.components):
            raise TypeError(f"`generator` yielded an element that did not match the expected structure. The expected structure was "
                            f"{structure.map(lambda c: c.dtype)}, but the yielded element was {value}.")
        element = []
        for leaf, component in zip(leaves, structure.components):
            try:
                array = as_array(leaf, component.dtype)
            except (TypeError, ValueError) as error:
                raise TypeError(f"`generator` yielded an element that could not be converted to the expected type. The expected type was "
                                f"{component.dtype.name}, but the yielded element was {leaf}.") from error
            if not component.shape.is_compatible_with(array.shape):
                raise ValueError(f"`generator` yielded an element of shape {array.shape} where an element of shape {component.shape} was expected.")
            element.append(array)
        yield element


def zipped(upstreams: list[Elements]) -> Elements:
    """Elements of several datasets side by side."""
    return ([part for element in elements for part in element] for elements in zip(*upstreams))


def concatenated(first: Callable, second: Callable) -> Elements:
    """The elements of one dataset, then of another."""
    yield from first()
    yield from second()


def repeated(upstream: Callable, count: int) -> Elements:
    """The elements `count` times, for ever where it is negative; nothing for ever is nothing."""
    for _ in itertools.count() if count < 0 else range(count):
        empty = True
        for element in upstream():
            empty = False
            yield element
        if empty:
            return


def taken(upstream: Elements, count: int) -> Elements:
    """The first `count` elements."""
    return upstream if count < 0 else itertools.islice(upstream, count)


def skipped(upstream: Elements, count: int) -> Elements:
    """The elements after the first `count`."""
    return iter(()) if count < 0 else itertools.islice(upstream, count, None)


def shuffled(upstream: Elements, size: int, random: np.random.Generator) -> Elements:
    """The elements, each drawn from `size` of them."""
    if size <= 0:
        raise errors.InvalidArgumentError(None, None, "buffer_size must be greater than zero.")
    buffer: list[Element] = []
    for element in upstream:
        if len(buffer) < size:
            buffer.append(element)
            continue
        at = int(random.integers(len(buffer)))
        yield buffer[at]
        buffer[at] = element
    while buffer:
        at = int(random.integers(len(buffer)))
        buffer[at], buffer[-1] = buffer[-1], buffer[at]
        yield buffer.pop()


def cached(upstream: Callable, state: dict, key) -> Elements:
    """The elements, from memory once all of them came."""
    if key in state:
        yield from state[key]
        return
    kept = []
    for element in upstream():
        kept.append(element)
        yield element
    state[key] = kept


def interleaved(upstream: Elements, begin: Callable, cycle: int, block: int) -> Elements:
    """Elements of datasets by turns."""
    if cycle <= 0 or block <= 0:
        raise errors.InvalidArgumentError(None, None, f"cycle_length and block_length must be greater than zero, got {cycle} and {block}.")
    open_ones: list[Elements | None] = [begin(e) for e in itertools.islice(upstream, cycle)]
    at = 0
    while any(o is not None for o in open_ones):
        at %= len(open_ones)
        if open_ones[at] is None:
            at += 1
            continue
        count = 0
        for element in itertools.islice(open_ones[at], block):
            count += 1
            yield element
        if count < block:  # it has ended: another takes its place
            following = next(upstream, None)
            open_ones[at] = None if following is None else begin(following)
        at += 1


def _chunks(upstream: Elements, size: int, drop: bool) -> Iterator[list[Element]]:
    if size <= 0:
        raise errors.InvalidArgumentError(None, None, "Batch size must be greater than zero.")
    while True:
        chunk = list(itertools.islice(upstream, size))
        if not chunk or drop and len(chunk) < size:
            return
        yield chunk


def batched(upstream: Elements, size: int, drop: bool, are_sparse: list[bool]) -> Elements:
    """Elements side by side; three arrays stand for each sparse tensor, as `are_sparse` says."""
    for chunk in _chunks(iter(upstream), size, drop):
        columns = zip(*chunk)
        yield [part for is_sparse in are_sparse
               for part in (_stacked_sparse(*(next(columns) for _ in range(3))) if is_sparse else [_stacked(next(columns))])]


def _stacked_sparse(indices: Iterable, values: Iterable, shapes: Iterable) -> list[np.ndarray]:
    """Sparse tensors side by side: the whole is as large as the largest of them."""
    shapes = [np.asarray(s) for s in shapes]
    if len({len(s) for s in shapes}) > 1:
        raise errors.InvalidArgumentError(
            None, None, f"Cannot batch sparse tensors of different ranks: {sorted({len(s) for s in shapes})}.")
    return [
        np.concatenate([np.insert(np.asarray(rows), 0, i, axis=1) for i, rows in enumerate(indices)]),
        np.concatenate([np.asarray(v) for v in values]),
        np.array([len(shapes), *np.max(shapes, axis=0)], np.int64),
    ]


def _stacked(parts: Iterable) -> np.ndarray:
    arrays = [np.asarray(p) if not isinstance(p, bytes) else np.array(p, object) for p in parts]
    if len({a.shape for a in arrays}) > 1:
        shapes = [list(a.shape) for a in arrays]
        other = next(s for s in shapes if s != shapes[0])
        raise errors.InvalidArgumentError(
            None, None, f"Cannot batch tensors with different shapes in component 0. First element had shape {shapes[0]} and element "
            f"{shapes.index(other)} had shape {other}.")
    return np.stack(arrays)


def padded(upstream: Elements, size: int, drop: bool, shapes: list[list[int | None]], fillers: list) -> Elements:
    """Elements side by side, filled up."""
    for chunk in _chunks(iter(upstream), size, drop):
        yield [_filled([np.asarray(p) if not isinstance(p, bytes) else np.array(p, object) for p in parts], shape, filler)
               for parts, shape, filler in zip(zip(*chunk), shapes, fillers)]


def _filled(arrays: list[np.ndarray], shape: list[int | None], filler) -> np.ndarray:
    sizes = []
    for axis, stated in enumerate(shape):
        largest = max(a.shape[axis] for a in arrays)
        if stated is not None and largest > stated:
            raise errors.DataLossError(None, None, f"Attempted to pad to a smaller size than the input element: {largest} to {stated}.")
        sizes.append(largest if stated is None else stated)
    whole = np.empty((len(arrays), *sizes), arrays[0].dtype)
    whole[...] = filler
    for i, array in enumerate(arrays):
        whole[(i, *(slice(0, s) for s in array.shape))] = array
    return whole


def _contents(path, compression) -> bytes:
    kind = TFRecordOptions.get_compression_type_string(compression)
    with gfile.GFile(path, "rb") as file:
        data = file.read()
    return gzip.decompress(data) if kind == "GZIP" else zlib.decompress(data) if kind == "ZLIB" else data


def lines(path, compression) -> Iterator[bytes]:
    """The lines of a text file."""
    if not compression:
        with gfile.GFile(path, "rb") as file:
            for line in file:
                yield line.removesuffix(b"\n").removesuffix(b"\r")
        return
    found = _contents(path, compression).split(b"\n")
    for line in found if found[-1] else found[:-1]:
        yield line.removesuffix(b"\r")


def fixed(path, compression, size: int, header: int, footer: int) -> Iterator[bytes]:
    """The records of a file, all of `size` bytes."""
    data = _contents(path, compression)
    body = data[header:len(data) - footer]
    if len(body) % size:
        raise errors.InvalidArgumentError(
            None, None, f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file \"{path}\" has body length {len(body)} "
            f"bytes, which is not an exact multiple of the record length ({size} bytes).")
    for at in range(0, len(body), size):
        yield body[at:at + size]
