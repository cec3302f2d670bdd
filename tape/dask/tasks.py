"""Dask's own classes for the tasks of a graph, which it keeps in a private module."""

from __future__ import annotations

from typing import Any

try:
    from dask._task_spec import List, Task, TaskRef
except ImportError as error:
    import dask

    raise ImportError(
        "tape.dask writes tasks as Dask has them since 2026.1.1 (Task, TaskRef and List of dask._task_spec), and Dask "
        f"{dask.__version__} has not: pip install 'wengert[dask]' where it is older, 'dask==2026.8.0' where it is newer"
    ) from error

__all__ = ["HeldRef", "List", "Task", "TaskRef"]


class HeldRef(TaskRef):  # type: ignore[misc]
    """A reference to a value in a cluster's memory, which stays there as long as the reference is here.

    What travels is the reference alone.  A graph with these has no task for each value, which would cost the cluster
    as much as one that computes something.
    """

    __slots__ = ("future",)

    def __init__(self, key: Any, future: Any):
        super().__init__(key)
        self.future = future

    def __reduce__(self) -> Any:
        return TaskRef, (self.key,)
