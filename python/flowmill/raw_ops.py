"""A function for each op of the catalogue, made when it is first asked for: ``raw_ops.MatMul(a=x, b=y, transpose_a=True)``.

Arguments are the op's inputs and attributes by their names, and ``name``. Attributes that follow from the inputs are left out, those with defaults may
be. What is returned is a tensor, a list, a tuple of those with the outputs' names, or the operation of an op without outputs.
"""

from __future__ import annotations

import keyword

from flowmill import _core
from flowmill._apply import Signature, apply_op, outputs_of, signature


def _parameter(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def _function(op: str):
    found: Signature = signature(op)
    inputs = [_parameter(i.name) for i in found.inputs]
    attrs = {_parameter(a): (a, has_default) for a, (_, has_default) in found.attrs.items() if a not in found.inferred}
    required = [*inputs, *(p for p, (_, has_default) in attrs.items() if not has_default)]
    optional = {p for p, (_, has_default) in attrs.items() if has_default}
    # An empty list says nothing of its type.
    optional.update(a for a in found.inferred if a in found.attrs)

    def function(name: str | None = None, **arguments):
        unknown = arguments.keys() - set(required) - optional
        if unknown:
            raise TypeError(f"{op}() got an unexpected keyword argument '{sorted(unknown)[0]}'")
        missing = [p for p in required if p not in arguments]
        if missing:
            raise TypeError(f"{op}() missing {len(missing)} required argument: '{missing[0]}'")
        given = {attrs.get(p, (p,))[0]: v for p, v in arguments.items() if p not in inputs}
        return outputs_of(apply_op(op, name, [arguments[i] for i in inputs], given))

    function.__name__ = function.__qualname__ = op
    function.__module__ = __name__
    parameters = ", ".join([*required, *(f"{p}=…" for p in attrs if p in optional), "name=None"])
    gives = ", ".join(name for name, _ in found.outputs) or "the operation"
    function.__doc__ = f"``{op}({parameters})`` → {gives}: the op as TensorFlow defines it."
    return function


def __getattr__(name: str):
    if name.startswith("_") or _core.op_signature(name) is None:
        raise AttributeError(f"flowmill.raw_ops has no op {name!r}")
    made = globals()[name] = _function(name)
    return made


def __dir__():
    return sorted(n for n in _core.op_names() if not n.startswith("_"))
