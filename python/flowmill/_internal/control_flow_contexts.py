"""The contexts of conditionals and loops: which of them an operation is in, and how they go with a `MetaGraphDef`."""

from __future__ import annotations

from flowmill._internal import protos
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation, Tensor


class ControlFlowContext:
    """A branch of a conditional, or a loop. For :func:`context_of` and `from_proto`."""

    # The field of `ControlFlowContextDef`.
    _field = ""

    def __init__(self, graph: Graph, number: int):
        self._graph, self._number = graph, number

    def _message(self):
        """Returns all that is known of it, as a message."""
        definition = protos.get("ControlFlowContextDef").FromString(self._graph._core.context_def(self._graph._thread.here.scope, self._number))
        return getattr(definition, self._field)

    @property
    def name(self) -> str:
        """Its name, such as ``"while/while_context"``."""
        return self._message().context_name

    @property
    def outer_context(self) -> ControlFlowContext | None:
        """The one around it."""
        return _wrapped(self._graph, self._graph._core.outer_context(self._graph._thread.here.scope, self._number))

    def to_proto(self, export_scope: str | None = None):
        """It as a `CondContextDef` or a `WhileContextDef`; with `export_scope` names are without that, and None is given for what is not in it."""
        message = self._message()
        if not export_scope:
            return message
        if not message.context_name.startswith(export_scope + "/"):
            return None
        _strip(message, export_scope + "/")
        return message

    @classmethod
    def from_proto(cls, context_def, import_scope: str | None = None) -> ControlFlowContext:
        """Makes one of a message, in the default graph, which has the operations already.

        Args:
            context_def: the message.
            import_scope: the prefix of the operations' names in the graph.

        Raises:
            errors.InvalidArgumentError: if the graph does not have them.
        """
        graph = get_default_graph()
        whole = protos.get("ControlFlowContextDef")()
        getattr(whole, cls._field).MergeFromString(context_def.SerializeToString())
        scope = graph._thread.here.scope
        return cls(graph, graph._core.add_context_def(scope, whole.SerializeToString(), (import_scope or "").rstrip("/")))

    def IsWhileContext(self) -> bool:  # noqa: N802 - TensorFlow's name
        """Returns true if it is a loop."""
        return isinstance(self, WhileContext)

    def IsCondContext(self) -> bool:  # noqa: N802 - TensorFlow's name
        """Returns true if it is a branch of a conditional."""
        return isinstance(self, CondContext)

    def __eq__(self, other):
        return isinstance(other, ControlFlowContext) and (self._graph, self._number) == (other._graph, other._number)

    def __hash__(self):
        return hash((id(self._graph), self._number))


class CondContext(ControlFlowContext):
    """A branch of a conditional."""

    _field = "cond_ctxt"

    @property
    def pred(self) -> Tensor:
        """The predicate that decides whether the branch is taken."""
        return self._graph.get_tensor_by_name(self._message().pred_name)

    @property
    def pivot(self) -> Tensor:
        """A tensor that is computed when the branch is taken."""
        return self._graph.get_tensor_by_name(self._message().pivot_name)

    @property
    def branch(self) -> int:
        """1 for what is done if the predicate is true, 0 for the other."""
        return self._message().branch


class WhileContext(ControlFlowContext):
    """A loop."""

    _field = "while_ctxt"

    @property
    def pivot(self) -> Tensor | None:
        """The operation `LoopCond`'s output."""
        name = self._message().pivot_name
        return self._graph.get_tensor_by_name(name) if name else None

    @property
    def loop_enters(self) -> list[Tensor]:
        """The outputs of `Enter` for the variables."""
        return [self._graph.get_tensor_by_name(n) for n in self._message().loop_enter_names]

    @property
    def loop_exits(self) -> list[Tensor]:
        """The outputs of `Exit` for the variables."""
        return [self._graph.get_tensor_by_name(n) for n in self._message().loop_exit_names]

    @property
    def parallel_iterations(self) -> int:
        """The number of iterations that may run at once."""
        return self._message().parallel_iterations

    @property
    def back_prop(self) -> bool:
        """True if gradients go through the loop."""
        return self._message().back_prop

    @property
    def swap_memory(self) -> bool:
        """The requested mode; nothing is swapped."""
        return self._message().swap_memory


def _wrapped(graph: Graph, number: int | None) -> ControlFlowContext | None:
    if number is None:
        return None
    definition = protos.get("ControlFlowContextDef").FromString(graph._core.context_def(graph._thread.here.scope, number))
    return (CondContext if definition.WhichOneof("ctxt") == "cond_ctxt" else WhileContext)(graph, number)


def context_of(op: Operation) -> ControlFlowContext | None:
    """Returns the innermost context that an operation is in."""
    return _wrapped(op.graph, op.graph._core.context_of(op.graph._thread.here.scope, op._id))


def collect(graph: Graph, kind: type, *numbers: int) -> None:
    """Notes contexts that are in no other one in the graph's collection of their kind."""
    if graph._thread.here.scope.context is None:
        for number in numbers:
            graph.add_to_collection(GraphKeys.COND_CONTEXT if kind is CondContext else GraphKeys.WHILE_CONTEXT, kind(graph, number))


def _strip(message, prefix: str) -> None:
    """Takes a prefix from all names in a message."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            if isinstance(value, str):
                setattr(message, field.name, _without(value, prefix))
            else:
                value[:] = [_without(v, prefix) for v in value]
        elif field.message_type is not None and field.message_type.GetOptions().map_entry:
            pairs = {_without(k, prefix): _without(v, prefix) for k, v in value.items()}
            value.clear()
            value.update(pairs)
        elif field.message_type is not None:
            for inner in [value] if hasattr(value, "ListFields") else value:
                _strip(inner, prefix)


def _without(name: str, prefix: str) -> str:
    return name[len(prefix):] if name.startswith(prefix) else name


__all__ = ["CondContext", "ControlFlowContext", "WhileContext", "collect", "context_of"]
