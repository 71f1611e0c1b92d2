"""The common parts of all optimizers: gradients, slots, and the operation that applies them."""

from __future__ import annotations

from flowmill import nest
from flowmill._internal.apply import call
from flowmill._internal.control_flow import group, tuple as gated
from flowmill._internal.convert import convert_to_tensor, convert_to_tensor_or_indexed_slices
from flowmill._internal.gradients_impl import gradients
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.scopes import lifted
from flowmill._internal.state import assign_add
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.variables import PartitionedVariable, Variable, trainable_variables
from flowmill.dtypes import as_dtype
from flowmill.train import slot_creator


def deduplicated(values: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the rows of slices added up where their indices are equal, and the indices, once each."""
    unique, positions = call("Unique", None, indices)
    return call("UnsortedSegmentSum", None, values, positions, call("Shape", None, unique)[0]), unique


def held(variable) -> Tensor:
    """Returns the input through which an op changes a variable: its handle, or a reference."""
    return variable.handle if isinstance(variable, ResourceVariable) else variable._ref()


class Optimizer:
    """Makes a loss smaller by changing variables. Subclasses say how a gradient changes a variable, by the four methods ``_apply_…`` and
    ``_resource_apply_…``.

    Args:
        use_locking: whether variables are locked while they are changed.
        name: the name of the scope of its operations, and of its slots.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking, self._name = use_locking, name
        # Slots by their name and by the graph and name of the variable, other variables by name and graph.
        self._slots: dict[str, dict[tuple, Variable]] = {}
        self._non_slot_dict: dict[tuple, Variable] = {}

    def get_name(self) -> str:
        """The name it was made with."""
        return self._name

    def minimize(self, loss, global_step=None, var_list=None, gate_gradients: int = GATE_OP, aggregation_method=None,
                 colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss=None) -> Operation:
        """Returns an operation that takes one step: :meth:`compute_gradients`, then :meth:`apply_gradients`.

        Args:
            loss: what to make smaller: a tensor, or a function that makes it.
            global_step: a variable that is one more after each step.
            var_list: the variables to change, the trainable ones if it is None.
            gate_gradients: how much of the gradients there must be before they are used: `GATE_NONE`, `GATE_OP`, `GATE_GRAPH`.
            aggregation_method: as of :func:`flowmill.gradients`.
            colocate_gradients_with_ops: as of :func:`flowmill.gradients`.
            name: the name of the operation.
            grad_loss: what the gradient of the loss begins with, ones if it is None.

        Raises:
            ValueError: if no variable has a gradient.
        """
        pairs = self.compute_gradients(loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
        if all(g is None for g, _ in pairs):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not support gradients, between variables "
                f"{[str(v) for _, v in pairs]} and loss {loss}.")
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(self, loss, var_list=None, gate_gradients: int = GATE_OP, aggregation_method=None,
                          colocate_gradients_with_ops: bool = False, grad_loss=None) -> list[tuple]:
        """Pairs of a gradient, which may be None, and the variable. Arguments as of :meth:`minimize`.

        Raises:
            TypeError: if the loss or a variable is of another type than the optimizer takes.
            ValueError: if there are no variables.
        """
        if callable(loss) and not isinstance(loss, (Tensor, Variable)):
            pairs = self.compute_gradients(loss(), var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss)
            # A function says which variables it uses by using them.
            return [pair for pair in pairs if pair[0] is not None or var_list is not None]
        if gate_gradients not in (Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH):
            raise ValueError(f"gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, Optimizer.GATE_GRAPH.  Not {gate_gradients}")
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        graph = loss.graph
        if var_list is None:
            with graph.as_default():
                variables = trainable_variables() + graph.get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = nest.flatten(var_list)
        variables = [part for v in variables for part in (v if isinstance(v, PartitionedVariable) else [v])]
        variables += graph.get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        if not variables:
            raise ValueError("No variables to optimize.")
        for v in variables:
            if not isinstance(v, (Variable, Tensor)):
                raise NotImplementedError(f"Trying to optimize unsupported type {v}")
        targets = [v if isinstance(v, Tensor) else held(v) for v in variables]
        grads = gradients(loss, targets, grad_ys=grad_loss, aggregation_method=aggregation_method,
                          gate_gradients=gate_gradients == Optimizer.GATE_OP, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gate_gradients == Optimizer.GATE_GRAPH:
            grads = gated(grads)
        pairs = list(zip(grads, variables))
        self._assert_valid_dtypes([v for g, v in pairs if g is not None and v.dtype.base_dtype.name != "resource"])
        return pairs

    def apply_gradients(self, grads_and_vars, global_step=None, name: str | None = None, skip_gradients_aggregation: bool = False) -> Operation:
        """Returns an operation that changes variables by their gradients.

        Args:
            grads_and_vars: what :meth:`compute_gradients` gave, perhaps with other gradients.
            global_step: a variable that is one more after each step.
            name: the name of the operation, the optimizer's name if it is None.
            skip_gradients_aggregation: not used: there is one device.

        Raises:
            TypeError: if a gradient is no tensor.
            ValueError: if no variable has a gradient.
        """
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        converted = []
        for grad, variable in pairs:
            if grad is not None:
                try:
                    grad = convert_to_tensor_or_indexed_slices(grad)
                except (TypeError, ValueError):
                    raise TypeError(f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}") from None
                if not isinstance(grad, (Tensor, IndexedSlices)):
                    raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {grad}")
            converted.append((grad, variable))
        changed = [v for g, v in converted if g is not None]
        if not changed:
            raise ValueError(f"No gradients provided for any variable: {[str(v) for _, v in converted]}.")
        graph = get_default_graph()
        with lifted(graph):
            self._create_slots(changed)
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = []
            for grad, variable in converted:
                if grad is not None:
                    with graph.name_scope("update_" + variable.op.name), graph.colocate_with(variable.op):
                        updates.append(self._update(grad, variable))
            if global_step is None:
                applied = self._finish(updates, scope)
            else:
                with graph.control_dependencies([self._finish(updates, "update")]), graph.colocate_with(global_step.op):
                    applied = self._counted(global_step, scope)
            applied = applied.op if isinstance(applied, Tensor) else applied
            train_ops = graph.get_collection_ref(GraphKeys.TRAIN_OP)
            if applied not in train_ops:
                train_ops.append(applied)
            return applied

    @staticmethod
    def _counted(global_step, scope: str):
        if isinstance(global_step, ResourceVariable):
            return call("AssignAddVariableOp", scope, global_step.handle, convert_to_tensor(1, global_step.dtype))
        return assign_add(global_step, 1, name=scope)

    def _update(self, grad, variable):
        """Returns the operation that changes one variable, and applies its constraint."""
        if isinstance(variable, Tensor):
            raise NotImplementedError(f"Trying to update a Tensor {variable}")
        is_resource = isinstance(variable, ResourceVariable)
        if isinstance(grad, IndexedSlices):
            if variable.constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if is_resource:
                return self._resource_apply_sparse_duplicate_indices(grad.values, variable, grad.indices)
            return self._apply_sparse_duplicate_indices(grad, variable)
        update = self._resource_apply_dense(grad, variable) if is_resource else self._apply_dense(grad, variable)
        if variable.constraint is None:
            return update
        with variable.graph.control_dependencies([update]):
            # The operation that all readers of a reference share may have run before the update.
            value = variable if is_resource else variable.read_value()
            return variable.assign(variable.constraint(value))

    # What subclasses say

    def _valid_dtypes(self) -> set:
        return {as_dtype(name) for name in ("float16", "bfloat16", "float32", "float64")}

    def _assert_valid_dtypes(self, tensors) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(f"Invalid type {dtype!r} for {tensor.name}, expected: {sorted(valid, key=lambda d: d.name)}.")

    def _create_slots(self, var_list) -> None:
        """Makes what the optimizer keeps of variables."""

    def _prepare(self) -> None:
        """Makes tensors of hyperparameters."""

    # How a kind of variable is changed by a kind of gradient: a subclass defines what it is used with.

    def _apply_dense(self, grad, var):
        """Changes a reference variable by a tensor."""
        raise NotImplementedError(f"{type(self).__name__} does not change reference variables.")

    def _resource_apply_dense(self, grad, handle):
        """Changes a resource variable by a tensor."""
        raise NotImplementedError(f"{type(self).__name__} does not change resource variables.")

    def _resource_apply_sparse_duplicate_indices(self, grad, handle, indices):
        """Changes a resource variable by slices, whose indices may be equal."""
        summed, unique = deduplicated(grad, indices)
        return self._resource_apply_sparse(summed, handle, unique)

    def _resource_apply_sparse(self, grad, handle, indices):
        """Changes a resource variable by slices, whose indices differ."""
        raise NotImplementedError(f"{type(self).__name__} does not change resource variables by slices.")

    def _apply_sparse_duplicate_indices(self, grad, var):
        """Changes a reference variable by IndexedSlices, whose indices may be equal."""
        summed, unique = deduplicated(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(summed, unique, grad.dense_shape), var)

    def _apply_sparse(self, grad, var):
        """Changes a reference variable by IndexedSlices, whose indices differ."""
        raise NotImplementedError(f"{type(self).__name__} does not change reference variables by slices.")

    def _finish(self, update_ops, name_scope: str) -> Operation:
        """Returns the operation that runs after all variables are changed."""
        return group(*update_ops, name=name_scope)

    # Slots

    def get_slot(self, var, name: str) -> Variable | None:
        """The slot of a variable by its name, None if there is none."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of slots."""
        return sorted(self._slots)

    def variables(self) -> list[Variable]:
        """Returns the variables that the optimizer made in the default graph, by name."""
        graph = get_default_graph()
        found = [v for (_, g), v in self._non_slot_dict.items() if g is graph]
        found += [v for slots in self._slots.values() for v in slots.values() if v.graph is graph]
        return sorted(found, key=lambda v: v.name)

    def _slot_dict(self, slot_name: str) -> dict:
        return self._slots.setdefault(slot_name, {})

    def _made_slot(self, var, slot_name: str, make) -> Variable:
        slots = self._slot_dict(slot_name)
        found = slots.get(_key(var))
        if found is None:
            found = slots[_key(var)] = make()
        return found

    def _get_or_make_slot(self, var, val, slot_name: str, op_name: str) -> Variable:
        return self._made_slot(var, slot_name, lambda: slot_creator.create_slot(var, val, op_name))

    def _get_or_make_slot_with_initializer(self, var, initializer, shape, dtype, slot_name: str, op_name: str) -> Variable:
        return self._made_slot(var, slot_name, lambda: slot_creator.create_slot_with_initializer(var, initializer, shape, dtype, op_name))

    def _zeros_slot(self, var, slot_name: str, op_name: str) -> Variable:
        return self._made_slot(var, slot_name, lambda: slot_creator.create_zeros_slot(var, op_name))

    def _create_non_slot_variable(self, initial_value, name: str, colocate_with) -> Variable:
        key = name, get_default_graph()
        found = self._non_slot_dict.get(key)
        if found is None:
            with key[1].colocate_with(colocate_with.op):
                found = Variable(initial_value, name=name, trainable=False, use_resource=isinstance(colocate_with, ResourceVariable))
            self._non_slot_dict[key] = found
        return found

    def _get_non_slot_variable(self, name: str, graph=None) -> Variable | None:
        return self._non_slot_dict.get((name, graph))

    @staticmethod
    def _call_if_callable(param):
        return param() if callable(param) and not isinstance(param, (Tensor, Variable)) else param


def _key(variable) -> tuple:
    return variable.graph, variable.op.name
