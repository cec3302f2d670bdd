"""Many programs, compiled and by themselves: what was counted, and each mismatch."""

from __future__ import annotations

from .compare import Report, compare
from .grammar import write
from .minimise import minimise
from .running import Ended, Run
from .tree import Program

COUNTS = ("calls", "replays", "missed", "paths", "eager", "ties")


def main(run: Run, count: int, first: int, show: int) -> int:
    """Run programs on tensors and arrays; status 1 if any is not the same compiled."""
    total = Report()

    def take(seed: int, found: Report | Ended) -> bool:
        if isinstance(found, Report):
            for name in COUNTS:
                setattr(total, name, getattr(total, name) + getattr(found, name))
        what = found.mismatch if isinstance(found, Report) else str(found)
        if what is not None:
            print(f"program {seed}: {what}", flush=True)
            if isinstance(found, Report) and len(run.wrong) < show:
                print(smallest_form(write(seed)), flush=True)
        return what is not None

    run.of(range(first, first + count), look, take)
    print(
        f"{run.ran} programs from seed {first}, {total.calls} calls, {total.paths} paths recorded, "
        f"{total.replays} replays, {total.missed} guards missed, {total.eager} signatures run eagerly, "
        f"{total.ties} ties left out, {len(run.wrong)} mismatches, {run.seconds:.0f} s{run.summary()}"
    )
    if run.wrong:
        print("mismatches:", *run.wrong)
    return int(bool(run.wrong))


def look(seed: int) -> Report:
    return compare(write(seed))


def smallest_form(program: Program) -> str:
    smallest, found = minimise(program)
    kind = "tensors" if smallest.tensors else "arrays"
    how = f"{smallest.dtype}, {kind}, {smallest.tier}, {smallest.threads} threads, {smallest.changes}"
    return f"--- program {smallest.seed} ({how})\n{smallest.source}--- {found}\n"
