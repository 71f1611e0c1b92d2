"""The choice of a device of a cluster for an operation: `replica_device_setter`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from flowmill._internal.device import DeviceSpec

__all__ = ["replica_device_setter"]

# Ops that hold what all workers share.
_SHARED = (
    "Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2", "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2", "MutableDenseHashTable", "MutableDenseHashTableV2", "VarHandleOp", "ResourceConditionalAccumulator",
)


def replica_device_setter(ps_tasks: int = 0, ps_device: str = "/job:ps", worker_device: str = "/job:worker", merge_devices: bool = True, cluster=None,
                          ps_ops=None, ps_strategy: Callable | None = None) -> Callable | None:
    """Returns a function for :func:`flowmill.device` that puts variables on servers, one after another, and everything else on a worker.

    Args:
        ps_tasks: how many servers there are.
        ps_device: the device of variables.
        worker_device: the device of other operations.
        merge_devices: whether devices that are asked for within go before these in part; otherwise they go before them as a whole.
        cluster: the addresses by job, as a dictionary or `ClusterDef`: says how many servers there are in the place of `ps_tasks`.
        ps_ops: the ops that are put on servers; those of variables and tables if it is None.
        ps_strategy: called with such an operation for the number of a server; servers take turns if it is None.

    Returns:
        The function; None if there are no servers.

    Raises:
        TypeError: if `cluster` is something else, or `ps_strategy` cannot be called.
    """
    if cluster is not None:
        jobs = _tasks(cluster)
        job = DeviceSpec.from_string(ps_device).job
        if not jobs.get(job):
            return None
        ps_tasks = jobs[job]
    if ps_tasks == 0:
        return None
    if ps_strategy is None:
        turns = itertools.cycle(range(ps_tasks))

        def ps_strategy(_):
            return next(turns)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    shared = frozenset(_SHARED if ps_ops is None else ps_ops)

    def device(op) -> str:
        if not merge_devices and op.device:
            return op.device
        asked = DeviceSpec.from_string(op.device or "")
        kind = getattr(op, "type", None) or op.op
        if not ps_device or kind not in shared:
            return DeviceSpec.from_string(worker_device or "").make_merged_spec(asked).to_string()
        server = DeviceSpec.from_string(ps_device)
        if server.job and asked.job in (None, server.job):
            server = server.replace(task=ps_strategy(op))
        return server.make_merged_spec(asked).to_string()
    return device


def _tasks(cluster) -> dict[str, int]:
    """Returns the number of tasks of each job."""
    if hasattr(cluster, "as_cluster_def"):
        cluster = cluster.as_cluster_def()
    if isinstance(cluster, Mapping):
        return {name: len(tasks) for name, tasks in cluster.items()}
    if hasattr(cluster, "job"):
        return {job.name: len(job.tasks) for job in cluster.job}
    raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a `ClusterDef` protocol buffer")
