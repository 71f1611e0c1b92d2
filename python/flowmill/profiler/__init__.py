"""Profiles of graphs: parameters, operations, time and memory by name scope, by dataflow, by op, or by line of Python."""

from flowmill._internal import lazy as _lazy
from flowmill.profiler.model_analyzer import Profiler, advise, profile
from flowmill.profiler.option_builder import ProfileOptionBuilder
from flowmill.profiler.tfprof_logger import write_op_log

_NAMES = _lazy.messages("AdviceProto GraphNodeProto MultiGraphNodeProto OpLogProto")

__all__ = ["ProfileOptionBuilder", "Profiler", "advise", "profile", "write_op_log", *sorted(_NAMES)]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)
