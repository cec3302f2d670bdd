"""What a gradient check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..location import Location

WRONG, UNSETTLED, RIGHT = "wrong", "unsettled", "right"


@dataclass(frozen=True)
class Comparison:
    """One input against one output, by its worst element.

    Attributes:
        input, output: names.
        input_shape, output_shape: shapes.
        checked: number of pairs of an input and an output element.
        wrong: how many of them are wrong, at least.
        input_index, output_index: the worst pair; None where there is nothing to compare.
        analytic: the gradient under check at that pair.
        numeric: the numerical derivative there.
        error: |analytic − numeric|; at a kink, the distance to the slopes on its two sides.
        tolerance: what the error may be.
        uncertainty: how far the numerical derivative itself may be off.
        step: the step that it was taken with.
        method: ``central``, ``richardson``, ``complex step`` or ``kink``.
        verdict: ``right``, ``wrong``, or ``unsettled`` where no finite difference can be taken.
        complete: whether every element in doubt was looked into; a dozen wrong ones are enough.
    """

    input: str
    output: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    checked: int
    wrong: int
    input_index: tuple[int, ...] | None
    output_index: tuple[int, ...] | None
    analytic: float
    numeric: float
    error: float
    tolerance: float
    uncertainty: float
    step: float
    method: str
    verdict: str
    complete: bool = True

    @property
    def ratio(self) -> float:
        """The error over the tolerance: wrong above 1."""
        if self.error == 0:
            return 0.0
        return self.error / self.tolerance if self.tolerance else float("inf")

    @property
    def ok(self) -> bool:
        return self.verdict == RIGHT

    @property
    def count(self) -> str:
        """How many derivatives this verdict is about."""
        if self.ok:
            return f"all {self.checked}"
        return f"{self.wrong} of {self.checked}" if self.complete else f"at least {self.wrong} of {self.checked}"

    @property
    def pair(self) -> str:
        """The derivative that was compared, as it is written: ``d output[1] / d w[0, 2]``."""
        return f"d {self.output}{brackets(self.output_index)} / d {self.input}{brackets(self.input_index)}"

    def __str__(self) -> str:
        if self.verdict == UNSETTLED:
            return (
                f"{self.pair}: the gradient is {self.analytic:.10g}, but the function is not finite on both sides of "
                "this element at any step, so no difference can be taken"
            )
        return (
            f"{self.pair}: gradient {self.analytic:.10g}, difference {self.numeric:.10g} "
            f"({self.method}, step {self.step:.1e}), error/tolerance {self.ratio:.3g}; "
            f"{self.count} {self.verdict}"
        )


def brackets(index: tuple[int, ...] | None) -> str:
    """An index as it is written after a name; nothing for a number."""
    return f"[{', '.join(map(str, index))}]" if index else ""


@dataclass(frozen=True)
class Suspect:
    """A recorded op whose own gradient disagrees with differences of its own forward function.

    Attributes:
        op: name of the op.
        operand: name of the operand whose gradient is wrong.
        where: the line of the user's program that applied it.
        analytic, numeric: derivative of ⟨g, op⟩ along a random direction, by its rule and by differences.
    """

    op: str
    operand: str
    where: Location
    analytic: float
    numeric: float

    def __str__(self) -> str:
        return (
            f"{self.where}\n    the rule of {self.op} with respect to {self.operand} gives {self.analytic:.10g}; "
            f"differences of {self.op} itself give {self.numeric:.10g}"
        )


@dataclass
class Report:
    """The outcome of `tape.gradcheck.check`.

    Attributes:
        comparisons: one per checked input and output.
        faults: what else is wrong, as sentences: a gradient that is not deterministic, of the wrong dtype…
        suspects: the ops at fault, where one can be told.
        lines: where no op is at fault by itself, the user's lines that recorded what led to a wrong output.
        evaluations: how often the function was called.
    """

    comparisons: list[Comparison] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    lines: list[Location] = field(default_factory=list)
    evaluations: int = 0

    @property
    def ok(self) -> bool:
        """Whether everything is right."""
        return not self.faults and all(c.ok for c in self.comparisons)

    @property
    def wrong(self) -> bool:
        """Whether something is known to be wrong (a comparison may also be unsettled)."""
        return bool(self.faults) or any(c.verdict == WRONG for c in self.comparisons)

    @property
    def worst(self) -> Comparison | None:
        """The comparison with the largest error over its tolerance."""
        return max(self.comparisons, key=lambda c: (not c.ok, c.ratio), default=None)

    def __str__(self) -> str:
        lines = [*self.faults, *(str(c) for c in self.comparisons if not c.ok)]
        if not lines:
            return f"right: {sum(c.checked for c in self.comparisons)} derivatives, {self.evaluations} evaluations"
        if self.suspects:
            lines += ["recorded at", *(f"  {s}" for s in self.suspects)]
        elif self.lines:
            lines += ["on the way there:", *(f"  {where}" for where in self.lines)]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain dicts, lists, strings and numbers."""
        return {
            "ok": self.ok,
            "comparisons": [{**asdict(c), "ratio": c.ratio} for c in self.comparisons],
            "faults": list(self.faults),
            "suspects": [{**asdict(s), "where": place(s.where)} for s in self.suspects],
            "lines": [place(where) for where in self.lines],
            "evaluations": self.evaluations,
        }


def place(where: Location) -> dict[str, Any]:
    """A location as a dict: file, line, function and the text of the line."""
    return {**where._asdict(), "text": where.text}
