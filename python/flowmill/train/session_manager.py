"""Making sessions whose variables are restored or initialized."""

from __future__ import annotations

import time

import numpy as np

from flowmill import logging
from flowmill._internal.graph import get_default_graph
from flowmill._internal.session import Session
from flowmill.errors import DeadlineExceededError, FailedPreconditionError
from flowmill.train._readers import checkpoint_exists, get_checkpoint_state


class SessionManager:
    """Makes sessions ready.

    Args:
        local_init_op: initializes what is not saved.
        ready_op: gives the names of variables without a value; ready if there are none.
        ready_for_local_init_op: the same before `local_init_op` runs.
        graph: the graph, the default one if it is None.
        recovery_wait_secs: seconds between two looks at whether a session is ready.
        local_init_run_options: `RunOptions` of `local_init_op`.
        local_init_feed_dict: what `local_init_op` is fed.
    """

    def __init__(self, local_init_op=None, ready_op=None, ready_for_local_init_op=None, graph=None, recovery_wait_secs: float = 30,
                 local_init_run_options=None, local_init_feed_dict=None):
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(f"If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op [{ready_for_local_init_op}]")
        self._local_init_op, self._ready_op, self._ready_for_local_init_op = local_init_op, ready_op, ready_for_local_init_op
        self._graph, self._wait = graph or get_default_graph(), recovery_wait_secs
        self._options, self._feeds = local_init_run_options, local_init_feed_dict

    def prepare_session(self, master: str = "", init_op=None, saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint: bool = False, max_wait_secs: float = 7200, config=None, init_feed_dict=None, init_fn=None) -> Session:
        """Returns a session that is ready: restored from a checkpoint if there is one, else initialized.

        Args:
            master: an address; empty for this process.
            init_op: initializes variables.
            saver: a `Saver`, to restore with.
            checkpoint_dir: a directory, whose newest checkpoint is taken.
            checkpoint_filename_with_path: a checkpoint instead.
            wait_for_checkpoint: waits for a checkpoint.
            max_wait_secs: seconds to wait.
            config: a `ConfigProto`.
            init_feed_dict: what `init_op` is fed.
            init_fn: called with the session after `init_op`.

        Raises:
            RuntimeError: if it is not ready then.
        """
        session, is_loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config)
        if not is_loaded:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(session)
        success, message = self._initialized_locally(session)
        if not success:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init.  Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}, "
                f"error: {message}")
        is_ready, message = _ready(self._ready_op, session)
        if not is_ready:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {getattr(init_op, 'name', init_op)}, init fn: {init_fn}, "
                f"local_init_op: {getattr(self._local_init_op, 'name', self._local_init_op)}, error: {message}")
        return session

    def recover_session(self, master: str = "", saver=None, checkpoint_dir=None, checkpoint_filename_with_path=None,
                        wait_for_checkpoint: bool = False, max_wait_secs: float = 7200, config=None) -> tuple[Session, bool]:
        """Returns a session restored from a checkpoint, and whether it is ready; arguments as of :meth:`prepare_session`."""
        session, is_loaded = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config)
        success, message = self._initialized_locally(session)
        if not is_loaded:
            return session, False
        is_ready = success and _ready(self._ready_op, session)[0]
        if not is_ready:
            logging.info("Restoring model from %s did not make model ready: %s", checkpoint_dir or checkpoint_filename_with_path, message)
        return session, is_ready

    def wait_for_session(self, master: str = "", config=None, max_wait_secs: float = float("inf")) -> Session:
        """Returns a session that others make ready.

        Raises:
            errors.DeadlineExceededError: if it is not after `max_wait_secs`.
        """
        end = time.time() + (float("inf") if max_wait_secs is None else max_wait_secs)
        while True:
            session = Session(master, graph=self._graph, config=config)
            success, message = self._initialized_locally(session)
            if success and _ready(self._ready_op, session)[0]:
                return session
            session.close()
            if time.time() + self._wait > end:
                raise DeadlineExceededError(None, None, f"Session was not ready after waiting {max_wait_secs} secs.")
            logging.info("Waiting for model to be ready: %s", message)
            time.sleep(self._wait)

    def _restored(self, master, saver, directory, file, wait: bool, max_wait_secs, config) -> tuple[Session, bool]:
        session = Session(master, graph=self._graph, config=config)
        if directory and file:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if not saver or not (directory or file):
            return session, False
        if file:
            saver.restore(session, file)
            return session, True
        end = time.time() + max_wait_secs
        state = get_checkpoint_state(directory)
        while not (state and state.model_checkpoint_path and checkpoint_exists(state.model_checkpoint_path)):
            if not wait or time.time() >= end:
                return session, False
            time.sleep(min(self._wait, 1.0))
            state = get_checkpoint_state(directory)
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return session, True

    def _initialized_locally(self, session) -> tuple[bool, str | None]:
        if self._local_init_op is None:
            return True, None
        is_ready, message = _ready(self._ready_for_local_init_op, session)
        if not is_ready:
            return False, message
        session.run(self._local_init_op, feed_dict=self._feeds, options=self._options)
        return True, None


def _ready(ready_op, session) -> tuple[bool, str | None]:
    if ready_op is None:
        return True, None
    try:
        missing = session.run(ready_op)
    except FailedPreconditionError as error:
        if "uninitialized" in str(error):
            return False, str(error)
        raise
    # Operations of old that say nothing when all is ready give an integer.
    if missing is None or np.asarray(missing).dtype == np.int32 or np.size(missing) == 0:
        return True, None
    names = ", ".join(n.decode() if isinstance(n, bytes) else str(n) for n in missing)
    return False, "Variables not initialized: " + names
