"""Numbers at equal distances."""

from __future__ import annotations

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_to, concat, expand_dims, reshape, shape, where_v2, zeros_like
from flowmill._internal.array import slice as slice_of
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import int32, int64
from flowmill.math._elementwise import cast
from flowmill.math._reductions import range as range_of


def linspace(start, stop, num, name: str | None = None, axis: int = 0) -> Tensor:
    """Returns `num` numbers at equal distances from `start` to `stop`, both counted.

    Args:
        start: the first number; a scalar or a tensor.
        stop: the last one, of the type of `start`; shapes are broadcast.
        num: how many; an integer.
        name: the name of the scope.
        axis: the new dimension of the result, along which the numbers are.

    Raises:
        TypeError: if `num` is no integer.
    """
    with op_scope(name, "linspace", start, stop):
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, start.dtype, "stop")
        count = _integer(num)
        cast(count, start.dtype)  # TensorFlow leaves this in the graph
        common = broadcast_dynamic_shape(shape(start), shape(stop))
        start, stop = broadcast_to(start, common), broadcast_to(stop, common)
        first, last = expand_dims(start, axis), expand_dims(stop, axis)
        sizes = shape(first)
        rank = shape(sizes)[0]
        place = where_v2(axis >= 0, axis, rank + axis)
        between = call("Maximum", None, count - 2, 0)
        # At least one, so that nothing is divided by zero; the slice in the end leaves out what is too much.
        steps = call("Maximum", None, count - 1, 1)
        distance = (last - first) / cast(steps, last.dtype)
        first, last = cast(first, distance.dtype), cast(last, distance.dtype)
        end = where_v2(count >= 0, steps, -1)
        factors = cast(range_of(1, end, dtype=int64), distance.dtype)
        is_place = call("Equal", None, place, range_of(rank))
        factors = reshape(factors, where_v2(is_place, between, 1))
        numbers = first + distance * factors
        whole = concat((first, numbers, last), place)
        begin = zeros_like(sizes)
        size = concat((sizes[0:place], reshape(count, [1]), sizes[place + 1:]), 0)
        return slice_of(whole, begin, size)


def _integer(num) -> Tensor:
    found = convert_to_tensor(num, name="num", preferred_dtype=int32)
    if not found.dtype.is_integer:
        raise TypeError(f"Argument `tensor` (name: num) must be of type integer. Received `tensor` = {found} of dtype: {found.dtype!r}")
    return call("Cast", None, found, DstT=int32)


lin_space = linspace
