# Made by python/make_stubs from the code.


__all__ = [
    "Timeline",
]

class Timeline:
    def __init__(self, step_stats, graph=None) -> None: ...
    def generate_chrome_trace_format(self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = 'schedule') -> str: ...
