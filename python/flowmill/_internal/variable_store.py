"""A graph's variables by name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, NamedTuple

from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.init_ops import GlorotUniform, Zeros
from flowmill._internal.tensor import Tensor, user_frames
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.variable import Variable, lifted
from flowmill._internal.variable_modes import VariableAggregation, VariableSynchronization, check_modes
from flowmill._internal.variables import PartitionedVariable
from flowmill.dtypes import DType, as_dtype


class _PartitionInfo(NamedTuple):
    """Describes the part of a whole that an initializer makes: the whole's shape, and the part's offset."""

    full_shape: list[int]
    var_offset: list[int]

    def single_offset(self, shape) -> int:
        """Returns the part's offset in the dimension that is partitioned; 0 if none is."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape) -> int | None:
        """Returns the dimension that is in parts, None if none is.

        Raises:
            ValueError: if several are, or `shape` does not lie within the whole.
        """
        shape = list(shape)
        if len(shape) != len(self.full_shape):
            raise ValueError(f"Expected equal length, but got shape={shape} of length {len(shape)} while self.full_shape={self.full_shape}.")
        axes = [i for i, (part, whole) in enumerate(zip(shape, self.full_shape)) if part != whole]
        if len(axes) > 1:
            raise ValueError(f"Cannot use single_slice_dim() with shape={shape} and self.full_shape={self.full_shape} since slice dim could be either of {axes}.")
        return axes[0] if axes else None


def takes(function, argument: str) -> bool:
    """Returns true if a function can be called with an argument of this name."""
    asked = getattr(function, "_takes", None)
    if asked is not None:
        return asked(argument)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(p.name == argument or p.kind is p.VAR_KEYWORD for p in parameters)


class VariableStore:
    """The variables that `get_variable` made, by name."""

    def __init__(self) -> None:
        self._vars: dict[str, Variable] = {}
        self._partitioned_vars: dict[str, Any] = {}

    def get_variable(self, name: str, shape=None, dtype="float32", initializer=None, regularizer=None, reuse=None, trainable=None,
                     collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None,
                     constraint=None, synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
        """The variable of a name; arguments as of :func:`flowmill.get_variable`, without a scope to take them from."""
        dtype = as_dtype(dtype).base_dtype
        if custom_getter is None:
            return self._get(name, shape, dtype, initializer, regularizer, reuse, trainable, collections, caching_device, partitioner,
                             validate_shape, use_resource, constraint, synchronization, aggregation)
        if not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        arguments = {
            "name": name, "shape": shape, "dtype": dtype, "initializer": initializer, "regularizer": regularizer, "reuse": reuse,
            "trainable": trainable, "collections": collections, "caching_device": caching_device, "partitioner": partitioner,
            "validate_shape": validate_shape, "use_resource": use_resource, "synchronization": synchronization, "aggregation": aggregation}
        if takes(custom_getter, "constraint"):
            arguments["constraint"] = constraint
        return custom_getter(getter=self._get, **arguments)

    def _get(self, name: str, shape=None, dtype="float32", initializer=None, regularizer=None, reuse=None, trainable=None, collections=None,
             caching_device=None, partitioner=None, validate_shape=True, use_resource=None, constraint=None,
             synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE):
        rest = {
            "regularizer": regularizer, "reuse": reuse, "trainable": trainable, "collections": collections, "caching_device": caching_device,
            "validate_shape": validate_shape, "use_resource": use_resource, "constraint": constraint, "synchronization": synchronization,
            "aggregation": aggregation}
        dtype = as_dtype(dtype).base_dtype
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with get_default_graph().name_scope(None):
                return self._get_partitioned(name, shape, dtype, initializer, partitioner, **rest)
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned(name, shape, dtype, initializer, None, **rest)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                f"No partitioner was provided, but a partitioned version of the variable was found: {name}/part_0. Perhaps a variable of the same name "
                "was already created with partitioning?")
        return self._get_single(name, shape, dtype, initializer, None, **rest)

    def _get_single(self, name: str, shape, dtype: DType, initializer, partition_info, *, regularizer, reuse, trainable, collections, caching_device,
                    validate_shape, use_resource, constraint, synchronization, aggregation) -> Variable:
        is_value = initializer is not None and not callable(initializer)
        if shape is not None and is_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        shape = TensorShape(None) if shape is None and initializer is not None else None if shape is None else TensorShape(shape)
        found = self._vars.get(name)
        if found is not None:
            return self._checked(found, name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set reuse=tf.AUTO_REUSE in VarScope?")
        synchronization, aggregation, trainable = check_modes(synchronization, aggregation, trainable, name)
        if initializer is None:
            if shape is None:
                raise ValueError(f"Variable {name} did not get an initializer, so its `shape` argument must be specified.")
            initializer = _default_initializer(name, dtype)
        initial_value, dtype = _initial_value(initializer, is_value, shape, dtype, partition_info)
        graph = get_default_graph()
        here = graph._thread.here
        with lifted(graph):
            outer = here.frames
            if type(initializer).__module__.startswith("flowmill."):  # a function of the program has lines of its own
                here.frames = outer or user_frames()
            try:
                variable = Variable(
                    initial_value=initial_value, name=name, trainable=trainable, collections=collections, caching_device=caching_device, dtype=dtype,
                    validate_shape=validate_shape, constraint=constraint, use_resource=use_resource, synchronization=synchronization,
                    aggregation=aggregation)
            finally:
                here.frames = outer
        self._vars[name] = variable
        if regularizer is not None and regularizer(variable) is not None:
            # What is in the collection has the variable's device and a name after it.
            with graph.colocate_with(variable.op), graph.name_scope(name + "/Regularizer/"):
                graph.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, regularizer(variable))
        return variable

    def _checked(self, found: Variable, name: str, shape: TensorShape | None, dtype: DType, reuse) -> Variable:
        """Returns a variable that exists, for those who may have it."""
        if reuse is False:
            made = found.op.traceback[-5:]
            lines = "".join(f'  File "{file}", line {line}, in {function}\n    {text}\n' for file, line, function, text in made)
            raise ValueError(
                f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope? "
                f"Originally defined at:\n\n{lines}")
        if shape is not None and not shape.is_compatible_with(found.get_shape()):
            raise ValueError(f"Trying to share variable {name}, but specified shape {shape} and found shape {found.get_shape()}.")
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}.")
        return found

    def _get_partitioned(self, name: str, shape, dtype: DType, initializer, partitioner, *, reuse, **rest):
        """Returns a variable in parts, which are called ``name/part_0``, ``name/part_1``, …"""
        if name in self._vars:
            raise ValueError(
                f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}.  Perhaps a variable of the same name was "
                "already created without partitioning?")
        shape = TensorShape(shape)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.shape)
        partitions = _partitions(partitioner, shape, dtype) if not reuse or partitioner else None
        found = self._partitioned_vars.get(name)
        if found is not None:
            return _check_partitioned(found, name, shape, dtype, partitions, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). Did you mean to set "
                "reuse=False or reuse=tf.AUTO_REUSE in VarScope?")
        axis = next((i for i, p in enumerate(partitions) if p > 1), 0)
        count = partitions[axis]
        if f"{name}/part_0" in self._vars:
            problem = None
            if f"{name}/part_{count - 1}" not in self._vars:
                problem = f"but {name}/part_{count - 1} was not."
            elif f"{name}/part_{count}" in self._vars:
                problem = f"but so was the extra shard {name}/part_{count}."
            if problem is not None:
                raise ValueError(
                    f"Partitioner returned a different partitioning than what was already found.  Partitioner returned {count} shards, "
                    f"and shard {name}/part_0 was found, {problem}")
        parts, sizes, graph = [], shape.as_list(), get_default_graph()
        for i, (offset, part_shape) in enumerate(_slices(sizes, count, axis)):
            part_name, part_dtype = f"{name}/part_{i}", dtype
            with graph.name_scope(part_name + "/PartitionedInitializer"):
                begin: Any = initializer
                if initializer is None:
                    begin = _default_initializer(name, dtype)
                elif not callable(initializer):
                    value = initializer if isinstance(initializer, Tensor) else convert_to_tensor(initializer, dtype)
                    begin, part_dtype = call("Slice", None, value, offset, part_shape), value.dtype.base_dtype
            with graph.name_scope(None):
                part = self._get_single(
                    part_name, part_shape if callable(begin) else None, part_dtype, begin, _PartitionInfo(sizes, offset), reuse=reuse, **rest)
            part._set_save_slice_info(Variable.SaveSliceInfo(name, sizes, offset, part_shape))
            parts.append(part)
        made = self._partitioned_vars[name] = PartitionedVariable(name, shape, parts[0].dtype.base_dtype, parts, partitions)
        return made


_OF_FLOATS, _OF_OTHERS = GlorotUniform(), Zeros()


def _default_initializer(name: str, dtype: DType):
    if dtype.is_floating:
        return _OF_FLOATS
    if dtype.is_integer or dtype.is_bool or dtype.name == "string":
        return _OF_OTHERS
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _initial_value(initializer, is_value: bool, shape: TensorShape | None, dtype: DType, partition_info):
    """Returns the initial value and the type of a variable."""
    if is_value:
        return initializer, None
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        sizes = shape.as_list()
        if partition_info is not None and takes(initializer if inspect.isroutine(initializer) else initializer.__call__, "partition_info"):
            return lambda: initializer(sizes, dtype=dtype, partition_info=partition_info), dtype
        return lambda: initializer(sizes, dtype=dtype), dtype
    if not _required(initializer):
        return initializer, None
    raise ValueError(
        "The initializer passed is not valid. It should be a callable with no arguments and the shape should not be provided or an instance of "
        "`tf.keras.initializers.*' and `shape` should be fully defined.")


def _required(function) -> bool:
    """Returns true if a function has arguments without defaults."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) for p in parameters)


def _partitions(partitioner, shape: TensorShape, dtype: DType) -> list[int]:
    """Returns the result of a partitioner, checked."""
    if not shape.is_fully_defined():
        raise ValueError(f"Shape of a new partitioned variable must be fully defined, but instead was {shape}.")
    if not shape.rank:
        raise ValueError(f"A partitioned Variable must have rank at least 1: {shape}")
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, (list, tuple)):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    if len(partitions) != shape.rank:
        raise ValueError(f"Partitioner returned a partition list that does not match the Variable's rank: {partitions} vs. {shape}")
    if any(p < 1 for p in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(p > 1 for p in partitions) > 1:
        raise ValueError(f"Can only slice a variable along one dimension: shape: {shape}, partitioning: {partitions}")
    return list(partitions)


def _check_partitioned(found, name: str, shape: TensorShape, dtype: DType, partitions, reuse):
    if reuse is False:
        raise ValueError(f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?")
    if not shape.is_compatible_with(found.get_shape()):
        raise ValueError(f"Trying to reuse partitioned variable {name}, but specified shape {shape} and found shape {found.get_shape()}.")
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(f"Trying to reuse partitioned variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}.")
    if partitions is not None and found._get_partitions() != partitions:
        raise ValueError(
            f"Trying to reuse partitioned variable {name}, but specified partitions {partitions} and found partitions {found._get_partitions()}.")
    return found


def _slices(shape: list[int], count: int, axis: int) -> Iterator[tuple[list[int], list[int]]]:
    """Offset and shape of each part; the first ones are longer by one if the size is no multiple of their number.

    Raises:
        ValueError: if there are more parts than elements.
    """
    if count > shape[axis]:
        raise ValueError(f"Cannot slice dimension {axis} of shape {shape} with size {shape[axis]} into {count} slices.")
    least, longer = divmod(shape[axis], count)
    offset = [0] * len(shape)
    for i in range(count):
        part = list(shape)
        part[axis] = least + (i < longer)
        yield list(offset), part
        offset[axis] += part[axis]
