"""Arguments as TensorFlow's functions take them: those of two names."""

from __future__ import annotations


def one_of(old: str, old_value, new: str, new_value):
    """The value of an argument that has two names.

    Raises:
        ValueError: where both are given.
    """
    if old_value is None:
        return new_value
    if new_value is not None:
        raise ValueError(f"Cannot specify both '{old}' and '{new}'.")
    return old_value
