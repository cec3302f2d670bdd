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
``search``    with ``--search`` null or: ``tried`` (counts by outcome), ``refusal``, ``shrunk``, ``inputs`` (by name, as
              Python; null if none is wrong), ``why`` and ``test`` (the text of a test)
``health``    with ``--health`` the fields of `tape.gradcheck.Health`
============  ===================================================================================

A number that is not finite is null.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..derivatives.gradcheck_errors import GradcheckError, Unfit
from .findings import Findings, prepare, run
from .inputs import BadInput
from .model import Failed, named
from .progress_table import show


class Interrupts:
    """What is known of SIGINT.

    Attributes:
        came: whether it has come, or may have: to a handler that the function put in.
    """

    came = False


@contextmanager
def watched() -> Iterator[Interrupts]:
    """Note when SIGINT comes, and do what is done about it; outside of the main thread none does."""
    found, before = Interrupts(), signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> Any:
        found.came = True
        return before(number, frame) if callable(before) else None

    ours: Any = note if callable(before) else before
    try:
        signal.signal(signal.SIGINT, ours)
    except (ValueError, TypeError):  # another thread than the main one, or a handler that is not Python's
        ours = before
    try:
        yield found
    finally:
        if signal.getsignal(signal.SIGINT) is not ours:
            found.came = True
        elif ours is note:
            signal.signal(signal.SIGINT, before)


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
@click.option("--value-and-gradient", is_flag=True, help="The function returns its value and its gradient(s).")
@click.option("--library", type=click.Choice(["torch", "jax", "autograd"]), help="It is written in this: check theirs.")
@click.option("--search", "searching", is_flag=True, help="Look for inputs at which the gradient is wrong.")
@click.option("--vary-shapes", "vary", is_flag=True, help="With --search: try other lengths of axes too.")
@click.option("--examples", type=click.IntRange(min=1), default=200, show_default=True, help="For --search: so many.")
@click.option("--seconds", type=POSITIVE, default=60.0, show_default=True, help="How long --search may take.")
@click.option("--health", "healthy", is_flag=True, help="Also tell where digits, or adjoints, are lost.")
@click.option("--html", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Write a page with plots.")
@click.option("--tensors", is_flag=True, help="Hand tensors to the function, not arrays: it has PyTorch's methods.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random inputs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on standard output.")
@click.option("-v", "--verbose", is_flag=True, help="Also print inputs, steps, uncertainties and timing.")
def main(target: str, as_json: bool, verbose: bool, **options: Any) -> None:
    """Check the gradient of a function, written in NumPy or in tape, against differences."""
    start = time.perf_counter()
    outcome: dict[str, Any] = {"version": 1, "function": target, "status": UNUSABLE, "error": None}
    found = Findings()
    interrupts = Interrupts()
    try:
        with redirect_stdout(sys.stderr), watched() as interrupts:
            found.plan = prepare(target, options)
            run(found, target, options)
        outcome["status"] = _status(found)
    except GradcheckError as error:
        outcome["status"] = UNUSABLE if isinstance(error, Unfit) else WRONG
        outcome["error"] = str(error)
    except (Failed, BadInput, ValueError, ImportError) as error:
        outcome["error"] = str(error)
    except BaseException as error:  # the user asked about a gradient; our traceback would not answer
        if interrupts.came and isinstance(error, KeyboardInterrupt):
            outcome["status"], outcome["error"] = INTERRUPTED, "interrupted; nothing is known about the gradient"
        else:  # what the function raises to end the process is an error of it too
            outcome["error"] = f"the gradient of {target} cannot be computed: {named(error)}"
    outcome["seconds"] = time.perf_counter() - start
    if outcome["error"] is None and options["html"] is not None:
        write_page(options["html"], outcome, found)
    if as_json:
        _print_json(outcome, found)
    else:
        show(outcome, found, verbose=verbose)
    raise SystemExit(outcome["status"])


def write_page(path: Path, outcome: dict[str, Any], found: Findings) -> None:
    """Write the report as a page; a file that cannot be written is an error."""
    from .page import page  # drawn when it is asked for

    try:
        path.write_text(page(outcome, found), encoding="utf-8")
    except OSError as error:
        outcome["status"], outcome["error"] = UNUSABLE, f"--html {path} cannot be written: {named(error)}"


def _status(found: Findings) -> int:
    if found.search is not None and not found.search.ok:
        return WRONG
    if all(report.ok for report in found.reports):
        return RIGHT
    return WRONG if any(report.wrong for report in found.reports) else UNUSABLE


def _print_json(outcome: dict[str, Any], found: Findings) -> None:
    """Print the object that the head of this file describes."""
    outcome["ok"] = outcome["status"] == RIGHT
    outcome["inputs"] = [] if found.plan is None else found.plan.described()
    outcome["orders"] = [{"order": order, **report.as_dict()} for order, report in enumerate(found.reports, 1)]
    if found.search is not None:
        outcome["search"] = {**found.search.as_dict(), "test": found.test}
    if found.health is not None:
        outcome["health"] = found.health.as_dict()
    click.echo(json.dumps(_strict(outcome), indent=2))


def _strict(x: Any) -> Any:
    """Numbers that JSON has no word for become null."""
    if isinstance(x, dict):
        return {k: _strict(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_strict(v) for v in x]
    return None if isinstance(x, float) and not np.isfinite(x) else x
