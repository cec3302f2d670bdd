"""On paper: how long an evaluation takes on more workers than there are here.

    python -m tests.benchmarks.scaling            measure here, simulate, print the table
    python -m tests.benchmarks.scaling --readme   and put it into the README

Measured are the scheduler's time for a task, the delay of a task that waits for another, and the time of a block's
row; assumed is the network.  The simulation has one scheduler that hands out one task after another, workers that take
their blocks in turn, and the tree of sums.
"""

from __future__ import annotations

import heapq
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

import click
import numpy as np

from .clusters import cluster, loss, nothing, rows, shaped_alike
from .processes import ROOT
from .report import amount

WORKERS = (10, 100, 1000, 10_000)
ROWS, COLUMNS = 10**9, 20
FAN_IN = 8
START, STOP = "<!-- scaling -->", "<!-- /scaling -->"


class Figures(NamedTuple):
    """What the simulation goes by, in seconds; bytes per second of the network.

    Attributes:
        dispatch: the scheduler's time for one task.
        delay: from the end of a task to the start of one that waits for it.
        row: a row's time, for value and gradient.
        bandwidth, latency: of the network.
    """

    dispatch: float
    delay: float
    row: float
    bandwidth: float = 1.25e9
    latency: float = 1e-4


def measured() -> Figures:
    """The figures of this machine."""
    with ExitStack() as stack:
        client = cluster(stack, 2)
        few, many = (shaped_alike(client, nothing, nothing, rows(client, n, 1, n)) for n in (8, 512))
        short, long = (middle(lambda f=f: f(np.zeros(1))) for f in (few, many))
        dispatch = (long - short) / (512 + 73 - 9)
    X, y, w = np.ones((100_000, COLUMNS)), np.ones(100_000), np.zeros(COLUMNS)
    import tape

    program = tape.record(tape.func.value_and_grad(loss), w, X, y, tier="optimised", threads=1)
    return Figures(dispatch, max(short - 9 * dispatch, 0.0) / 2, middle(lambda: program(w, X, y)) / len(X))


def middle(call: object, times: int = 15) -> float:
    """The median of a call's times, but for the first."""
    found = []
    for _ in range(times):
        start = perf_counter()
        call()  # type: ignore[operator]
        found.append(perf_counter() - start)
    return median(found[1:])


def seconds(figures: Figures, workers: int, blocks: int, parameters: int = COLUMNS) -> float:
    """One evaluation, simulated: when the root of the tree of sums is there."""
    hop = figures.latency + 8 * parameters / figures.bandwidth
    work = figures.row * ROWS / blocks
    clock, free = 0.0, [0.0] * workers
    done = []
    for _ in range(blocks):  # the scheduler hands tasks out in turn, to whoever is free first
        clock += figures.dispatch
        start = max(clock + hop, heapq.heappop(free))
        heapq.heappush(free, start + work)
        done.append(start + work)
    depth = 0
    while depth == 0 or len(done) > 1:
        above = []
        for k in range(0, len(done), FAN_IN):
            parts = done[k : k + FAN_IN]
            clock = max(clock, *parts) + figures.dispatch
            above.append(clock + figures.delay + len(parts) * 8 * parameters / figures.bandwidth + figures.latency)
        done, depth = above, depth + 1
    return done[0]


HEADER = "| workers | blocks | depth | compute alone | one evaluation | of the workers' time used |"


def table(figures: Figures) -> str:
    """The table in Markdown."""
    lines = [HEADER, "|" + " --- |" * 6]
    for workers in WORKERS:
        for blocks in (4 * workers, workers):
            ideal, found = figures.row * ROWS / workers, seconds(figures, workers, blocks)
            depth = int(np.ceil(np.log(blocks) / np.log(FAN_IN)))
            times = f"{amount(ideal, 's')} | {amount(found, 's')} | {ideal / found:.0%}"
            lines.append(f"| {workers:,} | {blocks:,} | {depth} | {times} |")
    return "\n".join([*lines, "", *conditions(figures)])


def conditions(figures: Figures) -> list[str]:
    """What the table goes by, and what follows."""
    least, most = figures.dispatch / figures.row, np.sqrt(figures.row * ROWS / figures.dispatch)
    return [
        f"Logistic regression of 10⁹ rows × {COLUMNS}.  Measured: {amount(figures.dispatch, 's')} of the scheduler for",
        f"a task, {amount(figures.delay, 's')} from task to task, {amount(figures.row, 's')} for a row on one thread;",
        "assumed: a network of 10 Gbit/s with 0.1 ms.  Tasks are handed out one after another, so a block is too small",
        f"when it has fewer than about {least:,.0f} rows for each worker; with a block for each, 10⁹ rows are done",
        f"fastest by about {most:,.0f} workers.",
    ]


@click.command()
@click.option("--readme", is_flag=True, help="Put the table into README.md, between its markers.")
def main(readme: bool) -> None:
    """Predict the time of an evaluation on 10 to 10,000 workers."""
    text = table(measured())
    click.echo(text)
    if readme:
        path = Path(ROOT) / "README.md"
        before, _, rest = path.read_text(encoding="utf-8").partition(START)
        path.write_text(f"{before}{START}\n{text}\n{STOP}{rest.partition(STOP)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
