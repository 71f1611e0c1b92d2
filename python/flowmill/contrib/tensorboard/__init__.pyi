# Made by python/make_stubs from the code.

from flowmill.contrib.tensorboard import plugins as plugins

__all__ = [
    "plugins",
]
