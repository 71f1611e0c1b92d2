"""Operations that are run when a model is loaded."""

from __future__ import annotations

from flowmill._internal.control_flow import group
from flowmill._internal.graph import get_default_graph
from flowmill._internal.tensor import Operation
from flowmill.saved_model.builder import main_op

__all__ = ["main_op", "main_op_with_restore"]


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Like :func:`main_op`, after the operation that restores the variables."""
    with get_default_graph().control_dependencies([main_op()]):
        return group(get_default_graph().get_operation_by_name(restore_op_name))
