"""Averages of variables and tensors over time, newer values counting more."""

from __future__ import annotations

import itertools

from flowmill._internal.apply import call
from flowmill._internal.control_flow import group
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.init_ops import Zeros
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.scopes import lifted
from flowmill._internal.tensor import Operation
from flowmill._internal.variable_scopes import _store, get_variable, get_variable_scope, variable_scope
from flowmill._internal.variables import RefVariable, Variable, global_variables, moving_average_variables, trainable_variables
from flowmill.train import slot_creator


def assign_moving_average(variable, value, decay, zero_debias: bool = True, name: str | None = None):
    """Moves a variable towards `value`: ``variable * decay + value * (1 - decay)``.

    Args:
        variable: the average.
        value: a tensor or variable of its shape.
        decay: how much of the average stays, a number below 1.
        zero_debias: whether the average began as zeros, for which the result makes up (Kingma and Ba 2014).
        name: the name of the scope.

    Returns:
        The variable as it is afterwards.
    """
    with get_default_graph().name_scope(name or "AssignMovingAvg") as scope:
        rest = 1.0 - convert_to_tensor(decay, name="decay")
        dtype = variable.dtype.base_dtype
        if rest.dtype.base_dtype is not dtype:
            rest = call("Cast", None, rest, DstT=dtype)
        if zero_debias:
            return _debiased(variable, value, rest, scope)
        if isinstance(variable, ResourceVariable):
            return variable.assign_sub((variable - value) * rest)
        if isinstance(value, RefVariable):
            # The operation that all readers share may have run before what this one waits for.
            value = value.read_value()
        return call("AssignSub", scope, variable, (variable - value) * rest, use_locking=False)


def _unused(name: str) -> str:
    """Returns the name with a number behind it if the variable scope has a variable of that name, which is not to be reused."""
    scope, known = get_variable_scope(), _store()._vars
    if scope.reuse:
        return name
    numbered = itertools.chain([name], (f"{name}_{i}" for i in itertools.count(1)))
    return next(n for n in numbered if f"{scope.name}/{n}" not in known)


def _debiased(variable, value, rest, scope: str):
    graph = get_default_graph()
    use_resource = isinstance(variable, ResourceVariable)
    dtype = variable.dtype.base_dtype
    with variable_scope(variable.op.name, values=[variable.op, value, rest], use_resource=use_resource, auxiliary_name_scope=False):
        with lifted(graph), graph.colocate_with(variable.op):
            biased = get_variable(_unused("biased"), initializer=Zeros(), shape=variable.get_shape(), dtype=dtype, trainable=False)
            local_step = get_variable(_unused("local_step"), shape=[], dtype=dtype, initializer=Zeros(), trainable=False)
        biased_now = biased.assign_sub((biased - value) * rest)
        steps = local_step.assign_add(1)
        unbiased = biased_now / (1 - call("Pow", None, 1.0 - rest, steps))
        if use_resource:
            return variable.assign(unbiased)
        return call("Assign", scope, variable, unbiased)


class ExponentialMovingAverage:
    """Keeps averages of variables and tensors, as slots called ``variable/ExponentialMovingAverage``.

    Args:
        decay: how much of an average stays at each step.
        num_updates: a number of steps; with it the first decays are smaller: ``min(decay, (1 + num_updates) / (10 + num_updates))``.
        zero_debias: whether averages of tensors make up for having begun as zeros.
        name: of scopes and slots.
    """

    def __init__(self, decay, num_updates=None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"):
        self._decay, self._num_updates, self._zero_debias, self._name = decay, num_updates, zero_debias, name
        self._averages: dict = {}

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    def apply(self, var_list=None) -> Operation:
        """Returns an operation that updates the averages of variables and tensors, the trainable variables if `var_list` is None.

        Raises:
            TypeError: if one is not of a floating-point type.
        """
        variables = trainable_variables() if var_list is None else list(var_list)
        graph = get_default_graph()
        from_zero = set()
        for v in variables:
            if v.dtype.base_dtype.name not in ("float16", "bfloat16", "float32", "float64"):
                raise TypeError(f"The variables must be half, float, or double: {v.name}")
            if v.ref() in self._averages:
                continue
            with lifted(graph):
                if isinstance(v, Variable):
                    average = slot_creator.create_slot(v, v.initialized_value(), self._name)
                    graph.add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, v)
                else:
                    average = slot_creator.create_zeros_slot(v, self._name, colocate_with_primary=v.op.type in ("Variable", "VariableV2", "VarHandleOp"))
                    if self._zero_debias:
                        from_zero.add(v.ref())
            self._averages[v.ref()] = average
        with graph.name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, name="decay")
            if self._num_updates is not None:
                updates = call("Cast", "num_updates", self._num_updates, DstT="float32")
                decay = call("Minimum", None, decay, (1.0 + updates) / (10.0 + updates))
            moved = [assign_moving_average(self._averages[v.ref()], v, decay, zero_debias=v.ref() in from_zero) for v in variables]
            return group(*moved, name=scope)

    def average(self, var) -> Variable | None:
        """Returns the average of a variable or tensor, None if :meth:`apply` was not called for it."""
        return self._averages.get(var.ref())

    def average_name(self, var) -> str:
        """The name of an average, whether there is one or not."""
        found = self._averages.get(var.ref())
        if found is not None:
            return found.op.name
        return get_default_graph().unique_name(f"{var.op.name}/{self._name}", mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables=None) -> dict:
        """Variables by the names that a checkpoint has their averages by: what to give a `Saver` to evaluate with averages.

        Args:
            moving_avg_variables: variables whose averages to take; the trainable ones and those with averages if it is None.
        """
        averaged = set(trainable_variables() + moving_average_variables()) if moving_avg_variables is None else set(moving_avg_variables)
        found = {self.average_name(v): v for v in averaged}
        names = {v.name for v in averaged}
        for v in global_variables():
            if v.name not in names and v.op.name not in found:
                found[v.op.name] = v
        return found
