"""Initial values that depend on other variables, which may not be initialized yet."""

from __future__ import annotations

from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variable import Variable

# Operations whose value does not depend on a variable being initialized.
_SAFE = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")
# Operations whose output can be replaced by a variable's value. A handle cannot: an operation that takes a handle takes no value.
_HOLDERS = ("Variable", "VariableV2")


def check_is_outside(initial_value, name: str) -> None:
    """Checks that the initial value of a variable with a name scope is not a tensor of a loop or conditional, which has no value outside of it.

    Raises:
        ValueError: if it is.
    """
    if not isinstance(initial_value, Tensor):
        return
    graph = initial_value._graph
    if graph._core.context_of(graph._thread.here.scope, initial_value.op._id) is not None:
        raise ValueError(
            f"The `initial_value` passed to `tf.Variable` {name[:-1]} is from inside a control-flow construct, such as a loop or conditional. When "
            "creating a `tf.Variable` inside a loop or conditional, use a lambda as the `initial_value`. Got: "
            f"initial_value=({initial_value})")


def guarded(scope: str, value: Tensor) -> Tensor:
    """Returns an initial value in which variables are read as :meth:`Variable.initialized_value`, so that initializers may run in any order.

    Args:
        scope: the name scope of the new variable, with a slash at its end.
        value: its initial value.
    """
    if not value._graph._core.depends_on_ops(value._key[0], _HOLDERS, _SAFE):
        return value
    order = _upstream(value.op)
    if order is None:
        return value
    safe: dict[Operation, Operation] = {}
    for op in order:
        safe[op] = _safe_op(scope, op, safe)
    return safe[value.op]._outputs[value.value_index]


def _upstream(last: Operation) -> list[Operation] | None:
    """Returns the operations that `last` depends on, those that others need first; None if they form a cycle."""
    order: list[Operation] = []
    state: dict[Operation, bool] = {}
    stack = [(last, False)]
    while stack:
        op, is_done = stack.pop()
        if is_done:
            state[op] = True
            order.append(op)
            continue
        if op in state:
            if not state[op]:
                return None
            continue
        state[op] = False
        stack.append((op, True))
        if op.type not in _SAFE:
            for tensor in reversed(op.inputs):
                source = tensor.op
                if state.get(source) is False:
                    return None
                if source not in state:
                    stack.append((source, False))
    return order


def _safe_op(scope: str, op: Operation, safe: dict[Operation, Operation]) -> Operation:
    if op.type in _SAFE:
        return op
    if op.type in _HOLDERS:
        variable = _variable_of(op)
        return op if variable is None else variable.initialized_value().op
    inputs = op.inputs
    replaced = [safe[t.op]._outputs[t.value_index] for t in inputs]
    if all(a is b for a, b in zip(inputs, replaced)):
        return op
    node = op.node_def
    kind = "Switch" if op.type == "RefSwitch" else op.type  # a value is no reference
    return op.graph.create_op(kind, replaced, name=f"{op.name}_{scope}".replace(":", "_"), attrs=dict(node.attr))


def _variable_of(op: Operation) -> Variable | None:
    for collection in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.LOCAL_VARIABLES):
        for variable in op.graph.get_collection(collection):
            if variable.name in (op.name, op.name + ":0"):
                return variable
    return None
