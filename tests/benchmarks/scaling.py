"""On paper: how long an evaluation takes on more workers than there are here.

    python -m tests.benchmarks.scaling            measure here, simulate, print the table
    python -m tests.benchmarks.scaling --readme   and put it into the README

Measured are the scheduler's time for a task, and for a block that a task takes, the delay of a task that waits for
another, and the time of a block's row; assumed is the network.  The simulation has one scheduler that hands out one
task after another, workers with a task each over the blocks that lie there, and the sums of eight.

The scheduler's time is that of the processor: what else the machine does is no part of it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import NamedTuple

import click
import numpy as np

from tape.dask.evaluation import FAN_IN

from .cluster.clusters import PAUSE, cluster, nothing
from .cluster.sums import loss, rows, shaped_alike
from .processes import ROOT
from .report import amount

WORKERS = (10, 100, 1000, 10_000)
BLOCKS_EACH = 4
ROWS, COLUMNS = 10**9, 20
START, STOP = "<!-- scaling -->", "<!-- /scaling -->"


class Figures(NamedTuple):
    """What the simulation goes by, in seconds; bytes per second of the network.

    Attributes:
        dispatch: the scheduler's time, and the client's, for one task; block: for a block that a task takes.
        delay: from the end of a task to the start of one that waits for it.
        row: a row's time, for value and gradient.
        bandwidth, latency: of the network.
    """

    dispatch: float
    block: float
    delay: float
    row: float
    bandwidth: float = 1.25e9
    latency: float = 1e-4


def measured() -> Figures:
    """The figures of this machine."""
    with ExitStack() as stack:
        client = cluster(stack, 2)
        data = {n: rows(client, n, 1, n) for n in (8, 256)}

        def cost(blocks: int, tasks: int) -> tuple[float, float]:
            numbers = [part.tolist() for part in np.array_split(np.arange(blocks), tasks)]
            empty = shaped_alike(client, nothing, nothing, data[blocks], lambda: numbers)
            return least(lambda: empty(np.zeros(1)))

        (short, few), (_, many), (_, fewer) = cost(8, 8), cost(256, 256), cost(256, 8)
        dispatch = (many - fewer) / (256 + 32 + 4 - 8)
        block = max(fewer - few, 0.0) / (256 - 8)
        row = client.submit(seconds_per_row, pure=False).result()
    return Figures(dispatch, block, max(short - 8 * dispatch, 0.0) / 2, row)


def seconds_per_row(count: int = 100_000) -> float:
    """A row's time in the process where this is called; workers have one thread for NumPy too."""
    import tape

    X, y, w = np.ones((count, COLUMNS)), np.ones(count), np.zeros(COLUMNS)
    program = tape.record(tape.func.value_and_grad(loss), w, X, y, tier="optimised", threads=1)
    return least(lambda: program(w, X, y))[1] / count


def least(call: Callable[[], object], times: int = 8) -> tuple[float, float]:
    """The least that a call takes, of the clock and of this process's processors, but for the first.

    Between calls there is time for what the client still has to say, which would keep the next one waiting.
    """
    found = []
    for _ in range(times):
        sleep(PAUSE)
        start, spent = perf_counter(), process_time()
        call()
        found.append((perf_counter() - start, process_time() - spent))
    clock, processor = zip(*found[1:], strict=True)
    return min(clock), min(processor)


def seconds(figures: Figures, workers: int, tasks: int, blocks: int, parameters: int = COLUMNS) -> float:
    """One evaluation, simulated: when all sums are there."""
    size = 8 * (parameters + 1) / figures.bandwidth
    hop = figures.latency + size
    work = figures.row * ROWS / tasks
    clock, free = 0.0, [0.0] * workers
    done = []
    for _ in range(tasks):  # the scheduler hands tasks out in turn, to whoever is free first
        clock += figures.dispatch + figures.block * blocks / tasks
        start = max(clock + hop, heapq.heappop(free))
        heapq.heappush(free, start + work)
        done.append(start + work)
    parts = max(1, blocks // tasks)  # neighbours may lie far apart, so that their sums are taken late
    while len(done) > FAN_IN:
        above = []
        for k in range(0, len(done), FAN_IN):
            below = done[k : k + FAN_IN]
            clock = max(clock, *below) + figures.dispatch
            above.append(clock + figures.delay + len(below) * parts * size + figures.latency)
        done, parts = above, min(parts * FAN_IN, blocks)
    return max(done) + figures.delay + len(done) * parts * size + figures.latency


HEADER = "| workers | blocks | tasks | depth | bytes | compute alone | one evaluation | of the workers' time used |"


def table(figures: Figures) -> str:
    """The table in Markdown."""
    lines = [HEADER, "|" + " --- |" * 8]
    for workers in WORKERS:
        blocks = BLOCKS_EACH * workers
        for tasks in (workers, blocks):
            ideal, found = figures.row * ROWS / workers, seconds(figures, workers, tasks, blocks)
            sums = sums_above(tasks)
            moved = amount(float(8 * COLUMNS * (tasks + 2 * blocks)), "B")
            count = f"{tasks + sum(sums):,} | {len(sums) + 1} | {moved}"
            times = f"{amount(ideal, 's')} | {amount(found, 's')} | {ideal / found:.2g}"
            lines.append(f"| {workers:,} | {blocks:,} | {count} | {times} |")
    return "\n".join([*lines, "", *conditions(figures)])


def sums_above(tasks: int) -> list[int]:
    """How many tasks each level of sums has."""
    found = []
    while tasks > FAN_IN:
        tasks = -(-tasks // FAN_IN)
        found.append(tasks)
    return found


def conditions(figures: Figures) -> list[str]:
    """What the table goes by, and what follows."""
    fewest = figures.dispatch / figures.row
    most = np.sqrt(figures.row * ROWS / figures.dispatch)
    return [
        f"Logistic regression of 10⁹ rows × {COLUMNS}, {BLOCKS_EACH} blocks on each worker, in one task for all blocks",
        f"of a worker or one for each.  Measured: {amount(figures.dispatch, 's')} of the scheduler for a task and",
        f"{amount(figures.block, 's')} for a block in it, {amount(figures.delay, 's')} from task to task,",
        f"{amount(figures.row, 's')} for a row on one thread; assumed: a network of 10 Gbit/s with 0.1 ms.  Tasks are",
        "handed out one after another, so that the blocks of a worker are too small together when they have fewer than",
        f"about {fewest:,.0f} rows for each worker; 10⁹ rows are done fastest by about {most:,.0f} workers.",
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
