"""The surroundings of operations while a graph is built: names, devices, control dependencies, colocation."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from flowmill import _core
from flowmill._internal import device as _device, protos
from flowmill._internal.graph_stack import defaults
from flowmill._internal.tensor import Operation, Tensor
from flowmill.errors import InvalidArgumentError

if TYPE_CHECKING:
    from flowmill._internal.graph import Graph


# What an operation is colocated with: a node's id, or the groups and the device of an operation of a graph around this one.
_Colocated = int | tuple[list[str], str]


class _Here:
    """The scopes that a thread has entered in one graph."""

    def __init__(self):
        self.scope = _core.Scope()
        # Functions that choose devices, outermost first; strings among them are merged when an operation is made.
        self.device_functions: tuple[Callable[[Operation], str | None] | str, ...] = ()
        # The device and the functions of before the outermost colocation, where there is one: those of what is lifted out of it.
        self.devices_outside: tuple[str, tuple] | None = None
        # Names of registered gradients by op.
        self.gradient_overrides: dict[str, str] = {}
        self.container = ""
        # Where the program asked for what is being added, as `user_frames` gives it, where several operations come of one call.
        self.frames: tuple | None = None


class _Thread(threading.local):
    """Each thread's :class:`_Here`, which is looked up once for many questions."""

    def __init__(self):
        self.here = _Here()


class _Within:
    """Puts a thread's scope in the place of what it is within a ``with`` block."""

    __slots__ = ("_thread", "_make", "_here", "_outer")

    def __init__(self, thread: _Thread, make: Callable[[_core.Scope], _core.Scope]):
        self._thread, self._make = thread, make

    def __enter__(self) -> None:
        here = self._here = self._thread.here
        self._outer = here.scope
        here.scope = self._make(self._outer)

    def __exit__(self, *raised) -> None:
        self._here.scope = self._outer


class _NameScope:
    """The context manager that :meth:`Scopes.name_scope` returns."""

    __slots__ = ("_scopes", "_name", "_here", "_outer")

    def __init__(self, scopes: Scopes, name: str | None):
        self._scopes, self._name = scopes, name

    def __enter__(self) -> str:
        here = self._here = self._scopes._thread.here
        scope = self._outer = here.scope
        here.scope, whole = self._scopes._named(scope, self._name)
        return whole and whole + "/"

    def __exit__(self, *raised) -> None:
        self._here.scope = self._outer


class _Device:
    """The context manager that :meth:`Scopes.device` returns."""

    __slots__ = ("_thread", "_chosen", "_here", "_outer")

    def __init__(self, thread: _Thread, chosen):
        self._thread, self._chosen = thread, chosen

    def __enter__(self) -> None:
        here, chosen = self._thread.here, self._chosen
        self._here = here
        scope, functions = self._outer = here.scope, here.device_functions
        if isinstance(chosen, _device.DeviceSpec):
            chosen = chosen.to_string()
        if chosen is None:
            here.scope, here.device_functions = scope.on_device(""), ()
        elif callable(chosen):
            here.device_functions = (*(functions or ((scope.device,) if scope.device else ())), chosen)
        elif functions:
            here.device_functions = (*functions, chosen)
        else:
            here.scope = scope.on_device(_device.merge(scope.device, chosen))

    def __exit__(self, *raised) -> None:
        self._here.scope, self._here.device_functions = self._outer


class _Colocation:
    """The context manager that :meth:`Scopes.colocate_with` returns: new operations join the groups of `nodes`, and devices chosen outside are
    ignored."""

    __slots__ = ("_thread", "_nodes", "_here", "_outer")

    def __init__(self, thread: _Thread, nodes: list[_Colocated]):
        self._thread, self._nodes = thread, nodes

    def __enter__(self) -> None:
        here = self._here = self._thread.here
        scope, functions, outside = self._outer = here.scope, here.device_functions, here.devices_outside
        device = scope.device
        if outside is None:
            here.devices_outside = device, functions
        if device:
            scope = scope.on_device("")
        here.scope, here.device_functions = scope.colocated_with(self._nodes), ()

    def __exit__(self, *raised) -> None:
        here = self._here
        here.scope, here.device_functions, here.devices_outside = self._outer


class lifted:  # noqa: N801 - used like a function
    """Leaves control-flow contexts and control dependencies of a graph: what is made here is made once, whatever surrounds it. It has the devices
    chosen outside of colocations, which last, if none are chosen within."""

    __slots__ = ("_graph", "_here", "_outer")

    def __init__(self, graph: Graph):
        self._graph = graph

    def __enter__(self) -> None:
        graph = self._graph
        defaults.graphs.append(graph)
        here = self._here = graph._thread.here
        scope, _ = self._outer = here.scope, here.device_functions
        scope = scope.unconditional()
        if here.devices_outside is not None and not scope.device and not here.device_functions:
            device, here.device_functions = here.devices_outside
            scope = scope.on_device(device)
        here.scope = scope

    def __exit__(self, *raised) -> None:
        self._here.scope, self._here.device_functions = self._outer
        defaults.graphs.pop()


class initializing:  # noqa: N801 - as above
    """The scope in which the initial value of a variable is made: the name scope ``Initializer`` of the current one, on no device that is
    chosen outside."""

    __slots__ = ("_graph", "_here", "_outer")

    def __init__(self, graph: Graph):
        self._graph = graph

    def __enter__(self) -> None:
        graph = self._graph
        here = self._here = graph._thread.here
        scope, _ = self._outer = here.scope, here.device_functions
        here.scope = graph._named(scope.on_device(""), "Initializer")[0]
        here.device_functions = ()

    def __exit__(self, *raised) -> None:
        self._here.scope, self._here.device_functions = self._outer


class Scopes:
    """The scopes of a graph, which each thread has its own of. The part of :class:`flowmill.Graph` that does not touch nodes."""

    def __init__(self):
        self._thread = _Thread()

    def _within(self, scope: _core.Scope) -> _Within:
        return _Within(self._thread, lambda _: scope)

    def name_scope(self, name: str | None) -> contextlib.AbstractContextManager[str]:
        """Puts names behind ``name/``, or ``name_1/`` if that is taken. A slash at the end goes back to that very scope; None or ``""`` to
        the outermost. Returns the scope's whole name with a slash at its end, to be given to :func:`name_scope` again.

        Raises:
            ValueError: for a name that scopes cannot have.
        """
        return _NameScope(self, name)

    def _named(self, scope: _core.Scope, name: str | None) -> tuple[_core.Scope, str]:
        """Returns the scope that :func:`name_scope` makes within another one, and its whole name without a slash at its end."""
        if not name:
            return scope.named(""), ""
        try:
            return self._core.name_scope(scope, name)
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None

    def get_name_scope(self) -> str:
        """The name scope, without a slash at its end."""
        return self._thread.here.scope.name

    def device(self, device_name_or_function) -> contextlib.AbstractContextManager[None]:
        """Places operations on a device: a (partial) name, a :class:`DeviceSpec`, or a function from an operation to either. Inner names
        complete outer ones; None forgets them."""
        return _Device(self._thread, device_name_or_function)

    def _choose_device(self, op: Operation) -> None:
        """Applies what chooses devices to a new operation, innermost first: names complete what there is, functions see it and say the whole.
        An operation that has the device of another one keeps that."""
        is_shared = any(self._core.device(w) if isinstance(w, int) else w[1] for w in self._thread.here.scope.colocation)
        chosen = ""
        if not is_shared:  # functions see what is inside of them alone
            self._core.set_device(op._id, chosen)
        for function in reversed(self._thread.here.device_functions):
            if isinstance(function, str):
                chosen = _device.merge(function, chosen)
            else:
                found = function(op)
                if found is None:
                    continue
                chosen = found.to_string() if isinstance(found, _device.DeviceSpec) else found
            if not is_shared:
                self._core.set_device(op._id, chosen)

    def control_dependencies(self, control_inputs) -> contextlib.AbstractContextManager[None]:
        """Makes operations run after `control_inputs`, which are operations or tensors. None drops all control dependencies, and leaves
        control-flow contexts."""
        if control_inputs is None:
            return _Within(self._thread, _core.Scope.unconditional)
        nodes = [self._controlling(c)._id for c in control_inputs]
        return _Within(self._thread, lambda outer: outer.after(nodes) if nodes else outer)

    def _controlling(self, element) -> Operation:
        if hasattr(element, "_handle"):  # waiting for a resource variable does not read it
            element = element.op
        found = self.as_graph_element(getattr(element, "values", element) if hasattr(element, "indices") else element)
        return found.op if isinstance(found, Tensor) else found

    def colocate_with(self, op, ignore_existing: bool = False) -> contextlib.AbstractContextManager[None]:
        """Colocates operations with `op`, an operation or a tensor, in addition to the colocation of outer scopes: they get its device and join
        its colocation groups. Devices chosen outside are ignored.

        Args:
            op: the operation, or one of its outputs; None for none.
            ignore_existing: leaves out the groups of the scopes outside.

        Raises:
            ValueError: if `op` is None, unless what exists is to be ignored.
        """
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        outer = [] if ignore_existing else self._thread.here.scope.colocation
        return _Colocation(self._thread, outer if op is None else [*outer, self._colocated(self._controlling(op))])

    def _colocated(self, op: Operation) -> _Colocated:
        """Returns an operation as the core's scopes name it."""
        if op.graph is self:
            return op._id
        return [group.decode() for group in op.colocation_groups()], op.device

    def _colocated_with_refs(self, refs: list[int]) -> contextlib.AbstractContextManager[None]:
        """The scope of what changes the variables `refs`, by their operations: as of nested :meth:`colocate_with`."""
        return _Colocation(self._thread, [*self._thread.here.scope.colocation, *refs])

    def _beside(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Colocates operations with the one called `name`, which may be added later, unless they are colocated with another."""
        return _Within(self._thread, lambda outer: outer if outer.colocation else outer.beside(name))

    def _attr_scope(self, attrs) -> contextlib.AbstractContextManager[None]:
        """Adds attributes, `AttrValue` messages, to operations; None removes one."""
        def with_attrs(scope: _core.Scope) -> _core.Scope:
            for name, value in attrs.items():
                scope = scope.with_attr(name, None if value is None else value.SerializeToString())
            return scope
        return _Within(self._thread, with_attrs)

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map) -> Iterator[None]:
        """Replaces the gradients of operations, by their ops, by those registered under other names: ``{"Square": "CustomSquare"}``.

        Raises:
            TypeError: if it is no dictionary of strings.
        """
        if not isinstance(op_type_map, dict):
            raise TypeError("`op_type_map` must be a dictionary mapping strings to strings")
        for op_type, registered in op_type_map.items():
            if not (isinstance(op_type, str) and isinstance(registered, str)):
                raise TypeError("`op_type_map` must be a dictionary mapping strings to strings")
        here = self._thread.here
        outer = here.gradient_overrides
        here.gradient_overrides = {**outer, **op_type_map}
        try:
            yield
        finally:
            here.gradient_overrides = outer

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Keeps the state of stateful operations in a container that :meth:`Session.reset` can clear."""
        here = self._thread.here
        outer = here.container
        here.container = container_name
        try:
            yield container_name
        finally:
            here.container = outer

    @property
    def _container(self) -> str:
        """The container of stateful operations; empty for the default one."""
        return self._thread.here.container

    def _attrs_of_surroundings(self, op: str, attrs: dict | None, is_stateful_with_container) -> dict | None:
        """Returns the attributes of an operation with those that its surroundings give it."""
        here = self._thread.here
        override = here.gradient_overrides.get(op)
        if override is not None:
            value = protos.get("AttrValue")(s=override.encode()).SerializeToString()
            attrs = {**(attrs or {}), "_gradient_op_type": value}
        if here.container and is_stateful_with_container() and not (attrs or {}).get("container"):
            attrs = {**(attrs or {}), "container": here.container}
        return attrs
