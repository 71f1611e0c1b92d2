"""Checks of tensors' values: when they are known while the graph is built, a check that fails raises at once; otherwise running it fails."""

from __future__ import annotations

import numpy as np

from flowmill._internal.apply import call, op_scope
from flowmill._internal.arguments import one_of
from flowmill._internal.control_flow import Assert, group, with_dependencies
from flowmill._internal.convert import convert_to_tensor
from flowmill._internal.dispatch import elementwise, pairwise
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Operation, Tensor
from flowmill._internal.tensor_util import constant_value
from flowmill.errors import InvalidArgumentError
from flowmill.math import abs as abs_, less, reduce_all


def message_prefix(message: str | None) -> str:
    """Returns the prefix of the text of an error."""
    return f"{message}.  " if message else ""


def _shown(item) -> str:
    value = constant_value(item) if isinstance(item, Tensor) else None
    return str(item if value is None else value)


def _binary(sign: str, default: str, op: str, check, x, y, data, summarize, message, name) -> Operation:
    """Checks that a comparison holds for all elements."""
    with op_scope(name, default, x, y, data):
        x, y = convert_to_tensor(x, name="x"), convert_to_tensor(y, name="y")
        if data is None:
            data = [f"Condition x {sign} y did not hold element-wise:", f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        if message is not None:
            data = [message, *data]
        condition = reduce_all(call(op, None, x, y))
        values = constant_value(x), constant_value(y)
        if values[0] is not None and values[1] is not None and not np.all(check(*values)):
            raise InvalidArgumentError(None, None, "\n".join(_shown(item) for item in data))
        return Assert(condition, data, summarize=summarize)


_DOC = """Checks that ``{condition}`` holds for all elements.

    Args:
        x: a tensor.{other}
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """


def _named(function, name: str, condition: str, other: str = ""):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = _DOC.format(condition=condition, other=other)
    return function


def _comparison(sign: str, default: str, op: str, check, same_is_right: bool = False):
    def function(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
        if same_is_right:
            with op_scope(name, default, x, y, data):
                if x is y:
                    return call("NoOp", None)
        return _binary(sign, default, op, check, x, y, data, summarize, message, name)
    return _named(function, default, f"x {sign} y", "\n        y: another one.")


assert_equal = pairwise(_comparison("==", "assert_equal", "Equal", np.equal, same_is_right=True))
assert_none_equal = pairwise(_comparison("!=", "assert_none_equal", "NotEqual", np.not_equal))
assert_less = pairwise(_comparison("<", "assert_less", "Less", np.less))
assert_less_equal = pairwise(_comparison("<=", "assert_less_equal", "LessEqual", np.less_equal))
assert_greater = pairwise(_comparison(">", "assert_greater", "Greater", np.greater))
assert_greater_equal = pairwise(_comparison(">=", "assert_greater_equal", "GreaterEqual", np.greater_equal))


def _sign_check(sign: str, default: str, compare, zero_first: bool, joined: bool = False):
    def function(x, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
        message = message_prefix(message)
        with op_scope(name, default, x, data):
            x = convert_to_tensor(x, name="x")
            if data is None:
                texts = [f"Condition x {sign} 0 did not hold element-wise:", f"x ({x.name}) = "]
                data = [message, *(["".join(texts)] if joined else texts), x]
            zero = convert_to_tensor(0, x.dtype.base_dtype)
            return compare(zero, x, data=data, summarize=summarize) if zero_first else compare(x, zero, data=data, summarize=summarize)
    return _named(function, default, f"x {sign} 0")


assert_positive = _sign_check(">", "assert_positive", assert_less, True)
assert_negative = _sign_check("<", "assert_negative", assert_less, False)
assert_non_negative = _sign_check(">=", "assert_non_negative", assert_less_equal, True)
assert_non_positive = _sign_check("<=", "assert_non_positive", assert_less_equal, False, joined=True)


@pairwise
def assert_near(x, y, rtol=None, atol=None, data=None, summarize: int | None = None, message: str | None = None,
                name: str | None = None) -> Operation:
    """Checks that ``|x - y| < atol + rtol * |y|`` holds for all elements.

    Args:
        x: a tensor of floating-point numbers.
        y: another one.
        rtol: ten times the distance of numbers next to 1 by default.
        atol: the same.
        data: what to show when it does not hold; text and both tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: the name of the scope.

    Returns:
        An operation that fails if it does not hold.

    Raises:
        errors.InvalidArgumentError: while it runs.
        ValueError: for integers.
    """
    message = message_prefix(message)
    with op_scope(name, "assert_near", x, y, rtol, atol, data):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, x.dtype.base_dtype, name="y")
        kind = x.dtype.base_dtype
        if not (kind.is_floating or kind.is_complex):
            raise ValueError(f"data type {kind.as_numpy_dtype} not inexact")
        real = kind.real_dtype
        precision = 10 * (np.finfo(real.as_numpy_dtype).eps if real.name != "bfloat16" else 2.0**-7)
        rtol = convert_to_tensor(precision if rtol is None else rtol, real, name="rtol")
        atol = convert_to_tensor(precision if atol is None else atol, real, name="atol")
        if data is None:
            data = [message, f"x and y not equal to tolerance rtol = {rtol}, atol = {atol}", f"x ({x.name}) = ", x, f"y ({y.name}) = ", y]
        bound = atol + rtol * abs_(y)
        return Assert(reduce_all(less(abs_(x - y), bound)), data, summarize=summarize)


@elementwise
def check_numerics(tensor, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor as it is; running it fails if it has infinite elements or such that are not numbers.

    Args:
        tensor: floating-point numbers.
        message: what the error begins with.
        name: the name of the operation.
    """
    return call("CheckNumerics", name, tensor, message=message)


def assert_all_finite(t=None, msg: str | None = None, name: str | None = None, x=None, message: str | None = None) -> Tensor:
    """Returns a tensor as it is, once it has been checked by :func:`check_numerics`.

    Args:
        t: the tensor.
        msg: what the error begins with.
        name: the name of the scope.
        x: `t` by its other name.
        message: `msg` by its other name.
    """
    x, message = one_of("t", t, "x", x), one_of("msg", msg, "message", message)
    with op_scope(name, "VerifyFinite", x):
        x = convert_to_tensor(x, name="t")
        with x.graph.colocate_with(x):
            checked = check_numerics(x, message)
        return with_dependencies([checked], x)


verify_tensor_all_finite = assert_all_finite


def add_check_numerics_ops() -> Operation:
    """Returns an operation that fails if a tensor of floating-point numbers, of those that are in the default graph now, has elements that are not finite.

    Raises:
        ValueError: if one of them is within control flow.
    """
    graph = get_default_graph()
    last: list[Tensor] = []
    for op in graph.get_operations():
        for tensor in op._outputs:
            if tensor.dtype.base_dtype.name not in ("float16", "float32", "float64", "bfloat16"):
                continue
            if graph._core.context_of(graph._thread.here.scope, op._id) is not None:
                raise ValueError("`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as `tf.cond()` or "
                                 "`tf.while_loop()`.")
            with graph.control_dependencies(last):
                last = [check_numerics(tensor, f"{op.name}:{tensor.value_index}")]
    return group(*last)
