"""Functions that share their variables between calls."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

from flowmill._internal.graph import get_default_graph
from flowmill._internal.scopes import lifted
from flowmill._internal.variable_scopes import VariableScope, reserved, variable_scope
from flowmill._internal.variables import Variable, global_variables, local_variables, trainable_variables


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Leaves control-flow contexts, control dependencies and bodies of functions: what is made within is made once, in the outermost graph. Its name
    scope, and its devices if some are chosen, are those of the innermost body.
    """
    inner = outer = get_default_graph()
    with_devices = inner if _chooses_devices(inner) else None
    while outer.building_function:
        outer = outer.outer_graph
        with_devices = with_devices or (outer if _chooses_devices(outer) else None)
    with lifted(outer):
        if inner is outer:
            yield
            return
        if with_devices is not None:  # the end of `lifted` forgets them
            here, chosen = outer._thread.here, with_devices._thread.here
            here.scope, here.device_functions = here.scope.on_device(chosen.scope.device), chosen.device_functions
        scope = inner.get_name_scope()
        with outer.name_scope(scope + "/" if scope else None):
            yield


def _chooses_devices(graph) -> bool:
    here = graph._thread.here
    return bool(here.scope.device or here.device_functions)


def outside_of_branches(graph, *values) -> contextlib.AbstractContextManager[None]:
    """Returns :func:`init_scope` within a branch, a loop or the body of a function, unless a value is a tensor of the body; elsewhere a context that
    changes nothing."""
    is_inside = graph.building_function or graph._thread.here.scope.context is not None
    is_bound = graph.building_function and any(getattr(value, "graph", None) is graph for value in values)
    return init_scope() if is_inside and not is_bound else contextlib.nullcontext()


class Template:
    """A function whose variables, made by `get_variable` at its first call, are found at later calls; what :func:`make_template` makes."""

    def __init__(self, name: str, function: Callable, create_scope_now: bool = False, unique_name: str | None = None, custom_getter=None):
        if name is None:
            raise ValueError("name cannot be None.")
        self._name, self._function, self._unique_name, self._custom_getter = name, function, unique_name, custom_getter
        self._scope: VariableScope | None = None
        self._was_called = False
        if create_scope_now:
            # No name scope yet: its name is taken at the first call.
            self._scope = reserved(unique_name, name, custom_getter)

    def __call__(self, *args, **kwargs) -> Any:
        """Calls the function in its variable scope.

        Raises:
            ValueError: if a later call makes trainable variables.
        """
        if self._scope is not None:
            with variable_scope(self._scope, reuse=self._was_called):
                return self._called(args, kwargs)
        with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
            self._scope = scope
            return self._called(args, kwargs)

    def _called(self, args, kwargs):
        before = len(trainable_variables())
        result = self._function(*args, **kwargs)
        if self._was_called and len(trainable_variables()) != before:
            raise ValueError(
                "Trainable variable created when calling a template after the first time, perhaps you used tf.Variable when you meant "
                f"tf.get_variable: {trainable_variables()[before:]}")
        self._was_called = True
        return result

    @property
    def name(self) -> str:
        """The name it was made with."""
        return self._name

    @property
    def func(self) -> Callable:
        """The function."""
        return self._function

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of its variables, None before there is one."""
        return self._scope

    @property
    def variable_scope_name(self) -> str | None:
        """The name of :attr:`variable_scope`, with a slash at its end."""
        return None if self._scope is None else self._scope.name.rstrip("/") + "/"

    def _within(self, found: list[Variable]) -> list[Variable]:
        return [v for v in found if v.name.startswith(self.variable_scope_name)]

    @property
    def global_variables(self) -> list[Variable]:
        """Its global variables."""
        return [] if self._scope is None else self._within(global_variables())

    @property
    def local_variables(self) -> list[Variable]:
        """Its local variables."""
        return [] if self._scope is None else self._within(local_variables())

    @property
    def variables(self) -> list[Variable]:
        """Its global and local variables."""
        return [*self.global_variables, *self.local_variables]

    @property
    def trainable_variables(self) -> list[Variable]:
        """Its trainable variables."""
        return [] if self._scope is None else self._within(trainable_variables())

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """Its variables that optimizers leave alone."""
        trainable = {id(v) for v in self.trainable_variables}
        return [v for v in self.variables if id(v) not in trainable]

    weights = variables
    non_trainable_weights = non_trainable_variables
    trainable_weights = trainable_variables


def make_template(name_: str, func_: Callable, create_scope_now_: bool = False, unique_name_: str | None = None, custom_getter_=None, **kwargs):
    """Returns a function that shares its variables between calls.

    Args:
        name_: the name of the variable scope, made unique.
        func_: the function, which makes variables by `get_variable`.
        create_scope_now_: opens the scope now, and not at the first call.
        unique_name_: the name of the scope as it is.
        custom_getter_: as of `variable_scope`.
        kwargs: arguments that are always given to the function.
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)
