"""Hyperparameters of runs: one summary of the experiment, and two of each run, at its start and at its end."""

from __future__ import annotations

import time

from flowmill._internal import lazy as _lazy, protos as _protos

_NAMES = _lazy.messages("Experiment HParamInfo Interval MetricInfo MetricName")

# Values of the field `type` of `HParamInfo`.
DATA_TYPE_STRING, DATA_TYPE_BOOL, DATA_TYPE_FLOAT64 = 1, 2, 3
# How a run ended.
STATUS_SUCCESS, STATUS_FAILURE, STATUS_RUNNING = 1, 2, 3

__all__ = [
    "DATA_TYPE_BOOL", "DATA_TYPE_FLOAT64", "DATA_TYPE_STRING", "STATUS_FAILURE", "STATUS_RUNNING", "STATUS_SUCCESS", "experiment_pb",
    "session_end_pb", "session_start_pb", *sorted(_NAMES),
]

__getattr__, __dir__ = _lazy.attach(__name__, _NAMES)


def _summary(tag: str, **data):
    content = _protos.get("HParamsPluginData")(**data).SerializeToString()
    # The value is not used; an empty vector is the shortest tensor.
    tensor = {"dtype": 1, "tensor_shape": {"dim": [{"size": 0}]}}
    metadata = {"plugin_data": {"plugin_name": "hparams", "content": content}}
    return _protos.get("Summary")(value=[{"tag": f"_hparams_/{tag}", "metadata": metadata, "tensor": tensor}])


def experiment_pb(hparam_infos, metric_infos, user: str = "", description: str = "", time_created_secs: float | None = None):
    """Returns the summary of an experiment, which goes into the directory above those of its runs.

    Args:
        hparam_infos: `HParamInfo` messages, one per hyperparameter.
        metric_infos: `MetricInfo` messages, which name scalars of runs.
        user: who runs it.
        description: a text, which may be Markdown.
        time_created_secs: seconds since the Unix epoch, now if it is None.
    """
    return _summary("experiment", experiment={
        "description": description, "user": user, "time_created_secs": time.time() if time_created_secs is None else time_created_secs,
        "hparam_infos": hparam_infos, "metric_infos": metric_infos})


def session_start_pb(hparams: dict, model_uri: str = "", monitor_url: str = "", group_name: str = "", start_time_secs: float | None = None):
    """Returns the summary of a run's start.

    Args:
        hparams: booleans, numbers and strings by the names of hyperparameters; lists and tuples become strings.
        model_uri: where the model is.
        monitor_url: where the run can be watched.
        group_name: the name that runs with equal hyperparameters have in common.
        start_time_secs: seconds since the Unix epoch, now if it is None.

    Raises:
        TypeError: for a value of another type.
    """
    info = _protos.get("SessionStartInfo")(
        model_uri=model_uri, monitor_url=monitor_url, group_name=group_name,
        start_time_secs=time.time() if start_time_secs is None else start_time_secs)
    for name, value in hparams.items():
        if isinstance(value, bool):
            info.hparams[name].bool_value = value
        elif isinstance(value, (float, int)):
            info.hparams[name].number_value = value
        elif isinstance(value, (str, list, tuple)):
            info.hparams[name].string_value = str(value)
        else:
            raise TypeError(f"hparams[{name}]={value} has type: {type(value)} which is not supported")
    return _summary("session_start_info", session_start_info=info)


def session_end_pb(status: int, end_time_secs: float | None = None):
    """Returns the summary of a run's end.

    Args:
        status: `STATUS_SUCCESS`, `STATUS_FAILURE` or `STATUS_RUNNING`.
        end_time_secs: seconds since the Unix epoch, now if it is None.
    """
    return _summary("session_end_info", session_end_info={"status": status, "end_time_secs": time.time() if end_time_secs is None else end_time_secs})
