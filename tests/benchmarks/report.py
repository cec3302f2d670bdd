"""Results as a table on the terminal, in Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .cluster.clusters import Clustered
from .goal import Goal
from .kinds import Fresh, Timed
from .machine import describe
from .timing import Samples

COLUMNS = "tape", "torch", "autograd", "jax"
START, STOP = "<!-- benchmarks -->", "<!-- /benchmarks -->"


@dataclass(frozen=True)
class Result:
    """What one benchmark found, and which of its peers were not installed."""

    benchmark: Timed | Fresh | Clustered
    samples: Samples
    missing: list[str] = field(default_factory=list)

    def cell(self, peer: str) -> str:
        """A peer's figure and how many times that is ours."""
        if peer in self.missing:
            return "not installed"
        figure = amount(self.samples.median(peer), self.benchmark.unit)
        base = self.samples.base
        return figure if peer == base else f"{figure} ({self.samples.ratio(peer, base):.3g}×)"

    def column(self, column: str) -> str:
        """What stands in a column: jax is there as ``jax`` or as ``jax.jit``; several ways of one peer are named."""
        ways = [p for p in self.benchmark.peers if named(p) == column]
        first, *others = ways or [""]
        return "; ".join([self.cell(first), *(f"{way(p)}: {self.cell(p)}" for p in others)]) if ways else "–"

    def others(self) -> str:
        """The peers that have no column of their own."""
        rest = [p for p in self.benchmark.peers if named(p) not in COLUMNS]
        return "; ".join(f"{p}: {self.cell(p)}" for p in rest) or "–"

    def verdict(self) -> str:
        """The goal, and whether it is reached."""
        goal = self.benchmark.goal
        if goal is None:
            return "–"
        if self._unknown(goal):
            return f"{goal.text}: unknown"
        return f"{goal.text}: {'reached' if goal.reached(self.samples) else 'MISSED'}"

    def _unknown(self, goal: Goal) -> bool:
        return any(peer in self.missing for peer in goal.peers)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        samples = self.samples
        peers = {
            peer: {
                "median": samples.median(peer),
                "quartiles": samples.quartiles(peer),
                "ratio": samples.ratio(peer, samples.base),
                "samples": figures,
            }
            for peer, figures in samples.by_peer.items()
        }
        goal = self.benchmark.goal
        reached = None if goal is None or self._unknown(goal) else goal.reached(samples)
        return {
            "name": self.benchmark.name, "text": self.benchmark.text, "unit": self.benchmark.unit, "peers": peers,
            "missing": self.missing, "goal": goal and goal.text, "reached": reached,
        }  # fmt: skip


def named(peer: str) -> str:
    """Whose column a peer belongs to, if there is one: ``jax`` for ``jax.jit``, but none for ``tape, no_grad``."""
    return peer.partition(".")[0]


def way(peer: str) -> str:
    """How a peer goes about it."""
    return peer.partition(", ")[2] or peer.partition(".")[2] or peer


def amount(figure: float, unit: str) -> str:
    """A figure with three digits and a unit that suits it."""
    if unit != "s":
        return f"{figure / 2**20:.3g} MiB" if unit == "B" and figure >= 2**20 else f"{figure:.0f} {unit}"
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if figure >= scale:
            return f"{figure / scale:.3g} {name}"
    return f"{figure * 1e9:.3g} ns"


def cells(result: Result) -> list[str]:
    """A result's row."""
    return [result.benchmark.text, *map(result.column, COLUMNS), result.others(), result.verdict()]


HEADER = ["work", *COLUMNS, "others", "must reach"]


def show(results: Sequence[Result], console: Console) -> None:
    """Print the table."""
    table = Table(caption=conditions(), caption_justify="left")
    for title in HEADER:
        table.add_column(title, overflow="fold")
    for result in results:
        table.add_row(*(escape(cell.replace("`", "")) for cell in cells(result)))
    console.print(table)


def conditions() -> str:
    """Where and how the figures were taken, in two sentences."""
    facts: dict[str, Any] = describe()
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return (
        f"{facts['machine']}; {versions}.  One thread each, taking turns in one run, medians; "
        "in brackets the figure over tape's."
    )


def as_markdown(results: Sequence[Result]) -> str:
    """The table for the README."""
    rows = [HEADER, ["---"] * len(HEADER), *map(cells, results)]
    lines = ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join([*lines, "", conditions()])


def write_readme(path: Path, results: Sequence[Result]) -> None:
    """Put the table between the markers, which are added at the end of the file if there are none."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if START not in text:
        text = f"{text.rstrip()}\n\n{START}\n{STOP}\n".lstrip()
    before, _, rest = text.partition(START)
    _, stop, after = rest.partition(STOP)
    if not stop:
        raise ValueError(f"{path} has {START} without {STOP} after it; add the second marker")
    path.write_text(f"{before}{START}\n{as_markdown(results)}\n{STOP}{after}", encoding="utf-8")
