"""Operations and tensors: a graph's nodes and their outputs, as Python holds them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from flowmill import _core
from flowmill._internal import protos
from flowmill._internal.tensor_shape import TensorShape, known_shape
from flowmill.dtypes import DType, as_dtype

if TYPE_CHECKING:
    from flowmill._internal.graph import Graph


# How many of the caller's frames are kept with an operation, the innermost.
_MAX_FRAMES = 16
_PACKAGE = __file__[: -len("_internal/tensor.py")]


def user_frames(depth: int = 1) -> tuple:
    """Returns the frames from which this package was called: code and instruction of each in turn, innermost first.

    Args:
        depth: the number of innermost frames, the caller's first, that are known to be the package's.
    """
    return _core.frames(sys._getframe(depth + 1), _PACKAGE, _MAX_FRAMES)


def _line(code, instruction: int) -> int:
    """Returns the line of an instruction."""
    return next((line for start, end, line in code.co_lines() if line is not None and start <= instruction < end), code.co_firstlineno)


class Operation:
    """A node of a graph. A graph has one object for each of its nodes."""

    __slots__ = ("_graph", "_id", "_names", "_outputs", "__dict__", "__weakref__")

    def __init__(self, graph: Graph, node_id: int, outputs: list[Tensor]):
        """For :class:`Graph` alone."""
        self._graph, self._id, self._outputs = graph, node_id, outputs
        self._names: tuple[str, str] | None = None

    def _extend(self) -> None:
        """Learns of outputs that a gradient has added."""
        self._names = None
        types = self._graph._core.output_types(self._id)
        self._outputs.extend(Tensor(self._graph, (self._id, i), types[i]) for i in range(len(self._outputs), len(types)))

    def _name_and_type(self) -> tuple[str, str]:
        found = self._names
        if found is None:
            found = self._names = self._graph._core.node(self._id)[:2]
        return found

    @property
    def _name(self) -> str:
        return self._name_and_type()[0]

    @property
    def graph(self) -> Graph:
        """The graph it is a node of."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name, unique in the graph."""
        return self._name_and_type()[0]

    @property
    def type(self) -> str:
        """The name of the node's op, such as ``"MatMul"``."""
        return self._name_and_type()[1]

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors it gives, in order."""
        return list(self._outputs)

    def values(self) -> tuple[Tensor, ...]:
        """Returns :attr:`outputs`, in a tuple."""
        return tuple(self._outputs)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors it takes, in order."""
        return tuple(self._graph._operation(n)._outputs[slot] for n, slot in self._graph._core.inputs(self._id))

    @property
    def control_inputs(self) -> list[Operation]:
        """The nodes that have to run before it."""
        return [self._graph._operation(n) for n in self._graph._core.control_inputs(self._id)]

    @property
    def device(self) -> str:
        """The device it asks for; empty for none."""
        return self._graph._core.device(self._id)

    @property
    def node_def(self):
        """The node as a `NodeDef`."""
        return protos.get("NodeDef").FromString(self._graph._core.node_def(self._id))

    @property
    def op_def(self):
        """The definition of its op as an `OpDef`."""
        return protos.get("OpDef").FromString(self._graph._core.op_def(self._id))

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The place where it was made, as ``(file, line, function, text)`` from the outermost call to the innermost outside of this package; empty
        for
        imported nodes."""
        import linecache  # start-up: only tracebacks need it

        found = []
        frames = self._graph._frames.get(self._id, ())
        for code, instruction in reversed(list(zip(frames[::2], frames[1::2]))):
            line = _line(code, instruction)
            found.append((code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip()))
        return found

    def _set_attr(self, name: str, value) -> None:
        """Sets an attribute, an `AttrValue`."""
        self._graph._core.set_attr(self._id, name, value.SerializeToString())

    def _set_device(self, device) -> None:
        self._graph._core.set_device(self._id, device if isinstance(device, str) else device.to_string())

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces an input by another tensor."""
        self._graph._core.update_input(self._id, index, tensor._key)

    def _add_control_input(self, op: Operation) -> None:
        self._graph._core.add_control_input(self._id, op._id)

    def _add_control_inputs(self, ops) -> None:
        for op in ops:
            self._add_control_input(op)

    def _get_control_flow_context(self):
        """The branch or loop it is in, or None."""
        from flowmill._internal.control_flow_contexts import context_of  # cycle: control_flow_contexts imports this module

        return context_of(self)

    def get_attr(self, name: str) -> Any:
        """Returns the value of an attribute: a Python value, a DType, or a message (`TensorShapeProto`, `TensorProto`, `NameAttrList`).

        Raises:
            ValueError: if it has no such attribute.
        """
        found = self._graph._core.attr(self._id, name)
        if found is None:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        kind, value = found
        convert = _ATTR_KINDS.get(kind)
        if convert is None:
            return value
        return [convert(v) for v in value] if isinstance(value, list) else convert(value)

    def colocation_groups(self) -> list[bytes]:
        """The groups of nodes it has to share a device with."""
        found = self._graph._core.attr(self._id, "_class")
        groups = [] if found is None else [g for g in found[1] if g.startswith(b"loc:@")]
        return groups or [b"loc:@" + self.name.encode()]

    def run(self, feed_dict=None, session=None) -> None:
        """Runs this in a session, the default one if none is given."""
        _session_for(self, session).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Operation '{self.name}' type={self.type}>"

    def __str__(self):
        return str(self.node_def)


_ATTR_KINDS = {
    "type": as_dtype,
    "shape": lambda b: protos.get("TensorShapeProto").FromString(b),
    "tensor": lambda b: protos.get("TensorProto").FromString(b),
    "func": lambda b: protos.get("NameAttrList").FromString(b),
}


class Tensor:
    """An output of an operation: not a value, but what a session computes one for."""

    # NumPy leaves operators to this class.
    __array_priority__ = 100

    __slots__ = ("_graph", "_key", "_type", "__dict__", "__weakref__")

    def __init__(self, graph: Graph, key: tuple[int, int], type_number: int):
        """For :class:`Graph` and :class:`Operation` alone."""
        # What the core calls it: its operation, and its place among the outputs of that.
        self._graph, self._key, self._type = graph, key, type_number

    @property
    def op(self) -> Operation:
        """The operation that gives it."""
        return self._graph._operation(self._key[0])

    @property
    def value_index(self) -> int:
        """Its place among the outputs of its operation."""
        return self._key[1]

    @property
    def graph(self) -> Graph:
        """The graph of its operation."""
        return self._graph

    @property
    def name(self) -> str:
        """The name of its operation and its place there, such as ``"x:0"``."""
        return f"{self.op.name}:{self._key[1]}"

    @property
    def device(self) -> str:
        """The device that its operation asks for; empty for none."""
        return self._graph._core.device(self._key[0])

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return as_dtype(self._type)

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return known_shape(self._graph._core.shape(*self._key))

    def get_shape(self) -> TensorShape:
        """Returns :attr:`shape`."""
        return self.shape

    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape.

        Raises:
            ValueError: if it contradicts that.
        """
        shape = shape if isinstance(shape, TensorShape) else TensorShape(shape)
        known = self.shape
        if not known.is_compatible_with(shape):
            raise _contradiction(known, shape)
        merged = known.merge_with(shape)
        if merged.rank is not None and merged._dims != known._dims:
            self._graph._core.merge_shape(*self._key, [-1 if d is None else d for d in merged.as_list()])
            for session in list(self._graph._sessions):
                session._steps.clear()

    @property
    def ndim(self) -> int | None:
        """The number of its dimensions, None if it is not known."""
        return self.shape.rank

    def consumers(self) -> list[Operation]:
        """Returns the operations that take it, once each."""
        return [self._graph._operation(n) for n in dict.fromkeys(self._graph._core.consumers(*self._key))]

    def eval(self, feed_dict=None, session=None):
        """Its value in a session, the default one if none is given."""
        return _session_for(self, session).run(self, feed_dict)

    def ref(self) -> Reference:
        """Returns a key for dictionaries and sets."""
        return Reference(self)

    experimental_ref = ref

    def _repr_html_(self) -> str:
        from flowmill._internal.view import tensor_html  # start-up: few programs show their tensors

        return tensor_html(self)

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = self.shape
        return f'Tensor("{self.name}"{"" if shape.rank is None else f", shape={shape}"}, dtype={self.dtype.name})'

    def __bool__(self):
        raise TypeError("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: it has no value before a session runs it.")

    def __iter__(self):
        raise TypeError("Iterating over a symbolic `tf.Tensor` is not allowed in Graph mode: how many rows it has is known when a session runs it; use `tf.unstack`.")

    def __len__(self):
        raise TypeError(f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape` rather than `len(x)` for shape information.")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array: a session computes its value.")


class Reference:
    """A tensor as a key: equal to other references of the same tensor."""

    __slots__ = ("_referenced",)

    def __init__(self, referenced):
        self._referenced = referenced

    def deref(self):
        """Returns the tensor."""
        return self._referenced

    def __eq__(self, other):
        return isinstance(other, Reference) and self._referenced is other._referenced

    def __hash__(self):
        return id(self._referenced)

    def __repr__(self):
        return f"<Reference wrapping {self._referenced!r}>"


def _contradiction(known: TensorShape, shape: TensorShape) -> ValueError:
    """Returns the error for a shape that contradicts the known one."""
    sizes, others = known.as_list(), shape.as_list()
    if len(sizes) != len(others):
        return ValueError(f"Shapes must be equal rank, but are {len(sizes)} and {len(others)}")
    at = next(i for i, (a, b) in enumerate(zip(sizes, others)) if a is not None and b is not None and a != b)
    shapes = " and ".join("[" + ",".join("?" if d is None else str(d) for d in of) + "]" for of in (sizes, others))
    return ValueError(f"Dimension {at} in both shapes must be equal, but are {sizes[at]} and {others[at]}. Shapes are {shapes}.")


def _session_for(element, session):
    """The session to run a tensor or an operation in."""
    from flowmill._internal.session import get_default_session  # cycle: session imports this module

    if session is None:
        session = get_default_session()
        if session is None:
            kind, action, does = _running(element)
            raise ValueError(f"Cannot {action} {kind} using `{does}()`: No default session is registered. Use `with sess.as_default()` or pass an "
                             f"explicit session to `{does}(session=sess)`")
        if session.graph is not element.graph:
            kind, action, does = _running(element)
            raise ValueError(f"Cannot use the default session to {action} {kind}: the {kind}'s graph is different from the session's graph. "
                             f"Pass an explicit session to `{does}(session=sess)`.")
    elif session.graph is not element.graph:
        kind, action, _ = _running(element)
        raise ValueError(f"Cannot use the given session to {action} {kind}: the {kind}'s graph is different from the session's graph.")
    return session


def _running(element) -> tuple[str, str, str]:
    """Returns the kind of `element`, the verb for running it in a session, and the method that runs it."""
    return ("operation", "execute", "run") if isinstance(element, Operation) else ("tensor", "evaluate", "eval")
