"""Gradient checks as assertions, for tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..numpy.inside import counts_as_arrays
from .checking import check
from .derivatives.report import Report
from .derivatives.subject import title_of


class Gradcheck:
    """Asserts that gradients are right.

    Args:
        options: of `tape.gradcheck.check`, where a call does not say otherwise.

    >>> import numpy as np
    >>> Gradcheck({})(np.tanh, np.array([0.5, 1.0])).ok
    True
    """

    def __init__(self, options: Mapping[str, Any]):
        self.options = dict(options)

    def __call__(self, func: Callable[..., Any], *inputs: Any, **options: Any) -> Report:
        """Check the gradient of a function; gives the report.

        Args:
            func: called with the inputs in order.
            inputs: arrays and numbers, which are handed on as arrays; or tensors.
            options: of `tape.gradcheck.check`.

        Raises:
            AssertionError: if a gradient is wrong, or cannot be told: with the op at fault and the line.
        """
        __tracebackhide__ = True
        report = check(func, inputs, **self._how(func, inputs, options))
        if not report.ok:
            raise AssertionError(f"the gradient of {title_of(func)} is not right\n{report}")
        return report

    def search(self, func: Callable[..., Any], *inputs: Any, **options: Any) -> Any:
        """Look for inputs at which the gradient is wrong; see `tape.gradcheck.search`.

        Raises:
            AssertionError: if there are some: with the smallest that were found.
        """
        __tracebackhide__ = True
        from .searching import search  # Hypothesis is opened when it is asked for

        found = search(func, inputs, **self._how(func, inputs, options))
        if not found.ok:
            raise AssertionError(f"the gradient of {title_of(func)} is not right everywhere: {found}")
        return found

    def _how(self, func: Callable[..., Any], inputs: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
        """All options of a call."""
        how = {"names": _names(func, len(inputs)), **self.options, **options}
        if how.get("gradient") is None and how.get("library") is None:
            how.setdefault("arrays", counts_as_arrays(inputs))
        return how


def _names(func: Callable[..., Any], count: int) -> list[str] | None:
    """What the function calls its first arguments; None where that cannot be told."""
    try:
        known = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):
        return None
    named = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return named[:count] if len(named) >= count else None
