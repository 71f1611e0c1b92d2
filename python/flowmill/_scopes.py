"""What surrounds operations while a graph is built: names, devices, control dependencies, colocation."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator

from flowmill import _core, _protos, _device
from flowmill.tensor import Operation, Tensor

_SCOPE_NAME = re.compile(r"[A-Za-z0-9_.\\/>-]*")
_ROOT_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


class _Local(threading.local):
    """What a thread is in the middle of, in one graph."""

    def __init__(self):
        self.scope = _core.Scope()
        # Functions that choose devices, outermost first; strings among them are merged when an operation is made.
        self.device_functions: tuple[Callable[[Operation], str | None] | str, ...] = ()
        # Names of registered gradients by op.
        self.gradient_overrides: dict[str, str] = {}
        self.container = ""
        # Whether operations have the device of another.
        self.colocated = False


class Scopes:
    """The scopes of a graph, which each thread has its own of. The part of :class:`flowmill.Graph` that does not touch nodes."""

    def __init__(self):
        self._local = _Local()

    @contextlib.contextmanager
    def _within(self, scope: _core.Scope) -> Iterator[None]:
        local, outer = self._local, self._local.scope
        local.scope = scope
        try:
            yield
        finally:
            local.scope = outer

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Puts names behind ``name/``, or ``name_1/`` where that is taken. A slash at the end goes back to that very scope; None or ``""`` to
        the outermost. Gives the scope's whole name with a slash at its end, to be given to :func:`name_scope` again.

        Raises:
            ValueError: for a name that scopes cannot have.
        """
        scope = self._local.scope
        whole = self._scope_name(scope, name)
        with self._within(scope.named(whole)):
            yield whole and whole + "/"

    def _scope_name(self, scope: _core.Scope, name: str | None) -> str:
        """The whole name, without a slash at its end, of the scope that :func:`name_scope` makes within another one."""
        if not name:
            return ""
        if name.endswith("/"):
            return name[:-1]
        pattern = _SCOPE_NAME if scope.name else _ROOT_NAME
        if not pattern.fullmatch(name):
            raise ValueError(f"'{name}' is not a valid {'' if scope.name else 'root '}scope name")
        return self._core.unique_name(scope, name, True)

    def get_name_scope(self) -> str:
        """The name scope, without a slash at its end."""
        return self._local.scope.name

    @contextlib.contextmanager
    def device(self, device_name_or_function) -> Iterator[None]:
        """Lets operations ask for a device: a (partial) name, a :class:`DeviceSpec`, or a function from an operation to either. Inner names
        complete outer ones; None forgets them."""
        local = self._local
        scope, functions = local.scope, local.device_functions
        chosen = device_name_or_function
        if isinstance(chosen, _device.DeviceSpec):
            chosen = chosen.to_string()
        if chosen is None:
            local.scope, local.device_functions = scope.on_device(""), ()
        elif callable(chosen):
            local.device_functions = (*(functions or ((scope.device,) if scope.device else ())), chosen)
        elif functions:
            local.device_functions = (*functions, chosen)
        else:
            local.scope = scope.on_device(_device.merge(scope.device, chosen))
        try:
            yield
        finally:
            local.scope, local.device_functions = local.scope.on_device(scope.device), functions

    def _choose_device(self, op: Operation) -> None:
        """Applies functions that choose devices to a new operation, innermost first."""
        chosen = ""
        for function in reversed(self._local.device_functions):
            found = function if isinstance(function, str) else function(op)
            if found is None:
                continue
            if isinstance(found, _device.DeviceSpec):
                found = found.to_string()
            chosen = _device.merge(found, chosen)
            self._core.set_device(op._id, chosen)

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs) -> Iterator[None]:
        """Lets operations run after `control_inputs`, which are operations or tensors. None drops all control dependencies, and leaves
        control-flow contexts."""
        scope = self._local.scope
        if control_inputs is None:
            inner = scope.unconditional()
        else:
            nodes = [self._controlling(c)._id for c in control_inputs]
            inner = scope.after(nodes) if nodes else scope
        with self._within(inner):
            yield

    def _controlling(self, element) -> Operation:
        if hasattr(element, "_handle"):  # waiting for a resource variable does not read it
            element = element.op
        found = self.as_graph_element(getattr(element, "values", element) if hasattr(element, "indices") else element)
        return found.op if isinstance(found, Tensor) else found

    @contextlib.contextmanager
    def colocate_with(self, op, ignore_existing: bool = False) -> Iterator[None]:
        """Lets operations have the device of `op`, an operation or a tensor; None ends colocation within."""
        scope = self._local.scope
        if op is None:
            inner = scope.colocated_with([])
        else:
            inner = scope.colocated_with([self._controlling(op)._id])
        outer, self._local.colocated = self._local.colocated, op is not None
        try:
            with self._within(inner):
                yield
        finally:
            self._local.colocated = outer

    @contextlib.contextmanager
    def _attr_scope(self, attrs) -> Iterator[None]:
        """Gives operations attributes, `AttrValue` messages; None takes one away."""
        scope = self._local.scope
        for name, value in attrs.items():
            scope = scope.with_attr(name, None if value is None else value.SerializeToString())
        with self._within(scope):
            yield

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map) -> Iterator[None]:
        """Lets the gradients of operations, by their ops, be those registered by other names: ``{"Square": "CustomSquare"}``.

        Raises:
            TypeError: where it is no dictionary of strings.
        """
        if not isinstance(op_type_map, dict):
            raise TypeError("`op_type_map` must be a dictionary mapping strings to strings")
        for op_type, registered in op_type_map.items():
            if not (isinstance(op_type, str) and isinstance(registered, str)):
                raise TypeError("`op_type_map` must be a dictionary mapping strings to strings")
        local = self._local
        outer = local.gradient_overrides
        local.gradient_overrides = {**outer, **op_type_map}
        try:
            yield
        finally:
            local.gradient_overrides = outer

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Lets stateful operations keep their state in a container that :meth:`Session.reset` can clear."""
        local = self._local
        outer = local.container
        local.container = container_name
        try:
            yield container_name
        finally:
            local.container = outer

    def _attrs_of_surroundings(self, op: str, attrs: dict | None, is_stateful_with_container) -> dict | None:
        """The attributes of an operation with those that its surroundings give it."""
        local = self._local
        override = local.gradient_overrides.get(op)
        if override is not None:
            value = _protos.get("AttrValue")(s=override.encode()).SerializeToString()
            attrs = {**(attrs or {}), "_gradient_op_type": value}
        if local.container and is_stateful_with_container() and not (attrs or {}).get("container"):
            attrs = {**(attrs or {}), "container": local.container}
        return attrs
