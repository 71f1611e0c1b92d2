# Made by python/make_stubs from the code.

from typing import Any
from flowmill._internal.protos import Experiment as Experiment
from flowmill._internal.protos import HParamInfo as HParamInfo
from flowmill._internal.protos import Interval as Interval
from flowmill._internal.protos import MetricInfo as MetricInfo
from flowmill._internal.protos import MetricName as MetricName

__all__ = [
    "DATA_TYPE_BOOL",
    "DATA_TYPE_FLOAT64",
    "DATA_TYPE_STRING",
    "Experiment",
    "HParamInfo",
    "Interval",
    "MetricInfo",
    "MetricName",
    "STATUS_FAILURE",
    "STATUS_RUNNING",
    "STATUS_SUCCESS",
    "experiment_pb",
    "session_end_pb",
    "session_start_pb",
]

DATA_TYPE_STRING: int
DATA_TYPE_BOOL: int
DATA_TYPE_FLOAT64: int
STATUS_SUCCESS: int
STATUS_FAILURE: int
STATUS_RUNNING: int
def experiment_pb(hparam_infos, metric_infos, user: str = '', description: str = '', time_created_secs: float | None = None) -> Any: ...
def session_start_pb(
    hparams: dict,
    model_uri: str = '',
    monitor_url: str = '',
    group_name: str = '',
    start_time_secs: float | None = None,
) -> Any: ...
def session_end_pb(status: int, end_time_secs: float | None = None) -> Any: ...
