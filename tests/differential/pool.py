"""The ops of the registry as calls in PyTorch's words, found by trying.

An elementwise op is called by its name.  Another op is called as one of its own `cases` calls it, with each
parameter by the first of its names that PyTorch takes; a call joins the pool if PyTorch's result is ours.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch

import tape
from ops import REGISTRY, Op
from ops.core.domain import Interval
from tape.recording.functions import INTERNAL, SPELLINGS

CHAOTIC = frozenset({"eigh", "svd", "qr", "cholesky", "inv", "solve", "pinv", "det", "slogdet", "matrix_power", "kron"})
"""Without a stable answer at the matrices that a program comes by."""

OTHERWISE = frozenset({"empty_like", "rint", "chain_mul", "sgn", "clamp_to_arrays", "fmax_of_arrays", "fmin_of_arrays",
                       "general_power", "multiple", "power_of_number"})  # fmt: skip
"""Without an answer that could be compared, or without PyTorch's name for it; the gradient of sgn, 0, has a history."""


@dataclass(frozen=True)
class Elementwise:
    """An op on operands that broadcast, each within its interval.

    It `keeps_more` if our rule reads the result and PyTorch's does not: then a change of the result in place is
    refused here alone, and gradients come by the result that do not there.
    """

    name: str
    intervals: tuple[Interval, ...]
    in_place: bool
    keeps_more: bool


@dataclass(frozen=True)
class Call:
    """An op on operands of given shapes; `template` has a place for each.

    It `chooses` if one of its results is a place, of which ties leave more than one, or where it turns
    on whether numbers are equal.  It is given `copies` if PyTorch computes it, and its gradient, from
    copies of its operands, which may therefore be changed, and ours may not; or if it looks at memory, where ours is
    one more view of the base.
    """

    name: str
    template: str
    shapes: tuple[tuple[int, ...], ...]
    outputs: int
    chooses: bool
    copies: bool


@cache
def elementwise() -> tuple[Elementwise, ...]:
    found = []
    for op in candidates():
        intervals = op.domain if op.kind == "elementwise" and op.domain else None
        if (
            intervals
            and all(isinstance(i, Interval) for i in intervals)
            and len(intervals) <= 2
            and answers(op, intervals)
        ):
            in_place = hasattr(tape.Tensor, f"{op.name}_") and changes(op, intervals)
            found.append(Elementwise(op.name, tuple(intervals), in_place, keeps_more(op, intervals)))
    return tuple(found)


@cache
def calls() -> tuple[Call, ...]:
    found = []
    for op in candidates():
        if op.kind != "elementwise" and op.cases is not None:
            for operands, params in op.cases(np.random.default_rng(0)):
                call = spelled(op, operands, params)
                if call is not None:
                    found.append(call)
    return tuple(dict.fromkeys(found))


def candidates() -> Iterator[Op]:
    """Ops that both libraries have under the same name."""
    for op in REGISTRY.values():
        if op.name not in INTERNAL | CHAOTIC | OTHERWISE and callable(getattr(torch, op.name, None)):
            yield op


def answers(op: Op, intervals: Any) -> bool:
    """Whether PyTorch's function of that name is this op."""
    operands = [np.asarray(i.fit(np.linspace(0.1, 0.9, 5))) for i in intervals]
    return same(lambda: getattr(torch, op.name)(*map(torch.tensor, operands)), op(*operands))


def changes(op: Op, intervals: Any) -> bool:
    """Whether PyTorch has the op in place, with a gradient."""
    x, *others = (torch.tensor(np.asarray(i.fit(np.linspace(0.1, 0.9, 5))), requires_grad=True) for i in intervals)
    try:
        getattr(x.clone(), f"{op.name}_")(*others).sum().backward()
    except (AttributeError, NotImplementedError):
        return False
    return True


def keeps_more(op: Op, intervals: Any) -> bool:
    """Whether our rule reads the result where PyTorch's has not saved it."""
    if not op.differentiable:
        return False
    operands = [torch.tensor(np.asarray(i.fit(np.linspace(0.1, 0.9, 5))), requires_grad=True) for i in intervals]
    node = getattr(torch, op.name)(*operands).grad_fn
    return "z" in op.needs(range(op.arity)) and not hasattr(node, "_saved_result")


def spelled(op: Op, operands: Any, params: dict[str, Any]) -> Call | None:
    """A case of an op in PyTorch's words, or None where it has none for it."""
    expected = op(*operands, **params)
    if any(np.asarray(part).dtype.kind != "f" for part in parts(expected)[:1]):
        return None
    shapes = tuple(np.shape(x) for x in operands if is_float(x))
    if not shapes or (op.name == "prod" and not shapes[0]):
        return None  # PyTorch knows that the product of one number is linear
    if not all(plain(v) for v in params.values()):
        return None
    given = {k: v for k, v in params.items() if v != op.params.get(k)}
    words = [[k, *(word for word, known in SPELLINGS.items() if k in known)] for k in given]
    places = ", ".join("{}" if is_float(x) else literal(x) for x in operands)
    places = f"[{places}]" if op.variadic else places
    for chosen in itertools.product(*words):
        named = "".join(f", {word}={value!r}" for word, value in zip(chosen, given.values()))
        template = f"torch.{op.name}({places}{named})"
        names = {"torch": torch, **{f"x{i}": torch.tensor(x) for i, x in enumerate(filter(is_float, operands))}}
        text = template.format(*(f"x{i}" for i in range(len(shapes))))
        if same(lambda text=text, names=names: eval(text, names), expected):
            return Call(
                op.name,
                template,
                shapes,
                len(parts(expected)),
                op.name in ("std", "var") or any(np.asarray(p).dtype.kind == "i" for p in parts(expected)),
                op.name == "as_strided" or (op.name == "matmul" and max(map(len, shapes)) > 2),
            )
    return None


def same(theirs: Any, expected: Any) -> bool:
    """Whether a call of PyTorch's gives what ours gave."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = parts(theirs())
    except (TypeError, RuntimeError, IndexError, ValueError):
        return False
    wanted = parts(expected)
    return len(found) == len(wanted) and all(
        isinstance(a, torch.Tensor)
        and tuple(a.shape) == np.shape(b)
        and np.allclose(a.numpy(), b, rtol=1e-6, atol=1e-9, equal_nan=True)
        for a, b in zip(found, wanted)
    )


def parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def is_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


def plain(value: Any) -> bool:
    """Whether a parameter can be written down."""
    return (
        value is None
        or isinstance(value, (bool, int, float, str))
        or (isinstance(value, tuple) and all(map(plain, value)))
    )


def literal(x: Any) -> str:
    return f"torch.tensor({x.tolist()!r})" if isinstance(x, np.ndarray) else repr(x)
