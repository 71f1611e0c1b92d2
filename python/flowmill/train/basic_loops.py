"""A loop that trains until it is told to stop."""

from __future__ import annotations

from collections.abc import Callable

from flowmill.errors import AbortedError

__all__ = ["basic_train_loop"]


def basic_train_loop(supervisor, train_step_fn: Callable, args=None, kwargs=None, master: str = "") -> None:
    """Calls a function with a supervisor's session until that says that it should stop; once more from the start if a step was aborted.

    Args:
        supervisor: a :class:`Supervisor`.
        train_step_fn: called as ``train_step_fn(session, *args, **kwargs)``.
        args: positional arguments.
        kwargs: keyword arguments.
        master: the address of the session.
    """
    while True:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            return
        except AbortedError:
            continue
