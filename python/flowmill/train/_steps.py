"""Facts about steps that hooks need: the global step, and whether an action is due."""

from __future__ import annotations

import time

from flowmill.train import training_util


class SecondOrStepTimer:
    """Says when something is due again: every so many seconds or steps.

    Args:
        every_secs: seconds, or None.
        every_steps: steps, or None.
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None):
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forgets when it was due."""
        self._last_step, self._last_time = None, None

    def should_trigger_for_step(self, step: int) -> bool:
        """Returns true if the action is due at a step."""
        if self._last_step is None:
            return True
        if self._last_step == step:
            return False
        if self._every_secs is not None:
            return time.time() >= self._last_time + self._every_secs
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Notes that it was done at a step; gives seconds and steps since the time before, None at first."""
        now = time.time()
        since = (None, None) if self._last_step is None else (now - self._last_time, step - self._last_step)
        self._last_time, self._last_step = now, step
        return since

    def last_triggered_step(self) -> int | None:
        """Returns the step that it was done at."""
        return self._last_step


class Never(SecondOrStepTimer):
    """Never due."""

    def __init__(self) -> None:
        self.reset()

    def should_trigger_for_step(self, step: int) -> bool:
        """No."""
        return False


def step_tensor(why: str):
    """Returns the graph's global step.

    Raises:
        RuntimeError: if there is none, saying that `why` needs it.
    """
    found = training_util.get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {why}.")
    return found
