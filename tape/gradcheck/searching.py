"""Looking for inputs at which a gradient is wrong, and for the smallest of them.

Hypothesis draws the inputs, around those that were given and wherever gradients are known to go wrong, and, once one is
found, makes it smaller for as long as the gradient stays wrong.  A kink is not an error (`tape.gradcheck.trial`), and
nothing is asked where the function is not finite.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..testing.strategies import arrays, numbers
from .checking import Asked, subject_of
from .derivatives.report import Report
from .derivatives.sides import Sides
from .derivatives.subject import Array, is_inexact, plain
from .reproduce import text_of_function, written
from .trial import TimeIsOver, Trial

SIMPLE = 0.0, 1.0, -1.0, 2.0, 3.0
ELEMENTS = 64
"""Arrays with more elements are simplified as a whole only."""


def smaller(point: Sequence[Array], fails: Callable[[list[Array]], bool]) -> list[Array]:
    """The point with as many elements as can be replaced by simple numbers, so that it still fails.

    >>> [x] = smaller([np.array([7.3, 8.1])], lambda point: point[0][1] > 1.5)
    >>> x
    array([0., 2.])
    """
    found = [np.array(x) for x in point]
    for k, x in enumerate(found):
        for value in SIMPLE:
            if np.any(x != value) and fails(_put_in(found, k, np.full_like(x, value))):
                found[k] = np.full_like(x, value)
                break
    for k, x in enumerate(found):
        for e in range(x.size if x.size <= ELEMENTS else 0):
            _simplify(found, k, e, fails)
    return found


def _simplify(found: list[Array], k: int, e: int, fails: Callable[[list[Array]], bool]) -> None:
    """One element replaced by the first of the simple numbers, or of itself in fewer digits, that still fails."""
    here = found[k].flat[e]
    shorter = [type(here)(f"{here:.{digits}g}") for digits in (1, 2, 3)] if np.isrealobj(here) else []
    for value in (*SIMPLE, *shorter):
        if value == here:
            return
        changed = np.array(found[k])
        changed.flat[e] = value
        if fails(_put_in(found, k, changed)):
            found[k] = changed
            return


def _put_in(point: Sequence[Array], k: int, x: Array) -> list[Array]:
    return [x if j == k else y for j, y in enumerate(point)]


EXAMPLES, SECONDS = 300, 60.0
LAST = 4
"""nan and infinities are tried last, in one of so many inputs."""


class NeedsHypothesis(ImportError):
    """A search was asked for, and Hypothesis is not installed."""


@dataclass
class Failure:
    """Inputs at which the gradient is wrong.

    Attributes:
        inputs: all of the function's, by name.
        report: what is wrong there.
        error: what computing the gradient raised, if it did not get as far as a report.
        sides: the slopes on both sides of the worst element, where they can be taken.
    """

    inputs: dict[str, Any]
    report: Report
    error: str | None = None
    sides: Sides | None = None

    @property
    def why(self) -> str:
        """What is wrong, in sentences."""
        return "\n".join([self.error or str(self.report), *([str(self.sides)] if self.sides else [])])

    def test(self, func: Callable[..., Any], wrt: Sequence[int], **options: Any) -> str:
        """The text of a test that fails here, for a function that can be imported; `options` are those of `check`."""
        return text_of_function(func, self.inputs, wrt, options)

    def __str__(self) -> str:
        return "\n".join([*(f"{name} = {written(value)}" for name, value in self.inputs.items()), self.why])


@dataclass
class Search:
    """What a search found.

    Attributes:
        failure: the smallest inputs that were found at which the gradient is wrong, or None.
        tried: how many inputs were tried, by what came of them: ``right``; ``wrong``; ``kink``, where any of the slopes
            around is right; ``no gradient to check``, where the function raised or was not finite; ``refused``, where
            the function could be computed and its gradient raised.
        refusal: what was raised when first refused.
        shrunk: whether `failure` was made as small as it gets, within the time.
    """

    failure: Failure | None = None
    tried: Counter[str] = field(default_factory=Counter)
    refusal: str | None = None
    shrunk: bool = True

    @property
    def ok(self) -> bool:
        return self.failure is None

    def as_dict(self) -> dict[str, Any]:
        """What was found as plain dicts, lists, strings and numbers."""
        failure = self.failure
        return {
            "tried": dict(self.tried),
            "refusal": self.refusal,
            "shrunk": self.shrunk,
            "inputs": failure and {name: written(value) for name, value in failure.inputs.items()},
            "why": failure and failure.why,
        }

    def __str__(self) -> str:
        counted = ", ".join(f"{n} {what}" for what, n in self.tried.most_common())
        if self.failure is None:
            return f"no wrong gradient found; tried {self.tried.total()} inputs: {counted or 'none'}"
        return f"wrong at\n{self.failure}"


def search(
    func: Callable[..., Any],
    inputs: Any,
    *,
    wrt: Sequence[int | str] | None = None,
    names: Sequence[str] | None = None,
    gradient: Callable[..., Any] | bool | None = None,
    library: str | None = None,
    arrays: bool = False,
    vary: bool = False,
    nonfinite: bool = True,
    examples: int = EXAMPLES,
    seconds: float = SECONDS,
    seed: int = 0,
    progress: Callable[[int, int], object] | None = None,
    **options: Any,
) -> Search:
    """Look for inputs at which the gradient of a function is wrong, and make them as small as they get.

    Args:
        func, inputs, wrt, names, gradient, library, arrays: as for `check`.  The inputs are where the search begins;
            those that are not checked stay as they are.
        vary: draw the lengths of axes too; such as are equal stay equal.
        nonfinite: try nan and infinities too.
        examples: how many inputs to try.
        seconds: how long to try.
        seed: of the inputs.
        progress: called with the number of inputs tried and of all.
        options: fields of `tape.gradcheck.checking.Options`.

    Raises:
        NeedsHypothesis: if Hypothesis is not installed.
        ValueError: if there is nothing to check.

    >>> import tape
    >>> search(lambda x: abs(x) * x, 0.7).ok
    True
    >>> found = search(lambda x: tape.where(x > 2, x.detach(), x), 1.0)
    >>> found.failure.inputs
    {'input 0': np.float64(3.0)}
    """
    if find_spec("hypothesis") is None:
        raise NeedsHypothesis("a search needs Hypothesis, which is not installed: pip install 'wengert[search]'")
    subject = subject_of(func, inputs, Asked(wrt, names, gradient, library, arrays))
    how = {"gradient": gradient, "library": library, "arrays": arrays, "seed": seed, **options}
    trial = Trial(func, subject, how, examples, seconds, progress)
    fixed = [np.asarray(plain(x)) for i, x in enumerate(subject.inputs) if i not in subject.wrt and is_inexact(x)]
    shrunk = _draw(trial, subject.point(), fixed, vary, nonfinite, seed)
    found = Search(tried=trial.tried, refusal=trial.refusal, shrunk=shrunk)
    if trial.failing is not None:
        values, report, error, sides = trial.examined(trial.failing)
        found.failure = Failure(dict(zip(subject.names, values)), report, error, sides)
    return found


def _draw(trial: Trial, given: list[Array], fixed: list[Array], vary: bool, nonfinite: bool, seed: int) -> bool:
    """Try the given inputs, then drawn ones until one fails, then smaller ones; false if the time ended that."""
    from hypothesis import HealthCheck, Phase, find, settings
    from hypothesis.errors import NoSuchExample

    from .searching import points

    first = trial.examples - (trial.examples // LAST if nonfinite else 0)
    stages = {False: first, True: trial.examples - first}
    try:
        trial(given)
        for beyond, count in stages.items():
            if trial.failing is None and count:
                calm = settings(
                    max_examples=count, database=None, deadline=None, phases=[Phase.generate, Phase.shrink],
                    suppress_health_check=list(HealthCheck), derandomize=False,
                )  # fmt: skip
                with suppress(NoSuchExample):
                    find(points(given, fixed, vary=vary, nonfinite=beyond), trial, settings=calm,
                         random=random.Random(seed))  # fmt: skip
        if trial.failing is not None:
            smaller(trial.failing, trial)
    except TimeIsOver:
        return trial.failing is None
    return True


REPLACED = 4
"""So many elements of a given input are replaced at most."""

LONGEST = 4
BEYOND = np.nan, np.inf, -np.inf
SMALL, LARGE, POWER = 1e-4, 1e4, 4
"""Sizes of numbers, and by which power of ten a whole input is scaled.  Errors of rounding grow with their ratio."""


def points(
    given: Sequence[Array], fixed: Iterable[Array], *, vary: bool, nonfinite: bool
) -> st.SearchStrategy[list[Array]]:
    """Values for the checked inputs.

    Args:
        given: their values where the search begins, whose domain is taken to be the function's.
        fixed: the inputs that stay as they are.
        vary: draw the lengths of axes too.  Those that are equal stay so, and those of a fixed input stay.
        nonfinite: with nan or infinities in each.
    """
    if not vary:
        return _points(given, nonfinite)
    held = {n for x in fixed for n in x.shape}
    lengths = sorted({n for x in given for n in x.shape} - held)
    free = st.fixed_dictionaries({n: st.integers(1, max(n, LONGEST)) for n in lengths})
    return free.flatmap(lambda to: _points([_resized(x, to) for x in given], nonfinite))


def _points(given: Sequence[Array], nonfinite: bool) -> st.SearchStrategy[list[Array]]:
    return st.tuples(*(_near_or_anywhere(x, nonfinite) for x in given)).map(list)


def _near_or_anywhere(x: Array, nonfinite: bool) -> st.SearchStrategy[Array]:
    """An input anywhere, or the one that was given, with some elements replaced, or of another size."""
    anywhere = arrays(x.dtype, x.shape, small=SMALL, large=LARGE)
    if not x.size:
        return anywhere
    places = st.integers(0, x.size - 1)
    replaced = st.dictionaries(places, numbers(SMALL, LARGE), max_size=REPLACED)
    tied = st.lists(places, min_size=2, max_size=3)
    scaled = st.integers(-POWER, POWER).map(lambda exponent: _cast(x * 10.0**exponent, x.dtype))
    drawn = st.one_of(anywhere, replaced.map(partial(_with, x)), tied.map(partial(_tie, x)), scaled)
    if not nonfinite:
        return drawn
    return st.builds(_with, drawn, st.dictionaries(places, st.sampled_from(BEYOND), min_size=1, max_size=2))


def _with(x: Array, elements: Mapping[int, Any]) -> Array:
    """An array with some elements replaced."""
    made = np.array(x)
    for i, value in elements.items():
        made.flat[i] = value
    return made


def _tie(x: Array, places: Sequence[int]) -> Array:
    """An array in which some elements are equal."""
    return _with(x, dict.fromkeys(places, x.flat[places[0]]) if places else {})


def _resized(x: Array, lengths: Mapping[int, int]) -> Array:
    """An array with other lengths of its axes, filled with its elements over and over."""
    return np.resize(x, [lengths.get(n, n) for n in x.shape])


def _cast(x: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype=dtype)
