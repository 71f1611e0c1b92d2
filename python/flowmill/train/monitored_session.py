"""Sessions that initialize themselves, call hooks around their steps, and begin again if a step was aborted."""

from __future__ import annotations

import abc
import inspect
import os
from typing import Any

from flowmill import logging
from flowmill._internal import protos as _protos
from flowmill._internal.apply import call
from flowmill._internal.control_flow import group
from flowmill._internal.graph import Graph, get_default_graph
from flowmill._internal.graph_keys import GraphKeys
from flowmill._internal.session import Session
from flowmill._internal.tensor import Operation
from flowmill._internal.variables import global_variables, global_variables_initializer, local_variables_initializer, report_uninitialized_variables
from flowmill.errors import AbortedError, OutOfRangeError, UnavailableError
from flowmill.summary import merge_all
from flowmill.train._checkpoint_hooks import CheckpointSaverHook
from flowmill.train._report_hooks import StepCounterHook, SummarySaverHook
from flowmill.train.coordinator import Coordinator
from flowmill.train.queue_runner import start_queue_runners
from flowmill.train.saver import Saver
from flowmill.train.session_manager import SessionManager
from flowmill.train.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunValues

USE_DEFAULT = object()

# What a session that makes itself anew recovers from.
_PREEMPTIONS = (AbortedError, UnavailableError)


class Scaffold:
    """The operations that a session of training needs; what is None is taken from the graph's collections, or made.

    Args:
        init_op: initializes variables.
        init_feed_dict: what `init_op` is fed.
        init_fn: called with the scaffold and the session after `init_op`.
        ready_op: gives the names of variables without a value.
        ready_for_local_init_op: the same before `local_init_op` runs.
        local_init_op: initializes what is not saved.
        summary_op: the summaries.
        saver: a `Saver`.
        copy_from_scaffold: a scaffold to take over what is None from.
        local_init_feed_dict: what `local_init_op` is fed.
    """

    def __init__(self, init_op=None, init_feed_dict=None, init_fn=None, ready_op=None, ready_for_local_init_op=None, local_init_op=None,
                 summary_op=None, saver=None, copy_from_scaffold=None, local_init_feed_dict=None) -> None:
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")

        def chosen(name: str, own):
            return own if own is not None or copy_from_scaffold is None else getattr(copy_from_scaffold, name)

        self._init_op, self._init_feed_dict = chosen("init_op", init_op), chosen("init_feed_dict", init_feed_dict)
        self._user_init_fn = init_fn or (copy_from_scaffold._user_init_fn if copy_from_scaffold is not None else None)
        self._ready_op = chosen("ready_op", ready_op)
        self._ready_for_local_init_op = chosen("ready_for_local_init_op", ready_for_local_init_op)
        self._local_init_op, self._local_init_feed_dict = chosen("local_init_op", local_init_op), chosen("local_init_feed_dict", local_init_feed_dict)
        self._summary_op, self._saver = chosen("summary_op", summary_op), chosen("saver", saver)

    def finalize(self) -> Scaffold:
        """Makes what is missing, and forbids changes of the graph from now on."""
        key = GraphKeys
        self._init_op = self._or_default(self._init_op, key.INIT_OP, global_variables_initializer_and_resources)
        self._ready_op = self._or_default(self._ready_op, key.READY_OP, report_uninitialized_variables)
        self._ready_for_local_init_op = self._or_default(
            self._ready_for_local_init_op, key.READY_FOR_LOCAL_INIT_OP, lambda: report_uninitialized_variables(global_variables()))
        self._local_init_op = self._or_default(self._local_init_op, key.LOCAL_INIT_OP, default_local_init_op)
        if self._summary_op is None:
            self._summary_op = self._or_default(None, key.SUMMARY_OP, merge_all)
        if self._saver is None:
            found = get_default_graph().get_collection(key.SAVERS)
            if len(found) > 1:
                raise RuntimeError(f"More than one item in collection {key.SAVERS}. Please indicate which one to use by passing it to the constructor.")
            if found:
                self._saver = found[0]
            else:
                self._saver = Saver(sharded=True, allow_empty=True, write_version=2)
                get_default_graph().add_to_collection(key.SAVERS, self._saver)
        self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @staticmethod
    def _or_default(given, collection: str, make):
        if given is not None:
            return given
        graph = get_default_graph()
        found = graph.get_collection(collection)
        if len(found) > 1:
            raise RuntimeError(f"More than one item in the collection '{collection}'.")
        if found:
            return found[0]
        made = make()
        if made is not None:
            graph.add_to_collection(collection, made)
        return made

    @property
    def init_fn(self) -> Any:
        """Called with the session after `init_op`."""
        return None if self._user_init_fn is None else lambda session: self._user_init_fn(self, session)

    @property
    def init_op(self) -> Any:
        """Initializes variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> Any:
        """The feeds of `init_op`."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """The tensor with the names of variables without a value."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """Like :attr:`ready_op`, before `local_init_op` runs."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """Initializes what is not saved."""
        return self._local_init_op

    @property
    def local_init_feed_dict(self) -> Any:
        """The feeds of `local_init_op`."""
        return self._local_init_feed_dict

    @property
    def summary_op(self) -> Any:
        """The summaries."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The saver."""
        return self._saver

    @staticmethod
    def default_local_init_op() -> Operation:
        """Returns the default of `local_init_op`: it initializes local variables and tables."""
        return default_local_init_op()


def global_variables_initializer_and_resources() -> Operation:
    """Initializes global variables, and what a loaded model asks for."""
    return group(global_variables_initializer(), *get_default_graph().get_collection("saved_model_initializers"))


def default_local_init_op() -> Operation:
    """Initializes local variables and tables."""
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    init_tables = group(*tables, name="init_all_tables") if tables else call("NoOp", "init_all_tables")
    return group(local_variables_initializer(), init_tables)


class SessionCreator(abc.ABC):
    """Makes sessions: what :class:`MonitoredSession` asks."""

    @abc.abstractmethod
    def create_session(self) -> Session:
        """A session that is ready."""


class ChiefSessionCreator(SessionCreator):
    """Makes sessions that are restored or initialized; arguments as of `MonitoredTrainingSession`."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config=None, checkpoint_dir=None, checkpoint_filename_with_path=None):
        self._scaffold, self._master, self._config = scaffold or Scaffold(), master, config
        self._checkpoint_dir, self._file, self._sessions = checkpoint_dir, checkpoint_filename_with_path, None

    def create_session(self) -> Session:
        """Returns a session that is ready."""
        scaffold = self._scaffold
        if self._sessions is None:
            scaffold.finalize()
            self._sessions = SessionManager(
                local_init_op=scaffold.local_init_op, local_init_feed_dict=scaffold.local_init_feed_dict, ready_op=scaffold.ready_op,
                ready_for_local_init_op=scaffold.ready_for_local_init_op, graph=get_default_graph())
        return self._sessions.prepare_session(
            self._master, saver=scaffold.saver, checkpoint_dir=self._checkpoint_dir, checkpoint_filename_with_path=self._file,
            config=self._config, init_op=scaffold.init_op, init_feed_dict=scaffold.init_feed_dict, init_fn=scaffold.init_fn)


class WorkerSessionCreator(SessionCreator):
    """Makes sessions that others make ready."""

    def __init__(self, scaffold: Scaffold | None = None, master: str = "", config=None, max_wait_secs: float = 30 * 60):
        self._scaffold, self._master, self._config, self._max_wait_secs = scaffold or Scaffold(), master, config, max_wait_secs
        self._sessions = None

    def create_session(self) -> Session:
        """Returns a session that is ready."""
        if self._sessions is None:
            self._scaffold.finalize()
            self._sessions = SessionManager(
                local_init_op=self._scaffold.local_init_op, ready_op=self._scaffold.ready_op,
                ready_for_local_init_op=self._scaffold.ready_for_local_init_op, graph=get_default_graph())
        return self._sessions.wait_for_session(self._master, config=self._config, max_wait_secs=self._max_wait_secs)


class _Monitored:
    """The base class of both kinds of monitored sessions."""

    # Whether it makes a new session where one was aborted.
    _recovers = True

    def __init__(self, session_creator: SessionCreator, hooks, stop_grace_period_secs: float):
        self._hooks, self._creator, self._grace = list(hooks or ()), session_creator, stop_grace_period_secs
        self._graph = get_default_graph()
        self._was_finalized, self._is_over = self._graph.finalized, False
        for hook in self._hooks:
            hook.begin()
        self._session = None
        self._make_session()

    def _make_session(self) -> None:
        while True:
            try:
                session = self._creator.create_session()
                break
            except _PREEMPTIONS as error:
                if not self._recovers:
                    raise
                logging.info("An error was raised while a session was being created. A new session will be created. Error: %s", error)
        self._coord, self._session, self._wants_to_stop = Coordinator(), session, False
        with session.graph.as_default():
            start_queue_runners(sess=session, coord=self._coord)
        for hook in self._hooks:
            hook.after_create_session(session, self._coord)

    def _recovered(self, attempt):
        """Returns what ``attempt()`` returns; makes a new session and tries again if the one there is was preempted."""
        while True:
            try:
                if self._session is not None:
                    return attempt()
            except _PREEMPTIONS as error:
                if not self._recovers:
                    raise
                logging.info("An error was raised. The current session will be closed and a new session will be created. Error: %s", error)
                self._close_session(quietly=True)
            if self._is_over:
                raise RuntimeError("Run called even after should_stop requested.")
            self._make_session()

    @property
    def graph(self) -> Graph | None:
        """The graph of the session."""
        return None if self._session is None else self._session.graph

    def should_stop(self) -> bool:
        """Returns true if the session is closed, or a hook or a thread asked to stop for good."""
        if self._is_over or self._wants_to_stop:
            return True
        try:
            self._coord.raise_requested_exception()
        except _PREEMPTIONS:
            if not self._recovers:
                return True
            self._close_session(quietly=True)
            self._make_session()
            return False
        except Exception:
            return True
        return self._coord.should_stop()

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """Like `Session.run`, with the hooks around it.

        Raises:
            RuntimeError: if the session is closed.
        """
        return self._recovered(lambda: self._run_once(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn) -> Any:
        """Calls ``step_fn(step_context)``, whose `session` has no hooks and whose `run_with_hooks` has; `request_stop` ends the loop.

        The function is called again with a new session if one of its steps was preempted.

        Raises:
            StopIteration: if the function asked to stop; a ``with`` block around it ends then.
            ValueError: if the function has other arguments than `step_context`, which `self` may precede.
        """
        arguments = _argument_names(step_fn)
        if arguments not in (("step_context",), ("self", "step_context")):
            raise ValueError("`step_fn` may either have one `step_context` argument, or `self` and `step_context` arguments if it's an "
                             f"instance method. Got {arguments} instead.")
        return self._recovered(lambda: step_fn(_StepContext(self._session, self._run_once)))

    def _run_once(self, fetches, feed_dict=None, options=None, run_metadata=None):
        asked = {"caller": fetches} if fetches is not None else {}
        feeds = dict(feed_dict or {})
        run_options = _protos.get("RunOptions")()
        if options is not None:
            run_options.ParseFromString(options.SerializeToString())
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._session)
        answers = {}
        for hook in self._hooks:
            request = hook.before_run(context)
            if request is None:
                continue
            answers[hook] = request
            if request.fetches is not None:
                asked[hook] = request.fetches
            for key, value in (request.feed_dict or {}).items():
                if key in feeds:
                    raise RuntimeError(f"Same tensor is fed by two hooks or by a hook and the caller: {key}")
                feeds[key] = value
            if request.options is not None:
                _merge_run_options(run_options, request.options)
        metadata = run_metadata if run_metadata is not None else _protos.get("RunMetadata")()
        traced = run_options.ByteSize() > 0
        keys = list(asked)
        try:
            values = dict(zip(keys, self._session.run([asked[k] for k in keys], feeds, *((run_options, metadata) if traced else ()))))
        except Exception:
            # What a thread failed with first explains more than the step that it stopped.
            self._coord.raise_requested_exception()
            raise
        for hook in self._hooks:
            hook.after_run(context, SessionRunValues(values.get(hook), run_options, metadata))
        self._wants_to_stop = self._wants_to_stop or context.stop_requested
        return values.get("caller")

    def close(self) -> None:
        """Calls the hooks' ends and closes the session.

        Raises:
            RuntimeError: if the session is closed.
        """
        self._close(None)

    def _close(self, exception) -> None:
        if self._is_over:
            raise RuntimeError("Session is already closed.")
        try:
            if exception is None and self._session is not None:
                for hook in self._hooks:
                    hook.end(self._session)
        finally:
            self._is_over = True
            try:
                self._close_session(quietly=exception is not None)
            finally:
                self._graph._finalized = self._was_finalized

    def _close_session(self, quietly: bool = False) -> None:
        session, self._session = self._session, None
        if session is None:
            return
        self._coord.request_stop()
        try:
            self._coord.join(stop_grace_period_secs=self._grace, ignore_live_threads=True)
        except Exception:
            if not quietly:
                raise
        finally:
            session.close()

    def _is_closed(self) -> bool:
        return self._session is None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback) -> bool:
        # Training ends with the data, or when a step asks for it.
        ends = kind is not None and issubclass(kind, (OutOfRangeError, StopIteration))
        self._close(None if ends else kind)
        return ends


class MonitoredSession(_Monitored):
    """A session that is ready once it is made, calls hooks, and begins again if a step was aborted.

    Args:
        session_creator: makes the session; a :class:`ChiefSessionCreator` if it is None.
        hooks: `SessionRunHook` objects.
        stop_grace_period_secs: how many seconds threads have to end.
    """

    def __init__(self, session_creator: SessionCreator | None = None, hooks=None, stop_grace_period_secs: float = 120):
        super().__init__(session_creator or ChiefSessionCreator(), hooks, stop_grace_period_secs)

    StepContext = SessionRunContext


def _merge_run_options(options, more) -> None:
    """Adds to the options of a step what a hook wants besides."""
    for name in ("trace_level", "timeout_in_ms", "inter_op_thread_pool", "output_partition_graphs", "report_tensor_allocations_upon_oom"):
        setattr(options, name, max(getattr(options, name), getattr(more, name)))
    options.debug_options.debug_tensor_watch_opts.extend(more.debug_options.debug_tensor_watch_opts)


def _argument_names(function) -> tuple[str, ...]:
    """Returns the names of a function's positional arguments, without the one that it is bound to."""
    return tuple(p.name for p in inspect.signature(function).parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))


class _StepContext:
    def __init__(self, session, run_with_hooks):
        self.session, self.run_with_hooks = session, run_with_hooks

    def request_stop(self) -> None:
        raise StopIteration("step_fn has requested the iterations to stop.")


class SingularMonitoredSession(_Monitored):
    """A monitored session that does not begin again, and returns its session; arguments as of `MonitoredTrainingSession`."""

    _recovers = False

    def __init__(self, hooks=None, scaffold: Scaffold | None = None, master: str = "", config=None, checkpoint_dir=None,
                 stop_grace_period_secs: float = 120, checkpoint_filename_with_path=None):
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path)
        super().__init__(creator, hooks, stop_grace_period_secs)

    def raw_session(self) -> Session:
        """Returns the session without hooks."""
        return self._session


def MonitoredTrainingSession(master: str = "", is_chief: bool = True, checkpoint_dir=None, scaffold: Scaffold | None = None,  # noqa: N802
                             hooks=None, chief_only_hooks=None, save_checkpoint_secs=USE_DEFAULT, save_summaries_steps=USE_DEFAULT,
                             save_summaries_secs=USE_DEFAULT, config=None, stop_grace_period_secs: float = 120,
                             log_step_count_steps: int | None = 100, max_wait_secs: float = 7200, save_checkpoint_steps=USE_DEFAULT,
                             summary_dir=None, save_graph_def: bool = True) -> MonitoredSession:
    """Returns a :class:`MonitoredSession` for training: with a directory, it goes on from the newest checkpoint, and writes checkpoints and summaries.

    Args:
        master: an address; empty for this process.
        is_chief: whether it initializes variables, and does not wait until others have.
        checkpoint_dir: the directory of checkpoints.
        scaffold: a :class:`Scaffold`.
        hooks: `SessionRunHook` objects.
        chief_only_hooks: more of them, for the chief.
        save_checkpoint_secs: seconds between checkpoints, 600 by default; None for none.
        save_summaries_steps: steps between summaries, 100 by default; None for none.
        save_summaries_secs: seconds between summaries instead.
        config: a `ConfigProto`.
        stop_grace_period_secs: how many seconds threads have to end.
        log_step_count_steps: steps between the log's lines on speed; None for none.
        max_wait_secs: how long others than the chief wait.
        save_checkpoint_steps: steps between checkpoints instead.
        summary_dir: the directory of summaries, that of checkpoints if it is None.
        save_graph_def: whether to write the graph.
    """
    if save_summaries_steps is USE_DEFAULT and save_summaries_secs is USE_DEFAULT:
        save_summaries_steps, save_summaries_secs = 100, None
    else:
        save_summaries_steps = None if save_summaries_steps is USE_DEFAULT else save_summaries_steps
        save_summaries_secs = None if save_summaries_secs is USE_DEFAULT else save_summaries_secs
    if save_checkpoint_steps is USE_DEFAULT and save_checkpoint_secs is USE_DEFAULT:
        save_checkpoint_steps, save_checkpoint_secs = None, 600
    else:
        save_checkpoint_steps = None if save_checkpoint_steps is USE_DEFAULT else save_checkpoint_steps
        save_checkpoint_secs = None if save_checkpoint_secs is USE_DEFAULT else save_checkpoint_secs
    scaffold = scaffold or Scaffold()
    if not is_chief:
        return MonitoredSession(WorkerSessionCreator(scaffold, master, config, max_wait_secs), hooks, stop_grace_period_secs)
    every = list(chief_only_hooks or ())
    checkpoint_dir = None if checkpoint_dir is None else os.fspath(checkpoint_dir)
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir:
        if log_step_count_steps and log_step_count_steps > 0:
            every.append(StepCounterHook(output_dir=summary_dir, every_n_steps=log_step_count_steps))
        if (save_summaries_steps or 0) > 0 or (save_summaries_secs or 0) > 0:
            every.append(SummarySaverHook(
                scaffold=scaffold, save_steps=save_summaries_steps, save_secs=save_summaries_secs, output_dir=summary_dir))
    if checkpoint_dir and ((save_checkpoint_secs or 0) > 0 or (save_checkpoint_steps or 0) > 0):
        every.append(CheckpointSaverHook(
            checkpoint_dir, save_steps=save_checkpoint_steps, save_secs=save_checkpoint_secs, scaffold=scaffold, save_graph_def=save_graph_def))
    creator = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(creator, [*(hooks or ()), *every], stop_grace_period_secs)
