"""What passes over a list and kernels may make use of: a second, optional part of an op's declaration.

An op that says nothing here is right all the same, only slower.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Hints:
    """Facts about an op that no rule of it needs.

    Not a dataclass: the code that those write is compiled at every import.

    Attributes:
        lanes_first: whether large arrays are evaluated in lanes, because NumPy's own loop is scalar.
        motion: how the jitted sweep moves the adjoint of a linear op without calling its rule:
            ``"spread"`` (x̄ += g everywhere), ``"average"`` (x̄ += g / n everywhere), ``"same"``
            (x̄ += g in the same order), ``"block"`` (x̄[i] += g for the op's one integer parameter),
            ``"matrix"`` (x̄ += g yᵀ and ȳ += xᵀ g, where the matrices are small).
        part: a function of the parameters that it names: the indices, one applied after the other, of the part of its
            operand that the op reads, so that x̄[part] += g; of an op with two operands, of the part of the first that
            it puts the second into, so that x̄ is g with zeros there and ȳ = g[part].  None where it does neither.
        puts: a function of the parameters that it names: for each operand of a linear op the index at which it is added
            to the result, which begins as zeros; summed first over axes that broadcasting adds to what is there.
        steps: how a program does without Python what the forward function does: a function of ``s``, which makes steps
            (``s.linalg("inv", x)``; see ``plan_steps/record_steps.py``), the operands, and the parameters it names.
        large: whether those steps are for arrays of any size; other large arrays are left to NumPy.
        made_of: what compiled programs compute in the place of the op: a function of the operands and the parameters
            that it names, written in ops like a rule; None from it where there is nothing of the kind.
        reduces, accumulates: the binary NumPy function of which the op is the ``reduce`` or ``accumulate``.
        neutral: by position of an operand, the number there that gives the other operand back: x·1, x − 0.
            For floating-point numbers of x + 0 that is −0.0, for −0.0 + 0.0 is 0.0.
        decides: by position of an operand (the first or the second) and truth value there, the position of the operand
            that the op gives then, whatever the others are: where(False, x, y) is y.
        triangle: ``"lower"`` or ``"upper"`` where the op gives matrices of which only that triangle is not zero.
        involution: whether applying the op twice gives the operand back.
        alarm: what makes the floating-point errors that the op makes, for less, where nobody reads what it gives but
            sums and products: of the operands and the parameters that it names, something at least as large.
        growth: how large what the op gives may be: ``"none"`` where it is at most the largest number in its operands,
            ``"sum"`` at most the sum of all of them, ``"product"`` at most the product of the largest of each,
            ``"power"`` at most the first operand to the power of the second if that is 1 or more, or squared if there
            is none.
        raises: the operands, as a slice of them, for some values of which the op raises an exception (a singular
            matrix, an index out of range), so that a program does it even if nobody reads what it gives.
        raises_of_whole: whether it does so where the result is of whole numbers only.
    """

    __slots__ = (
        "accumulates", "alarm", "decides", "growth", "involution", "lanes_first", "large", "made_of", "motion",
        "neutral", "part", "puts", "raises", "raises_of_whole", "reduces", "steps", "triangle",
    )  # fmt: skip

    def __init__(
        self, *,
        lanes_first: bool = False,
        motion: str | None = None,
        part: Callable[..., Any] | None = None,
        puts: Callable[..., Any] | None = None,
        steps: Callable[..., Any] | None = None,
        large: bool = False,
        made_of: Callable[..., Any] | None = None,
        reduces: Any = None,
        accumulates: Any = None,
        neutral: dict[int, float] | None = None,
        decides: dict[tuple[int, bool], int] | None = None,
        triangle: str | None = None,
        involution: bool = False,
        alarm: Callable[..., Any] | None = None,
        growth: str = "",
        raises: slice | None = None,
        raises_of_whole: bool = False,
    ):  # fmt: skip
        self.lanes_first, self.motion, self.part = lanes_first, motion, part
        self.steps, self.made_of, self.reduces, self.accumulates = steps, made_of, reduces, accumulates
        self.neutral, self.decides, self.involution = neutral or {}, decides or {}, involution
        self.alarm, self.growth = alarm, growth
        self.puts, self.raises, self.large, self.triangle = puts, raises, large, triangle
        self.raises_of_whole = raises_of_whole


NO_HINTS = Hints()
