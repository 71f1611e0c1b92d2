"""Random operations whose numbers follow from the seed that they are given, a vector of two integers."""

from __future__ import annotations

from flowmill._apply import call, op_scope
from flowmill._convert import convert_to_tensor
from flowmill.dtypes import as_dtype, float32, int32, int64
from flowmill.random._stateful import _UNIFORM_TYPES, shape_argument
from flowmill.tensor import Tensor

_ALGORITHMS = {"philox": 1, "threefry": 2, "auto_select": 3}


def _generator(seed, alg):
    """The key and the counter that a seed stands for, and the number of the algorithm."""
    number = _ALGORITHMS.get(alg, alg) if isinstance(alg, str) else alg
    if isinstance(number, str):
        raise ValueError(f"Argument `alg` got unsupported string value {alg}. Supported string values are {sorted(_ALGORITHMS)}.")
    key, counter = call("StatelessRandomGetKeyCounter", None, seed)
    return key, counter, number


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """Random numbers that are all equally likely, in [minval, maxval).

    Args:
        shape: of the result.
        seed: two integers.
        minval: the least.
        maxval: the bound above; 1 for floating-point numbers, to be given for integers.
        dtype: the type of the numbers.
        name: of the scope.
        alg: the algorithm: ``"philox"``, ``"threefry"``, ``"auto_select"`` or its number.

    Raises:
        ValueError: for another type, and for integers without a bound.
    """
    dtype = as_dtype(dtype)
    if dtype not in _UNIFORM_TYPES:
        raise ValueError(f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_UNIFORM_TYPES}.")
    if dtype.is_integer and (minval is None or maxval is None):
        raise ValueError(f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must both be given.")
    maxval = 1 if maxval is None else maxval
    with op_scope(name, "stateless_random_uniform", shape, seed, minval, maxval) as scope:
        shape = shape_argument(shape)
        minval, maxval = convert_to_tensor(minval, dtype, "min"), convert_to_tensor(maxval, dtype, "max")
        key, counter, number = _generator(seed, alg)
        if dtype.is_integer:
            algorithm = convert_to_tensor(number, int32, "alg")
            return call("StatelessRandomUniformIntV2", scope, shape, key, counter, algorithm, minval, maxval)
        numbers = call("StatelessRandomUniformV2", None, shape, key, counter, number, dtype=dtype)
        return call("AddV2", scope, numbers * (maxval - minval), minval)


def _scaled(op: str, shape, seed, mean, stddev, dtype, alg, scope: str) -> Tensor:
    shape = shape_argument(shape)
    mean, stddev = convert_to_tensor(mean, dtype, "mean"), convert_to_tensor(stddev, dtype, "stddev")
    key, counter, number = _generator(seed, alg)
    numbers = call(op, None, shape, key, counter, number, dtype=dtype)
    return call("AddV2", scope, numbers * stddev, mean)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """Random numbers of a normal distribution; the other arguments are those of :func:`stateless_uniform`."""
    with op_scope(name, "stateless_random_normal", shape, seed, mean, stddev) as scope:
        return _scaled("StatelessRandomNormalV2", shape, seed, mean, stddev, as_dtype(dtype), alg, scope)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """As :func:`stateless_normal`, without numbers that are more than two standard deviations from the mean."""
    with op_scope(name, "stateless_truncated_normal", shape, seed, mean, stddev) as scope:
        return _scaled("StatelessTruncatedNormalV2", shape, seed, mean, stddev, as_dtype(dtype), alg, scope)


def stateless_multinomial(logits, num_samples, seed, output_dtype=int64, name: str | None = None) -> Tensor:
    """Random choices by the logarithms of their odds, ``[batch, classes]``: numbers of classes, ``[batch, num_samples]``."""
    with op_scope(name, "stateless_multinomial", logits, seed):
        return _chosen(logits, num_samples, seed, output_dtype)


def stateless_categorical(logits, num_samples, seed, dtype=int64, name: str | None = None) -> Tensor:
    """As :func:`stateless_multinomial`, with `dtype` as the type of the result."""
    with op_scope(name, "stateless_categorical", logits, seed):
        return _chosen(logits, num_samples, seed, dtype)


def _chosen(logits, num_samples, seed, dtype) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return call("StatelessMultinomial", None, logits, num_samples, seed, output_dtype=as_dtype(dtype))


def random_index_shuffle(index, seed, max_index, rounds: int = 4, name: str | None = None) -> Tensor:
    """Where indices go in a random permutation, which is not written down.

    Args:
        index: a number, or a list of numbers, from 0 to `max_index`.
        seed: three numbers, or as many rows of three.
        max_index: the greatest index, or a list.
        rounds: an even number of at least 4: how thoroughly they are mixed.
        name: what to call the operation.
    """
    return call("RandomIndexShuffle", name, index, seed, max_index, rounds=rounds)
