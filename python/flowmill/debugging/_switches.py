"""Switches of what is said about failures."""

from __future__ import annotations

_is_filtering = True
_logs_placement = False


def disable_traceback_filtering() -> None:
    """Says that tracebacks shall show everything, which they do anyway."""
    global _is_filtering
    _is_filtering = False


def enable_traceback_filtering() -> None:
    """Says that tracebacks may leave out what is inside of this package. They show everything still."""
    global _is_filtering
    _is_filtering = True


def is_traceback_filtering_enabled() -> bool:
    """Returns true if traceback filtering is enabled, as it is at first."""
    return _is_filtering


def get_log_device_placement() -> bool:
    """Returns the last argument of :func:`set_log_device_placement`; false at first."""
    return _logs_placement


def set_log_device_placement(enabled: bool) -> None:
    """Says whether devices of eager operations shall be logged. There are none, so nothing is."""
    global _logs_placement
    _logs_placement = bool(enabled)


__all__ = [
    "disable_traceback_filtering", "enable_traceback_filtering", "get_log_device_placement", "is_traceback_filtering_enabled",
    "set_log_device_placement",
]
