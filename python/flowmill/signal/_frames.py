"""Frames of signals, and signals of frames."""

from __future__ import annotations

import math

import numpy as np

from flowmill._internal.apply import op_scope
from flowmill._internal.array import concat, gather, pad, rank, reshape, shape, size as size_, split, strided_slice, transpose, zeros, zeros_like
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.loops import while_loop
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.dtypes import int32
from flowmill.math import greater, maximum, range as range_, reduce_sum


def static(value):
    """Returns the value of a scalar if it is known, else the tensor."""
    known = constant_value(value)
    return value if known is None else known.item()


def frame(signal, frame_length, frame_step, pad_end: bool = False, pad_value=0, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns the frames of a signal: pieces of one length, at equal distances.

    Args:
        signal: the signal.
        frame_length: how long a frame is.
        frame_step: the distance of their beginnings.
        pad_end: makes a frame of what is left at the end, too, with `pad_value` behind it.
        pad_value: what to put there.
        axis: the dimension that the signal is along.
        name: the name of the scope.

    Returns:
        The signal with frames and the places in them instead of that dimension.
    """
    with op_scope(name, "frame", signal, frame_length, frame_step, pad_value):
        signal = convert_to_tensor(signal, name="signal")
        length = convert_to_tensor(frame_length, name="frame_length")
        step = convert_to_tensor(frame_step, name="frame_step")
        axis = convert_to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for scalar in (length, step, axis):
            scalar.shape.assert_has_rank(0)
        known_shape = _static_shape(signal, length, step, pad_end, axis)
        axis, sizes, outer, size, inner = _around(signal, static(axis))
        outer_count, inner_count = size_(outer), size_(inner)
        if pad_end:
            pad_value = convert_to_tensor(pad_value, signal.dtype)
            pad_value.shape.assert_has_rank(0)
            count = -(-size // step)
            missing = maximum(0, length + step * (count - 1) - size)
            amounts = concat([zeros([outer_count, 2], missing.dtype), convert_to_tensor([[0, missing]]), zeros([inner_count, 2], missing.dtype)], 0)
            signal = pad(signal, amounts, constant_values=pad_value)
            sizes = shape(signal)
            size = sizes[axis]
        else:
            count = maximum(convert_to_tensor(0, length.dtype), 1 + (size - length) // step)
        # The signal is cut into parts as long as the greatest common divisor of a frame and a step; a frame is a row of whole parts.
        part = static(_common_divisor(length, step))
        per_frame, per_step, parts = length // part, step // part, size // part
        cut = concat([outer, [parts * part], inner], 0)
        rows = concat([outer, [parts, part], inner], 0)
        signal = reshape(strided_slice(signal, zeros_like(sizes), cut), rows)
        starts = reshape(range_(count, dtype=length.dtype) * per_step, [count, 1])
        places = starts + reshape(range_(per_frame, dtype=length.dtype), [1, per_frame])
        outer = convert_to_tensor(outer)
        inner = convert_to_tensor(inner, outer.dtype)
        middle = convert_to_tensor([count, length], outer.dtype)
        result = reshape(gather(signal, places, axis=axis), concat([outer, middle, inner], 0))
        if known_shape is not None:
            result.set_shape(known_shape)
        return result


def _around(signal: Tensor, axis):
    """Returns the axis counted from the front, the sizes of all dimensions, and those before, at and after the axis: numbers if all are known."""
    sizes = shape(signal)
    known = constant_value(sizes)
    if known is not None and not isinstance(axis, Tensor):
        axis = range(len(known))[axis]
        return axis, known, known[:axis], known[axis].item(), known[axis + 1:]
    count = rank(signal)
    axis = range_(count)[axis]
    outer, size, inner = split(sizes, [axis, 1, count - 1 - axis])
    return axis, sizes, outer, reshape(size, []), inner


def _static_shape(signal: Tensor, length: Tensor, step: Tensor, pad_end: bool, axis: Tensor) -> list | None:
    """Returns what is known of the shape of the frames, None if that is nothing."""
    if signal.shape.rank is None:
        return None
    length, step, axis = (None if isinstance(v, Tensor) else v for v in map(static, (length, step, axis)))
    if axis is None:
        return [None] * (signal.shape.rank + 1)
    sizes = signal.shape.as_list()
    axis = range(len(sizes))[axis]
    size, count = sizes[axis], None
    if size is not None and step is not None:
        if pad_end:
            count = max(0, -(-size // step))
        elif length is not None:
            count = max(0, (size - length + step) // step)
    return [*sizes[:axis], count, length, *sizes[axis + 1:]]


def _common_divisor(a: Tensor, b: Tensor) -> Tensor:
    """Returns the greatest common divisor of two scalars."""
    with op_scope(None, "gcd", a, b):
        known = static(a), static(b)
        if not any(isinstance(v, Tensor) for v in known):
            return convert_to_tensor(math.gcd(*known))
        return while_loop(lambda _, rest: greater(rest, zeros_like(rest)), lambda of, rest: [rest, of % rest], [a, b], back_prop=False)[0]


def overlap_and_add(signal, frame_step, name: str | None = None) -> Tensor:
    """Returns the signal of which overlapping frames are pieces that add up.

    Args:
        signal: ``[..., frames, frame_length]``.
        frame_step: the distance of the frames' beginnings.
        name: the name of the scope.

    Returns:
        ``[..., samples]``, where samples are ``(frames - 1) * frame_step + frame_length``.

    Raises:
        ValueError: if `frame_step` is no integer scalar.
    """
    with op_scope(name, "overlap_and_add", signal, frame_step):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step = convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        step = static(step)
        sizes = shape(signal)
        known = constant_value(sizes)
        sizes = sizes if known is None else known
        outer = sizes[:-2]
        outer_count = static(size_(outer))
        length, frames = (size if isinstance(size, Tensor) else size.item() for size in (sizes[-1], sizes[-2]))

        def with_outer(inner):
            return concat([outer, inner], 0)

        samples = length + step * (frames - 1)
        if not isinstance(step, Tensor) and signal.shape.rank is not None and step == signal.shape[-1].value:
            # No frames overlap.
            return reshape(signal, with_outer([samples]), name="fast_path")
        # A frame is cut into parts as long as a step, the last one filled up. Part j of frame i is added to place i + j of the result: with one
        # row of places more than there are frames for each part, cutting the rows anew moves part j by j places.
        parts = -(-length // step)
        amounts = concat([zeros([outer_count, 2], int32), [[0, parts], [0, parts * step - length]]], 0)
        rows = reshape(pad(signal, amounts), with_outer([frames + parts, parts, step]))
        order = concat([range_(outer_count), outer_count + np.array([1, 0, 2], np.int32)], 0)
        known_order = constant_value(order)
        rows = transpose(rows, order if known_order is None else known_order)
        rows = reshape(rows, with_outer([(frames + parts) * parts, step]))
        rows = rows[..., :(frames + parts - 1) * parts, :]
        moved = reshape(rows, with_outer([parts, frames + parts - 1, step]))
        summed = reshape(reduce_sum(moved, -3), with_outer([(frames + parts - 1) * step]))
        return summed[..., :samples]
