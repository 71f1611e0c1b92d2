"""Objects that own variables: `Module`."""

from __future__ import annotations

import functools
import re
from typing import Any

from flowmill import nest
from flowmill._internal.default_graph import name_scope
from flowmill._internal.graph import get_default_graph
from flowmill._internal.variables import Variable

__all__ = ["Module"]

_NAME = re.compile(r"^[A-Za-z_]\w*$")


def _snake_case(name: str) -> str:
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"([A-Z][A-Z0-9]*)([A-Z][a-z])", r"\1_\2", name)).lower()


class Module:
    """A base class for what has variables as attributes, by itself or in other modules.

    Args:
        name: its name; the class's name if it is None.

    Raises:
        ValueError: for a name that is not one of Python's.
    """

    def __init__(self, name: str | None = None):
        name = _snake_case(type(self).__name__) if name is None else name
        if not _NAME.match(name):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid class name).")
        self._name = name
        with get_default_graph().name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The module's name."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """The scope of its operations, a context manager."""
        return name_scope(self._scope_name)

    @property
    def variables(self) -> tuple:
        """Its variables and those of its modules, by the names of attributes."""
        return tuple(self._owned(lambda value: isinstance(value, Variable)))

    @property
    def trainable_variables(self) -> tuple:
        """The variables of :attr:`variables` that are trained."""
        return tuple(v for v in self.variables if v.trainable)

    @property
    def non_trainable_variables(self) -> tuple:
        """The variables of :attr:`variables` that are not trained."""
        return tuple(v for v in self.variables if not v.trainable)

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The modules that it owns, and theirs."""
        return tuple(self._owned(lambda value: isinstance(value, Module)))

    def _owned(self, wanted, seen: set[int] | None = None) -> list:
        """Values that are wanted, its own before those of its modules."""
        seen = {id(self)} if seen is None else seen
        found, modules = [], []
        for name in sorted(vars(self)):
            for value in nest.flatten(vars(self)[name]):
                if id(value) in seen or not (wanted(value) or isinstance(value, Module)):
                    continue
                seen.add(id(value))
                if wanted(value):
                    found.append(value)
                if isinstance(value, Module):
                    modules.append(value)
        for module in modules:
            found.extend(module._owned(wanted, seen))
        return found

    @classmethod
    def with_name_scope(cls, method) -> Any:
        """Returns a decorator for methods: what they add to the graph is in the module's scope."""
        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)
        return scoped
