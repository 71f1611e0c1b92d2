"""Gradients of `py_function`: the function is called once more, with tensors, in a graph of its own, which is differentiated."""

from __future__ import annotations

import numpy as np

from flowmill._internal import script_ops
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.gradients_impl import RegisterGradient, gradients
from flowmill._internal.graph import Graph
from flowmill._internal.operators import OperatorsOfTensor
from flowmill._internal.session import Session
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype


class Argument(OperatorsOfTensor):
    """An argument of a function that is called eagerly: a tensor whose value is known."""

    def __init__(self, value: np.ndarray):
        self._value = value
        self._tensor = constant(value)

    def _as_tensor(self, dtype=None, name: str | None = None) -> Tensor:
        return self._tensor if dtype is None else convert_to_tensor(self._tensor, dtype, name)

    def numpy(self):
        """Returns the value as an array, or a scalar: what is computed with it is a constant."""
        return self._value[()] if self._value.ndim == 0 else self._value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._value, dtype)

    @property
    def dtype(self):
        """The type of its elements."""
        return self._tensor.dtype

    @property
    def shape(self):
        """Its shape, which is known."""
        return self._tensor.shape

    def get_shape(self):
        """Returns :attr:`shape`."""
        return self.shape

    @property
    def graph(self):
        """The graph that the function computes in."""
        return self._tensor.graph

    def __len__(self):
        return len(self._value)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self._value)

    def __int__(self):
        return int(self._value)

    def __float__(self):
        return float(self._value)

    __index__ = __int__

    def __repr__(self):
        return f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._value!r}>"


def _comparison(name: str):
    of_tensors = getattr(OperatorsOfTensor, name)

    def compare(self, other):
        if isinstance(other, Tensor):
            return of_tensors(self, other)
        return getattr(self._value, name)(np.asarray(other))
    compare.__name__ = name
    return compare


# What is known may decide what a function does.
for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Argument, _name, _comparison(_name))


def evaluated(made: list, graph: Graph) -> list:
    """Results of a function, in which what it made of tensors of `graph` is computed."""
    tensors = {i: convert_to_tensor(v) for i, v in enumerate(made) if isinstance(v, (Tensor, Argument)) or hasattr(v, "_as_tensor")}
    if not tensors:
        return made
    with Session(graph=graph) as session:
        values = dict(zip(tensors, session.run(list(tensors.values()))))
    return [values.get(i, v) for i, v in enumerate(made)]


def _backward(function, count: int, types: list):
    """Returns a function of `count` arguments and the gradients of the results, which gives those of the arguments."""
    def called(*arrays):
        with Graph().as_default() as graph:
            arguments = [Argument(np.asarray(a)) for a in arrays[:count]]
            made = function(*arguments)
            made = [] if made is None else list(made) if isinstance(made, (list, tuple)) else [made]
            pairs = [(convert_to_tensor(y, dtype), g) for y, g, dtype in zip(made, arrays[count:], types) if dtype.is_floating or dtype.is_complex]
            ys, starts = [y for y, _ in pairs], [constant(np.asarray(g)) for _, g in pairs]
            found = gradients(ys, [a._tensor for a in arguments], starts)
            wanted = [convert_to_tensor(g) if g is not None else np.zeros_like(a._value) for g, a in zip(found, arguments)]
            return evaluated(wanted, graph)
    return called


@RegisterGradient("EagerPyFunc")
def _gradient(op, *grads):
    entry = script_ops.function_of(op.get_attr("token").decode())
    inputs = list(op.inputs)
    if entry is None:
        raise LookupError(f"The function that {op.name} calls belongs to another process and cannot be differentiated.")
    types = [t.dtype for t in op.outputs]
    differentiable = [t.dtype.is_floating or t.dtype.is_complex for t in inputs]
    with op.graph.control_dependencies(op.outputs):
        made = script_ops.py_func(_backward(entry, len(inputs), types), [*inputs, *grads], [as_dtype(t.dtype) for t in inputs], name="EagerPyFuncGrad")
    for tensor, source in zip(made, inputs):
        tensor.set_shape(source.shape)
    return [tensor if is_differentiable else None for tensor, is_differentiable in zip(made, differentiable)]
