"""What tests of tensor code ask for: `assert_close`, and strategies for Hypothesis in `tape.testing.strategies`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.rooms import on_demand
from ..base.tensor import Tensor
from ..recording.creation import array_of

if TYPE_CHECKING:
    from . import strategies as strategies
else:
    __getattr__ = on_demand("tape.testing", {"strategies": "tape.testing.strategies"})

__all__ = ["assert_close"]

TOLERANCES = {2: (1e-3, 1e-5), 4: (1.3e-6, 1e-5), 8: (1e-7, 1e-7)}
"""(relative, absolute) tolerance by the bytes of a real number: PyTorch's."""


def assert_close(
    actual: Any, expected: Any, *, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False,
    check_dtype: bool = True, check_stride: bool = False, msg: Any = None,
) -> None:  # fmt: skip
    """Compare tensors, numbers, or sequences and mappings of them: |actual − expected| ≤ atol + rtol |expected|.

    Without tolerances they are those of the dtype; integers and truth values must be equal.

    Raises:
        AssertionError: where they differ in kind, length, shape, dtype, or by more than the tolerances.
        ValueError: if one tolerance is given without the other.

    >>> import tape
    >>> assert_close(tape.ones(2), tape.ones(2) + 1e-9)
    >>> assert_close([1], [2])
    Traceback (most recent call last):
    AssertionError: at [0]: 1 of 1 element differs, most of all index (): 1 and 2 are 1.0 apart (within 0.0 allowed)
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"rtol and atol are given together or not at all; got rtol={rtol}, atol={atol}")
    what = _difference(actual, expected, "", (rtol, atol, equal_nan, check_dtype, check_stride))
    if what:
        raise AssertionError(msg(what) if callable(msg) else msg or what)


def _difference(a: Any, b: Any, where: str, rules: tuple[Any, ...]) -> str | None:
    """The first difference between two structures, or None."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            return f"{_at(where)}the keys differ: {sorted(map(repr, a))} and {sorted(map(repr, b))}"
        pairs = [(a[k], b[k], f"{where}[{k!r}]") for k in a]
    elif _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            return f"{_at(where)}the lengths differ: {len(a)} and {len(b)}"
        pairs = [(x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b))]
    else:
        return _of_arrays(a, b, _at(where), *rules)
    return next(filter(None, (_difference(*pair, rules) for pair in pairs)), None)


def _of_arrays(
    a: Any, b: Any, at: str, rtol: Any, atol: Any, equal_nan: bool, dtypes: bool, strides: bool
) -> str | None:
    """How two tensors or numbers differ, or None."""
    if isinstance(a, Tensor) != isinstance(b, Tensor):
        return f"{at}a {type(a).__name__} and a {type(b).__name__} cannot be compared; make both tensors"
    x, y = array_of(a), array_of(b)
    if x.shape != y.shape:
        return f"{at}the shapes differ: {x.shape} and {y.shape}"
    if dtypes and isinstance(a, Tensor) and x.dtype != y.dtype:
        return f"{at}the dtypes differ: {x.dtype} and {y.dtype}; pass check_dtype=False to compare the numbers"
    if strides and x.strides != y.strides:
        return f"{at}the strides differ: {x.strides} and {y.strides}"
    if rtol is None:
        rtol, atol = max(tolerances(x.dtype), tolerances(y.dtype))
    close = np.isclose(x, y, rtol, atol, equal_nan)
    return None if close.all() else at + _counted(x, y, close, rtol, atol)


def _counted(x: np.ndarray, y: np.ndarray, close: np.ndarray, rtol: float, atol: float) -> str:
    """How many elements differ, and which one most."""
    apart = np.where(
        close, -1.0, np.nan_to_num(np.abs(np.subtract(x, y, dtype=np.result_type(x, y, float))), nan=np.inf)
    )
    worst = tuple(map(int, np.unravel_index(np.argmax(apart), x.shape)))
    count = int((~close).sum())
    return (
        f"{count} of {x.size} element{'s' * (x.size > 1)} differ{'s' * (count == 1)}, most of all index {worst}: "
        f"{x[worst]} and {y[worst]} are {apart[worst]} apart (within {atol + rtol * abs(y[worst])} allowed)"
    )


def tolerances(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The tolerances of a dtype."""
    if dtype.kind in "biu":
        return 0.0, 0.0
    return TOLERANCES[min(8, dtype.itemsize // (2 if dtype.kind == "c" else 1))]


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _at(where: str) -> str:
    return f"at {where}: " if where else ""
