"""Hooks that say how training goes: to the log, as summaries, as traces."""

from __future__ import annotations

import os

from flowmill import _core, logging
from flowmill._internal import protos
from flowmill._internal.graph import get_default_graph
from flowmill.summary import FileWriterCache
from flowmill.train import training_util
from flowmill.train._steps import Never, SecondOrStepTimer, step_tensor
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunHook


class StepCounterHook(SessionRunHook):
    """Writes how many steps a second are taken, as summaries and to the log.

    Args:
        every_n_steps: every so many steps.
        every_n_secs: every so many seconds; one of both.
        output_dir: the directory of summaries.
        summary_writer: a `FileWriter` instead.
    """

    def __init__(self, every_n_steps: int | None = 100, every_n_secs: float | None = None, output_dir=None, summary_writer=None):
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_n_secs, every_n_steps)
        self._writer, self._directory = summary_writer, output_dir

    def begin(self) -> None:
        """Looks up the global step."""
        if self._writer is None and self._directory:
            self._writer = FileWriterCache.get(self._directory)
        self._step = step_tensor("StepCounterHook")
        self._tag = training_util.get_global_step().op.name + "/sec"

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values) -> None:
        """Writes the number if it is due."""
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step) -> None:
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            self._writer.add_summary(protos.get("Summary")(value=[{"tag": self._tag, "simple_value": rate}]), global_step)
        logging.info("%s: %g", self._tag, rate)


class LoggingTensorHook(SessionRunHook):
    """Writes the values of tensors to the log.

    Args:
        tensors: tensors or their names, in a list, or in a dictionary by what to call them.
        every_n_iter: every so many steps of this session.
        every_n_secs: every so many seconds.
        at_end: only at the end, or then too.
        formatter: makes a text of a dictionary of values.
    """

    def __init__(self, tensors, every_n_iter: int | None = None, every_n_secs: float | None = None, at_end: bool = False, formatter=None):
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError("either at_end and/or exactly one of every_n_iter and every_n_secs must be provided.")
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if not isinstance(tensors, dict):
            tensors = {getattr(t, "name", t): t for t in tensors}
        self._tensors, self._formatter, self._at_end = tensors, formatter, at_end
        self._timer = Never() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self) -> None:
        """Looks up the tensors."""
        graph = get_default_graph()
        self._timer.reset()
        self._count = 0
        self._current = {tag: graph.as_graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context) -> SessionRunArgs | None:
        """Asks for the tensors if it is due."""
        self._due = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._current) if self._due else None

    def after_run(self, run_context, run_values) -> None:
        """Writes them."""
        if self._due:
            self._log(run_values.results)
        self._count += 1

    def end(self, session) -> None:
        """Writes them at the end."""
        if self._at_end:
            self._log(session.run(self._current))

    def _log(self, values: dict) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._count)
        if self._formatter is not None:
            logging.info(self._formatter(values))
            return
        text = ", ".join(f"{tag} = {values[tag]}" for tag in self._current)
        logging.info(text if seconds is None else f"{text} ({seconds:.3f} sec)")


class SummarySaverHook(SessionRunHook):
    """Writes summaries.

    Args:
        save_steps: every so many steps.
        save_secs: every so many seconds; one of both.
        output_dir: the directory.
        summary_writer: a `FileWriter` instead.
        scaffold: a `Scaffold` with the summary.
        summary_op: the summary, or a list of them, instead.
    """

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir=None, summary_writer=None, scaffold=None,
                 summary_op=None):
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op, self._writer, self._directory, self._scaffold = summary_op, summary_writer, output_dir, scaffold
        self._timer = SecondOrStepTimer(save_secs, save_steps)

    def begin(self) -> None:
        """Looks up the global step."""
        if self._writer is None and self._directory:
            self._writer = FileWriterCache.get(self._directory)
        self._next_step = None
        self._step = step_tensor("SummarySaverHook")

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for the summaries if they are due."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._step}
        summary = self._summaries()
        if self._due and summary is not None:
            requests["summary"] = summary
        return SessionRunArgs(requests)

    def after_run(self, run_context, run_values) -> None:
        """Writes them."""
        if self._writer is None:
            return
        step = run_values.results["global_step"]
        if self._next_step is None or self._due:
            step = run_context.session.run(self._step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session) -> None:
        """Hands them to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list | None:
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return None if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


class ProfilerHook(SessionRunHook):
    """Writes traces of steps as ``timeline-STEP.json``, which Perfetto and Chrome show.

    Args:
        save_steps: every so many steps.
        save_secs: every so many seconds; one of both.
        output_dir: the directory.
        show_dataflow: if true, with arrows from producers to consumers.
        show_memory: if true, with the bytes of live tensors over time.
    """

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir="", show_dataflow: bool = True,
                 show_memory: bool = False):
        self._directory, self._timer = os.fspath(output_dir), SecondOrStepTimer(save_secs, save_steps)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory

    def begin(self) -> None:
        """Looks up the global step."""
        self._next_step = None
        self._step = step_tensor("ProfilerHook")

    def before_run(self, run_context) -> SessionRunArgs:
        """Asks for a trace if it is due."""
        self._due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = protos.get("RunOptions")(trace_level=3) if self._due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context, run_values) -> None:
        """Writes it."""
        step = run_context.session.run(self._step) if self._next_step is None or self._due else run_values.results
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata.step_stats)
        self._next_step = step + 1

    def _write(self, step, step_stats) -> None:
        timeline = _core.Timeline(step_stats.SerializeToString(), "schedule")
        os.makedirs(self._directory or ".", exist_ok=True)
        with open(os.path.join(self._directory, f"timeline-{step}.json"), "w", encoding="utf-8") as file:
            file.write(timeline.chrome_trace(dataflow=self._show_dataflow, memory=self._show_memory, tensors=False, analysis=True, lines=True))
