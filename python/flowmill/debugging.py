"""Conditions that are checked while a graph is built, where their values are known, and while it runs."""

from __future__ import annotations

from flowmill._apply import call, op_scope
from flowmill._convert import convert_n_to_tensor, convert_to_tensor


def Assert(condition, data, summarize: int | None = None, name: str | None = None):
    """An operation that fails unless a condition holds.

    Args:
        condition: a boolean scalar.
        data: a list of the tensors to show when it fails.
        summarize: how many elements of each to show; 3 where it is None.
        name: what to call the operation.

    Raises:
        errors.InvalidArgumentError: while it runs.
    """
    from flowmill.control_flow import cond, no_op

    with op_scope(name, "Assert", condition, data):
        tensors = convert_n_to_tensor(data)
        if all(t.dtype.base_dtype.name in ("string", "int32") for t in tensors):
            # What shall be shown lies where it is shown.
            return call("Assert", "Assert", condition, data, summarize=summarize)
        condition = convert_to_tensor(condition, name="Condition")
        guarded = cond(condition, no_op, lambda: call("Assert", "Assert", condition, data, summarize=summarize), name="AssertGuard")
        return guarded if guarded is None else guarded.op if hasattr(guarded, "op") else guarded
