"""Variables behind a handle: `VarHandleOp` gives it, `ReadVariableOp` and `AssignVariableOp` take it."""

from __future__ import annotations

import contextlib

from flowmill._internal.apply import apply_op, call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_stack import target
from flowmill._internal.graph_keys import prepend_name_scope
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.initial_values import check_is_outside, guarded
from flowmill._internal.scopes import initializing, lifted
from flowmill._internal.session import register_fetch_type
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable import Variable, check_arguments
from flowmill._internal.variable_modes import check_modes
from flowmill.dtypes import DType, as_dtype


class ResourceVariable(Variable):
    """A resource variable: what ``tf.Variable(..., use_resource=True)`` makes. See :class:`flowmill.Variable` for its arguments.

    Reads see the writes that control dependencies put before them, and no others in part.
    """

    def __init__(self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None, dtype=None,
                 variable_def=None, import_scope=None, constraint=None, expected_shape=None, synchronization=None, aggregation=None,
                 shape=None) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("The variable_def and initial_value args to `tf.Variable` are mutually exclusive, but got both.")
            self._of_message(variable_def, import_scope)
            return
        if initial_value is None and not callable(initial_value):
            raise ValueError("The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a `variable_def`.")
        self._synchronization, self._aggregation, self._trainable = check_modes(synchronization, aggregation, trainable, name)
        collections = check_arguments(collections, self._trainable, constraint)
        self._constraint = constraint
        self._validate_shape = validate_shape
        graph = get_default_graph() if callable(initial_value) else getattr(initial_value, "graph", None) or get_default_graph()
        graph._check_not_finalized()
        with lifted(graph), graph.name_scope(name or "Variable") as scope:
            shared_name = scope[:-1]
            check_is_outside(initial_value, scope)
            with graph._beside(shared_name):
                with initializing(graph):
                    value = convert_to_tensor(initial_value() if callable(initial_value) else initial_value, dtype, "initial_value")
                self._static_shape = TensorShape(None) if not validate_shape and shape is None else value.shape if shape is None else TensorShape(shape)
                if shape is not None and not self._static_shape.is_compatible_with(value.shape):
                    raise ValueError(
                        f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible with the explicitly "
                        f"supplied `shape` argument ({shape}).")
                self._dtype = value.dtype.base_dtype
                self._handle = apply_op("VarHandleOp", scope, (), {
                    "shape": self._static_shape, "dtype": self._dtype, "shared_name": shared_name, "debug_name": scope}, graph=graph)._outputs[0]
            self._initial_value = value
            with graph.name_scope("IsInitialized"):
                self._is_initialized_op = call("VarIsInitializedOp", None, self._handle)
            device = self._handle.device
            with graph.name_scope("Assign") as assign, graph.colocate_with(None, ignore_existing=True), graph.device(device):
                self._initializer = apply_op("AssignVariableOp", assign, (self._handle, guarded(scope, value)))
            with graph.name_scope("Read"), graph.device(device):
                read = self._read()
                self._cached = None
                if caching_device is not None:
                    with graph.colocate_with(None, ignore_existing=True), graph.device(caching_device):
                        self._cached = call("Identity", None, read)
            self._graph_element = read
        graph.add_to_collections(collections, self)

    def _of_message(self, variable_def, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("The `variable_def` you passed to `tf.Variable` is trying to restore a reference variable as a resource variable.")
        graph = get_default_graph()

        def element(name: str):
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._handle = element(variable_def.variable_name)
        self._static_shape = TensorShape(self._handle.op.get_attr("shape"))
        self._dtype = as_dtype(self._handle.op.get_attr("dtype"))
        self._validate_shape = True
        self._initializer = element(variable_def.initializer_name)
        self._initial_value = element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        self._is_initialized_op = None
        self._cached = None
        snapshot = element(variable_def.snapshot_name) if variable_def.snapshot_name else None
        if snapshot is not None and snapshot.op.type != "ReadVariableOp":
            self._cached = snapshot
        if snapshot is None or self._cached is not None:
            snapshot = graph.get_tensor_by_name(self._handle.op.name + "/Read/ReadVariableOp:0")
        self._graph_element = snapshot
        self._restore_from(variable_def, import_scope)

    # What it is

    @property
    def dtype(self) -> DType:
        """The type of its value."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._static_shape

    @property
    def _holder(self) -> Tensor:
        return self._handle

    @property
    def handle(self) -> Tensor:
        """The handle that operations take."""
        return self._handle

    @property
    def create(self) -> Operation | None:
        """The operation :attr:`initializer`."""
        return self._initializer

    @property
    def _snapshot_name(self) -> str:
        return (self._graph_element if self._cached is None else self._cached).name

    def to_proto(self, export_scope: str | None = None):
        """Its names as a `VariableDef`, those of `export_scope` without it; None for a variable that is not of that scope."""
        message = super().to_proto(export_scope)
        if message is not None:
            message.is_resource = True
        return message

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Returns true if it has a value."""
        return call("VarIsInitializedOp", name, self._handle)

    # Its value

    def _ordered(self):
        """Returns a context in which reads and writes of this object wait for earlier operations."""
        return contextlib.nullcontext()

    def _read(self) -> Tensor:
        with self._ordered():
            value = call("ReadVariableOp", None, self._handle, dtype=self._dtype)
        if self._static_shape.rank is not None:
            value.set_shape(self._static_shape)
        return value

    def value(self) -> Tensor:
        """Its value, read by an operation of its own; the copy of a caching device if there is one."""
        if self._cached is not None:
            return self._cached
        with self.graph.colocate_with(None, ignore_existing=True):
            return self._read()

    def read_value(self) -> Tensor:
        """Its value, read by an operation of its own."""
        with get_default_graph().name_scope("Read"):
            value = self._read()
        return call("Identity", None, value)

    def sparse_read(self, indices, name: str | None = None) -> Tensor:
        """Rows of its value, without reading all of it."""
        with get_default_graph().name_scope(name or "Gather") as scope, self._ordered():
            return call("ResourceGather", scope, self._handle, indices, dtype=self._dtype)

    def gather_nd(self, indices, name: str | None = None) -> Tensor:
        """Slices of its value at the places that rows of `indices` say, without reading all of it."""
        with get_default_graph().name_scope(name or "GatherNd") as scope, self._ordered():
            value = call("ResourceGatherNd", scope, self._handle, indices, dtype=self._dtype)
        return call("Identity", None, value)

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape."""
        self._static_shape = self._static_shape.merge_with(shape if isinstance(shape, TensorShape) else TensorShape(shape))

    # Changing it

    def _lazily_read(self, op: Operation) -> Variable:
        return _UnreadVariable(self, op)

    def _changed(self, how: str, value, use_locking: bool | None, name: str | None, read_value: bool):
        attrs = {} if how else {"validate_shape": self._validate_shape and self._static_shape.is_fully_defined()}
        with target(self._handle._graph).as_default(), self._ordered():
            tensor = convert_to_tensor(value, self._dtype)
            if not how and not self._static_shape.is_compatible_with(tensor.shape):
                raise ValueError(
                    f"Cannot assign value to variable '{self.name}': Shape mismatch.The variable shape {self._static_shape}, and the assigned value "
                    f"shape {tensor.shape} are incompatible.")
            made = apply_op(f"Assign{how}VariableOp", name, (self._handle, tensor), attrs)
            return self._lazily_read(made) if read_value else made

    def _assigned_slice(self, bounds, value, name: str | None, masks: dict) -> Variable:
        value = convert_to_tensor(value, self._dtype)
        return self._lazily_read(apply_op("ResourceStridedSliceAssign", name, (self._handle, *bounds, value), masks))

    def count_up_to(self, limit: int) -> Tensor:
        """Adds one and returns the value before; fails with `OutOfRangeError` at `limit`."""
        return call("ResourceCountUpTo", None, self._handle, limit=limit, T=self._dtype)

    def _scattered(self, op: str, indices, updates, name: str | None, **attrs) -> Variable:
        with self._ordered():
            updates = convert_to_tensor(updates, self._dtype)
            return self._lazily_read(apply_op("ResourceScatter" + op, name, (self._handle, indices, updates), {"dtype": self._dtype, **attrs}))

    def _scatter(self, op: str, sparse_delta, use_locking: bool, name: str | None) -> Variable:
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}")
        return self._scattered(op, sparse_delta.indices, sparse_delta.values, name)

    def _scatter_nd(self, op: str, indices, updates, name: str | None) -> Variable:
        with self._ordered():
            updates = convert_to_tensor(updates, self._dtype)
            return self._lazily_read(apply_op("ResourceScatterNd" + op, name, (self._handle, indices, updates)))

    def scatter_nd_max(self, indices, updates, name: str | None = None) -> Variable:
        """Takes the maximum of slices and of the elements at the places that rows of `indices` say."""
        return self._scatter_nd("Max", indices, updates, name)

    def scatter_nd_min(self, indices, updates, name: str | None = None) -> Variable:
        """Takes the minimum of slices and of the elements at the places that rows of `indices` say."""
        return self._scatter_nd("Min", indices, updates, name)


class _UnreadVariable(ResourceVariable):
    """A variable after an operation has changed it: whoever reads it waits for the operation."""

    def __init__(self, variable: ResourceVariable, parent: Operation):
        self._parent = parent
        self._handle, self._dtype, self._static_shape = variable._handle, variable._dtype, variable._static_shape
        self._validate_shape = variable._validate_shape
        self._trainable, self._synchronization, self._aggregation = variable._trainable, variable._synchronization, variable._aggregation
        self._constraint, self._initial_value, self._initializer = variable._constraint, variable._initial_value, variable._initializer
        self._cached = None
        # Only sessions fetch it, and they fetch nothing from bodies of functions.
        self._graph_element = None if get_default_graph().building_function else self._read()

    def _ordered(self):
        return self._parent.graph.control_dependencies([self._parent])

    @property
    def name(self) -> str:
        """The name of the operation that changed it."""
        return self._parent.name

    @property
    def op(self) -> Operation:
        """The operation that changed it."""
        return self._parent


def is_resource_variable(var) -> bool:
    """Returns true if an object is a resource variable."""
    return isinstance(var, ResourceVariable)


register_fetch_type(ResourceVariable)
register_fetch_type(_UnreadVariable)
