"""The command line."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from ..machine import describe
from .contenders import CONTENDERS
from .process import run
from .suite import kernels
from .table import Findings, show

WIDTH = 150
"""Columns of the table at least, also where it is written into a file."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--kernel", "names", multiple=True, help="A kernel by its file in bench_info; without any, all run.")
@click.option(
    "--contender", "chosen", multiple=True, type=click.Choice(list(CONTENDERS)), help="Who runs; all if none."
)
@click.option(
    "--preset", default="S", show_default=True, help="Sizes that are timed; small ones are judged. none: no times."
)
@click.option("--limit", default=120.0, show_default=True, help="Seconds for one contender on one kernel.")
@click.option("--memory", default=8.0, show_default=True, help="GiB of address space for it.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write what is found there.")
def main(
    path: Path, names: tuple[str, ...], chosen: tuple[str, ...], preset: str, limit: float, memory: float,
    json_path: Path | None,
) -> None:  # fmt: skip
    """Differentiate the kernels of the checkout of NPBench at PATH, judge the gradients, and take times."""
    try:
        found = kernels(path.resolve(), names)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    contenders = list(chosen or CONTENDERS)
    findings: Findings = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(found) * len(contenders))
        for kernel in found:
            findings[kernel.name] = {}
            for contender in contenders:
                progress.update(task, description=f"{kernel.name}, {contender}")
                findings[kernel.name][contender] = run(kernel.root, kernel.name, contender, preset, limit, memory)
                progress.advance(task)
            if json_path is not None:
                report = {**describe(), "preset": preset, "kernels": findings}
                json_path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    console = Console()
    console.width = max(console.width, WIDTH)
    show(findings, contenders, preset, console)
