"""Values shown while a graph runs."""

from __future__ import annotations

from flowmill._apply import call
from flowmill.tensor import Tensor


def Print(input_, data, message: str | None = None, first_n: int | None = None, summarize: int | None = None, name: str | None = None) -> Tensor:
    """A tensor as it is; running it writes other tensors to the standard error output.

    Args:
        input_: the tensor.
        data: a list of the tensors to write.
        message: what to write before them.
        first_n: how many times to write; always where it is None.
        summarize: how many elements of each tensor to write; 3 where it is None.
        name: what to call the operation.
    """
    return call("Print", name, input_, data, message=message, first_n=first_n, summarize=summarize)
