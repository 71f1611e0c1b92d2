"""Advice for names that ``tf.contrib`` had."""

from __future__ import annotations

import types
from collections.abc import Callable

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


def refusal(name: str) -> AttributeError:
    """The error for a name of ``tf.contrib``, which says what takes its place."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        advice = _INSTEAD.get(".".join(parts[:length]))
        if advice is not None:
            return AttributeError(f"flowmill has no tf.contrib.{name}; {advice}.")
    return AttributeError(f"flowmill has no tf.contrib.{name}; tf.contrib ended with TensorFlow 1.15.")


class Missing(types.ModuleType):
    """A part of ``tf.contrib`` that is not there: asking for a name of it says so.

    Args:
        part: what it is called.
    """

    def __init__(self, part: str):
        super().__init__(f"flowmill.contrib.{part}")
        self._part = part

    def __getattr__(self, name: str):
        raise AttributeError(name) if name.startswith("__") else refusal(f"{self._part}.{name}")


def missing(part: str) -> Missing:
    """Returns a part of ``tf.contrib`` of which there is nothing.

    Raises:
        AttributeError: if there never was such a part.
    """
    if any(name.split(".")[0] == part for name in _INSTEAD):
        return Missing(part)
    raise refusal(part)


def refuser(part: str) -> Callable[[str], object]:
    """Returns a function that raises the error for a name of a part."""
    def refuse(name: str) -> object:
        raise refusal(f"{part}.{name}")

    return refuse
