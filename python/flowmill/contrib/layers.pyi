# Made by python/make_stubs from the code.

from collections.abc import Callable
from flowmill._internal.init_ops import Initializer
from flowmill.layers import flatten as flatten

__all__ = [
    "flatten",
    "l1_regularizer",
    "l2_regularizer",
    "variance_scaling_initializer",
    "xavier_initializer",
    "xavier_initializer_conv2d",
]

def xavier_initializer(uniform: bool = True, seed: int | None = None, dtype='float32') -> Initializer: ...
def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = 'FAN_IN',
    uniform: bool = False,
    seed: int | None = None,
    dtype='float32',
) -> Initializer: ...
xavier_initializer_conv2d = xavier_initializer
def l2_regularizer(scale: float, scope: str | None = None) -> Callable: ...
def l1_regularizer(scale: float, scope: str | None = None) -> Callable: ...
