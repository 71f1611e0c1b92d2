"""All stubs of the package."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil

import flowmill
from make_stubs import messages, ops, source

# The package whose code is read, and the place of its stubs.
PACKAGE = pathlib.Path(flowmill.__file__).parent
STUBS = pathlib.Path(__file__).parent.parent / "flowmill"
# Written by hand, or what is run.
_LEFT_OUT = {"flowmill._core", "flowmill.__main__"}
_OWN = {"flowmill.raw_ops": ops.text, "flowmill._internal.protos": messages.text, "flowmill.compat.v1": lambda: "from flowmill import *  # noqa: F403\n"}


def modules() -> list[str]:
    """The package's modules."""
    return ["flowmill", *sorted(m.name for m in pkgutil.walk_packages([str(PACKAGE)], "flowmill.") if m.name not in _LEFT_OUT)]


def _path_of(name: str) -> str:
    """Returns the path of a module's stub in the package."""
    path = pathlib.Path(*name.split(".")[1:])
    return str(path / "__init__.pyi" if (PACKAGE / path).is_dir() else path.with_suffix(".pyi"))


def stubs() -> dict[str, str]:
    """The texts of all stubs by their paths in the package."""
    loaded = {name: importlib.import_module(name) for name in modules()}
    taken = set().union(*map(source.taken, loaded.values()))
    made = {name: make() for name, make in _OWN.items()}
    for name, module in loaded.items():
        if name not in _OWN and source.needs_stub(module):
            made[name] = source.Stub(module, {inner for home, inner in taken if home == name}).text()
    return {_path_of(name): text for name, text in made.items()}


def write() -> None:
    """Writes all stubs, and removes those of modules that need none any more."""
    made = stubs()
    for path in {str(p.relative_to(STUBS)) for p in STUBS.rglob("*.pyi")} - made.keys() - {"_core.pyi"}:
        (STUBS / path).unlink()
    for path, text in made.items():
        (STUBS / path).write_text(text)
