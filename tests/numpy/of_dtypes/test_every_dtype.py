"""Every NumPy function that an op answers for, of numbers of other dtypes: compiled it gives what NumPy gives.

Each call is tried with two of the dtypes, the next one with the next two.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy_calls import CALLS
from outcomes import outcome, same

import tape
from ops import REGISTRY

DTYPES = "f2 i1 c8 f4 u1 c16 f8 ? i8".split()  # noqa: SIM905
WITH_FUNCTIONS = frozenset({"piecewise", "apply_along_axis"})


def mapped(x, f):
    """Arguments with another array in the place of each."""
    if isinstance(x, np.ndarray):
        return f(x)
    return type(x)([mapped(part, f) for part in x]) if isinstance(x, (tuple, list)) else x


def cast(x, dtype):
    """An array of floating point numbers in another dtype, in which whole numbers are some small ones."""
    kind = np.dtype(dtype).kind
    if x.dtype.kind not in "fc":
        return x
    x = x.real if kind != "c" else x
    x = np.nan_to_num(x * 3) if kind in "iu" else x > 0 if kind == "b" else x
    return (np.abs(x) if kind == "u" else x).astype(dtype)


def calls():
    for name, given in CALLS.items():
        for args, named in given:
            for function in REGISTRY[name].numpy:
                if name not in WITH_FUNCTIONS and not any(map(callable, args)):
                    yield function, args, named


@pytest.mark.parametrize("turn", range(2))
@pytest.mark.filterwarnings("ignore")
def test_numbers_of_every_dtype(turn):
    for k, (function, args, named) in enumerate(calls()):
        dtype = DTYPES[(2 * k + turn) % len(DTYPES)]
        given, xs = mapped(args, lambda x, dtype=dtype: cast(x, dtype)), []
        mapped(given, xs.append)

        def f(*xs, function=function, given=given, named=named):
            left = iter(xs)
            return function(*mapped(given, lambda x: next(left)), **named)

        if not xs:
            continue
        with np.errstate(all="ignore"):
            expected, fast = outcome(f, *xs), tape.compile(f)
            for _ in range(2):
                found = outcome(fast, *xs)
                assert same(found, expected), (function, dtype, args, named, found, expected)
