"""Placeholders that cases of both modules take, and what is fed to them."""

from types import SimpleNamespace

import numpy as np

_random = np.random.RandomState(0)
_square = _random.rand(3, 3)

# Name: type, static shape, value.
_INPUTS = {
    "x": ("float32", [2, 3], _random.uniform(-0.5, 1.5, (2, 3))),
    "u": ("float32", None, _random.rand(2, 3)),
    "p": ("float32", [None, 3], _random.rand(4, 3)),
    "i": ("int32", [2], [0, 1]),
    "b": ("bool", [2, 3], [[True, False, True], [False, False, True]]),
    "m": ("float32", [3, 3], _square @ _square.T + np.eye(3)),
    "z": ("complex64", [2, 3], _random.rand(2, 3) + 1j * _random.rand(2, 3)),
    "t4": ("float32", [4, 4, 4, 4], _random.rand(4, 4, 4, 4)),
    "s": ("float32", [], 1.5),
}

FEEDS = {name: np.asarray(value, dtype) for name, (dtype, _, value) in _INPUTS.items()}


def taking_inputs(case):
    """`case(tf, v)`, where `v` has the placeholders as attributes, as a function of the module alone."""
    def build(tf):
        return case(tf, SimpleNamespace(**{name: tf.placeholder(getattr(tf, dtype), shape, name) for name, (dtype, shape, _) in _INPUTS.items()}))
    return build
