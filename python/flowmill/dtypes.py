"""The types of tensors' elements."""

from __future__ import annotations

from typing import Any

from flowmill import _core
from flowmill._internal import lazy as _lazy
from flowmill._internal.lazy_numpy import np

# Names by number, in `types.proto`'s order.
_NAMES = (
    "float32", "float64", "int32", "uint8", "int16", "int8", "string", "complex64", "int64", "bool", "qint8", "quint8", "qint32",
    "bfloat16", "qint16", "quint16", "uint16", "complex128", "float16", "resource", "variant", "uint32", "uint64", "float8_e5m2",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz", "int4", "uint4", "int2", "uint2",
)
_REF_OFFSET = 100
_FLOATING = {"float16", "float32", "float64", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2fnuz"}
_INTEGER = {"int2", "uint2", "int4", "uint4", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_QUANTIZED = {"qint8", "quint8", "qint16", "quint16", "qint32"}


class DType:
    """The type of a tensor's elements. There is one object for each type, so that `is` compares too.

    A DType equals whatever :func:`as_dtype` makes it of: ``tf.float32 == np.float32`` and ``tf.float32 == "float32"``.
    """

    __slots__ = ("_number", "_name", "_base", "__weakref__")

    def __init__(self, number: int, base: DType | None = None):
        if not 0 < number % _REF_OFFSET <= len(_NAMES):
            raise TypeError(f"{number} is not the number of a DataType.")
        self._number = number
        self._name = _NAMES[number % _REF_OFFSET - 1] + ("_ref" if base else "")
        # What a reference refers to.
        self._base = base or self

    @property
    def name(self) -> str:
        """TensorFlow's name, such as ``"float32"``; that of a reference ends with ``_ref``."""
        return self._name

    @property
    def as_datatype_enum(self) -> int:
        """The number of the type in `DataType`; a reference's is larger by 100."""
        return self._number

    @property
    def _is_ref_dtype(self) -> bool:
        return self._number > _REF_OFFSET

    @property
    def _as_ref(self) -> DType:
        return self if self._is_ref_dtype else _BY_NUMBER[self._number + _REF_OFFSET]

    @property
    def base_dtype(self) -> DType:
        """The type referred to by a reference; the type itself otherwise."""
        return self._base

    @property
    def real_dtype(self) -> DType:
        """The type of a complex number's parts; the type itself otherwise."""
        parts = {"complex64": "float32", "complex128": "float64"}
        name = self.base_dtype._name
        real = _BY_NAME[parts.get(name, name)]
        return real._as_ref if self._is_ref_dtype else real

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's scalar type, such as ``numpy.float32``; ``object`` for strings, resources and variants."""
        return object if self.base_dtype._name in ("string", "resource", "variant") else self._numpy().type

    def _numpy(self) -> np.dtype:
        return _core.numpy_dtype(self._number)

    @property
    def is_numpy_compatible(self) -> bool:
        """True if NumPy arrays can hold such elements: not handles and variants."""
        return self.base_dtype._name not in ("resource", "variant")

    @property
    def is_bool(self) -> bool:
        """True for the type of booleans."""
        return self.base_dtype._name == "bool"

    @property
    def is_floating(self) -> bool:
        """True for types of floating-point numbers that are real and not quantised."""
        return self._base._name in _FLOATING

    @property
    def is_complex(self) -> bool:
        """True for types of complex numbers."""
        return self.base_dtype._name in ("complex64", "complex128")

    @property
    def is_integer(self) -> bool:
        """True for types of integers that are not quantised."""
        return self.base_dtype._name in _INTEGER

    @property
    def is_quantized(self) -> bool:
        """True for types of integers that represent real numbers."""
        return self.base_dtype._name in _QUANTIZED

    @property
    def is_unsigned(self) -> bool:
        """True for types of integers without a sign."""
        return self.base_dtype._name in _INTEGER and self._name.startswith("u")

    @property
    def size(self) -> int:
        """Bytes of an element; 0 if they vary."""
        has_size = self.is_numpy_compatible and self.base_dtype._name != "string"
        return self._numpy().itemsize if has_size else 0

    @property
    def min(self) -> Any:
        """The least finite value.

        Raises:
            TypeError: for a type without one, such as a complex one.
        """
        return self._limits("min")

    @property
    def max(self) -> Any:
        """The greatest finite value.

        Raises:
            TypeError: for a type without one, such as a complex one.
        """
        return self._limits("max")

    @property
    def limits(self) -> Any:
        """The least and the largest value of an integer type of the kind that images have, (0, 1) for a floating one."""
        return (0, 1) if self.is_floating else (0 if self.is_unsigned else self.min, self.max)

    def _limits(self, which: str):
        if self.is_bool:
            return which == "max"
        if self.is_integer:
            return getattr(np.iinfo(self._numpy()), which)
        if self.is_floating:
            info = np.finfo if self._name in ("float16", "float32", "float64") else __import__("ml_dtypes").finfo
            return getattr(info(self._numpy()), which)
        raise TypeError(f"Cannot find {which}imum value of {self}.")

    def is_compatible_with(self, other) -> bool:
        """Returns true if a tensor of type `other` can be used as one of this type; a reference can also be used as the type it refers to."""
        other = as_dtype(other)
        return self._number in (other._number, other.base_dtype._number)

    def is_subtype_of(self, other) -> bool:
        """Returns true if `other` is this type: types have no subtypes."""
        return self == other

    def most_specific_common_supertype(self, types) -> DType | None:
        """Returns this type if all of `types` are it, else None."""
        return self if all(self == other for other in types) else None

    def __eq__(self, other):
        if isinstance(other, DType):
            return self._number == other._number
        try:
            return self._number == as_dtype(other)._number
        except TypeError:
            return False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return self._number

    def __repr__(self):
        return "tf." + self._name

    def __str__(self):
        return f"<dtype: '{self._name}'>"

    def __int__(self):
        return self._number

    def __reduce__(self):
        return as_dtype, (self._name,)


_BY_NUMBER = {number: DType(number) for number in range(1, len(_NAMES) + 1)}
_BY_NUMBER.update({number + _REF_OFFSET: DType(number + _REF_OFFSET, base) for number, base in _BY_NUMBER.items()})
_BY_NAME = {dtype._name: dtype for dtype in _BY_NUMBER.values()}
_BY_NAME.update({"half": _BY_NAME["float16"], "double": _BY_NAME["float64"], "float": _BY_NAME["float32"]})
_BY_NAME.update({"half_ref": _BY_NAME["float16_ref"], "double_ref": _BY_NAME["float64_ref"], "float_ref": _BY_NAME["float32_ref"]})
_BY_PYTHON_TYPE = {float: _BY_NAME["float32"], bool: _BY_NAME["bool"], object: _BY_NAME["string"], str: _BY_NAME["string"], bytes: _BY_NAME["string"]}

float16 = half = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float32 = _BY_NAME["float32"]
float64 = double = _BY_NAME["float64"]
int4, int8, int16, int32, int64 = (_BY_NAME[n] for n in ("int4", "int8", "int16", "int32", "int64"))
uint4, uint8, uint16, uint32, uint64 = (_BY_NAME[n] for n in ("uint4", "uint8", "uint16", "uint32", "uint64"))
complex64, complex128 = _BY_NAME["complex64"], _BY_NAME["complex128"]
qint8, quint8, qint16, quint16, qint32 = (_BY_NAME[n] for n in ("qint8", "quint8", "qint16", "quint16", "qint32"))
bool = _BY_NAME["bool"]  # noqa: A001 - TensorFlow's name
string, resource, variant = _BY_NAME["string"], _BY_NAME["resource"], _BY_NAME["variant"]


# The types of numbers that represent real ones by a range, with references.
QUANTIZED_DTYPES = frozenset(t for q in (qint8, quint8, qint16, quint16, qint32) for t in (q, q._as_ref))


# What NumPy's types were found to be, but for those of strings, of which there is one for each length.
_BY_NUMPY: dict[np.dtype, DType] = {}


def _of_numpy(numpy_type: np.dtype) -> DType | None:
    if numpy_type.kind in "SUOT":
        return string
    if numpy_type.name in _BY_NAME:
        return _BY_NAME[numpy_type.name]
    if numpy_type.kind in "iu":  # C's types of one size have two names
        return _BY_NAME[f"{'u' if numpy_type.kind == 'u' else ''}int{numpy_type.itemsize * 8}"]
    return None


def as_dtype(type_value) -> DType:
    """Returns the DType for a DType, its number, its name, a NumPy type or a Python type.

    Raises:
        TypeError: if there is no such DType.
    """
    if isinstance(type_value, DType):
        return type_value
    try:
        found = _BY_NUMBER.get(type_value) or _BY_NAME.get(type_value) or _BY_PYTHON_TYPE.get(type_value)
    except TypeError:  # not hashable
        found = None
    if found is not None:
        return found
    if isinstance(type_value, np.dtype):
        found = _BY_NUMPY.get(type_value) or _of_numpy(type_value)
        if found is not None:
            if type_value.kind not in "SU":
                _BY_NUMPY[type_value] = found
            return found
    own = getattr(type_value, "dtype", None)
    if isinstance(own, DType):  # the type of a tensor
        return own
    # NumPy's own names, such as "int", are not among TensorFlow's.
    if not isinstance(type_value, (str, bytes)):
        try:
            found = _of_numpy(np.dtype(type_value if own is None or isinstance(type_value, type) else own))
        except TypeError:
            found = None
        if found is not None:
            return found
    raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")


# Functions of types that make operations: ``tf.dtypes.cast``.
__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill", {"math": "cast complex saturate_cast", "strings": "as_string"}))
