"""``operator[...]``: parts of a batch of operators."""

from __future__ import annotations

from collections.abc import Sequence

import flowmill as tf
from flowmill import nest


def sliced(operator, key):
    """Returns the operators of a part of a batch: the same kind, of the parts of the tensors and operators that it is made of."""
    keys = list(key) if isinstance(key, Sequence) else [key]
    parameters = operator.parameters
    if "batch_shape" in parameters:  # of operators that are made of no tensors
        parameters["batch_shape"] = tf.shape(tf.ones(operator.batch_shape_tensor())[tuple(keys)])
    elif keys != [Ellipsis]:
        batch = operator.batch_shape_tensor()
        for name, inner in operator._matrix_ndims.items():
            value = getattr(operator, name)
            if value is not None:
                parameters[name] = nest.map_structure(lambda part, count=inner: _part(part, count, keys, batch), value)
    return type(operator)(**parameters)


def _part(value, inner: int, keys: list, batch):
    """Returns the part of a tensor, whose last `inner` dimensions are of one operator, or of an operator."""
    value = _with_batch(value, inner, tf.ones_like(batch))
    own = value.batch_shape_tensor() if inner == 0 and hasattr(value, "batch_shape_tensor") else tf.shape(value)
    own = own[:tf.size(own) - inner]
    if tf.get_static_value(tf.size(batch)) != 0 and tf.get_static_value(tf.size(own)) == 0:
        return value
    made = _within(keys, batch, own)
    if inner:
        made += [] if Ellipsis in [k for k in keys if not tf.is_tensor(k)] else [Ellipsis]
        made += [slice(None)] * inner
    return value[tuple(made)]


def _with_batch(value, inner: int, batch):
    """Returns a tensor, or an operator, with at least the dimensions of `batch` in front."""
    if hasattr(value, "batch_shape_tensor"):
        parts = {name: nest.map_structure(lambda part, count=count: _with_batch(part, count, batch), getattr(value, name))
                 for name, count in value._matrix_ndims.items() if getattr(value, name) is not None}
        return type(value)(**value.parameters | parts)
    whole = tf.broadcast_dynamic_shape(tf.concat([batch, tf.ones([inner], tf.int32)], 0), tf.shape(value))
    return tf.broadcast_to(value, whole)


def _within(keys: list, batch, own) -> list:
    """Returns keys for a tensor in which dimensions of the batch may have size 1: those have only the place 0."""
    made, at = [], 0
    for i, key in enumerate(keys):
        if key is Ellipsis:
            if at < 0:
                raise ValueError(f"Found multiple `...` in slices {keys}")
            at = -sum(k is not None for k in keys[i + 1:])
        elif key is not None:
            is_repeated = batch[at] > own[at]
            if isinstance(key, slice):
                key = slice(*(None if bound is None else _chosen(is_repeated, alone, bound) for alone, bound in zip((0, 1, 1), (key.start, key.stop, key.step))))
            else:
                key = _chosen(is_repeated, 0, key)
            at += 1
        made.append(key)
    return made


def _chosen(condition, x, y):
    """Returns one of two numbers: a number if the condition and both are known."""
    known = [tf.get_static_value(v) if tf.is_tensor(v) else v for v in (condition, x, y)]
    return tf.where(condition, x, y) if any(v is None for v in known) else int(known[1] if known[0] else known[2])
