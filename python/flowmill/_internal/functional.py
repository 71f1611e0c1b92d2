"""Tells whether control flow becomes functions (`If`, `While`, `Case`) or frames (`Switch`, `Merge`, `Enter`)."""

from __future__ import annotations

from flowmill._internal import behavior


def is_functional(graph) -> bool:
    """Returns true if control flow that is added to a graph becomes functions, as it always does in bodies of functions."""
    return behavior._control_flow_v2 or graph.functional_control_flow
