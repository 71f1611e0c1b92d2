"""Benchmarks and mock objects for tests: ``tf.test.Benchmark`` and related names."""

from __future__ import annotations

import functools
import inspect
import math
import platform
import statistics
import time
import unittest
from collections.abc import Callable
from typing import Any

from flowmill._internal import protos
from flowmill._internal.session import get_default_session

__all__ = ["Benchmark", "StubOutForTesting", "benchmark_config", "disable_with_predicate", "is_cpu_target_available", "with_eager_op_as_function"]


def benchmark_config():
    """Returns a `ConfigProto` for timings: passes that reorder dependencies are off."""
    config = protos.get("ConfigProto")()
    config.graph_options.rewrite_options.dependency_optimization = protos.get("RewriterConfig").OFF
    return config


def is_cpu_target_available(target: str) -> bool:
    """Returns true if the package was built for a kind of processor, such as ``"x86"``: the kind that it runs on."""
    machine = platform.machine().lower()
    return target == {"x86_64": "x86", "amd64": "x86", "arm64": "aarch64"}.get(machine, machine)


def disable_with_predicate(pred: Callable[[], Any], skip_message: str):
    """Returns a decorator that skips a test if `pred()` is true."""
    def decorated(test):
        @functools.wraps(test)
        def run(self, *args, **kwargs):
            if pred():
                self.skipTest(skip_message)
            return test(self, *args, **kwargs)
        return run
    return decorated


def with_eager_op_as_function(cls=None, only_as_function: bool = False):
    """Returns a decorator that leaves a class of tests as it is: operations are not run eagerly."""
    return cls if cls is not None else (lambda tests: tests)


class StubOutForTesting:
    """Replaces attributes for a time. As a context manager it puts everything back at the end."""

    def __init__(self):
        # What was there, last replaced last: object, name, value, whether it was a static method's wrapper.
        self._set: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *raised) -> None:
        self.CleanUp()

    def __del__(self):
        self.CleanUp()

    def CleanUp(self) -> None:  # noqa: N802 - TensorFlow's name
        """Puts everything back."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent, child_name: str, new_child) -> None:  # noqa: N802
        """Replaces an attribute of an object, a class or a module."""
        old = vars(parent).get(child_name, None) if isinstance(parent, type) else None
        self._set.append((parent, child_name, old if isinstance(old, (staticmethod, classmethod)) else getattr(parent, child_name)))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:  # noqa: N802
        """Puts back what :meth:`Set` replaced."""
        while self._set:
            setattr(*self._set.pop())

    def SmartSet(self, obj, attr_name: str, new_attr) -> None:  # noqa: N802
        """Replaces an attribute where it is defined: in a module, the object, or the class that has it.

        Raises:
            AttributeError: if there is none.
        """
        if inspect.ismodule(obj) or attr_name in getattr(obj, "__dict__", {}):
            where = obj
        else:
            where = next((c for c in inspect.getmro(obj if isinstance(obj, type) else type(obj)) if attr_name in vars(c)), None)
            if where is None:
                raise AttributeError("Attribute not found.")
        self._smart.append((where, attr_name, vars(where).get(attr_name, getattr(where, attr_name))))
        setattr(where, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:  # noqa: N802
        """Puts back what :meth:`SmartSet` replaced."""
        while self._smart:
            setattr(*self._smart.pop())


class Benchmark(unittest.TestCase):
    """A base class for timings: methods that call :meth:`run_op_benchmark`."""

    def __init__(self, method_name: str = "runTest"):
        super().__init__(method_name)

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        """Does nothing: timings are called by name."""

    @classmethod
    def is_abstract(cls) -> bool:
        """Returns true if it is this class itself."""
        return cls is Benchmark

    def evaluate(self, tensors):
        """Returns the values of tensors in the default session."""
        return get_default_session().run(tensors)

    def report_benchmark(self, iters: int | None = None, cpu_time: float | None = None, wall_time: float | None = None,
                         throughput: float | None = None, extras: dict | None = None, name: str | None = None, metrics: list | None = None) -> None:
        """Prints what was measured in one line.

        Args:
            iters: how often it was run.
            cpu_time: seconds of the processor.
            wall_time: seconds.
            throughput: megabytes a second.
            extras: more, by name.
            name: the name of the timing; the class's and the calling method's if it is None.
            metrics: dictionaries with `name` and `value`.
        """
        said = {"iters": iters, "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput, **(extras or {}),
                **{m["name"]: m["value"] for m in metrics or ()}}
        if name is None:
            name = f"{type(self).__name__}.{_calling_method(self)}"
        print(f"{name}: " + " ".join(f"{key}={value}" for key, value in said.items() if value is not None))

    def run_op_benchmark(self, sess, op_or_tensor, feed_dict=None, burn_iters: int = 2, min_iters: int = 10, store_trace: bool = False,
                         store_memory_usage: bool = True, name: str | None = None, extras: dict | None = None, mbs: float = 0) -> dict[str, Any]:
        """Runs an operation or a tensor again and again and reports how long that takes.

        Args:
            sess: the session.
            op_or_tensor: what to run.
            feed_dict: as of :meth:`Session.run`.
            burn_iters: how often to run it before.
            min_iters: how often to run it.
            store_trace: not used.
            store_memory_usage: not used.
            name: as of :meth:`report_benchmark`.
            extras: as of :meth:`report_benchmark`.
            mbs: how many megabytes it moves.

        Returns:
            `iters`, `wall_time` (the median, in seconds), `throughput`, `name`, and `extras` with the mean and the standard deviation.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict)
        seconds = []
        for _ in range(min_iters):
            begin = time.perf_counter()
            sess.run(op_or_tensor, feed_dict)
            seconds.append(time.perf_counter() - begin)
        median = statistics.median(seconds) if seconds else -1
        extras = dict(extras or {})
        name = name or f"{type(self).__name__}.{_calling_method(self)}"
        values = {"iters": min_iters, "wall_time": median, "extras": extras, "name": name, "throughput": mbs / median if median else math.inf}
        self.report_benchmark(**values)
        extras["wall_time_mean"] = statistics.fmean(seconds) if seconds else -1
        extras["wall_time_stdev"] = statistics.stdev(seconds) if len(seconds) > 1 else -1
        return values


def _calling_method(benchmark: Benchmark) -> str:
    """Returns the outermost method of an object that is being called."""
    found = "benchmark"
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_locals.get("self") is benchmark and not hasattr(Benchmark, frame.f_code.co_name):
            found = frame.f_code.co_name
        frame = frame.f_back
    return found
