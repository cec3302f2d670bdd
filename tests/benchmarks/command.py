"""The command line."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress

from .catalogue import chosen
from .cluster.clusters import Clustered
from .kinds import Fresh, Timed
from .machine import describe
from .peers import installed
from .processes import ROOT
from .report import Result, show, write_readme
from .timing import compare


def measure(
    benchmark: Timed | Fresh | Clustered, seconds: float, small: bool = False, rounds: int | None = None
) -> Result:
    """Run one benchmark with those of its peers that are installed."""
    peers = [peer for peer in benchmark.peers if installed(peer)]
    missing = [peer for peer in benchmark.peers if peer not in peers]
    with benchmark.samplers(peers, small) as samplers:
        return Result(benchmark, compare(samplers, seconds, rounds or benchmark.rounds), missing)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1)
@click.option("--seconds", default=3.0, show_default=True, help="Time for each benchmark, or a few rounds.")
@click.option("--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write all samples there.")
@click.option("--readme", is_flag=True, help="Put the table into README.md, between its markers.")
def main(names: tuple[str, ...], seconds: float, json_path: Path | None, readme: bool) -> None:
    """Measure tape beside its peers.  NAMES are beginnings of names of benchmarks; without any, all run."""
    try:
        benchmarks = chosen(names)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="NAMES") from None
    console = Console()
    results = []
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(benchmarks))
        for benchmark in benchmarks:
            progress.update(task, description=benchmark.name)
            results.append(measure(benchmark, seconds))
            progress.advance(task)
    show(results, console)
    if json_path is not None:
        report = {**describe(), "benchmarks": [result.as_dict() for result in results]}
        json_path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if readme:
        write_readme(ROOT / "README.md", results)
