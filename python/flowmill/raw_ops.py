"""A function for each op, made when it is first used: ``raw_ops.MatMul(a=x, b=y, transpose_a=True)``.

There is one for every op of TensorFlow, and for those of the namespace ``Flowmill>``, as ``raw_ops.Flowmill_Softclip``; ``dir(raw_ops)`` lists those that can run. The others build nodes, for graphs that are written and run elsewhere.

Arguments are the op's inputs and attributes by their names, and ``name``. Attributes that follow from the inputs are left out, those with defaults may
be. What is returned is a tensor, a list, a tuple of those with the outputs' names, or the operation of an op without outputs.
"""

from __future__ import annotations

import inspect
import keyword

from flowmill import _core
from flowmill._internal.apply import Signature, apply_op, outputs_of, signature

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


# The inputs and attributes whose parameters have other names.
_RENAMED = {op: {"reduction_indices": "axis"} for op in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")} | {
    "ExpandDims": {"dim": "axis"}, "Select": {"t": "x", "e": "y"}, "Split": {"split_dim": "axis"}, "SplitV": {"split_dim": "axis"},
    "Squeeze": {"squeeze_dims": "axis"}, "Where": {"input": "condition"},
}


def parameter_name(op: str, name: str) -> str:
    """Returns what the parameter of an op's function for an input or attribute is called."""
    name = _RENAMED.get(op, {}).get(name, name)
    return name + "_" if keyword.iskeyword(name) else name


def parameters(op: Signature) -> list[tuple[str, str | None, bool]]:
    """Returns the parameters of an op's function but for ``name``: what each is called, the attribute that it is if it is one, whether it must be given."""
    attrs = [(parameter_name(op.name, attr), attr, not has_default) for attr, (_, has_default) in op.attrs.items() if attr not in op.inferred]
    # An empty list says nothing of its type.
    inferred = [(attr, attr, False) for attr in sorted(op.inferred) if attr in op.attrs]
    found = [*((parameter_name(op.name, i.name), None, True) for i in op.inputs), *attrs, *inferred]
    return sorted(found, key=lambda parameter: not parameter[2])


def _function(op: str):
    found = signature(op)
    known = parameters(found)
    attrs = {name: attr for name, attr, _ in known}
    required = [name for name, _, is_required in known if is_required]

    def function(*positional, name: str | None = None, **arguments):
        if positional:
            keys = [*(p for p, attr in attrs.items() if attr not in found.inferred), "name"]
            raise TypeError(f"{op} only takes keyword args (possible keys: {keys}). Please pass these args as kwargs instead.")
        unknown = arguments.keys() - attrs.keys()
        if unknown:
            raise TypeError(f"{op}() got an unexpected keyword argument '{sorted(unknown)[0]}'")
        missing = [p for p in required if p not in arguments]
        if missing:
            raise TypeError(f"{op}() missing {len(missing)} required argument: '{missing[0]}'")
        given = {attrs[p]: v for p, v in arguments.items() if attrs[p] is not None}
        return outputs_of(apply_op(op, name, [arguments[parameter_name(op, i.name)] for i in found.inputs], given))

    function.__name__ = function.__qualname__ = op
    function.__module__ = __name__
    optional = [*(f"{name}=…" for name, _, is_required in known if not is_required), "name=None"]
    gives = ", ".join(name for name, _ in found.outputs) or "the operation"
    function.__doc__ = f"``{op}({', '.join([*required, *optional])})`` → {gives}: the op as TensorFlow defines it."
    function.__signature__ = inspect.Signature([
        inspect.Parameter(name, _KEYWORD, default=inspect.Parameter.empty if is_required else None)
        for name, _, is_required in [*known, ("name", None, False)]])
    return function


def op_name(function: str) -> str:
    """Returns the op that a function is for: ``Flowmill_Softclip`` is for the op ``Flowmill>Softclip``."""
    return function.replace("Flowmill_", "Flowmill>", 1)


def __getattr__(name: str):
    op = op_name(name)
    if name.startswith("_") or _core.op_signature(op) is None:
        raise AttributeError(f"flowmill.raw_ops has no op {name!r}")
    made = globals()[name] = _function(op)
    return made


def __dir__():
    return sorted(n.replace(">", "_") for n in _core.op_names() if not n.startswith("_"))
