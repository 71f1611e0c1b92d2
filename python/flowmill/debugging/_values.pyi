# Made by python/make_stubs from the code.

from flowmill._internal.tensor import Operation, Tensor

def message_prefix(message: str | None) -> str: ...
def assert_equal(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x == y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_none_equal(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x != y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_less(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x < y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_less_equal(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x <= y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_greater(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x > y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_greater_equal(x, y, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x >= y`` holds for all elements.

    Args:
        x: a tensor.
        y: another one.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_positive(x, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x > 0`` holds for all elements.

    Args:
        x: a tensor.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_negative(x, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x < 0`` holds for all elements.

    Args:
        x: a tensor.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_non_negative(x, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x >= 0`` holds for all elements.

    Args:
        x: a tensor.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_non_positive(x, data=None, summarize: int | None = None, message: str | None = None, name: str | None = None) -> Operation:
    """Checks that ``x <= 0`` holds for all elements.

    Args:
        x: a tensor.
        data: what to show when it does not hold; text and the tensors by default.
        summarize: how many elements of each tensor to show.
        message: what to write before that.
        name: of the scope.

    Returns:
        An operation that fails where it does not hold.

    Raises:
        errors.InvalidArgumentError: while the graph is built where the values are known, else while the operation runs.
    """
def assert_near(
    x,
    y,
    rtol=None,
    atol=None,
    data=None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation: ...
def check_numerics(tensor, message: str, name: str | None = None) -> Tensor: ...
def assert_all_finite(t=None, msg: str | None = None, name: str | None = None, x=None, message: str | None = None) -> Tensor: ...
verify_tensor_all_finite = assert_all_finite
def add_check_numerics_ops() -> Operation: ...
