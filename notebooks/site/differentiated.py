"""Lists of the functions of NumPy and SciPy that are recorded and differentiated, read off the registry of ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ops import REGISTRY, Op
from ops.core.op import answers
from tape.numpy.array_writing import CHANGES
from tape.numpy.constructors import CONSTRUCTORS
from tape.numpy.namespace import Dispatched
from tape.numpy.of_scipy.scipy_functions import ROOMS
from tape.numpy.vectorised import CALLING
from tape.recording.functions import INTERNAL

from .names import markdown

NAMESPACES: dict[str, Any] = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}


def functions() -> Iterator[tuple[str, Any]]:
    """Every public function and ufunc of NumPy, under each of its names."""
    for room, module in NAMESPACES.items():
        for name in sorted(set(dir(module))):
            value = getattr(module, name, None)
            if not name.startswith("_") and isinstance(value, (np.ufunc, Dispatched)):
                yield f"{room}.{name}", value


def has_derivative(op: Op) -> bool:
    """Whether gradients pass: a composite is made of other ops, which say so themselves."""
    return op.kind == "composite" or op.differentiable


def doc(op: Op) -> str:
    """The first sentence of an op's doc."""
    return " ".join((op.__doc__ or "").split("\n\n")[0].split())


def of_numpy() -> str:
    by_op: dict[Op, list[str]] = {}
    for name, value in functions():
        if value in answers():
            by_op.setdefault(answers()[value], []).append(f"`{name}`")
    rows = [(", ".join(names), "yes" if has_derivative(op) else "no", doc(op)) for op, names in by_op.items()]
    return markdown(("functions", "derivative", "what they compute"), rows)


def constructors() -> str:
    """What makes arrays that take recorded values, what changes arrays, what calls a function of yours."""
    kinds = {
        "makes arrays that take recorded values": [f"numpy.{name}" for name in CONSTRUCTORS],
        "changes an array in place": [f"{f.__module__}.{f.__qualname__}" for f in CHANGES],
        "calls a function of yours": [f"numpy.{f.__name__}" for f in CALLING],
    }
    return markdown(("what", "functions"), [(what, ", ".join(f"`{n}`" for n in ns)) for what, ns in kinds.items()])


def of_scipy() -> str:
    ufuncs = {f"scipy.special.{name}": op for op in REGISTRY.values() for name in op.scipy}
    led = {f"{room}.{name}": None for room, named in ROOMS.items() for name in named}
    rows = [
        (f"`{name}`", doc(op) if op else "by the functions of NumPy and the ops that mean the same")
        for name, op in sorted({**led, **ufuncs}.items())
    ]
    return markdown(("function", "what it computes"), rows)


def unanswered() -> str:
    """The functions of NumPy that no op answers for, in one paragraph."""
    answering = {*answers(), *CHANGES, *CALLING, *(getattr(np, name, None) for name in CONSTRUCTORS)}
    return ", ".join(f"`{name}`" for name, value in functions() if value not in answering)


def all_ops() -> str:
    shown = [op for op in REGISTRY.values() if op.name not in INTERNAL]
    rows = [
        (f"`{op.name}`", op.kind, "yes" if has_derivative(op) else "no", "SIMD" if op.lane is not None else "", doc(op))
        for op in sorted(shown, key=lambda op: op.name)
    ]
    return markdown(("op", "kind", "derivative", "kernel", "what it computes"), rows)
