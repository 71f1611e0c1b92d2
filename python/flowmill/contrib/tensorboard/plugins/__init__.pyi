# Made by python/make_stubs from the code.

from flowmill.contrib.tensorboard.plugins import hparams as hparams
from flowmill.contrib.tensorboard.plugins import pr_curve as pr_curve
from flowmill.contrib.tensorboard.plugins import projector as projector

__all__ = [
    "hparams",
    "pr_curve",
    "projector",
]
