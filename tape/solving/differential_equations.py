"""`odeint` and `solve_ivp` of `scipy.integrate` on recorded values.

SciPy solves with plain numbers, and what it gives are the values.  Their derivatives are those of steps that are
recorded from one time to the next, so whatever the function reads and carries a gradient gets it: the initial value,
arguments, times, and what is around the function.  There is no adjoint equation to solve: that one forgets what it is
not told of, and running backwards it blows up where the solution settles.  It would be the way for fewer records.

A step is Euler's, linearly implicit where SciPy's solver is implicit, with 1, 2, 3, … parts, extrapolated until it is
exact.  The matrix J in it only keeps it stable: for any J the order is the same.  So it is made of plain differences,
and all derivatives of the steps are derivatives of the solution, to the same order.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..backprop.backward import gradients
from ..base.tensor import Face, Tensor
from ..base.tree import leaves_of, transform
from ..history.node import GradientEdge, edge_of, tensor_at
from ..numpy.arrays.array_text import numbers_of
from ..numpy.arrays.explaining import has_lanes
from ..numpy.arrays.face import stop_gradient
from ..numpy.arrays.leaving import Left, asked, carries
from ..numpy.arrays.unwrapping import holds_face, tensor_of
from ..numpy.constructors import as_array
from ..numpy.mathematics import holds
from ..recording.level import components
from ..recording.recorder import wrap
from ..recording.wengert import current, key, list_of, operands_of

ROWS = 9
"""Up to how many parts a step is made of."""
EXACT = 1e-9
"""What a step may be off, beside the values, where the tolerance that SciPy was given is no less."""
NEAR = 1e-4
"""How far beside the values a second solution runs, by which it is seen that steps are exact for derivatives too."""
IMPLICIT = "Radau", "BDF", "LSODA"

Slope = Callable[[Any, Any, tuple[Any, ...]], Any]
"""The right-hand side, of a time, a value and further arguments."""


class Lanes(Exception):
    """SciPy computes for one lane at a time."""


class Plain:
    """A function of the user's as SciPy gets it, which gives plain numbers.

    Attributes:
        is_recorded: whether something that it gave carries a gradient.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function, self.is_recorded = function, False

    def __call__(self, *args: Any) -> Any:
        found = self.function(*args)
        if not holds_face(found):
            return found
        plain = numbers(found)
        self.is_recorded = self.is_recorded or any(isinstance(x, Face) and carries(x._tensor) for x in leaves_of(found))
        return plain


def numbers(x: Any) -> Any:
    """Something with plain numbers in the place of what is recorded.

    Raises:
        Lanes: where these differ from lane to lane.
    """
    if any(map(has_lanes, leaves_of(x))):
        raise Lanes
    return transform(lambda leaf: _numbers(leaf)[()] if isinstance(leaf, Face) else leaf, x)


def _numbers(x: Any) -> Any:
    for part in components(x._tensor):
        part._refuse_recording("a function of SciPy's that calls others computes with its numbers")
    return numbers_of(x)


def arguments(original: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """What SciPy's function is called with, by name, with its defaults."""
    bound = inspect.signature(original).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.arguments


def odeint(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What `scipy.integrate.odeint` gives, with derivatives.

    Raises:
        Exception: what SciPy raises.
    """
    given = arguments(original, args, kwargs)
    func, more, is_first = Plain(given["func"]), given["args"], given["tfirst"]
    more = more if isinstance(more, tuple) else (more,)
    known, info = None, {"mused": [2]}
    try:
        jacobian = given["Dfun"] and Plain(given["Dfun"])
        plain = numbers({name: given[name] for name in given if name not in ("func", "Dfun", "args")})
        found = original(func, args=more, Dfun=jacobian, **plain | {"full_output": True})
        if not func.is_recorded and not holds_face([given["y0"], given["t"]]):
            return found if given["full_output"] else found[0]
        known, info = found
    except Lanes:
        pass

    def slope(t: Any, y: Any, more: Any) -> Any:
        return as_array(given["func"](*((t, y) if is_first else (y, t)), *more))

    rtol = 1.49012e-8 if given["rtol"] is None else given["rtol"]
    flow = RecordedSolution(slope, more, rtol, given["atol"], 2 in info["mused"], known is None)
    y = flow.through(as_array(given["t"]), np.ravel(as_array(given["y0"])), known)
    return (y, info) if given["full_output"] else y


def solve_ivp(original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What `scipy.integrate.solve_ivp` gives, with derivatives of ``y``, and of ``t`` where times are recorded.

    Raises:
        TypeError: if it is asked for an interpolant or for events, which are plain.
        Exception: what SciPy raises.
    """
    given = arguments(original, args, kwargs)
    options = given.pop("options")
    fun, more, span = Plain(given["fun"]), given["args"] or (), given["t_span"]
    try:
        plain = numbers({name: given[name] for name in given if name not in ("fun", "args")})
        plain |= {name: Plain(x) if callable(x) else numbers(x) for name, x in options.items()}
        found = original(fun, **plain, args=given["args"])
    except Lanes:
        raise Left(
            "scipy.integrate.solve_ivp takes steps that differ from lane to lane of vmap.\n"
            f"  at {asked()[0]}\nCall it in a loop, or scipy.integrate.odeint, which gives values at the same times."
        ) from None
    if not fun.is_recorded and not holds_face([given["y0"], span, given["t_eval"]]):
        return found
    if given["dense_output"] or given["events"] is not None:
        raise Left(
            "scipy.integrate.solve_ivp gives plain numbers as interpolants and times of events, and the gradient that "
            f"its function carries would be lost.\n  at {asked()[0]}\nWrite t_eval=… with the times that are wanted."
        )

    def slope(t: Any, y: Any, more: Any) -> Any:
        return as_array(given["fun"](t, y, *more))

    times = given["t_eval"]
    if times is None:
        times = found.t
        if holds_face(span):
            times = np.concatenate([as_array(span)[:1], times[1:]])
            times = times if found.status else np.concatenate([times[:-1], as_array(span)[1:]])
    times, y = as_array(times)[: found.t.size], as_array(given["y0"])
    how = given["method"] if isinstance(given["method"], str) else given["method"].__name__
    flow = RecordedSolution(slope, more, options.get("rtol", 1e-3), options.get("atol", 1e-6), how in IMPLICIT, False)
    known = np.concatenate([numbers_of(y)[:, None], found.y], 1).T
    found.y = flow.through(np.concatenate([as_array(span)[:1], times]), y, known)[1:].T
    found.t = times if holds_face(times) else found.t
    return found


SHORT = "no step along the solution is short enough for exact derivatives"
SMALL, TINY = 1e-6, 1e-12
"""What derivatives of errors may be, beside those of values, and in any case."""


def is_small(errors: list[Any], values: list[Any], mark: int) -> bool:
    """Whether errors have small derivatives with respect to all that was recorded before a mark; else steps are long.

    Each part is looked at: what carries a tangent has it at hand, what is on a list is swept back to the mark.
    """
    for k in itertools.count():
        e, z = [[parts[k] for parts in map(_parts, xs) if k < len(parts)] for xs in (errors, values)]
        if not e:
            return True
        largest = _slopes(z, mark, k > 0)
        if any(slope > SMALL * largest.get(at, 0.0) + TINY for at, slope in _slopes(e, mark, k > 0).items()):
            return False
    raise AssertionError


def _parts(x: Any) -> list[Tensor]:
    return list(components(tensor_of(x)))


def _slopes(parts: list[Tensor], mark: int, is_tangent: bool) -> dict[int, float]:
    """By key of what was recorded before a mark, how large the derivative of a sum of some tensors is at most.

    Of tangents the numbers are such as well; their key is 0.
    """
    found = {0: max([float(np.max(np.abs(x._data), initial=0.0)) for x in parts])} if is_tangent else {}
    outputs = [x for x in parts if x._node is not None]
    places = _before(outputs, mark)
    if places:
        weights = [wrap(np.cos(np.arange(x._data.size)).astype(x.dtype).reshape(x._data.shape)) for x in outputs]
        slopes = gradients(outputs, weights, list(places.values()), True, False, True)
        found |= {k: float(np.max(np.abs(g._data), initial=0.0)) for k, g in zip(places, slopes) if g is not None}
    return found


def _before(tensors: list[Tensor], mark: int) -> dict[int, Tensor]:
    """Tensors that stand for what was recorded before a mark, by key, of those that others are computed from."""
    found, seen = {}, set()
    waiting = [x._node for x in tensors]
    while waiting:
        ref = waiting.pop()
        if type(ref) is int and ref > mark and list_of(ref) is current():
            if ref not in seen:
                seen.add(ref)
                waiting += operands_of(ref)
        elif ref is not None:
            found[key(ref)] = tensor_at(GradientEdge(*edge_of(ref)))  # type: ignore[arg-type]
    return found


class RecordedSolution:
    """Recorded steps along a solution.

    Attributes:
        part: the size of the next step, as a share of the way to the next time, which is no more than `longest`.
        least: how many parts a step is made of at least.
        errors: by step, what is known of its error, on the scale of the values.
        values: the values after each step, on that scale.
    """

    def __init__(
        self, slope: Slope, more: tuple[Any, ...], rtol: Any, atol: Any, is_implicit: bool, in_lanes: bool
    ):  # fmt: skip
        rtol, atol = numbers_of(rtol), numbers_of(rtol if atol is None else atol)
        self.slope, self.more, self.is_implicit, self.in_lanes = slope, more, is_implicit, in_lanes
        self.longest, self.least = 1.0, 3
        self.errors: list[Any] = []
        self.values: list[Any] = []
        self.rtol = np.minimum(rtol, EXACT)
        self.atol = atol * self.rtol / rtol

    def through(self, times: Any, y: Any, known: Any) -> Any:
        """The values at all times, of which the first is where it starts; numerically the `known` ones, if any.

        Steps are exact for the values, and for those that start beside them.  What a function reads from around it may
        have derivatives that are rougher than what it gives, so those of the errors are looked at afterwards.
        """
        start = y.astype(np.result_type(y.dtype, float), copy=False)
        while True:
            mark, y = current().next(), start
            rows, self.errors, self.values, self.part = [y], [], [], self.longest
            for k in range(1, len(times)):
                y = self._advanced(times[k - 1], y, times[k] - times[k - 1])
                if known is not None:
                    y = known[k] + (y - stop_gradient(y))
                rows.append(y)
            if len(times) < 2 or is_small(self.errors, self.values, mark):
                return np.stack(rows)
            self.least, self.longest = ROWS - 2, self.longest / 4.0
            if self.longest < 1e-6:
                raise RuntimeError(SHORT)

    def _advanced(self, t: Any, y: Any, h: Any) -> Any:
        """The value after a time h, in as many steps as it takes.

        Raises:
            RuntimeError: if there is no step that is small enough.
        """
        done = 0.0
        while done < 1.0:
            part = self.part if done + self.part < 1.0 - 1e-9 else 1.0 - done
            with np.errstate(all="ignore"):
                found = self._step(t + done * h, y, part * h)
            if found is None:
                self.part = part / 4.0
                if self.part < 1e-9:
                    raise RuntimeError(SHORT)
                continue
            y, rows = found
            done += part
            if part == self.part:
                self.part = min(self.longest, part * (2.0 if rows < ROWS - 2 else 1.0 if rows < ROWS else 0.7))
        return y

    def _step(self, t: Any, y: Any, h: Any) -> tuple[Any, int] | None:
        """The value after one step, and in how many parts it was made at most; None where that is not exact enough."""
        given = t, y, h, self.more
        plain = stop_gradient(given) if self.in_lanes else numbers(given)
        at, value, size, more = plain
        beside = at, value + NEAR * self._scale(value) * np.cos(np.arange(1.0, y.size + 1.0)), size, more
        jacobian = self._jacobian(at, value, more) if self.is_implicit else None
        tables: list[list[Any]] = [[], []]
        for k in range(1, ROWS + 1):
            inverse = None if jacobian is None else np.linalg.inv(np.eye(len(y)) - size / k * jacobian)
            for table, start in zip(tables, (given, beside)):
                row = [self._in_parts(k, inverse, *start)]
                for j in range(1, k):
                    row.append(row[-1] + (row[-1] - table[j - 1]) / (k / (k - j) - 1.0))
                table[:] = row
            if k >= self.least and self._is_exact(y, tables[0][-1], *[t[-1] - t[-2] for t in tables]):
                scale = np.maximum(self._scale(y), self._scale(tables[0][-1]))
                self.errors.append((tables[0][-1] - tables[0][-2]) / scale)
                self.values.append(tables[0][-1] / scale)
                return tables[0][-1], k
        return None

    def _in_parts(self, k: int, inverse: Any, t: Any, y: Any, h: Any, more: tuple[Any, ...]) -> Any:
        """The value after k of Euler's steps."""
        d = h / k
        for j in range(1, k + 1):
            change = d * self.slope(t + j * d, y, more)
            y = y + (change if inverse is None else inverse @ change)
        return y

    def _scale(self, y: Any) -> Any:
        return self.atol / self.rtol + np.abs(stop_gradient(y))

    def _is_exact(self, before: Any, after: Any, error: Any, beside: Any) -> bool:
        """Whether the error of a step is small, and differs little from that of the step beside it."""
        scale = self.rtol * np.maximum(self._scale(before), self._scale(after))
        error, apart = stop_gradient(error), 1e3 * NEAR * np.max(scale)
        return all(
            holds(lambda e: e <= 1.0, np.abs(e)) for e in (error / scale, (stop_gradient(beside) - error) / apart)
        )

    def _jacobian(self, t: Any, y: Any, more: tuple[Any, ...]) -> Any:
        """The derivatives of the slope with respect to the value, by differences."""
        here, scale = self.slope(t, y, more), 1e-7 * (1e-3 + np.abs(y))
        columns = [(self.slope(t, y + e * scale, more) - here) / scale[k] for k, e in enumerate(np.eye(len(y)))]
        found = stop_gradient(np.stack(columns, axis=1))
        return found if self.in_lanes else numbers_of(found)
