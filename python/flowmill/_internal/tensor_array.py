"""Arrays of tensors: written and read by index, in loops mostly."""

from __future__ import annotations

import contextlib
import functools
import logging

import numpy as np

from flowmill._internal.apply import call, graph_of
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.functional import is_functional
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_stack import target
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape, as_shape
from flowmill.dtypes import DType, as_dtype


class TensorArray:
    """An array of tensors of one type, a value like others: writing gives another array, and what is written is there only in that one.

    Loops and conditionals take arrays as variables and results. Without `handle` or `flow` a new array is made.

    Args:
        dtype: the type of its elements.
        size: how many elements it has, an integer scalar.
        dynamic_size: whether writing behind its end makes it longer.
        clear_after_read: whether an element may be read only once, and its memory is free then.
        tensor_array_name: what to call the resource.
        handle: of an existing array.
        flow: of an existing array: writes go before what takes it.
        infer_shape: whether all elements have the same shape.
        element_shape: what is known of the elements' shapes.
        colocate_with_first_write_call: whether it has the device of what is first written into it.
        name: the name of the scope.

    Raises:
        ValueError: if neither `size` nor `handle` is given, or arguments exclude each other.
        TypeError: if `handle` is no tensor.
    """

    # Whether it is a TensorList, which functions take, and not a resource.
    _is_list = False

    def __new__(cls, dtype=None, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None, **_):
        if cls is TensorArray:
            is_list = is_functional(get_default_graph()) if flow is None else flow.dtype.name == "variant"
            cls = _ListArray if is_list else TensorArray
        return object.__new__(cls)

    def __init__(self, dtype, size=None, dynamic_size: bool | None = None, clear_after_read: bool | None = None, tensor_array_name: str | None = None,
                 handle=None, flow=None, infer_shape: bool = True, element_shape=None, colocate_with_first_write_call: bool = True,
                 name: str | None = None):
        if handle is not None:
            _exclude("handle", tensor_array_name=tensor_array_name or None)
            if not isinstance(handle, Tensor):
                raise TypeError(f"Expected `handle` to be a Tensor, but got `{handle}` of type `{type(handle)}` instead.")
            _exclude("handle", size=size, element_shape=element_shape, dynamic_size=dynamic_size, clear_after_read=clear_after_read)
        elif size is None:
            raise ValueError("Argument `size` must be provided if handle is not provided.")
        self._set(dtype, size, dynamic_size, infer_shape, element_shape)
        # What shares its device with it, once that is known.
        self._colocated: list[Tensor] | None = [] if colocate_with_first_write_call else None
        graph = graph_of([handle, size, flow])
        with graph.as_default(), graph.name_scope(name or "TensorArray") as scope:
            if handle is not None:
                if flow is None:
                    raise ValueError("flow must not be None if handle is not None.")
                self._handle, self._flow = handle, flow
                return
            with contextlib.ExitStack() as stack:
                if colocate_with_first_write_call:
                    stack.enter_context(graph.device(None))
                    stack.enter_context(graph.colocate_with(None, ignore_existing=True))
                self._handle, self._flow = call(
                    "TensorArrayV3", scope, size, dtype=self._dtype, element_shape=self.element_shape, identical_element_shapes=infer_shape,
                    dynamic_size=self._dynamic_size, clear_after_read=clear_after_read is None or clear_after_read,
                    tensor_array_name=tensor_array_name or "")

    def _set(self, dtype, size, dynamic_size, infer_shape: bool, element_shape) -> None:
        self._dtype, self._size, self._dynamic_size, self._infer_shape = as_dtype(dtype).base_dtype, size, bool(dynamic_size), infer_shape
        # In a list, since all arrays that follow from one share what is known of it.
        self._element_shapes = [as_shape(element_shape)]

    # What it is

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._dtype

    @property
    def handle(self) -> Tensor | None:
        """The resource; None for an array that is a list."""
        return self._handle

    @property
    def flow(self) -> Tensor:
        """The tensor that orders the reads and writes; for an array that is a list, the list itself."""
        return self._flow

    @property
    def element_shape(self) -> TensorShape:
        """The static shape of its elements."""
        return self._element_shapes[0]

    @property
    def dynamic_size(self) -> bool:
        """True if writing past its end makes it longer."""
        return self._dynamic_size

    @property
    def graph(self) -> Graph:
        """The graph of :attr:`flow`."""
        return self._flow.graph

    def _with_flow(self, flow: Tensor) -> TensorArray:
        if not self._is_list and is_functional(get_default_graph()):
            raise NotImplementedError(
                "Attempting to build a graph-mode TF2-style TensorArray from either an eager-mode TensorArray or a TF1-style TensorArray.  This is "
                "not currently supported.  You may be attempting to capture a TensorArray inside a function: construct a new one inside of it.")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._flow = flow
        return made

    def _components(self) -> list[Tensor]:
        return [self._flow]

    def _with_components(self, parts) -> TensorArray:
        return self._with_flow(parts[0])

    def _merge_element_shape(self, shape: TensorShape) -> None:
        if not shape.is_compatible_with(self.element_shape):
            raise ValueError(f"Inconsistent shapes: saw {shape} but expected {self.element_shape} ")
        if self._infer_shape:
            self._element_shapes[0] = self.element_shape.merge_with(shape)

    def _known_size(self) -> int | None:
        """Returns the number of its elements if that was given as a constant."""
        if self._dynamic_size or self._size is None:
            return None
        return int(self._size) if not isinstance(self._size, Tensor) else _constant_value(self._size)

    @contextlib.contextmanager
    def _with_first_written(self, value: Tensor):
        if self._colocated is None:
            yield
            return
        if not self._colocated:
            self._colocated.append(value)
        with target(self.graph).colocate_with(self._colocated[0]):
            yield

    def _converted(self, value) -> Tensor:
        """Returns a value to be written."""
        value = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if value.dtype.base_dtype is not self._dtype:
            logging.getLogger("flowmill").error(
                "Error: Input value %s has dtype %s, but expected dtype %s.  This leads to undefined behavior.", value, value.dtype, self._dtype)
        return value

    def _scope(self, stack: contextlib.ExitStack, name: str | None, default: str, *values) -> None:
        graph = graph_of([self._flow, *values])
        stack.enter_context(graph.as_default())
        stack.enter_context(graph.name_scope(name or default))

    # What can be done with it

    def identity(self) -> TensorArray:
        """Returns the same array; its writes run before those of operations that use the result."""
        return self._with_flow(call("Identity", None, self._flow))

    def grad(self, source: str, flow: Tensor | None = None, name: str | None = None) -> TensorArray:
        """Returns the array that the gradients of this one's elements are added up in.

        Args:
            source: who asks: each source has one of its own.
            flow: comes before it is made; this array's if it is None.
            name: the name of the scope.
        """
        flow = self._flow if flow is None else flow
        graph = target(self.graph)
        with graph.as_default(), graph.name_scope(name or "TensorArrayGrad"), graph.colocate_with(self._handle):
            handle, _ = call("TensorArrayGradV3", name, self._handle, flow, source=source)
            with graph.control_dependencies([handle]):
                flow = call("Identity", "gradient_flow", flow)
            made = TensorArray(self._dtype, handle=handle, flow=flow, infer_shape=self._infer_shape, colocate_with_first_write_call=False)
            made._element_shapes = self._element_shapes
            return made

    def read(self, index, name: str | None = None) -> Tensor:
        """Returns the element at `index`."""
        value = call("TensorArrayReadV3", name, self._handle, index, self._flow, dtype=self._dtype)
        value.set_shape(self.element_shape)
        return value

    def write(self, index, value, name: str | None = None) -> TensorArray:
        """Returns the array with `value` at `index`.

        Raises:
            ValueError: if its shape is not that of the elements.
        """
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayWrite", index, value)
            value = self._converted(value)
            self._merge_element_shape(value.shape)
            with self._with_first_written(value):
                return self._with_flow(call("TensorArrayWriteV3", name, self._handle, index, value, self._flow))

    def stack(self, name: str | None = None) -> Tensor:
        """Returns all elements, packed along a new first dimension."""
        graph = target(self.graph)
        with graph.as_default(), graph.colocate_with(self._handle), graph.name_scope(name or "TensorArrayStack"):
            value = self.gather(_range(0, self.size()), name=name)
            if self.element_shape.rank is not None and not self._dynamic_size and self._size is not None:
                value.set_shape([self._known_size(), *self.element_shape.as_list()])
            return value

    def gather(self, indices, name: str | None = None) -> Tensor:
        """Returns the elements at some indices, packed along a new first dimension."""
        value = call("TensorArrayGatherV3", name, self._handle, indices, self._flow, dtype=self._dtype, element_shape=self.element_shape)
        if self.element_shape.rank is not None:
            value.set_shape([None, *self.element_shape.as_list()])
        return value

    def concat(self, name: str | None = None) -> Tensor:
        """Returns all elements, joined along their first dimension."""
        shape = self.element_shape
        value, _ = call("TensorArrayConcatV3", name, self._handle, self._flow, dtype=self._dtype,
                        element_shape_except0=shape if shape.rank is None else shape[1:])
        if shape.rank is not None:
            rows = None
            if self._infer_shape:
                size = _constant_value(self.size())
                rows = None if size is None or shape.as_list()[0] is None else size * shape.as_list()[0]
            value.set_shape([rows, *shape.as_list()[1:]])
        return value

    def unstack(self, value, name: str | None = None) -> TensorArray:
        """Returns the array with the slices of `value` along the first dimension as its elements.

        Raises:
            ValueError: if their shape is not that of the elements.
        """
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayUnstack", value)
            rows = _shape(value)[0]
            return self.scatter(_range(0, rows), value, name=name)

    def scatter(self, indices, value, name: str | None = None) -> TensorArray:
        """Returns the array with the slices of `value` along the first dimension at some indices.

        Raises:
            ValueError: if their shape is not that of the elements.
        """
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayScatter", value, indices)
            value = self._converted(value)
            self._merge_element_shape(value.shape[1:])
            with self._with_first_written(value):
                return self._with_flow(call("TensorArrayScatterV3", name, self._handle, indices, value, self._flow))

    def split(self, value, lengths, name: str | None = None) -> TensorArray:
        """Returns the array with pieces of `value` along the first dimension as its elements.

        Args:
            value: what to cut.
            lengths: how long each piece is, a vector.
            name: the name of the scope.
        """
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArraySplit", value, lengths)
            value = convert_to_tensor(value, self._dtype, "value")
            with self._with_first_written(value):
                lengths = self._lengths(value, lengths)
                return self._with_flow(call("TensorArraySplitV3", name, self._handle, value, lengths, self._flow))

    def _lengths(self, value: Tensor, lengths) -> Tensor:
        """The lengths of pieces to write, as the ops take them; notes the pieces' shape where they are equally long."""
        if not isinstance(lengths, Tensor) or lengths.dtype.name != "int64":
            lengths = call("Cast", None, lengths, DstT="int64")
        known = lengths.graph._core.constant_value(*lengths._key)
        if value.shape.rank is not None and known is not None and known.ndim and known.size and known.max() == known.min():
            self._merge_element_shape(TensorShape([int(known[0])]).concatenate(value.shape[1:]))
        return lengths

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, an `int32` scalar."""
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, "int32")
        return call("TensorArraySizeV3", name, self._handle, self._flow)

    def close(self, name: str | None = None) -> Operation:
        """Returns an operation that frees the elements; nothing may use the array after it."""
        return call("TensorArrayCloseV3", name, self._handle)

    def __repr__(self):
        return f"<tf.TensorArray dtype={self._dtype.name} element_shape={self.element_shape} flow={self._flow.name!r}>"


class _ListArray(TensorArray):
    """An array that is a TensorList: what functions can take and give."""

    _is_list = True

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None,
                 infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        if flow is None and size is None:
            raise ValueError("Argument `size` must be provided if argument `flow` is not provided.")
        if flow is not None:
            _exclude("flow", size=size, element_shape=element_shape)
        self._set(dtype, size, dynamic_size, infer_shape, element_shape)
        self._handle = self._colocated = None
        graph = graph_of([size, flow])
        with graph.as_default(), graph.name_scope(name or "TensorArrayV2") as scope:
            self._flow = flow if flow is not None else call(
                "TensorListReserve", scope, _shape_tensor(self.element_shape), size, element_dtype=self._dtype)

    def grad(self, source, flow=None, name=None):
        raise NotImplementedError("A TensorArray of functional control flow has no gradient array.")

    def read(self, index, name=None) -> Tensor:
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayV2Read", index)
            value = call("TensorListGetItem", name, self._flow, index, _shape_tensor(self.element_shape), element_dtype=self._dtype)
            value.set_shape(self.element_shape)
            return value

    def write(self, index, value, name=None):
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayV2Write", index, value)
            convert_to_tensor(self._flow)  # a function takes the list before the value
            value = self._converted(value)
            self._merge_element_shape(value.shape)
            return self._with_flow(call("TensorListSetItem", name, self._flow, index, value, resize_if_index_out_of_bounds=self._dynamic_size))

    def stack(self, name=None) -> Tensor:
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayV2Stack")
            size = self._known_size()
            if size is None and not self._dynamic_size and self._size is not None:
                count = -1
            else:
                count = -1 if size is None else size
            value = call("TensorListStack", None, self._flow, _shape_tensor(self.element_shape), element_dtype=self._dtype, num_elements=count)
            if self.element_shape.rank is not None:
                value.set_shape([size, *self.element_shape.as_list()])
            return value

    def gather(self, indices, name=None) -> Tensor:
        value = call("TensorListGather", name, self._flow, indices, _shape_tensor(self.element_shape), element_dtype=self._dtype)
        if self.element_shape.rank is not None:
            value.set_shape([None, *self.element_shape.as_list()])
        return value

    def concat(self, name=None) -> Tensor:
        shape = self.element_shape
        rest = TensorShape(None) if shape.rank is None else TensorShape([None, *shape.as_list()[1:]])
        return call("TensorListConcatV2", name, self._flow, _shape_tensor(rest), constant([], "int64"),
                    element_dtype=self._dtype)[0]

    def unstack(self, value, name=None):
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayUnstack", value)
            value = self._converted(value)
            self._merge_element_shape(value.shape[1:])
            return self._with_flow(call("TensorListFromTensor", None, value, _shape_tensor(value.shape[1:])))

    def scatter(self, indices, value, name=None):
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArrayScatter", value, indices)
            convert_to_tensor(self._flow)
            value = self._converted(value)
            self._merge_element_shape(value.shape[1:])
            return self._with_flow(call("TensorListScatterIntoExistingList", None, self._flow, value, indices))

    def split(self, value, lengths, name=None):
        with contextlib.ExitStack() as stack:
            self._scope(stack, name, "TensorArraySplit", value, lengths)
            value = self._converted(value)
            lengths = self._lengths(value, lengths)
            return self._with_flow(call("TensorListSplit", name, value, _shape_tensor(self.element_shape), lengths))

    def size(self, name=None) -> Tensor:
        if not self._dynamic_size and self._size is not None:
            return convert_to_tensor(self._size, "int32")
        return call("TensorListLength", name, self._flow)

    def close(self, name=None):
        return call("NoOp", name)


for _name in ("grad", "read", "write", "stack", "gather", "concat", "unstack", "scatter", "split", "size", "close"):
    functools.update_wrapper(getattr(_ListArray, _name), getattr(TensorArray, _name))


def _exclude(given: str, **others) -> None:
    for other, value in others.items():
        if value is not None:
            raise ValueError(f"Cannot provide both `{given}` and `{other}` arguments at the same time.")


def _constant_value(tensor: Tensor) -> int | None:
    value = tensor.graph._core.constant_value(*tensor._key)
    return None if value is None else int(value)


def _range(start, limit) -> Tensor:
    graph = get_default_graph()
    with graph.name_scope("range") as scope:
        start, limit = convert_to_tensor(start, name="start"), convert_to_tensor(limit, name="limit")
        return call("Range", scope, start, limit, convert_to_tensor(1, name="delta"))


def _shape(value) -> Tensor:
    """Returns the shape of a tensor, a constant if it is known."""
    graph = get_default_graph()
    with graph.name_scope("Shape") as scope:
        value = convert_to_tensor(value)
        shape = value.shape
        if shape.is_fully_defined():
            return constant(shape.as_list(), "int32", name=scope)
        return call("Shape", scope, value)


def _shape_tensor(shape: TensorShape) -> np.ndarray:
    """Returns a shape as the ops of lists take it: −1 for sizes that are not known, and instead of an unknown rank."""
    return np.array(-1 if shape.rank is None else [-1 if d is None else d for d in shape.as_list()], np.int32)


__all__ = ["TensorArray"]
