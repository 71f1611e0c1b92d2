"""The feeds of a step: finds the tensors of keys and checks values."""

from __future__ import annotations

from typing import Any

from flowmill._internal.graph import Graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import known_shape
from flowmill.dtypes import as_dtype


def flatten(graph: Graph, feed_dict) -> dict[Tensor, Any]:
    """Returns the tensors that a feed dictionary names, with their values. A tuple as a key takes a value of the same structure.

    Raises:
        TypeError: if it is no dictionary or a key is no tensor.
        ValueError: if structures differ or a tensor may not be fed.
    """
    if not feed_dict:
        return {}
    if not hasattr(feed_dict, "items"):
        raise TypeError(f"Argument `feed_dict` must be a dictionary, not {type(feed_dict).__name__}.")
    feeds: dict[Tensor, Any] = {}
    for key, value in feed_dict.items():
        for tensor, part in _pairs(graph, key, value):
            if not graph.is_feedable(tensor):
                raise ValueError(f"Tensor {tensor.name} may not be fed.")
            feeds[tensor] = part
    return feeds


def _pairs(graph: Graph, key, value):
    if hasattr(key, "_components"):  # an object made of several tensors
        yield from zip(key._components(), _parts(key, value))
        return
    if isinstance(key, tuple):
        if not isinstance(value, (tuple, list)) or len(key) != len(value):
            raise ValueError(f"The feed's key {key} and its value {value!r} have different structures.")
        for k, v in zip(key, value):
            yield from _pairs(graph, k, v)
        return
    try:
        yield graph.as_graph_element(key, allow_operation=False), value
    except (TypeError, ValueError, KeyError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None


def _parts(key, value):
    """Returns the values of the tensors that `key` consists of."""
    parts_of = getattr(key, "_parts_of", None)
    if parts_of is not None:
        return parts_of(value)
    count = len(key._components())
    if not isinstance(value, (tuple, list)) or len(value) < count:
        raise ValueError(f"The value to feed for {key} must be a tuple of {count} arrays, got {value!r}.")
    return value[:count]


class HandleFed(TypeError):
    """A `TensorHandle` was fed where only values can be: to a callable."""


def refusal(name: str, dtype: int, shape, value, cause) -> Exception:
    """Returns the exception for a value that cannot be fed. Called by Rust.

    Args:
        name: the tensor's.
        dtype: the number of its type.
        shape: its static shape as a list, None if nothing is known of it.
        value: what was to be fed.
        cause: why it could not be converted; None if the shape is wrong.
    """
    if isinstance(value, Tensor):
        return TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, numpy "
            f"ndarrays, or TensorHandles. For reference, the tensor object was {value} which was passed to the argument `feed_dict` with key {name}.")
    if type(value).__name__ == "TensorHandle":
        return HandleFed(f"A TensorHandle is fed by Session.run, not by callables: {value} for tensor {name}.")
    if cause is None:
        import numpy as np  # start-up: NumPy is loaded when it is used

        return ValueError(f"Cannot feed value of shape {np.shape(value)} for Tensor {name}, which has shape {known_shape(shape)}")
    if isinstance(cause, OverflowError) or isinstance(value, int) and isinstance(cause, TypeError):
        return TypeError(
            f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {as_dtype(dtype)}. "
            "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64).")
    return cause
