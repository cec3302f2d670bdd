"""How fast this tree is beside another one, such as the tree before a change.

    git worktree add ../before HEAD~20
    python -m tests.benchmarks.against ../before                all rows
    python -m tests.benchmarks.against ../before eager first    those whose names begin so

Each tree has a process that does nothing else, and they take turns: what the machine does meanwhile hits both alike.
Counted is the time of the process's own processor, of each row the least of a round of turns.  Every round starts
processes anew, the other tree first, because where a process has its memory makes a few per cent; given is the
median over the rounds of what this tree takes for each second of the other one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import click

from .__main__ import ONE_THREAD
from .processes import ROOT
from .report import amount
from .tree_rows import ROWS

SCRIPT = Path(__file__).with_name("tree_rows.py")

Figures = dict[str, list[tuple[float, float]]]
"""By row, for each round the least seconds of the other tree and of this one."""


class Tree:
    """A process that times rows of a tree."""

    def __init__(self, tree: Path, caches: str, seconds: float):
        own = {"PYTHONPATH": str(tree), "TAPE_CACHE_DIR": caches, "TAPE_JIT": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(SCRIPT), str(tree), str(seconds)], cwd=tree, env=os.environ | ONE_THREAD | own,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def seconds(self, row: str) -> float | str:
        """What a row takes, or why it does not run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{row}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise click.ClickException(f"the process of {row!r} has ended, with {self.process.wait()}")
        found: float | str = json.loads(answer)
        return found

    def end(self) -> None:
        """Let it end."""
        self.process.communicate()


@contextmanager
def started(trees: Sequence[Path], caches: Sequence[str], seconds: float, turned: bool) -> Iterator[list[Tree]]:
    """A process for each tree, begun in the other order if `turned`."""
    running: dict[int, Tree] = {}
    try:
        for k in (1, 0) if turned else (0, 1):
            running[k] = Tree(trees[k], caches[k], seconds)
        yield [running[0], running[1]]
    finally:
        for tree in running.values():
            tree.end()


def turns(pair: list[Tree], row: str, count: int) -> tuple[float, float] | str:
    """The least seconds of both trees over so many turns, or why one of them cannot run the row."""
    least = [float("inf"), float("inf")]
    for turn in range(count):
        for k in (0, 1) if turn % 2 == 0 else (1, 0):
            found = pair[k].seconds(row)
            if isinstance(found, str):
                return f"{'this' if k else 'the other'} tree: {found}"
            least[k] = min(least[k], found)
    return least[0], least[1]


def line(row: str, rounds: list[tuple[float, float]]) -> str:
    """A row's figures, and how many times as long this tree takes."""
    before, now = (amount(median(figures), "s") for figures in zip(*rounds))
    return f"{row:42s} {before:>10s} {now:>10s} {ratio(rounds):8.3f}"


def ratio(rounds: list[tuple[float, float]]) -> float:
    """The median over the rounds of what this tree takes for each second of the other one."""
    return median(now / before for before, now in rounds)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1)
@click.option("--rounds", default=3, show_default=True, help="How often processes are started anew.")
@click.option("--count", default=6, show_default=True, help="Turns of a row in a round.")
@click.option("--seconds", default=0.03, show_default=True, help="Time of a turn.")
@click.option("--most", type=float, help="Fail if a row takes more than this many times as long, such as 1.05.")
def main(other: Path, names: tuple[str, ...], rounds: int, count: int, seconds: float, most: float | None) -> None:
    """Time rows of this tree and of the one at OTHER, in turns.  NAMES are beginnings of rows' names."""
    chosen = [row for row in ROWS if not names or row.startswith(names)]
    if not chosen:
        raise click.BadParameter(f"no row's name begins so; there are {', '.join(map(repr, ROWS))}", param_hint="NAMES")
    figures: Figures = {row: [] for row in chosen}
    with tempfile.TemporaryDirectory() as top:
        for k in range(rounds):
            caches = [f"{top}/before", f"{top}/now"]
            with started((other.resolve(), ROOT), caches, seconds, turned=k % 2 == 1) as pair:
                for row in [row for row in chosen if row in figures]:
                    found = turns(pair, row, count)
                    if isinstance(found, str):
                        del figures[row]
                        click.echo(f"{row:42s} {found}")
                        continue
                    figures[row].append(found)
                    if k == rounds - 1:
                        click.echo(line(row, figures[row]))
    slow = [row for row, found in figures.items() if most is not None and ratio(found) > most]
    if slow:
        raise click.ClickException(f"more than {most} times as long: {', '.join(slow)}")


if __name__ == "__main__":
    main()
