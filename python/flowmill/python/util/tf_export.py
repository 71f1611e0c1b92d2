"""Marks of public names, which have no effect here."""

from __future__ import annotations

__all__ = ["estimator_export", "keras_export", "tf_export"]


class tf_export:  # noqa: N801 - used like a function
    """A decorator that returns what it decorates. Arguments are not used."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, func):
        return func

    def export_constant(self, module_name: str, name: str) -> None:
        """Does nothing."""


estimator_export = keras_export = tf_export
