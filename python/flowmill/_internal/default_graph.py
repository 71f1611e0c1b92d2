"""Scopes of the thread's default graph: what surrounds operations while they are made."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from flowmill._internal.apply import graph_of
from flowmill._internal.graph import get_default_graph


class name_scope:  # noqa: N801 - TensorFlow's name
    """Puts the names of operations behind a name. Used as ``with tf.name_scope(name, default_name, values) as scope:``.

    Args:
        name: the name; with a slash at its end the scope itself, None for `default_name`, ``""`` for the outermost.
        default_name: the name if there is none.
        values: tensors; their graph becomes the default one.

    Raises:
        TypeError: if `name` is no string.
        ValueError: if there are neither names nor `values`.
    """

    def __init__(self, name: str | None, default_name: str | None = None, values=None):
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(f"`default_name` type ({type(default_name)}) is not a string type. You likely meant to pass this into the `values` "
                            "kwarg.")
        self._name = default_name if name is None else name
        self._values = values
        self._stack: list[contextlib.ExitStack] = []

    @property
    def name(self) -> str | None:
        """The name asked for."""
        return self._name

    def __enter__(self) -> str:
        values = [] if self._values is None else list(self._values)
        if self._name is None and self._values is not None:
            raise ValueError(f"At least one of name (None) and default_name (None) must be provided. Received: values={self._values}")
        stack = contextlib.ExitStack()
        with stack:
            graph = graph_of([v for v in values if v is not None])
            stack.enter_context(graph.as_default())
            whole = stack.enter_context(graph.name_scope(self._name))
            self._stack.append(stack.pop_all())
        return whole

    def __exit__(self, *exception) -> None:
        return self._stack.pop().__exit__(*exception)


@contextlib.contextmanager
def op_scope(values, name: str | None, default_name: str | None = None) -> Iterator[str]:
    """:class:`name_scope` by its old arguments."""
    with name_scope(name, default_name, values) as scope:
        yield scope


def control_dependencies(control_inputs) -> contextlib.AbstractContextManager:
    """Makes operations run after `control_inputs`, like :meth:`Graph.control_dependencies` of the default graph."""
    return get_default_graph().control_dependencies(control_inputs)


def colocate_with(op, ignore_existing: bool = False) -> contextlib.AbstractContextManager:
    """Colocates operations with `op`, like :meth:`Graph.colocate_with` of the default graph."""
    return get_default_graph().colocate_with(op, ignore_existing)


def device(device_name_or_function) -> contextlib.AbstractContextManager:
    """Places operations on a device, like :meth:`Graph.device` of the default graph."""
    return get_default_graph().device(device_name_or_function)


def container(container_name: str) -> contextlib.AbstractContextManager:
    """Keeps the state of stateful operations in a container, like :meth:`Graph.container` of the default graph."""
    return get_default_graph().container(container_name)
