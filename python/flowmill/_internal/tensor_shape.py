"""Static shapes, which may be known in part."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from flowmill._internal import protos


class Dimension:
    """One size of a shape; `value` is None if it is not known. Comparisons with an unknown size give None."""

    __slots__ = ("_value",)

    def __init__(self, value) -> None:
        self._value = _size(value)

    @property
    def value(self) -> int | None:
        """The size, None if it is not known."""
        return self._value

    def is_compatible_with(self, other) -> bool:
        """Returns true if both may be one size: they are equal, or one is not known."""
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other) -> None:
        """Checks :meth:`is_compatible_with`.

        Raises:
            ValueError: if they are not.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other) -> Dimension:
        """Returns the merged size.

        Raises:
            ValueError: if they contradict each other.
        """
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def _combine(self, other, f):
        other = as_dimension(other)
        return Dimension(None if self._value is None or other._value is None else f(self._value, other._value))

    def _combine_if_dimension(self, other, f):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._combine(other, f)

    def __add__(self, other):
        return self._combine_if_dimension(other, operator.add)

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self._combine_if_dimension(other, operator.sub)

    def __rsub__(self, other):
        return self._combine(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._combine_if_dimension(other, operator.mul)

    def __rmul__(self, other):
        return self * other

    def __floordiv__(self, other):
        return self._combine_if_dimension(other, operator.floordiv)

    def __rfloordiv__(self, other):
        return self._combine(other, lambda a, b: b // a)

    def __mod__(self, other):
        return self._combine(other, operator.mod)

    def __rmod__(self, other):
        return self._combine(other, lambda a, b: b % a)

    def _compare(self, other, f):
        other = as_dimension(other)
        return None if self._value is None or other._value is None else f(self._value, other._value)

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._compare(other, operator.eq)

    def __ne__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._compare(other, operator.ne)

    __hash__ = None

    def __lt__(self, other):
        return self._compare(other, operator.lt)

    def __le__(self, other):
        return self._compare(other, operator.le)

    def __gt__(self, other):
        return self._compare(other, operator.gt)

    def __ge__(self, other):
        return self._compare(other, operator.ge)

    def __truediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: 'Dimension' and '{type(other).__name__}', please use // instead")

    def __rtruediv__(self, other):
        raise TypeError(f"unsupported operand type(s) for /: '{type(other).__name__}' and 'Dimension', please use // instead")

    def __int__(self):
        return self._value

    def __bool__(self):
        return bool(self._value)

    def __index__(self):
        return self._value

    def __repr__(self):
        return f"Dimension({self._value})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __reduce__(self):
        return Dimension, (self._value,)


def as_dimension(value) -> Dimension:
    """`value` as a Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension) -> Any:
    """Returns the size of a Dimension; anything else as it is."""
    return dimension._value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """One size of a shape, an unknown one if nothing is known of the shape."""
    return Dimension(None) if shape.rank is None else shape[index]


class TensorShape:
    """A static shape. `TensorShape(None)` says nothing, `TensorShape([None, 3])` leaves one of two sizes open.

    Takes what describes a shape: a list of sizes (None means unknown), one size, another shape, a `TensorShapeProto`.
    """

    __slots__ = ("_dims",)

    def __init__(self, dims) -> None:
        if dims is None:
            self._dims = None
        elif type(dims) is list or type(dims) is tuple:
            self._dims = tuple([d if type(d) is int and d >= 0 else _size(d) for d in dims])
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif hasattr(dims, "unknown_rank"):
            self._dims = None if dims.unknown_rank else tuple(None if d.size == -1 else d.size for d in dims.dim)
        else:
            self._dims = _sizes(dims)

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None if it is not known."""
        return None if self._dims is None else len(self._dims)

    ndims = rank

    @property
    def dims(self) -> list[Dimension] | None:
        """The sizes as :class:`Dimension` objects, None if the rank is not known."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    def as_list(self) -> list[int | None]:
        """Returns the sizes, None if they are not known.

        Raises:
            ValueError: if the rank is not known.
        """
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> protos.TensorShapeProto:
        """Returns the shape as a `TensorShapeProto`."""
        proto = protos.get("TensorShapeProto")()
        if self._dims is None:
            proto.unknown_rank = True
        else:
            for size in self._dims:
                proto.dim.add(size=-1 if size is None else size)
        return proto

    def num_elements(self) -> int | None:
        """Returns the number of elements, None if a size is not known."""
        if not self.is_fully_defined():
            return None
        product = 1
        for size in self._dims:
            product *= size
        return product

    def is_fully_defined(self) -> bool:
        """Returns true if the rank and every size are known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """Checks :meth:`is_fully_defined`.

        Raises:
            ValueError: if something is not known.
        """
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other) -> bool:
        """Returns true if one tensor can have both shapes."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other) -> None:
        """Checks :meth:`is_compatible_with`.

        Raises:
            ValueError: if they are not.
        """
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def assert_has_rank(self, rank: int) -> None:
        """Checks that the shape can have this rank.

        Raises:
            ValueError: if its rank is another one.
        """
        if self.rank not in (None, rank):
            raise ValueError("Shape %s must have rank %d" % (self, rank))

    def assert_same_rank(self, other) -> None:
        """Checks that both shapes can have one rank.

        Raises:
            ValueError: if their ranks differ.
        """
        other = as_shape(other)
        if self.rank is not None and other.rank is not None and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def merge_with(self, other) -> TensorShape:
        """Returns the merged shape.

        Raises:
            ValueError: if they contradict each other.
        """
        other = as_shape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if self._dims is None or other._dims is None:
            return other if self._dims is None else self
        return TensorShape([b if a is None else a for a, b in zip(self._dims, other._dims)])

    def concatenate(self, other) -> TensorShape:
        """These sizes and then those of `other`; nothing is known if one of the ranks is not."""
        other = as_shape(other)
        return TensorShape(None if self._dims is None or other._dims is None else self._dims + other._dims)

    def __add__(self, other):
        return self.concatenate(other)

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def most_specific_compatible_shape(self, other) -> TensorShape:
        """Returns the shape that says most of those that fit both: sizes that differ are unknown, and so is everything if the ranks differ."""
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self._dims, other._dims)])

    def most_specific_common_supertype(self, others) -> TensorShape | None:
        """Returns :meth:`most_specific_compatible_shape` of all `others`; None if one of them is not a shape."""
        found = self
        for other in others:
            if not isinstance(other, TensorShape):
                return None
            found = found.most_specific_compatible_shape(other)
        return found

    def is_subtype_of(self, other) -> bool:
        """Returns true if every tensor of this shape fits `other`, which may be less specific."""
        if not isinstance(other, TensorShape):
            return False
        if other._dims is None:
            return True
        return self._dims is not None and len(self._dims) == len(other._dims) and all(b is None or a == b for a, b in zip(self._dims, other._dims))

    def with_rank(self, rank: int) -> TensorShape:
        """Returns the shape, with `rank` unknown sizes if nothing was known.

        Raises:
            ValueError: if the rank is another one.
        """
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError("Shape %s must have rank %d" % (self, rank)) from None

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Returns the shape itself.

        Raises:
            ValueError: if its rank is less.
        """
        if self.rank is not None and self.rank < rank:
            raise ValueError("Shape %s must have rank at least %d" % (self, rank))
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Returns the shape itself.

        Raises:
            ValueError: if its rank is greater.
        """
        if self.rank is not None and self.rank > rank:
            raise ValueError("Shape %s must have rank at most %d" % (self, rank))
        return self

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self) -> Iterator[Dimension]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return (Dimension(d) for d in self._dims)

    def __getitem__(self, key) -> Any:
        if isinstance(key, slice):
            if self._dims is not None:
                return TensorShape(self._dims[key])
            if key.step is not None:
                raise ValueError("Steps are not yet handled")
            start, stop = 0 if key.start is None else key.start, key.stop
            return unknown_shape(None if stop is None or start < 0 or stop < 0 else stop - start)
        return Dimension(None if self._dims is None else list(self._dims)[key])

    def __eq__(self, other):
        try:
            return self._dims == as_shape(other)._dims
        except TypeError:
            return NotImplemented

    def __hash__(self):
        return hash(self._dims)

    def __repr__(self):
        return f"TensorShape({self.dims})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        sizes = ["?" if d is None else str(d) for d in self._dims]
        return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"

    def __reduce__(self):
        return TensorShape, (None if self._dims is None else list(self._dims),)


def _size(value) -> int | None:
    if isinstance(value, int):
        size = value
    elif value is None:
        return None
    elif isinstance(value, Dimension):
        return value._value
    else:
        try:
            index = value.__index__
        except AttributeError:
            raise TypeError(
                f"Dimension value must be integer or None or have an __index__ method, got value '{value!r}' with type '{type(value)!r}'") from None
        size = int(index())
    if size < 0:
        raise ValueError(f"Dimension {size} must be >= 0")
    return size


def _sizes(dims) -> tuple:
    """Returns the sizes that something iterable gives, or the only one."""
    try:
        iterator = iter(dims)
    except TypeError:
        return (_size(dims),)
    sizes = []
    for size in iterator:
        try:
            sizes.append(_size(size))
        except TypeError as error:
            raise TypeError(f"Failed to convert '{dims!r}' to a shape: '{size!r}'could not be converted to a dimension. A shape should either be "
                            "single dimension (e.g. 10), or an iterable of dimensions (e.g. [1, 10, None]).") from error
    return tuple(sizes)


def known_shape(sizes) -> TensorShape:
    """Returns the shape of the core's sizes, in which −1 is not known; None if the rank is not."""
    shape = TensorShape(None)
    if sizes is not None:
        shape._dims = tuple([None if d < 0 else d for d in sizes])
    return shape


def as_shape(shape) -> TensorShape:
    """`shape` as a TensorShape."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank: int | None = None) -> TensorShape:
    """Returns a shape of which at most the rank is known."""
    return TensorShape(None if rank is None else [None] * rank)
