"""A picture of what the workers of a cluster did: a bar for each task, a line for each worker."""

from __future__ import annotations

from html import escape
from types import TracebackType

from dask.utils import key_split
from distributed import Client, get_task_stream

WIDTH, LINE = 720, 26
COLOURS = "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"


class Tasks:
    """Watches a cluster for a while.

    Only the counts of tasks are in its text, which is the same in every run; the times are in the picture.
    """

    def __init__(self, client: Client):
        self.stream = get_task_stream(client)

    def __enter__(self) -> Tasks:
        self.stream.__enter__()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stream.__exit__(kind, error, trace)

    def counts(self) -> dict[str, int]:
        """How many tasks of each name ran."""
        names = sorted(key_split(task["key"]) for task in self.stream.data)
        return {name: names.count(name) for name in dict.fromkeys(names)}

    def __repr__(self) -> str:
        return ", ".join(f"{count} × {name}" for name, count in self.counts().items())

    def _repr_html_(self) -> str:
        bars = [
            (task["worker"], key_split(task["key"]), part["start"], part["stop"])
            for task in self.stream.data
            for part in task["startstops"]
            if part["action"] == "compute"
        ]
        begin, end = min(b[2] for b in bars), max(b[3] for b in bars)
        scale, lines = WIDTH / (end - begin), sorted({b[0] for b in bars})
        colours = dict(zip(self.counts(), COLOURS * len(bars), strict=False))
        drawn = "".join(
            f'<rect x="{(start - begin) * scale:.1f}" y="{lines.index(worker) * LINE + 2}" height="{LINE - 4}" '
            f'width="{max((stop - start) * scale, 1):.1f}" fill="{colours[name]}"><title>{escape(name)}, '
            f"{(stop - start) * 1e3:.1f} ms</title></rect>"
            for worker, name, start, stop in bars
        )
        legend = " ".join(f'<span style="color:{colours[n]}">■ {escape(n)}</span>' for n in self.counts())
        height = LINE * len(lines)
        told = f"Timeline of {len(bars)} tasks on {len(lines)} threads of workers, a bar for each"
        picture = f'<svg width="{WIDTH}" height="{height}" role="img" aria-label="{told}">{drawn}</svg>'
        return f"{picture}<p>{(end - begin) * 1e3:.0f} ms: {legend}</p>"
