"""Operations that are run when a model is loaded."""

from __future__ import annotations

from flowmill.control_flow import group
from flowmill.graph import get_default_graph
from flowmill.saved_model.builder import main_op
from flowmill.tensor import Operation

__all__ = ["main_op", "main_op_with_restore"]


def main_op_with_restore(restore_op_name: str) -> Operation:
    """Like :func:`main_op`, after the operation that restores the variables."""
    with get_default_graph().control_dependencies([main_op()]):
        return group(get_default_graph().get_operation_by_name(restore_op_name))
