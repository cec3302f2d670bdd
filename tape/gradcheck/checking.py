"""The whole check of a gradient: run the function, take both Jacobians, compare, find the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..numpy.inside import Inside
from .batched_check import batched_adjoints
from .derivatives.along import Along
from .derivatives.compare import Options, Tolerances, compare, precision_of, precisions
from .derivatives.curve import Curve, curves_of
from .derivatives.grid import Grid
from .derivatives.hand_written import Written, split
from .derivatives.report import FORWARD, REVERSE, RIGHT, Comparison, Report
from .derivatives.rounding import Derivative, output_spread, spread, wide_dtype
from .derivatives.subject import Array, Jacobian, Subject, TrackedCall, is_inexact, plain, reverse, swept
from .suspects import find_suspects
from .undefined import check_repeatable, differing, lost, mistyped, not_finite, not_multiplied, undefined_adjoints

MANY = 1 << 14
"""So many numbers of inputs and outputs are too many to look at one by one, where fast mode was asked for."""


class Comparing:
    """The comparisons of one check.

    Args:
        subject, point: what is checked, and where.
        tolerances: how closely.
        report: takes the comparisons.
        fast: whether along random directions.
        seed: of those.
    """

    def __init__(
        self, subject: Subject, point: Sequence[Array], tolerances: Tolerances, report: Report, fast: bool, seed: int
    ):
        self.subject, self.point, self.tolerances, self.report = subject, list(point), tolerances, report
        self.elements = Grid(subject, point)
        self.grid = Along.random(subject, point, np.random.default_rng(seed)) if fast else self.elements
        self.wide = _widened(subject, self.point)
        self.tick: Callable[[], object] | None = None

    def watch(self, progress: Callable[[int, int], object] | None, modes: int) -> None:
        """Tell `progress` how many numbers of the inputs are done, in so many modes."""
        if progress is not None:
            total, done = modes * sum(axis.size for axis in self.grid.inputs), 0

            def tick() -> None:
                nonlocal done
                done += 1
                progress(min(done, total), total)

            self.tick = tick

    def derivative(self, mode: str) -> Derivative:
        """What computes the Jacobian in a mode."""
        return derivative(mode, self.grid)

    def swept(self, recorded: TrackedCall) -> Jacobian:
        """The Jacobian in reverse mode, by sweeps over a call of the function."""
        return swept_as(self.grid, self.subject, recorded)

    def compare(self, jacobian: Jacobian, mode: str) -> bool:
        """Compare the Jacobian of a mode; whether all of it is right."""
        found = self._compare(self.grid, jacobian, mode)
        found = self._looked_into(found, jacobian, mode) if self.grid is not self.elements else found
        self.report.comparisons += found
        return all(c.verdict == RIGHT for c in found)

    def curves(self, comparisons: Sequence[Comparison]) -> list[Curve | None]:
        """The error over the step at the worst element of each comparison, in float64 where the function allows it."""
        return curves_of(self._widely(self.grid), self._widely(self.elements), comparisons)

    def _widely(self, grid: Grid) -> Grid:
        """A grid in float64 where the function allows it."""
        return grid if self.wide[0] is self.subject else grid.at(*self.wide)

    def _compare(self, grid: Grid, jacobian: Jacobian, mode: str) -> list[Comparison]:
        """Compare with differences, taken in float64 where the function allows it."""
        coarse = max(precision_of(x.dtype) for x in self.point)
        precision = np.maximum(precisions(grid.outputs), coarse)
        wide = self._widely(grid)

        @cache
        def noise() -> tuple[Array, list[Array]]:
            return output_spread(wide), self._noise(grid, mode, precision)

        return list(compare(wide, jacobian.blocks, precision, noise, self.tolerances, mode, self.tick))

    def _noise(self, grid: Grid, mode: str, precision: Array) -> list[Array]:
        """Per input, what rounding may do to the gradient under check."""
        floor = precision[:, None] * grid.magnitudes(self.subject.flat(self.point))[:, None]
        wide = [x.astype(wide_dtype(x.dtype)) for x in self.point]
        way = derivative(mode, grid.at(self.subject, wide))
        rounding = spread(self.subject, self.point, float(np.max(precision, initial=0.0)), way)
        return [r + floor / size for r, size in zip(rounding, grid.sizes())]

    def _looked_into(self, found: list[Comparison], jacobian: Jacobian, mode: str) -> list[Comparison]:
        """Comparisons along directions; those in doubt are decided by, and followed by, those of the elements.

        What is wrong along a direction and right in every element is a kink, or a difference that
        cancels, if the elements add up to it; and if they do not, a gradient that is not linear.
        """
        size = sum(axis.size for axis in (*self.elements.inputs, *self.elements.outputs))
        if all(c.ok for c in found) or size > MANY:
            return found
        full = derivative(mode, self.elements)(self.subject, self.point)
        singly = {(c.input, c.output): c for c in self._compare(self.elements, full, mode)}
        adding = self._adding_up(full, jacobian)
        made = []
        for c in found:
            one = singly[c.input, c.output]
            if not c.ok and one.ok and adding[c.input, c.output]:
                made.append(replace(c, verdict=RIGHT, wrong=0, method="elements"))
                continue
            made.append(c)
            if not c.ok and not one.ok:
                made.append(one)
            elif not c.ok:
                self.report.faults.append(
                    f"the gradient of {c.output} for {c.input} is not linear in the "
                    f"{'tangent' if mode == 'forward' else 'adjoint'}: it is right for unit vectors, but for random "
                    "ones it is not the sum of its parts"
                )
        return made

    def _adding_up(self, full: Jacobian, along: Jacobian) -> dict[tuple[str, str], bool]:
        """Per input and output, whether uᵀJv, out of the elements of J, is what was found along directions."""
        assert isinstance(self.grid, Along)
        sums = self.grid.reduce(full.blocks)
        sizes = self.grid.bounds(full.blocks)
        eps = 1e3 * max(precision_of(axis.dtype) for axis in (*self.grid.inputs, *self.grid.outputs))
        return {
            (x.name, z.name): bool(abs(a[j, 0] - b[j, 0]) <= eps * s[j, 0] + self.tolerances.noise)
            for x, a, b, s in zip(self.grid.inputs, sums, along.blocks, sizes)
            for j, z in enumerate(self.grid.outputs)
        }


def _widened(subject: Subject, point: list[Array]) -> tuple[Subject, list[Array]]:
    """Subject and point in float64 if the function accepts it and computes the same thing there."""
    wide = [x.astype(wide_dtype(x.dtype)) if x.dtype.itemsize < wide_dtype(x.dtype).itemsize else x for x in point]
    if all(x.dtype == y.dtype for x, y in zip(wide, point)):
        return subject, point
    other = subject.like()
    try:
        here, there = subject.flat(point), other.flat(wide)
    except Exception:  # a function may insist on its dtype; then its own precision is what there is
        return subject, point
    coarse = max(precision_of(x.dtype) for x in point)
    same = here.shape == there.shape and np.allclose(here, there, rtol=1e4 * coarse, atol=1e4 * coarse)
    return (other, wide) if same else (subject, point)


class Asked(NamedTuple):
    """Which inputs of a function are checked, and whose gradient; see `check`."""

    wrt: Sequence[int | str] | None = None
    names: Sequence[str] | None = None
    gradient: Callable[..., Any] | bool | None = None
    library: str | None = None
    arrays: bool = False


def check(
    func: Callable[..., Any],
    inputs: Any,
    *,
    wrt: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    gradient: Callable[..., Any] | bool | None = None,
    library: str | None = None,
    arrays: bool = False,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Report:
    """Compare the gradient of a function with differences of the function.

    Args:
        func: takes the inputs in order, returns a float or complex tensor or array, or a tuple, list or dict of them.
        inputs: a tuple or list of tensors, arrays, numbers or anything else; or one such input.
        wrt: positions or names of the inputs to check; all that are floating point or complex if None.
        names: of the inputs, for the report.
        gradient: a function written by hand, checked in place of ours; see `tape.gradcheck.written.Written`.  True
            if `func` returns its value and its gradient.
        library: ``"torch"``, ``"jax"`` or ``"autograd"``, if `func` is written in it, and its gradient checked.
        arrays: hand arrays to `func`, not tensors, as a function in plain NumPy expects.
        progress: called with the number of elements done and of all elements.
        options: fields of `Options`.

    Raises:
        Unfit: if the function has no output to check, is nan or infinite here, or is random; or if a
            gradient written by hand is missing or has the wrong shape.
        GradcheckError: if a gradient of ours has the wrong shape.
        Unsteady: if the outputs change their shape or dtype with the inputs' values.
        ValueError: if there is nothing to check, or the library is not installed.

    >>> report = check(lambda x, y: x * y, (np.array([1.0, 2.0]), 3.0))
    >>> report.ok
    True
    >>> check(np.square, 2.0, gradient=lambda x: x).worst.pair
    'd output / d input 0'
    >>> check(lambda x: (x * x, 2 * x), 2.0, gradient=True).ok
    True
    """
    wanted = Options(**options)
    subject = subject_of(func, inputs, Asked(wrt, names, gradient, library, arrays))
    subject.lenient = wanted.only_differentiable
    subject.needs_history = getattr(func, "needs_history", False)
    report = Report()
    with np.errstate(all="ignore"):
        _run(subject, subject.point(), wanted, report, progress)
    report.evaluations = subject.evaluations
    return report


def subject_of(func: Callable[..., Any], inputs: Any, asked: Asked) -> Subject:
    """The function with its inputs, and with whose gradient is checked."""
    wrt, names, gradient, library, arrays = asked
    if library is not None:
        from .derivatives.libraries import Foreign, library as installed  # one of them is opened when it is asked for

        if gradient:
            raise ValueError(f"gradient= and library= exclude each other: the gradient is {library}'s or your own")
        known = installed(library)
        given = [known.plain(x) for x in _several(inputs)]
        return Foreign(func, given, *_placed(given, names, wrt), known)
    given = _several(inputs)
    if not gradient:
        return Subject(Inside(func) if arrays else func, given, *_placed(given, names, wrt))
    value, by_hand = split(func) if gradient is True else (func, gradient)
    assert callable(by_hand)
    return Written(value, given, *_placed(given, names, wrt), by_hand)


def _several(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]


def _placed(
    given: list[Any], names: Sequence[str] | None, wrt: Sequence[int | str] | None
) -> tuple[list[int], list[str]]:
    """Positions of the inputs to check, and a name for every input."""
    known = list(names) if names is not None else [f"input {i}" for i in range(len(given))]
    return _positions(given, known, wrt), known


def _positions(given: list[Any], names: list[str], wrt: Sequence[int | str] | None) -> list[int]:
    """Positions of the inputs to check."""
    if wrt is None:
        found = [i for i, x in enumerate(given) if is_inexact(x)]
        if not found:
            raise ValueError(
                "a gradient can be checked with respect to floating-point or complex inputs; got "
                f"{', '.join(type(plain(x)).__name__ for x in given) or 'no input'}. Write 1.0 instead of 1."
            )
        return found
    found = [names.index(i) if isinstance(i, str) else i for i in wrt]
    for i in found:
        if not is_inexact(given[i]):
            raise ValueError(f"{names[i]} is {_kind(given[i])}; only floating-point and complex inputs have a gradient")
    return found


def _kind(x: Any) -> str:
    value = plain(x)
    return str(value.dtype) if isinstance(value, (np.ndarray, np.generic)) else type(value).__name__


def _run(
    subject: Subject, point: list[Array], options: Options, report: Report,
    progress: Callable[[int, int], object] | None,
) -> None:  # fmt: skip
    written = isinstance(subject, Written)
    first = subject.recorded(point) if written else _note_history(subject, point, options, report)
    if first is None:
        return
    if not np.isfinite(first.flat).all():
        raise not_finite(subject, first.flat)
    ours = [m for m, on in ((REVERSE, options.reverse), (FORWARD, options.forward)) if on]
    modes = [subject.mode] if isinstance(subject, Written) else ours
    comparing = Comparing(subject, point, options.tolerances, report, options.fast, options.seed)
    comparing.watch(progress, len(modes))
    # A call is swept before the next one, which may write to memory that the function keeps.
    jacobians = {REVERSE: comparing.swept(first)} if REVERSE in modes else {}
    again = subject.recorded(point)
    if not np.array_equal(first.flat, again.flat):
        check_repeatable(subject, first.flat, again.flat, options.nondet_tol)
    if REVERSE in modes:
        _check_swept(subject, point, jacobians[REVERSE], comparing.swept(again), options, report)
        _check_adjoints(subject, again, options, report)
    right = True
    for mode in modes:
        jacobian = jacobians.get(mode) or comparing.derivative(mode)(subject, point)
        if written:
            _check_swept(subject, point, jacobian, comparing.derivative(mode)(subject, point), options, report)
        right = comparing.compare(jacobian, mode) and right
        if mode == REVERSE and options.batched:
            report.faults += batched_adjoints(subject, point, np.random.default_rng(options.seed))
        if mode == FORWARD:
            _check_tangents(subject, point, options, report)
    if options.curves:
        report.curves = comparing.curves(report.comparisons)
    if (report.faults or not right) and report.wrong and options.causes and not written:
        report.faults += lost(report.detached, report)
        report.suspects, report.lines = find_suspects(*comparing.wide, modes)


def _note_history(subject: Subject, point: list[Array], options: Options, report: Report) -> TrackedCall | None:
    """A call of the function; find out which outputs are to be checked, None if there are none."""
    first = subject.recorded(point)
    names = [axis.name for axis in subject.output_axes]
    tracked = {id(out) for out in first.tracked}
    report.detached = [name for name, out in zip(names, first.outs) if id(out) not in tracked]
    if options.only_differentiable and len(report.detached) < len(names):
        subject.kept = set(names) - set(report.detached)
        subject.axes, report.detached = None, []
        first = subject.recorded(point)
    return first if names else None


def _check_swept(
    subject: Subject, point: list[Array], jacobian: Jacobian, again: Jacobian, options: Options, report: Report
) -> None:
    """Check that a gradient is the same once more, and of the dtype of its input where that is asked."""
    if not all(map(np.array_equal, jacobian.blocks, again.blocks)):
        report.faults += differing(subject, jacobian, again, options.nondet_tol)
    if options.dtypes:
        report.faults += mistyped(subject, point, jacobian)


def _check_adjoints(subject: Subject, recorded: TrackedCall, options: Options, report: Report) -> None:
    found = recorded.of_zeros()
    if any(bar is not None and np.any(bar._data) for bar in found):
        report.faults += not_multiplied(subject, found)
    if options.undefined and not (len(recorded.tracked) < 2 and recorded.only_ops()):
        report.faults += undefined_adjoints(subject, recorded, hooks=options.only_differentiable)


def _check_tangents(subject: Subject, point: list[Array], options: Options, report: Report) -> None:
    from .tangent_checks import batched_tangents, undefined_tangents  # forward mode is opened when it is asked for

    rng = np.random.default_rng(options.seed)
    if options.undefined:
        report.faults += undefined_tangents(subject, point, rng)
    if options.batched_forward:
        report.faults += batched_tangents(subject, point, rng)


def derivative(mode: str, grid: Grid) -> Derivative:
    """The function of a subject and a point that computes, in a mode, the Jacobian that a grid compares."""
    slow = elementwise(mode)
    if not isinstance(grid, Along):
        return slow
    along: Along = grid

    def fast(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
        if mode == REVERSE:
            return swept_as(along, subject, subject.recorded(arrays))
        if mode == FORWARD:
            from .tangent_checks import forward_along

            return Jacobian(along.u_times(forward_along(subject, arrays, along.directions).blocks))
        return Jacobian(along.reduce(slow(subject, arrays).blocks))

    return fast


def swept_as(grid: Grid, subject: Subject, recorded: TrackedCall) -> Jacobian:
    """The Jacobian that a grid compares, in reverse mode, by sweeps over a call of the function."""
    if not isinstance(grid, Along):
        return swept(subject, recorded)
    found = swept(subject, recorded, grid.weights)
    return Jacobian(grid.times_v(found.blocks), found.dtypes)


def elementwise(mode: str) -> Derivative:
    """The same for the whole Jacobian."""
    if mode == REVERSE:
        return reverse
    if mode == FORWARD:
        from .tangent_checks import forward

        return forward
    return _written


def _written(subject: Subject, arrays: Sequence[Array]) -> Jacobian:
    assert isinstance(subject, Written)
    return subject.jacobian(arrays)
