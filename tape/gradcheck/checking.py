"""The whole check of a gradient: run the function, take both Jacobians, compare, find the cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..numpy.inside import Inside
from .batched_check import batched_adjoints
from .derivatives.compare import Tolerances
from .derivatives.hand_written import Written, split
from .derivatives.report import FORWARD, REVERSE, Report
from .derivatives.subject import Array, Subject, is_inexact, plain
from .faults import check_function, differing, lost, mistyped, not_multiplied, without_history
from .suspects import find_suspects
from .undefined import undefined_adjoints
from .verdict import Comparing


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is checked, and how closely.

    Attributes:
        eps: step of the plain difference; chosen per element and dtype if None.
        atol, rtol: tolerances; None means they follow from the dtype and are chosen per element.
        nondet_tol: how much two computations of the same gradient may differ.
        reverse, forward: which modes of differentiation are checked.
        fast: compare uᵀJv along random directions, in place of every element of J.
        batched: gradients of several adjoints at once must be those of one after the other.
        batched_forward: the same for tangents.
        undefined: an adjoint or a tangent that is left out must do the same as one of zeros.
        dtypes: gradients must have the dtype of their input.
        only_differentiable: of the outputs, check those that have a history, if any has; and take a function
            without any output to check as right.  This is what PyTorch does.
        seed: of random directions.
        causes: look for the op at fault where a gradient is wrong.
        curves: note the error over the step at the worst elements, for a picture.
    """

    eps: float | None = None
    atol: float | None = None
    rtol: float | None = None
    nondet_tol: float = 0.0
    reverse: bool = True
    forward: bool = False
    fast: bool = False
    batched: bool = False
    batched_forward: bool = False
    undefined: bool = True
    dtypes: bool = False
    only_differentiable: bool = False
    seed: int = 0
    causes: bool = True
    curves: bool = False

    @property
    def tolerances(self) -> Tolerances:
        return Tolerances(self.eps, self.atol, self.rtol, self.nondet_tol)


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
    if not written and not _note_history(subject, point, options, report):
        return
    check_function(subject, point, options.nondet_tol)
    ours = [m for m, on in ((REVERSE, options.reverse), (FORWARD, options.forward)) if on]
    modes = [subject.mode] if isinstance(subject, Written) else ours
    comparing = Comparing(subject, point, options.tolerances, report, options.fast, options.seed)
    comparing.watch(progress, len(modes))
    for mode in modes:
        jacobian = comparing.mode(mode)
        if mode != FORWARD:
            report.faults += differing(subject, point, jacobian, comparing.derivative(mode), options.nondet_tol)
            report.faults += mistyped(subject, point, jacobian) if options.dtypes else []
        if mode == REVERSE:
            _check_adjoints(subject, point, options, report)
        if mode == FORWARD:
            _check_tangents(subject, point, options, report)
    if options.curves:
        report.curves = comparing.curves(report.comparisons)
    if report.wrong and options.causes and not written:
        report.faults += lost(report.detached, report)
        report.suspects, report.lines = find_suspects(*comparing.wide, modes)


def _note_history(subject: Subject, point: list[Array], options: Options, report: Report) -> bool:
    """Find out which outputs are to be checked; false if there are none."""
    report.detached = without_history(subject, point)
    names = [axis.name for axis in subject.output_axes]
    if options.only_differentiable and len(report.detached) < len(names):
        subject.kept = set(names) - set(report.detached)
        subject.axes, report.detached = None, []
        subject.flat(point)
    return bool(names)


def _check_adjoints(subject: Subject, point: list[Array], options: Options, report: Report) -> None:
    report.faults += not_multiplied(subject, point)
    if options.undefined:
        report.faults += undefined_adjoints(subject, point, hooks=options.only_differentiable)
    if options.batched:
        report.faults += batched_adjoints(subject, point, np.random.default_rng(options.seed))


def _check_tangents(subject: Subject, point: list[Array], options: Options, report: Report) -> None:
    from .tangent_checks import batched_tangents, undefined_tangents  # forward mode is opened when it is asked for

    rng = np.random.default_rng(options.seed)
    if options.undefined:
        report.faults += undefined_tangents(subject, point, rng)
    if options.batched_forward:
        report.faults += batched_tangents(subject, point, rng)
