"""Batch normalisation."""

from __future__ import annotations

import flowmill as tf
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.tensor_util import constant_value
from flowmill.layers._base import InputSpec, Layer, function_of, smart_cond


class BatchNormalization(Layer):
    """Normalises by the moments of the batch in training, and by moving averages of them else.

    Variables are ``gamma``, ``beta``, ``moving_mean`` and ``moving_variance``. What moves the averages is in the collection
    ``tf.GraphKeys.UPDATE_OPS``, to be run with each training step.

    Args:
        axis: the dimension or dimensions that are normalised by themselves, such as that of the channels.
        momentum: how much the averages stay as they are.
        epsilon: a small number that is added to the variance.
        center: whether there is a `beta`, which is added.
        scale: whether there is a `gamma`, a factor.
        beta_initializer: what beta begins with.
        gamma_initializer: what gamma begins with.
        moving_mean_initializer: what the average of means begins with.
        moving_variance_initializer: what the average of variances begins with.
        beta_regularizer: a function from beta to a loss.
        gamma_regularizer: a function from gamma to a loss.
        beta_constraint: a function from beta to what it shall be after each update.
        gamma_constraint: the same for gamma.
        renorm: corrects batches by the moving averages (Ioffe, 2017).
        renorm_clipping: the limits ``rmax``, ``rmin`` and ``dmax`` of that correction.
        renorm_momentum: as `momentum`, for the averages of that correction.
        fused: uses one op for images; None if that can be done.
        trainable: whether its variables are trained; if not, it normalises by the averages.
        virtual_batch_size: how many examples are normalised together, or None.
        adjustment: a function from the input's shape to a factor and what to add in training, or None.
        name: the name of its variable scope.
    """

    def __init__(self, axis=-1, momentum=0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True, beta_initializer="zeros",
                 gamma_initializer="ones", moving_mean_initializer="zeros", moving_variance_initializer="ones", beta_regularizer=None,
                 gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, renorm: bool = False, renorm_clipping=None,
                 renorm_momentum=0.99, fused: bool | None = None, trainable: bool = True, virtual_batch_size: int | None = None,
                 adjustment=None, name: str | None = None, **kwargs):
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (int, list, tuple)):
            raise TypeError(f"Expected an int or a list/tuple of ints for the argument 'axis', but received: {axis!r}")
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.momentum, self.epsilon, self.center, self.scale = momentum, epsilon, center, scale
        self._initializers = {"beta": beta_initializer, "gamma": gamma_initializer, "moving_mean": moving_mean_initializer,
                              "moving_variance": moving_variance_initializer}
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.renorm, self.renorm_momentum = renorm, renorm_momentum
        self.renorm_clipping = renorm_clipping or {}
        unknown = set(self.renorm_clipping) - {"rmax", "rmin", "dmax"}
        if unknown:
            raise ValueError(f"Received invalid keys for `renorm_clipping` argument: {renorm_clipping}. Supported values: ['rmax', 'rmin', 'dmax'].")
        self.virtual_batch_size, self.adjustment = virtual_batch_size, adjustment
        self.fused = True if fused is None else fused
        self.beta = self.gamma = None

    # Variables

    def build(self, input_shape) -> None:
        """Makes the variables.

        Raises:
            ValueError: if a size of `axis` is not known or there is no such dimension.
        """
        shape = TensorShape(input_shape)
        if shape.rank is None:
            raise ValueError(f"Input has undefined rank. Received: input_shape={shape}.")
        rank = shape.rank
        axes = [a + rank if a < 0 else a for a in (self.axis if isinstance(self.axis, list) else [self.axis])]
        for axis in axes:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid value for `axis` argument. Expected 0 <= axis < inputs.rank (with inputs.rank={rank}). "
                                 f"Received: axis={self.axis}")
        if len(set(axes)) != len(axes):
            raise ValueError(f"Duplicate axis: {tuple(axes)}")
        self.axis = axes
        self._check_virtual_batches()
        self.fused = bool(self.fused) and rank in (4, 5) and self._can_be_fused()
        if self.fused:
            self._choose_format(rank)
        sizes = {axis: shape.as_list()[axis] for axis in axes}
        if None in sizes.values():
            raise ValueError(f"Input has undefined `axis` dimension. Received input with shape {tuple(shape.as_list())} and axis={tuple(axes)}")
        self.input_spec = InputSpec(ndim=rank, axes=sizes)
        if len(sizes) == 1 and self.virtual_batch_size is None:
            param_shape = list(sizes.values())
        else:
            param_shape = [sizes.get(i, 1) for i in range(rank)]
            if self.virtual_batch_size is not None:
                param_shape.insert(1, 1)
                self.axis = [axis + 1 for axis in axes]
        self._param_shape = param_shape
        self._add_variables()
        self.built = True

    def _check_virtual_batches(self) -> None:
        if self.virtual_batch_size is None:
            return
        if self.virtual_batch_size <= 0:
            raise ValueError("`virtual_batch_size` must be a positive integer that divides the true batch size of the input tensor. Received: "
                             f"virtual_batch_size={self.virtual_batch_size}")
        if 0 in self.axis:
            raise ValueError("When using `virtual_batch_size`, the batch dimension must be 0 and thus axis cannot include 0. "
                             f"Received axis={self.axis}")
        if self.adjustment is not None:
            raise ValueError("When using `virtual_batch_size`, adjustment cannot be specified")

    def _can_be_fused(self) -> bool:
        return (not self.renorm and len(self.axis) == 1 and self.axis[0] in (1, 3, 4) and self.virtual_batch_size is None and self.adjustment is None
                and (self._dtype is None or self._dtype.name in ("float16", "bfloat16", "float32")))

    def _choose_format(self, rank: int) -> None:
        found = {(1, 4): "NCHW", (1, 5): "NCDHW", (3, 4): "NHWC", (4, 5): "NDHWC"}.get((self.axis[0], rank))
        if found is None and rank == 4:
            raise ValueError("Unsupported axis. The use of `fused=True` is only possible with `axis=1` or `axis=3` for 4D input tensors. "
                             f"Received: axis={tuple(self.axis)}")
        self.fused = found is not None
        self._data_format = found

    @property
    def _param_dtype(self):
        return tf.float32 if self._dtype is None or self._dtype.name in ("float16", "bfloat16") else self._dtype

    def _add(self, name: str, initializer, **options):
        return self.add_weight(name, self._param_shape, dtype=self._param_dtype, initializer=initializer, **options)

    def _add_variables(self) -> None:
        if self.scale:
            self.gamma = self._add("gamma", self._initializers["gamma"], regularizer=self.gamma_regularizer,
                                   constraint=self.gamma_constraint, trainable=True)
        if self.center:
            self.beta = self._add("beta", self._initializers["beta"], regularizer=self.beta_regularizer, constraint=self.beta_constraint,
                                  trainable=True)
        # Moving averages are not cut into parts.
        partitioner = self._scope.partitioner if self._scope else None
        if partitioner is not None:
            self._scope.set_partitioner(None)
        try:
            self.moving_mean = self._moving("moving_mean", self._initializers["moving_mean"])
            self.moving_variance = self._moving("moving_variance", self._initializers["moving_variance"])
            if self.renorm:
                self._add_renorm_variables()
        finally:
            if partitioner is not None:
                self._scope.set_partitioner(partitioner)

    def _moving(self, name: str, initializer):
        return self._add(name, initializer, trainable=False, synchronization=tf.VariableSynchronization.ON_READ,
                         aggregation=tf.VariableAggregation.MEAN)

    def _add_renorm_variables(self) -> None:
        variance = function_of(self._initializers["moving_variance"], "initializer")

        def deviation(*args, **kwargs):
            return tf.sqrt(variance(*args, **kwargs))

        with tf.colocate_with(self.moving_variance):
            self.moving_stddev = self._moving("moving_stddev", deviation)
        with tf.colocate_with(self.moving_mean):
            self.renorm_mean = self._moving("renorm_mean", self._initializers["moving_mean"])
        with tf.colocate_with(self.moving_stddev):
            self.renorm_stddev = self._moving("renorm_stddev", deviation)

    # Calls

    def call(self, inputs, training=False) -> Tensor:
        """Returns the input, normalised by its own moments if `training` is true: a boolean or a boolean scalar."""
        if isinstance(training, int):
            training = bool(training)
        if self.virtual_batch_size is not None:
            sizes = tf.shape(inputs)
            shape = tf.concat([tf.constant([-1]), sizes[1:]], axis=0)
            inputs = tf.reshape(inputs, tf.concat([tf.constant([self.virtual_batch_size, -1]), shape[1:]], axis=0))
        outputs = self._fused(inputs, training) if self.fused else self._composed(inputs, training)
        return outputs if self.virtual_batch_size is None else tf.reshape(outputs, shape)

    def _known(self, training):
        """Returns true if it is training, None if only a run knows."""
        found = constant_value(training) if isinstance(training, Tensor) else None if hasattr(training, "_as_tensor") else training
        return None if found is None else bool(found)

    def _fused(self, inputs, training):
        beta = self.beta if self.center else tf.constant(0.0, dtype=self._param_dtype, shape=self._param_shape)
        gamma = self.gamma if self.scale else tf.constant(1.0, dtype=self._param_dtype, shape=self._param_shape)

        def normalized(is_training: bool):
            return tf.nn.fused_batch_norm(
                inputs, gamma, beta, mean=self.moving_mean, variance=self.moving_variance, epsilon=self.epsilon, is_training=is_training,
                data_format=self._data_format, exponential_avg_factor=None if is_training else 1.0)

        output, mean, variance = smart_cond(training, lambda: normalized(True), lambda: normalized(False))
        known = self._known(training)
        if known is not False:
            if known is None:
                momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
            else:
                momentum = convert_to_tensor(self.momentum)
            self.add_update(lambda: self._move(self.moving_mean, mean, momentum))
            self.add_update(lambda: self._move(self.moving_variance, variance, momentum))
        return output

    def _move(self, variable, value, momentum):
        """Moves an average towards a value."""
        with get_default_graph().name_scope("AssignMovingAvg") as scope, tf.colocate_with(variable):
            decay = convert_to_tensor(1.0 - momentum, name="decay")
            if decay.dtype.base_dtype is not variable.dtype.base_dtype:
                decay = tf.cast(decay, variable.dtype.base_dtype)
            delta = (variable - tf.cast(value, variable.dtype.base_dtype)) * decay
            return tf.assign_sub(variable, delta, name=scope)

    def _composed(self, inputs, training):
        dtype = inputs.dtype.base_dtype
        narrow = dtype in (tf.float16, tf.bfloat16)
        if narrow:
            inputs = tf.cast(inputs, tf.float32)
        shape, rank = inputs.shape, inputs.shape.rank
        reduced = [i for i in range(rank) if i not in self.axis]
        if self.virtual_batch_size is not None:
            del reduced[1]
        spread_shape = [1] * rank
        spread_shape[self.axis[0]] = shape.as_list()[self.axis[0]]

        def spread(v):
            if v is not None and v.shape.rank != rank and reduced != list(range(rank - 1)):
                return tf.reshape(v, spread_shape)
            return v

        scale, offset = spread(self.gamma), spread(self.beta)
        if self._known(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            mean, variance, scale, offset = self._batch_moments(inputs, training, reduced, spread, scale, offset)
        mean, variance = tf.cast(mean, inputs.dtype), tf.cast(variance, inputs.dtype)
        offset = None if offset is None else tf.cast(offset, inputs.dtype)
        scale = None if scale is None else tf.cast(scale, inputs.dtype)
        outputs = tf.nn.batch_normalization(inputs, spread(mean), spread(variance), offset, scale, self.epsilon)
        if narrow:
            outputs = tf.cast(outputs, dtype)
        outputs.set_shape(shape)
        return outputs

    def _batch_moments(self, inputs, training, reduced, spread, scale, offset):
        """Mean and variance to normalise by, with factor and offset as adjustment and correction change them. Adds the updates."""
        if self.adjustment is not None:
            factor, bias = self.adjustment(tf.shape(inputs))
            factor = smart_cond(training, lambda given=factor: given, lambda given=factor: tf.ones_like(given))
            bias = smart_cond(training, lambda given=bias: given, lambda given=bias: tf.zeros_like(given))
            scale, offset = _composed_with(factor, bias, scale, offset)
        keep = self.virtual_batch_size is not None or len(self.axis) > 1
        own_mean, own_variance = tf.nn.moments(tf.cast(inputs, self._param_dtype), reduced, keep_dims=keep)
        mean = smart_cond(training, lambda: own_mean, lambda: convert_to_tensor(self.moving_mean))
        variance = smart_cond(training, lambda: own_variance, lambda: convert_to_tensor(self.moving_variance))
        new_mean, new_variance = mean, variance
        if self.virtual_batch_size is not None:
            new_mean = tf.reduce_mean(mean, axis=1, keepdims=True)
            new_variance = tf.reduce_mean(variance, axis=1, keepdims=True)
        if self.renorm:
            r, d, new_mean, new_variance = self._corrected(new_mean, new_variance, training)
            r = spread(tf.stop_gradient(r, name="renorm_r"))
            d = spread(tf.stop_gradient(d, name="renorm_d"))
            scale, offset = _composed_with(r, d, scale, offset)
        self._add_updates(training, new_mean, new_variance)
        return mean, variance, scale, offset

    def _add_updates(self, training, new_mean, new_variance) -> None:
        def move_variance():
            if not self.renorm:
                return self._move(self.moving_variance, new_variance, self.momentum)
            deviation = self._move(self.moving_stddev, tf.sqrt(new_variance + self.epsilon), self.momentum)
            moved = tf.nn.relu(deviation * deviation - self.epsilon)
            with get_default_graph().name_scope("AssignNewValue") as scope, tf.colocate_with(self.moving_variance):
                return tf.assign(self.moving_variance, moved, name=scope)

        self.add_update(lambda: smart_cond(training, lambda: self._move(self.moving_mean, new_mean, self.momentum), lambda: self.moving_mean))
        self.add_update(lambda: smart_cond(training, move_variance, lambda: self.moving_variance))

    def _corrected(self, mean, variance, training):
        """Returns the correction from a batch's moments to the moving ones, a factor and a summand, and the moments to move towards."""
        deviation = tf.sqrt(variance + self.epsilon)
        moving = tf.maximum(self.renorm_stddev, tf.sqrt(self.epsilon))
        r = deviation / moving
        d = (mean - self.renorm_mean) / moving
        with tf.control_dependencies([r, d]):
            mean = tf.identity(mean)
            deviation = tf.identity(deviation)
        clipping = self.renorm_clipping
        if clipping.get("rmin") is not None:
            r = tf.maximum(r, clipping["rmin"])
        if clipping.get("rmax") is not None:
            r = tf.minimum(r, clipping["rmax"])
        if clipping.get("dmax") is not None:
            d = tf.minimum(tf.maximum(d, -clipping["dmax"]), clipping["dmax"])
        factor, bias = r, d
        r = smart_cond(training, lambda: factor, lambda: tf.ones_like(factor))
        d = smart_cond(training, lambda: bias, lambda: tf.zeros_like(bias))

        def update(variable, value):
            value = tf.identity(value)
            return smart_cond(training, lambda: self._move(variable, value, self.renorm_momentum), lambda: tf.identity(variable))

        updates = [update(self.renorm_mean, mean), update(self.renorm_stddev, deviation)]
        with tf.control_dependencies(updates):
            return r, d, tf.identity(mean), tf.identity(variance)

    def compute_output_shape(self, input_shape) -> TensorShape:
        """Returns the shape of the input."""
        return TensorShape(input_shape)


def _composed_with(scale, offset, then_scale, then_offset):
    """Returns a factor and what to add, with another factor and sum after them."""
    if then_scale is not None:
        scale *= then_scale
        offset *= then_scale
    if then_offset is not None:
        offset += then_offset
    return scale, offset


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon: float = 1e-3, center: bool = True, scale: bool = True, beta_initializer="zeros",
                        gamma_initializer="ones", moving_mean_initializer="zeros", moving_variance_initializer="ones", beta_regularizer=None,
                        gamma_regularizer=None, beta_constraint=None, gamma_constraint=None, training=False, trainable: bool = True,
                        name: str | None = None, reuse: bool | None = None, renorm: bool = False, renorm_clipping=None, renorm_momentum=0.99,
                        fused: bool | None = None, virtual_batch_size: int | None = None, adjustment=None) -> Tensor:
    """Makes a :class:`BatchNormalization` layer and calls it.

    What moves its averages is in the collection ``tf.GraphKeys.UPDATE_OPS``: let the training step depend on it.
    """
    layer = BatchNormalization(axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
                               moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm,
                               renorm_clipping, renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name, _scope=name,
                               _reuse=reuse)
    return layer(inputs, training=training)
