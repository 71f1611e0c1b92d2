"""Whether control flow becomes functions (`If`, `While`, `Case`) or frames (`Switch`, `Merge`, `Enter`)."""

from __future__ import annotations

_enabled = False


def enable_control_flow_v2() -> None:
    """Lets conditionals and loops be operations with functions as their bodies, and TensorArrays be TensorLists, from now on."""
    global _enabled
    _enabled = True


def disable_control_flow_v2() -> None:
    """Lets conditionals and loops be frames again, from now on."""
    global _enabled
    _enabled = False


def control_flow_v2_enabled() -> bool:
    """Whether control flow becomes functions."""
    return _enabled


def is_functional(graph) -> bool:
    """Whether control flow that is added to a graph becomes functions: in bodies of those always."""
    return _enabled or graph.functional_control_flow
