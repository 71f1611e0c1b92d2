"""Sections of a graph that no two steps, and no two places of one step, run at the same time."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, NamedTuple

import flowmill as tf
from flowmill import nest
from flowmill._internal.apply import apply_op, call
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_array import TensorArray

_SECTIONS = "critical_sections"
_EXECUTIONS = "critical_section_executions"


class _Execution(NamedTuple):
    """The operations that one call of `execute` has built."""

    op: Operation
    handle: Tensor
    resources: list[Tensor]
    exclusive_resource_access: bool


class _Entered(threading.local):
    """The sections whose functions this thread is calling."""

    def __init__(self):
        self.signatures: list[tuple] = []


_entered = _Entered()


@contextlib.contextmanager
def _entering(signature: tuple):
    if signature in _entered.signatures:
        raise ValueError(f"Attempting to lock a CriticalSection (signature={signature}) in which we are already running. This is illegal and may "
                         "cause deadlocks.")
    _entered.signatures.append(signature)
    try:
        yield
    finally:
        _entered.signatures.pop()


def _identity(part):
    if isinstance(part, TensorArray):
        return part.identity()
    if isinstance(part, Operation):
        return tf.group(part)
    return tf.identity(part)


def _colocation(op: Operation):
    try:
        return op.get_attr("_class")
    except ValueError:
        return None


class CriticalSection:
    """A lock, and what runs while it is held.

    Args:
        name: the name of the scope.
        shared_name: sections of one name and container have one lock; the scope's name if it is None.
        critical_section_def: not supported.
        import_scope: not used.

    Raises:
        ValueError: if `critical_section_def` is given.
    """

    def __init__(self, name: str | None = None, shared_name: str | None = None, critical_section_def=None, import_scope=None):
        if critical_section_def and name is not None:
            raise ValueError(f"Arguments critical_section_def={critical_section_def} and shared_name={shared_name} are mutually exclusive. Please only "
                             "specify one of them.")
        if critical_section_def:
            raise ValueError("Argument `critical_section_def` is not supported.")
        with tf.name_scope(name, "CriticalSection", []) as scope, tf.init_scope():
            container = get_default_graph()._container
            shared_name = scope if shared_name is None else shared_name
            self._handle = call("MutexV2", scope, shared_name=shared_name, container=container)
            op = self._handle.op
            self._signature = (container, shared_name or id(self._handle), op.device or _colocation(op))
        tf.add_to_collections(_SECTIONS, self)

    @property
    def name(self) -> str:
        """The name of the lock's operation."""
        return self._handle.op.name

    def execute(self, fn, exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Returns the result of `fn`, computed while the lock is held. The lock is taken after all outside tensors that `fn` uses have been
        computed.

        Args:
            fn: builds what runs in the section; returns a structure of tensors and operations, which are all computed if one of them is asked for.
            exclusive_resource_access: whether the variables and the like that `fn` uses may be used by no other section.
            name: the name of the scope.

        Raises:
            ValueError: if `fn` enters the section again, or uses what another section has for itself.
        """
        with tf.name_scope(name, "critical_section_execute", []):
            graph = get_default_graph()
            with _entering(self._signature):
                lock = call("MutexLock", None, self._handle)
                before = len(graph.get_operations())
                with tf.control_dependencies([lock]):
                    made = fn()
                created = graph.get_operations()[before:]
            self._wait_for_arguments(created, lock.op)
            resources = list({id(t): t for op in created for t in op.inputs if t.dtype == tf.resource}.values())
            if any(self._is_own(t) for t in resources):
                raise ValueError(f"Attempting to lock a CriticalSection in which we are already running (signature={self._signature}). This is illegal "
                                 "and may cause deadlocks.")
            self._check_access(resources, exclusive_resource_access)
            parts = [_identity(part) for part in nest.flatten(made)]
            with tf.control_dependencies(parts):
                with tf.colocate_with(self._handle):
                    released = apply_op("ConsumeMutexLock", None, (lock,))
                made = nest.pack_sequence_as(made, tf.tuple(nest.flatten(made)))
            with tf.control_dependencies([released]):
                outputs = nest.map_structure(_identity, made)
            tf.add_to_collections(_EXECUTIONS, _Execution(lock.op, self._handle, resources, exclusive_resource_access))
            return outputs

    @staticmethod
    def _wait_for_arguments(created: list[Operation], lock: Operation) -> None:
        """Delays the lock until all outside tensors that the created operations use have been computed."""
        own = {op._id for op in created} | {op._id for op in lock.control_inputs} | {t.op._id for t in lock.inputs} | {lock._id}
        outside = {op._id: op for c in created for op in [*(t.op for t in c.inputs), *c.control_inputs] if op._id not in own}
        if outside:
            lock._add_control_input(tf.group(*outside.values()))

    def _is_own(self, tensor: Tensor) -> bool:
        """Returns true if a resource is the lock."""
        op, own = tensor.op, self._handle.op
        if op.type != "MutexV2" or not op.get_attr("shared_name"):
            return False
        return op.get_attr("shared_name") == own.get_attr("shared_name") and (op.device == own.device or _colocation(op) == _colocation(own))

    def _check_access(self, resources: list[Tensor], exclusive: bool) -> None:
        used = {id(t): t for t in resources}
        for other in tf.get_collection(_EXECUTIONS):
            if self._is_own(other.handle) or not (exclusive or other.exclusive_resource_access):
                continue
            common = [t for t in other.resources if id(t) in used]
            if common:
                raise ValueError(f"This execution would access resources: {common}. Either this lock (CriticalSection: {self._handle}) or lock '{other}' "
                                 f"(CriticalSection: {other.handle}) requested exclusive resource access of this resource. Did you mean to call execute "
                                 "with keyword argument exclusive_resource_access=False?")


__all__ = ["CriticalSection"]
