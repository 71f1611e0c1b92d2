"""The base class of layers: a variable scope, weights, losses and updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import flowmill as tf
from flowmill import nest
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill._internal.variables import PartitionedVariable
from flowmill.dtypes import as_dtype

_UPDATE_OPS, _REGULARIZATION_LOSSES = "update_ops", "regularization_losses"


class InputSpec:
    """The conditions on a layer's input; None means no condition.

    Args:
        dtype: its type.
        shape: its shape.
        ndim: the number of its dimensions.
        max_ndim: the largest number of its dimensions.
        min_ndim: the smallest number of its dimensions.
        axes: sizes by dimension.
    """

    def __init__(self, dtype=None, shape=None, ndim: int | None = None, max_ndim: int | None = None, min_ndim: int | None = None, axes=None):
        self.dtype = dtype
        self.shape = shape
        self.ndim = len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = dict(axes or {})

    def check(self, shape: TensorShape, layer_name: str) -> None:
        """Checks a static shape.

        Raises:
            ValueError: if it does not fit.
        """
        wrong = f'Input 0 of layer "{layer_name}" is incompatible with the layer: '
        if shape.rank is None:
            if self.ndim is not None or self.min_ndim is not None or self.max_ndim is not None:
                raise ValueError(f"{wrong}its rank is undefined, but the layer requires a defined rank.")
            return
        full = f"Full shape received: {tuple(shape.as_list())}"
        if self.ndim is not None and shape.rank != self.ndim:
            raise ValueError(f"{wrong}expected ndim={self.ndim}, found ndim={shape.rank}. {full}")
        if self.max_ndim is not None and shape.rank > self.max_ndim:
            raise ValueError(f"{wrong}expected max_ndim={self.max_ndim}, found ndim={shape.rank}")
        if self.min_ndim is not None and shape.rank < self.min_ndim:
            raise ValueError(f"{wrong}expected min_ndim={self.min_ndim}, found ndim={shape.rank}. {full}")
        sizes = shape.as_list()
        for axis, size in self.axes.items():
            if size is not None and sizes[axis] not in (size, None):
                raise ValueError(f"{wrong}expected axis {axis} of input shape to have value {size}, but received input with shape {tuple(sizes)}")


def to_snake_case(name: str) -> str:
    """A class's name as scopes have it: ``Conv2DTranspose`` is ``conv2d_transpose``."""
    spaced = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    snake = re.sub("([a-z])([A-Z])", r"\1_\2", spaced).lower()
    return "private" + snake if snake[0] == "_" else snake


def function_of(given, what: str) -> Callable | None:
    """Returns an activation or initializer: a function, a class, which is called without arguments, or the name of one in ``tf.nn`` or ``tf.initializers``.

    Raises:
        ValueError: for an unknown name.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if what == "activation":
            if given == "linear":
                return None
            module = tf.nn
        else:
            module = tf.initializers
        found = getattr(module, given, None)
        if found is None:
            raise ValueError(f"Unknown {what}: {given!r}")
        return found() if what == "initializer" else found
    if isinstance(given, type):
        return given()
    if not callable(given):
        raise ValueError(f"Could not interpret {what} identifier: {given!r}")
    return given


def smart_cond(condition, true_fn: Callable, false_fn: Callable):
    """Returns the result of one of two functions; only that one is called if the condition is known while the graph is built."""
    known = condition
    if isinstance(condition, Tensor):
        known = constant_value(condition)
    elif hasattr(condition, "_as_tensor"):
        known = None
    if known is None:
        return tf.cond(condition, true_fn, false_fn)
    return true_fn() if bool(known) else false_fn()


class Layer:
    """A layer, to be called. Subclasses have a method `call`, and `build` for its variables, which gets the shape of the first input.

    Args:
        trainable: whether its variables are among the trainable ones.
        name: the name of its variable scope, made unique; the class's name if it is None.
        dtype: of its variables; that of the first input if it is None.
        activity_regularizer: a function from an output to a loss.
    """

    def __init__(self, trainable: bool = True, name: str | None = None, dtype=None, activity_regularizer=None, **kwargs):
        scope = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        if kwargs:
            raise TypeError(f"Keyword argument not understood: {sorted(kwargs)[0]}")
        self.trainable = trainable
        self.built = False
        self.input_spec: InputSpec | None = None
        self._dtype = None if dtype is None else as_dtype(dtype)
        self._activity_regularizer = activity_regularizer
        self._trainable_weights: list = []
        self._non_trainable_weights: list = []
        # By the names that they were made with, which are those in checkpoints of objects.
        self._named_weights: dict = {}
        self._losses: list = []
        self._updates: list = []
        # Those that depend on inputs, by identity: (loss or update, inputs).
        self._conditional: dict[int, list] = {}
        self._set_name(name)
        self._current_scope = None
        self._scope = None
        if scope:
            with tf.variable_scope(scope, reuse=self._reuse) as captured:
                self._scope = captured

    def _set_name(self, name) -> None:
        if name is not None and not isinstance(name, str):  # a variable scope
            self._base_name = name.name
            self._name = _unique(to_snake_case(type(self).__name__))
        elif name:
            self._base_name = self._name = name
        else:
            self._base_name = to_snake_case(type(self).__name__)
            self._name = _unique(self._base_name)

    # What it is called and has

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def scope_name(self) -> str:
        """The name of its variable scope.

        Raises:
            ValueError: before it was called.
        """
        if not self._scope:
            raise ValueError(f'No name available for layer scope because the layer "{self._name}" has not been used yet. The scope name is '
                             "determined the first time the layer instance is called. You must therefore call the layer before querying "
                             "`scope_name`.")
        return self._scope.name

    @property
    def dtype(self) -> Any:
        """The type of its variables, None before it was called."""
        return self._dtype

    @property
    def trainable_weights(self) -> list:
        """Its variables that are trained; none if it is not trainable."""
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> list:
        """Its other variables."""
        return list(self._non_trainable_weights) if self.trainable else self._trainable_weights + self._non_trainable_weights

    @property
    def weights(self) -> list:
        """All its variables, trained ones first."""
        return self.trainable_weights + self.non_trainable_weights

    trainable_variables, non_trainable_variables, variables = trainable_weights, non_trainable_weights, weights

    @property
    def losses(self) -> list:
        """The losses that it added."""
        return list(self._losses)

    @property
    def updates(self) -> list[Operation]:
        """The operations that are to run with each training step; none if it is not trainable."""
        return list(self._updates) if self.trainable else []

    @property
    def activity_regularizer(self) -> Any:
        """A function from an output to a loss, or None."""
        return self._activity_regularizer

    def count_params(self) -> int:
        """Returns the number of elements of its variables.

        Raises:
            ValueError: before it was built.
        """
        if not self.built:
            raise ValueError(f"You tried to call `count_params` on layer {self.name}, but the layer isn't built.")
        return sum(int(v.shape.num_elements()) for v in self.weights)

    # What subclasses call

    def add_weight(self, name: str, shape=None, dtype=None, initializer=None, regularizer=None, trainable: bool | None = None, constraint=None,
                   use_resource: bool | None = None, synchronization=None, aggregation=None, partitioner=None):
        """Makes a variable in its scope, or gets the one there is if variables are reused.

        Args:
            name: the variable's.
            shape: the variable's.
            dtype: its type, the layer's if it is None.
            initializer: what it begins with, the scope's initializer if it is None.
            regularizer: a function from the variable to a loss, which is added.
            trainable: whether it is trained if the layer is, so by default.
            constraint: a function from the variable to what it shall be after each update.
            use_resource: whether it is a resource variable.
            synchronization: how replicas share it; those that are synchronised when they are read are not trained.
            aggregation: how replicas' values are put together.
            partitioner: how to cut it into parts.

        Raises:
            ValueError: if it cannot be trained.
        """
        on_read = synchronization is not None and synchronization == tf.VariableSynchronization.ON_READ
        if on_read and trainable:
            raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. You have "
                             "specified trainable=True and synchronization=VariableSynchronization.ON_READ.")
        trainable = not on_read if trainable is None else trainable
        dtype = as_dtype(dtype if dtype is not None else self._dtype or tf.float32)
        existing = set(map(id, tf.global_variables()))
        self._set_scope(None)
        with tf.variable_scope(self._scope, reuse=self.built or self._reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            with get_default_graph().name_scope(scope.original_name_scope):
                options = {}
                if synchronization is not None:
                    options["synchronization"] = synchronization
                if aggregation is not None:
                    options["aggregation"] = aggregation
                initializer = function_of(initializer, "initializer") or scope.initializer
                variable = tf.get_variable(
                    name, shape, dtype, initializer=initializer, trainable=trainable and self.trainable, constraint=constraint,
                    partitioner=partitioner, use_resource=use_resource or scope.use_resource, **options)
                parts = list(variable) if isinstance(variable, PartitionedVariable) else [variable]
                if regularizer is not None and not any(id(p) in existing for p in parts):
                    for part in parts:
                        with get_default_graph().name_scope(name + "/Regularizer"):
                            loss = regularizer(part)
                        if loss is not None:
                            self.add_loss(loss)
        trained = trainable and self.trainable and any(parts[0] is v for v in tf.trainable_variables())
        (self._trainable_weights if trained else self._non_trainable_weights).extend(parts)
        self._named_weights[name] = variable
        return variable

    add_variable = add_weight

    def add_loss(self, losses, inputs=None) -> None:
        """Adds losses, to the graph's regularization losses too.

        Args:
            losses: a scalar, or a list of them.
            inputs: what they depend on, or None.
        """
        new = [loss() if callable(loss) else loss for loss in nest.flatten(losses)]
        new = [convert_to_tensor(loss) for loss in new if loss is not None]
        for loss in new:
            self._conditional[id(loss)] = [] if inputs is None else nest.flatten(inputs)
        self._losses += new
        _collect(new, _REGULARIZATION_LOSSES)

    def add_update(self, updates, inputs=None) -> None:
        """Adds operations that are to run with each training step, which are collected as ``tf.GraphKeys.UPDATE_OPS`` when it is called.

        Args:
            updates: an operation, a tensor of one, a function that makes one, or a list of those.
            inputs: what they depend on, or None.
        """
        for update in nest.flatten(updates):
            update = update() if callable(update) else update
            operation = update if isinstance(update, Operation) else getattr(update, "op", None) or convert_to_tensor(update).op
            self._conditional[id(operation)] = [] if inputs is None else nest.flatten(inputs)
            self._updates.append(operation)

    def get_losses_for(self, inputs) -> list:
        """Returns the losses that were added with `inputs`, or without any for None."""
        return self._added(self._losses, inputs)

    def get_updates_for(self, inputs) -> list:
        """Returns the updates that were added with `inputs`, or without any for None."""
        return self._added(self._updates, inputs)

    def _added(self, values: list, inputs) -> list:
        wanted = set(map(id, [] if inputs is None else nest.flatten(inputs)))
        found = []
        for value in values:
            having = set(map(id, self._conditional.get(id(value), [])))
            if having & wanted or not having and inputs is None:
                found.append(value)
        return found

    # Calls

    def build(self, input_shape) -> None:
        """Makes the variables, for inputs of a static shape."""
        self.built = True

    def call(self, inputs, **kwargs) -> Any:
        """Computes the layer's output."""
        return inputs

    def compute_output_shape(self, input_shape) -> TensorShape:
        """The static shape of the output for an input of a static shape.

        Raises:
            NotImplementedError: if a layer does not say.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say its output's shape.")

    def _set_scope(self, scope=None) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            with tf.variable_scope(scope if scope is not None else self._base_name) as captured:
                self._scope = captured
        else:
            with tf.variable_scope(scope, default_name=self._base_name) as captured:
                self._scope = captured

    def __call__(self, inputs, *args, **kwargs) -> Any:
        """Builds it if that was not done, and returns what `call` does of the inputs.

        Args:
            inputs: a tensor or a structure of them.
            scope: a variable scope, for the first call; the layer's own if it is not given.
        """
        self._set_scope(kwargs.pop("scope", None))
        with tf.variable_scope(self._scope, reuse=True if self.built else self._reuse, auxiliary_name_scope=False) as scope:
            self._current_scope = scope
            inputs = nest.map_structure(lambda i: i if isinstance(i, Tensor) or hasattr(i, "_components") else convert_to_tensor(i), inputs)
            with get_default_graph().name_scope(scope.original_name_scope):
                outputs = self._called(inputs, args, kwargs)
        _collect(self.updates, _UPDATE_OPS)
        return outputs

    def _called(self, inputs, args, kwargs):
        flat = nest.flatten(inputs)
        shapes = [getattr(i, "shape", None) for i in flat]
        self._check_inputs(shapes)
        if not self.built:
            if self._dtype is None and flat:
                self._dtype = as_dtype(flat[0].dtype).base_dtype
            shape = shapes[0] if len(shapes) == 1 and not nest.is_nested(inputs) else nest.map_structure(lambda i: i.shape, inputs)
            self.build(shape)
            self.built = True
            self._check_inputs(shapes)
        outputs = self.call(inputs, *args, **kwargs)
        if self._activity_regularizer is not None:
            self._regularize(inputs, outputs)
        return outputs

    def _check_inputs(self, shapes) -> None:
        if isinstance(self.input_spec, InputSpec) and shapes and shapes[0] is not None:
            self.input_spec.check(TensorShape(shapes[0]), self._name)

    def _regularize(self, inputs, outputs) -> None:
        with get_default_graph().name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                batch = tf.cast(tf.shape(output)[0], loss.dtype)
                self.add_loss(loss / batch, inputs=inputs)

    def apply(self, inputs, *args, **kwargs) -> Any:
        """Calls the layer."""
        return self(inputs, *args, **kwargs)


def _unique(base: str) -> str:
    """``base_1``, ``base_2``, … within the graph."""
    graph = get_default_graph()
    counts = graph.__dict__.setdefault("_layer_names", {})
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"


def _collect(elements, collection: str) -> None:
    """Appends elements to a collection of the graph, each once."""
    known = get_default_graph().get_collection_ref(collection)
    for element in elements:
        if not any(element is k for k in known):
            known.append(element)
