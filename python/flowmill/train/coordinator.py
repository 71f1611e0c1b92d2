"""Threads that stop together."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

from flowmill.errors import OutOfRangeError


class Coordinator:
    """Coordinates threads: one can ask all to stop, and the error of one of them is raised.

    Args:
        clean_stop_exception_types: exceptions that ask to stop without being failures; `OutOfRangeError` if it is None.
    """

    def __init__(self, clean_stop_exception_types=None) -> None:
        self._clean = tuple(clean_stop_exception_types) if clean_stop_exception_types else (OutOfRangeError,)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failure = None
        self._joined = False
        self._threads: set[threading.Thread] = set()

    def request_stop(self, ex=None) -> None:
        """Asks all threads to stop.

        Args:
            ex: an exception, or what `sys.exc_info` gave; :meth:`join` raises the first.
        """
        with self._lock:
            exception = ex[1] if isinstance(ex, tuple) else ex
            if self._joined:
                # Threads that are late cannot hand on their failures any more.
                if isinstance(exception, self._clean) or exception is None:
                    return
                raise exception
            if not self._stop.is_set():
                if exception is not None and not isinstance(exception, self._clean):
                    self._failure = exception
                self._stop.set()

    def clear_stop(self) -> None:
        """Takes back that threads shall stop."""
        with self._lock:
            self._joined = False
            self._failure = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Returns true if threads are asked to stop."""
        return self._stop.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Asks to stop if an exception leaves the block, which ends it."""
        try:
            yield
        except BaseException:
            self.request_stop(sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Waits until threads shall stop, `timeout` seconds at most; tells whether they shall."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Makes :meth:`join` wait for a thread."""
        with self._lock:
            self._threads.add(thread)

    def join(self, threads=None, stop_grace_period_secs: float = 120, ignore_live_threads: bool = False) -> None:
        """Waits for threads to end.

        Args:
            threads: threads besides those that are registered.
            stop_grace_period_secs: how many seconds threads have to end once they were asked to.
            ignore_live_threads: lets threads run on after that.

        Raises:
            Exception: what a thread asked to stop with.
            RuntimeError: if threads run on.
        """
        with self._lock:
            waited = [*self._threads, *(t for t in threads or () if t not in self._threads)]
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(1.0):
            pass
        end = time.monotonic() + stop_grace_period_secs
        while any(t.is_alive() for t in waited) and time.monotonic() < end:
            for thread in waited:
                thread.join(0.05)
                if time.monotonic() >= end:
                    break
        alive = [t.name for t in waited if t.is_alive()]
        with self._lock:
            self._joined = True
            self._threads = set()
            if self._failure is not None:
                raise self._failure
            if alive and not ignore_live_threads:
                raise RuntimeError(f"Coordinator stopped with threads still running: {' '.join(alive)}")

    @property
    def joined(self) -> bool:
        """True if :meth:`join` has finished."""
        return self._joined

    def raise_requested_exception(self) -> None:
        """Raises what a thread asked to stop with, if anything."""
        with self._lock:
            if self._failure is not None:
                raise self._failure


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until a coordinator says to stop.

    Args:
        coord: the coordinator.
        timer_interval_secs: seconds from one call's beginning to the next's; None for calls one after another.
        target: the function; subclasses may define :meth:`run_loop` instead.
        args, kwargs: its arguments.
    """

    def __init__(self, coord: Coordinator, timer_interval_secs: float | None, target=None, args=None, kwargs=None):
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        super().__init__(daemon=True)
        self._coord, self._interval, self._call = coord, timer_interval_secs, target
        self._call_args, self._call_kwargs = args or (), kwargs or {}
        coord.register_thread(self)

    @staticmethod
    def loop(coord: Coordinator, timer_interval_secs: float | None, target, args=None, kwargs=None) -> LooperThread:
        """Returns a thread that has begun to call `target`."""
        thread = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        thread.start()
        return thread

    def run(self) -> None:
        """Calls until it shall stop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            at = time.time()
            while not (self._coord.should_stop() if self._interval is None else self._coord.wait_for_stop(max(0.0, at - time.time()))):
                self.run_loop()
                at += self._interval or 0.0
            self.stop_loop()

    def start_loop(self) -> None:
        """Called before the first call."""

    def stop_loop(self) -> None:
        """Called after the last call."""

    def run_loop(self) -> None:
        """Calls the function."""
        if self._call:
            self._call(*self._call_args, **self._call_kwargs)
