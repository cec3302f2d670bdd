"""Examples of ops for `help`, made from the inputs that each op declares for its tests, and run when they are shown."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from inspect import signature
from itertools import islice
from typing import Any

import numpy as np

from ops import Op

from ..base.rooms import opened
from ..base.signatures import words_of
from ..base.tensor import Tensor
from ..recording.functions import SPELLINGS

LONGEST, MOST = 112, 6
"""Letters of a line, and lines of a result, that an example may have."""
VECTOR, MATRIX = [1.0, 2.0, 4.0], [[2.0, 1.0], [1.0, 3.0]]
PLAUSIBLE: Any = (
    (VECTOR,), (MATRIX,), (VECTOR, [0.5, 1.5, 1.0]), (MATRIX, [[1.0, 0.0], [0.5, 1.0]]), (VECTOR, 2), (MATRIX, 2),
    ([VECTOR, VECTOR],), (MATRIX, 0, 1), (VECTOR, [2.0, 1.0, 0.5], [1.0, 1.0, 2.0]), ([True, False, True], VECTOR),
    (MATRIX, 0.5), (1.0, 4.0, 3), ([6, 3],), ([6, 3], [5, 1]),
)  # fmt: skip
"""Arguments for functions that declare no inputs: the first that they take are shown."""


def cases(op: Op) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Operands and parameters from the declaration, rounded so that they can be read."""
    if op.domain:
        at = (np.array([0.3, 0.6, 0.8]), np.array([0.7, 0.55, 0.2]), np.array([0.6, 0.4, 0.9]))
        yield tuple([_rounded(interval.fit(x)) for interval, x in zip(op.domain, at)]), {}
    elif op.cases is not None:
        yield from ((tuple(map(_rounded, xs)), params) for xs, params in op.cases(np.random.default_rng(0)))
    else:
        yield from ((xs, {}) for xs in PLAUSIBLE)


def shapes(op: Op) -> list[str]:
    """Shapes of operands and results in the first of the declared inputs."""
    if op.cases is None:
        return []
    return list(islice((s for xs, params in op.cases(np.random.default_rng(0)) if (s := _shape(op, xs, params))), 3))


def _shape(op: Op, xs: Any, params: dict[str, Any]) -> str:
    try:
        with np.errstate(all="ignore"):
            z = op.forward(*xs, **params)
        given = [f"{k}={v!r}" for k, v in params.items() if k != "index" and len(repr(v)) < 20]
    except Exception:  # parameters that only the list's own machinery passes
        return ""
    results = z if isinstance(z, tuple) else (z,)
    return f"{', '.join([*(str(np.shape(x)) for x in xs), *given])} → {', '.join(str(np.shape(r)) for r in results)}"


def _rounded(x: Any) -> Any:
    x = np.asarray(x)
    return np.round(x, 1 if x.ndim > 1 else 2) + 0.0 if x.dtype.kind in "fc" else x


def example(op: Op, name: str, function: Callable[..., Any]) -> str:
    """A few lines that doctest runs: a call, its result and a gradient; an empty string where no input can be shown."""
    taken = signature(function).parameters
    words = {own: word for own, word in words_of(op, SPELLINGS).items() if word in taken}
    for operands, params in islice(cases(op), 20):
        try:
            with warnings.catch_warnings(), np.errstate(all="warn"):
                warnings.simplefilter("error")
                lines = list(_lines(op, name, operands, {words.get(n, n): v for n, v in params.items()}))
        except Exception:  # it does not take these
            continue
        if max(map(len, lines)) <= LONGEST:
            return "\n".join(lines)
    return ""


def _lines(op: Op, name: str, operands: Any, params: dict[str, Any]) -> Iterator[str]:
    tape = opened("tape")
    lists = op.variadic
    named = [f"x{i}" for i in range(len(operands))] if lists else ["x", "y", "w", "u"][: len(operands)]
    given: dict[str, Any] = {"tape": tape}
    yield ">>> import tape"
    called = []
    for letter, x in zip(named, operands):
        if op.domain is None and op.cases is None and not isinstance(x, list):
            called.append(repr(x))
            continue
        source = _source(np.asarray(x).tolist() if not isinstance(x, list) else x, op)
        given[letter] = eval(source, given)
        called.append(letter)
        yield f">>> {letter} = {source}"
    keywords = [f"{word}={_literal(v)}" for word, v in params.items()]
    arguments = [f"[{', '.join(called)}]"] if lists else called
    call = f"tape.{name}({', '.join([*arguments, *keywords])})"
    z = eval(call, given)
    shown = repr(z).splitlines()
    if len(shown) > MOST or "" in shown or "array" in shown[0][:6]:
        raise ValueError("it cannot be shown in a few lines")
    yield f">>> {call}"
    yield from shown
    letter = next((n for n in named if getattr(given.get(n), "requires_grad", False)), named[0])
    x = given.get(letter)
    if isinstance(z, Tensor) and isinstance(x, Tensor) and z.requires_grad and z.dtype.kind == "f":
        eval(call, given).sum().backward()
        if x.grad is not None:
            yield f">>> {call}.sum().backward(); {letter}.grad"
            yield from repr(x.grad).splitlines()


def _source(values: Any, op: Op) -> str:
    """A tensor of some numbers, in the words of Python."""
    kind = np.asarray(values).dtype.kind
    return f"tape.tensor({_literal(values)}{', requires_grad=True' if kind in 'fc' and op.name else ''})"


def _literal(value: Any) -> str:
    text = repr(value)
    if eval(text, {}) != value:
        raise ValueError("it cannot be written in a line")
    return text
