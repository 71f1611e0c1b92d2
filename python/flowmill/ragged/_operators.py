"""Python's operators on ragged tensors."""

from __future__ import annotations


def _binary(name: str):
    def operator(self, y):
        from flowmill.ragged._elementwise import operated  # cycle: ragged._tensor imports this module

        return operated(name, self, y)
    operator.__name__ = name
    return operator


def _unary(name: str):
    def operator(self):
        from flowmill.ragged._elementwise import operated  # cycle: ragged._tensor imports this module

        return operated(name, self)
    operator.__name__ = name
    return operator


def install(of: type) -> None:
    """Adds its operators to the class of ragged tensors."""
    for kind in ("add", "sub", "mul", "truediv", "div", "floordiv", "mod", "pow", "and", "or", "xor"):
        for name in (f"__{kind}__", f"__r{kind}__"):
            setattr(of, name, _binary(name))
    for name in ("__lt__", "__le__", "__gt__", "__ge__"):
        setattr(of, name, _binary(name))
    for name in ("__neg__", "__abs__", "__invert__"):
        setattr(of, name, _unary(name))
