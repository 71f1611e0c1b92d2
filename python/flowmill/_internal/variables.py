"""``tf.Variable``, the collections of variables, their initialization, and variables in parts."""

from __future__ import annotations

import os
from collections.abc import Iterator

from flowmill._internal.apply import call
from flowmill._internal.array import boolean_mask
from flowmill._internal.control_flow import group
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.operators import OperatorsOfTensor
from flowmill._internal.ref_variable import RefVariable
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.state import is_variable_initialized
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable import Variable
from flowmill._internal.variable_modes import VariableAggregation, VariableSynchronization
from flowmill.dtypes import DType, as_dtype

__all__ = [
    "PartitionedVariable", "RefVariable", "ResourceVariable", "Variable", "VariableAggregation", "VariableSynchronization", "all_variables",
    "assert_variables_initialized", "global_variables", "global_variables_initializer", "initialize_all_variables", "initialize_local_variables",
    "initialize_variables", "is_variable_initialized", "local_variables", "local_variables_initializer", "model_variables",
    "moving_average_variables", "report_uninitialized_variables", "trainable_variables", "variables_initializer",
]


def _collection(key: str, scope: str | None) -> list:
    return get_default_graph().get_collection(key, scope)


def global_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that are kept between steps and saved; with `scope`, those whose names begin with a match of that regular expression."""
    return _collection(GraphKeys.GLOBAL_VARIABLES, scope)


def all_variables() -> list[Variable]:
    """Like :func:`global_variables`."""
    return global_variables()


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that optimizers change by default."""
    return _collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that are not saved, such as counters."""
    return _collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that a model needs for its predictions."""
    return _collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """Returns the variables that keep moving averages."""
    return _collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list, name: str = "init") -> Operation:
    """Returns an operation that initializes variables, in no order."""
    return group(*(v.initializer for v in var_list), name=name)


def global_variables_initializer() -> Operation:
    """Returns an operation that initializes the global variables."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Returns an operation that initializes the local variables."""
    return variables_initializer(local_variables())


def initialize_variables(var_list, name: str = "init") -> Operation:
    """Like :func:`variables_initializer`."""
    return variables_initializer(var_list, name)


def initialize_all_variables() -> Operation:
    """Like :func:`global_variables_initializer`."""
    return global_variables_initializer()


def initialize_local_variables() -> Operation:
    """Like :func:`local_variables_initializer`."""
    return local_variables_initializer()


def report_uninitialized_variables(var_list=None, name: str = "report_uninitialized_variables") -> Tensor:
    """The names of the variables that have no value, a vector of strings.

    Args:
        var_list: the variables, all global and local ones if it is None.
        name: the name of the scope.

    The names are computed on the CPU, or on the device that `TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING` names.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
        if not var_list:
            var_list = [op.outputs[0] for op in get_default_graph().get_operations() if op.type in ("Variable", "VariableV2", "AutoReloadVariable")]
    graph = get_default_graph()
    with graph.name_scope(name):
        has_value = [is_variable_initialized(v) for v in var_list]
        with graph.device(os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")):
            if not var_list:
                return constant([], "string")
            missing = call("LogicalNot", None, call("Pack", "stack", has_value, axis=0))
            names = constant([v.name.split(":")[0] if isinstance(v, Tensor) else v.op.name for v in var_list])
            return _masked(names, missing)


def _masked(values: Tensor, mask: Tensor) -> Tensor:
    """Returns the elements of a vector whose places are true in another."""
    return boolean_mask(values, mask)


def assert_variables_initialized(var_list=None) -> Tensor | None:
    """Returns a tensor that fails to be computed if a variable has no value; None if there are no variables.

    Args:
        var_list: the variables, all global and local ones if it is None.
    """
    if var_list is None:
        var_list = global_variables() + local_variables()
    if not var_list:
        return None
    graph = get_default_graph()
    ranks = []
    for variable in var_list:
        with graph.colocate_with(variable.op):
            ranks.append(call("Rank", None, variable))
    if len(ranks) == 1:
        return ranks[0]
    return call("Pack", "stack", ranks, axis=0)


class PartitionedVariable(OperatorsOfTensor):
    """A variable in parts along one dimension. It can be used as the whole, which is concatenated when it is read.

    Args:
        name: the name of the whole.
        shape: its shape.
        dtype: its type.
        variable_list: the parts, in order, with their slice infos.
        partitions: the number of parts in each dimension.
    """

    def __init__(self, name: str, shape, dtype, variable_list: list[Variable], partitions: list[int]):
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(p >= 1 for p in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        for variable in variable_list:
            info = variable._get_save_slice_info()
            if not isinstance(info, Variable.SaveSliceInfo):
                raise ValueError(f"All variables must have a save_slice_info available: {[v.name for v in variable_list]}")
            if info.full_name != name:
                raise AssertionError(f"The parts of {name} must be slices of it, and not of {info.full_name}")
        self._name, self._shape, self._dtype = name, TensorShape(shape), as_dtype(dtype)
        self._variables = sorted(variable_list, key=lambda v: v._get_save_slice_info().var_offset)
        self._partitions = list(partitions)

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables) if self._axis() is not None else 1

    def _axis(self) -> int | None:
        """Returns the dimension that is in parts.

        Raises:
            NotImplementedError: if several are.
        """
        axes = [i for i, p in enumerate(self._partitions) if p > 1]
        if len(axes) > 1:
            raise NotImplementedError(f"Cannot concatenate along more than one dimension: {axes}. Multi-axis partition concat is not supported")
        return axes[0] if axes else 0

    def as_tensor(self) -> Tensor:
        """Returns the whole, put together by operations of its own."""
        graph = self.graph
        with graph.as_default(), graph.control_dependencies(None):
            if len(self._variables) == 1:
                with graph.name_scope(None):
                    return call("Identity", self._name, self._variables[0])
            with graph.name_scope(self._name + "/ConcatPartitions/"):
                whole = call("ConcatV2", "concat", list(self._variables), self._axis())
            with graph.name_scope(None):
                return call("Identity", self._name, whole)

    def _as_tensor(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        return self.as_tensor()

    _as_graph_element = as_tensor

    @property
    def name(self) -> str:
        """The name of the whole."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The type of the whole."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self._shape

    @property
    def graph(self) -> Graph:
        """The graph it is of."""
        return self._variables[0].graph

    @property
    def op(self) -> list[Operation]:
        """The operations that hold the parts."""
        return [v.op for v in self._variables]

    @property
    def _distribute_strategy(self):
        return None

    def _get_variable_list(self) -> list[Variable]:
        return list(self._variables)

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _changed(self, method: str, value, use_locking: bool, name: str | None, read_value: bool) -> list:
        if isinstance(value, (list, tuple)):
            values = list(value)
        elif isinstance(value, PartitionedVariable):
            values = list(value)
        elif len(self._variables) == 1:
            values = [value]
        else:
            axis = self._axis()
            sizes = [v._get_save_slice_info().var_shape[axis] for v in self._variables]
            values = call("SplitV", "split", convert_to_tensor(value), sizes, axis, num_split=len(sizes))
        return [getattr(v, method)(part, use_locking=use_locking, name=name, read_value=read_value) for v, part in zip(self._variables, values)]

    def assign(self, value, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list:
        """Assigns to the parts their slices of `value`; returns the results in a list."""
        return self._changed("assign", value, use_locking, name, read_value)

    def assign_add(self, value, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list:
        """Adds to the parts; the results in a list."""
        return self._changed("assign_add", value, use_locking, name, read_value)

    def assign_sub(self, value, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> list:
        """Subtracts from the parts; the results in a list."""
        return self._changed("assign_sub", value, use_locking, name, read_value)

    def __repr__(self):
        return f"<tf.PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name} in {len(self._variables)} parts>"

