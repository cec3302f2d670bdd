"""Whether a call can have made a floating-point error of which the function warns, told without calling the function.

The processor's flags tell that something went wrong, and not where: in what the function ignores, or beside what it
asks for.  But an error that NumPy warns of leaves an infinity or a nan where it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from ops import Op
from ops.core.registry import OPS

from ..base.spec import Spec
from .plans.replay import Replay
from .recorded.listing import Listing, by_code
from .recorded.raising import KINDS
from .shortening.alarms import is_told, may_warn, told_of
from .shortening.passes import shorten

EXTREMES = (0.0, 5e-324, 1e-308, 1e-160, 0.5, 1.0, 2.0, 710.0, 1e16, 1e160, 1.7e308)
"""Numbers of which, and of whose negatives, it is tried whether an error leaves its trace."""
LANES = 8
"""So many equal numbers are tried at once: NumPy may compute them otherwise than one."""
MOST_BYTES = 1 << 26
"""What is looked at takes no more memory than this."""


class ErrorCheck:
    """Looks whether what is heard of is finite in a call: the results and operands of such records.

    Attributes:
        replay: gives these.
        bounds: what each must be less than, as sums of many numbers may be made in another order.
        calls: how often it was asked.
    """

    def __init__(self, listing: Listing, bounds: dict[int, float]):
        rows = np.array(list(bounds), dtype=np.int64)
        self.bounds = list(bounds.values())
        self.replay = Replay(shorten(replace(listing, outputs=rows, guards=[], watched=0)))
        self.calls = 0

    def rules_out(self, xs: Sequence[Any]) -> bool:
        """Whether no error can have been made of these arguments of a program."""
        self.calls += 1
        with np.errstate(all="ignore"):
            values = self.replay(xs, self.calls)
            return all(np.abs(z).max(initial=0.0) < bound for z, bound in zip(values, self.bounds))


Ignored = Sequence[tuple[range, int]]
"""Records, and the kinds of errors that are ignored there."""


def heard_kinds(listing: Listing, ignored: Ignored) -> int:
    """The kinds of errors of which some record may tell."""
    return sum([kind for kind in KINDS.values() if len(_heard(listing, ignored, kind))])


def error_check(listing: Listing, ignored: Ignored, kinds: int) -> ErrorCheck | None:
    """What looks whether there are errors of some kinds, None if it cannot be told from finite numbers."""
    heard = _heard(listing, ignored, kinds)
    if not _shows(len(OPS))[listing.code[heard]].all():
        return None
    bounds: dict[int, float] = {}
    for k in heard.tolist():
        rows = [j for j in listing.operands(k) if not listing.is_number(j)]
        specs = [listing.spec_of(j) for j in (k, *rows)]
        if not all(map(_is_real, specs)) or specs[0].dtype.kind not in "fc":  # type: ignore[union-attr]
            return None
        bound = _bound(OPS[listing.code[k]], specs)  # type: ignore[arg-type]
        for j, spec in zip((k, *rows), specs):
            if spec.dtype.kind in "fc":  # type: ignore[union-attr]
                bounds[j] = min(bounds.get(j, bound), bound)
    specs = [listing.spec_of(k) for k in bounds]
    if sum([s.size * s.dtype.itemsize for s in specs if s is not None]) > MOST_BYTES:
        return None
    return ErrorCheck(listing, bounds)


def _is_real(spec: Spec | None) -> bool:
    return spec is not None and spec.dtype.kind in "fciub"


def _bound(op: Op, specs: Sequence[Spec]) -> float:
    """Less than what operands and results must be: of sums of products so small that no order of summing matters."""
    most = min(np.finfo(s.dtype).maxexp for s in specs if s.dtype.kind in "fc")
    if op.kind in ("elementwise", "plain"):
        return 2.0 ** (most - 2)
    return 2.0 ** ((most - max(s.size for s in specs).bit_length()) // 2 - 2)


def _heard(listing: Listing, ignored: Ignored, kinds: int) -> np.ndarray:
    """The records that may tell of an error of some kinds."""
    heard = _telling(listing)
    for rows, unheard in ignored:
        if unheard & kinds == kinds:
            heard[rows.start : rows.stop] = False
    return np.flatnonzero(heard)


def _telling(listing: Listing) -> np.ndarray:
    """The records of whose errors somebody may be told; what users' own ops do, and some others, is not known."""
    made = listing.code >= 0
    known = is_told(len(OPS))[listing.code]
    telling = told_of(listing, made) | (made & ~known & ~_calm(len(OPS))[listing.code])
    for code in np.unique(listing.code[telling & known]).tolist():
        if not may_warn(OPS[code]):
            telling[listing.code == code] = False
    return telling


@cache
def _calm(count: int) -> np.ndarray:
    """By opcode, whether an op is one of SciPy's, which tell of nothing, or takes a result of another."""
    ops = OPS[:count]
    return by_code(op.name == "output" or bool(op.scipy and not isinstance(op.forward, np.ufunc)) for op in ops)


@cache
def _shows(count: int) -> np.ndarray:
    """By opcode, whether what an error leaves is no finite number, of finite operands."""
    told = is_told(count)
    return by_code(bool(told[op.code]) and _leaves_traces(op) for op in OPS[:count])


@cache
def _leaves_traces(op: Op) -> bool:
    if op.kind not in ("elementwise", "plain"):
        return op.kind == "linear" or op.hints.growth in ("sum", "product") or op.hints.motion == "matrix"
    if op.params or op.arity not in (1, 2):
        return not may_warn(op)
    numbers = [*EXTREMES, *(-x for x in EXTREMES)]
    try:
        return all(_leaves_trace(op, point) for point in product(map(np.float64, numbers), repeat=op.arity))
    except Exception:  # of what it does not take
        return False


def _leaves_trace(op: Op, point: Sequence[float]) -> bool:
    """Whether NumPy makes no error at a point, or one that shows, of one number and of many."""
    for xs in (point, [np.full(LANES, x) for x in point]):
        try:
            with np.errstate(all="raise", under="ignore"):
                op.forward(*xs)
        except FloatingPointError:
            with np.errstate(all="ignore"):
                if np.isfinite(op.forward(*xs)).any():
                    return False
    return True
