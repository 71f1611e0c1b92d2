"""Hints about how a pipeline is run. They are kept with datasets and change nothing in what comes out."""

from __future__ import annotations

from typing import Any

# Numbers of elements that cannot be counted.
INFINITE_CARDINALITY, UNKNOWN_CARDINALITY = -1, -2


class _Hints:
    """Named values, None where nothing was said."""

    _names: tuple[str, ...] = ()

    def __init__(self):
        for name in self._names:
            object.__setattr__(self, name, None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        object.__setattr__(self, name, value)

    def __eq__(self, other):
        return type(self) is type(other) and all(getattr(self, n) == getattr(other, n) for n in self._names)

    def __ne__(self, other):
        return not self == other

    __hash__ = None


class ThreadingOptions(_Hints):
    """Hints about threads."""

    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Hints):
    """Hints that :meth:`Dataset.with_options` takes. What has not been set is None; :attr:`threading` has hints of its own.

    Raises:
        AttributeError: where one is set that does not exist.
    """

    _names = (
        "autotune", "dataset_name", "deterministic", "experimental_deterministic", "experimental_distribute", "experimental_optimization",
        "experimental_slack", "experimental_symbolic_checkpoint", "experimental_threading", "experimental_warm_start", "framework_type", "threading")

    def __init__(self) -> None:
        super().__init__()
        self.threading = ThreadingOptions()

    def merge(self, options: Options) -> Options:
        """One with what either says; `options` has the last word."""
        made = Options()
        for name in self._names:
            value = getattr(options, name)
            unset = value is None or value == ThreadingOptions()
            setattr(made, name, getattr(self, name) if unset else value)
        return made
