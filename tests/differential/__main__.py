"""``python -m tests.differential 10000``: so many random programs in both worlds; status 1 if any differ."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import torch

from .compare import Difference, difference
from .generate import write
from .minimise import minimise
from .program import Statement, source
from .writer import FEATURES


def main(arguments: list[str] | None = None) -> int:
    """Run programs, report the first difference of each kind in its smallest form."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("programs", type=int, nargs="?", default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--length", type=int, default=22, help="statements of a program")
    parser.add_argument("--without", default="", help=f"features to leave out, among {', '.join(FEATURES)}")
    parser.add_argument("--show", type=int, default=5, help="how many differences to show, in their smallest form")
    chosen = parser.parse_args(arguments)
    features = frozenset(FEATURES) - frozenset(chosen.without.split(","))
    began, statements, bad, shown = time.perf_counter(), 0, 0, 0
    kinds: Counter[str] = Counter()
    for seed in range(chosen.seed, chosen.seed + chosen.programs):
        program, found = run(seed, chosen.length, features)
        statements += len(program)
        if found is not None:
            bad += 1
            if shown < chosen.show:
                shown += 1
                smallest, found = minimise(program)
                print(f"--- program {seed}\n{source(smallest)}\n--- {found}\n", flush=True)
            kinds[found.what.split("\n")[0][:100]] += 1
    seconds = time.perf_counter() - began
    print(f"{chosen.programs} programs, {statements} statements, {bad} differences, {seconds:.0f} s")
    for kind, count in kinds.most_common(20):
        print(f"{count:6} {kind}")
    return int(bad > 0)


def run(
    seed: int, length: int, features: frozenset[str] = frozenset(FEATURES)
) -> tuple[list[Statement], Difference | None]:
    """One program, and its difference if it has one."""
    torch.set_num_threads(1)
    program = write(seed, length, features)
    return program, difference(program)


if __name__ == "__main__":
    sys.exit(main())
