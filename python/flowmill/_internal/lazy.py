"""Names of a module that are looked up elsewhere when they are first used, so that importing the package stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping

# By name: a module, and the name there, empty for the module itself.
Table = dict[str, tuple[str, str]]

# What each module offers so, for what describes the package.
TABLES: dict[str, Table] = {}


# What is of the distributed runtime.
_DISTRIBUTED = frozenset(("tf.distribute", "tf.test.create_local_cluster", "tf.train.Server"))


def table(package: str, by_module: Mapping[str, str]) -> Table:
    """Returns a table that says which module defines each name.

    Args:
        package: the package that the modules are of.
        by_module: for each of its modules names, separated by spaces; one that is called otherwise there is written ``outer=inner``.
    """
    found = {}
    for module, names in by_module.items():
        for name in names.split():
            outer, _, inner = name.partition("=")
            found[outer] = f"{package}.{module}", inner or outer
    return found


def messages(names: str) -> Table:
    """Protocol buffer messages, whose names are separated by spaces."""
    return table("flowmill", {"_internal.protos": names})


def modules(package: str, names: str) -> Table:
    """Modules of a package by their own names, separated by spaces."""
    return {name: (f"{package}.{name}", "") for name in names.split()}


def attach(module: str, names: Table, otherwise: Callable[[str], object] | None = None) -> tuple[Callable, Callable]:
    """``__getattr__`` and ``__dir__`` of a module with these names beside its own.

    Args:
        module: the module's name.
        names: where the names are.
        otherwise: returns the objects of other public names, or raises the error for them.
    """
    TABLES[module] = names
    globals_of_module = vars(sys.modules[module])
    path = "tf" + module.removeprefix("flowmill")

    def __getattr__(name: str):  # noqa: N807 - it becomes the module's
        where = names.get(name)
        if where is not None:
            home, inner = where
            found = importlib.import_module(home)
            found = getattr(found, inner) if inner else found
        elif name.startswith("_"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        elif otherwise is None:
            why = ": it has no distributed runtime" if f"{path}.{name}" in _DISTRIBUTED else ""
            raise AttributeError(f"flowmill has no {path}.{name}{why}")
        else:
            found = otherwise(name)
        globals_of_module[name] = found
        return found

    def __dir__():  # noqa: N807
        return sorted({*names, *globals_of_module})

    return __getattr__, __dir__
