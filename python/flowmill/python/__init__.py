"""The modules of TensorFlow's inner package that programs import from: ``from flowmill.python.ops import array_ops``.

They are made when they are imported. Their names are public objects of Flowmill; `_modules.py` says which. ``ops.gen_*_ops`` have a function for each
op, which takes positional arguments.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import re
import sys
import types

from flowmill.python._modules import MODULES

__all__: list[str] = []

_GENERATED = re.compile(r"ops\.gen_[a-z0-9_]*ops(_[a-z0-9_]+)?$")
# Packages of modules; those of several parts have parents.
_PACKAGES = {".".join(parts[:n]) for parts in (name.split(".") for name in MODULES) for n in range(1, len(parts))}


class _AliasModule(types.ModuleType):
    """A module whose names are objects of other modules, found when they are first used."""

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._find(name)
        setattr(self, name, found)
        return found

    def _find(self, name: str):
        inner = self.__name__.removeprefix(__name__ + ".")
        for home, names in MODULES.get(inner, {}).items():
            own = _own_name(name, names)
            if own is not None:
                module = importlib.import_module(f"flowmill.{home}" if home else "flowmill")
                if names != "*" or hasattr(module, own):
                    return getattr(module, own)
        if inner in _PACKAGES and f"{inner}.{name}" in MODULES.keys() | _PACKAGES:
            return importlib.import_module(f"{self.__name__}.{name}")
        raise AttributeError(f"{self.__name__} has no {name!r}: Flowmill offers only a part of TensorFlow's module of this name")

    def __dir__(self):
        found = set(super().__dir__())
        for home, names in MODULES.get(self.__name__.removeprefix(__name__ + "."), {}).items():
            if names == "*":
                found |= {n for n in dir(importlib.import_module(f"flowmill.{home}")) if not n.startswith("_")}
            else:
                found |= {n.partition("=")[0] for n in names.split()}
        return sorted(found)


def _own_name(name: str, names: str) -> str | None:
    """Returns what a public module calls a name that an inner module takes from it; None if it takes none."""
    if names == "*":
        return None if name.startswith("_") else name
    for entry in names.split():
        outer, _, own = entry.partition("=")
        if outer == name:
            return own or outer
    return None


class _OpsModule(types.ModuleType):
    """A module of functions of ops, which are called as the ops are, in small letters with underscores."""

    def __getattr__(self, name: str):
        from flowmill.python._positional import function_of  # cycle: python._positional imports this module

        if name.startswith("__"):
            raise AttributeError(name)
        found = function_of(name, self.__name__)
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that have no file."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith(__name__ + "."):
            return None
        inner = fullname.removeprefix(__name__ + ".")
        if inner == "keras" or inner.startswith("keras."):
            raise ModuleNotFoundError(f"flowmill has no {inner}: it builds and runs graphs, without Keras; layers are in flowmill.layers", name=fullname)
        if inner in MODULES or inner in _PACKAGES or _GENERATED.match(inner):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=inner in _PACKAGES)
        return None

    def create_module(self, spec):
        made = (_OpsModule if _GENERATED.match(spec.name.removeprefix(__name__ + ".")) else _AliasModule)(spec.name)
        made.__doc__ = "Names of public modules as TensorFlow's inner package has them."
        return made

    def exec_module(self, module):
        pass


sys.meta_path.append(_Finder())


def __getattr__(name: str):
    if not name.startswith("_") and name in MODULES.keys() | _PACKAGES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"{__name__} has no {name!r}: Flowmill offers only a part of TensorFlow's inner package")
