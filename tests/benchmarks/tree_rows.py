"""What is timed of a tree beside another tree, and the process that times it: a script, started by `against`.

It imports nothing but NumPy and the tree's own `tape`, so that it runs with any tree.  On its input come names of rows;
it answers each with the seconds of its own processor that the row takes at best, or with why it cannot be run.
"""

from __future__ import annotations

import gc
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import tape

BATCH = 1e-3
"""Seconds that the calls between two looks at the clock take, or more."""

MOST = 4096
"""The calls between two looks, at most."""

Row = Callable[[], Callable[[], Any]]
"""Makes what is timed."""

ROWS: dict[str, Row] = {}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.5, 1.5, shape)


# Operations one by one, forward and backward.


def eager(name: str, op: Callable[[Any], Any], *shape: int) -> None:
    """A row about a hundred of the same operation, summed up."""

    def make() -> Callable[[], Any]:
        x = tape.tensor(draw(*shape), requires_grad=True)

        def once() -> None:
            total: Any = 0.0
            for _ in range(100):
                total = total + op(x)
            (total.sum() if total.ndim else total).backward()
            x.grad = None

        return once

    ROWS[f"eager {name}"] = make


def written(x: Any) -> Any:
    """A copy with one of its elements written."""
    y = x * 1.0
    y[1] = x[0]
    return y


for _shape in ((), (4,), (100,)):
    eager(f"x*x + x {_shape}", lambda x: x * x + x, *_shape)
for _name, _op, _shape in (
    ("x**2", lambda x: x**2, (4,)), ("x**0.5", lambda x: x**0.5, ()), ("x[i]", lambda x: x[2], (4,)),
    ("x[1:3]", lambda x: x[1:3], (4,)), ("x[[0, 2]]", lambda x: x[[0, 2]], (4,)), ("x @ x", lambda x: x @ x, (4, 4)),
    ("x.sum(0)", lambda x: x.sum(0), (4, 4)), ("x.mean()", lambda x: x.mean(), (4,)), ("x.T", lambda x: x.T, (4, 4)),
    ("reshape", lambda x: x.reshape(16), (4, 4)), ("np.sin", np.sin, (4,)), ("exp", lambda x: tape.exp(x), (4,)),
    ("np.where", lambda x: np.where(x > 1, x, 2 * x), (4,)), ("stack", lambda x: tape.stack([x, x]), (4,)),
    ("np.concatenate", lambda x: np.concatenate([x, x]), (4,)), ("x[1] = …", written, (4,)),
):  # fmt: skip
    eager(_name, _op, *_shape)


def backward() -> Callable[[], Any]:
    x = tape.tensor(2.0, requires_grad=True)

    def once() -> None:
        (x * x).backward()
        x.grad = None

    return once


ROWS["backward of one record"] = backward


# Functions of functions.


def loss(x: Any) -> Any:
    return (np.sin(x) * x + np.exp(x)).sum()


def values(x: Any) -> Any:
    return np.sin(x) * x + np.exp(-x)


def numbers(steps: int) -> Callable[..., Any]:
    """A function of two numbers: three operations a step."""

    def function(x: Any, y: Any) -> Any:
        z = x
        for _ in range(steps):
            z = (z * x + y) * 0.5
        return z

    return function


def indexed(x: Any) -> Any:
    """A loop over elements."""
    total = 0.0
    for i in range(len(x)):
        total = total + x[i] * x[i]
    return total


def differences(x: Any) -> Any:
    d = x[1:] - x[:-1]
    return (d * d).sum()


def taking(name: str, function: Callable[..., Any], *point: Any) -> None:
    """Rows about something that is called with tensors, and with arrays; of these only where the tree takes them."""
    tensors = [tape.tensor(x) for x in point]
    ROWS[f"{name} [tensors]"] = lambda: lambda: function(*tensors)
    ROWS[f"{name} [arrays]"] = lambda: lambda: function(*point)


taking("grad", lambda x: tape.func.grad(loss)(x), draw(4))
taking("hessian", lambda x: tape.func.hessian(loss)(x), draw(4))
taking("jacrev", lambda x: tape.func.jacrev(values)(x), draw(4))
taking("jvp", lambda x: tape.func.jvp(values, (x,), (x,)), draw(4))
taking("vmap of grad", lambda x: tape.func.vmap(tape.func.grad(loss))(x), draw(10, 4))
taking("functional.jacobian", lambda x: tape.autograd.functional.jacobian(values, x), draw(4))
taking("functional.hessian", lambda x: tape.autograd.functional.hessian(loss, x), draw(4))
taking("record 600 numbers", lambda x, y: tape.record(numbers(200), x, y), 0.3, 0.7)
taking("record values", lambda x: tape.record(values, x), draw(10))


# Compiled functions: the first call, and one of many.


def compiled(name: str, function: Callable[..., Any], *point: Any) -> None:
    """Rows about first and later calls, with tensors and with arrays."""
    taking(f"first call, {name}", lambda *x: tape.compile(function, threads=1)(*x), *point)
    for kind in ("tensors", "arrays"):

        def make(kind: str = kind) -> Callable[[], Any]:
            call = tape.compile(function, threads=1)
            given = [tape.tensor(x) for x in point] if kind == "tensors" else point
            for _ in range(500):
                call(*given)
            return lambda: call(*given)

        ROWS[f"later call, {name} [{kind}]"] = make


compiled("66 numbers", tape.func.grad_and_value(numbers(22), argnums=(0, 1)), 0.3, 0.7)
compiled("3000 numbers", tape.func.grad_and_value(numbers(1000), argnums=(0, 1)), 0.3, 0.7)
compiled("values", values, draw(10))
compiled("gradient", tape.func.grad_and_value(loss), draw(1000))
compiled("Hessian", tape.func.hessian(loss), draw(10))
compiled("slices", tape.func.grad(differences), draw(1000))
compiled("elements", tape.func.grad(indexed), draw(1000))


# The process.


def batch(once: Callable[[], Any], count: int) -> float:
    """The seconds that so many calls take together."""
    begun = process_time()
    for _ in range(count):
        once()
    return process_time() - begun


def best(once: Callable[[], Any], seconds: float) -> float:
    """The seconds that one call takes at best, of as many as take that long."""
    count, taken = 1, batch(once, 1)
    while taken < BATCH and count < MOST:  # not told by the first call, which finds the caches of the processor cold
        count = min(MOST, 2 * count)
        taken = batch(once, count)
    found, stop = float("inf"), perf_counter() + seconds
    while found == float("inf") or perf_counter() < stop:
        taken = batch(once, count)
        found = min(found, taken / count) if taken > 0.0 else found  # the clock of a process does not always go on
    return found


def serve(seconds: float) -> None:
    """Answer row after row; one that is asked for again is not made again."""
    name, once = "", None
    for line in sys.stdin:
        try:
            if line.strip() != name or once is None:
                name = line.strip()
                once = ROWS[name]()
                for _ in range(3):
                    once()
            gc.collect()
            gc.disable()
            answer: Any = best(once, seconds)
        except Exception as error:
            once, answer = None, f"{type(error).__name__}: {error}".partition("\n")[0]
        gc.enable()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    tree, seconds = sys.argv[1:]
    assert Path(tape.__file__).is_relative_to(tree), f"{tape.__file__} is not of {tree}"
    warnings.simplefilter("ignore")
    serve(float(seconds))
