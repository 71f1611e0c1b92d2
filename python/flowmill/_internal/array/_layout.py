"""Tensors put together, taken apart, padded, turned and repeated."""

from __future__ import annotations

import builtins

import numpy as np

from flowmill._internal.apply import call, dims, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.array._creation import broadcast_to, identity, ones, ones_like, rank, reshape, shape, size
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import by_rows
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import Dimension
from flowmill.dtypes import int32


@by_rows("_array.expand_dims")
def expand_dims(input, axis=None, name: str | None = None, dim=None) -> Tensor:  # noqa: A002
    """Returns a tensor with a dimension of size 1 put in.

    Args:
        input: the tensor.
        axis: the position of the dimension in the result; -1 is the end.
        name: the name of the operation.
        dim: `axis` by its old name.

    Raises:
        ValueError: if no axis is given, or there is none of that number.
    """
    axis = one_of("dim", dim, "axis", axis)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    return call("ExpandDims", name, input, axis)


@by_rows("_array.squeeze")
def squeeze(input, axis=None, name: str | None = None, squeeze_dims=None) -> Tensor:  # noqa: A002
    """Returns a tensor without dimensions of size 1.

    Args:
        input: the tensor.
        axis: the dimensions to leave out, a number or a list; all of size 1 if it is None.
        name: the name of the operation.
        squeeze_dims: `axis` by its old name.

    Raises:
        ValueError: if one of them is known to have another size.
    """
    axis = one_of("squeeze_dims", squeeze_dims, "axis", axis)
    if axis is not None and np.isscalar(axis):
        axis = [axis]
    return call("Squeeze", name, input, squeeze_dims=axis)


@by_rows("_array.concat")
def concat(values, axis, name: str = "concat") -> Tensor:
    """Tensors one after another along a dimension, which alone may differ in size.

    Args:
        values: a list of tensors of one type.
        axis: the dimension, a number or a scalar tensor; negative ones count from the end.
        name: the name of the operation.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    if len(values) == 1:
        # There is nothing to do, but the axis is checked and the result is one of this name.
        with op_scope(name, "concat", values):
            convert_to_tensor(axis, int32, "concat_dim").shape.assert_has_rank(0)
            return identity(values[0], name)
    return call("ConcatV2", name, values, axis)


@by_rows("_array.stack")
def stack(values, axis: int = 0, name: str = "stack") -> Tensor:
    """Tensors of one shape side by side along a new dimension.

    Args:
        values: a list of them, or what can be made tensors.
        axis: the position of the new dimension in the result.
        name: the name of the operation.

    Raises:
        ValueError: if there is no such place, or the shapes are known to differ.
    """
    if axis == 0:
        try:
            # A list of constants becomes one.
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError):
            pass
    first = convert_to_tensor(values[0], name=name)
    known = dims(first)
    if known is not None and not -(len(known) + 1) <= axis <= len(known):
        raise ValueError(f"Argument `axis` = {axis} not in range [{-(len(known) + 1)}, {len(known) + 1})")
    return call("Pack", name, values, axis=axis)


def parallel_stack(values, name: str = "parallel_stack") -> Tensor:
    """Like :func:`stack` along the first dimension; the shapes must be known.

    Raises:
        ValueError: if they are not.
    """
    with op_scope(name, "parallel_stack", values):
        shape = convert_to_tensor(values[0]).shape
        shape.assert_is_fully_defined()
        rows = [call("ExpandDims", None, value, 0) for value in values]
        return call("ParallelConcat", None, rows, shape=[len(rows), *shape.as_list()])


def unstack(value, num: int | None = None, axis: int = 0, name: str = "unstack") -> list[Tensor]:
    """Returns the parts of a tensor along a dimension, without that dimension.

    Args:
        value: the tensor.
        num: the size of the dimension, taken from the shape if it is None.
        axis: the dimension.
        name: the name of the operation.

    Raises:
        ValueError: if the size is not known, or there is no such dimension.
    """
    if num is None:
        value = convert_to_tensor(value)
        known = dims(value)
        if known is not None:
            if not -len(known) <= axis < len(known):
                raise ValueError(f"Argument `axis` = {axis} not in range [{-len(known)}, {len(known)})")
            num = known[axis] if known[axis] >= 0 else None
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {value.shape}")
    return call("Unpack", name, value, num=num, axis=axis)


@by_rows("_array.split")
def split(value, num_or_size_splits, axis=0, num: int | None = None, name: str = "split") -> list[Tensor]:
    """Returns the pieces of a tensor along a dimension.

    Args:
        value: the tensor.
        num_or_size_splits: how many pieces of equal size, or a vector of their sizes, of which one may be -1.
        axis: the dimension.
        num: how many sizes there are, where that is not known.
        name: the name of the operation.

    Raises:
        ValueError: if the number of pieces is not known.
    """
    if isinstance(num_or_size_splits, (int, np.integer, Dimension)) and not isinstance(num_or_size_splits, bool):
        return call("Split", name, axis, value, num_split=int(num_or_size_splits))
    sizes = convert_to_tensor(num_or_size_splits)
    known = dims(sizes)
    if known == []:
        raise ValueError(f"Rank-0 tensors are not supported as the num_or_size_splits argument to split. Argument provided: {num_or_size_splits}")
    if num is None:
        num = None if known is None or known[0] < 0 else known[0]
        if num is None:
            raise ValueError(f"Cannot infer argument `num` from shape {sizes.shape}")
    return call("SplitV", name, value, sizes, axis, num_split=num)


def slice(input_, begin, size, name: str | None = None) -> Tensor:  # noqa: A001
    """Returns the part of a tensor that begins at `begin` and has the sizes `size`; -1 means all that is left."""
    return call("Slice", name, input_, begin, size)


def strided_slice(input_, begin, end, strides=None, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0,
                  shrink_axis_mask: int = 0, var=None, name: str | None = None) -> Tensor:
    """Returns a part of a tensor as an index in brackets takes it.

    Args:
        input_: the tensor.
        begin: for each entry of the index where it begins.
        end: where it ends, not counted.
        strides: the steps, ones if it is None.
        begin_mask: bits of the entries that begin where the dimension does.
        end_mask: bits of the entries that end where the dimension does.
        ellipsis_mask: the bit of the entry that is ``...``.
        new_axis_mask: bits of the entries that are a new dimension.
        shrink_axis_mask: bits of the entries that are one place, and take their dimension away.
        var: the variable whose value `input_` is.
        name: the name of the operation.
    """
    if strides is None:
        strides = ones_like(begin)
    found = call("StridedSlice", name, input_, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask, ellipsis_mask=ellipsis_mask,
                 new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask)
    if var is not None:
        found._sliced = var, begin, end, strides
    return found


def transpose(a, perm=None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Returns a tensor with its dimensions in another order.

    Args:
        a: the tensor.
        perm: for each dimension of the result which one of `a` it is; the reverse order if it is None.
        name: the name of the operation.
        conjugate: takes the conjugate of complex numbers, too.
    """
    with op_scope(name, "transpose", a) as scope:
        a = convert_to_tensor(a, name="a")
        op = "ConjugateTranspose" if conjugate and a.dtype.is_complex else "Transpose"
        if perm is None:
            known = dims(a)
            if known is None:
                perm = call("Range", None, rank(a) - 1, -1, -1)
            else:
                perm = np.arange(len(known) - 1, -1, -1, dtype=np.int32)
        return call(op, scope, a, perm)


def matrix_transpose(a, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Returns a tensor with its last two dimensions swapped.

    Raises:
        ValueError: if it is known to have less than two.
    """
    with op_scope(name, "transpose", a):
        a = convert_to_tensor(a, name="a")
        known = dims(a)
        if known is not None:
            if len(known) < 2:
                raise ValueError(f"Argument `a` should be a (batch) matrix with rank >= 2.  Received `a` = {a.shape}")
            n = len(known)
            perm = [*builtins.range(n - 2), n - 1, n - 2]
        else:
            n = rank(a)
            perm = concat((call("Range", None, 0, n - 2, 1), [n - 1, n - 2]), 0)
        return transpose(a, perm, conjugate=conjugate)


@by_rows("_array.tile")
def tile(input, multiples, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns a tensor repeated along each dimension as often as `multiples`, a vector, says."""
    return call("Tile", name, input, multiples)


def pad(tensor, paddings, mode: str = "CONSTANT", name: str | None = None, constant_values=0) -> Tensor:
    """Returns a tensor with more around it.

    Args:
        tensor: the tensor.
        paddings: for each dimension how much to put before and after; shape ``[rank, 2]``.
        mode: ``"CONSTANT"``, ``"REFLECT"`` (without the edge) or ``"SYMMETRIC"`` (with it).
        name: the name of the operation.
        constant_values: what to pad with in the first mode.

    Raises:
        ValueError: for another mode.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        # Zeros need not be said.
        is_zero = not isinstance(constant_values, Tensor) and np.ndim(constant_values) == 0 and constant_values == np.zeros_like(constant_values)
        padded = call("Pad", name, tensor, paddings) if is_zero else call("PadV2", name, tensor, paddings, constant_values)
    elif mode in ("REFLECT", "SYMMETRIC"):
        padded = call("MirrorPad", name, tensor, paddings, mode=mode)
    else:
        raise ValueError(f'Value of argument `mode` expected to be one of "CONSTANT", "REFLECT", or "SYMMETRIC". Received `mode` = {mode}')
    if isinstance(paddings, (list, tuple)):
        _note_padded_shape(padded, paddings)
    return padded


def _note_padded_shape(padded: Tensor, paddings) -> None:
    """Tells a padded tensor the sizes that follow where only some paddings are tensors: the shape function sees all or nothing."""
    before = padded.op.inputs[0].shape
    if padded.shape.is_fully_defined() or before.rank is None or len(paddings) != before.rank:
        return
    sizes = []
    for inner, around in zip(before.as_list(), paddings):
        known = isinstance(around, (list, tuple)) and all(isinstance(p, (int, np.integer)) for p in around)
        sizes.append(inner + int(sum(around)) if known and inner is not None else None)
    padded.set_shape(sizes)


@by_rows("_array.reverse")
def reverse(tensor, axis, name: str | None = None) -> Tensor:
    """Returns a tensor with the order along some dimensions, a vector of their numbers, turned round."""
    return call("ReverseV2", name, tensor, axis)


def reverse_sequence(input, seq_lengths, seq_axis: int | None = None, batch_axis: int | None = None, name: str | None = None,  # noqa: A002
                     seq_dim: int | None = None, batch_dim: int | None = None) -> Tensor:
    """Returns a batch of sequences with the first steps of each turned round.

    Args:
        input: the sequences.
        seq_lengths: for each of the batch how many steps to turn round.
        seq_axis: the dimension of the steps.
        batch_axis: the dimension of the batch, the first by default.
        name: the name of the operation.
        seq_dim: `seq_axis` by its old name.
        batch_dim: `batch_axis` by its old name.
    """
    seq_axis = one_of("seq_dim", seq_dim, "seq_axis", seq_axis)
    batch_axis = one_of("batch_dim", batch_dim, "batch_axis", batch_axis)
    return call("ReverseSequence", name, input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis)


def roll(input, shift, axis, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns a tensor with its elements moved on along dimensions; those that fall out come in at the other end.

    Args:
        input: the tensor.
        shift: by how much, for each of `axis`.
        axis: the dimensions, a number or a vector.
        name: the name of the operation.
    """
    return call("Roll", name, input, shift, axis)


def meshgrid(*args, indexing: str = "xy", name: str = "meshgrid") -> list[Tensor]:
    """Returns the coordinates of the points of a grid, a tensor for each of its dimensions.

    Args:
        args: the coordinates along each dimension, vectors.
        indexing: ``"xy"`` lets the first two dimensions of the result be those of the second and the first vector, ``"ij"`` keeps their order.
        name: the name of the scope.

    Raises:
        ValueError: for another indexing.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    with op_scope(name, "meshgrid", args):
        count = len(args)
        if not count:
            return []
        spread = [reshape(stack(x), [1] * i + [-1] + [1] * (count - i - 1)) for i, x in enumerate(args)]
        sizes = [size(x) for x in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and count > 1:
            spread[0] = reshape(spread[0], [1, -1] + [1] * (count - 2))
            spread[1] = reshape(spread[1], [-1, 1] + [1] * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        whole = ones(sizes, dtype)
        return [x * whole for x in spread]


def repeat(input, repeats, axis: int | None = None, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns a tensor with each of its parts along a dimension several times.

    Args:
        input: the tensor.
        repeats: how often: a number, or a vector with one for each part.
        axis: the dimension; if it is None, the tensor counts as a vector of its elements.
        name: the name of the scope.
    """
    if axis is None:
        input, axis = reshape(input, [-1]), 0  # noqa: A001
    with op_scope(name, "Repeat", input, repeats):
        return _repeated(convert_to_tensor(input, name="input"), convert_to_tensor(repeats, name="repeats"), axis)


def _repeated(data: Tensor, repeats: Tensor, axis: int) -> Tensor:
    from flowmill._internal.array._masks import boolean_mask, sequence_mask  # cycle: array._masks imports this module
    from flowmill._internal.tensor_util import constant_value  # start-up: most programs ask for no values of constants
    from flowmill.math import maximum, reduce_max  # cycle: math imports this package

    if repeats.dtype.base_dtype.name not in ("int32", "int64"):
        raise TypeError(f"repeats must be of type int32 or int64, not {repeats.dtype.base_dtype.name}.")
    known = constant_value(repeats)
    repeats = call("Cast", None, repeats, DstT=int32)
    sizes = shape(data)
    if data.shape.rank is None:
        return _repeated_places(data, sizes, repeats, axis)
    at = axis if axis >= 0 else data.shape.rank + axis
    if repeats.shape.num_elements() == 1:
        repeats = reshape(repeats, [])
        tiled = _tiled(data, at, repeats)
        return reshape(tiled, concat([sizes[:at], [repeats * sizes[at]], sizes[at + 1:]], axis=0))
    if repeats.shape.rank != 1:
        repeats = reshape(repeats, [-1])
    repeats = broadcast_to(repeats, [sizes[at]])
    most = maximum(constant(0, int32, name="zero"), reduce_max(repeats))
    mask = sequence_mask(repeats, most)
    result = boolean_mask(_tiled(data, at, most), mask, axis=at)
    if at and known is not None:
        result.set_shape([None] * at + [int(known.sum())] + [None] * (data.shape.rank - at - 1))
    return result


def _repeated_places(data: Tensor, sizes: Tensor, repeats: Tensor, axis: int) -> Tensor:
    """Returns the parts of a tensor of unknown rank: their places are repeated, and then gathered."""
    from flowmill._internal.array._masks import gather  # cycle: array._masks imports this module
    from flowmill.math import range as range_  # cycle: math imports this package

    if axis < 0:
        raise ValueError(f"axis={axis} may only be negative if rank(data) is statically known.")
    return gather(data, _repeated(range_(sizes[axis]), repeats, 0), axis=axis)


def _tiled(data: Tensor, axis: int, count: Tensor) -> Tensor:
    """Returns the parts along a dimension `count` times each, along a new dimension behind it."""
    expanded = expand_dims(data, axis + 1)
    multiples = [1] * (axis + 1) + [count] + [1] * (expanded.shape.rank - axis - 2)
    return tile(expanded, multiples)
