"""Whether control flow becomes functions (`If`, `While`, `Case`) or frames (`Switch`, `Merge`, `Enter`)."""

from __future__ import annotations

from flowmill import _behavior


def is_functional(graph) -> bool:
    """Whether control flow that is added to a graph becomes functions: in bodies of those always."""
    return _behavior._control_flow_v2 or graph.functional_control_flow
