"""A program under each transform, beside differences of what NumPy computes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape

from .program import Program, inputs

ORDER = (0, 0, 1, 2, 0)
"""Which inputs a compiled function is called with, one after another."""
ALL = (0, 1, 2)
FEWER = (0, 1, 0)
KINDS = ("right", "aside", "raised", "refused", "warned", "wrong")


@dataclass(frozen=True)
class Verdict:
    """What came of one transform, and why.

    ``right``; ``aside``: right, but never replayed; ``raised``: as NumPy does; ``refused``: raised where NumPy does
    not; ``warned``: other numbers, but it was said that a gradient is lost; ``wrong``.
    """

    kind: str
    why: str = ""


class Flat:
    """The function of a program with its results in one row; it is given copies, and changes none of its arguments."""

    def __init__(self, program: Program, poison: float | None = None, apart: bool = False):
        self.plain = program.function(poison, apart)

    def __call__(self, *xs: Any) -> Any:
        return np.concatenate([np.ravel(z) for z in leaves(self.plain(*xs))])

    def total(self, *xs: Any) -> Any:
        """A weighted sum of the results."""
        row = self(*xs)
        return (row * weights(row.size)).sum()


def leaves(result: Any) -> list[Any]:
    """The arrays in tuples, lists and dicts."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (tuple, list)):
        return [leaf for inner in result for leaf in leaves(inner)]
    return [result]


def weights(n: int) -> np.ndarray:
    return np.cos(1.0 + np.arange(n))


@dataclass(frozen=True)
class Expected:
    """What NumPy gives at some inputs.

    Attributes:
        value: the results in one row, None if NumPy raises.
        slopes: their derivatives by all inputs in one row, None where the function has a kink or a jump nearby.
    """

    value: np.ndarray | None
    slopes: np.ndarray | None = None
    error: str = ""


def listened(f: Callable[..., Any], *xs: Any) -> tuple[Any, str]:
    """What a call gives, and what it said of lost gradients."""
    with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        result = f(*xs)
    return result, next((str(w.message) for w in said if LOST in str(w.message)), "")


LOST = "no gradient flows"
"""What a warning says where a number has become Python's."""


UNKNOWN = "what it gives is not finite, or depends on what was in memory, or on where NumPy writes first"


def expected(program: Program, number: int) -> Expected:
    f, xs = Flat(program), inputs(program, number)
    poisons = (float("nan"), 1e9, -1e9, 0.0) if program.reads_memory else ()
    try:
        quietly(f.plain, *xs)
    except Exception as error:
        always = all(raises(Flat(program, poison), xs) for poison in poisons)
        return Expected(None, error=type(error).__name__ if always else UNKNOWN)
    try:
        value = quietly(f, *xs)
    except Exception:  # another time it did not
        return Expected(None, error=UNKNOWN)
    others = [Flat(program, apart=True), *(Flat(program, poison) for poison in poisons)]
    if not np.isfinite(value).all() or not all(same(value, other, xs) for other in others):
        return Expected(None, error=UNKNOWN)
    return Expected(value, smooth(f, xs, value))


def raises(f: Flat, xs: tuple[np.ndarray, ...]) -> bool:
    """Whether a function raises."""
    try:
        quietly(f, *xs)
    except Exception:
        return True
    return False


def same(value: np.ndarray, f: Flat, xs: tuple[np.ndarray, ...]) -> bool:
    """Whether another function gives the same numbers."""
    try:
        return bool(np.array_equal(quietly(f, *xs), value))
    except Exception:
        return False


def smooth(f: Flat, xs: tuple[np.ndarray, ...], value: np.ndarray) -> np.ndarray | None:
    """The Jacobian by differences over two widths, if the slope over one agrees with that, and those of both sides do.

    A kink further away than the wider of the two changes none of them.
    """
    columns = []
    for i, x in enumerate(xs):
        for k in range(x.size):
            try:
                ends = {t: quietly(f, *moved(xs, i, k, t)) for t in TIMES}
            except Exception:
                return None
            if any(y.shape != value.shape or not np.isfinite(y).all() for y in (*ends.values(), value)):
                return None
            found = slope(ends, STEP)
            alone = (ends[STEP] - ends[-STEP]) / (2 * STEP)
            bend = np.abs(ends[STEP] - 2 * value + ends[-STEP]) / STEP
            size = 1.0 + np.abs(found)
            rounding = np.finfo(float).eps * np.abs(value) / STEP  # which hides slopes beside what is huge
            kinked = (np.abs(alone - found) > 1e-6 * size) | (bend > 1e-2 * size)
            if (kinked | (rounding > 1e-6 * size)).any():
                return None
            columns.append(found)
    return np.stack(columns, axis=-1)


STEP = 5e-5
TIMES = STEP, -STEP, 2 * STEP, -2 * STEP


def slope(ends: dict[float, np.ndarray], h: float) -> np.ndarray:
    return (8 * (ends[h] - ends[-h]) - (ends[2 * h] - ends[-2 * h])) / (12 * h)


def moved(xs: tuple[np.ndarray, ...], i: int, k: int, t: float) -> list[np.ndarray]:
    found = [x.copy() for x in xs]
    found[i].reshape(-1)[k] += t
    return found


def quietly(f: Callable[..., Any], *xs: Any) -> Any:
    """A call without warnings, and without NumPy's about numbers."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return f(*xs)


WANTED = Callable[[Expected], Any]
EVERY = (0, 1, 2)
DIRECTION = np.sin(1.0 + np.arange(13))


def pieces(row: np.ndarray) -> tuple[np.ndarray, ...]:
    """Thirteen numbers as a vector, a matrix and a number."""
    return row[..., :3], row[..., 3:12].reshape(*row.shape[:-1], 3, 3), row[..., 12]


def transforms(f: Flat) -> dict[str, tuple[Callable[..., Any], WANTED]]:
    """Functions of three arrays by name, and what they should give, both in one row."""
    tangents = tuple(np.asarray(d) for d in pieces(DIRECTION))
    row = lambda parts: np.concatenate([np.reshape(p, -1) for p in parts])  # noqa: E731
    by_input = lambda e: row(pieces(e.slopes))  # noqa: E731
    found: dict[str, tuple[Callable[..., Any], WANTED]] = {
        "value": (f, lambda e: e.value),
        "grad": (tape.func.grad(f.total, EVERY), lambda e: weights(e.value.size) @ e.slopes),
        "jacrev": (tape.func.jacrev(f, EVERY), by_input),
        "jacfwd": (tape.func.jacfwd(f, EVERY), by_input),
        "jvp": (lambda *xs: tape.func.jvp(f, xs, tangents)[1], lambda e: e.slopes @ DIRECTION),
        "grad_and_value": (
            tape.func.grad_and_value(f.total, EVERY),
            lambda e: np.append(weights(e.value.size) @ e.slopes, weights(e.value.size) @ e.value),
        ),
    }
    return found


NEEDS_SLOPES = {"grad", "jacrev", "jacfwd", "jvp", "grad_and_value"}
EAGER = ("grad", "jacrev", "jacfwd", "jvp")
LATER = ("value", "grad", "grad_and_value", "jacrev", "jacfwd", "jvp")
NAMES = (*EAGER, *(f"compile({n})" for n in LATER), "record(value)", "record(grad)", "vmap", "compile(vmap)")
FEW = (*EAGER, "vmap", "compile(value)", "compile(grad)")


def few(seed: int) -> tuple[str, ...]:
    """Most transforms, and one in turns of those that take longer."""
    rest = [name for name in NAMES if name not in FEW]
    return (*FEW, rest[seed % len(rest)])


def in_turn(seed: int) -> tuple[str, ...]:
    """One transform in turns, and one in turns of those that are compiled."""
    once = (*EAGER, "vmap", "record(value)", "record(grad)")
    later = (*(f"compile({n})" for n in LATER), "compile(vmap)")
    return once[seed % len(once)], later[seed // len(once) % len(later)]


class Known(dict[int, Expected]):
    """What NumPy gives at inputs, computed when it is first asked for."""

    def __init__(self, program: Program):
        super().__init__()
        self.program = program

    def __missing__(self, number: int) -> Expected:
        found = self[number] = expected(self.program, number)
        return found


def compare(program: Program, names: tuple[str, ...] = NAMES, fewer: bool = False) -> dict[str, Verdict]:
    """The verdict on each transform; none where NumPy's function cannot be differentiated by differences.

    At `fewer` inputs what is not compiled is called once, and what is, at two inputs.
    """
    known = Known(program)
    found = {name: judged(program, name, known, fewer) for name in names}
    return {name: verdict for name, verdict in found.items() if verdict is not None}


def judged(program: Program, name: str, known: dict[int, Expected], fewer: bool = False) -> Verdict | None:
    """The worst of what one transform gives at several inputs."""
    around, _, base = name.rpartition("(")
    base = base.rstrip(")")
    if base == "vmap":
        return mapped(program, known, around == "compile")
    function, wanted = transforms(Flat(program))[base]
    looked = ORDER if around == "compile" else (0,) if around == "record" else ALL
    if fewer:
        looked = FEWER if around == "compile" else (FEWER[program.seed % 2],)
    if around == "compile":
        function = tape.compile(function, tier=("interpret", None)[program.seed % 2] if fewer else None)
    found: list[Verdict] = []
    for turn, number in enumerate(looked):
        e = known[number]
        if e.error == UNKNOWN or (e.value is not None and base in NEEDS_SLOPES and e.slopes is None):
            continue
        given = inputs(program, number)
        if around == "record":
            function = recording(function, given)
        verdict = one(function, given, wanted(e) if e.value is not None else None)
        if verdict.kind == "wrong" and any(LOST in v.why for v in found):  # said once for a line, in the first call
            verdict = Verdict("warned", verdict.why)
        if verdict.kind == "wrong":
            return Verdict("wrong", f"{name}, call {turn}, inputs {number}: {verdict.why}")
        found.append(verdict)
    if not found:
        return None
    if any(v.kind == "warned" for v in found):
        return next(v for v in found if v.kind == "warned")
    least = min(found, key=lambda v: ("refused", "right", "raised").index(v.kind))
    aside = around == "compile" and least.kind == "right" and not any(p.replays for p in function.programs)
    return Verdict("aside") if aside else least


def recording(function: Callable[..., Any], given: Any) -> Callable[..., Any]:
    return lambda *xs: tape.record(function, *given)(*xs)


def one(function: Callable[..., Any], given: tuple[np.ndarray, ...], wanted: np.ndarray | None) -> Verdict:
    """A call beside what it should give; None where it should raise."""
    before = [x.copy() for x in given]
    try:
        result, lost = listened(function, *given)
        found = flat(result)
    except Exception as error:
        kind = "raised" if wanted is None else "refused"
        return Verdict(kind, f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
    if any(not np.array_equal(x, y, equal_nan=True) for x, y in zip(given, before)):
        return Verdict("wrong", "it changed its arguments")
    if wanted is None:
        return Verdict("wrong", f"it gives {found} where NumPy raises")
    if found.shape != wanted.shape:
        return Verdict("wrong", f"shape {found.shape} instead of {wanted.shape}")
    size = 1.0 + np.abs(wanted).max(initial=0)
    if not np.allclose(found, wanted, rtol=1e-5, atol=1e-6 * size, equal_nan=True):
        return Verdict("warned" if lost else "wrong", f"{lost}\n  found  {found}\n  wanted {wanted}")
    return Verdict("right", lost)


def flat(result: Any) -> np.ndarray:
    """Numbers in one row; a tensor where arrays went in is not expected, but its numbers are."""
    parts = [z.detach().numpy() if isinstance(z, tape.Tensor) else z for z in leaves(result)]
    return np.concatenate([np.ravel(p) for p in parts])


def mapped(program: Program, known: dict[int, Expected], compiled: bool) -> Verdict | None:
    """`vmap` over three inputs at once; nothing to say where these give errors or results of several shapes."""
    values = [known[n].value for n in ALL]
    if any(v is None or v.shape != values[0].shape for v in values):
        return None
    function = tape.func.vmap(Flat(program))
    given = tuple(np.stack(parts) for parts in zip(*(inputs(program, n) for n in ALL)))
    verdict = one(tape.compile(function) if compiled else function, given, np.ravel(values))
    return Verdict(verdict.kind, f"vmap: {verdict.why}")


def worst(program: Program, names: tuple[str, ...] = NAMES, fewer: bool = False) -> str | None:
    """What the first wrong transform gave, None if none is wrong."""
    return next(wrongs(compare(program, names, fewer)), None)


def wrongs(verdicts: dict[str, Verdict]) -> Iterator[str]:
    return (v.why for v in verdicts.values() if v.kind == "wrong")
