"""Initializers: objects that are called with a shape and give the tensor that a variable begins with."""

from __future__ import annotations

import abc
import math

from flowmill._internal.apply import call
from flowmill._internal.array import ones, zeros
from flowmill._internal.convert import constant, convert_to_tensor
from flowmill._internal.graph import get_default_graph
from flowmill._internal.lazy_numpy import np
from flowmill._internal.tensor import Tensor
from flowmill._internal.tensor_shape import TensorShape
from flowmill._internal.together import Together
from flowmill.dtypes import DType, as_dtype
from flowmill.random import normal, truncated_normal, uniform

# Constants of zeros and ones with more elements are made by `Fill`.
_MAX_CONSTANT = 1000


def _sizes(shape) -> list[int]:
    if isinstance(shape, TensorShape):
        return shape.as_list()
    return [int(s) for s in shape] if isinstance(shape, (list, tuple, np.ndarray)) else [int(shape)]


def _filled(name: str, shape, dtype: DType, value) -> Tensor:
    """Returns a tensor of one value; `shape` may be a tensor."""
    is_string = dtype._number == 7
    if isinstance(shape, (list, tuple)) and any(isinstance(size, Tensor) for size in shape):
        return (zeros if name == "zeros" else ones)(shape, dtype)
    if not isinstance(shape, Tensor):
        sizes = _sizes(shape)
        if is_string or math.prod(sizes) < _MAX_CONSTANT:
            return constant(np.full(sizes, value, dtype=object if is_string else dtype._numpy()), dtype, name=name)
        shape = np.array(sizes, np.int32 if max(sizes) < 2**31 else np.int64)
    nodes = Together(name, name, shape)
    sizes = nodes.input(shape, None, "shape_as_tensor")
    return nodes.last("Fill", [sizes, nodes.input(np.full((), value, dtype=dtype._numpy()), dtype, "Const")])


def _floating(dtype) -> DType:
    dtype = as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_complex:
        raise ValueError(f"Argument `dtype` expected to be numeric or floating point type. Received {dtype!r}.")
    return dtype


class Initializer(abc.ABC):
    """A function of a shape, with a configuration that it can be made again from."""

    # Names of the arguments, which are attributes too.
    _config: tuple[str, ...] = ()

    @abc.abstractmethod
    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """The tensor that a variable begins with.

        Args:
            shape: its shape.
            dtype: its type, the initializer's own if it is None.
            partition_info: of which whole it is a part, for variables in parts.
        """

    def get_config(self) -> dict:
        """Returns the arguments that it was made with."""
        config = {name: getattr(self, name) for name in self._config}
        return {name: value.name if isinstance(value, DType) else value for name, value in config.items()}

    @classmethod
    def from_config(cls, config: dict) -> Initializer:
        """Returns an initializer from what :meth:`get_config` gave."""
        return cls(**config)

    def _type(self, dtype) -> DType:
        return as_dtype(self.dtype if dtype is None else dtype)


class Zeros(Initializer):
    """Zeros, empty strings, or false."""

    _config = ("dtype",)

    def __init__(self, dtype="float32") -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        dtype = self._type(dtype)
        return _filled("zeros", shape, dtype, b"" if dtype._number == 7 else 0)


class Ones(Initializer):
    """Ones, or true."""

    _config = ("dtype",)

    def __init__(self, dtype="float32") -> None:
        self.dtype = as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        return _filled("ones", shape, self._type(dtype), 1)


class Constant(Initializer):
    """A value, or a list or array whose last element is repeated.

    Args:
        value: the value.
        dtype: the type.
        verify_shape: whether the value must have the variable's shape.
    """

    _config = ("value", "dtype")

    def __init__(self, value=0, dtype="float32", verify_shape: bool = False):
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected Python scalar, list or tuple of values, "
                            "or numpy.ndarray.")
        self.value, self.dtype, self._verify_shape = value, as_dtype(dtype), verify_shape

    def __call__(self, shape, dtype=None, partition_info=None, verify_shape: bool | None = None) -> Tensor:
        """Returns the tensor."""
        return constant(self.value, self._type(dtype), shape, verify_shape=self._verify_shape if verify_shape is None else verify_shape)


class RandomUniform(Initializer):
    """Numbers that are uniform between two bounds, the upper one left out.

    Args:
        minval: the lower bound.
        maxval: the upper one; 1 for floating-point types.
        seed: the operation's seed.
        dtype: the type.
    """

    _config = ("minval", "maxval", "seed", "dtype")

    def __init__(self, minval=0.0, maxval=None, seed: int | None = None, dtype="float32"):
        self.minval, self.maxval, self.seed, self.dtype = minval, maxval, seed, as_dtype(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        return uniform(shape, self.minval, self.maxval, self._type(dtype), self.seed)


class RandomNormal(Initializer):
    """Numbers that are normal.

    Args:
        mean: their mean.
        stddev: their standard deviation.
        seed: the operation's seed.
        dtype: the type.
    """

    _config = ("mean", "stddev", "seed", "dtype")

    def __init__(self, mean=0.0, stddev=1.0, seed: int | None = None, dtype="float32"):
        self.mean, self.stddev, self.seed, self.dtype = mean, stddev, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        return normal(shape, self.mean, self.stddev, self._type(dtype), self.seed)


class TruncatedNormal(RandomNormal):
    """Numbers that are normal, drawn again if they are more than two standard deviations from the mean. Arguments as of :class:`RandomNormal`."""

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        return truncated_normal(shape, self.mean, self.stddev, self._type(dtype), self.seed)


def _fans(shape) -> tuple[float, float]:
    """Returns the numbers of inputs and outputs of a unit of weights of this shape."""
    shape = _sizes(shape)
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


def _whole_shape(shape, partition_info):
    return shape if partition_info is None else partition_info.full_shape


class UniformUnitScaling(Initializer):
    """Uniform numbers that keep the scale of what they are multiplied with.

    Args:
        factor: multiplies the numbers.
        seed: the operation's seed.
        dtype: the type.
    """

    _config = ("factor", "seed", "dtype")

    def __init__(self, factor=1.0, seed: int | None = None, dtype="float32"):
        self.factor, self.seed, self.dtype = factor, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        sizes = _sizes(_whole_shape(shape, partition_info))
        inputs = 1.0
        for size in sizes[:-1]:
            inputs *= float(size)
        bound = math.sqrt(3 / max(inputs, 1.0)) * self.factor
        return uniform(shape, -bound, bound, self._type(dtype), self.seed)


class VarianceScaling(Initializer):
    """Numbers whose variance is `scale` divided by the number of a unit's inputs or outputs (He et al. 2015, Glorot and Bengio 2010).

    Args:
        scale: a positive number.
        mode: ``"fan_in"``, ``"fan_out"``, or ``"fan_avg"``.
        distribution: ``"normal"`` or ``"truncated_normal"``, ``"untruncated_normal"``, ``"uniform"``.
        seed: the operation's seed.
        dtype: the type.
    """

    _config = ("scale", "mode", "distribution", "seed", "dtype")
    # The standard deviation of a normal distribution cut off at two.
    _TRUNCATED = 0.87962566103423978

    def __init__(self, scale=1.0, mode: str = "fan_in", distribution: str = "truncated_normal", seed: int | None = None, dtype="float32"):
        if scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Argument `mode` should be one of ('fan_in', 'fan_out', 'fan_avg'). Received: {mode}")
        distribution = distribution.lower()
        if distribution not in ("normal", "uniform", "truncated_normal", "untruncated_normal"):
            raise ValueError("Argument `distribution` should be one of ('normal', 'uniform', 'truncated_normal', 'untruncated_normal'). "
                             f"Received: {distribution}")
        self.scale, self.mode, self.distribution, self.seed, self.dtype = scale, mode, distribution, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        dtype = self._type(dtype)
        inputs, outputs = _fans(_whole_shape(shape, partition_info))
        scale = self.scale / max(1.0, {"fan_in": inputs, "fan_out": outputs, "fan_avg": (inputs + outputs) / 2.0}[self.mode])
        if self.distribution == "uniform":
            bound = math.sqrt(3.0 * scale)
            return uniform(shape, -bound, bound, dtype, self.seed)
        if self.distribution == "untruncated_normal":
            return normal(shape, 0.0, math.sqrt(scale), dtype, self.seed)
        return truncated_normal(shape, 0.0, math.sqrt(scale) / self._TRUNCATED, dtype, self.seed)


class GlorotUniform(VarianceScaling):
    """Uniform numbers with the variance ``2 / (inputs + outputs)``."""

    _config = ("seed", "dtype")

    def __init__(self, seed: int | None = None, dtype="float32"):
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """Normal numbers with the variance ``2 / (inputs + outputs)``."""

    _config = ("seed", "dtype")

    def __init__(self, seed: int | None = None, dtype="float32"):
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance ``1 / inputs``."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def he_normal(seed: int | None = None) -> VarianceScaling:
    """Normal numbers with the variance ``2 / inputs``."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform numbers with the variance ``2 / inputs``."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


class Orthogonal(Initializer):
    """A matrix with orthogonal rows or columns, whichever there are fewer of; the last dimension is the columns (Saxe et al. 2013).

    Args:
        gain: multiplies it.
        seed: the operation's seed.
        dtype: the type.
    """

    _config = ("gain", "seed", "dtype")

    def __init__(self, gain=1.0, seed: int | None = None, dtype="float32"):
        self.gain, self.seed, self.dtype = gain, seed, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        dtype = self._type(dtype)
        sizes = _sizes(shape)
        if len(sizes) < 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received shape={shape}")
        rows, columns = math.prod(sizes[:-1]), sizes[-1]
        numbers = normal([columns, rows] if rows < columns else [rows, columns], 0.0, 1.0, dtype, self.seed)
        q, r = call("Qr", None, numbers, full_matrices=False)
        # The signs of R's diagonal make the distribution uniform.
        q = call("Mul", "mul", q, call("Sign", None, call("DiagPart", None, r)))
        if rows < columns:
            with get_default_graph().name_scope("matrix_transpose"):
                q = call("Transpose", "transpose", q, constant([1, 0], name="transpose/perm"))
        q = call("Reshape", None, q, sizes)
        with get_default_graph().name_scope("mul") as scope:
            return call("Mul", scope, convert_to_tensor(self.gain, dtype, "x"), q)


class Identity(Initializer):
    """The identity matrix.

    Args:
        gain: multiplies it.
        dtype: the type.
    """

    _config = ("gain", "dtype")

    def __init__(self, gain=1.0, dtype="float32") -> None:
        self.gain, self.dtype = gain, _floating(dtype)

    def __call__(self, shape, dtype=None, partition_info=None) -> Tensor:
        """Returns the tensor."""
        sizes = _sizes(_whole_shape(shape, partition_info))
        if len(sizes) != 2:
            raise ValueError(f"The tensor to initialize, specified by argument `shape` must be at least two-dimensional. Received shape={shape}")
        dtype = self._type(dtype)
        with get_default_graph().name_scope("eye"):
            diagonal = _filled("ones", [min(sizes)], dtype, 1)
            if sizes[0] == sizes[1]:
                matrix = call("MatrixDiagV3", "diag", diagonal, 0, -1, -1, 0)
            else:
                matrix = call("MatrixSetDiagV3", "set_diag", _filled("zeros", sizes, dtype, 0), diagonal, 0)
        if partition_info is not None:
            matrix = call("Slice", None, matrix, partition_info.var_offset, _sizes(shape))
        with get_default_graph().name_scope("mul") as scope:
            return call("Mul", scope, convert_to_tensor(self.gain, dtype, "x"), matrix)


zeros_initializer, ones_initializer, constant_initializer = Zeros, Ones, Constant
random_uniform_initializer, random_normal_initializer, truncated_normal_initializer = RandomUniform, RandomNormal, TruncatedNormal
uniform_unit_scaling_initializer, variance_scaling_initializer = UniformUnitScaling, VarianceScaling
orthogonal_initializer, glorot_uniform_initializer, glorot_normal_initializer = Orthogonal, GlorotUniform, GlorotNormal
