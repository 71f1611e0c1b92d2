"""The common parts of both kinds of variables, and the way ``tf.Variable(...)`` chooses one of them."""

from __future__ import annotations

import abc
import contextlib
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from typing import Any

from flowmill._internal import behavior, protos
from flowmill._internal.control_flow import cond
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_keys import GraphKeys, prepend_name_scope, strip_name_scope
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.operators import OperatorsOfTensor
from flowmill._internal.scopes import lifted
from flowmill._internal.session import get_default_session
from flowmill._internal.state import batch_scatter_update, is_variable_initialized
from flowmill._internal.tensor import Operation, Reference, Tensor, _session_for
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable_modes import VariableAggregation, VariableSynchronization
from flowmill.dtypes import DType


class _Creators(threading.local):
    def __init__(self):
        # Functions that make variables by graph, outermost first.
        self.by_graph: dict[int, tuple[Callable, ...]] = {}


_creators = _Creators()


@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable) -> Iterator[None]:
    """Makes the variables of the default graph within the block by a function.

    The function is called as ``f(next_creator, **kwargs)`` with the arguments of :class:`Variable` and what would make it otherwise.
    """
    graph = get_default_graph()
    outer = _creators.by_graph.get(id(graph), ())
    _creators.by_graph[id(graph)] = (*outer, variable_creator)
    try:
        yield
    finally:
        if outer:
            _creators.by_graph[id(graph)] = outer
        else:
            del _creators.by_graph[id(graph)]


@functools.cache
def _kinds() -> tuple:
    """Reference and resource variables, whose modules know this one, and what gives the scope."""
    from flowmill._internal.ref_variable import RefVariable  # cycle: ref_variable imports this module
    from flowmill._internal.resource_variable import ResourceVariable  # cycle: resource_variable imports this module
    from flowmill._internal.variable_scopes import get_variable_scope  # cycle: variable_scopes imports this module

    return RefVariable, ResourceVariable, get_variable_scope


def _create(next_creator=None, use_resource: bool | None = None, **arguments) -> Variable:
    """Makes a variable of the kind that its arguments, the scope or the default say."""
    return type.__call__(_kind(use_resource), **arguments)


def _kind(use_resource: bool | None) -> type[Variable]:
    """Returns the class of variables as their arguments, the scope or the default say."""
    of_references, of_resources, get_variable_scope = _kinds()
    if use_resource is None:
        use_resource = get_variable_scope().use_resource
    if use_resource is None:
        use_resource = behavior.resource_variables_enabled()
    return of_resources if use_resource else of_references


def _arguments(initial_value=None, trainable: bool | None = None, collections=None, validate_shape: bool = True, caching_device=None,
               name: str | None = None, variable_def=None, dtype=None, expected_shape=None, import_scope: str | None = None,
               constraint: Callable | None = None, use_resource: bool | None = None,
               synchronization: VariableSynchronization = VariableSynchronization.AUTO,
               aggregation: VariableAggregation = VariableAggregation.NONE, shape=None) -> dict[str, Any]:
    return locals()


_arguments.__name__ = _arguments.__qualname__ = "Variable"


class _Kind(abc.ABCMeta):
    """Calling :class:`Variable` itself goes through the functions of :func:`variable_creator_scope`."""

    def __call__(cls, *args, **kwargs):
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        functions = _creators.by_graph.get(id(get_default_graph()), ())
        if not functions and not args:
            return type.__call__(_kind(kwargs.pop("use_resource", None)), **kwargs)
        creator = _create
        for function in functions:
            creator = _chained(function, creator)
        return creator(**_arguments(*args, **kwargs))


def _chained(function: Callable, next_creator: Callable) -> Callable:
    return lambda **arguments: function(next_creator, **arguments)


class Variable(OperatorsOfTensor, metaclass=_Kind):
    """A tensor that stays between steps and that operations change. It can be used wherever a tensor is expected, with its value.

    Args:
        initial_value: what it is initialized with: a tensor, what can be made one, or a function without arguments that gives either.
        trainable: whether optimizers change it by default.
        collections: names of collections to add it to; ``[GraphKeys.GLOBAL_VARIABLES]`` if it is None.
        validate_shape: whether its shape is that of the initial value, which then has to be known.
        caching_device: a device to keep a copy for readers on.
        name: its name, ``"Variable"`` if it is None.
        variable_def: a `VariableDef` to restore it from, instead of the arguments.
        dtype: the type to convert the initial value to.
        expected_shape: not used.
        import_scope: the prefix of the names of `variable_def`.
        constraint: a function of the value that optimizers apply after changing it.
        use_resource: whether it is a resource variable, which reads and writes in the order of the graph.
        synchronization, aggregation: kept and saved.
        shape: the shape of a resource variable, which may be less known than the initial value's.
    """

    # What operations that change it take: a reference or a handle.
    _holder: Tensor
    _constraint: Callable | None = None
    _save_slice_info: SaveSliceInfo | None = None
    __signature__ = inspect.signature(_arguments)

    _trainable = True
    _synchronization = VariableSynchronization.AUTO
    _aggregation = VariableAggregation.NONE
    _initial_value: Tensor | None = None
    _initializer: Operation | None = None

    class SaveSliceInfo:
        """Describes the part of a whole that a variable holds, for checkpoints.

        Args:
            full_name: the name of the whole.
            full_shape: its shape.
            var_offset: where the part begins, in each dimension.
            var_shape: the part's shape.
            save_slice_info_def: a `SaveSliceInfoDef` instead of those.
            import_scope: the prefix of the name of `save_slice_info_def`.
        """

        def __init__(self, full_name=None, full_shape=None, var_offset=None, var_shape=None, save_slice_info_def=None, import_scope=None):
            if save_slice_info_def is None:
                self.full_name, self.full_shape, self.var_offset, self.var_shape = full_name, full_shape, var_offset, var_shape
            else:
                message = save_slice_info_def
                self.full_name = prepend_name_scope(message.full_name, import_scope)
                self.full_shape, self.var_offset, self.var_shape = list(message.full_shape), list(message.var_offset), list(message.var_shape)

        @property
        def spec(self) -> str:
            """The part as checkpoints write it: ``"10 20 0,5:0,20"``."""
            sizes = " ".join(map(str, self.full_shape)) + " "
            return sizes + ":".join(f"{offset},{size}" for offset, size in zip(self.var_offset, self.var_shape))

        @classmethod
        def from_spec(cls, spec: str):
            """Returns the part that checkpoints write as :attr:`spec`; an empty one for ``""``.

            Raises:
                ValueError: for other texts.
            """
            if not spec:
                return cls()
            sizes, _, parts = spec.rpartition(" ")
            if not sizes:
                raise ValueError("Spec string must contain space-separated full_shape info.")

            def number(text: str, what: str) -> int:
                try:
                    return int(text)
                except ValueError:
                    raise ValueError(f"Spec string {what}. Found '{text}', which is not an integer.") from None
            made = cls(None, [number(size, "full_shape must be a sequence of integers") for size in sizes.split()], [], [])
            for part in parts.split(":"):
                offset, comma, size = part.partition(",")
                if not comma or "," in size:
                    raise ValueError("Spec string must contain comma-separated pairs of offsets and shapes.")
                made.var_offset.append(number(offset, "var_offset must be an integer"))
                made.var_shape.append(number(size, "var_shape must be an integer"))
            return made

        def to_proto(self, export_scope: str | None = None):
            """Returns a `SaveSliceInfoDef`; None if it is not of `export_scope`."""
            if export_scope is not None and not self.full_name.startswith(export_scope):
                return None
            return protos.get("SaveSliceInfoDef")(
                full_name=strip_name_scope(self.full_name, export_scope), full_shape=self.full_shape, var_offset=self.var_offset, var_shape=self.var_shape)

    # What it is

    @property
    def name(self) -> str:
        """Its name, with ``:0``."""
        return self._holder.name

    @property
    @abc.abstractmethod
    def dtype(self) -> DType:
        """The type of its value; a reference type for reference variables."""

    @property
    @abc.abstractmethod
    def shape(self) -> TensorShape:
        """The static shape."""

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self.shape

    @property
    def op(self) -> Operation:
        """The operation that holds it, or gives its handle."""
        return self._holder.op

    @property
    def graph(self) -> Graph:
        """The graph it is of."""
        return self._holder.graph

    @property
    def device(self) -> str:
        """The device that its operation asks for; empty for none."""
        return self.op.device

    @property
    def trainable(self) -> bool:
        """True if optimizers change it by default."""
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        """The synchronization that it was made with."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """The aggregation that it was made with."""
        return self._aggregation

    @property
    def constraint(self) -> Callable | None:
        """The function that optimizers apply to its value after they change it."""
        return self._constraint

    @property
    def initial_value(self) -> Tensor | None:
        """The value that it is initialized with."""
        return self._initial_value

    @property
    def initializer(self) -> Operation | None:
        """The operation that initializes it."""
        return self._initializer

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")] if ":" in self.name else self.name

    def ref(self) -> Reference:
        """Returns a key for dictionaries and sets."""
        return Reference(self)

    experimental_ref = ref

    def _set_save_slice_info(self, save_slice_info: SaveSliceInfo) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> SaveSliceInfo | None:
        return self._save_slice_info

    # Its value

    @abc.abstractmethod
    def value(self) -> Tensor:
        """Its value, as readers see it."""

    @abc.abstractmethod
    def read_value(self) -> Tensor:
        """Its value, read by an operation of its own."""

    def _as_tensor(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        graph, value = get_default_graph(), self.value()
        return graph.capture(value) if graph.building_function and value.graph is not graph else value

    @abc.abstractmethod
    def _as_graph_element(self) -> Tensor:
        """The tensor that sessions fetch and feed for it."""

    def eval(self, session=None) -> Any:
        """Its value in a session, the default one if none is given."""
        tensor = self._as_graph_element()
        return _session_for(tensor, session).run(tensor)

    @abc.abstractmethod
    def gather_nd(self, indices, name: str | None = None) -> Tensor:
        """Slices of its value at the places that rows of `indices` say."""

    def initialized_value(self) -> Tensor:
        """Its value if it is initialized, else its initial value."""
        with lifted(self.graph):
            return cond(is_variable_initialized(self), self.read_value, lambda: self.initial_value)

    def load(self, value, session=None) -> None:
        """Assigns a value in a session, by default the default session, without adding to the graph.

        Raises:
            ValueError: if there is no session.
        """
        session = session or get_default_session()
        if session is None:
            raise ValueError(
                "Either session argument should be provided or default session should be established. "
                "Use `with sess.as_default()` or pass an explicit session.")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    @abc.abstractmethod
    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape."""

    # Changing it

    @abc.abstractmethod
    def _changed(self, how: str, value, use_locking: bool | None, name: str | None, read_value: bool):
        """Assigns a value, or adds or subtracts it if `how` is ``"Add"`` or ``"Sub"``."""

    def assign(self, value, use_locking: bool | None = None, name: str | None = None, read_value: bool = True) -> Any:
        """Assigns a value.

        Args:
            value: what can be made a tensor of its type.
            use_locking: whether others who change a reference variable wait.
            name: the name of the operation.
            read_value: whether to read it afterwards.

        Returns:
            An object with its new value: a reference, or a resource variable. The operation if `read_value` is false.

        Raises:
            ValueError: if the value's shape is not that of a resource variable.
        """
        return self._changed("", value, use_locking, name, read_value)

    def assign_add(self, delta, use_locking: bool | None = None, name: str | None = None, read_value: bool = True) -> Any:
        """Adds to it. Arguments and result are those of :meth:`assign`."""
        return self._changed("Add", delta, use_locking, name, read_value)

    def assign_sub(self, delta, use_locking: bool | None = None, name: str | None = None, read_value: bool = True) -> Any:
        """Subtracts from it. Arguments and result are those of :meth:`assign`."""
        return self._changed("Sub", delta, use_locking, name, read_value)

    @abc.abstractmethod
    def count_up_to(self, limit: int) -> Tensor:
        """Adds one and returns the value before; fails with `OutOfRangeError` at `limit`."""

    @abc.abstractmethod
    def _scatter(self, op: str, sparse_delta: IndexedSlices, use_locking: bool, name: str | None):
        """Changes its rows by an op of the family ``Scatter…``."""

    @abc.abstractmethod
    def _scatter_nd(self, op: str, indices, updates, name: str | None):
        """Changes slices of it by an op of the family ``ScatterNd…``."""

    def scatter_nd_sub(self, indices, updates, name: str | None = None) -> Any:
        """Subtracts slices at the places that rows of `indices` say."""
        return self._scatter_nd("Sub", indices, updates, name)

    def scatter_nd_add(self, indices, updates, name: str | None = None) -> Any:
        """Adds slices at the places that rows of `indices` say."""
        return self._scatter_nd("Add", indices, updates, name)

    def scatter_nd_update(self, indices, updates, name: str | None = None) -> Any:
        """Assigns slices at the places that rows of `indices` say."""
        return self._scatter_nd("Update", indices, updates, name)

    def scatter_sub(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts IndexedSlices."""
        return self._scatter("Sub", sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds IndexedSlices."""
        return self._scatter("Add", sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the greater of its rows and IndexedSlices."""
        return self._scatter("Max", sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the smaller of its rows and IndexedSlices."""
        return self._scatter("Min", sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies by IndexedSlices."""
        return self._scatter("Mul", sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides by IndexedSlices."""
        return self._scatter("Div", sparse_delta, use_locking, name)

    def scatter_update(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Assigns IndexedSlices to its rows."""
        return self._scatter("Update", sparse_delta, use_locking, name)

    def batch_scatter_update(self, sparse_delta, use_locking: bool = False, name: str | None = None) -> Any:
        """Assigns IndexedSlices along its last dimension of indices, batch by batch."""
        return batch_scatter_update(self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name)

    # Messages

    def to_proto(self, export_scope: str | None = None):
        """Its names as a `VariableDef`, those of `export_scope` without it; None for a variable that is not of that scope."""
        if export_scope is not None and not self._saved_name.startswith(export_scope):
            return None
        message = protos.get("VariableDef")(
            variable_name=strip_name_scope(self._saved_name, export_scope), trainable=self.trainable, synchronization=self.synchronization.value,
            aggregation=self.aggregation.value, snapshot_name=strip_name_scope(self._snapshot_name, export_scope))
        if self._initial_value is not None:
            message.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        if self.initializer is not None:
            message.initializer_name = strip_name_scope(self.initializer.name, export_scope)
        if self._save_slice_info is not None:
            info = self._save_slice_info.to_proto(export_scope)
            if info is not None:
                message.save_slice_info_def.MergeFrom(info)
        return message

    def _restore_from(self, variable_def, import_scope: str | None) -> None:
        """Takes over what both kinds keep in a `VariableDef`."""
        self._trainable = variable_def.trainable
        self._synchronization = VariableSynchronization(variable_def.synchronization)
        self._aggregation = VariableAggregation(variable_def.aggregation)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = Variable.SaveSliceInfo(save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope)

    @property
    def _saved_name(self) -> str:
        return self.name

    @property
    @abc.abstractmethod
    def _snapshot_name(self) -> str:
        """The name of the tensor that readers take, as a `VariableDef` has it."""

    @staticmethod
    def from_proto(variable_def, import_scope: str | None = None) -> Variable:
        """Returns the variable of the default graph that a `VariableDef` names."""
        return Variable(variable_def=variable_def, import_scope=import_scope, use_resource=variable_def.is_resource)

    def __iter__(self) -> Any:
        return iter(self._as_tensor())

    def __getitem__(self, index) -> Any:
        """Returns a part of its value; if that is a slice, its method ``assign`` changes the part of the variable."""
        from flowmill._internal.slicing import getitem  # start-up: few programs slice variables

        part = getitem(self._as_tensor(), index, self)
        if part.op.type == "StridedSlice":
            part.assign = functools.partial(self._assign_slice, part.op)
        return part

    def _assign_slice(self, slicing: Operation, value, name: str | None = None):
        """Assigns another value to the part of the variable that an operation takes."""
        masks = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
        return self._assigned_slice(slicing.inputs[1:], value, name or f"{slicing.name}/_assign", {mask: slicing.get_attr(mask) for mask in masks})

    def __repr__(self):
        return f"<tf.Variable '{self.name}' shape={self.get_shape()} dtype={self.dtype.name}>"


def check_arguments(collections, trainable: bool, constraint) -> list:
    """Returns the collections that a variable with these arguments is added to.

    Raises:
        ValueError: if they are of other types.
    """
    if collections is None:
        collections = [GraphKeys.GLOBAL_VARIABLES]
    if not isinstance(collections, (list, tuple, set)):
        raise ValueError(f"collections argument to Variable constructor must be a list, tuple, or set. Got {collections} of type {type(collections)}")
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
    if trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
        collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
    return list(collections)
