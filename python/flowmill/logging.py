"""Messages of programs, through Python's logger ``flowmill``. Those below the level are left out, `WARN` at first."""

from __future__ import annotations

import logging as _logging
import sys as _sys
import threading as _threading
from logging import DEBUG, ERROR, FATAL, INFO, WARN

__all__ = [
    "DEBUG", "ERROR", "FATAL", "INFO", "TaskLevelStatusMessage", "WARN", "debug", "error", "fatal", "flush", "get_logger", "get_verbosity", "info",
    "log", "log_every_n", "log_first_n", "log_if", "set_verbosity", "vlog", "warn", "warning",
]

_lock = _threading.Lock()
_logger: _logging.Logger | None = None
# How often log_every_n and log_first_n were called, by the caller's file and line.
_counts: dict[tuple[str, int], int] = {}


def get_logger() -> _logging.Logger:
    """Returns the logger, which writes to the standard error stream unless the program has configured Python's logging."""
    global _logger
    with _lock:
        if _logger is None:
            found = _logging.getLogger("flowmill")
            found.setLevel(WARN)
            if not _logging.getLogger().handlers:
                interactive = hasattr(_sys, "ps1") or bool(_sys.flags.interactive)
                handler = _logging.StreamHandler(_sys.stdout if interactive else _sys.stderr)
                handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT, None))
                found.addHandler(handler)
                found.propagate = False
            _logger = found
        return _logger


def set_verbosity(v) -> None:
    """Sets the level, a number or a name such as ``"INFO"``."""
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """Returns the level."""
    return get_logger().getEffectiveLevel()


def log(level, msg, *args, **kwargs) -> None:
    """Writes a message of a level; ``msg % args``."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().log(level, msg, *args, **kwargs)


def vlog(level, msg, *args, **kwargs) -> None:
    """Like :func:`log`."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg, *args, **kwargs) -> None:
    """Writes a message of level DEBUG."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().debug(msg, *args, **kwargs)


def info(msg, *args, **kwargs) -> None:
    """Writes a message of level INFO."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().info(msg, *args, **kwargs)


def warning(msg, *args, **kwargs) -> None:
    """Writes a message of level WARN."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg, *args, **kwargs) -> None:
    """Writes a message of level ERROR."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().error(msg, *args, **kwargs)


def fatal(msg, *args, **kwargs) -> None:
    """Writes a message of level FATAL; the program goes on."""
    kwargs.setdefault("stacklevel", 2)
    get_logger().fatal(msg, *args, **kwargs)


def _called() -> int:
    """Returns how often the line of the caller's caller has called before."""
    frame = _sys._getframe(2)
    place = frame.f_code.co_filename, frame.f_lineno
    with _lock:
        count = _counts.get(place, 0)
        _counts[place] = count + 1
    return count


def log_if(level, msg, condition, *args) -> None:
    """Writes a message if `condition` holds."""
    if condition:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_every_n(level, msg, n, *args) -> None:
    """Writes a message the first time and every `n`-th time after that it is called from a line."""
    if _called() % n == 0:
        get_logger().log(level, msg, *args, stacklevel=2)


def log_first_n(level, msg, n, *args) -> None:
    """Writes a message the first `n` times that it is called from a line."""
    if _called() < n:
        get_logger().log(level, msg, *args, stacklevel=2)


def TaskLevelStatusMessage(msg) -> None:
    """Writes a message of level ERROR."""
    error(msg)


def flush() -> None:
    """Does nothing: messages are written at once."""
