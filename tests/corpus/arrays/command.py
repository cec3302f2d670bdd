"""Many programs: how often each transform was right, wrong or refused, and why it was refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from ..minimise import minimise
from ..running import Ended, Run
from .compare import KINDS, NAMES, Verdict, compare, in_turn, worst, wrongs
from .grammar import write
from .program import Program


@dataclass
class Tally:
    """Counts over programs.

    Attributes:
        verdicts: how often each transform came to each verdict.
        reasons: the first lines of what refused, without the numbers in them.
        whole: programs all of whose transforms were right, or raised what NumPy raises.
    """

    verdicts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in NAMES})
    reasons: Counter[str] = field(default_factory=Counter)
    whole: int = 0

    def add(self, found: dict[str, Verdict]) -> str | None:
        """Count the verdicts on a program; what its first wrong transform gave, None if none is wrong."""
        for name, verdict in found.items():
            self.verdicts[name][verdict.kind] += 1
            if verdict.kind in ("refused", "warned"):
                self.reasons[verdict.why.splitlines()[0][:160]] += 1
        self.whole += {verdict.kind for verdict in found.values()} <= {"right", "aside", "raised"}
        return next(wrongs(found), None)

    def share(self, kind: str) -> float:
        """The share of a verdict among all."""
        total = sum((counts for counts in self.verdicts.values()), Counter())
        return total[kind] / max(1, total.total())

    def lines(self) -> list[str]:
        """The table."""
        width = max(map(len, NAMES))
        rows = [" " * width + "".join(f"{kind:>9}" for kind in KINDS)]
        rows += [f"{n:{width}}" + "".join(f"{counts[k]:9}" for k in KINDS) for n, counts in self.verdicts.items()]
        return rows


def main(run: Run, programs: int, first: int, show: int, converting: bool = True, turns: bool = False) -> int:
    """Run programs, under two transforms each if in `turns`; show those that are wrong, the first in smallest form.

    Then counts and reasons.
    """
    tally = Tally()

    def take(seed: int, found: dict[str, Verdict] | Ended) -> bool:
        what = str(found) if isinstance(found, Ended) else tally.add(found)
        if what is not None:
            print(f"array program {seed}: {what}", flush=True)
            if not isinstance(found, Ended) and len(run.wrong) < show:
                print(smallest_form(write(seed), turns), flush=True)
        return what is not None

    seeds = [seed for seed in range(first, first + programs) if converting or not write(seed).converts]
    run.of(seeds, partial(look, turns), take)
    print("\n".join(tally.lines()))
    for reason, count in tally.reasons.most_common(20):
        print(f"{count:6} × {reason}")
    print(
        f"{run.ran} array programs from seed {first}: {tally.whole} right everywhere, "
        f"{len(run.wrong)} wrong somewhere, {run.seconds:.0f} s{run.summary()}"
    )
    if run.wrong:
        print("wrong:", *run.wrong)
    return int(bool(run.wrong))


def look(turns: bool, seed: int) -> dict[str, Verdict]:
    return compare(write(seed), names_for(seed, turns), turns)


def names_for(seed: int, turns: bool) -> tuple[str, ...]:
    return in_turn(seed) if turns else NAMES


def smallest_form(program: Program, turns: bool) -> str:
    smallest, found = minimise(program, lambda p: worst(p, names_for(program.seed, turns), turns))
    return f"--- array program {program.seed}\n{smallest.source}--- {found}\n"
