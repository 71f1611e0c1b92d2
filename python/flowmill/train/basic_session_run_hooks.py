"""Hooks that stop training, let it wait, feed it, and end it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from flowmill import logging
from flowmill.train._steps import step_tensor
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunHook


class StopAtStepHook(SessionRunHook):
    """Asks to stop at a step.

    Args:
        num_steps: how many steps to take after the first one.
        last_step: the step to stop at; one of both.
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None):
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def begin(self) -> None:
        """Looks up the global step."""
        self._step = step_tensor("StopAtStepHook")

    def after_create_session(self, session, coord) -> None:
        """Notes the first step."""
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Asks to stop."""
        if run_values.results + 1 >= self._last_step:
            # The value may be that of before the step.
            if run_context.session.run(self._step) >= self._last_step:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops if a loss is no number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: raises :class:`NanLossDuringTrainingError`; otherwise asks to stop.
    """

    def __init__(self, loss_tensor, fail_on_nan_loss: bool = True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values) -> None:
        """Looks at it."""
        if np.isnan(run_values.results):
            if self._fail:
                logging.error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Waits with the first step until others have taken `wait_until_step` steps."""

    def __init__(self, wait_until_step: int):
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        """Looks up the global step."""
        self._is_waiting = self._wait_until_step > 0
        self._step = step_tensor("GlobalStepWaiterHook")

    def before_run(self, run_context) -> SessionRunArgs | None:
        """Waits."""
        while self._is_waiting:
            if run_context.session.run(self._step) >= self._wait_until_step:
                self._is_waiting = False
                break
            time.sleep(0.5)


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops` at the end, with `final_ops_feed_dict`."""

    def __init__(self, final_ops, final_ops_feed_dict=None) -> None:
        self._final_ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self) -> Any:
        """Their values."""
        return self._values

    def end(self, session) -> None:
        """Runs them."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what `feed_fn` gives before each step."""

    def __init__(self, feed_fn) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for it."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
