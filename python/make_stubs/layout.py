"""The layout of a function in a stub."""

from __future__ import annotations

WIDTH = 150


def function(name: str, parameters: list[str], gives: str, indent: str = "", doc: list[str] | None = None) -> list[str]:
    """A function's lines: one, or one a parameter if that is too long.

    Args:
        name: what it is called.
        parameters: each as it is written.
        gives: the type of its result.
        indent: the beginning of each line.
        doc: the lines of its documentation.
    """
    tail = f") -> {gives}:" + ("" if doc else " ...")
    line = f"{indent}def {name}({', '.join(parameters)}{tail}"
    lines = [line] if len(line) <= WIDTH else [f"{indent}def {name}(", *(f"{indent}    {p}," for p in parameters), indent + tail]
    return lines + [f"{indent}    {text}" if text else "" for text in doc or ()]
