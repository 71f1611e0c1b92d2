"""The global step: a variable that counts the steps of training."""

from __future__ import annotations

from typing import Any

from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.init_ops import Zeros
from flowmill._internal.tensor import Tensor
from flowmill._internal.variable_scopes import get_variable
from flowmill._internal.variables import Variable, VariableAggregation


def get_global_step(graph=None) -> Any:
    """Returns the global step of a graph, the default one if it is None: what is in its collection, else the tensor ``global_step:0``; None if there is
    neither.

    Raises:
        TypeError: if it is no integer scalar.
    """
    graph = graph or get_default_graph()
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) == 1:
        step = found[0]
    elif not found:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    else:
        return None
    assert_global_step(step)
    return step


def create_global_step(graph=None) -> Variable:
    """Makes the global step of a graph.

    Raises:
        ValueError: if there is one already.
    """
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP, shape=[], dtype="int64", initializer=Zeros(), trainable=False, aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP])


def get_or_create_global_step(graph=None) -> Variable:
    """Returns the global step of a graph, a new one if it has none."""
    graph = graph or get_default_graph()
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor) -> None:
    """Checks that something can be a global step.

    Raises:
        TypeError: if it is no integer scalar.
    """
    if not isinstance(global_step_tensor, (Variable, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {global_step_tensor}.')
    if not global_step_tensor.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {global_step_tensor.dtype}')
    shape = global_step_tensor.get_shape()
    if shape.rank not in (0, None):
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def global_step(sess, global_step_tensor) -> int:
    """Returns the value of the global step in a session."""
    return int(sess.run(global_step_tensor))
