"""The progress of a training loop on a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from flowmill.train._steps import step_tensor
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunHook

# The weight of the newest rate in the mean of rates.
_NEWEST = 0.3


class ProgressHook(SessionRunHook):
    """Shows the step, the steps per second and the time left on one line of a terminal. Nothing is written unless the file is a terminal.

    Args:
        last_step: the step at which training ends, as of `StopAtStepHook`. Without, the time left is not shown.
        every_n_secs: the seconds between updates.
        file: the terminal, standard error if it is None.
    """

    def __init__(self, last_step: int | None = None, every_n_secs: float = 0.5, file: TextIO | None = None):
        self._last_step, self._every, self._file = last_step, every_n_secs, file

    def begin(self) -> None:
        """Looks up the global step."""
        self._terminal = sys.stderr if self._file is None else self._file
        self._is_shown = bool(getattr(self._terminal, "isatty", lambda: False)())
        self._step = step_tensor("ProgressHook")
        self._shown, self._rate, self._width = None, None, 0

    def before_run(self, run_context) -> SessionRunArgs | None:
        """Asks for the step."""
        return SessionRunArgs(self._step) if self._is_shown else None

    def after_run(self, run_context, run_values) -> None:
        """Updates the line if it is due."""
        if not self._is_shown:
            return
        now, step = time.monotonic(), int(run_values.results)
        if self._shown is None:
            self._shown = now, step
        elif now - self._shown[0] >= self._every:
            before, last = self._shown
            rate = (step - last) / (now - before)
            self._rate = rate if self._rate is None else (1 - _NEWEST) * self._rate + _NEWEST * rate
            self._shown = now, step
            self._write(step)

    def end(self, session) -> None:
        """Ends the line."""
        if self._is_shown and self._width:
            self._write(int(session.run(self._step)))
            self._terminal.write("\n")
            self._terminal.flush()

    def _write(self, step: int) -> None:
        line = f"step {step}" if self._last_step is None else f"step {step}/{self._last_step}"
        if self._rate:
            line += f"  {self._rate:.4g} steps/s"
            if self._last_step is not None and self._last_step > step:
                line += f"  {_duration((self._last_step - step) / self._rate)} left"
        # Spaces cover what is left of a longer line.
        self._terminal.write("\r" + line.ljust(self._width))
        self._terminal.flush()
        self._width = len(line)


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
