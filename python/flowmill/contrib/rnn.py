"""The names of ``tf.contrib.rnn`` that are there, which are those of ``tf.nn``."""

from __future__ import annotations

from flowmill._internal import lazy as _lazy
from flowmill.contrib import _advice

_NAMES = _lazy.table("flowmill", {
    "nn.rnn_cell": "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple MultiRNNCell RNNCell ResidualWrapper",
    "_internal.rnn": "static_bidirectional_rnn static_rnn static_state_saving_rnn",
})
__all__ = sorted(_NAMES)

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES, otherwise=_advice.refuser("rnn"))
