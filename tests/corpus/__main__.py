"""``python -m tests.corpus 2000``: so many random programs, compiled and by themselves; status 1 if any differ.

``--arrays 500``: so many in plain NumPy instead, under every transform; status 1 if any is wrong.
``--cold 20``: so many of those from the first call of this process on, a hundred times each.
``--minutes 10 --workers 2``: no more than begin in so much time, in so many processes.
"""

from __future__ import annotations

import argparse
import sys

from . import command
from .arrays import cold, command as arrays
from .running import Run


def main(arguments: list[str] | None = None) -> int:
    """Run programs, and show each mismatch when it is found, the first of them in their smallest form."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("programs", type=int, nargs="?", default=2000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="number of the first program")
    parser.add_argument("--show", type=int, default=5, help="how many mismatches to show in their smallest form")
    parser.add_argument("--workers", type=int, default=1, help="how many processes run them; 1: this one does")
    parser.add_argument("--minutes", type=float, help="after so many, no further program begins")
    parser.add_argument("--arrays", type=int, metavar="N", help="so many programs in plain NumPy instead")
    parser.add_argument("--cold", type=int, metavar="N", help="so many of those in a process that begins with nothing")
    parser.add_argument("--calls", type=int, default=100, help="how often --cold calls each of its functions")
    parser.add_argument("--no-conversions", action="store_true", help="none that go through float() or math.sin()")
    parser.add_argument("--in-turn", action="store_true", help="two transforms for each array program, in turns")
    chosen = parser.parse_args(arguments)
    if chosen.cold is not None:
        return cold.main(chosen.cold, chosen.seed, chosen.calls)
    run = Run(chosen.workers, chosen.minutes)
    if chosen.arrays is not None:
        return arrays.main(run, chosen.arrays, chosen.seed, chosen.show, not chosen.no_conversions, chosen.in_turn)
    return command.main(run, chosen.programs, chosen.seed, chosen.show)


if __name__ == "__main__":
    sys.exit(main())
