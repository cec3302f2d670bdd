"""What a gradient check found."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ...base.location import Location

if TYPE_CHECKING:
    from .curve import Curve

WRONG, UNSETTLED, RIGHT = "wrong", "unsettled", "right"
REVERSE, FORWARD, BY_HAND = "reverse", "forward", "by hand"
WORDS = {"real": "real", "imag": "imaginary"}


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One input against one output, by its worst element.

    Attributes:
        input, output: names.
        input_shape, output_shape: shapes.
        input_number, output_number: the places among the inputs, and among the outputs that are checked.
        mode: how the gradient was computed: ``reverse``, ``forward``, ``by hand``, or the library that did.
        along: whether uᵀJv was compared, along random directions u and v, in place of every element.
        checked: number of pairs of an input and an output element.
        wrong: how many of them are wrong, at least.
        kinks: at how many the slopes from the left and the right were seen to differ; any value between is right.
        input_index, output_index: the worst pair; None where there is nothing to compare, or `along`.
        input_part, output_part: ``real`` or ``imag`` where that element is complex.
        analytic: the gradient under check at that pair.
        numeric: the numerical derivative there.
        error: |analytic − numeric|; at a kink, the distance to the slopes on its two sides.
        tolerance: what the error may be.
        uncertainty: how far the numerical derivative itself may be off.
        step: the step that it was taken with.
        method: ``central``, ``richardson``, ``complex step`` or ``kink``; ``vertical`` where both slopes grow without
            bound; ``none`` where the element is not finite; ``elements`` where a comparison `along` was decided by one
            element by element.
        verdict: ``right``, ``wrong``, or ``unsettled`` where no finite difference can be taken.
        complete: whether every element in doubt was looked into; a dozen wrong ones are enough.
    """

    input: str
    output: str
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    input_number: int
    output_number: int
    mode: str
    along: bool
    checked: int
    wrong: int = 0
    kinks: int = 0
    input_index: tuple[int, ...] | None = None
    output_index: tuple[int, ...] | None = None
    input_part: str = ""
    output_part: str = ""
    analytic: float = 0.0
    numeric: float = 0.0
    error: float = 0.0
    tolerance: float = 0.0
    uncertainty: float = 0.0
    step: float = 0.0
    method: str = "central"
    verdict: str = RIGHT
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
        if self.along:
            return f"u · d {self.output} / d {self.input} · v along random u, v"
        output = place_of(self.output, self.output_index, self.output_part)
        return f"d {output} / d {place_of(self.input, self.input_index, self.input_part)}"

    @property
    def headline(self) -> str:
        """What is wrong, in PyTorch's words."""
        part, side = (self.input_part, "inputs") if self.mode == FORWARD else (self.output_part, "outputs")
        considering = f"While considering the {WORDS[part]} part of complex {side} only, " if part else ""
        how = "Jacobian computed with forward mode mismatch" if self.mode == FORWARD else "Jacobian mismatch"
        return f"{considering}{how} for output {self.output_number} with respect to input {self.input_number}"

    def __str__(self) -> str:
        if self.verdict == UNSETTLED:
            return (
                f"{self.pair}: the gradient is {self.analytic:.10g}, but the function is not finite on both sides of "
                "this element at any step, so no difference can be taken"
            )
        return (
            f"{self.headline}:\n    {self.pair}: gradient {self.analytic:.10g}, difference {self.numeric:.10g} "
            f"({self.method}, step {self.step:.1e}), error/tolerance {self.ratio:.3g}; "
            f"{self.count} {self.verdict}"
        )


def place_of(name: str, index: tuple[int, ...] | None, part: str = "") -> str:
    """An element of an array as it is written: ``w[0, 2]``, ``z[1].imag``, or the name of a number."""
    return f"{name}{brackets(index)}" + (f".{part}" if part else "")


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
        mode: ``reverse`` or ``forward``: which rule.
        order: 2 if the rule is right, and what it computes has a wrong gradient in turn.
    """

    op: str
    operand: str
    where: Location
    analytic: float
    numeric: float
    mode: str = REVERSE
    order: int = 1

    @property
    def off(self) -> float:
        """By which part of its size the rule is off."""
        size = max(abs(self.numeric), abs(self.analytic))
        return abs(self.analytic - self.numeric) / size if size else 0.0

    @property
    def claim(self) -> tuple[str, str]:
        """What gives the wrong number, and what the right one."""
        if self.order == 2:
            wrong = f"the gradient of the rule of {self.op} with respect to {self.operand}"
            return wrong, "differences of the rule itself"
        rule = "forward rule" if self.mode == FORWARD else "rule"
        return f"the {rule} of {self.op} with respect to {self.operand}", f"differences of {self.op} itself"

    def __str__(self) -> str:
        wrong, right = self.claim
        return (
            f"{self.where}\n    {wrong} gives {self.analytic:.10g}; {right} give {self.numeric:.10g}: "
            f"off by {percent(self.off)}"
        )


def percent(part: float) -> str:
    """A part of 1 as a percentage of three digits."""
    return f"{100 * part:.3g} %"


@dataclass
class Report:
    """The outcome of `tape.gradcheck.check`.

    Attributes:
        comparisons: one per checked input and output.
        faults: what else is wrong, as sentences: a gradient that is not deterministic, of the wrong dtype…
        suspects: the ops at fault, where one can be told.
        detached: names of the checked outputs that have no history, so that their gradient is nothing but zero.
        lines: where no op is at fault by itself, the user's lines that recorded what led to a wrong output.
        evaluations: how often the function was called.
        curves: where asked for, the error over the step at the worst element of each comparison.
    """

    comparisons: list[Comparison] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    lines: list[Location] = field(default_factory=list)
    detached: list[str] = field(default_factory=list)
    evaluations: int = 0
    curves: list[Curve | None] = field(default_factory=list)

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
        lines = [*(str(c) for c in self.comparisons if not c.ok), *self.faults]
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
            "suspects": [{**asdict(s), "off": s.off, "where": place(s.where)} for s in self.suspects],
            "lines": [place(where) for where in self.lines],
            "evaluations": self.evaluations,
        }


def place(where: Location) -> dict[str, Any]:
    """A location as a dict: file, line, function and the text of the line."""
    return {**where._asdict(), "text": where.text}
