# Made by python/make_stubs from the code.

from flowmill.contrib import framework as framework
from flowmill.contrib import layers as layers
from flowmill.contrib import memory_stats as memory_stats
from flowmill.contrib import rnn as rnn
from flowmill.contrib import tensorboard as tensorboard

__all__ = [
    "framework",
    "layers",
    "memory_stats",
    "rnn",
    "tensorboard",
]
