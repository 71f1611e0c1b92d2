"""``tf.contrib`` is not there, but for a few small names: others raise an error that says what takes their place."""

from __future__ import annotations

import types

# What takes the place of names, the longest that fits.
_INSTEAD = {
    "crf": "write the linear chain with `tf.scan`",
    "cudnn_rnn": "use `tf.nn.rnn_cell.LSTMCell` with `tf.nn.dynamic_rnn`",
    "data": "use `tf.data`",
    "distribute": "flowmill runs on one machine",
    "eager": "flowmill builds graphs",
    "estimator": "write the training loop, or use `tf.train.MonitoredTrainingSession`",
    "framework.arg_scope": "pass the arguments",
    "framework.get_or_create_global_step": "use `tf.train.get_or_create_global_step`",
    "framework.get_variables": "use `tf.global_variables(scope)`",
    "framework.list_variables": "use `tf.train.list_variables`",
    "framework.load_variable": "use `tf.train.load_variable`",
    "layers.batch_norm": "use `tf.layers.batch_normalization`",
    "layers.conv2d": "use `tf.layers.conv2d`",
    "layers.conv2d_transpose": "use `tf.layers.conv2d_transpose`",
    "layers.dropout": "use `tf.layers.dropout`",
    "layers.embed_sequence": "use `tf.get_variable` and `tf.nn.embedding_lookup`",
    "layers.flatten": "use `tf.layers.flatten`",
    "layers.fully_connected": "use `tf.layers.dense`",
    "layers.max_pool2d": "use `tf.layers.max_pooling2d`",
    "layers.optimize_loss": "use an optimizer of `tf.train`",
    "layers.separable_conv2d": "use `tf.layers.separable_conv2d`",
    "layers": "use `tf.layers`",
    "learn": "write the training loop",
    "legacy_seq2seq": "use `tf.nn.static_rnn`",
    "lookup": "use `tf.lookup`",
    "losses": "use `tf.losses`",
    "metrics": "use `tf.metrics`",
    "opt": "use an optimizer of `tf.train`",
    "quantize": "use `tf.quantization`",
    "rnn": "use `tf.nn.rnn_cell` and `tf.nn`",
    "seq2seq": "write the decoder with `tf.while_loop`",
    "slim": "use `tf.layers`",
    "summary": "use `tf.summary`",
    "tensor_forest": "flowmill has no decision forests",
    "tensorboard": "use `tf.summary`",
    "tensorrt": "flowmill has no TensorRT",
    "tpu": "flowmill runs on CPUs",
    "training": "use `tf.train`",
}


def _error(name: str) -> AttributeError:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        advice = _INSTEAD.get(".".join(parts[:length]))
        if advice is not None:
            return AttributeError(f"flowmill has no tf.contrib.{name}; {advice}.")
    return AttributeError(f"flowmill has no tf.contrib.{name}; tf.contrib ended with TensorFlow 1.15.")


class _Namespace(types.ModuleType):
    """A part of ``tf.contrib``: what there is of it, by functions that make it, and errors for the rest."""

    def __init__(self, name: str, there: dict):
        super().__init__(f"{__name__}.{name}", f"The few names of ``tf.contrib.{name}`` that are there.")
        self._part, self._there = name, there

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        make = self._there.get(name)
        if make is None:
            raise _error(f"{self._part}.{name}")
        found = make()
        setattr(self, name, found)
        return found

    def __dir__(self):
        return sorted(self._there)


def _tf():
    import flowmill

    return flowmill


def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype="float32"):
    """Glorot's initializer, uniform or normal."""
    tf = _tf()
    return tf.variance_scaling_initializer(1.0, "fan_avg", "uniform" if uniform else "truncated_normal", seed=seed, dtype=dtype)


def variance_scaling_initializer(factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype="float32"):
    """He's initializer, or with other arguments Glorot's.

    Args:
        factor: of the variance.
        mode: ``"FAN_IN"``, ``"FAN_OUT"`` or ``"FAN_AVG"``: what divides it.
        uniform: whether the distribution is uniform rather than normal.
        seed: of the random numbers.
        dtype: the type.
    """
    tf = _tf()
    return tf.variance_scaling_initializer(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed=seed, dtype=dtype)


def _number(scale, name: str) -> float:
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or scale < 0:
        raise ValueError(f"{name} must be a number that is not negative: {scale}")
    return float(scale)


def l2_regularizer(scale: float, scope: str | None = None):
    """A regularizer: `scale` times half the sum of the squares.

    Raises:
        ValueError: where `scale` is no number or negative.
    """
    factor = _number(scale, "scale")

    def l2(weights):
        tf = _tf()
        if factor == 0.0:
            return None
        with tf.name_scope(scope, "l2_regularizer", [weights]) as name:
            return tf.multiply(tf.convert_to_tensor(factor, dtype=weights.dtype.base_dtype, name="scale"), tf.nn.l2_loss(weights), name=name)

    return l2


def l1_regularizer(scale: float, scope: str | None = None):
    """A regularizer: `scale` times the sum of the absolute values.

    Raises:
        ValueError: where `scale` is no number or negative.
    """
    factor = _number(scale, "scale")

    def l1(weights):
        tf = _tf()
        if factor == 0.0:
            return None
        with tf.name_scope(scope, "l1_regularizer", [weights]) as name:
            return tf.multiply(tf.convert_to_tensor(factor, dtype=weights.dtype.base_dtype, name="scale"), tf.reduce_sum(tf.abs(weights)), name=name)

    return l1


def _nested_map():
    from flowmill import nest

    return nest


_PARTS = {
    "framework": {"nest": _nested_map, "get_or_create_global_step": lambda: _tf().train.get_or_create_global_step,
                  "list_variables": lambda: _tf().train.list_variables, "load_variable": lambda: _tf().train.load_variable},
    "layers": {
        "flatten": lambda: _tf().layers.flatten, "l1_regularizer": lambda: l1_regularizer, "l2_regularizer": lambda: l2_regularizer,
        "variance_scaling_initializer": lambda: variance_scaling_initializer, "xavier_initializer": lambda: xavier_initializer,
        "xavier_initializer_conv2d": lambda: xavier_initializer,
    },
    "rnn": {name: (lambda name=name: getattr(_tf().nn.rnn_cell, name)) for name in
            ("BasicLSTMCell", "BasicRNNCell", "DeviceWrapper", "DropoutWrapper", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell",
             "ResidualWrapper")},
}
_PARTS["rnn"].update({name: (lambda name=name: getattr(_tf().nn, name)) for name in
                      ("static_rnn", "static_bidirectional_rnn", "static_state_saving_rnn")})


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    there = _PARTS.get(name)
    if there is None and not any(key.split(".")[0] == name for key in _INSTEAD):
        raise _error(name)
    found = globals()[name] = _Namespace(name, there or {})
    return found


def __dir__():
    return sorted(_PARTS)
