"""Random operations whose numbers follow from the seed that they are given, a vector of two integers."""

from __future__ import annotations

from flowmill._internal.apply import call, op_scope
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_to, shape as shape_of, stack
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype, float32, int32, int64, uint32, uint64
from flowmill.math import maximum
from flowmill.random._algorithm import key_counter
from flowmill.random._stateful import _UNIFORM_TYPES, shape_argument

_STATELESS_TYPES = (*_UNIFORM_TYPES, uint32, uint64)


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """Random numbers that are all equally likely, in [minval, maxval).

    Args:
        shape: of the result.
        seed: two integers.
        minval: the least.
        maxval: the bound above; 1 for floating-point numbers. Both may be None for integers of the whole range of their type.
        dtype: the type of the numbers.
        name: the name of the scope.
        alg: the algorithm: ``"philox"``, ``"threefry"``, ``"auto_select"``, a member of :class:`Algorithm` or its number.

    Raises:
        ValueError: for another type, for integers with one bound only, and for unsigned ones with bounds.
    """
    dtype = as_dtype(dtype)
    if dtype not in _STATELESS_TYPES:
        raise ValueError(f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_STATELESS_TYPES}.")
    if not dtype.is_integer:
        maxval = 1 if maxval is None else maxval
    elif (minval is None) != (maxval is None):
        raise ValueError(f"For integer `dtype` argument {dtype}, argument `minval` and `maxval` must be both None or not None. "
                         f"Got `minval`={minval} and `maxval`={maxval}.")
    elif minval is not None and dtype in (uint32, uint64):
        raise ValueError(f"Argument `dtype` got invalid value {dtype} when argument `minval` is not None. "
                         "Please don't use unsigned integers in this case.")
    with op_scope(name, "stateless_random_uniform", shape, seed, minval, maxval) as scope:
        shape = shape_argument(shape)
        if dtype.is_integer and minval is None:
            key, counter, number = key_counter(seed, alg)
            return call("StatelessRandomUniformFullIntV2", scope, shape, key, counter, number, dtype=dtype)
        minval, maxval = convert_to_tensor(minval, dtype, "min"), convert_to_tensor(maxval, dtype, "max")
        key, counter, number = key_counter(seed, alg)
        if dtype.is_integer:
            algorithm = convert_to_tensor(number, int32, "alg")
            return call("StatelessRandomUniformIntV2", scope, shape, key, counter, algorithm, minval, maxval)
        numbers = call("StatelessRandomUniformV2", None, shape, key, counter, number, dtype=dtype)
        return call("AddV2", scope, numbers * (maxval - minval), minval)


def _scaled(op: str, shape, seed, mean, stddev, dtype, alg, scope: str) -> Tensor:
    shape = shape_argument(shape)
    mean, stddev = convert_to_tensor(mean, dtype, "mean"), convert_to_tensor(stddev, dtype, "stddev")
    key, counter, number = key_counter(seed, alg)
    numbers = call(op, None, shape, key, counter, number, dtype=dtype)
    return call("AddV2", scope, numbers * stddev, mean)


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """Random numbers of a normal distribution; the other arguments are those of :func:`stateless_uniform`."""
    with op_scope(name, "stateless_random_normal", shape, seed, mean, stddev) as scope:
        return _scaled("StatelessRandomNormalV2", shape, seed, mean, stddev, as_dtype(dtype), alg, scope)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype=float32, name: str | None = None, alg="auto_select") -> Tensor:
    """Like :func:`stateless_normal`, without numbers that are more than two standard deviations from the mean."""
    with op_scope(name, "stateless_truncated_normal", shape, seed, mean, stddev) as scope:
        return _scaled("StatelessTruncatedNormalV2", shape, seed, mean, stddev, as_dtype(dtype), alg, scope)


def stateless_multinomial(logits, num_samples, seed, output_dtype=int64, name: str | None = None) -> Tensor:
    """Random choices by the logarithms of their odds, ``[batch, classes]``: numbers of classes, ``[batch, num_samples]``."""
    with op_scope(name, "stateless_multinomial", logits, seed):
        return _chosen(logits, num_samples, seed, output_dtype)


def stateless_categorical(logits, num_samples, seed, dtype=int64, name: str | None = None) -> Tensor:
    """Like :func:`stateless_multinomial`, with `dtype` as the type of the result."""
    with op_scope(name, "stateless_categorical", logits, seed):
        return _chosen(logits, num_samples, seed, dtype)


def _chosen(logits, num_samples, seed, dtype) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    return call("StatelessMultinomial", None, logits, num_samples, seed, output_dtype=as_dtype(dtype))


def stateless_binomial(shape, seed, counts, probs, output_dtype=int32, name: str | None = None) -> Tensor:
    """Random numbers of binomial distributions: how many of `counts` trials succeed.

    Args:
        shape: of the result; it ends with the shape of `counts` and `probs` broadcast together.
        seed: two integers.
        counts: how many trials.
        probs: how likely each is to succeed, of the same type.
        output_dtype: the type of the numbers.
        name: the name of the scope.
    """
    with op_scope(name, "stateless_random_binomial", shape, seed, counts, probs):
        shape = shape_argument(shape)
        probs = convert_to_tensor(probs, name="probs", preferred_dtype=float32)
        counts = convert_to_tensor(counts, name="counts", preferred_dtype=probs.dtype)
        return call("StatelessRandomBinomial", None, shape, seed, counts, probs, dtype=as_dtype(output_dtype))


def stateless_gamma(shape, seed, alpha, beta=None, dtype=float32, name: str | None = None) -> Tensor:
    """Random numbers of gamma distributions. Gradients go to `alpha` and `beta`.

    Args:
        shape: of the result; it ends with the shape of `alpha` and `beta` broadcast together.
        seed: two integers.
        alpha: the shape parameters.
        beta: the inverse scale parameters, 1 by default.
        dtype: the type of the numbers.
        name: the name of the scope.
    """
    with op_scope(name, "stateless_random_gamma", shape, seed, alpha, beta):
        shape = shape_argument(shape)
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        alphas = broadcast_to(alpha, broadcast_dynamic_shape(shape_of(alpha), shape_of(beta)))
        key, counter, number = key_counter(seed, "auto_select")
        numbers = call("StatelessRandomGammaV3", None, shape, key, counter, number, alphas)
        return maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, numbers / beta)


def stateless_poisson(shape, seed, lam, dtype=int32, name: str | None = None) -> Tensor:
    """Random numbers of Poisson distributions.

    Args:
        shape: of the result; it ends with the shape of `lam`.
        seed: two integers.
        lam: the means.
        dtype: the type of the numbers.
        name: the name of the scope.
    """
    with op_scope(name, "stateless_random_poisson", shape, seed, lam):
        return call("StatelessRandomPoisson", None, shape_argument(shape), seed, lam, dtype=as_dtype(dtype))


def stateless_parameterized_truncated_normal(shape, seed, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, name: str | None = None) -> Tensor:
    """Random numbers of normal distributions between bounds. Gradients go to all four parameters, which are broadcast together.

    Args:
        shape: of the result; it ends with the shape of the parameters.
        seed: two integers.
        means: the means without bounds.
        stddevs: the standard deviations without bounds.
        minvals: the lower bounds, which may be infinite if the upper ones are not.
        maxvals: the upper bounds.
        name: the name of the scope.
    """
    with op_scope(name, "stateless_parameterized_truncated_normal", shape, means, stddevs, minvals, maxvals):
        shape = shape_argument(shape)
        given = {"means": means, "stddevs": stddevs, "minvals": minvals, "maxvals": maxvals}
        parameters = [convert_to_tensor(value, name=name) for name, value in given.items()]
        return call("StatelessParameterizedTruncatedNormal", None, shape, seed, *parameters)


def split(seed, num=2, alg="auto_select") -> Tensor:
    """New seeds out of one: ``[num, 2]``."""
    seed = convert_to_tensor(seed)
    return stateless_uniform([num, 2], seed, None, None, seed.dtype, alg=alg)


def fold_in(seed, data, alg="auto_select") -> Tensor:
    """Returns a new seed out of one and a number."""
    data = convert_to_tensor(data)
    return stack([stateless_uniform([], seed, None, None, data.dtype, alg=alg), data])


def random_index_shuffle(index, seed, max_index, rounds: int = 4, name: str | None = None) -> Tensor:
    """Returns the positions of indices in a random permutation, which is not materialised.

    Args:
        index: a number, or a list of numbers, from 0 to `max_index`.
        seed: three numbers, or as many rows of three.
        max_index: the greatest index, or a list.
        rounds: an even number of at least 4: how thoroughly they are mixed.
        name: the name of the operation.
    """
    return call("RandomIndexShuffle", name, index, seed, max_index, rounds=rounds)
