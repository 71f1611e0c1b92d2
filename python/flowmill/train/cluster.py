"""Clusters as a value: which task of which job has which address. Nothing here connects to them."""

from __future__ import annotations

from collections.abc import Mapping

from flowmill._internal import protos as _protos

__all__ = ["ClusterSpec"]


class ClusterSpec:
    """The addresses of the tasks of a cluster, by job: what :func:`replica_device_setter` and configurations take.

    Args:
        cluster: a dictionary from jobs to their addresses, lists of them or dictionaries by the tasks' numbers; a `ClusterDef`; another one.

    Raises:
        TypeError: if it is something else, or a name or address is no string.
    """

    def __init__(self, cluster) -> None:
        if isinstance(cluster, ClusterSpec):
            jobs: dict = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, dict):
            jobs = {job: _numbered(job, tasks) for job, tasks in cluster.items()}
        elif hasattr(cluster, "job"):
            jobs = {job.name: dict(job.tasks) for job in cluster.job}
        else:
            raise TypeError("`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a `ClusterDef` protocol "
                            "buffer")
        for job, tasks in jobs.items():
            if not isinstance(job, (str, bytes)):
                raise TypeError(f"Job name {job!r} must be bytes or unicode")
            for address in tasks.values():
                if not isinstance(address, (str, bytes)):
                    raise TypeError(f"Task address {address!r} must be bytes or unicode")
        self._jobs = jobs

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks of a job.

        Raises:
            ValueError: if there is no such job.
        """
        return len(self._tasks(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the numbers of a job's tasks, in order.

        Raises:
            ValueError: if there is no such job.
        """
        return sorted(self._tasks(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task.

        Raises:
            ValueError: if there is no such job or task.
        """
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of a job by the tasks' numbers, None for those that there are not.

        Raises:
            ValueError: if there is no such job.
        """
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _tasks(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def as_dict(self) -> dict:
        """Addresses by jobs: lists if the tasks are numbered from 0 without gaps, else dictionaries by their numbers."""
        return {job: [tasks[i] for i in range(len(tasks))] if tasks and sorted(tasks) == list(range(len(tasks))) else dict(sorted(tasks.items()))
                for job, tasks in self._jobs.items()}

    def as_cluster_def(self):
        """Returns the cluster as a `ClusterDef`, jobs by name."""
        message = _protos.get("ClusterDef")()
        for job, tasks in sorted(self._jobs.items()):
            added = message.job.add(name=job)
            for index, address in sorted(tasks.items()):
                added.tasks[index] = address
        return message

    def __bool__(self):
        return bool(self._jobs)

    __nonzero__ = __bool__

    def __eq__(self, other):
        return self._jobs == (other._jobs if isinstance(other, ClusterSpec) else other)

    __hash__ = None  # it compares by what it holds

    def __repr__(self):
        of = self.as_dict()
        return f"ClusterSpec({{{', '.join(f'{job!r}: {of[job]!r}' for job in sorted(of))}}})"


def _numbered(job, tasks) -> dict:
    """Returns the addresses of a job by their tasks' numbers."""
    if isinstance(tasks, Mapping):
        return {int(index): address for index, address in tasks.items()}
    if isinstance(tasks, (list, tuple)):
        return dict(enumerate(tasks))
    raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
