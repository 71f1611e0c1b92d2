"""Blocks of space in batches and depth, patches of images, quantised numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowmill._internal.apply import call, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.array._creation import zeros
from flowmill._internal.array._layout import stack
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, float32, int32

if TYPE_CHECKING:
    from flowmill.raw_ops import _FakeQuantWithMinMaxVarsGradient, _FakeQuantWithMinMaxVarsPerChannelGradient, _QuantizedConcat, _QuantizeV2


def _with_rank(tensor: Tensor, rank: int) -> Tensor:
    tensor.set_shape([None] * rank)
    return tensor


def space_to_batch(input, paddings, block_size=None, name: str | None = None, block_shape=None) -> Tensor:  # noqa: A002
    """Blocks of space moved into the batch.

    Args:
        input: images ``[batch, height, width, depth]``.
        paddings: how many zeros to put around before; ``[2, 2]``.
        block_size: the size of the blocks, a number.
        name: the name of the operation.
        block_shape: `block_size` by its other name.
    """
    size = one_of("block_shape", block_shape, "block_size", block_size)
    return _with_rank(space_to_batch_nd(input, np.array([size, size], dtype=np.int64), paddings, name), 4)


def space_to_batch_nd(input, block_shape, paddings, name: str | None = None) -> Tensor:  # noqa: A002
    """Blocks of space moved into the batch.

    Args:
        input: ``[batch, space …, rest …]``.
        block_shape: the sizes of the blocks along the dimensions of space, a vector of m.
        paddings: how many zeros to put before and after them; ``[m, 2]``.
        name: the name of the operation.
    """
    return call("SpaceToBatchND", name, input, block_shape, paddings)


def batch_to_space(input, crops, block_size=None, name: str | None = None, block_shape=None) -> Tensor:  # noqa: A002
    """Undoes :func:`space_to_batch`; `crops` are removed at the end."""
    size = one_of("block_shape", block_shape, "block_size", block_size)
    return _with_rank(batch_to_space_nd(input, np.array([size, size], dtype=np.int64), crops, name), 4)


def batch_to_space_nd(input, block_shape, crops, name: str | None = None) -> Tensor:  # noqa: A002
    """Undoes :func:`space_to_batch_nd`; `crops` are removed at the end."""
    return call("BatchToSpaceND", name, input, block_shape, crops)


def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Returns the padding that makes sizes of space whole multiples of those of blocks, and what to crop to undo it.

    Args:
        input_shape: the sizes, a vector of n.
        block_shape: the sizes of the blocks.
        base_paddings: the least padding, ``[n, 2]``; none if it is None.
        name: the name of the scope.

    Returns:
        Paddings and crops, ``[n, 2]`` each.

    Raises:
        ValueError: if shapes do not fit.
    """
    from flowmill._internal.tensor_util import constant_value  # start-up: most programs ask for no values of constants

    with op_scope(name, "required_space_to_batch_paddings", input_shape, block_shape):
        input_shape = convert_to_tensor(input_shape, int32, "input_shape")
        block_shape = convert_to_tensor(block_shape, int32, "block_shape")
        block_shape.shape.assert_is_fully_defined()
        block_shape.shape.assert_has_rank(1)
        count = block_shape.shape[0].value
        if count == 0:
            return zeros([0, 2], int32), zeros([0, 2], int32)
        input_shape.shape.assert_is_compatible_with([count])
        if base_paddings is None:
            base_paddings = zeros([count, 2], int32)
        else:
            base_paddings = convert_to_tensor(base_paddings, int32, "base_paddings")
            base_paddings.shape.assert_is_compatible_with([count, 2])
        known = [constant_value(t) for t in (input_shape, block_shape, base_paddings)]
        if all(k is not None for k in known):
            sizes, blocks, base = known
            before, end = base[:, 0], base[:, 1]
            more = (blocks - (sizes + before + end) % blocks) % blocks
            pads = [[before[i], end[i] + more[i]] for i in range(count)]
            return convert_to_tensor(np.array(pads, np.int32), name="paddings"), convert_to_tensor(
                np.array([[0, more[i]] for i in range(count)], np.int32), name="crops")
        before, end = base_paddings[:, 0], base_paddings[:, 1]
        whole = input_shape + before + end
        more = (block_shape - whole % block_shape) % block_shape
        after = end + more
        paddings = stack([[before[i], after[i]] for i in range(count)], name="paddings")
        crops = stack([[0, more[i]] for i in range(count)], name="crops")
        return paddings, crops


def space_to_depth(input, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:  # noqa: A002
    """Blocks of space moved into the depth.

    Args:
        input: images in the order of `data_format`.
        block_size: the size of the blocks.
        name: the name of the operation.
        data_format: ``"NHWC"``, ``"NCHW"`` or ``"NCHW_VECT_C"``.
    """
    return call("SpaceToDepth", name, input, block_size=block_size, data_format=data_format)


def depth_to_space(input, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:  # noqa: A002
    """Undoes :func:`space_to_depth`."""
    return call("DepthToSpace", name, input, block_size=block_size, data_format=data_format)


def extract_image_patches(images, ksizes=None, strides=None, rates=None, padding=None, name: str | None = None, sizes=None) -> Tensor:
    """Patches of images, laid out along the depth.

    Args:
        images: ``[batch, height, width, depth]``.
        ksizes: the sizes of patches, ``[1, rows, columns, 1]``.
        strides: the distances of their centres, in that form.
        rates: the distances of the points of a patch, in that form.
        padding: ``"VALID"`` or ``"SAME"``.
        name: the name of the operation.
        sizes: `ksizes` by its other name.
    """
    return call("ExtractImagePatches", name, images, ksizes=one_of("sizes", sizes, "ksizes", ksizes), strides=strides, rates=rates, padding=padding)


def extract_volume_patches(input, ksizes, strides, padding, name: str | None = None) -> Tensor:  # noqa: A002
    """Patches of volumes, laid out along the depth.

    Args:
        input: ``[batch, planes, rows, columns, depth]``.
        ksizes: the sizes of patches, ``[1, planes, rows, columns, 1]``.
        strides: the distances of their centres, in that form.
        padding: ``"VALID"`` or ``"SAME"``.
        name: the name of the operation.
    """
    return call("ExtractVolumePatches", name, input, ksizes=ksizes, strides=strides, padding=padding)


def quantize(input, min_range, max_range, T, mode: str = "MIN_COMBINED", round_mode: str = "HALF_AWAY_FROM_ZERO",  # noqa: A002
             name: str | None = None, narrow_range: bool = False, axis: int | None = None,
                ensure_minimum_range: float = 0.01) -> _QuantizeV2:
    """Quantises numbers to integers that represent a range.

    Args:
        input: `float32` numbers.
        min_range: the number that the least integer represents; a vector if there is an axis.
        max_range: the number that the greatest integer represents.
        T: the type of the integers, a quantised one.
        mode: ``"MIN_COMBINED"``, ``"MIN_FIRST"`` or ``"SCALED"``.
        round_mode: ``"HALF_AWAY_FROM_ZERO"`` or ``"HALF_TO_EVEN"``.
        name: the name of the operation.
        narrow_range: does not use the least integer.
        axis: the dimension along which each part has a range of its own.
        ensure_minimum_range: how wide the range is at least.

    Returns:
        The integers, and the range that they represent.
    """
    return call("QuantizeV2", name, input, min_range, max_range, T=as_dtype(T), mode=mode, round_mode=round_mode, narrow_range=narrow_range,
                axis=-1 if axis is None else axis, ensure_minimum_range=ensure_minimum_range)


def quantize_v2(input, min_range, max_range, T, mode: str = "MIN_COMBINED", name: str | None = None,  # noqa: A002
                round_mode: str = "HALF_AWAY_FROM_ZERO", narrow_range: bool = False, axis: int | None = None,
                ensure_minimum_range: float = 0.01) -> _QuantizeV2:
    """:func:`quantize` with its arguments in another order."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name, narrow_range, axis, ensure_minimum_range)


def dequantize(input, min_range, max_range, mode: str = "MIN_COMBINED", name: str | None = None, axis: int | None = None,  # noqa: A002
               narrow_range: bool = False, dtype=float32) -> Tensor:
    """Returns the numbers that integers of a quantised type represent; the arguments are those of :func:`quantize`."""
    kind = as_dtype(dtype)
    return call("Dequantize", name, input, min_range, max_range, mode=mode, axis=None if axis is None else axis,
                narrow_range=narrow_range or None, dtype=None if kind is float32 else kind)


def quantized_concat(concat_dim, values, input_mins, input_maxes, name: str | None = None) -> _QuantizedConcat:
    """Joins quantised tensors.

    Args:
        concat_dim: the dimension along which they are joined, from 0 on.
        values: the tensors.
        input_mins: the number that the least integer of each represents.
        input_maxes: the number that the greatest integer of each represents.
        name: the name of the operation.

    Returns:
        The joined tensor, and the range that it is in.
    """
    return call("QuantizedConcat", name, concat_dim, values, input_mins, input_maxes)


def quantize_and_dequantize(input, input_min, input_max, signed_input: bool = True, num_bits: int = 8, range_given: bool = False,  # noqa: A002
                            round_mode: str = "HALF_TO_EVEN", name: str | None = None, narrow_range: bool = False, axis: int | None = None) -> Tensor:
    """Numbers as they come back from being quantised.

    Args:
        input: the numbers.
        input_min: the least of the range, if it is given.
        input_max: the greatest.
        signed_input: quantises to integers with a sign.
        num_bits: how many bits these have.
        range_given: uses the range given, instead of that of the numbers.
        round_mode: ``"HALF_TO_EVEN"`` or ``"HALF_UP"``.
        name: the name of the operation.
        narrow_range: does not use the least integer.
        axis: the dimension along which each part has a range of its own.
    """
    return call("QuantizeAndDequantizeV2", name, input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
                round_mode=round_mode, narrow_range=narrow_range, axis=_axis_from_start(input, axis))


def quantize_and_dequantize_v2(input, input_min, input_max, signed_input: bool = True, num_bits: int = 8,  # noqa: A002
                               range_given: bool = False, round_mode: str = "HALF_TO_EVEN", name: str | None = None,
                               narrow_range: bool = False, axis: int | None = None) -> Tensor:
    """:func:`quantize_and_dequantize` whose gradient passes only where numbers are in the range."""
    return call("QuantizeAndDequantizeV4", name, input, input_min, input_max, signed_input=signed_input, num_bits=num_bits, range_given=range_given,
                round_mode=round_mode, narrow_range=narrow_range, axis=_axis_from_start(input, axis))


def _axis_from_start(input, axis: int | None) -> int:  # noqa: A002
    """Returns the number of a dimension that may be counted from the end; -1 for None."""
    if axis is None:
        return -1
    if axis >= 0:
        return axis
    rank = np.ndim(input) if isinstance(input, (np.ndarray, np.generic, list, tuple, int, float)) else input.shape.ndims
    if not rank:
        raise ValueError("input should have known rank to use negative axis.")
    return axis % rank


def fake_quant_with_min_max_args(inputs, min: float = -6, max: float = 6, num_bits: int = 8, narrow_range: bool = False,  # noqa: A002
                                 name: str | None = None) -> Tensor:
    """Numbers as they come back from being quantised to a fixed range."""
    return call("FakeQuantWithMinMaxArgs", name, inputs, min=float(min), max=float(max), num_bits=num_bits, narrow_range=narrow_range)


def fake_quant_with_min_max_vars(inputs, min, max, num_bits: int = 8, narrow_range: bool = False, name: str | None = None) -> Tensor:  # noqa: A002
    """Numbers as they come back from being quantised to a range, two scalar tensors."""
    return call("FakeQuantWithMinMaxVars", name, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range)


def fake_quant_with_min_max_vars_per_channel(inputs, min, max, num_bits: int = 8, narrow_range: bool = False,  # noqa: A002
                                             name: str | None = None) -> Tensor:
    """Like :func:`fake_quant_with_min_max_vars`, with a range for each place of the last dimension, two vectors."""
    return call("FakeQuantWithMinMaxVarsPerChannel", name, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range)


def fake_quant_with_min_max_args_gradient(gradients, inputs, min: float = -6, max: float = 6, num_bits: int = 8,  # noqa: A002
                                          narrow_range: bool = False, name: str | None = None) -> Tensor:
    """Returns the gradient of :func:`fake_quant_with_min_max_args`: `gradients` where `inputs` are in the range, zero elsewhere."""
    return call("FakeQuantWithMinMaxArgsGradient", name, gradients, inputs, min=min, max=max, num_bits=num_bits, narrow_range=narrow_range)


def fake_quant_with_min_max_vars_gradient(gradients, inputs, min, max, num_bits: int = 8, narrow_range: bool = False,  # noqa: A002
                                          name: str | None = None) -> _FakeQuantWithMinMaxVarsGradient:
    """Returns the gradients of :func:`fake_quant_with_min_max_vars`: of the input, and of both ends of the range, which get those of what lies outside."""
    return call("FakeQuantWithMinMaxVarsGradient", name, gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range)


def fake_quant_with_min_max_vars_per_channel_gradient(gradients, inputs, min, max, num_bits: int = 8, narrow_range: bool = False,  # noqa: A002
                                                      name: str | None = None) -> _FakeQuantWithMinMaxVarsPerChannelGradient:
    """Like :func:`fake_quant_with_min_max_vars_gradient`, with a range for each place of the last dimension."""
    return call("FakeQuantWithMinMaxVarsPerChannelGradient", name, gradients, inputs, min, max, num_bits=num_bits, narrow_range=narrow_range)
