"""Statistics of a step as a trace that Chrome shows at ``chrome://tracing``."""

from __future__ import annotations

import json

__all__ = ["Timeline"]


class Timeline:
    """The operations of one step, from a `StepStats`: ``Timeline(run_metadata.step_stats)``.

    Args:
        step_stats: the statistics, which ``RunOptions(trace_level=RunOptions.FULL_TRACE)`` gathers.
        graph: not used.
    """

    def __init__(self, step_stats, graph=None):
        self._step_stats = step_stats

    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule") -> str:
        """Returns the trace as JSON: a process for each device, a thread for each of its threads, an event for each operation, in microseconds.

        Args:
            show_dataflow: not used.
            show_memory: not used.
            op_time: what an event lasts: the time of an operation from when it was scheduled, which ``"all"`` means too, or of its kernel alone
                (``"gpu"``).
        """
        events: list[dict] = []
        for pid, device in enumerate(self._step_stats.dev_stats):
            events.append({"name": "process_name", "ph": "M", "pid": pid, "args": {"name": f"{device.device} Compute"}})
            for stats in device.node_stats:
                begin = stats.all_start_micros + (stats.op_start_rel_micros if op_time == "gpu" else 0)
                end = stats.all_start_micros + (stats.op_end_rel_micros if op_time == "gpu" else max(stats.all_end_rel_micros, stats.op_end_rel_micros))
                label = stats.timeline_label or stats.node_name
                _, _, op = label.partition(" = ")
                op = op.partition("(")[0] or "unknown"
                events.append({"ph": "X", "cat": "Op", "name": op, "pid": pid, "tid": stats.thread_id, "ts": begin, "dur": max(end - begin, 1),
                               "args": {"name": stats.node_name, "op": op}})
        return json.dumps({"traceEvents": events}, indent=4, separators=(",", ": "))
