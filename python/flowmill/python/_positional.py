"""Functions of ops with positional arguments, as the modules ``gen_*_ops`` have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from flowmill import _core, raw_ops


# The ops by their names in small letters without underscores; filled when one is asked for first.
_ops: dict[str, str] = {}


def function_of(name: str, module: str) -> Callable:
    """Returns the function of an op: inputs come first, then attributes, required ones before others, and the name.

    Args:
        name: the op's name as functions are written: ``mat_mul`` for ``MatMul``.
        module: where it is asked for, for the message.

    Raises:
        AttributeError: if there is no such op.
    """
    if not _ops:
        _ops.update((op.lower(), op) for op in _core.op_names() if not op.startswith("_"))
    op = _ops.get(name.replace("_", ""))
    if op is None:
        raise AttributeError(f"{module} has no {name!r}: Flowmill has no such op")
    raw = getattr(raw_ops, op)
    parameters = list(inspect.signature(raw).parameters)

    def function(*args, **kwargs):
        if len(args) > len(parameters):
            raise TypeError(f"{name}() takes at most {len(parameters)} arguments ({len(args)} given)")
        return raw(**dict(zip(parameters, args)), **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = raw.__doc__
    return function
