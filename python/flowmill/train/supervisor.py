"""Training under supervision, as it was done before monitored sessions."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from typing import Any

from flowmill._internal import protos as _protos
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.variables import global_variables_initializer, report_uninitialized_variables
from flowmill.summary import FileWriter, merge_all
from flowmill.train import training_util, write_graph
from flowmill.train.coordinator import Coordinator, LooperThread
from flowmill.train.monitored_session import default_local_init_op
from flowmill.train.queue_runner import start_queue_runners
from flowmill.train.saver import Saver
from flowmill.train.session_manager import SessionManager


class Supervisor:
    """Restores or initializes a session, writes checkpoints and summaries from threads, and stops threads together.

    Arguments that are 0 mean the contents of the graph's collections, or a default that is made; None means nothing.

    Args:
        graph: the graph, the default one if it is None.
        ready_op: gives the names of variables without a value.
        ready_for_local_init_op: the same before `local_init_op` runs.
        is_chief: whether it initializes, restores and saves.
        init_op: initializes variables.
        init_feed_dict: what `init_op` is fed.
        local_init_op: initializes what is not saved.
        logdir: the directory of checkpoints and summaries; None for neither.
        summary_op: the summaries.
        saver: a `Saver`.
        global_step: counts steps.
        save_summaries_secs: seconds between summaries, 0 for none.
        save_model_secs: seconds between checkpoints, 0 for none.
        recovery_wait_secs: seconds between two looks at whether a session is ready.
        stop_grace_secs: how many seconds threads have to end.
        checkpoint_basename: what names of checkpoints begin with.
        session_manager: a `SessionManager`.
        summary_writer: a `FileWriter`.
        init_fn: called with the session after `init_op`.
        local_init_run_options: `RunOptions` of `local_init_op`.
    """

    USE_DEFAULT = 0

    def __init__(self, graph=None, ready_op=USE_DEFAULT, ready_for_local_init_op=USE_DEFAULT, is_chief: bool = True, init_op=USE_DEFAULT,
                 init_feed_dict=None, local_init_op=USE_DEFAULT, logdir=None, summary_op=USE_DEFAULT, saver=USE_DEFAULT, global_step=USE_DEFAULT,
                 save_summaries_secs: float = 120, save_model_secs: float = 600, recovery_wait_secs: float = 30, stop_grace_secs: float = 120,
                 checkpoint_basename: str = "model.ckpt", session_manager=None, summary_writer=USE_DEFAULT, init_fn=None,
                 local_init_run_options=None):
        self._graph = graph or get_default_graph()
        with self._graph.as_default():
            self._init_op = self._chosen(init_op, GraphKeys.INIT_OP, global_variables_initializer)
            self._ready_op = self._chosen(ready_op, GraphKeys.READY_OP, report_uninitialized_variables)
            self._ready_for_local = self._chosen(ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP, lambda: None)
            self._local_init_op = self._chosen(local_init_op, GraphKeys.LOCAL_INIT_OP, default_local_init_op)
            self._saver = self._chosen(saver, GraphKeys.SAVERS, lambda: Saver() if self._graph.get_collection(GraphKeys.GLOBAL_VARIABLES) else None)
            self._summary_op = self._chosen(summary_op, GraphKeys.SUMMARY_OP, _merged)
            self._global_step = training_util.get_global_step() if self._is_default(global_step) else global_step
        self._is_chief, self._feeds, self._init_fn = is_chief, init_feed_dict, init_fn
        self._logdir = None if logdir is None else os.fspath(logdir)
        self._save_path = os.path.join(self._logdir, checkpoint_basename) if self._logdir else None
        self._save_summaries_secs, self._save_model_secs, self._grace = save_summaries_secs, save_model_secs, stop_grace_secs
        self._coord = Coordinator()
        self._writer = None
        if self._is_default(summary_writer):
            if self._logdir and is_chief:
                self._writer = FileWriter(self._logdir)
        else:
            self._writer = summary_writer
        self._sessions = session_manager or SessionManager(
            local_init_op=self._local_init_op, ready_op=self._ready_op, ready_for_local_init_op=self._ready_for_local, graph=self._graph,
            recovery_wait_secs=recovery_wait_secs, local_init_run_options=local_init_run_options)
        self._has_written_graph = False
        self._check_devices()
        self._graph.finalize()

    def _check_devices(self) -> None:
        """Checks that variables are on devices if there are several workers.

        Raises:
            ValueError: if one of them is on no device.
        """
        for op in self._graph.get_operations() if not self._is_chief else ():
            if op.type in ("Variable", "VariableV2") and not op.device:
                raise ValueError(f"When using replicas, all Variables must have their device set: {op}")

    @staticmethod
    def _is_default(value) -> bool:
        return isinstance(value, int) and value == Supervisor.USE_DEFAULT

    def _chosen(self, given, collection: str, make):
        if not self._is_default(given):
            return given
        found = self._graph.get_collection(collection)
        if found:
            return found[0]
        made = make()
        if made is not None:
            self._graph.add_to_collection(collection, made)
        return made

    # What it holds

    @property
    def is_chief(self) -> bool:
        """True if it initializes, restores and saves."""
        return self._is_chief

    @property
    def session_manager(self) -> SessionManager:
        """The object that makes its sessions."""
        return self._sessions

    @property
    def coord(self) -> Coordinator:
        """The coordinator that stops its threads."""
        return self._coord

    @property
    def init_op(self) -> Any:
        """Initializes variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """The feeds of `init_op`."""
        return self._feeds

    @property
    def ready_op(self) -> Any:
        """The tensor with the names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """Like :attr:`ready_op`, before what is not saved is initialized."""
        return self._ready_for_local

    @property
    def summary_writer(self) -> Any:
        """The writer of summaries."""
        return self._writer

    @property
    def summary_op(self) -> Any:
        """The summaries."""
        return self._summary_op

    @property
    def save_summaries_secs(self) -> float:
        """Seconds between summaries."""
        return self._save_summaries_secs

    @property
    def global_step(self) -> Any:
        """The variable that counts steps."""
        return self._global_step

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @property
    def save_model_secs(self) -> float:
        """Seconds between checkpoints."""
        return self._save_model_secs

    @property
    def save_path(self) -> str | None:
        """The prefix of the names of checkpoints."""
        return self._save_path

    # Sessions

    def prepare_or_wait_for_session(self, master: str = "", config=None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
                                    start_standard_services: bool = True):
        """Returns a session that is ready; arguments as of `SessionManager.prepare_session`.

        Args:
            start_standard_services: whether to start the threads that save, too.
        """
        self._coord.clear_stop()
        if self._is_chief:
            session = self._sessions.prepare_session(
                master, init_op=self._init_op, saver=self._saver, checkpoint_dir=self._logdir, wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs, config=config, init_feed_dict=self._feeds, init_fn=self._init_fn)
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._sessions.wait_for_session(master, config=config, max_wait_secs=max_wait_secs)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    PrepareSession = prepare_or_wait_for_session

    @contextlib.contextmanager
    def managed_session(self, master: str = "", config=None, start_standard_services: bool = True, close_summary_writer: bool = True) -> Iterator:
        """Yields a session that is ready; at the block's end threads are stopped, and the session is closed. The error of a thread is raised."""
        try:
            session = self.prepare_or_wait_for_session(master, config, start_standard_services=start_standard_services)
            yield session
        except Exception as error:  # join raises it, unless it is a clean end
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                with contextlib.suppress(UnboundLocalError):
                    session.close()

    def _write_graph(self) -> None:
        if self._logdir and not self._has_written_graph:
            write_graph(self._graph.as_graph_def(add_shapes=True), self._logdir, "graph.pbtxt")
            if self._writer is not None:
                self._writer.add_graph(self._graph)
            self._has_written_graph = True

    def start_standard_services(self, sess) -> list[LooperThread]:
        """Starts the threads that write checkpoints and summaries.

        Raises:
            RuntimeError: if it is not the chief's.
        """
        if not self._is_chief:
            raise RuntimeError("Only chief supervisor can start standard services. Because only chief supervisors can write events.")
        threads = []
        if not self._logdir:
            return threads
        if self._save_summaries_secs and self._writer is not None:
            if self._summary_op is not None:
                threads.append(LooperThread.loop(self._coord, self._save_summaries_secs, self._save_summaries, (sess,)))
            if self._global_step is not None:
                self._counted = time.time(), training_util.global_step(sess, self._global_step)
                threads.append(LooperThread.loop(self._coord, self._save_summaries_secs, self._save_speed, (sess,)))
        if self._saver is not None and self._save_model_secs:
            threads.append(LooperThread.loop(self._coord, self._save_model_secs, self._save_checkpoint, (sess,)))
        return threads

    def _step_in(self, sess):
        return None if self._global_step is None else training_util.global_step(sess, self._global_step)

    def _save_summaries(self, sess) -> None:
        self.summary_computed(sess, sess.run(self._summary_op))

    def _save_speed(self, sess) -> None:
        now, step = time.time(), training_util.global_step(sess, self._global_step)
        seconds, steps = now - self._counted[0], step - self._counted[1]
        self._counted = now, step
        if seconds > 0:
            tag = f"{self._global_step.op.name}/sec"
            self._writer.add_summary(_protos.get("Summary")(value=[{"tag": tag, "simple_value": steps / seconds}]), step)

    def _save_checkpoint(self, sess) -> None:
        self._saver.save(sess, self._save_path, global_step=self._global_step)

    def summary_computed(self, sess, summary, global_step=None) -> None:
        """Writes a summary.

        Raises:
            TypeError: if it is no serialised summary.
            RuntimeError: if there is no writer.
        """
        if not self._writer:
            raise RuntimeError("Writing a summary requires a summary writer.")
        self._writer.add_summary(summary, self._step_in(sess) if global_step is None else global_step)

    # Threads

    def start_queue_runners(self, sess, queue_runners=None) -> list:
        """Starts threads that fill queues, those of the graph if `queue_runners` is None."""
        if queue_runners is None:
            return start_queue_runners(sess, self._coord)
        return [t for runner in queue_runners for t in runner.create_threads(sess, coord=self._coord, daemon=True, start=True)]

    def loop(self, timer_interval_secs: float | None, target, args=None, kwargs=None) -> LooperThread:
        """Returns a thread that calls `target` every `timer_interval_secs` seconds until it shall stop."""
        return LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)

    def should_stop(self) -> bool:
        """Returns true if threads are asked to stop."""
        return self._coord.should_stop()

    def request_stop(self, ex=None) -> None:
        """Asks all threads to stop."""
        self._coord.request_stop(ex)

    def wait_for_stop(self) -> None:
        """Waits until threads shall stop."""
        self._coord.wait_for_stop()

    def stop_on_exception(self) -> Any:
        """Returns a context that asks to stop if an exception leaves it."""
        return self._coord.stop_on_exception()

    def stop(self, threads=None, close_summary_writer: bool = True, ignore_live_threads: bool = False) -> None:
        """Stops threads and waits for them.

        Raises:
            Exception: what a thread failed with.
        """
        self._coord.request_stop()
        try:
            self._coord.join(threads, stop_grace_period_secs=self._grace, ignore_live_threads=ignore_live_threads)
        finally:
            if close_summary_writer and self._writer is not None:
                log = _protos.get("SessionLog")
                self._writer.add_session_log(log(status=log.STOP))
                self._writer.close()
                self._has_written_graph = False

    StartStandardServices, StartQueueRunners, Loop, ShouldStop, RequestStop, WaitForStop, Stop, StopOnException, SummaryComputed = (
        start_standard_services, start_queue_runners, loop, should_stop, request_stop, wait_for_stop, stop, stop_on_exception, summary_computed)


def _merged():
    return merge_all()
