"""The usual hooks of training."""

from __future__ import annotations

import os
import time

import numpy as np

from flowmill import logging
from flowmill.graph import get_default_graph
from flowmill.graph_keys import GraphKeys
from flowmill.train import training_util
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunHook


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
        """Whether it is due at a step."""
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
        """The step that it was done at."""
        return self._last_step


class _Never(SecondOrStepTimer):
    def __init__(self):
        self.reset()

    def should_trigger_for_step(self, step: int) -> bool:
        return False


def _step_tensor(why: str):
    found = training_util.get_global_step()
    if found is None:
        raise RuntimeError(f"Global step should be created to use {why}.")
    return found


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

    def begin(self):
        """Looks up the global step."""
        self._step = _step_tensor("StopAtStepHook")

    def after_create_session(self, session, coord):
        """Notes the first step."""
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def before_run(self, run_context):
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Asks to stop."""
        if run_values.results + 1 >= self._last_step:
            # The value may be that of before the step.
            if run_context.session.run(self._step) >= self._last_step:
                run_context.request_stop()


class CheckpointSaverListener:
    """What is told of checkpoints by a :class:`CheckpointSaverHook`."""

    def begin(self) -> None:
        """Called before the session is made."""

    def before_save(self, session, global_step_value) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session, global_step_value):
        """Called after; True asks to stop."""

    def end(self, session, global_step_value) -> None:
        """Called at the end."""


class CheckpointSaverHook(SessionRunHook):
    """Writes checkpoints.

    Args:
        checkpoint_dir: the directory.
        save_secs: every so many seconds.
        save_steps: every so many steps; one of both.
        saver: the `Saver`; the scaffold's, or that of the graph's collection where it is None.
        checkpoint_basename: what names of files begin with.
        scaffold: a `Scaffold`.
        listeners: :class:`CheckpointSaverListener` objects.
        save_graph_def: whether to write the graph beside the first.
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

    def begin(self):
        """Looks up the global step."""
        from flowmill.summary import FileWriterCache

        self._writer = FileWriterCache.get(self._directory)
        self._step = _step_tensor("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session, coord):
        """Writes the graph and the first checkpoint."""
        from flowmill.train import write_graph

        step = session.run(self._step)
        if self._save_graph_def:
            write_graph(get_default_graph().as_graph_def(add_shapes=True), self._directory, "graph.pbtxt")
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context):
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Writes one where it is due."""
        if self._timer.should_trigger_for_step(run_values.results + self._steps_per_run):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                self._timer.update_last_triggered_step(step)
                if self._save(run_context.session, step):
                    run_context.request_stop()

    def end(self, session):
        """Writes the last one."""
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session, step) -> bool:
        from flowmill import _protos

        logging.info("Saving checkpoints for %d into %s.", step, self._path)
        for listener in self._listeners:
            listener.before_save(session, step)
        self._get_saver().save(session, self._path, global_step=int(step))
        log = _protos.get("SessionLog")
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

    def begin(self):
        """Looks up the global step."""
        from flowmill.summary import FileWriterCache

        if self._writer is None and self._directory:
            self._writer = FileWriterCache.get(self._directory)
        self._step = _step_tensor("StepCounterHook")
        self._tag = training_util.get_global_step().op.name + "/sec"

    def before_run(self, run_context):
        """Asks for the step."""
        return SessionRunArgs(self._step)

    def after_run(self, run_context, run_values):
        """Writes the number where it is due."""
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._step)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds:
                    self._log_and_record(steps, seconds, step)

    def _log_and_record(self, elapsed_steps, elapsed_time, global_step) -> None:
        from flowmill import _protos

        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            self._writer.add_summary(_protos.get("Summary")(value=[{"tag": self._tag, "simple_value": rate}]), global_step)
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
        self._timer = _Never() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)

    def begin(self):
        """Looks up the tensors."""
        graph = get_default_graph()
        self._timer.reset()
        self._count = 0
        self._current = {tag: graph.as_graph_element(t) for tag, t in self._tensors.items()}

    def before_run(self, run_context):
        """Asks for the tensors where it is due."""
        self._due = self._timer.should_trigger_for_step(self._count)
        return SessionRunArgs(self._current) if self._due else None

    def after_run(self, run_context, run_values):
        """Writes them."""
        if self._due:
            self._log(run_values.results)
        self._count += 1

    def end(self, session):
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


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number."""

    def __str__(self):
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Stops where a loss is no number.

    Args:
        loss_tensor: the loss.
        fail_on_nan_loss: raises :class:`NanLossDuringTrainingError`; otherwise asks to stop.
    """

    def __init__(self, loss_tensor, fail_on_nan_loss: bool = True):
        self._loss, self._fail = loss_tensor, fail_on_nan_loss

    def before_run(self, run_context):
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        """Looks at it."""
        if np.isnan(run_values.results):
            if self._fail:
                logging.error("Model diverged with loss = NaN.")
                raise NanLossDuringTrainingError
            logging.warning("Model diverged with loss = NaN.")
            run_context.request_stop()


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

    def begin(self):
        """Looks up the global step."""
        from flowmill.summary import FileWriterCache

        if self._writer is None and self._directory:
            self._writer = FileWriterCache.get(self._directory)
        self._next_step = None
        self._step = _step_tensor("SummarySaverHook")

    def before_run(self, run_context):
        """Asks for the summaries where they are due."""
        self._due = self._next_step is None or self._timer.should_trigger_for_step(self._next_step)
        requests = {"global_step": self._step}
        summary = self._summaries()
        if self._due and summary is not None:
            requests["summary"] = summary
        return SessionRunArgs(requests)

    def after_run(self, run_context, run_values):
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

    def end(self, session):
        """Hands them to the operating system."""
        if self._writer is not None:
            self._writer.flush()

    def _summaries(self) -> list | None:
        found = self._summary_op if self._summary_op is not None else self._scaffold.summary_op
        return None if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


class GlobalStepWaiterHook(SessionRunHook):
    """Waits with the first step until others have taken `wait_until_step` steps."""

    def __init__(self, wait_until_step: int):
        self._wait_until_step = wait_until_step

    def begin(self):
        """Looks up the global step."""
        self._is_waiting = self._wait_until_step > 0
        self._step = _step_tensor("GlobalStepWaiterHook")

    def before_run(self, run_context):
        """Waits."""
        while self._is_waiting:
            if run_context.session.run(self._step) >= self._wait_until_step:
                self._is_waiting = False
                break
            time.sleep(0.5)


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops` at the end, with `final_ops_feed_dict`."""

    def __init__(self, final_ops, final_ops_feed_dict=None):
        self._final_ops, self._feeds, self._values = final_ops, final_ops_feed_dict, None

    @property
    def final_ops_values(self):
        """Their values."""
        return self._values

    def end(self, session):
        """Runs them."""
        if self._final_ops is not None:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)


class FeedFnHook(SessionRunHook):
    """Feeds what `feed_fn` gives before each step."""

    def __init__(self, feed_fn):
        self.feed_fn = feed_fn

    def before_run(self, run_context):
        """Asks for it."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())


class ProfilerHook(SessionRunHook):
    """Writes traces of steps as ``timeline-STEP.json``, which Chrome shows.

    Args:
        save_steps: every so many steps.
        save_secs: every so many seconds; one of both.
        output_dir: the directory.
        show_dataflow: not used.
        show_memory: not used.
    """

    def __init__(self, save_steps: int | None = None, save_secs: float | None = None, output_dir="", show_dataflow: bool = True,
                 show_memory: bool = False):
        self._directory, self._timer = os.fspath(output_dir), SecondOrStepTimer(save_secs, save_steps)

    def begin(self):
        """Looks up the global step."""
        self._next_step = None
        self._step = _step_tensor("ProfilerHook")

    def before_run(self, run_context):
        """Asks for a trace where it is due."""
        from flowmill import _protos

        self._due = self._next_step is not None and self._timer.should_trigger_for_step(self._next_step)
        options = _protos.get("RunOptions")(trace_level=3) if self._due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context, run_values):
        """Writes it."""
        step = run_context.session.run(self._step) if self._next_step is None or self._due else run_values.results
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        if self._due:
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata.step_stats)
        self._next_step = step + 1

    def _write(self, step, step_stats) -> None:
        import json

        events = []
        for number, device in enumerate(step_stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": number, "args": {"name": device.device}})
            for node in device.node_stats:
                events.append({
                    "name": node.node_name, "cat": "Op", "ph": "X", "pid": number, "tid": node.thread_id, "ts": node.all_start_micros,
                    "dur": max(node.all_end_rel_micros, 1), "args": {"label": node.timeline_label}})
        os.makedirs(self._directory or ".", exist_ok=True)
        with open(os.path.join(self._directory, f"timeline-{step}.json"), "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)
