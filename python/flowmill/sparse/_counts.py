"""How often numbers occur, as sparse tensors."""

from __future__ import annotations

import flowmill as tf
from flowmill._apply import op_scope
from flowmill.sparse_tensor import SparseTensor
from flowmill.tensor import Tensor


def bincount(values, weights=None, axis: int | None = 0, minlength: int | None = None, maxlength: int | None = None, binary_output: bool = False,
             name: str | None = None) -> SparseTensor:
    """How often each number occurs, for those that do.

    Args:
        values: integers that are not negative: a tensor, or a SparseTensor, of which the elements that are there count.
        weights: what each of them counts, in the form of `values`; one where it is None.
        axis: 0 or None counts all together; -1 counts each row of a matrix by itself.
        minlength: the least number of columns.
        maxlength: numbers from this one on are left out.
        binary_output: whether to give ones instead of counts.
        name: of the scope.

    Returns:
        A SparseTensor ``[columns]``, or ``[rows, columns]``: `int64`, or of the type of `weights`.

    Raises:
        ValueError: for another axis, and for weights with binary output.
    """
    if axis not in (None, 0, -1):
        raise ValueError(f"Unsupported value for argument axis={axis}. Only 0 and -1 are currently supported.")
    if binary_output and weights is not None:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive. Please specify only one.")
    given = [*values._components(), weights] if isinstance(values, SparseTensor) else [values, weights]
    with op_scope(name, "count", *given):
        rows, row_count, numbers = _numbers(values, axis)
        counted = _weights(weights, binary_output, numbers)
        columns = tf.reduce_max(tf.concat([numbers + 1, [tf.cast(minlength or 0, tf.int64)]], 0))
        if maxlength is not None:
            columns = tf.minimum(columns, tf.cast(maxlength, tf.int64))
            places = tf.reshape(tf.where(numbers < maxlength), [-1])
            rows, numbers, counted = (tf.gather(t, places) for t in (rows, numbers, counted))
        keys = rows * columns + numbers
        found, places = tf.unique(keys)
        total = (tf.unsorted_segment_max if binary_output else tf.unsorted_segment_sum)(counted, places, tf.size(found))
        order = tf.argsort(found)
        found, total = tf.gather(found, order), tf.gather(total, order)
        width = tf.maximum(columns, 1)
        if axis != -1:
            return SparseTensor(tf.expand_dims(found, 1), total, tf.expand_dims(columns, 0))
        return SparseTensor(tf.stack([found // width, found % width], 1), total, tf.stack([row_count, columns]))


def _numbers(values, axis) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, how many there are, and the numbers in them, flat and of 64 bits."""
    if isinstance(values, SparseTensor):
        numbers = tf.cast(values.values, tf.int64)
        if axis == -1 and values.indices.shape.as_list()[1] != 1:
            return values.indices[:, 0], values.dense_shape[0], numbers
        return tf.zeros_like(numbers), tf.constant(1, tf.int64), numbers
    values = tf.cast(tf.convert_to_tensor(values, name="values"), tf.int64)
    numbers = tf.reshape(values, [-1])
    if axis != -1 or values.shape.rank == 1:
        return tf.zeros_like(numbers), tf.constant(1, tf.int64), numbers
    sizes = tf.shape(values, out_type=tf.int64)
    return tf.range(tf.size(numbers, out_type=tf.int64)) // tf.maximum(sizes[1], 1), sizes[0], numbers


def _weights(weights, binary_output: bool, numbers: Tensor) -> Tensor:
    if weights is None:
        return tf.ones_like(numbers)
    return tf.reshape(weights.values if isinstance(weights, SparseTensor) else tf.convert_to_tensor(weights, name="weights"), [-1])
