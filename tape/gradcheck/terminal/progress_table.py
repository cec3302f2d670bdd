"""The report as a table that a person can read, and progress while it is made."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import rich.progress
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ...base.location import Location
from ..derivatives.report import UNSETTLED, Comparison, Report, percent, place_of
from .matching import CallPlan

if TYPE_CHECKING:
    from ..searching import Search
    from .findings import Findings

PATIENCE = 1.0
PAPER = 160
COLOURS = {"right": "green", "wrong": "bold red", "unsettled": "yellow"}


class Progress:
    """A bar on standard error that appears, on a terminal, when the work takes longer than a second."""

    def __init__(self, work: str = "checking") -> None:
        self.work = work
        self.start = time.monotonic()
        self.bar: rich.progress.Progress | None = None
        self.task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """Say that so many of all elements are done."""
        if self.bar is None:
            if time.monotonic() - self.start < PATIENCE:
                return
            console = Console(file=sys.__stderr__, stderr=True)
            if not console.is_terminal:
                return
            self.bar = rich.progress.Progress(console=console, transient=True)
            self.task = self.bar.add_task(self.work)
            self.bar.start()
        self.bar.update(self.task, completed=done, total=total)


def show(outcome: dict[str, Any], found: Findings, *, verbose: bool) -> None:
    """Print the outcome of the command: errors on standard error, everything else on standard output."""
    if outcome["error"] is not None:
        screen = Console(stderr=True, soft_wrap=True, highlight=False)
        screen.print(f"[bold red]gradcheck:[/] {escape(outcome['error'])}")
        return
    plan, reports = found.plan, found.reports
    assert plan is not None
    out = Console(soft_wrap=True, highlight=False, width=None if sys.stdout.isatty() else PAPER)
    if verbose:
        _show_inputs(out, plan)
    for order, report in enumerate(reports, 1):
        title = escape(outcome["function"]) + ("" if order == 1 else ", second derivatives")
        out.print(_table(title, plan, report), soft_wrap=False, crop=False)
        _show_findings(out, report)
        if verbose:
            _show_details(out, report)
    if found.health is not None:
        out.print(escape(str(found.health)))
    if found.search is not None:
        _show_search(out, found.search, found.test)
    _show_total(out, outcome, reports)


def _show_search(out: Console, search: Search, test: str | None) -> None:
    """What a search found; and a test, from which the rest can be cut."""
    out.print(f"[bold]search:[/] {escape(str(search))}")
    if search.refusal:
        out.print(f"  refused at some: {escape(search.refusal)}")
    if not search.shrunk:
        out.print("  the time was over before these inputs were as small as they get; --seconds gives it more")
    if test is not None:
        out.print("\nThis test fails as it does:\n")
        out.print(escape(test))


def _show_total(out: Console, outcome: dict[str, Any], reports: Sequence[Report]) -> None:
    """The last line: the verdict, and what it took."""
    total = sum(c.checked for report in reports for c in report.comparisons)
    calls = sum(report.evaluations for report in reports)
    verdict = ("right", "wrong", "unsettled")[outcome["status"]]
    bad = [f"{c.count} d {c.output} / d {c.input}" for report in reports for c in report.comparisons if not c.ok]
    tail = escape(f" ({', '.join(bad)})") if bad else ""
    out.print(f"[{COLOURS[verdict]}]{verdict}[/]: {total} derivatives, {calls} calls, {outcome['seconds']:.2f} s{tail}")


def _table(title: str, plan: CallPlan, report: Report) -> Table:
    table = Table(title=title, title_justify="left")
    several = {c.output for c in report.comparisons} != {"output"}
    ours = plan.whose
    modes = len({c.mode for c in report.comparisons}) > 1
    names = [name for name, shown in (("mode", modes), ("output", several), ("input", True)) if shown]
    for head in (*names, "shape", "worst", ours, "difference", "error/tol", ""):
        number = head in (ours, "difference", "error/tol")
        table.add_column(escape(head), justify="right" if number else "left", no_wrap=True)
    for c in report.comparisons:
        cells = (*(getattr(c, name) for name in names), str(tuple(c.input_shape)), _where(c), *_numbers(c))
        table.add_row(*map(escape, cells), f"[{COLOURS[c.verdict]}]{c.verdict}[/]")
    return table


def _where(c: Comparison) -> str:
    """Index of the worst element: of the input, and of the output where that is an array."""
    if c.checked == 0:
        return "empty"
    if c.along:
        return "along u, v"
    of_output = place_of("", c.output_index, c.output_part)
    return place_of("", c.input_index, c.input_part) + (f" → {of_output}" if of_output else "")


def _numbers(c: Comparison) -> tuple[str, str, str]:
    if c.checked == 0:
        return "", "", ""
    ratio = "" if c.verdict == UNSETTLED else f"{c.ratio:.2g}"
    return f"{c.analytic:.8g}", f"{c.numeric:.8g}", ratio


def _show_findings(out: Console, report: Report) -> None:
    """What is wrong, and the user's lines that it comes from."""
    for fault in report.faults:
        out.print(f"[bold red]•[/] {escape(fault)}")
    for c in report.comparisons:
        if c.verdict == UNSETTLED:
            out.print(f"[yellow]•[/] {escape(str(c))}")
    for s in report.suspects:
        out.print(f"[bold red]•[/] {_line(s.where)}")
        wrong, right = map(escape, s.claim)
        out.print(
            f"    here {wrong} gives {s.analytic:.8g}, but {right} give {s.numeric:.8g}: "
            f"[bold]off by {percent(s.off)}[/]"
        )
    if report.lines:
        out.print("No op is wrong by itself; the gradient went through these lines:")
        for where in report.lines:
            out.print(f"    {_line(where)}")


def _line(where: Location) -> str:
    text = f"\n      {escape(where.text)}" if where.text else ""
    return f"{escape(where.file)}:{where.line} in {escape(where.function)}{text}"


def _show_inputs(out: Console, plan: CallPlan) -> None:
    for row in plan.described():
        shape = "" if row["shape"] is None else f" {tuple(row['shape'])}"
        out.print(f"{escape(row['name'])}: {row['dtype']}{escape(shape)}{', checked' if row['checked'] else ''}")


def _show_details(out: Console, report: Report) -> None:
    for c in report.comparisons:
        if c.checked:
            out.print(
                f"  {escape(c.pair)}: error {c.error:.2g}, tolerance {c.tolerance:.2g}; {c.method} with step "
                f"{c.step:.2g}, itself uncertain by {c.uncertainty:.2g}; {escape(c.count)} {c.verdict}"
            )
