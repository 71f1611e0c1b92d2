"""For tests of programs."""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import tempfile
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np

from flowmill import app, errors
from flowmill._internal import graph, lazy as _lazy
from flowmill._internal.graph_stack import defaults
from flowmill._internal.session import Session, get_default_session
from flowmill.compat import as_bytes

_GRADIENT_CHECKER = "compute_gradient compute_gradient_error"

__all__ = [
    "TestCase", "assert_equal_graph_def", *_GRADIENT_CHECKER.split(), "get_temp_dir", "gpu_device_name",
    "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm", "is_built_with_xla", "is_gpu_available", "main", "test_src_dir_path",
]


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability=None) -> bool:
    """Returns true if sessions have a GPU by default: always false, since a session has one only if it asks for it."""
    return False


def gpu_device_name() -> str:
    """Returns the name of the GPU that sessions have by default: empty."""
    return ""


def is_built_with_cuda() -> bool:
    """Returns true if sessions use CUDA by default: always false."""
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_xla = is_built_with_cuda

# What tests begin with.
_SEED = 87654321
_temp_dir: str | None = None


def get_temp_dir() -> str:
    """Returns a directory that is removed when the process ends."""
    global _temp_dir
    if _temp_dir is None:
        _temp_dir = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, _temp_dir, ignore_errors=True)
    return _temp_dir


def test_src_dir_path(relative_path) -> str:
    """Returns a path within this package."""
    return os.path.join(os.path.dirname(__file__), relative_path)


def main(argv=None) -> None:
    """Runs the program's tests."""
    app.run(main=lambda rest: unittest.main(argv=rest), argv=argv)


def assert_equal_graph_def(actual, expected, checkpoint_v2: bool = False, hash_table_shared_name: bool = False) -> None:
    """Checks that two `GraphDef` have equal nodes, in whichever order.

    Raises:
        AssertionError: if they differ.
    """
    nodes = [{node.name: node for node in graph.node} for graph in (actual, expected)]
    names = sorted(set(nodes[0]) ^ set(nodes[1]))
    if names:
        raise AssertionError(f"only one of the graphs has the nodes {names}")
    for name in nodes[0]:
        if nodes[0][name] != nodes[1][name]:
            raise AssertionError(f"the nodes {name!r} differ:\n{nodes[0][name]}\n{nodes[1][name]}")


__getattr__, __dir__ = _lazy.attach(__name__, _lazy.table("flowmill", {
    "_internal.benchmark": "Benchmark StubOutForTesting benchmark_config disable_with_predicate is_cpu_target_available with_eager_op_as_function",
    "_internal.gradient_checker": _GRADIENT_CHECKER}))


class TestCase(unittest.TestCase):
    """A test with a default graph of its own, and with comparisons of arrays."""

    def setUp(self) -> None:
        """Begins with an empty default graph and known seeds."""
        super().setUp()
        self._cached = None
        defaults.graphs.clear()
        graph.reset_default_graph()
        np.random.seed(_SEED)
        graph.get_default_graph().seed = _SEED

    def tearDown(self) -> None:
        """Closes the test's session."""
        if self._cached is not None:
            self._cached.close()
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns a directory of the test's own."""
        path = os.path.join(get_temp_dir(), self.id())
        os.makedirs(path, exist_ok=True)
        return path

    @contextlib.contextmanager
    def session(self, graph=None, config=None, use_gpu: bool = True, force_gpu: bool = False):
        """A new session as the default one."""
        with Session(graph=graph, config=config) as session:
            yield session

    @contextlib.contextmanager
    def cached_session(self, graph=None, config=None, use_gpu: bool = True, force_gpu: bool = False):
        """The test's session as the default one: the same each time."""
        if self._cached is None:
            self._cached = Session(graph=graph, config=config)
        with self._cached.graph.as_default(), self._cached.as_default():
            yield self._cached

    def test_session(self, graph=None, config=None, use_gpu: bool = True, force_gpu: bool = False):
        """Like :meth:`cached_session`, or like :meth:`session` if a graph is given."""
        return self.cached_session(graph, config) if graph is None else self.session(graph, config)

    test_session.__test__ = False

    def evaluate(self, tensors) -> Any:
        """Returns the values of tensors in the default session."""
        return get_default_session().run(tensors)

    def assertAllClose(self, a, b, rtol: float = 1e-6, atol: float = 1e-6, msg=None) -> None:
        """Checks that arrays, or structures of them, are nearly equal."""
        if isinstance(a, dict):
            self.assertEqual(sorted(a), sorted(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and len({np.shape(v) for v in a}) > 1:
            self.assertEqual(len(a), len(b), msg)
            for x, y in zip(a, b):
                self.assertAllClose(x, y, rtol, atol, msg)
        else:
            self.assertEqual(np.shape(a), np.shape(b), msg)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(self, a, b, rtol=1e-6, atol=1e-6, float_rtol=1e-6, float_atol=1e-6, half_rtol=1e-3, half_atol=1e-3,
                                      bfloat16_rtol=1e-2, bfloat16_atol=1e-2, msg=None) -> None:
        """Like :meth:`assertAllClose`, with the tolerance of the less precise type."""
        names = {np.asarray(a).dtype.name, np.asarray(b).dtype.name}
        for name, r, t in (("float32", float_rtol, float_atol), ("float16", half_rtol, half_atol), ("bfloat16", bfloat16_rtol, bfloat16_atol)):
            if name in names:
                rtol, atol = max(rtol, r), max(atol, t)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertAllEqual(self, a, b, msg=None) -> None:
        """Checks that arrays are equal; NaN is equal to itself."""
        self.assertEqual(np.shape(a), np.shape(b), msg)
        a, b = (np.asarray(v) if not isinstance(v, (str, bytes)) else np.asarray(v, object) for v in (a, b))
        if a.dtype.kind in "OSU" or b.dtype.kind in "OSU":
            a, b = (np.array([as_bytes(v) if isinstance(v, str) else v for v in x.reshape(-1).tolist()], object).reshape(x.shape) for x in (a, b))
        np.testing.assert_array_equal(a, b, err_msg=msg or "")

    def assertNotAllClose(self, a, b, rtol: float = 1e-6, atol: float = 1e-6, msg=None) -> None:
        """Checks that arrays are not nearly equal."""
        try:
            self.assertAllClose(a, b, rtol, atol, msg)
        except AssertionError:
            return
        raise AssertionError(msg or "The two values are close at all elements.")

    def assertNotAllEqual(self, a, b, msg=None) -> None:
        """Checks that arrays are not equal."""
        try:
            self.assertAllEqual(a, b, msg)
        except AssertionError:
            return
        raise AssertionError(msg or "The two values are equal at all elements.")

    def assertAllInRange(self, target, lower_bound, upper_bound, open_lower_bound: bool = False, open_upper_bound: bool = False) -> None:
        """Checks that all elements lie between bounds."""
        target = np.asarray(target)
        low = target > lower_bound if open_lower_bound else target >= lower_bound
        high = target < upper_bound if open_upper_bound else target <= upper_bound
        self.assertTrue(bool(np.all(low & high)), f"not all of {target} are between {lower_bound} and {upper_bound}")

    def assertShapeEqual(self, input_a, input_b, msg=None) -> None:
        """Checks that arrays or tensors have the same shape."""
        shapes = [x.get_shape().as_list() if hasattr(x, "get_shape") else list(np.shape(x)) for x in (input_a, input_b)]
        self.assertEqual(*shapes, msg)

    def assertProtoEquals(self, expected, actual, msg=None) -> None:
        """Checks that two messages are equal; `expected` may be one in text form."""
        if isinstance(expected, (str, bytes)):
            from google.protobuf import text_format  # start-up: protobuf is loaded when it is used

            expected = text_format.Parse(expected, type(actual)())
        self.assertEqual(expected, actual, msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(self, exception_type, expected_err_re_or_predicate) -> Iterator[None]:
        """Checks that an exception is raised that a function accepts, or whose message a regular expression finds."""
        fits = expected_err_re_or_predicate
        try:
            yield
        except exception_type as error:
            message = getattr(error, "message", None) or str(error)
            if not (fits(error) if callable(fits) else re.search(fits, message)):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        else:
            self.fail(f"{exception_type} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate) -> contextlib.AbstractContextManager[None]:
        """Checks that a step fails."""
        return self.assertRaisesWithPredicateMatch(errors.OpError, expected_err_re_or_predicate)
