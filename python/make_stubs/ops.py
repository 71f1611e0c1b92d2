"""The stub of `flowmill.raw_ops`: a function with typed parameters for each op of the catalogue."""

from __future__ import annotations

from flowmill import raw_ops
from flowmill._internal import apply
from make_stubs import layout

_HEAD = '''# Made by python/make_stubs from the code.

import typing
from collections.abc import Sequence

from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill.dtypes import DType

# A tensor, or what `flowmill.convert_to_tensor` takes.
_Input = typing.Any
# What `flowmill.as_dtype` takes.
_Type = DType | str | int | type[typing.Any]
_Shape = TensorShape | Sequence[int | None] | int | None
'''
_KINDS = {
    "type": "_Type", "shape": "_Shape", "int": "int", "float": "float", "bool": "bool", "string": "str | bytes", "tensor": "typing.Any", "func": "typing.Any",
}


def _kind(kind: str) -> str:
    return f"Sequence[{_kind(kind[5:-1])}]" if kind.startswith("list(") else _KINDS[kind]


def _function(op: str) -> list[str]:
    signature = apply.signature(raw_ops.op_name(op))
    parameters = raw_ops.parameters(signature)
    lists = {raw_ops.parameter_name(signature.name, i.name) for i in signature.inputs if i.is_list}
    parts = []
    for name, attr, is_required in parameters:
        kind = _kind(signature.attrs[attr][0]) if attr is not None else "Sequence[_Input]" if name in lists else "_Input"
        parts.append(f"{name}: {kind}" if is_required else f"{name}: {kind.removesuffix(' | None')} | None = None")
    outputs = signature.outputs
    lines, gives = [], "Operation"
    if len(outputs) == 1:
        gives = "list[Tensor]" if outputs[0][1] else "Tensor"
    elif outputs:
        gives = f"_{op}"
        lines = [f"class {gives}(typing.NamedTuple):", *(_field(name, is_list) for name, is_list in outputs), ""]
    return [*lines, *layout.function(op, ["*", *parts, "name: str | None = None"], gives)]


def _field(name: str, is_list: bool) -> str:
    # Methods of tuples are hidden by outputs of their names.
    return f"    {name}: {'list[Tensor]' if is_list else 'Tensor'}" + ("  # type: ignore[assignment]" if hasattr(tuple, name) else "")


def text() -> str:
    """The stub's text."""
    return _HEAD + "\n" + "\n".join(line for op in dir(raw_ops) for line in _function(op)) + "\n"
