"""What functions take: the names, order and defaults of TensorFlow's."""

import inspect

import pytest

import flowmill
from flowmill._internal import names

MODULES = [f"flowmill.{module}" for module in "debugging linalg math random signal".split()]
MODULES += [f"flowmill._internal.{module}" for module in "array clip_ops logging_ops random_seed tensor_util".split()]
TOP = [name for name, (module, _) in sorted(names.NAMES.items()) if module in MODULES]
assert {module for module, _ in names.NAMES.values()}.issuperset(MODULES)
OF_MODULES = ["math", "linalg", "random", "debugging", "bitwise", "quantization", "signal"]
OF_MODULES += ["nn", "losses", "metrics", "image"]

# These have their name before an argument that TensorFlow 1 did not have, as there.
OTHER_ORDER = {name for name in TOP if "scatter" in name}


def parameters(function):
    found = [(p.name, tuple(p.default) if isinstance(p.default, list) else p.default) for p in inspect.signature(function).parameters.values()]
    # Functions, types and what is not given are other objects here; lists are tuples.
    return [(name, default if isinstance(default, (int, float, str, bool, tuple, type(None))) else None) for name, default in found]


def check(theirs, ours, name):
    if not callable(theirs) or inspect.isclass(theirs):
        return
    expected, found = parameters(theirs), parameters(ours)
    if name in OTHER_ORDER:
        assert set(expected) <= set(found)
        return
    if ("kwargs", None) in expected:  # what they are is not said
        return
    assert found[:len(expected)] == expected


@pytest.mark.parametrize("name", TOP)
def test_functions_of_the_top_level(tf1, name):
    if hasattr(tf1, name):
        check(getattr(tf1, name), getattr(flowmill, name), name)


@pytest.mark.parametrize("module", OF_MODULES)
def test_functions_of_modules(tf1, module):
    theirs, ours = getattr(tf1, module), getattr(flowmill, module)
    for name in dir(theirs):
        if not name.startswith("_") and hasattr(ours, name):
            check(getattr(theirs, name), getattr(ours, name), name)
