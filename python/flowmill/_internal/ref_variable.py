"""Variables that operations refer to: `VariableV2` holds them, and ops such as `Assign` take a reference."""

from __future__ import annotations

import contextlib

from flowmill._internal.apply import apply_op, call, dims
from flowmill._internal.control_flow import cond_by_switches
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_keys import prepend_name_scope
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.initial_values import check_is_outside, guarded
from flowmill._internal.scopes import initializing, lifted
from flowmill._internal.session import register_fetch_type
from flowmill._internal.state import is_variable_initialized
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable import Variable, check_arguments
from flowmill._internal.variable_modes import check_modes
from flowmill.dtypes import DType


class RefVariable(Variable):
    """A reference variable: what ``tf.Variable(...)`` makes by default. See :class:`flowmill.Variable` for its arguments."""

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None, variable_def=None,
                 dtype=None, expected_shape=None, import_scope=None, constraint=None, synchronization=None, aggregation=None, shape=None) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._of_message(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        self._synchronization, self._aggregation, self._trainable = check_modes(synchronization, aggregation, trainable, name)
        collections = check_arguments(collections, self._trainable, constraint)
        self._constraint = constraint
        graph = get_default_graph() if callable(initial_value) else getattr(initial_value, "graph", None) or get_default_graph()
        graph._check_not_finalized()
        with lifted(graph), graph.name_scope(name or "Variable") as scope:
            if callable(initial_value):
                beside = graph._beside(scope[:-1])
                with beside, initializing(graph):
                    value = convert_to_tensor(initial_value(), dtype, "initial_value")
            else:
                beside = contextlib.nullcontext()
                check_is_outside(initial_value, scope)
                value = convert_to_tensor(initial_value, dtype, "initial_value")
            self._initial_value = value
            start = guarded(scope, value)
            with beside:
                self._hold(graph, scope, start, validate_shape, caching_device is None)
            if caching_device is not None:
                with graph.device(caching_device):
                    self._snapshot = graph._add("Identity", "read", [self._holder._key])._outputs[0]
        graph.add_to_collections(collections, self)

    def _hold(self, graph: Graph, scope: str, start: Tensor, validate_shape: bool, is_read: bool) -> None:
        """Adds what holds the value, what gives it the first one, and what reads it."""
        sizes = dims(self._initial_value) if validate_shape else None
        if validate_shape and (sizes is None or -1 in sizes):
            raise ValueError(f"initial_value must have a shape specified: {self._initial_value!r}")
        number = start._type % 100
        nodes: list[tuple] = [
            ("VariableV2", "", (), {"shape": sizes, "dtype": number}),
            ("Assign", "Assign", (0, start._key), {"validate_shape": validate_shape, "use_locking": True}, 0),
        ]
        if is_read:
            nodes.append(("Identity", "read", (0,), None, 0))
        ids, _ = graph._add_nodes(tuple(nodes), scope)
        self._holder, self._assigned = graph._first_output(ids[0], 100 + number), ids[1]
        if is_read:
            self._snapshot = graph._first_output(ids[2], number)

    def _of_message(self, variable_def, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str):
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._holder = element(variable_def.variable_name)
        self._assigned = element(variable_def.initializer_name)._id
        self._initial_value = element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        self._snapshot = element(variable_def.snapshot_name)
        self._restore_from(variable_def, import_scope)

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its initial value."""
        # What is restored from a checkpoint has another one.
        return self.graph._operation(self._assigned) if self._initializer is None else self._initializer

    @property
    def dtype(self) -> DType:
        """The type of a reference to its value."""
        return self._holder.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._holder.shape

    @property
    def _snapshot_name(self) -> str:
        return self._snapshot.name

    def _ref(self) -> Tensor:
        return self._holder

    def initialized_value(self) -> Tensor:
        """Its value if it is initialized, else its initial value. A branch that is a function would get the value, which may not be there: so
        they never are functions."""
        with lifted(self.graph):
            return cond_by_switches(self.graph, is_variable_initialized(self), self.read_value, lambda: self.initial_value)

    def value(self) -> Tensor:
        """Its value, read by the operation ``name/read``, which all readers share."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """Its value, read by an operation of its own."""
        return call("Identity", "read", self._holder)

    def _as_graph_element(self) -> Tensor:
        return self._holder

    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape."""
        self._holder.set_shape(shape)
        self._snapshot.set_shape(shape)

    def _changed(self, how: str, value, use_locking: bool | None, name: str | None, read_value: bool):
        made = apply_op("Assign" + how, name, (self._holder, value), {"use_locking": bool(use_locking)})
        return made._outputs[0] if read_value else made

    def _assigned_slice(self, bounds, value, name: str | None, masks: dict) -> Tensor:
        return call("StridedSliceAssign", name, self._holder, *bounds, value, **masks)

    def count_up_to(self, limit: int) -> Tensor:
        """Adds one and returns the value before; fails with `OutOfRangeError` at `limit`."""
        return call("CountUpTo", None, self._holder, limit=limit)

    def _scatter(self, op: str, sparse_delta, use_locking: bool, name: str | None) -> Tensor:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return call("Scatter" + op, name, self._holder, sparse_delta.indices, sparse_delta.values, use_locking=use_locking)

    def _scatter_nd(self, op: str, indices, updates, name: str | None) -> Tensor:
        return call("ScatterNd" + op, name, self._holder, indices, updates, use_locking=True)

    def gather_nd(self, indices, name: str | None = None) -> Tensor:
        """Slices of its value at the places that rows of `indices` say."""
        return call("GatherNd", name, self.value(), indices)


register_fetch_type(RefVariable)
