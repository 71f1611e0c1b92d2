# Made by python/make_stubs from the code.

from flowmill._internal.rnn import static_bidirectional_rnn as static_bidirectional_rnn
from flowmill._internal.rnn import static_rnn as static_rnn
from flowmill._internal.rnn import static_state_saving_rnn as static_state_saving_rnn
from flowmill.nn.rnn_cell import BasicLSTMCell as BasicLSTMCell
from flowmill.nn.rnn_cell import BasicRNNCell as BasicRNNCell
from flowmill.nn.rnn_cell import DeviceWrapper as DeviceWrapper
from flowmill.nn.rnn_cell import DropoutWrapper as DropoutWrapper
from flowmill.nn.rnn_cell import GRUCell as GRUCell
from flowmill.nn.rnn_cell import LSTMCell as LSTMCell
from flowmill.nn.rnn_cell import LSTMStateTuple as LSTMStateTuple
from flowmill.nn.rnn_cell import MultiRNNCell as MultiRNNCell
from flowmill.nn.rnn_cell import RNNCell as RNNCell
from flowmill.nn.rnn_cell import ResidualWrapper as ResidualWrapper

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
    "static_bidirectional_rnn",
    "static_rnn",
    "static_state_saving_rnn",
]
