"""``tf.config.optimizer``: settings of the optimizer."""

from flowmill.config._switches import get_experimental_options, get_jit, set_experimental_options, set_jit

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]
