"""``python -m tests.corpus 2000``: so many random programs, compiled and by themselves; status 1 if any differ.

``--arrays 500``: so many in plain NumPy instead, under every transform; status 1 if any is wrong.
``--cold 20``: so many of those from the first call of this process on, a hundred times each.
"""

from __future__ import annotations

import argparse
import sys
import time

from .arrays import cold, command as arrays
from .compare import Report, compare
from .grammar import write
from .minimise import minimise


def main(arguments: list[str] | None = None) -> int:
    """Run programs, and show each mismatch in its smallest form."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("programs", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--show", type=int, default=5, help="how many mismatches to show")
    parser.add_argument("--arrays", type=int, metavar="N", help="so many programs in plain NumPy instead")
    parser.add_argument("--cold", type=int, metavar="N", help="so many of those in a process that begins with nothing")
    parser.add_argument("--calls", type=int, default=100, help="how often --cold calls each of its functions")
    parser.add_argument("--no-conversions", action="store_true", help="none that go through float() or math.sin()")
    parser.add_argument("--in-turn", action="store_true", help="two transforms for each array program, in turns")
    chosen = parser.parse_args(arguments)
    if chosen.cold is not None:
        return cold.main(chosen.cold, chosen.seed, chosen.calls)
    if chosen.arrays is not None:
        return arrays.main(chosen.arrays, chosen.seed, chosen.show, not chosen.no_conversions, chosen.in_turn)
    began, total, bad = time.perf_counter(), Report(), []
    for seed in range(chosen.seed, chosen.seed + chosen.programs):
        program = write(seed)
        report = compare(program)
        for name in ("calls", "replays", "missed", "paths", "eager", "ties"):
            setattr(total, name, getattr(total, name) + getattr(report, name))
        if report.mismatch is not None:
            bad.append(seed)
            if len(bad) <= chosen.show:
                smallest, found = minimise(program)
                kind = "tensors" if smallest.tensors else "arrays"
                how = f"{smallest.dtype}, {kind}, {smallest.tier}, {smallest.threads} threads, {smallest.changes}"
                print(f"--- program {seed} ({how})\n{smallest.source}--- {found}\n", flush=True)
    print(
        f"{chosen.programs} programs from seed {chosen.seed}, {total.calls} calls, {total.paths} paths recorded, "
        f"{total.replays} replays, {total.missed} guards missed, {total.eager} signatures run eagerly, "
        f"{total.ties} ties left out, {len(bad)} mismatches, {time.perf_counter() - began:.0f} s"
    )
    if bad:
        print("mismatches:", *bad)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
