"""Hooks around the steps of a monitored session."""

from __future__ import annotations

import collections

from flowmill._internal.session import Session


class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """The request of a step: the arguments of `Session.run`."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        """For namedtuple's defaults."""
        return super().__new__(cls, fetches, feed_dict, options)


class SessionRunContext:
    """The information that a hook gets about a step.

    Args:
        original_args: what the caller asked for, a :class:`SessionRunArgs`.
        session: the session.
    """

    def __init__(self, original_args: SessionRunArgs, session):
        self._original_args, self._session, self._stop_requested = original_args, session, False

    @property
    def original_args(self) -> SessionRunArgs:
        """The caller's request."""
        return self._original_args

    @property
    def session(self) -> Session:
        """The session."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """True if a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Asks to stop after this step."""
        self._stop_requested = True


SessionRunValues = collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])


class SessionRunHook:
    """A hook: subclasses define what they need of these methods."""

    def begin(self) -> None:
        """Called once, before the session is made; may still add to the graph."""

    def after_create_session(self, session, coord) -> None:
        """Called whenever a session was made."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before a step; returns what the step shall fetch besides, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values) -> None:
        """Called after a step, with the values of what :meth:`before_run` asked for."""

    def end(self, session) -> None:
        """Called at the end, unless a step failed."""
