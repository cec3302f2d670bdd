"""Damage one derivative rule at a time and see that the suite fails.

``PYTHONPATH=. python tests/mutation.py [count]`` prints a table and exits with 1 if a damaged rule
goes unnoticed.  A rule is damaged from outside: this file is also a pytest plugin, which wraps the
rule named in ``TAPE_MUTANT`` (op:side:way) before the tests are collected.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ops import REGISTRY

HERE = Path(__file__).resolve().parent
WAYS: dict[str, Callable[[Any], Any]] = {
    "negated": lambda bar: -bar,
    "scaled": lambda bar: bar * (1 + 1e-4),
    "dropped": lambda bar: bar * 0.0,
}
SOUND: Callable[[Any], Any] = lambda bar: bar  # noqa: E731
"""No damage: a rule that is wrapped and gives what it gave must go unnoticed, or the others show nothing."""
ENOUGH = 24


def candidates() -> list[tuple[str, int]]:
    """Ops and sides with a rule that gives one array, in turn from every room (the file of the rule)."""
    rooms: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for op in REGISTRY.values():
        for side, rule in enumerate(op.rules):
            if rule is not None and hasattr(rule.call, "__code__") and op.name not in ("output", "chain_mul"):
                rooms[rule.call.__code__.co_filename].append((op.name, side))
    turns = []
    longest = max(map(len, rooms.values()))
    for k in range(longest):
        # Spread over each room rather than its first ops alone: a stride that is prime to most lengths.
        turns += [room[k * 7 % len(room)] for room in rooms.values() if k < len(room)]
    return list(dict.fromkeys(turns))


def mutants(count: int) -> list[str]:
    ways = list(WAYS)
    return [f"{name}:{side}:{ways[k % len(ways)]}" for k, (name, side) in enumerate(candidates()[:count])]


def damage(mutant: str) -> None:
    """Wrap one rule so that its result is wrong; what it needs is still read from its argument names."""
    name, side, way = mutant.split(":")
    rule = REGISTRY[name].rules[int(side)]
    assert rule is not None
    sound, wrong = rule.call, SOUND if way == "sound" else WAYS[way]

    def call(*values: Any) -> Any:
        result = sound(*values)
        return None if result is None else wrong(result)

    rule.call = call


if os.environ.get("TAPE_MUTANT"):
    damage(os.environ["TAPE_MUTANT"])


def suite() -> list[str]:
    """The quick part of the suite: the rules of the ops."""
    return [str(path) for path in sorted(HERE.glob("ops/test_ops_rules*.py"))]


def survives(mutant: str | None) -> tuple[bool, str]:
    """Whether the suite passes with a damaged rule (None: undamaged), and the first test that failed."""
    name = mutant.split(":")[0] if mutant else ""
    env = os.environ | {"TAPE_MUTANT": mutant or "", "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE)])}
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "mutation", "-p", "no:cacheprovider", "--no-header",
        "-W", "ignore",
        "-k", name, *suite(),
    ]  # fmt: skip
    done = subprocess.run(command, env=env, cwd=HERE.parent, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"the tests did not run for {mutant}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return done.returncode == 0, failed[0].split("::")[-1].split(" - ")[0] if failed else ""


def main(count: int) -> int:
    survivors = 0
    print(f"{'rule':32} {'damage':8} {'':9} {'first test that fails':44} seconds")
    for mutant in mutants(count):
        start = time.perf_counter()
        alive, failed = survives(mutant)
        survivors += alive
        name, side, way = mutant.split(":")
        verdict = "SURVIVES" if alive else "caught"
        print(f"{name + ' ' + side:32} {way:8} {verdict:9} {failed:44} {time.perf_counter() - start:5.1f}", flush=True)
    print(f"{survivors} of {count} survive")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ENOUGH))
