"""Random operations that give other numbers each time they run."""

from __future__ import annotations

from flowmill._internal.apply import call, op_scope
from flowmill._internal.arguments import unwrapped_sizes
from flowmill._internal.array import broadcast_dynamic_shape, broadcast_to, shape as shape_of, slice as slice_
from flowmill._internal.control_flow import Assert, with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.lazy_numpy import np
from flowmill._internal.random_seed import get_seed
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.together import Together
from flowmill.dtypes import DType, as_dtype, bfloat16, float16, float32, float64, int32, int64
from flowmill.math import maximum, reduce_all

_SHAPE_TYPES = int32._number, int64._number
_UNIFORM_TYPES = (float16, bfloat16, float32, float64, int32, int64)


def shape_argument(shape, of_none: DType = int32) -> Tensor:
    """Returns the shape that an operation is to give, as a tensor called ``shape``; one without sizes has the type `of_none`."""
    empty = isinstance(shape, (list, tuple)) and not shape
    return convert_to_tensor(unwrapped_sizes(shape), of_none if empty else None, name="shape")


def _seeds(seed: int | None) -> dict:
    first, second = get_seed(seed)
    return {"seed": first, "seed2": second}


def uniform(shape, minval=0, maxval=None, dtype=float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers that are all equally likely, in [minval, maxval).

    Args:
        shape: of the result.
        minval: the least, a scalar or a tensor.
        maxval: the bound above; 1 for floating-point numbers, to be given for integers.
        dtype: the type of the numbers.
        seed: of the operation, see :func:`get_seed <flowmill.random_seed.get_seed>`.
        name: the name of the scope.

    Raises:
        ValueError: for another type, and for integers without a bound.
    """
    dtype = as_dtype(dtype)
    if dtype not in _UNIFORM_TYPES:
        raise ValueError(f"Argument `dtype` got invalid value {dtype}. Accepted dtypes are {_UNIFORM_TYPES}.")
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype!r}")
        maxval = 1
    nodes = Together(name, "random_uniform", shape, minval, maxval)
    sizes = _shape_input(nodes, shape)
    from_zero, to_one = type(minval) is int and minval == 0, type(maxval) is int and maxval == 1
    seed1, seed2 = get_seed(seed)
    number = dtype._number
    if dtype.is_integer:
        low, high = nodes.input(minval, dtype, "min"), nodes.input(maxval, dtype, "max")
        return nodes.last("RandomUniformInt", [sizes, low, high], seed=seed1, seed2=seed2)
    if from_zero and to_one:
        return nodes.last("RandomUniform", [sizes], "RandomUniform", dtype=number, seed=seed1, seed2=seed2)
    low, high = nodes.input(minval, dtype, "min"), nodes.input(maxval, dtype, "max")
    numbers = nodes.add("RandomUniform", "RandomUniform", [sizes], dtype=number, seed=seed1, seed2=seed2)
    if from_zero:
        return nodes.last("Mul", [numbers, high], "Mul")
    spread = nodes.add("Sub", "sub", [high, low])
    return nodes.last("AddV2", [nodes.add("Mul", "mul", [numbers, spread]), low])


def _shape_input(nodes: Together, shape):
    """Returns the shape that an operation is to give, as an input called ``shape``."""
    if isinstance(shape, TensorShape) and shape.is_fully_defined():
        shape = shape.as_list()
    shape = unwrapped_sizes(shape)
    return nodes.input(shape, int32 if isinstance(shape, (list, tuple)) and not shape else None, "shape", _SHAPE_TYPES)


def _scaled(op: str, default: str, shape, mean, stddev, dtype, seed, name: str | None) -> Tensor:
    nodes = Together(name, default, shape, mean, stddev)
    sizes = _shape_input(nodes, shape)
    mean, stddev = nodes.input(mean, dtype, "mean"), nodes.input(stddev, dtype, "stddev")
    seed1, seed2 = get_seed(seed)
    numbers = nodes.add(op, op, [sizes], dtype=dtype._number, seed=seed1, seed2=seed2)
    return nodes.last("AddV2", [nodes.add("Mul", "mul", [numbers, stddev]), mean])


def normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of a normal distribution.

    Args:
        shape: of the result.
        mean: the mean, a scalar or a tensor.
        stddev: the standard deviation.
        dtype: the type of the numbers, a floating one.
        seed: of the operation.
        name: the name of the scope.
    """
    return _scaled("RandomStandardNormal", "random_normal", shape, mean, stddev, as_dtype(dtype), seed, name)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Like :func:`normal`, without numbers that are more than two standard deviations from the mean."""
    return _scaled("TruncatedNormal", "truncated_normal", shape, mean, stddev, as_dtype(dtype), seed, name)


def parameterized_truncated_normal(shape, means=0.0, stddevs=1.0, minvals=-2.0, maxvals=2.0, dtype=float32, seed: int | None = None,
                                   name: str | None = None) -> Tensor:
    """Returns random numbers of normal distributions between bounds.

    Args:
        shape: of the result, at least one dimension.
        means, stddevs: scalars, or vectors of one for each index of the first dimension.
        minvals, maxvals: the bounds of the numbers, of the same form.
        dtype: the type of the numbers, a floating one.
        seed: of the operation.
        name: the name of the scope.
    """
    with op_scope(name, "parameterized_truncated_normal", shape, means, stddevs, minvals, maxvals):
        sizes = shape_argument(shape)
        parameters = [convert_to_tensor(value, dtype, name)
                      for value, name in ((means, "means"), (stddevs, "stddevs"), (minvals, "minvals"), (maxvals, "maxvals"))]
        return call("ParameterizedTruncatedNormal", None, sizes, *parameters, **_seeds(seed))


def shuffle(value, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor with its parts along the first dimension in random order."""
    return call("RandomShuffle", name, value, **_seeds(seed))


def gamma(shape, alpha, beta=None, dtype=float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of gamma distributions, `shape` of them for each.

    Args:
        shape: how many for each distribution; the leading dimensions of the result.
        alpha: the shape parameters.
        beta: the inverse scale parameters, 1 by default; `alpha` and `beta` are broadcast together.
        dtype: the type of the numbers.
        seed: of the operation.
        name: the name of the scope.
    """
    with op_scope(name, "random_gamma", shape, alpha, beta):
        shape = convert_to_tensor(shape, int32, "shape")
        alpha = convert_to_tensor(alpha, dtype, "alpha")
        beta = convert_to_tensor(1 if beta is None else beta, dtype, "beta")
        whole = broadcast_dynamic_shape(shape_of(alpha), shape_of(beta))
        numbers = call("RandomGamma", None, shape, broadcast_to(alpha, whole), **_seeds(seed))
        return maximum(np.finfo(alpha.dtype.as_numpy_dtype).tiny, numbers / beta)


def poisson(lam, shape, dtype=float32, seed: int | None = None, name: str | None = None) -> Tensor:
    """Random numbers of Poisson distributions, `shape` of them for each.

    Args:
        lam: the means.
        shape: how many for each distribution; the leading dimensions of the result, before the shape of `lam`.
        dtype: the type of the numbers.
        seed: of the operation.
        name: the name of the scope.
    """
    with op_scope(name, "random_poisson", lam, shape):
        shape = convert_to_tensor(shape, int32, "shape")
        return call("RandomPoissonV2", None, shape, lam, dtype=dtype, **_seeds(seed))


random_poisson = poisson


def multinomial(logits, num_samples, seed: int | None = None, name: str | None = None, output_dtype=None) -> Tensor:
    """Random choices by the logarithms of their odds.

    Args:
        logits: shape ``[batch, classes]``; odds need not sum to 1.
        num_samples: how many for each of the batch, a scalar.
        seed: of the operation.
        name: the name of the scope.
        output_dtype: the type of the numbers of classes, `int64` by default.

    Returns:
        Numbers of classes, ``[batch, num_samples]``.
    """
    with op_scope(name, "multinomial", logits):
        return _chosen(logits, num_samples, output_dtype, seed)


def categorical(logits, num_samples, dtype=None, seed: int | None = None, name: str | None = None) -> Tensor:
    """Like :func:`multinomial`, with `dtype` as the type of the result."""
    with op_scope(name, "categorical", logits):
        return _chosen(logits, num_samples, dtype, seed)


def _chosen(logits, num_samples, dtype, seed) -> Tensor:
    logits = convert_to_tensor(logits, name="logits")
    kind = int64 if dtype is None else as_dtype(dtype)
    return call("Multinomial", None, logits, num_samples, output_dtype=kind, **_seeds(seed))


def random_crop(value, size, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns a part of a tensor of a given size at a random place.

    Args:
        value: the tensor.
        size: the sizes of the part, a vector.
        seed: of the operation.
        name: the name of the scope.

    Raises:
        errors.InvalidArgumentError: while it runs, if the tensor is smaller.
    """
    with op_scope(name, "random_crop", value, size) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, int32, "size")
        sizes = shape_of(value)
        fits = Assert(reduce_all(sizes >= size), ["Need value.shape >= size, got ", sizes, size], summarize=1000)
        sizes = with_dependencies([fits], sizes)
        limit = sizes - size + 1
        offset = uniform(shape_of(limit), dtype=size.dtype, maxval=size.dtype.max, seed=seed) % limit
        return slice_(value, offset, size, scope)
