"""The optimizers: each takes one step by one op for each variable, but Adam's for slices, which takes several."""

from __future__ import annotations

import abc

from flowmill._internal.apply import apply_op, call
from flowmill._internal.control_flow import group
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.indexed_slices import IndexedSlices
from flowmill._internal.init_ops import Constant, Ones
from flowmill._internal.resource_variable import ResourceVariable
from flowmill._internal.state import assign, assign_sub, scatter_add
from flowmill._internal.tensor import Tensor
from flowmill.train.optimizer import Optimizer, held


def _cast(value, dtype):
    """Returns a hyperparameter in a variable's type."""
    if hasattr(value, "dtype"):
        return value if value.dtype.base_dtype is dtype else call("Cast", None, value, DstT=dtype)
    graph = get_default_graph()
    with graph.name_scope("Cast"):
        return convert_to_tensor(value, dtype, "x")


class _OneOp(Optimizer, abc.ABC):
    """An optimizer whose step is one op per variable: `_kernel` is its name without ``Apply`` and the prefix before that."""

    _kernel = ""

    @abc.abstractmethod
    def _inputs(self, var, dtype, grad, indices: list) -> list:
        """The inputs of the op after the variable. `indices` holds those of slices; it is empty for a tensor."""

    def _attrs(self) -> dict:
        return {"use_locking": self._use_locking}

    def _slot(self, var, name: str):
        return held(self.get_slot(var, name))

    def _hyper(self, name: str, dtype):
        return _cast(getattr(self, name), dtype)

    def _tensor_of(self, value, name: str) -> Tensor:
        return convert_to_tensor(self._call_if_callable(value), name=name)

    def _apply(self, var, grad, indices=None):
        is_resource = isinstance(var, ResourceVariable)
        dtype = var.dtype.base_dtype
        op = f"{'Resource' if is_resource else ''}{'' if indices is None else 'Sparse'}Apply{self._kernel}"
        inputs = self._inputs(var, dtype, grad, [] if indices is None else [indices])
        return apply_op(op, None, (held(var), *inputs), self._attrs())

    def _apply_dense(self, grad, var):
        return self._apply(var, grad)

    def _resource_apply_dense(self, grad, var):
        return self._apply(var, grad)

    def _apply_sparse(self, grad, var):
        return self._apply(var, grad.values, grad.indices)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._apply(var, grad, indices)


class GradientDescentOptimizer(_OneOp):
    """Subtracts the gradient times `learning_rate`, a number, tensor, or function without arguments."""

    _kernel = "GradientDescent"

    def __init__(self, learning_rate, use_locking: bool = False, name: str = "GradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")

    def _inputs(self, var, dtype, grad, indices):
        return [self._hyper("_learning_rate_tensor", dtype), grad]

    def _apply_sparse_duplicate_indices(self, grad, var):
        step = grad.values * self._hyper("_learning_rate_tensor", var.dtype.base_dtype)
        return var.scatter_sub(IndexedSlices(step, grad.indices, grad.dense_shape), use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(self, grad, var, indices):
        step = -grad * _cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return apply_op("ResourceScatterAdd", None, (var.handle, indices, step), {"dtype": var.dtype})


class ProximalGradientDescentOptimizer(_OneOp):
    """Gradient descent, then shrinks variables towards zero by their L1 and L2 norm (Duchi and Singer 2009)."""

    _kernel = "ProximalGradientDescent"

    def __init__(self, learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking: bool = False,
                 name: str = "ProximalGradientDescent"):
        super().__init__(use_locking, name)
        self._learning_rate, self._l1, self._l2 = learning_rate, l1_regularization_strength, l2_regularization_strength

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")
        self._l1_tensor = self._tensor_of(self._l1, "l1_regularization_strength")
        self._l2_tensor = self._tensor_of(self._l2, "l2_regularization_strength")

    def _inputs(self, var, dtype, grad, indices):
        return [*(self._hyper(h, dtype) for h in ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor")), grad, *indices]


class MomentumOptimizer(_OneOp):
    """Adds gradients up, the sum shrinking by `momentum` each step, and subtracts the sum times `learning_rate`.

    `use_nesterov` takes the gradient at where the step leads (Sutskever et al. 2013).
    """

    _kernel = "Momentum"

    def __init__(self, learning_rate, momentum, use_locking: bool = False, name: str = "Momentum", use_nesterov: bool = False):
        super().__init__(use_locking, name)
        self._learning_rate, self._momentum, self._use_nesterov = learning_rate, momentum, use_nesterov

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")
        self._momentum_tensor = self._tensor_of(self._momentum, "momentum")

    def _attrs(self):
        return {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov}

    def _inputs(self, var, dtype, grad, indices):
        return [self._slot(var, "momentum"), self._hyper("_learning_rate_tensor", dtype), grad, *indices, self._hyper("_momentum_tensor", dtype)]


class AdagradOptimizer(_OneOp):
    """Divides gradients by the root of the sum of their squares (Duchi, Hazan and Singer 2011)."""

    _kernel = "Adagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, use_locking: bool = False, name: str = "Adagrad"):
        if initial_accumulator_value <= 0.0:
            raise ValueError(f"initial_accumulator_value must be positive: {initial_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._initial_accumulator_value = learning_rate, initial_accumulator_value

    def _create_slots(self, var_list):
        for v in var_list:
            dtype = v.dtype.base_dtype
            if v.get_shape().is_fully_defined():
                initializer = Constant(self._initial_accumulator_value, dtype=dtype)
            else:
                def initializer(v=v, dtype=dtype):
                    return call("Fill", None, call("Shape", None, v), constant(self._initial_accumulator_value, dtype))
            self._get_or_make_slot_with_initializer(v, initializer, v.get_shape(), dtype, "accumulator", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")

    def _inputs(self, var, dtype, grad, indices):
        return [self._slot(var, "accumulator"), self._hyper("_learning_rate_tensor", dtype), grad, *indices]


class ProximalAdagradOptimizer(AdagradOptimizer):
    """Adagrad, then shrinks variables towards zero by their L1 and L2 norm (Duchi and Singer 2009)."""

    _kernel = "ProximalAdagrad"

    def __init__(self, learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0, l2_regularization_strength=0.0,
                 use_locking: bool = False, name: str = "ProximalAdagrad"):
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list):
        for v in var_list:
            with get_default_graph().colocate_with(v.op):
                value = constant(self._initial_accumulator_value, v.dtype.base_dtype, v.get_shape())
            self._get_or_make_slot(v, value, "accumulator", self._name)

    def _prepare(self):
        super()._prepare()
        self._l1_tensor = self._tensor_of(self._l1, "l1_regularization_strength")
        self._l2_tensor = self._tensor_of(self._l2, "l2_regularization_strength")

    def _inputs(self, var, dtype, grad, indices):
        hypers = (self._hyper(h, dtype) for h in ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor"))
        return [self._slot(var, "accumulator"), *hypers, grad, *indices]


class AdagradDAOptimizer(_OneOp):
    """Adagrad with dual averages, for sparse linear models: `global_step` is the variable that counts steps (Duchi, Hazan and Singer 2011)."""

    _kernel = "AdagradDA"

    def __init__(self, learning_rate, global_step, initial_gradient_squared_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking: bool = False, name: str = "AdagradDA"):
        if initial_gradient_squared_accumulator_value <= 0.0:
            raise ValueError(f"initial_gradient_squared_accumulator_value must be positive: {initial_gradient_squared_accumulator_value}")
        super().__init__(use_locking, name)
        self._learning_rate, self._global_step, self._initial = learning_rate, global_step, initial_gradient_squared_accumulator_value
        self._l1, self._l2 = l1_regularization_strength, l2_regularization_strength

    def _create_slots(self, var_list):
        for v in var_list:
            with get_default_graph().colocate_with(v.op):
                values = [constant(value, v.dtype.base_dtype, v.get_shape()) for value in (0.0, self._initial)]
            self._get_or_make_slot(v, values[0], "gradient_accumulator", self._name)
            self._get_or_make_slot(v, values[1], "gradient_squared_accumulator", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")
        with get_default_graph().colocate_with(self._learning_rate_tensor):
            self._next_step = call("Identity", None, self._global_step) + 1

    def _inputs(self, var, dtype, grad, indices):
        step = call("Identity", None, self._next_step)
        rate, l1, l2 = self._hyper("_learning_rate_tensor", dtype), self._hyper("_l1", dtype), self._hyper("_l2", dtype)
        if step.dtype.name != "int64":
            step = call("Cast", None, step, DstT="int64")
        return [self._slot(var, "gradient_accumulator"), self._slot(var, "gradient_squared_accumulator"), grad, *indices, rate, l1, l2, step]


class AdadeltaOptimizer(_OneOp):
    """Steps of the size of the recent ones, divided by the recent gradients (Zeiler 2012)."""

    _kernel = "Adadelta"

    def __init__(self, learning_rate=0.001, rho=0.95, epsilon=1e-8, use_locking: bool = False, name: str = "Adadelta"):
        super().__init__(use_locking, name)
        self._lr, self._rho, self._epsilon = learning_rate, rho, epsilon

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "accum", self._name)
            self._zeros_slot(v, "accum_update", self._name)

    def _prepare(self):
        self._lr_t = self._tensor_of(self._lr, "lr")
        self._rho_t = self._tensor_of(self._rho, "rho")
        self._epsilon_t = self._tensor_of(self._epsilon, "epsilon")

    def _inputs(self, var, dtype, grad, indices):
        hypers = (self._hyper(h, dtype) for h in ("_lr_t", "_rho_t", "_epsilon_t"))
        return [self._slot(var, "accum"), self._slot(var, "accum_update"), *hypers, grad, *indices]


class RMSPropOptimizer(_OneOp):
    """Divides gradients by the root of the mean of their recent squares (Tieleman and Hinton 2012); `centered` takes the variance instead."""

    def __init__(self, learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking: bool = False, centered: bool = False,
                 name: str = "RMSProp"):
        super().__init__(use_locking, name)
        self._learning_rate, self._decay, self._momentum, self._epsilon, self._centered = learning_rate, decay, momentum, epsilon, centered
        self._kernel = "CenteredRMSProp" if centered else "RMSProp"

    def _create_slots(self, var_list):
        for v in var_list:
            dtype = v.dtype.base_dtype
            self._get_or_make_slot_with_initializer(v, Ones(dtype), v.get_shape(), dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(v, "mg", self._name)
            self._zeros_slot(v, "momentum", self._name)

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")
        self._decay_tensor = self._tensor_of(self._decay, "decay")
        self._momentum_tensor = self._tensor_of(self._momentum, "momentum")
        self._epsilon_tensor = self._tensor_of(self._epsilon, "epsilon")

    def _inputs(self, var, dtype, grad, indices):
        slots = (self._slot(var, name) for name in (("mg", "rms", "momentum") if self._centered else ("rms", "momentum")))
        hypers = (self._hyper(h, dtype) for h in ("_learning_rate_tensor", "_decay_tensor", "_momentum_tensor", "_epsilon_tensor"))
        return [*slots, *hypers, grad, *indices]


class FtrlOptimizer(_OneOp):
    """Follow the regularized leader (McMahan et al. 2013), with `beta` and the shrinkage of what the gradient is taken of."""

    def __init__(self, learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, l1_regularization_strength=0.0,
                 l2_regularization_strength=0.0, use_locking: bool = False, name: str = "Ftrl", accum_name: str | None = None,
                 linear_name: str | None = None, l2_shrinkage_regularization_strength=0.0, beta=None):
        super().__init__(use_locking, name)
        for value, what, bad in (
                (initial_accumulator_value, "initial_accumulator_value", initial_accumulator_value < 0.0),
                (l1_regularization_strength, "l1_regularization_strength", l1_regularization_strength < 0.0),
                (l2_regularization_strength, "l2_regularization_strength", l2_regularization_strength < 0.0),
                (l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength < 0.0)):
            if bad:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(f"learning_rate_power {learning_rate_power} needs to be negative or zero")
        self._learning_rate, self._learning_rate_power, self._initial = learning_rate, learning_rate_power, initial_accumulator_value
        self._l1, self._l2, self._l2_shrinkage = l1_regularization_strength, l2_regularization_strength, l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name, self._linear_name = accum_name or name, linear_name or name
        self._kernel = "FtrlV2" if l2_shrinkage_regularization_strength > 0.0 else "Ftrl"

    def _create_slots(self, var_list):
        for v in var_list:
            ones = Ones(v.dtype.base_dtype)

            def initializer(shape, dtype=None, partition_info=None, ones=ones):
                return ones(shape, dtype) * self._initial

            self._get_or_make_slot_with_initializer(v, initializer, v.get_shape(), v.dtype.base_dtype, "accum", self._accum_name)
            self._zeros_slot(v, "linear", self._linear_name)

    def _prepare(self):
        self._learning_rate_tensor = self._tensor_of(self._learning_rate, "learning_rate")
        self._l1_tensor = self._tensor_of(self._l1, "l1_regularization_strength")
        # The op has no beta; this L2 strength has the same effect.
        rate = 2.0 * call("Maximum", None, self._call_if_callable(self._learning_rate), 1e-36)
        self._l2_tensor = self._l2 + self._beta / rate
        self._beta_tensor = self._tensor_of(self._beta, "beta")
        self._l2_shrinkage_tensor = self._tensor_of(self._l2_shrinkage, "l2_shrinkage_regularization_strength")
        self._power_tensor = self._tensor_of(self._learning_rate_power, "learning_rate_power")

    def _inputs(self, var, dtype, grad, indices):
        shrinkage = ("_l2_shrinkage_tensor",) if self._kernel == "FtrlV2" else ()
        hypers = (self._hyper(h, dtype) for h in ("_learning_rate_tensor", "_l1_tensor", "_l2_tensor", *shrinkage, "_power_tensor"))
        return [self._slot(var, "accum"), self._slot(var, "linear"), grad, *indices, *hypers]


class AdamOptimizer(_OneOp):
    """Divides the mean of recent gradients by the root of the mean of their squares (Kingma and Ba 2014)."""

    _kernel = "Adam"

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, use_locking: bool = False, name: str = "Adam",
                 use_own_namescope_for_non_slot_vars: bool = False):
        super().__init__(use_locking, name)
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._own_names = use_own_namescope_for_non_slot_vars

    def _power_names(self) -> tuple[str, str]:
        return (f"{self._name}/beta1_power", f"{self._name}/beta2_power") if self._own_names else ("beta1_power", "beta2_power")

    def _get_beta_accumulators(self):
        graph = get_default_graph()
        return tuple(self._get_non_slot_variable(name, graph) for name in self._power_names())

    def _create_slots(self, var_list):
        first = min(var_list, key=lambda v: v.name)
        for name, beta in zip(self._power_names(), (self._beta1, self._beta2)):
            self._create_non_slot_variable(beta, name, first)
        for v in var_list:
            self._zeros_slot(v, "m", self._name)
            self._zeros_slot(v, "v", self._name)

    def _prepare(self):
        self._lr_t = self._tensor_of(self._lr, "learning_rate")
        self._beta1_t = self._tensor_of(self._beta1, "beta1")
        self._beta2_t = self._tensor_of(self._beta2, "beta2")
        self._epsilon_t = self._tensor_of(self._epsilon, "epsilon")

    def _inputs(self, var, dtype, grad, indices):
        powers = (_cast(power, dtype) for power in self._get_beta_accumulators())
        hypers = (self._hyper(h, dtype) for h in ("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"))
        return [self._slot(var, "m"), self._slot(var, "v"), *powers, *hypers, grad]

    def _apply_slices(self, grad, var, indices, add):
        """`add` adds slices to a variable and returns its value."""
        dtype = var.dtype.base_dtype
        beta1_power, beta2_power = (_cast(power, dtype) for power in self._get_beta_accumulators())
        lr, beta1, beta2, epsilon = (self._hyper(h, dtype) for h in ("_lr_t", "_beta1_t", "_beta2_t", "_epsilon_t"))
        lr = lr * call("Sqrt", None, 1 - beta2_power) / (1 - beta1_power)
        means = []
        for slot, beta, squared in (("m", beta1, False), ("v", beta2, True)):
            mean = self.get_slot(var, slot)
            scaled = (grad * grad if squared else grad) * (1 - beta)
            decayed = assign(mean, mean * beta, use_locking=self._use_locking)
            with var.graph.control_dependencies([decayed]):
                means.append(add(mean, indices, scaled))
        root = call("Sqrt", None, means[1])
        update = assign_sub(var, lr * means[0] / (root + epsilon), use_locking=self._use_locking)
        return group(update, *means)

    def _apply_sparse(self, grad, var):
        return self._apply_slices(
            grad.values, var, grad.indices, lambda x, i, v: scatter_add(x, i, v, use_locking=self._use_locking))

    def _resource_apply_sparse(self, grad, var, indices):
        def add(x, i, v):
            with x.graph.control_dependencies([apply_op("ResourceScatterAdd", None, (x.handle, i, v), {"dtype": x.dtype})]):
                return x.value()
        return self._apply_slices(grad, var, indices, add)

    def _finish(self, update_ops, name_scope):
        graph = get_default_graph()
        powers = self._get_beta_accumulators()
        with graph.control_dependencies(update_ops), graph.colocate_with(powers[0].op):
            updates = [power.assign(power * beta, use_locking=self._use_locking) for power, beta in zip(powers, (self._beta1_t, self._beta2_t))]
        return group(*update_ops, *updates, name=name_scope)
