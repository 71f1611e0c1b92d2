"""Python's operators on tensors, and on objects that provide a tensor."""

from __future__ import annotations

from flowmill._internal.apply import apply_op, op_scope, signature
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import is_ragged, of_rows
from flowmill._internal.graph_stack import is_captured, target
from flowmill._internal.tensor import Tensor
from flowmill.dtypes import as_dtype

_REF = 100
_STRING, _BOOL = 7, 10
# Types that division makes of integers, by their numbers: small ones become float32.
TRUE_DIVISION = {4: "float32", 6: "float32", 5: "float32", 17: "float32", 3: "float64", 9: "float64", 22: "float64", 23: "float64"}


def binary(op: str, name: str | None, x, y, display: str | None = None):
    """Returns an op of two tensors, at least one of which is one; the other becomes one of the same type.

    Args:
        op: the op.
        name: its name; `display` if it is None.
        display: the name by default, such as ``"add"``.
    """
    if type(x) is Tensor:
        if type(y) is Tensor:
            graph = x._graph
            if y._graph is graph and not is_captured(graph) and (x._type == y._type or x._type % _REF == y._type % _REF) and not graph._finalized:
                return graph._add_for_output(((op, name or display or op, (x._key, y._key), None),))
            return apply_op(op, name or display, (x, y))._outputs[0]
        like, at = x, 1
    else:
        if type(y) is not Tensor:
            like = x = convert_to_tensor(x, dtype_hint=getattr(y, "dtype", None), name="x")
            return binary(op, name, x, y, display)
        like, at = y, 0
    other = y if at else x
    if type(other) in _NUMBERS:
        made = like._graph._add_with_number(op, name or display or op, like, other, at)
        if made is not None:
            return made
    if is_ragged(other):
        return of_rows(lambda a, b: binary(op, name, a, b, display), x, y)
    graph = target(like._graph)
    graph._check_not_finalized()
    with graph.as_default(), op_scope(name, display or op) as scope:
        other = convert_to_tensor(other, dtype_hint=like.dtype.base_dtype, name="y" if at else "x")
    return apply_op(op, scope, (like, other) if at else (other, like), graph=graph)._outputs[0]


_NUMBERS = frozenset((float, int, bool))


def add(x, y, name: str | None = None):
    """Returns the sum; strings are joined."""
    of_type = (x if isinstance(x, Tensor) else y)._type
    return binary("AddV2" if of_type % _REF != _STRING else "Add", name, x, y, "add")


def truediv(x, y, name: str | None = None):
    """Returns the quotient as Python 3 has it: integers become `float64`, those of up to 16 bits `float32`.

    Raises:
        TypeError: if the types differ.
    """
    like, other = (x, y) if isinstance(x, Tensor) else (y, x)
    if is_ragged(other):
        return of_rows(truediv, x, y)
    graph = target(like._graph)
    with graph.as_default(), graph.name_scope(name or "truediv") as scope:
        hint = like.dtype.base_dtype
        x = convert_to_tensor(x, dtype_hint=hint, name="x")
        y = convert_to_tensor(y, dtype_hint=hint, name="y")
        if x._type % _REF != y._type % _REF:
            raise TypeError(f"`x` and `y` must have the same dtype, got {x.dtype!r} != {y.dtype!r}.")
        wide = TRUE_DIVISION.get(x._type % _REF)
        if wide is not None:
            x, y = (apply_op("Cast", "Cast", [v], {"DstT": as_dtype(wide)})._outputs[0] for v in (x, y))
        return apply_op("RealDiv", scope, (x, y))._outputs[0]


def _logical(op: str, bitwise: str, display: str):
    """Returns an operator of truth values that is one of bits for integers."""
    def operator(x, y):
        like = x if isinstance(x, Tensor) else y
        if like._type % _REF == _BOOL:
            return logical_xor(x, y, display) if op == "LogicalXor" else binary(op, None, x, y, display)
        graph = target(like._graph)
        with graph.as_default(), graph.name_scope(display):
            try:
                return binary(bitwise, None, x, y)
            except ValueError:
                signature(bitwise, graph).check_type("T", like._type % _REF, "x")
                raise
    return operator


def logical_xor(x, y, name: str | None = None):
    """Returns for each pair of elements whether exactly one of them is true."""
    like = x if isinstance(x, Tensor) else y
    graph = target(like._graph)
    with graph.as_default(), graph.name_scope(name or "LogicalXor") as scope:
        either, both = binary("LogicalOr", None, x, y), binary("LogicalAnd", None, x, y)
        return apply_op("LogicalAnd", scope, (either, apply_op("LogicalNot", None, [both])._outputs[0]))._outputs[0]


def _operator(op: str, display: str | None, otherwise=None):
    """Returns an operator of an op; `otherwise` is called where a tensor and a number do not decide it."""
    name = display or op
    reflected = f"__r{name}__"
    otherwise = otherwise or (lambda x, y: binary(op, None, x, y, display))

    def operator(x, y):
        # Called most often, so without a further call.
        if type(x) is Tensor and type(y) in _NUMBERS:
            made = x._graph._add_with_number(op, name, x, y, 1)
            if made is not None:
                return made
        try:
            return otherwise(x, y)
        except (TypeError, ValueError):
            found = _by_reflected(reflected, x, y)
            if found is NotImplemented:
                raise
            return found
    return operator


def _by_reflected(reflected: str, x, y):
    """Returns what the reflected operator of `y` makes of a tensor; NotImplemented if it has none, or is no object that may know tensors."""
    if isinstance(y, (Tensor, OperatorsOfTensor)) or type(y).__module__ in ("builtins", "numpy"):
        return NotImplemented
    try:
        return getattr(type(y), reflected, lambda *_: NotImplemented)(y, x)
    except (TypeError, ValueError):
        return NotImplemented


def _matmul(x, y):
    from flowmill.math import matmul  # cycle: math._elementwise imports this module

    return matmul(x, y)


def _multiply(x, y):
    sparse = getattr(y, "_multiplied_by_dense", None)
    return binary("Mul", None, x, y, "mul") if sparse is None else sparse(x)


_BINARY = {
    "add": _operator("AddV2", "add", add), "sub": _operator("Sub", "sub"), "mul": _operator("Mul", "mul", _multiply), "truediv": truediv, "div": truediv,
    "floordiv": _operator("FloorDiv", "floordiv"), "mod": _operator("FloorMod", "mod"), "pow": _operator("Pow", "pow"), "matmul": _matmul,
    "and": _logical("LogicalAnd", "BitwiseAnd", "and"), "or": _logical("LogicalOr", "BitwiseOr", "or"),
    "xor": _logical("LogicalXor", "BitwiseXor", "xor"),
}
_COMPARISONS = {"lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}


def _invert(x):
    return apply_op("LogicalNot" if x._type % _REF == _BOOL else "Invert", None, [x])._outputs[0]


def _abs(x):
    op = "ComplexAbs" if x.dtype.is_complex else "Abs"
    return apply_op(op, None, [x], {"Tout": x.dtype.real_dtype} if op == "ComplexAbs" else None)._outputs[0]


def _getitem(x, index):
    from flowmill._internal.slicing import getitem  # cycle: array._creation imports this module

    return getitem(x, index)


def operators() -> dict:
    """Python's special methods by name, as functions of a tensor."""
    found = {"__neg__": lambda x: apply_op("Neg", None, [x])._outputs[0], "__abs__": _abs, "__invert__": _invert, "__getitem__": _getitem}
    for name, function in _BINARY.items():
        found[f"__{name}__"] = function
        found[f"__r{name}__"] = lambda x, y, f=function: f(y, x)
    for name, op in _COMPARISONS.items():
        found[f"__{name}__"] = _operator(op, None)
    return found


def install() -> None:
    """Adds its operators to :class:`Tensor`."""
    for name, function in operators().items():
        setattr(Tensor, name, function)


class OperatorsOfTensor:
    """A base class of objects that provide a tensor (by `_as_tensor`): their operators are those of the tensor."""

    __array_priority__ = 100


def _delegating(name: str):
    def operator(self, *arguments):
        return getattr(self._as_tensor(), name)(*arguments)
    return operator


for _name in operators():
    setattr(OperatorsOfTensor, _name, _delegating(_name))
