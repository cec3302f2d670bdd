"""Dask's own classes for the tasks of a graph, which it keeps in a private module."""

try:
    from dask._task_spec import List, Task, TaskRef
except ImportError as error:
    import dask

    raise ImportError(
        f"tape.dask writes tasks as Dask 2026.1.1 has them (dask._task_spec), and Dask {dask.__version__} has not: "
        "pip install 'wengert[dask]'"
    ) from error

__all__ = ["List", "Task", "TaskRef"]
