"""Hooks that write checkpoints."""

from __future__ import annotations

import os
from typing import Any

from flowmill import logging
from flowmill._internal import protos
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill.summary import FileWriterCache
from flowmill.train import write_graph
from flowmill.train._steps import SecondOrStepTimer, step_tensor
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunHook


class CheckpointSaverListener:
    """The base class of listeners, which a :class:`CheckpointSaverHook` notifies of checkpoints."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session, global_step_value) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session, global_step_value) -> Any:
        """Called after; True asks to stop."""

    def end(self, session, global_step_value) -> None:
        """Called at the end."""


class CheckpointSaverHook(SessionRunHook):
    """Writes checkpoints.

    Args:
        checkpoint_dir: the directory.
        save_secs: every so many seconds.
        save_steps: every so many steps; one of both.
        saver: the `Saver`; the scaffold's, or that of the graph's collection if it is None.
        checkpoint_basename: what names of files begin with.
        scaffold: a `Scaffold`.
        listeners: :class:`CheckpointSaverListener` objects.
        save_graph_def: whether to write the graph beside checkpoints.
    """

    def __init__(self, checkpoint_dir, save_secs: float | None = None, save_steps: int | None = None, saver=None,
                 checkpoint_basename: str = "model.ckpt", scaffold=None, listeners=None, save_graph_def: bool = True):
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold, self._directory = saver, scaffold, os.fspath(checkpoint_dir)
        self._path = os.path.join(self._directory, checkpoint_basename)
        self._timer = SecondOrStepTimer(save_secs, save_steps)
        self._listeners, self._save_graph_def = list(listeners or ()), save_graph_def
        self._steps_per_run = 1

    def begin(self) -> None:
        """Looks up the global step."""
        self._writer = FileWriterCache.get(self._directory)
        self._step = step_tensor("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord) -> None:
        """Writes the graph and the first checkpoint."""
        step = session.run(self._step)
        if self._save_graph_def:
            write_graph(get_default_graph().as_graph_def(add_shapes=True), self._directory, "graph.pbtxt")
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Writes one if it is due."""
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session) -> None:
        """Writes the last one."""
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step) -> bool:
        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=int(step), write_meta_graph=self._save_graph_def)
        log = protos.get("SessionLog")
        self._writer.add_session_log(log(status=log.CHECKPOINT, checkpoint_path=self._path), step)
        stop = False
        for listener in self._listeners:
            stop = bool(listener.after_save(session, step)) or stop
        return stop

    def _get_saver(self):
        if self._saver is not None:
            return self._saver
        if self._scaffold is not None:
            return self._scaffold.saver
        savers = get_default_graph().get_collection(GraphKeys.SAVERS)
        if not savers:
            raise RuntimeError(f"No items in collection {GraphKeys.SAVERS}. Please add a saver to the collection or provide a saver or scaffold.")
        if len(savers) > 1:
            raise RuntimeError(f"More than one item in collection {GraphKeys.SAVERS}. Please indicate which one to use by passing it to the constructor.")
        self._saver = savers[0]
        return self._saver
