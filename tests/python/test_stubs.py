"""What type checkers and readers are told: the stubs of the native module and the docstrings of the package."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import flowmill
from flowmill import _core

PACKAGE = Path(flowmill.__file__).parent
# `compat.v1` is the package itself, `__main__` runs it.
LEFT_OUT = {"flowmill.__main__", "flowmill.compat.v1", "flowmill._core"}
MODULES = ["flowmill", *(m.name for m in pkgutil.walk_packages(flowmill.__path__, "flowmill.") if m.name not in LEFT_OUT)]


def stub_parameters(function: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, without the instance or class."""
    args = function.args
    plain = [*args.posonlyargs, *args.args]
    defaults = [False] * (len(plain) - len(args.defaults)) + [True] * len(args.defaults)
    found = [(a.arg, "plain", d) for a, d in zip(plain, defaults)]
    if args.vararg:
        found.append((args.vararg.arg, "rest", False))
    found += [(a.arg, "keyword", d is not None) for a, d in zip(args.kwonlyargs, args.kw_defaults)]
    return [f for f in found if f[0] not in ("self", "cls")]


KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "plain", inspect.Parameter.POSITIONAL_OR_KEYWORD: "plain",
    inspect.Parameter.VAR_POSITIONAL: "rest", inspect.Parameter.KEYWORD_ONLY: "keyword",
}


def real_parameters(function) -> list[tuple[str, str, bool]]:
    parameters = inspect.signature(function).parameters.values()
    return [(p.name, KINDS[p.kind], p.default is not p.empty) for p in parameters if p.name not in ("self", "cls")]


def test_the_stub_of_the_native_module_is_true():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
    classes = {n.name: n for n in tree.body if isinstance(n, ast.ClassDef)}
    variables = {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert variables | functions.keys() | classes.keys() == {n for n in dir(_core) if not n.startswith("_")}
    for name, function in functions.items():
        assert stub_parameters(function) == real_parameters(getattr(_core, name)), name
    for name, stub in classes.items():
        real = getattr(_core, name)
        methods = {m.name: m for m in stub.body if isinstance(m, ast.FunctionDef)}
        properties = {m.target.id for m in stub.body if isinstance(m, ast.AnnAssign)}
        assert properties | {m for m in methods if not m.startswith("_")} == {m for m in vars(real) if not m.startswith("_")}, name
        for method, declared in methods.items():
            assert method in vars(real), f"{name}.{method}"
            if method == "__new__":
                assert stub_parameters(declared) == real_parameters(real), name
            elif not method.startswith("_"):
                assert stub_parameters(declared) == real_parameters(getattr(real, method)), f"{name}.{method}"


def test_the_package_says_that_it_has_types():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for attribute, value in vars(module).items():
        if attribute.startswith("_") or getattr(value, "__module__", None) != name or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        assert value.__doc__, attribute
        if inspect.isclass(value):
            for member, part in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(part) or isinstance(part, (property, staticmethod, classmethod))):
                    assert part.__doc__, f"{attribute}.{member}"
