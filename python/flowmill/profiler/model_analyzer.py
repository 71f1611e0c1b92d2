"""Profiles of graphs and of their steps."""

from __future__ import annotations

import sys

from flowmill import _core, errors
from flowmill._internal import protos
from flowmill._internal.default_graph import get_default_graph
from flowmill.profiler.option_builder import ProfileOptionBuilder
from flowmill.profiler.tfprof_logger import op_log_of

ALL_ADVICE = {"ExpensiveOperationChecker": {}, "AcceleratorUtilizationChecker": {}}

# The parts of the options that are messages' fields.
_NOT_FIELDS = frozenset({"output", "dump_to_file"})


class Profiler:
    """Collects what steps of a graph take, and shows it by several views.

    Args:
        graph: the graph, the default graph if it is None.
        op_log: an `OpLogProto` with names of nodes to select them by, and their operations.
    """

    def __init__(self, graph=None, op_log=None):
        self._graph = get_default_graph() if graph is None else graph
        self._core = _core.Profiler(self._graph._core)
        self._stats: dict[int, object] = {}
        self._traced: set[str] = set()
        self._add_facts(op_log_of(self._graph, op_log, add_trace=False))

    def _add_facts(self, op_log) -> None:
        text = op_log.id_to_string
        for entry in op_log.log_entries:
            for name in entry.types:
                self._core.add_type(entry.name, name)
            if entry.float_ops > 0:
                self._core.set_float_ops(entry.name, entry.float_ops)
            if entry.code_def.traces:
                self._core.set_trace(entry.name, [(text[t.file_id], t.lineno, text[t.function_id], text[t.line_id]) for t in entry.code_def.traces])

    def _add_traces(self) -> None:
        for op in self._graph.get_operations():
            if op.name not in self._traced:
                self._traced.add(op.name)
                self._core.set_trace(op.name, op.traceback)

    def add_step(self, step: int, run_meta) -> None:
        """Adds a step's statistics, a `RunMetadata`. Several of one number are added up."""
        self._core.add_step(step, run_meta.step_stats.SerializeToString())
        self._stats.setdefault(step, protos.get("StepStats")()).MergeFrom(run_meta.step_stats)

    def profile_python(self, options: dict):
        """Shows the profile by line of Python, as a `MultiGraphNodeProto`. Nodes without a stack, such as those of imported graphs, are left out."""
        return self._show("code", options)

    def profile_operations(self, options: dict):
        """Shows the profile by op, as a `MultiGraphNodeProto`."""
        return self._show("op", options)

    def profile_name_scope(self, options: dict):
        """Shows the profile by name scope, as a `GraphNodeProto`."""
        return self._show("scope", options)

    def profile_graph(self, options: dict):
        """Shows the profile by dataflow, as a `GraphNodeProto`."""
        return self._show("graph", options)

    def advise(self, options: dict | None = None):
        """Returns an `AdviceProto` with the reports of the checkers that are the keys of `options`, or of all."""
        self._add_traces()
        return protos.get("AdviceProto").FromString(self._core.advise(list(ALL_ADVICE if options is None else options)))

    def _show(self, view: str, options: dict):
        if view == "code":
            self._add_traces()
        fields = {key: value for key, value in options.items() if key not in _NOT_FIELDS}
        text, message = self._core.show(view, protos.get("OptionsProto")(**{"max_depth": 10, "step": -1, **fields}).SerializeToString())
        self._write(text, options)
        kind = "GraphNodeProto" if view in ("scope", "graph") else "MultiGraphNodeProto"
        return protos.get(kind).FromString(message)

    def _write(self, text: str, options: dict) -> None:
        if options.get("dump_to_file"):
            output, path = "file", options["dump_to_file"]
        else:
            output, _, rest = str(options.get("output", "stdout")).partition(":")
            path = rest.removeprefix("outfile=")
        if output == "stdout":
            sys.stdout.write(text)
        elif output == "file":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        elif output == "timeline":
            self._write_timeline(path, options.get("step", -1))
        elif output != "none":
            raise errors.InvalidArgumentError(None, None, f"Unknown output type: {output}")

    def _write_timeline(self, path: str, step: int) -> None:
        if step not in self._stats and self._stats and step < 0:
            step = max(self._stats)
        if step not in self._stats:
            raise errors.InvalidArgumentError(None, None, f"there are no statistics of step {step}")
        timeline = _core.Timeline(self._stats[step].SerializeToString(), "schedule")
        with open(f"{path}_{step}", "w", encoding="utf-8") as file:
            file.write(timeline.chrome_trace(dataflow=True, memory=True, tensors=False, analysis=True, lines=True))


def _profiler_of(graph, run_meta, op_log=None) -> Profiler:
    made = Profiler(graph, op_log)
    if run_meta is not None:
        made.add_step(0, run_meta)
    return made


def profile(graph=None, run_meta=None, op_log=None, cmd: str = "scope", options: dict | int = 0):
    """Profiles a graph, and a step of it.

    Args:
        graph: the graph, the default graph if it is None.
        run_meta: a `RunMetadata` of a traced step. Without, there are no times and no bytes.
        op_log: an `OpLogProto` with names of nodes to select them by, and their operations.
        cmd: the view: ``"scope"``, ``"graph"``, ``"op"`` or ``"code"``.
        options: what :class:`ProfileOptionBuilder` builds. Without, the parameters of trainable variables are shown.

    Returns:
        A `GraphNodeProto` for scopes and graphs, a `MultiGraphNodeProto` for ops and code. The options' `output` says where the text goes: by default to
        standard output.

    Raises:
        InvalidArgumentError: for an unknown view.
    """
    if options == 0:
        options = ProfileOptionBuilder.trainable_variables_parameter()
    return _profiler_of(graph, run_meta, op_log)._show(cmd, options)


def advise(graph=None, run_meta=None, options: dict | int = 0):
    """Checks a step for what takes long, and returns an `AdviceProto`. Arguments are those of :func:`profile`; `options` is as :data:`ALL_ADVICE`."""
    return _profiler_of(graph, run_meta).advise(None if options == 0 else options)
