"""Operations and tensors: a graph's nodes and their outputs, as Python holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowmill import _protos
from flowmill.dtypes import DType, as_dtype
from flowmill.tensor_shape import TensorShape

if TYPE_CHECKING:
    from flowmill.graph import Graph


class Operation:
    """A node of a graph. A graph has one object for each of its nodes."""

    def __init__(self, graph: Graph, node_id: int):
        """For :class:`Graph` alone."""
        self._graph, self._id = graph, node_id
        self._name, self._type, num_outputs = graph._core.node(node_id)
        self._outputs = [Tensor(self, i) for i in range(num_outputs)]

    @property
    def graph(self) -> Graph:
        """The graph it is a node of."""
        return self._graph

    @property
    def name(self) -> str:
        """Its name, unique in the graph."""
        return self._name

    @property
    def type(self) -> str:
        """The name of the node's op, such as ``"MatMul"``."""
        return self._type

    @property
    def outputs(self) -> list[Tensor]:
        """The tensors it gives, in order."""
        return list(self._outputs)

    def values(self) -> tuple[Tensor, ...]:
        """As :attr:`outputs`, in a tuple."""
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
        return _protos.get("NodeDef").FromString(self._graph._core.node_def(self._id))

    @property
    def op_def(self):
        """The definition of its op as an `OpDef`."""
        return _protos.get("OpDef").FromString(self._graph._core.op_def(self._id))

    @property
    def traceback(self) -> None:
        """Where it was made: not recorded for imported nodes."""
        return None

    def get_attr(self, name: str) -> Any:
        """The value of an attribute: a Python value, a DType, or a message (`TensorShapeProto`, `TensorProto`, `NameAttrList`).

        Raises:
            ValueError: where it has no such attribute.
        """
        found = self._graph._core.attr(self._id, name)
        if found is None:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.")
        kind, value = found
        convert = _ATTR_KINDS.get(kind)
        if convert is None:
            return value
        return [convert(v) for v in value] if isinstance(value, list) else convert(value)

    def colocation_groups(self) -> list[bytes]:
        """The groups of nodes it has to share a device with."""
        found = self._graph._core.attr(self._id, "_class")
        groups = [] if found is None else [g for g in found[1] if g.startswith(b"loc:@")]
        return groups or [b"loc:@" + self._name.encode()]

    def run(self, feed_dict=None, session=None) -> None:
        """Runs this in a session, the default one where none is given."""
        _session_for(self, session).run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Operation '{self._name}' type={self._type}>"

    def __str__(self):
        return str(self.node_def)


_ATTR_KINDS = {
    "type": as_dtype,
    "shape": lambda b: _protos.get("TensorShapeProto").FromString(b),
    "tensor": lambda b: _protos.get("TensorProto").FromString(b),
    "func": lambda b: _protos.get("NameAttrList").FromString(b),
}


class Tensor:
    """An output of an operation: not a value, but what a session computes one for."""

    # NumPy leaves operators to this class.
    __array_priority__ = 100

    def __init__(self, op: Operation, value_index: int):
        """For :class:`Operation` alone."""
        self._op, self._value_index = op, value_index
        self._shape: TensorShape | None = None

    @property
    def op(self) -> Operation:
        """The operation that gives it."""
        return self._op

    @property
    def value_index(self) -> int:
        """Its place among the outputs of its operation."""
        return self._value_index

    @property
    def graph(self) -> Graph:
        """The graph of its operation."""
        return self._op._graph

    @property
    def name(self) -> str:
        """The name of its operation and its place there, such as ``"x:0"``."""
        return f"{self._op._name}:{self._value_index}"

    @property
    def device(self) -> str:
        """The device that its operation asks for; empty for none."""
        return self._op.device

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return as_dtype(self.graph._core.output_types(self._op._id)[self._value_index])

    @property
    def shape(self) -> TensorShape:
        """What is known of its shape before anything runs."""
        inferred = TensorShape(self.graph._core.shape(self._op._id, self._value_index))
        return inferred if self._shape is None else inferred.merge_with(self._shape)

    def get_shape(self) -> TensorShape:
        """As :attr:`shape`."""
        return self.shape

    def set_shape(self, shape) -> None:
        """Adds to what is known of the shape.

        Raises:
            ValueError: where it contradicts that.
        """
        self._shape = self.shape.merge_with(shape)

    @property
    def ndim(self) -> int | None:
        """The number of its dimensions, None where it is not known."""
        return self.shape.rank

    def consumers(self) -> list[Operation]:
        """The operations that take it, once each."""
        return [self.graph._operation(n) for n in dict.fromkeys(self.graph._core.consumers(self._op._id, self._value_index))]

    def eval(self, feed_dict=None, session=None):
        """Its value in a session, the default one where none is given."""
        return _session_for(self, session).run(self, feed_dict)

    def ref(self) -> Reference:
        """A key for dictionaries and sets."""
        return Reference(self)

    experimental_ref = ref

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self):
        shape = self.shape
        return f'Tensor("{self.name}"{"" if shape.rank is None else f", shape={shape}"}, dtype={self.dtype.name})'

    def __bool__(self):
        raise TypeError("Using a symbolic `tf.Tensor` as a Python `bool` is not allowed: it has no value before a session runs it.")

    def __iter__(self):
        raise TypeError("Tensor objects are only iterable when their shape is known while the graph is built; use `tf.unstack`.")

    def __len__(self):
        raise TypeError(f"len is not well defined for a symbolic Tensor ({self.name}). Use `tf.shape` for its sizes.")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array: a session computes its value.")


class Reference:
    """A tensor as a key: equal to other references of the same tensor."""

    __slots__ = ("_referenced",)

    def __init__(self, referenced):
        self._referenced = referenced

    def deref(self):
        """The tensor."""
        return self._referenced

    def __eq__(self, other):
        return isinstance(other, Reference) and self._referenced is other._referenced

    def __hash__(self):
        return id(self._referenced)

    def __repr__(self):
        return f"<Reference wrapping {self._referenced!r}>"


def _session_for(element, session):
    """The session to run a tensor or an operation in."""
    from flowmill.session import get_default_session

    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError(f"Cannot run {element.name}: no session is given and there is no default one. Use `with sess.as_default()`.")
        if session.graph is not element.graph:
            raise ValueError(f"Cannot use the default session to run {element.name}: its graph is not the session's. Give a session of that graph.")
    elif session.graph is not element.graph:
        raise ValueError(f"Cannot use the given session to run {element.name}: its graph is not the session's.")
    return session
