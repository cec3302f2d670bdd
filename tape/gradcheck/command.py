"""The command ``gradcheck``: is the gradient of the function in this file right?

Exit status: 0 every gradient is right; 1 a gradient is wrong; 2 the command was misused, or the
function, or a gradient written by hand, cannot be run or checked, whatever it raises (SystemExit and
KeyboardInterrupt too); 130 interrupted at the terminal (SIGINT).

With ``--json``, standard output is one object and nothing else:

============  ===================================================================================
key           value
============  ===================================================================================
``version``   1: the version of this schema
``function``  the target as it was given
``status``    the exit status; ``ok`` is whether it is 0
``error``     null, or why nothing could be checked
``seconds``   time taken
``inputs``    list of ``name``, ``shape``, ``dtype`` and ``checked``
``orders``    one per order: ``order``, ``ok``, ``comparisons`` (the fields of `Comparison` and its
              ``ratio``), ``faults`` (sentences), ``suspects`` (the fields of `Suspect`), ``lines``
              (``file``, ``line``, ``function``, ``text``) and ``evaluations``
============  ===================================================================================

A number that is not finite is null.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..numpy.inside import Inside
from .checking import check
from .errors import GradcheckError, Unfit
from .inputs import BadInput, Reader
from .interrupts import Interrupts, watched
from .model import Failed, load, module_of, named, pick
from .plan import Plan, plan
from .report import Report
from .second import second_order
from .show import Progress, show

DTYPES = "float64", "float32", "complex128", "complex64"
RIGHT, WRONG, UNUSABLE = 0, 1, 2
INTERRUPTED = 130  # 128 + SIGINT, as a shell reports it; click would make it 1, which says that a gradient is wrong
POSITIVE, NOT_NEGATIVE = click.FloatRange(min=0, min_open=True), click.FloatRange(min=0)

EPILOG = """\b
An input is a name and a value:
  w=(3,)          random normal numbers of that shape (see --seed)
  b=0.5           a number; 1+2j a complex one
  x=[1, 2.5]      an array; nested lists have rows
  t=0:1:11        11 numbers from 0 to 1, both included
  X=data.npz[X]   an array from a .npz; also x.npy, and
  y=data.csv[a]   a column of a .csv ([a,b] two columns, none: all)
Arguments of the function that have a default may be left out.
\b
Exit status: 0 right, 1 wrong gradient, 2 bad usage or a function
that cannot be run, 130 interrupted.
\b
Example:
  gradcheck model.py:loss --input 'w=(3,)' --input 'X=data.npz[X]' \\
            --input b=0.5 --wrt w,b
"""


@click.command(name="gradcheck", epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target", metavar="FILE.py:FUNCTION | MODULE:FUNCTION")
@click.option("-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="An argument of the function.")
@click.option("--wrt", metavar="NAME,…", help="Arguments to check. Default: every float --input not read from a file.")
@click.option("--order", type=click.IntRange(1, 2), default=1, show_default=True, help="2: second derivatives too.")
@click.option("--fast", is_flag=True, help="Compare along random directions, not element by element.")
@click.option("--forward", is_flag=True, help="Check forward mode too.")
@click.option("--batched", is_flag=True, help="Also check gradients of several adjoints at once, against one by one.")
@click.option("--dtype", type=click.Choice(DTYPES), help="Of the float inputs. Default: as given.")
@click.option("--eps", type=POSITIVE, help="Step of the difference. Default: per element.")
@click.option("--atol", type=NOT_NEGATIVE, help="Absolute tolerance. Default: per element.")
@click.option("--rtol", type=NOT_NEGATIVE, help="Relative tolerance. Default: 1e-6; 2e-5 in float32.")
@click.option("--gradient", metavar="FUNCTION", help="Check this gradient, written by hand in the file, not tape's.")
@click.option("--tensors", is_flag=True, help="Hand tensors to the function, not arrays: it has PyTorch's methods.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random inputs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Also print inputs, steps, uncertainties and timing.")
def main(target: str, as_json: bool, verbose: bool, **options: Any) -> None:
    """Check the gradient of a function, written in NumPy or in tape, against differences."""
    start = time.perf_counter()
    outcome: dict[str, Any] = {"version": 1, "function": target, "status": UNUSABLE, "error": None}
    reports: list[Report] = []
    chosen: Plan | None = None
    interrupts = Interrupts()
    try:
        with redirect_stdout(sys.stderr), watched() as interrupts:
            chosen = _prepare(target, options)
            reports = _run(chosen, options)
        outcome["status"] = _status(reports)
    except GradcheckError as error:
        outcome["status"] = UNUSABLE if isinstance(error, Unfit) else WRONG
        outcome["error"] = str(error)
    except (Failed, BadInput, ValueError) as error:
        outcome["error"] = str(error)
    except BaseException as error:  # the user asked about a gradient; our traceback would not answer
        if interrupts.came and isinstance(error, KeyboardInterrupt):
            outcome["status"], outcome["error"] = INTERRUPTED, "interrupted; nothing is known about the gradient"
        else:  # what the function raises to end the process is an error of it too
            outcome["error"] = f"the gradient of {target} cannot be computed: {named(error)}"
    outcome["seconds"] = time.perf_counter() - start
    if as_json:
        _print_json(outcome, chosen, reports)
    else:
        show(outcome, chosen, reports, verbose=verbose)
    raise SystemExit(outcome["status"])


def _prepare(target: str, options: dict[str, Any]) -> Plan:
    """Load the function and read its inputs."""
    func, folder = load(target)
    gradient = options["gradient"]
    by_hand = None if gradient is None else pick(module_of(func), gradient, target.rpartition(":")[0])
    asked = {"--forward": options["forward"], "--batched": options["batched"], "--order 2": options["order"] == 2}
    for name, on in asked.items():
        if by_hand is not None and on:
            raise BadInput(f"--gradient and {name} exclude each other: a gradient by hand is checked once, by itself")
    dtype = None if options["dtype"] is None else np.dtype(options["dtype"])
    reader = Reader(options["seed"], dtype, (Path.cwd(), folder))
    wrt = None if options["wrt"] is None else [name.strip() for name in options["wrt"].split(",")]
    inside = func if options["tensors"] or by_hand is not None else Inside(func)
    return plan(inside, [reader.read(text) for text in options["inputs"]], wrt, reader, by_hand)


def _run(chosen: Plan, options: dict[str, Any]) -> list[Report]:
    """First and, where asked, second order."""
    how = {name: options[name] for name in ("eps", "atol", "rtol", "fast", "forward", "batched", "seed")}
    wrt = [chosen.names.index(name) for name in chosen.wrt]
    with Progress() as progress:
        reports = [
            check(
                chosen.func, chosen.values, wrt=wrt, names=chosen.names, gradient=chosen.gradient,
                progress=progress, batched_forward=how["forward"] and how["batched"], **how,
            )
        ]  # fmt: skip
        if options["order"] == 2:
            second = second_order(chosen.func, chosen.values, wrt, chosen.names, seed=options["seed"])
            reports.append(
                check(second.func, second.arguments, wrt=second.wrt, names=second.names, progress=progress, **how)
            )
    return reports


def _status(reports: Sequence[Report]) -> int:
    if all(report.ok for report in reports):
        return RIGHT
    return WRONG if any(report.wrong for report in reports) else UNUSABLE


def _print_json(outcome: dict[str, Any], chosen: Plan | None, reports: Sequence[Report]) -> None:
    """Print the object that the head of this file describes."""
    outcome["ok"] = outcome["status"] == RIGHT
    outcome["inputs"] = [] if chosen is None else chosen.described()
    outcome["orders"] = [{"order": order, **report.as_dict()} for order, report in enumerate(reports, 1)]
    click.echo(json.dumps(_strict(outcome), indent=2))


def _strict(x: Any) -> Any:
    """Numbers that JSON has no word for become null."""
    if isinstance(x, dict):
        return {k: _strict(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_strict(v) for v in x]
    return None if isinstance(x, float) and not np.isfinite(x) else x
