"""Many programs: how often each transform was right, wrong or refused, and why it was refused."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from ..minimise import minimise
from .compare import KINDS, NAMES, compare, in_turn, worst
from .grammar import write
from .program import Program


@dataclass
class Tally:
    """Counts over programs.

    Attributes:
        verdicts: how often each transform came to each verdict.
        reasons: the first lines of what refused, without the numbers in them.
        wrong: seeds of programs with a wrong transform.
        whole: programs all of whose transforms were right, or raised what NumPy raises.
    """

    verdicts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in NAMES})
    reasons: Counter[str] = field(default_factory=Counter)
    wrong: list[int] = field(default_factory=list)
    whole: int = 0

    def add(self, program: Program, names: tuple[str, ...] = NAMES, fewer: bool = False) -> None:
        found = compare(program, names, fewer)
        for name, verdict in found.items():
            self.verdicts[name][verdict.kind] += 1
            if verdict.kind in ("refused", "warned"):
                self.reasons[verdict.why.splitlines()[0][:160]] += 1
        kinds = {verdict.kind for verdict in found.values()}
        self.whole += kinds <= {"right", "aside", "raised"}
        if "wrong" in kinds:
            self.wrong.append(program.seed)

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


def main(programs: int, first: int, show: int, converting: bool = True, turns: bool = False) -> int:
    """Run programs, under two transforms each if in `turns`; show those that are wrong in their smallest form.

    Then counts and reasons.
    """
    began, tally, run = time.perf_counter(), Tally(), 0
    for seed in range(first, first + programs):
        program = write(seed)
        if program.converts and not converting:
            continue
        run += 1
        names = in_turn(seed) if turns else NAMES
        tally.add(program, names, turns)
        if tally.wrong[-1:] == [seed] and len(tally.wrong) <= show:
            smallest, found = minimise(program, lambda p, names=names: worst(p, names, turns))
            print(f"--- array program {seed}\n{smallest.source}--- {found}\n", flush=True)
    print("\n".join(tally.lines()))
    for reason, count in tally.reasons.most_common(20):
        print(f"{count:6} × {reason}")
    print(
        f"{run} array programs from seed {first}: {tally.whole} right everywhere, "
        f"{len(tally.wrong)} wrong somewhere, {time.perf_counter() - began:.0f} s"
    )
    if tally.wrong:
        print("wrong:", *tally.wrong)
    return int(bool(tally.wrong))
