# Made by python/make_stubs from the code.

from typing import Any, NamedTuple

__all__ = [
    "AllocationMaximum",
    "StepStatsAnalysis",
    "Timeline",
]

class AllocationMaximum(NamedTuple):
    timestamp: int
    num_bytes: int
    tensors: set
class StepStatsAnalysis(NamedTuple):
    chrome_trace: Any
    allocator_maximums: dict
class Timeline:
    def __init__(self, step_stats, graph=None) -> None: ...
    def analyze_step_stats(self, show_dataflow: bool = True, show_memory: bool = True, op_time: str = 'schedule') -> StepStatsAnalysis: ...
    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = 'schedule') -> str: ...
    def generate_html(self, title: str = 'Timeline') -> str: ...
    def critical_path(self) -> tuple[list[str], float, float]: ...
