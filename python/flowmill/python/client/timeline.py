"""Statistics of a step as a trace for Perfetto and ``chrome://tracing``, or as a page."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from flowmill import _core

# The height of a timeline in a notebook, in pixels.
_NOTEBOOK_HEIGHT = 480

__all__ = ["AllocationMaximum", "StepStatsAnalysis", "Timeline"]


class AllocationMaximum(NamedTuple):
    """The largest memory in use: the time in microseconds since the Unix epoch, the bytes, and the names of the tensors."""

    timestamp: int
    num_bytes: int
    tensors: set


class StepStatsAnalysis(NamedTuple):
    """A trace, whose ``format_to_string`` returns JSON, and the `AllocationMaximum` of each allocator by its name."""

    chrome_trace: Any
    allocator_maximums: dict


class _ChromeTrace:
    """A trace."""

    def __init__(self, text: str):
        self._text = text

    def format_to_string(self, pretty: bool = False) -> str:
        """Returns the trace as JSON, indented if `pretty` is true."""
        return json.dumps(json.loads(self._text), indent=4, separators=(",", ": ")) if pretty else self._text


class Timeline:
    """The operations of one step, from a `StepStats`: ``Timeline(run_metadata.step_stats)``.

    Args:
        step_stats: the statistics, which ``RunOptions(trace_level=RunOptions.FULL_TRACE)`` gathers.
        graph: not used.
    """

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def _timeline(self, op_time: str = "schedule"):
        return _core.Timeline(self._step_stats.SerializeToString(), op_time)

    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = "schedule") -> StepStatsAnalysis:
        """Returns the trace of the step and the largest memory of its tensors; arguments as of :func:`generate_chrome_trace_format`."""
        timeline = self._timeline(op_time)
        text = timeline.chrome_trace(dataflow=show_dataflow, memory=show_memory, tensors=show_memory, analysis=True, lines=False)
        maximums = {name: AllocationMaximum(time, size, set(tensors)) for name, time, size, tensors in timeline.memory_peaks()} if show_memory else {}
        return StepStatsAnalysis(_ChromeTrace(text), maximums)

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule") -> str:
        """Returns the trace as JSON: a process for each device, a row for each of its threads, an event for each operation. Times are microseconds since
        the Unix epoch, with nanoseconds behind the point.

        Args:
            show_dataflow: if true, with arrows from producers to consumers in other rows, and from sends to receives.
            show_memory: if true, with the bytes of live tensors over time, and an object for each tensor.
            op_time: the time that an operation on a device with kernels of its own is shown for: until it has enqueued them (``"schedule"``), that of the
                kernels (``"gpu"``), or both (``"all"``).

        Raises:
            InvalidArgumentError: if `op_time` is none of these.
        """
        return self._timeline(op_time).chrome_trace(dataflow=show_dataflow, memory=show_memory, tensors=show_memory, analysis=True, lines=True)

    def generate_html(self, title: str = "Timeline") -> str:
        """Returns the timeline as one HTML page that loads nothing from elsewhere."""
        return self._timeline().page(title)

    def _repr_html_(self) -> str:
        from flowmill._internal.view import MAX_NOTEBOOK_BYTES, frame  # start-up: few programs show timelines in notebooks

        page = self.generate_html()
        if len(page) > MAX_NOTEBOOK_BYTES:
            return f"<p>The page of the timeline has {len(page) >> 20} MiB, too many for a notebook: write <code>.generate_html()</code> to a file.</p>"
        return frame(page, "Timeline", _NOTEBOOK_HEIGHT)

    def critical_path(self) -> tuple[list[str], float, float]:
        """Returns the names of the nodes that decided when the step ended, the first one first, with the microseconds in which they ran and in which the
        next one waited."""
        return self._timeline().critical_path()
