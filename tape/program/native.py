"""Programs within the user's own jitted code.

A program whose steps are all kernels needs no Python.  For such a program a small function in Numba's Python is
written, which checks the arguments, runs the program's plan (see `tape.program.plan`) and gives its results; it can be
called from any ``@numba.njit`` function, without the GIL.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..jit.regions import BROUGHT
from ..spec import Spec
from ..tree import Structure
from .plan import NotNative, Place, Plan
from .program import Program, shown
from .recording import Place as Output

_pinned: list[Any] = []
"""The plans and machine code whose addresses are part of somebody's jitted code: they must never go away."""


_lock = threading.RLock()


class NativeGuardMissed(RuntimeError):
    """A guard did not hold where a program was called from jitted code."""

    def __init__(self, program: int, index: int):
        super().__init__(program, index)
        self.program, self.index = program, index

    def __str__(self) -> str:
        guard = _pinned[self.program].program.guards[self.index]
        return (
            f"the recorded list holds only while {guard.what} gives {shown(guard.seen)} at {guard.location}.\n"
            "Choose with tape.where(), which is part of the list, or call tape.compile(f) from Python."
        )


def _source(plan: Plan, number: int, result: str) -> str:
    """The function: arguments a0, a1, …; results z0, z1, …; the block, and views of it by dtype."""
    arguments = [(i, spec) for i, spec in enumerate(plan.arguments) if spec.ndim]
    made = [(i, plan.spec(k)) for i, k in enumerate(plan.outputs)]
    dtypes = {plan.arguments[i].dtype for i in plan.numbers} | {spec.dtype for _, spec in made if not spec.ndim}
    first, names = BROUGHT + len(plan.arguments), ", ".join(f"a{i}" for i in range(len(plan.arguments)))

    def memory(spec: Spec, place: Place) -> str:
        return f"as_{spec.dtype}[{(plan.data + place.offset) // spec.dtype.itemsize}]"

    lines = []
    for i, spec in arguments:
        lines += [
            f"if a{i}.shape != {spec.shape}:",
            f"    raise ValueError('argument {i} of the program must have shape {spec.shape}')",
            f"a{i} = np.ascontiguousarray(a{i})",
        ]
    lines.append(f"block = np.empty({plan.words}, np.int64)")
    lines += [f"as_{dtype} = block.view(np.{_name(dtype)})" for dtype in sorted(dtypes, key=str)]
    lines += [f"block[{BROUGHT + i}] = a{i}.ctypes.data" for i, _ in arguments]
    lines += [f"{memory(plan.arguments[i], place)} = a{i}" for i, place in plan.numbers.items()]
    for i, spec in made:
        if spec.ndim:
            lines += [
                f"z{i} = np.empty({spec.shape}, np.{_name(spec.dtype)})",
                f"block[{first + i}] = z{i}.ctypes.data",
            ]
    lines.append(f"missed = run(block.ctypes.data, {plan.address})")
    if plan.program.guards:
        lines += ["if missed >= 0:", f"    raise NativeGuardMissed({number}, missed)"]
    lines += [f"z{i} = {memory(spec, plan.results[i])}" for i, spec in made if not spec.ndim]
    lines.append(f"keep(({', '.join([f'a{i}' for i, _ in arguments] + ['block'])},))")
    lines.append(f"return {result}")
    return f"def program({names}):\n" + "".join(f"    {line}\n" for line in lines)


def _name(dtype: np.dtype[Any]) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


def _results(program: Program) -> tuple[list[int], str, dict[str, Any]]:
    """Positions of what is computed; the result as an expression of it; constants by name."""
    rows = program.listing.outputs[: program.count].tolist()
    if program.results is None:
        names = [f"z{i}" for i in range(len(rows))]
        return rows, names[0] if len(rows) == 1 else _tuple(names), {}
    outputs: list[int] = []
    results: list[str] = []
    constants: dict[str, Any] = {}
    for x in program.results.leaves:
        if isinstance(x, Output):
            results.append(f"z{len(outputs)}")
            outputs.append(rows[x.number])
        elif x is None or isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
            name = f"c{len(constants)}"
            results.append(f"{name}.copy()" if isinstance(x, np.ndarray) else name)
            constants[name] = x
        else:
            raise NotNative(f"it returns a {type(x).__name__}; jitted code can have arrays and numbers")
    return outputs, _nested(program.results.structure, iter(results)), constants


def _nested(structure: Structure, results: Iterator[str]) -> str:
    """Results in the tuples that hold them; a list is a tuple too, because jitted code has no lists of two types."""
    kind = structure.container
    if kind is None:
        return next(results)
    if issubclass(kind, dict):
        raise NotNative("it returns a dict; jitted code can have tuples of arrays and numbers, also in tuples")
    return _tuple([_nested(inside, results) for inside in structure.inside])


def _tuple(expressions: list[str]) -> str:
    return f"({''.join(f'{x}, ' for x in expressions)})"


def _type(i: int, spec: Spec) -> Any:
    """Numba's type of an argument."""
    import numba

    try:
        kind = numba.from_dtype(spec.dtype)
    except numba.errors.NumbaNotImplementedError:
        raise NotNative(f"argument {i} is of {spec.dtype} numbers, which Numba does not know") from None
    return numba.types.Array(kind, spec.ndim, "A") if spec.ndim else kind


def njit(program: Program) -> Any:
    """The program as a function that your own ``@numba.njit`` code can call, without the GIL.

    It takes the arrays and numbers among the arguments in order, and gives what the function gave: one result, or
    a tuple of them, with tuples inside where the function had tuples or lists inside.  Results are the caller's own.
    It is made once for a program.

    What can be called so: elementwise functions of float64 and float32 numbers, truth values, sums and means, whatever
    moves numbers (indexing, reshaping, joining), and matrix products, which are meant for small matrices.
    What cannot: other decompositions of matrices, sorting, running sums, products and extremes along axes, complex
    numbers, arithmetic of integers, dicts as results, and reading arrays or tensors from outside of the function,
    which may change.

    Where a guard does not hold, as where another branch would have been taken, it raises RuntimeError.

    Raises:
        NotNative: if the program needs Python; it says what for, and on which line.

    >>> import numba, numpy as np, tape
    >>> norm = tape.record(lambda x: np.sqrt((x * x).sum()), np.ones(2)).njit()
    >>> numba.njit(lambda x: norm(x) + 1)(np.array([3.0, 4.0]))
    6.0
    """
    if program._native is None:
        with _lock:
            program._native = program._native or _made(program)
    return program._native


def _made(program: Program) -> Any:
    import numba

    try:
        outputs, result, constants = _results(program)
        types = tuple([_type(i, spec) for i, spec in enumerate(program.input_specs)])
        plan = Plan(program, outputs)
    except NotNative as reason:
        raise NotNative(f"the program cannot be called from jitted code: {reason}") from None
    source = _source(plan, len(_pinned), result)
    file = f"<program {id(plan)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space: dict[str, Any] = {"np": np, "run": plan.linked.run, "keep": _keep(numba), **constants}
    space["NativeGuardMissed"] = NativeGuardMissed
    exec(compile(source, file, "exec"), space)
    _pinned.append(plan)
    made = numba.njit(types, nogil=True, error_model="numpy")(space["program"])
    _pinned.append(made)
    return made


def _keep(numba: Any) -> Any:
    """A jitted function that does nothing with its argument, which therefore lives until the call."""
    return numba.njit(lambda things: None)


Program.njit = njit  # type: ignore[attr-defined]
