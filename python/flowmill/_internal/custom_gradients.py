"""Functions that bring gradients of their own."""

from __future__ import annotations

import functools
import inspect
import itertools
from typing import Any

from flowmill import nest
from flowmill._internal.apply import call
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.gradients_impl import RegisterGradient, gradients
from flowmill._internal.graph import get_default_graph
from flowmill._internal.variable_scopes import get_variable_scope, variable_scope
from flowmill._internal.variables import trainable_variables

_numbers = itertools.count()


def custom_gradient(f=None) -> Any:
    """Returns a decorator for a function that gives its result and the function for its gradients.

    Args:
        f: called with tensors; returns a structure of tensors, and a function ``grad_fn(*dy)`` from the gradients of these to those of the
            arguments. A `grad_fn` with an argument ``variables`` gets the trainable variables that `f` reads, and returns a pair: the arguments'
            gradients, and a list of the variables'.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args, **kwargs):
        return _with_gradient(f, args, kwargs)
    return decorated


def _with_gradient(f, args, kwargs):
    graph = get_default_graph()
    args = nest.map_structure(convert_to_tensor, list(args))
    args = nest.map_structure(lambda a: call("Identity", None, a), args, expand_composites=True)
    flat_args = nest.flatten(args, expand_composites=True)
    before = {id(v) for v in trainable_variables()}
    first = graph._core.version()
    result, grad_fn = f(*args, **kwargs)
    flat = [convert_to_tensor(r) for r in nest.flatten(result, expand_composites=True)]
    variables = _variables_of(grad_fn, graph, first, before)
    name = f"CustomGradient-{next(_numbers)}"

    @RegisterGradient(name)
    def gradient(_, *dys):
        dys = nest.flatten(nest.pack_sequence_as(result, dys[:len(flat)], expand_composites=True))
        made = grad_fn(*dys, variables=variables) if variables else grad_fn(*dys)
        of_args, of_variables = made if variables else (made, [])
        of_args = nest.flatten(of_args) if isinstance(of_args, (list, tuple)) else [of_args]
        if len(of_args) != len(flat_args):
            raise ValueError(f"custom_gradient function expected to return {len(flat_args)} gradients, but returned {len(of_args)} instead.")
        if len(of_variables) != len(variables):
            raise ValueError(f"Must return gradient for each variable from @custom_gradient grad_fn: {len(variables)} are used.")
        return [None] * len(flat) + of_args + list(of_variables)

    with graph.gradient_override_map({"IdentityN": name}):
        outputs = call("IdentityN", None, [*flat, *flat_args, *(_read(v) for v in variables)])
    return nest.pack_sequence_as(result, outputs[:len(flat)], expand_composites=True)


def _read(variable):
    handle = getattr(variable, "handle", None)
    return handle if handle is not None else variable._ref()


def _variables_of(grad_fn, graph, first: int, before) -> list:
    """Returns the trainable variables that the function read, where its gradient function wants to know them."""
    spec = inspect.getfullargspec(grad_fn)
    wants = "variables" in spec.args + spec.kwonlyargs or spec.varkw is not None
    used = []
    for variable in trainable_variables():
        source = _read(variable)
        if id(variable) not in before or any(op._id >= first + 2 for op in source.consumers()):
            used.append(variable)
    if used and not wants:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a 'variables' keyword argument.")
    return used


def grad_pass_through(f) -> Any:
    """Returns a function like `f` whose gradients by its arguments are those of its results, whatever `f` does in between."""
    @custom_gradient
    def passed(*args, **kwargs):
        def grad(*dys, variables=()):
            return (dys, [None] * len(variables)) if variables else dys
        return f(*args, **kwargs), grad

    return functools.wraps(f)(lambda *args, **kwargs: passed(*args, **kwargs))


def recompute_grad(f) -> Any:
    """Returns a function like `f` whose gradients compute it once more, instead of keeping what it computed in between.

    Variables that `f` makes by `get_variable` are used again when it is computed again.
    """
    @custom_gradient
    def recomputed(*args, **kwargs):
        scope = get_variable_scope()
        with variable_scope(scope):
            result = f(*args, **kwargs)

        def grad(*dys, variables=()):
            graph = get_default_graph()
            with graph.control_dependencies([d for d in dys if d is not None]):
                again = nest.map_structure(lambda a: call("Identity", None, a), args, expand_composites=True)
            inputs = [t for t in nest.flatten(again, expand_composites=True)]
            with variable_scope(scope, reuse=True):
                made = nest.flatten(f(*again, **kwargs), expand_composites=True)
            found = gradients(made, [*inputs, *variables], list(dys))
            of_inputs = found[:len(inputs)]
            return (of_inputs, found[len(inputs):]) if variables else of_inputs
        return result, grad

    return functools.wraps(f)(lambda *args, **kwargs: recomputed(*args, **kwargs))


__all__ = ["custom_gradient", "grad_pass_through", "recompute_grad"]
