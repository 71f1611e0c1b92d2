# Made by python/make_stubs from the code.

from flowmill._internal.protos import AdviceProto as AdviceProto
from flowmill._internal.protos import GraphNodeProto as GraphNodeProto
from flowmill._internal.protos import MultiGraphNodeProto as MultiGraphNodeProto
from flowmill._internal.protos import OpLogProto as OpLogProto
from flowmill.profiler.model_analyzer import Profiler as Profiler
from flowmill.profiler.model_analyzer import advise as advise
from flowmill.profiler.model_analyzer import profile as profile
from flowmill.profiler.option_builder import ProfileOptionBuilder as ProfileOptionBuilder
from flowmill.profiler.tfprof_logger import write_op_log as write_op_log

__all__ = [
    "AdviceProto",
    "GraphNodeProto",
    "MultiGraphNodeProto",
    "OpLogProto",
    "ProfileOptionBuilder",
    "Profiler",
    "advise",
    "profile",
    "write_op_log",
]
