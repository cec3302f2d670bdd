"""What the numbers of a function and of its gradient suffer on the way: digits that cancel, adjoints that vanish.

How much a record amplifies a relative error of its operands is its condition number.  For z = f(x, …) that of element j
is κⱼ = Σₖ |∂zⱼ/∂xₖ| |xₖ| / |zⱼ| over all elements of all operands (Higham, *Accuracy and Stability of Numerical
Algorithms*, 2002, §1.6; Rice 1966): of x − y it is (|x| + |y|) / |x − y|, of a sum Σ|x| / |Σx|, of log x 1 / |log x|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ops import Op

from ..base.location import Location, locate
from ..recording.recorder import CUSTOM
from .checking import Asked, subject_of
from .derivatives.report import place
from .derivatives.subject import Array, has_history, is_inexact, plain
from .flow import ENDS, OVERFLOWS, POLE, UNDERFLOWS, Event, flow_of
from .suspects import AppliedOp, trace

FEW = 16
"""Of an op that is not elementwise, so many results are looked at: the smallest, because cancelling makes small."""


def amplification(op: Op, values: Sequence[Any], z: Any, wanted: Sequence[int], params: dict[str, Any]) -> float:
    """The largest κ of the elements of a result; 0 where there is none.

    Args:
        op: with one result.
        values: of its operands.
        z: its result.
        wanted: positions of the operands that have a derivative.
        params: its parameters.
    """
    result = np.asarray(z)
    if result.size == 0 or result.dtype.kind not in "fc":
        return 0.0
    with np.errstate(all="ignore"):
        if op.kind == "elementwise":
            sizes = _by_element(op, values, result, wanted, params)
            ratios = sizes / np.abs(result)
        else:
            ratios = np.array([_of_one(op, values, result, j, wanted, params) for j in _smallest(result)])
    ratios = ratios[np.isfinite(ratios)]
    return float(np.max(ratios, initial=0.0))


def _by_element(op: Op, values: Sequence[Any], result: Array, wanted: Sequence[int], params: dict[str, Any]) -> Array:
    """Σ |∂z/∂x| |x| for each element: its operands are spread out first, so that no adjoints are added up."""
    spread = [np.array(np.broadcast_to(v, result.shape))[()] for v in values]
    env = op.environment(tuple(spread), result[()], params)
    sizes = np.zeros(result.shape)
    for i in wanted:
        bar = op.vjp(i, np.ones(result.shape, result.dtype)[()], env, result.shape, np.asarray(values[i]).dtype)
        sizes += 0.0 if bar is None else np.abs(np.asarray(bar)) * np.abs(spread[i])
    return sizes


def _of_one(
    op: Op, values: Sequence[Any], result: Array, j: int, wanted: Sequence[int], params: dict[str, Any]
) -> float:
    """κ of one element of the result, by one sweep."""
    g = np.zeros(result.shape, result.dtype)
    g.flat[j] = 1.0
    env = op.environment(tuple(values), result[()], params)
    together = op.vjps(tuple(wanted), g[()], env) if op.joint is not None else None
    size = 0.0
    for i in wanted:
        x = np.asarray(values[i])
        bar = together[i] if together is not None else op.vjp(i, g[()], env, x.shape, x.dtype)
        size += 0.0 if bar is None else float(np.sum(np.abs(np.asarray(bar)) * np.abs(x)))
    return size / float(np.abs(result.flat[j]))


def _smallest(result: Array) -> list[int]:
    """The places of the smallest elements that are not zero: an exact zero is a result that lost nothing, or all."""
    sizes = np.abs(result).ravel()
    order = np.argsort(np.where(sizes > 0, sizes, np.inf), kind="stable")
    return [int(j) for j in order[:FEW] if sizes[j] > 0]


LIMITS = {8: 1e8, 4: 3e3}
"""What amplifies a relative error by more than this cancels half of the digits: by the bytes of a real number."""


@dataclass(frozen=True)
class Cancelling:
    """A record that loses digits.

    Attributes:
        op: its name.
        where: the user's line.
        factor: by how much it amplifies a relative error of its operands, at most.
        times: how often the line recorded such.
    """

    op: str
    where: Location
    factor: float
    times: int = 1

    def __str__(self) -> str:
        times = f", {self.times} times" if self.times > 1 else ""
        return f"{self.op} amplifies relative errors by up to {self.factor:.1e}{times}\n    {self.where}"


@dataclass(frozen=True)
class Lost:
    """The first record whose value overflows or underflows: ``what``; its op and the user's line."""

    what: str
    op: str
    where: Location

    def __str__(self) -> str:
        return f"the value of {self.op} {self.what}\n    {self.where}"


@dataclass
class Health:
    """What `health` found.

    Attributes:
        records: how many records lead to the outputs.
        cancelling: those that cancel, the worst first.
        values: the first record whose value overflows, and the first whose value underflows.
        adjoints: the first records, from the outputs on, at which an adjoint overflows, underflows, or meets an
            infinite derivative.
        ends: the records that no adjoint gets through.
        zeros: by checked input, how many elements of its gradient no adjoint gets to from the outputs, and of how many.
    """

    records: int = 0
    cancelling: list[Cancelling] = field(default_factory=list)
    values: list[Lost] = field(default_factory=list)
    adjoints: list[Event] = field(default_factory=list)
    ends: list[Event] = field(default_factory=list)
    zeros: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing cancels, overflows, underflows or ends, and every input has a gradient."""
        found = self.cancelling or self.values or self.adjoints or self.ends
        return not found and not any(zero for zero, _ in self.zeros.values())

    def as_dict(self) -> dict[str, Any]:
        """The findings as plain dicts, lists, strings and numbers."""

        def dicts(items: Iterable[Any]) -> list[dict[str, Any]]:
            return [{**asdict(item), "where": place(item.where)} for item in items]

        return {
            "ok": self.ok, "records": self.records, "cancelling": dicts(self.cancelling), "values": dicts(self.values),
            "adjoints": dicts(self.adjoints), "ends": dicts(self.ends),
            "zeros": {name: list(counts) for name, counts in self.zeros.items()},
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [str(item) for item in (*self.cancelling, *self.values, *self.adjoints, *self.ends)]
        for name, (zero, size) in self.zeros.items():
            if zero:
                part = "is zero" if zero == size else f"has {zero} of {size} elements that are zero"
                lines.append(f"the gradient for {name} {part} here, whatever adjoints come from the outputs")
        head = f"numbers: {self.records} records"
        if not lines:
            return f"{head}; none cancels, no adjoint overflows, underflows or ends"
        return "\n".join([head, *(f"• {line}" for line in lines)])


def health(
    func: Callable[..., Any],
    inputs: Any,
    *,
    wrt: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    arrays: bool = False,
) -> Health:
    """Where a function, and the gradient of the sum of its outputs, lose digits or leave the range of their numbers.

    Args:
        func, inputs, wrt, names, arrays: as for `tape.gradcheck.check`.

    Raises:
        Unfit: if the function has no output to differentiate.
        ValueError: if there is nothing to differentiate by.

    A difference of neighbours has lost what they have in common:

    >>> found = health(lambda x: (x + 1.0) - x, 1e12)
    >>> print(f"{found.cancelling[0].op}: {found.cancelling[0].factor:.0e}")
    sub: 2e+12

    e⁻⁸⁰⁰ is no number of 64 bits:

    >>> print(health(lambda x: np.exp(x), -800.0).values[0].what)
    underflows
    """
    subject = subject_of(func, inputs, Asked(wrt=wrt, names=names, arrays=arrays))
    point = subject.point()
    found = Health()
    with np.errstate(all="ignore"):
        given = subject.arguments(point)
        outs = [out for out in subject.outputs(subject.func(*given)) if has_history(out)]
        log = trace(subject.func, subject.arguments(point))
        _note_values(log, found)
        flow = flow_of(outs)
    found.records = flow.records
    found.adjoints = [event for what in (OVERFLOWS, POLE, UNDERFLOWS) if (event := flow.first(what)) is not None]
    found.ends = list({(e.op, e.where): e for e in flow.events if e.what == ENDS}.values())
    for i, x in zip(subject.wrt, point):
        pattern = flow.leaves.get(-id(given[i]))
        zeros = x.size if pattern is None else int(np.sum(_elements(pattern, x) == 0))
        found.zeros[subject.names[i]] = zeros, x.size
    return found


def _elements(pattern: Array, x: Array) -> Array:
    """The sizes of a pattern's elements, whose parts stand apart where they are complex."""
    return np.abs(pattern).reshape(x.size, -1).sum(axis=1) if x.size else pattern


def _note_values(log: Sequence[AppliedOp], found: Health) -> None:
    """Note the records that cancel, and the first values that leave the range of numbers."""
    worst: dict[tuple[str, Location], Cancelling] = {}
    lost: dict[str, Lost] = {}
    for applied in log:
        if applied.op is CUSTOM or not applied.op.differentiable:
            continue
        values = [plain(x) for x in applied.operands]
        name, where = applied.op.title(applied.params), locate(*applied.where)
        result = applied.op.forward(*values, **applied.params)
        what = None if isinstance(result, tuple) else _left(applied, values, result)
        if what is not None:
            lost.setdefault(what, Lost(what, name, where))
        factor = _factor(applied, values, result)
        if factor > LIMITS[8 if isinstance(result, tuple) else _bytes(result)]:
            before = worst.get((name, where))
            times, most = (before.times + 1, max(before.factor, factor)) if before else (1, factor)
            worst[name, where] = Cancelling(name, where, most, times)
    found.cancelling = sorted(worst.values(), key=lambda c: -c.factor)
    found.values = list(lost.values())


def _bytes(result: Any) -> int:
    dtype = np.asarray(result).dtype
    return 8 if dtype.itemsize // (2 if dtype.kind == "c" else 1) >= 8 else 4


def _factor(applied: AppliedOp, values: list[Any], result: Any) -> float:
    if isinstance(result, tuple):
        return 0.0
    wanted = [i for i, x in enumerate(values) if applied.op.rule(i) is not None and is_inexact(x)]
    try:
        return amplification(applied.op, values, result, wanted, applied.params)
    except Exception:  # a rule that takes tensors alone, or none that can be run on its own
        return 0.0


def _left(applied: AppliedOp, values: list[Any], result: Any) -> str | None:
    """Whether a result overflows, or underflows, out of operands that are numbers."""
    if not is_inexact(result) or not all(np.all(np.isfinite(v)) for v in values if is_inexact(v)):
        return None
    if not np.all(np.isfinite(result)):
        return OVERFLOWS if np.any(np.isinf(result)) else "is nan"
    try:
        with np.errstate(under="raise"):
            applied.op.forward(*values, **applied.params)
    except FloatingPointError:
        return UNDERFLOWS
    return None
