"""Records what TensorFlow's own unit tests run, for `test_recorded_runs.py`: graphs, feeds, results or errors.

    python record.py OUT.zip TREE FILE ...        e.g.  python record.py strings.zip ~/tensorflow kernel_tests/strings_ops/substr_op_test.py

TREE is a checkout of TensorFlow's source, FILE a path below its `tensorflow/python`, or such a path with `:CLASS` for the tests of one class. The tests run on the TensorFlow that is installed. All runs of a session
share the nodes that they need of its last graph. A session is left out if it uses files, Python functions, ops that are not public, values that NumPy
has no type for or what TensorFlow does not implement, if two of its runs overlap, if its graph or a value is larger than `MAX_BYTES`, or if TensorFlow's
results differ when its runs are replayed. Of sessions with equal graphs and feeds, the first is kept, and of each class the first `MAX_SESSIONS_PER_CLASS`.
"""

import collections
import dataclasses
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import logging
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import numpy as np
import replay
from recording import Recording

MAX_BYTES = 64 << 10
MAX_SESSIONS_PER_CLASS = 40
NUM_REPLAYS = 2
TIMEOUT_MS = 3000


class SourceFinder(importlib.abc.MetaPathFinder):
    """Finds in a checkout the modules of TensorFlow that the installed package does not have: its tests, and what only they import."""

    def __init__(self, tree):
        self.tree = tree

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("tensorflow.python."):
            return None
        place = self.tree.joinpath(*fullname.split("."))
        if place.is_dir():
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [str(place)]
            return spec
        file = place.with_suffix(".py")
        return importlib.util.spec_from_file_location(fullname, file) if file.exists() else None


@dataclasses.dataclass
class RecordedSession:
    """The runs of a session, and the part of its graph that they need."""

    runs: list = dataclasses.field(default_factory=list)
    names: set = dataclasses.field(default_factory=set)
    graph: bytes = b""
    num_active: int = 0
    is_lost: bool = False


class SessionRecorder:
    """Keeps the runs of each session."""

    def __init__(self, tf, excluded):
        self.tf, self.excluded, self.test, self.test_class = tf, excluded, "", None
        self.recording, self.sessions, self.num_sessions = Recording(), [], collections.Counter()

    def start_test(self, test):
        """Notes the test whose sessions follow."""
        self.test_class = type(test)
        self.test = f"{self.test_class.__module__.split('.')[-1]}: {test._testMethodName}"

    def install(self, session_class):
        """Records each run of a session of this class from now on."""
        run = session_class._do_run

        def recorded(session, handle, targets, fetches, feeds, options, metadata):
            if not hasattr(session, "_recorded"):
                self.num_sessions[self.test_class] += 1
                session._recorded = RecordedSession(is_lost=self.num_sessions[self.test_class] > MAX_SESSIONS_PER_CLASS)
                self.sessions.append(session._recorded)
            state = session._recorded
            state.is_lost |= handle is not None or state.num_active > 0
            if state.is_lost:
                return run(session, handle, targets, fetches, feeds, options, metadata)
            entry = {"test": self.test, "fetches": [t.name for t in fetches], "targets": [op.name for op in targets]}
            entry["feeds"] = {reference.deref().name: self.value(value, state) for reference, value in feeds.items()}
            state.runs.append(entry)
            state.num_active += 1
            try:
                results = run(session, handle, targets, fetches, feeds, options, metadata)
                entry["results"] = [self.value(value, state) for value in results]
            except self.tf.errors.OpError as error:
                entry["error"] = [type(error).__name__, ""]
                state.is_lost |= isinstance(error, self.tf.errors.UnimplementedError)
                raise
            finally:
                state.num_active -= 1
                self.note_graph(session.graph, entry, state)
            return results

        session_class._do_run = recorded

    def value(self, value, state):
        """Stores a value; the session is lost if NumPy or another machine does not have it."""
        value = np.asarray(value)
        is_string = value.dtype.kind == "U" or (value.dtype.kind in "OS" and all(isinstance(x, bytes | str) for x in value.ravel()))
        state.is_lost |= value.nbytes > MAX_BYTES or not (is_string or value.dtype.kind in "biufc")
        if state.is_lost:
            return {}
        stored = self.recording.value(value)
        state.is_lost = is_string and any(word.hex() in text for text in stored["strings"] for word in self.excluded)
        return stored

    def note_graph(self, graph, entry, state):
        """Keeps the part of the graph that the runs need, this one included."""
        names = state.names.union(name.split(":")[0] for name in [*entry["fetches"], *entry["targets"], *entry["feeds"]])
        if names == state.names:
            return
        state.names, needed = names, self.tf.graph_util.extract_sub_graph(graph.as_graph_def(), sorted(names))
        state.graph = needed.SerializeToString(deterministic=True)
        functions = {function.signature.name for function in needed.library.function}
        nodes = [*needed.node, *(node for function in needed.library.function for node in function.node_def)]
        state.is_lost |= len(state.graph) > MAX_BYTES or any(word in state.graph for word in [b"PyFunc", *self.excluded])
        # Only TensorFlow's tests have ops that are neither public nor functions of the graph.
        state.is_lost |= any(node.op not in functions and node.op != "Const" and not hasattr(self.tf.raw_ops, node.op) for node in nodes)

    def finish(self):
        """Returns the recording, with what TensorFlow reproduces of it."""
        seen, runs = set(), []
        for number, state in enumerate(state for state in self.sessions if state.runs and not state.is_lost):
            key = self.recording.graph(state.graph)
            identity = json.dumps([key, [{k: v for k, v in run.items() if k != "test"} for run in state.runs]])
            if identity not in seen:
                runs += [{**run, "session": number, "graph": key} for run in state.runs]
            seen.add(identity)
        self.recording.keep(runs)
        for _ in range(NUM_REPLAYS):
            file = io.BytesIO()
            self.recording.write(file)
            outcomes = [(run, kind) for run, kind, _ in replay.outcomes(self.tf, file, timeout_ms=TIMEOUT_MS)]
            bad = {run["session"] for run, kind in outcomes if kind not in ("same", "same error")}
            self.recording.keep([run for run in self.recording.runs if run["session"] not in bad])
        return self.recording


def main(out, tree, files):
    directory = tempfile.mkdtemp()
    os.environ.update(TEST_TMPDIR=directory, TMPDIR=directory, TF_CPP_MIN_LOG_LEVEL="3", TF_ENABLE_ONEDNN_OPTS="0")
    tempfile.tempdir = directory
    import tensorflow.compat.v1 as tf
    from absl import flags
    from tensorflow.python.client import session

    flags.FLAGS(["record"])
    logging.disable(logging.ERROR)
    tf.disable_v2_behavior()
    sys.meta_path.append(SourceFinder(pathlib.Path(tree)))
    recorder = SessionRecorder(tf, [directory.encode(), os.fsencode(tree)])
    recorder.install(session.BaseSession)
    result = unittest.TestResult()
    result.startTest = recorder.start_test
    loader = unittest.defaultTestLoader
    for file in files:
        path, _, class_name = file.partition(":")
        module = importlib.import_module("tensorflow.python." + path.removesuffix(".py").replace("/", "."))
        tests = loader.loadTestsFromTestCase(getattr(module, class_name)) if class_name else loader.loadTestsFromModule(module)
        tests.run(result)
        print(file, len(recorder.sessions), "sessions,", len(result.errors) + len(result.failures), "failed tests", flush=True)
    shutil.rmtree(directory)
    recorder.finish().write(out)
    print(f"{len(recorder.recording.runs)} runs of {len({run['session'] for run in recorder.recording.runs})} sessions, {os.path.getsize(out)} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
