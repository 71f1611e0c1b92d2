"""Threads that fill queues."""

from __future__ import annotations

import threading
from typing import Any

from flowmill import logging
from flowmill._internal import protos as _protos
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import GraphKeys, prepend_name_scope, strip_name_scope
from flowmill._internal.session import get_default_session
from flowmill.errors import CancelledError, OutOfRangeError, error_code_from_exception_type, exception_type_from_error_code


class QueueRunner:
    """Runs operations that put elements into a queue, each in a thread of its own, until the queue is closed.

    Args:
        queue: the queue.
        enqueue_ops: the operations.
        close_op: closes the queue; one that leaves waiting elements if it is None.
        cancel_op: closes the queue and drops what waits.
        queue_closed_exception_types: what an operation fails with if there is nothing more; `OutOfRangeError`.
        queue_runner_def: a `QueueRunnerDef` to restore it from, instead of the arguments.
        import_scope: the prefix of the names of `queue_runner_def`.
    """

    def __init__(self, queue=None, enqueue_ops=None, close_op=None, cancel_op=None, queue_closed_exception_types=None, queue_runner_def=None,
                 import_scope: str | None = None):
        if queue_runner_def is not None:
            if queue is not None or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._of_message(queue_runner_def, import_scope)
        else:
            if queue is None or not enqueue_ops:
                raise ValueError("Must provide queue and enqueue_ops.")
            types = queue_closed_exception_types or (OutOfRangeError,)
            if not isinstance(types, tuple) or not all(isinstance(t, type) for t in types):
                raise TypeError("queue_closed_exception_types, when provided, must be a tuple of tf.error types")
            self._queue, self._enqueue_ops, self._types = queue, list(enqueue_ops), types
            self._close_op = queue.close() if close_op is None else close_op
            self._cancel_op = queue.close(cancel_pending_enqueues=True) if cancel_op is None else cancel_op
        self._lock = threading.Lock()
        # How many threads run in each session, by its id.
        self._runs: dict[int, int] = {}
        self._exceptions: list[BaseException] = []

    def _of_message(self, message, import_scope: str | None) -> None:
        graph = get_default_graph()

        def element(name: str):
            return graph.as_graph_element(prepend_name_scope(name, import_scope))

        self._queue = element(message.queue_name)
        self._enqueue_ops = [element(name) for name in message.enqueue_op_name]
        self._close_op, self._cancel_op = element(message.close_op_name), element(message.cancel_op_name)
        self._types = tuple(exception_type_from_error_code(code) for code in message.queue_closed_exception_types) or (OutOfRangeError,)

    @property
    def queue(self) -> Any:
        """The queue."""
        return self._queue

    @property
    def enqueue_ops(self) -> list:
        """The operations."""
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        """The operation that closes the queue."""
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        """The operation that closes the queue and drops what waits."""
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple:
        """The errors with which an operation fails if there are no more elements."""
        return self._types

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    @property
    def exceptions_raised(self) -> list:
        """The errors with which threads failed, if no coordinator was given."""
        return self._exceptions

    def create_threads(self, sess, coord=None, daemon: bool = False, start: bool = False) -> list[threading.Thread]:
        """Threads that run the operations in a session; none if there are such.

        Args:
            sess: the session.
            coord: a `Coordinator`, which is told of failures and says when to stop.
            daemon: whether the program may end before them.
            start: whether to start them.
        """
        with self._lock:
            if self._runs.get(id(sess), 0) > 0:
                return []
            self._runs[id(sess)] = len(self._enqueue_ops)
            self._exceptions = []
        threads = [threading.Thread(target=self._run, args=(sess, op, coord), name=f"QueueRunnerThread-{self.name}-{getattr(op, 'name', op)}")
                   for op in self._enqueue_ops]
        if coord is not None:
            threads.append(threading.Thread(target=self._close_on_stop, args=(sess, coord), name=f"QueueRunnerThread-{self.name}-close_on_stop"))
        for thread in threads:
            if coord is not None:
                coord.register_thread(thread)
            thread.daemon = daemon
            if start:
                thread.start()
        return threads

    def _run(self, sess, enqueue_op, coord) -> None:
        counted = True
        try:
            step = sess.make_callable(enqueue_op) if hasattr(sess, "make_callable") else lambda: sess.run(enqueue_op)
            while not (coord is not None and coord.should_stop()):
                try:
                    step()
                except self._types:
                    with self._lock:
                        self._runs[id(sess)] -= 1
                        counted = False
                        is_last = self._runs[id(sess)] == 0
                    if is_last:
                        self._quietly(sess, self._close_op)
                    return
        except CancelledError as error:
            if coord is None or not coord.should_stop():
                self._failed(error, coord)
        except Exception as error:  # handed on to who joins the threads
            self._failed(error, coord)
        finally:
            if counted:
                with self._lock:
                    self._runs[id(sess)] -= 1

    def _failed(self, error: Exception, coord) -> None:
        if coord is not None:
            coord.request_stop(error)
        else:
            logging.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions.append(error)

    @staticmethod
    def _quietly(sess, op) -> None:
        """Closes a queue, which may be closed already."""
        try:
            sess.run(op)
        except Exception as error:  # the session may be closed
            logging.vlog(1, "Ignored exception: %s", error)

    def _close_on_stop(self, sess, coord) -> None:
        coord.wait_for_stop()
        self._quietly(sess, self._cancel_op)

    def to_proto(self, export_scope: str | None = None):
        """Its names as a `QueueRunnerDef`, those of `export_scope` without it; None if the queue is not of that scope."""
        if export_scope is not None and not self.queue.name.startswith(export_scope):
            return None
        return _protos.get("QueueRunnerDef")(
            queue_name=strip_name_scope(self.queue.name, export_scope), close_op_name=strip_name_scope(self.close_op.name, export_scope),
            cancel_op_name=strip_name_scope(self.cancel_op.name, export_scope),
            enqueue_op_name=[strip_name_scope(op.name, export_scope) for op in self._enqueue_ops],
            queue_closed_exception_types=[error_code_from_exception_type(t) for t in self._types])

    @staticmethod
    def from_proto(queue_runner_def, import_scope: str | None = None) -> QueueRunner:
        """Returns the runner that a `QueueRunnerDef` names in the default graph."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def add_queue_runner(qr: QueueRunner, collection=GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a runner to a collection of the default graph."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(sess=None, coord=None, daemon: bool = True, start: bool = True, collection=GraphKeys.QUEUE_RUNNERS) -> list[threading.Thread]:
    """Starts the runners of a graph.

    Args:
        sess: the session, the default one if it is None.
        coord: a `Coordinator`.
        daemon: whether the program may end before the threads.
        start: whether to start the threads.
        collection: the collection of the runners.

    Returns:
        The threads.

    Raises:
        ValueError: if there is no session.
        TypeError: if `sess` is no session. A `MonitoredSession` has started them already.
    """
    if sess is None:
        sess = get_default_session()
        if not sess:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)")
    if type(sess).__name__ in ("MonitoredSession", "SingularMonitoredSession"):
        return []
    if not hasattr(sess, "graph") or not hasattr(sess, "run"):
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    with sess.graph.as_default():
        return [thread for runner in get_default_graph().get_collection(collection)
                for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)]
