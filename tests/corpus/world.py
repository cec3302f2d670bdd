"""Where a program runs: its module, its inputs, and what is seen of a call."""

from __future__ import annotations

import linecache
import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import tape

from .tree import Program

SURROUNDINGS = """
import numpy as np
import tape
W = np.array([0.5, -1.5, 2.0])
T = tape.tensor([1.5, 0.25, -0.75], requires_grad=True)
C = 1.75
L = [0.3]
def helper(t):
    return t * t if t.sum() > C else t - 1
inner = tape.compile(lambda t: t.sin() * 2 if t.sum() > 0 else t * 3)
"""

STALE = ("was changed in place after it was recorded", "created in no_grad mode and is being modified inplace")


@dataclass(frozen=True)
class Outcome:
    """What a call gave: numbers by their place in the result and gradients, or the exception that it raised.

    `stale` says that it was a value, needed for a gradient, that had been changed in place; or a view made under
    no_grad that was changed outside of it, which is refused only where a gradient flows.
    """

    error: str | None
    values: tuple[np.ndarray, ...] = ()
    stale: bool = False

    def __str__(self) -> str:
        return self.error or ", ".join(np.array2string(v, precision=8) for v in self.values)


def world(program: Program) -> dict[str, Any]:
    """The module of a program."""
    names: dict[str, Any] = {"__name__": f"program_{program.seed}"}
    for part, text in (("around", SURROUNDINGS), ("function", program.source)):
        file = f"<program {program.seed}, {part}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        exec(compile(text, file, "exec"), names)
    names["fast"] = tape.compile(names["f"], tier=program.tier, threads=program.threads, most_paths=8)
    return names


def inputs(program: Program, number: int) -> tuple[Any, ...]:
    """Arguments number so many; some are like others, some take other paths, some hold zeros and ties."""
    rng = np.random.default_rng((program.seed, number))
    scale = (1.0, 0.3, 3.0, 1.0, 0.0)[number % 5]
    scale *= 3 if program.dtype == "int64" else 1

    def make(*shape: int) -> Any:
        return np.asarray(rng.standard_normal(shape) * scale).astype(program.dtype)[()]

    x = make(3)
    if number % 4 == 3:
        x[1] = x[2]
    return x, make(3, 3), float(rng.standard_normal()), {"v": make(3), "s": [make()]}


def call(function: Any, program: Program, arguments: tuple[Any, ...], eager: bool, held: tuple[Any, ...]) -> Outcome:
    """Call with tensors: the numbers of the result and, where the program is about them, their gradients.

    `held` are the tensors from outside, whose gradients are looked at too.
    """
    given = tape.base.tree.transform(given_as, arguments)
    leaves = [x for x in tape.base.tree.leaves_of(given) if isinstance(x, tape.Tensor) and x.requires_grad]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = tape.base.tree.leaves_of(function(*given))
            values = [numbers(z) for z in results]
            if program.tensors:
                values += gradients(results, [*leaves, *held])
        except Exception as error:
            return Outcome(type(error).__name__, stale=any(text in str(error) for text in STALE))
    return Outcome(None, tuple(values))


def given_as(x: Any) -> Any:
    if not isinstance(x, (np.ndarray, np.generic)):
        return x
    return tape.tensor(x, requires_grad=x.dtype.kind == "f")


def numbers(x: Any) -> np.ndarray:
    return np.array(x.detach().numpy() if isinstance(x, tape.Tensor) else x)


def gradients(results: list[Any], inputs: list[Any]) -> list[np.ndarray]:
    """Gradients of a weighted sum of the results."""
    total: Any = 0.0
    for i, z in enumerate(results):
        if isinstance(z, tape.Tensor):
            total = total + (z * math.cos(i + 1)).sum()
    if not isinstance(total, tape.Tensor) or not total.requires_grad:
        return [np.zeros(x.shape, x.dtype) for x in inputs]
    found = tape.autograd.grad(total, inputs, allow_unused=True)
    return [np.zeros(x.shape, x.dtype) if g is None else numbers(g) for g, x in zip(found, inputs)]
