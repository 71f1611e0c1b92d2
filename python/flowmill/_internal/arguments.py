"""Arguments as TensorFlow's functions take them: those of two names, shapes."""

from __future__ import annotations

from flowmill._internal.tensor_shape import Dimension


def one_of(old: str, old_value, new: str, new_value):
    """Returns the value of an argument that has two names.

    Raises:
        ValueError: if both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return old_value


def unwrapped_sizes(shape):
    """Returns a shape whose Dimensions, if it is a list or a tuple, are numbers, or None if they are not known."""
    if not isinstance(shape, (list, tuple)) or Dimension not in map(type, shape):
        return shape
    return type(shape)(s.value if type(s) is Dimension else s for s in shape)
