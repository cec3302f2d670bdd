"""Writing a random program, by running it on PyTorch as it grows."""

from __future__ import annotations

from collections.abc import Iterable

from . import kinds
from .program import Statement
from .writer import FEATURES, Writer

WEIGHTS = {
    kinds.new_leaf: 3, kinds.elementwise: 20, kinds.call: 14, kinds.arithmetic: 14, kinds.view: 16, kinds.in_place: 22,
    kinds.store: 10, kinds.part: 5, kinds.hook: 5, kinds.detach: 4, kinds.backward: 3, kinds.grad: 6, kinds.choice: 5,
    kinds.flag: 2, kinds.passing: 3,
}  # fmt: skip
NEEDS = {
    kinds.view: "views", kinds.in_place: "inplace", kinds.store: "inplace", kinds.part: "parts", kinds.hook: "hooks",
    kinds.detach: "detach", kinds.grad: "grad", kinds.flag: "modes",
    kinds.passing: "inplace",
}  # fmt: skip
MODED = {
    kinds.elementwise, kinds.arithmetic, kinds.in_place, kinds.store, kinds.backward, kinds.grad, kinds.new_leaf,
}  # fmt: skip
"""Kinds of statement that are also run under a mode."""
LOOKS = {kinds.view, kinds.part}
"""Kinds that are only where there is no history: views without one of what has one say that they require grad, are
leaves, and what is computed from them has nodes through which no gradient flows."""


def write(seed: int, length: int, features: Iterable[str] = FEATURES) -> list[Statement]:
    """A program of about this many statements, the last of which differentiates."""
    w = Writer(seed, features)
    for _ in range(w.random.randint(1, 3)):
        w.try_out(kinds.new_leaf(w, True))
    for _ in range(3 * length):
        if len(w.statements) >= length or w.finished:
            break
        w.try_out(propose(w))
    if not w.finished:
        w.try_out(kinds.backward(w, retain=True))
    return w.statements


def propose(w: Writer) -> Statement | None:
    """A statement of some kind, now and then under a grad mode."""
    choices = {kind: weight for kind, weight in WEIGHTS.items() if NEEDS.get(kind, "") in ("", *w.features)}
    kind = w.random.choices(list(choices), list(choices.values()))[0]
    statement = kind(w)
    moded = kind in MODED or (kind in LOOKS and statement and not w.at(statement.reads[0]).requires_grad)
    if statement is None or not moded or "modes" not in w.features or not w.chance(0.1):
        return statement
    text = f"with torch.{w.random.choice(['no_grad', 'no_grad', 'enable_grad'])}():\n    {statement.text}"
    return Statement(text, statement.reads, statement.writes, statement.changes, statement.kind)
