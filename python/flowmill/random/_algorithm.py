"""The algorithms of random generators, and the keys and counters that are derived from seeds."""

from __future__ import annotations

import enum

from flowmill._internal.apply import call
from flowmill._internal.array import reshape, stack, zeros
from flowmill._internal.convert import constant
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import uint32, uint64
from flowmill.math import cast


class Algorithm(enum.Enum):
    """A way to make random numbers out of a key and a counter, both by Salmon, Moraes, Dror and Shaw (SC 2011); AUTO_SELECT leaves it to the device.

    Graphs may name ThreeFry; here, as on TensorFlow's CPU, only Philox runs.
    """

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


PHILOX, THREEFRY, AUTO_SELECT = (algorithm.value for algorithm in Algorithm)
NUMBERS = (PHILOX, THREEFRY, AUTO_SELECT)
_NAMES = {"philox": PHILOX, "threefry": THREEFRY, "autoselect": AUTO_SELECT}

# With which a stateless operation's seeds are spread over key and counter.
_SCRAMBLE_KEY = 0x02461E293EC8F720


def unsupported(alg) -> str:
    """Returns the message of an error for a value that is not an algorithm."""
    known = NUMBERS if isinstance(alg, int) else ("philox", "threefry", "auto_select") if isinstance(alg, str) else tuple(Algorithm)
    return (f"Argument `alg` got unsupported value {alg}. Supported values are {known[0]} for the Philox algorithm, {known[1]} for the ThreeFry "
            f"algorithm, and {known[2]} for auto-selection.")


def algorithm_number(alg):
    """Returns the number of an algorithm that is given by number, name, member of :class:`Algorithm`, or as a tensor, which is left as it is."""
    if isinstance(alg, (int, Tensor)):
        return alg
    if isinstance(alg, Algorithm):
        return alg.value
    if isinstance(alg, str):
        number = _NAMES.get(alg.strip().lower().replace("-", "").replace("_", ""))
        if number is None:
            raise ValueError(unsupported(alg))
        return number
    raise TypeError(f"Can't convert argument `alg` (of value {alg} and type {type(alg)}) to int.")


def key_counter(seed, alg):
    """Returns the key and the counter that are derived from a seed, and the number of the algorithm."""
    number = AUTO_SELECT if alg is None else algorithm_number(alg)
    if number == AUTO_SELECT:
        key, counter = call("StatelessRandomGetKeyCounter", None, seed)
    elif number == PHILOX:
        key, counter = _scrambled(seed)
    elif number == THREEFRY:
        key, counter = reshape(_joined(cast(seed, uint32)), [1]), zeros([1], uint64)
    else:
        raise ValueError(unsupported(number))
    return key, counter, number


def _scrambled(seed):
    """Computes the result of `StatelessRandomGetKeyCounter` by the algorithm itself, whatever the device's own is."""
    key = constant([_SCRAMBLE_KEY], uint64)
    counter = cast(seed, uint64)
    mixed = call("StatelessRandomUniformFullIntV2", None, [4], key, counter, PHILOX, dtype=uint32)
    return reshape(_joined(mixed[:2]), [1]), stack([0, _joined(mixed[2:])])


def _joined(words) -> Tensor:
    """Two words of 32 bits, the low one first, as one of 64."""
    from flowmill.bitwise import bitwise_or, left_shift  # start-up: few programs use generators

    return bitwise_or(cast(words[0], uint64), left_shift(cast(words[1], uint64), constant(32, uint64)))
