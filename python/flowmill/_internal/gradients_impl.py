"""Derivatives of tensors by tensors, as operations of the graph."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from typing import Any

from flowmill import _core, nest
from flowmill._internal import graph as graphs
from flowmill._internal.apply import call
from flowmill._internal.array import concat, reshape, shape, size
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.dispatch import is_operator, is_ragged
from flowmill._internal.func_graph import BodyGraph, CopyGraph
from flowmill._internal.graph import get_default_graph
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.tensor import Tensor
from flowmill.errors import InvalidArgumentError, NotFoundError


class UnconnectedGradients(enum.Enum):
    """The ways to treat gradients by an `x` that the result does not depend on."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """The ways to add the gradients that several consumers contribute."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


# Gradient functions by the name that they are registered by: of an op, or what `gradient_override_map` names. None for ops without a gradient.
_registry: dict[str, Callable | None] = {}


class RegisterGradient:
    """A decorator for the gradient function of an op, or of what `Graph.gradient_override_map` calls by this name.

    The function is called as ``f(op, *grads)`` with the operation and the gradients of its outputs, and returns those of its inputs: one, or a
    list; None for an input that the op does not depend on.
    """

    def __init__(self, op_type: str):
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f) -> Any:
        if self._op_type in _registry:
            raise KeyError(f"Registering two gradient with name '{self._op_type}'!")
        _registry[self._op_type] = f
        return f


def no_gradient(op_type: str) -> None:
    """Says that an op has no gradient: nothing is differentiated through it."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _registry[op_type] = None


NotDifferentiable = NoGradient = no_gradient


def gradients(ys, xs, grad_ys=None, name: str = "gradients", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
              aggregation_method: int | None = None, stop_gradients=None, unconnected_gradients=UnconnectedGradients.NONE) -> list[Any]:
    """Returns the derivatives of the sum of `ys` by each of `xs`.

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or an object that provides one, or a list of them.
        grad_ys: for each of `ys` what its gradient begins with, ones for None.
        name: the name of the scope that the operations are made in.
        colocate_gradients_with_ops: gives the operations the devices of those they are the gradients of.
        gate_gradients: lets all gradients of an operation be there before one of them is used.
        aggregation_method: one of :class:`AggregationMethod`.
        stop_gradients: tensors, or a list of them, that count as constants.
        unconnected_gradients: what to give for an `x` that `ys` do not depend on.

    Returns:
        For each of `xs` a tensor, IndexedSlices, or None; for a ragged tensor one with the same rows.

    Raises:
        LookupError: if an operation between has no gradient.
        TypeError: for complex `ys` without `grad_ys`, and for strings.
    """
    ys, xs = _listed(ys), _listed(xs)
    stop = [] if stop_gradients is None else _listed(stop_gradients)
    if grad_ys is None:
        grad_ys = [None] * len(ys)
    elif not isinstance(grad_ys, (list, tuple)) or len(grad_ys) != len(ys):  # a list of numbers may be one gradient
        grad_ys = _listed(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Length mismatch. Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    unconnected = UnconnectedGradients(unconnected_gradients)
    graph = get_default_graph()
    graph._check_not_finalized()
    graphs_around = graph._around() if graph.building_function else {0: graph}
    with graph.name_scope(name) as scope:
        if any(map(is_operator, ys)):
            grad_ys = [g for y, start in zip(ys, grad_ys) for g in ([call("OnesLike", None, p) for p in _parts(y)] if is_operator(y) else [start])]
            ys = [part for y in ys for part in _parts(y)]
        parts = [_parts(x) for x in xs]
        flat = [part for x_parts in parts for part in x_parts]
        y_tensors = [convert_to_tensor(_elements(y), name="y") for y in ys]
        x_tensors = [_origin(x) if graph.building_function else _source(x) for x in flat]
        starts = [None if g is None else convert_to_tensor(_elements(g), y.dtype.base_dtype, "grad_ys") for g, y in zip(grad_ys, y_tensors)]
        _check_starts(y_tensors, starts)
        walk = _core.GradientWalk(
            [graphs_around[level]._core for level in sorted(graphs_around)], graph._thread.here.scope, [y._key for y in y_tensors],
            [_leveled(x, graphs_around) for x in x_tensors], [None if s is None else s._key for s in starts], name=scope,
            stop_gradients=[_leveled(_origin(s), graphs_around) for s in stop], colocate=colocate_gradients_with_ops, gate=gate_gradients,
            pairwise=aggregation_method in _PAIRWISE,
            custom=[n for n, f in _registry.items() if f is not None] + [n for g in graphs_around.values() for n in g._python_gradients],
            not_differentiable=[n for n, f in _registry.items() if f is None])
        grads = [_gradient(graph, keys) for keys in _walk(graph, graphs_around, walk)]
        if unconnected is UnconnectedGradients.ZERO:
            grads = [_zeros(x, tensor) if g is None else g for g, x, tensor in zip(grads, flat, x_tensors)]
        if graphs._checks is not None:
            grads = [graphs._checks.gradient(g) for g in grads]
        rest = iter(grads)
        return [_joined(x, [next(rest) for _ in x_parts], x_parts) for x, x_parts in zip(xs, parts)]


def _parts(value) -> list:
    """Returns the tensors to take derivatives by, or of: those that a linear operator is made of, the flat values of a ragged tensor."""
    return value._components() if is_operator(value) else [_elements(value)]


def _joined(x, grads: list, parts: list):
    """Returns the gradient by `x` that those by its parts make up; None if there is none by any of them."""
    if is_operator(x):
        return None if all(g is None for g in grads) else x._with_components([_zeros(p, p) if g is None else g for g, p in zip(grads, parts)])
    return x.with_flat_values(grads[0]) if is_ragged(x) and grads[0] is not None else grads[0]


def _elements(value):
    """Returns the tensor that takes part in gradients: the flat values of a ragged tensor."""
    return value.flat_values if is_ragged(value) else value


def _leveled(tensor: Tensor, graphs_around: dict) -> tuple:
    """Returns a tensor of one of the graphs as the core takes it: with the graph's level. A tensor of another graph has a level that none has."""
    level = tensor.graph._level
    return (level if graphs_around.get(level) is tensor.graph else len(graphs_around)), tensor._key


_PAIRWISE = (AggregationMethod.EXPERIMENTAL_TREE, AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)


def _walk(graph, graphs_around: dict, walk) -> list:
    """Walks to the end, making the gradients that functions of Python make."""
    while True:
        try:
            step = walk.advance()
        except InvalidArgumentError as error:
            raise ValueError(error.message) from None
        except NotFoundError as error:
            raise LookupError(error.message) from None
        finally:
            for around in graphs_around.values():
                for node in around._core.take_extended():
                    around._operation(node)._extend()
            if graph.building_function:
                graph._note_captures()
        if isinstance(step, list):
            return step
        node, kind, keys, scope, core, function, level = step
        around = graphs_around[level]
        inner = around if core is None else CopyGraph(core, around) if function is None else BodyGraph(core, function, around)
        op = inner._operation(node)
        with inner.as_default(), inner._within(scope), inner.colocate_with(op) if scope.colocation else contextlib.nullcontext():
            make = _registry.get(kind) or next(g._python_gradients[kind] for g in graphs_around.values() if kind in g._python_gradients)
            made = make(op, *(_gradient(inner, k) for k in keys))
            made = list(made) if isinstance(made, (list, tuple)) else [made]
            if len(made) != len(op.inputs):
                raise ValueError(f"Num gradients {len(made)} generated for op {op.node_def} do not match num inputs {len(op.inputs)}")
            made = [_keys(inner, g) for g in made]
        walk.resume(made)


def _keys(graph, grad):
    """Returns a gradient as the core takes it."""
    if grad is None:
        return None

    def key(value):
        tensor = convert_to_tensor(value)
        return (graph.capture(tensor) if graph.building_function else tensor)._key

    if isinstance(grad, IndexedSlices):
        return key(grad.values), key(grad.indices), None if grad.dense_shape is None else key(grad.dense_shape)
    return key(grad)


def _listed(value) -> list:
    if isinstance(value, (list, tuple)) or nest.is_nested(value):
        return nest.flatten(value)
    return [value]


def _source(x) -> Tensor:
    """The tensor of the default graph to take derivatives by."""
    return convert_to_tensor(_origin(x), name="x")


def _origin(x) -> Tensor:
    """The tensor to take derivatives by, of whatever graph."""
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor):  # a resource variable
        return handle
    ref = getattr(x, "_ref", None)
    if callable(ref):
        return ref()
    if isinstance(x, IndexedSlices):
        return x.values
    return x if isinstance(x, Tensor) else convert_to_tensor(x, name="x")


def _zeros(x, tensor: Tensor) -> Tensor:
    """Returns the gradient by `x` of what does not depend on it. Its tensor is a handle if `x` is a resource variable."""
    if tensor.dtype.name != "resource" or not hasattr(x, "handle"):
        return call("ZerosLike", None, tensor)
    zeros = call("Fill", None, call("VariableShape", None, tensor), constant(0, x.dtype))
    zeros.set_shape(x.shape)
    return zeros


def _check_starts(ys: list[Tensor], starts: list) -> None:
    for y, start in zip(ys, starts):
        kind = y.dtype.base_dtype
        if kind.name == "string":
            raise TypeError("Expected string, but got 1 of type 'int'." if start is None else
                            f"Tensor {y} with type string must be numeric to obtain a default gradient")
        if start is None and kind.is_complex:
            raise TypeError(f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {kind.name})")


def _gradient(graph, keys):
    if keys is None:
        return None
    if len(keys) == 2:
        return graph._tensor(keys)
    values, indices, dense_shape = keys
    return IndexedSlices(graph._tensor(values), graph._tensor(indices), None if dense_shape is None else graph._tensor(dense_shape))


def hessians(ys, xs, name: str = "hessians", colocate_gradients_with_ops: bool = False, gate_gradients: bool = False,
             aggregation_method: int | None = None) -> list[Tensor]:
    """Returns the second derivatives of the sum of `ys` by each of `xs`: for an `x` of shape `s` a tensor of shape ``s + s``.

    Args:
        ys: a tensor, or a list of them.
        xs: a tensor or an object that provides one, or a list of them.
        name: the name of the scopes of the first derivatives.
        colocate_gradients_with_ops: as in :func:`gradients`.
        gate_gradients: as in :func:`gradients`.
        aggregation_method: as in :func:`gradients`.

    Raises:
        LookupError: if an operation between has no gradient.
        ValueError: if `ys` do not depend on an `x`.
    """
    from flowmill._internal.loops import while_loop  # start-up: few programs need Hessians
    from flowmill._internal.tensor_array import TensorArray  # start-up: few programs need Hessians

    options = {"colocate_gradients_with_ops": colocate_gradients_with_ops, "gate_gradients": gate_gradients, "aggregation_method": aggregation_method}
    found = []
    for x in _listed(xs):
        first = gradients(ys, x, name=name, **options)[0]
        if first is None:
            raise ValueError(f"Cannot compute the Hessian: {ys} do not depend on {x}.")
        flat = reshape(first, [-1])
        n = size(x)
        rows = TensorArray(flat.dtype, n)

        def step(j, rows, flat=flat, x=x):
            return j + 1, rows.write(j, gradients(flat[j], x)[0])

        _, rows = while_loop(lambda j, _, n=n: j < n, step, [0, rows])
        sizes = shape(x)
        found.append(reshape(rows.stack(), concat((sizes, sizes), 0)))
    return found


def stop_gradient(input, name: str | None = None) -> Tensor:  # noqa: A002 - TensorFlow's name
    """Returns the tensor as it is; gradients take it, and each of the tensors of a composite, for a constant."""
    if not isinstance(input, Tensor) and hasattr(input, "_components"):
        return input._with_components([stop_gradient(part, name) for part in input._components()])
    return call("StopGradient", name, input)
