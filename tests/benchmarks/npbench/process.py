"""One kernel with one contender in a process of its own, which a bad one takes down alone.

    python -m tests.benchmarks.npbench.process PATH KERNEL CONTENDER PRESET SECONDS GIBIBYTES

prints what it finds as lines of JSON, each as soon as it is known.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ..processes import ROOT
from .contenders import CONTENDERS
from .judge import judge, prepared, weights_of
from .suite import Case, Kernel, Unfit, kernels

UNTIMED = "none"
"""In place of a preset: verdicts at small sizes alone."""

LONG = 2.0
"""Seconds of one call of the kernel beyond which differences at the preset are left out."""


def run(root: Path, name: str, contender: str, preset: str, limit: float, memory: float) -> dict[str, Any]:
    """What a fresh process finds, or why it did not come to an end."""
    arguments = [str(root), name, contender, preset, "0.5", str(memory)]
    command = [sys.executable, "-m", "tests.benchmarks.npbench.process", *arguments]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    try:
        out, err = process.communicate(timeout=limit)
        ended = f"ended with {process.returncode}: {(err.strip().splitlines() or ['nothing said'])[-1]}"
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        ended = f"not done after {limit:.0f} s"
    found: dict[str, Any] = {}
    for line in out.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    if process.returncode:
        found |= {"late": ended} if "verdict" in found else {"verdict": "refused", "reason": ended}
    return found


def findings(kernel: Kernel, contender: str, preset: str, seconds: float) -> Iterator[dict[str, Any]]:
    """The verdict at a small size, then times at the preset."""
    make = CONTENDERS[contender]
    try:
        case = prepared(kernel)
    except Unfit as reason:
        yield {"verdict": "none", "reason": str(reason)}
        return
    if contender != "numpy":
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            weights = weights_of(kernel, case)
            verdict = _verdict(lambda: judge(kernel, case, make(kernel, case, weights), weights))
        asides = [str(w.message).splitlines()[0] for w in said if "tape" in str(w.message)]
        yield verdict | ({"aside": asides[0]} if asides else {})
        if verdict["verdict"] == "refused":
            return
    if preset == UNTIMED:
        return
    full = kernel.case(kernel.sizes(preset))
    function = make(kernel, full, None)
    yield from times(function, full, seconds)
    yield from at_size(kernel, full, function, contender)


def _verdict(judged: Callable[[], tuple[str, str]]) -> dict[str, Any]:
    try:
        verdict, reason = judged()
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        return {"verdict": "refused", "reason": f"{type(error).__name__}: {first}"}
    return {"verdict": verdict, "reason": reason}


def times(function: Callable[..., Any], case: Case, seconds: float) -> Iterator[dict[str, Any]]:
    """The first call and the median of later ones."""
    taken: list[float] = []
    stop = float("inf")
    try:
        while len(taken) < 3 or (len(taken) < 200 and perf_counter() < stop):
            start = perf_counter()
            function(*case.inputs)
            taken.append(perf_counter() - start)
            if len(taken) == 1:
                yield {"first": taken[0]}
                stop = perf_counter() + seconds
            if len(taken) == 2:
                yield {"again": taken[1]}
    except Exception as error:
        yield {"untimed": f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"}
        return
    yield {"again": median(taken[1:])}


def at_size(kernel: Kernel, case: Case, function: Callable[..., Any], contender: str) -> Iterator[dict[str, Any]]:
    """Whether the plain sum's gradient is right at the preset too, where differences can tell and take no long time."""
    start = perf_counter()
    case.results(kernel.function(), *case.inputs)
    if (
        contender == "numpy"
        or perf_counter() - start > LONG
        or any(x.dtype not in (np.float64, np.complex128) for x in case.inputs)
    ):
        return
    found = _verdict(lambda: judge(kernel, case, function, None, few=True))
    yield {"at preset": found["verdict"], "at preset, reason": found["reason"]}


def main(path: str, name: str, contender: str, preset: str, seconds: str, memory: str) -> None:
    limit = int(float(memory) * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    (kernel,) = kernels(Path(path), [name])
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        for finding in findings(kernel, contender, preset, float(seconds)):
            print(json.dumps(finding), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
