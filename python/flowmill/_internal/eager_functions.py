"""Arguments and results of `py_function`, and its gradients: the function is called once more, with tensors, in a graph that is differentiated."""

from __future__ import annotations

import numpy as np

from flowmill import nest
from flowmill._internal import script_ops
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.gradients_impl import RegisterGradient, gradients
from flowmill._internal.graph import Graph
from flowmill._internal.operators import OperatorsOfTensor
from flowmill._internal.session import Session
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_spec import TensorSpec
from flowmill._internal.composite_specs import type_spec_from_value
from flowmill._internal.type_spec import TypeSpec
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


class Composites:
    """The arguments and results of a function of :func:`py_function`, some of which are made of several tensors.

    Args:
        function: the function.
        inp: its arguments.
        Tout: the types of its results: a type or spec, or a list of them.

    Attributes:
        inputs: the tensors that the arguments are made of.
        types: the types of the tensors that the results are made of.
    """

    def __init__(self, function, inp, Tout):  # noqa: N803 - TensorFlow's name
        self._function, self._tout = function, Tout
        inp = [inp] if isinstance(inp, Tensor) else list(inp)
        self._arguments = [type_spec_from_value(v) if hasattr(v, "_components") and not isinstance(v, Tensor) else None for v in inp]
        self._results = [t if isinstance(t, TypeSpec) else as_dtype(t) for t in (Tout if isinstance(Tout, (list, tuple)) else [Tout])]
        self.inputs = [part for v, spec in zip(inp, self._arguments) for part in ([v] if spec is None else nest.flatten(spec._to_components(v)))]
        self.types = [part for t in self._results for part in ([c.dtype for c in nest.flatten(t._component_specs)] if isinstance(t, TypeSpec) else [t])]

    def call(self, *values) -> list:
        """Calls the function with what the tensors of the arguments are; returns the tensors, or arrays, that its results are made of."""
        parts = iter(values)
        made = self._function(*(next(parts) if spec is None else _packed(spec, parts) for spec in self._arguments))
        made = [] if made is None else list(made) if isinstance(made, (list, tuple)) else [made]
        if len(made) != len(self._results):
            return made
        return [part for value, t in zip(made, self._results) for part in self._parts(value, t)]

    def _parts(self, value, expected) -> list:
        if hasattr(value, "handle") and hasattr(value, "read_value"):
            raise RuntimeError(
                "Attempting to return a variable from an eagerly executed py_func. Only numeric data structures like Tensors or NumPy arrays should be "
                f"returned; to return the value of a variable, call `.read_value()` of it: {value}")
        is_composite = hasattr(value, "_components") and not isinstance(value, Tensor)
        if not is_composite and (not isinstance(expected, TypeSpec) or isinstance(expected, TensorSpec)):
            return [value]
        if not is_composite or not isinstance(expected, TypeSpec) or not expected.is_compatible_with(value):
            raise ValueError(f"py_function: func={self._function} returned {value!r}, which did not match Tout={self._tout!r}.")
        return nest.flatten(expected._to_components(value))

    def results(self, tensors) -> list | Operation:
        """Returns the results that tensors make up; an operation as it is."""
        parts = iter(tensors) if isinstance(tensors, list) else None
        return tensors if parts is None else [_packed(t, parts) if isinstance(t, TypeSpec) else next(parts) for t in self._results]


def _packed(spec: TypeSpec, parts):
    """Returns the value with a spec that is made of the next tensors."""
    components = []
    for component in nest.flatten(spec._component_specs):
        tensor = convert_to_tensor(next(parts), component.dtype)
        tensor.set_shape(component.shape)
        components.append(tensor)
    return spec._from_components(nest.pack_sequence_as(spec._component_specs, components))


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
