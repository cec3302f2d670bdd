"""Programs within the user's own jitted code, and as C functions for SciPy's integrators and others like them.

A program whose steps are all kernels needs no Python.  For such a program a small function in Numba's Python is
written, which checks the arguments, runs the program's plan (see `tape.program.plans.plan`) and gives its results; it
can be called from any ``@numba.njit`` function, without the GIL.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.locks import new_lock
from ..base.rooms import opened
from ..base.spec import Spec
from ..base.tree import Structure
from ..base.undisturbed import undisturbed
from ..jit.emission.tiers import OPTIMISED
from ..jit.machine.regions import REFUSED
from .capture.results import OutputPlace as Output
from .plans.guarding import GuardStep
from .plans.plan import plan_of
from .plans.replay import Replay
from .plans.stops import Raw, Result
from .plans.threads import ALONE
from .plans.whereabouts import is_memory
from .recorded.guards import shown

if TYPE_CHECKING:
    from .recorded_program import Program

_pinned: list[Any] = []
"""The plans and machine code whose addresses are part of somebody's jitted code: they must never go away."""


SMALL = 256
"""Results of fewer bytes that are read as numbers lie in the block itself: to get memory for each takes longer."""
LINE = 8
"""Words from one place for results to the next, so that none begins amid a line of the processor's cache."""

_lock = new_lock()


class NotNative(TypeError):
    """A program needs Python, or its arguments or results are none that a jitted function can have."""


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


class NativePlan:
    """The plan of a program as jitted code runs it: its tables, and what must live as long as it."""

    def __init__(self, program: Program):
        self.program = program
        self.arguments = program.input_specs
        replay = Replay(program.listing, OPTIMISED, threads=ALONE, guards=program.guards)
        for index, _ in replay.guards.others:
            guard = program.guards[index]
            raise NotNative(f"{guard.what} at {guard.location} was told {described(np.asarray(guard.seen))}")
        for _, constant in replay.constants:
            if is_memory(constant):
                raise NotNative(
                    f"it reads {described(constant)} from outside of the function, which may change; make it an "
                    "argument"
                    + (", or a copy whose flags.writeable is False" if isinstance(constant, np.ndarray) else "")
                )
        self.plan = plan = plan_of(replay)
        for stop in plan.stops.all():  # a step that may refuse its operands needs Python, too
            if isinstance(stop.run, GuardStep):
                continue
            op = getattr(getattr(stop.run, "__self__", None), "op", None)
            k = getattr(getattr(stop.run, "__self__", None), "row", -1)
            title = "a group of records" if op is None else op.title(replay.listing.parameters(k))
            where = "" if op is None else f", recorded at {replay.listing.location(k)},"
            raise NotNative(f"{title}{where} is evaluated by NumPy, which needs Python")
        own = plan.own + np.array([plan.first, 0, 0])
        head = [plan.first]
        for table, count in ((plan.words, len(plan.words)), (own, len(own)), (plan.steps, plan.count)):
            head += [count, plan.pin(np.ascontiguousarray(table).reshape(-1))]
        self.address = plan.pin(np.array([*head, plan.memory.nbytes], dtype=np.int64))
        self.words = plan.nbytes // 8 + 1
        self.inside = self._inside()

    def _inside(self) -> dict[int, int]:
        """Where in the block, in bytes, results lie that are read as numbers only: by their number among the given."""
        results = self.plan.results
        arrays = {r.array for r in results[: self.program.count] if isinstance(r, Result) and r.spec.ndim}
        arrays.update(r.array for r in results[self.program.count :] if isinstance(r, Result))
        found: dict[int, int] = {}
        for j, (_, spec) in enumerate(self.plan.given):
            if j not in arrays and spec.nbytes <= SMALL:
                start = -(-self.words // LINE) * LINE
                found[j], self.words = 8 * start, start + spec.nbytes // 8 + 1
        return found


def _source(native: NativePlan, number: int, result: str) -> str:
    """The function: arguments a0, a1, …; results z0, z1, …; the block; arrays g0, g1, … that are given."""
    plan, lines, kept = native.plan, [], []
    for i, spec in enumerate(native.arguments):
        if spec.ndim:
            lines += [
                f"if a{i}.shape != {spec.shape}:",
                f"    raise ValueError('argument {i} of the program must have shape {spec.shape}')",
                f"a{i} = np.ascontiguousarray(a{i})",
            ]
            kept.append(f"a{i}")
    lines.append(f"block = np.empty({native.words}, np.int64)")
    for i, region, spec in plan.brought:
        if not spec.ndim:
            lines += [f"n{i} = np.empty(1, np.{_name(spec.dtype)})", f"n{i}[0] = a{i}"]
            kept.append(f"n{i}")
        lines.append(f"block[{region}] = {'a' if spec.ndim else 'n'}{i}.ctypes.data")
    for i, place, spec in plan.numbers:
        lines.append(f"block.view(np.{_name(spec.dtype)})[{(plan.data + place.offset) // spec.dtype.itemsize}] = a{i}")
    for j, (region, spec) in enumerate(plan.given):
        if j in native.inside:
            lines += [f"block[{region}] = block.ctypes.data", f"block[{region}] += {native.inside[j]}"]
            continue
        lines += [f"g{j} = np.empty({spec.shape}, np.{_name(spec.dtype)})", f"block[{region}] = g{j}.ctypes.data"]
        kept.append(f"g{j}")
    lines.append(f"run(block.ctypes.data, {native.address})")
    if native.program.guards:
        lines += [f"if block[{REFUSED}]:", f"    raise NativeGuardMissed({number}, block[{REFUSED}] - 1)"]
    for i, result_at in enumerate(plan.results[: native.program.count]):
        again = result_at in plan.results[:i] and isinstance(result_at, Result) and result_at.spec.ndim
        lines.append(f"z{i} = {_taken(native, result_at)}{'.copy()' if again else ''}")
    lines += [f"keep(({', '.join([*kept, 'block'])},))", f"return {result}"]
    names = ", ".join(f"a{i}" for i in range(len(native.arguments)))
    return f"def program({names}):\n" + "".join(f"    {line}\n" for line in lines)


def _taken(native: NativePlan, place: Any) -> str:
    """A result as an expression."""
    plan = native.plan
    if isinstance(place, Raw):
        if place.source < 0:
            constant = plan.constant(place.source)
            return f"k{-1 - place.source}" + (".copy()" if isinstance(constant, np.ndarray) else "")
        array = any(i == place.source and spec.ndim for i, _, spec in plan.brought)
        return f"a{place.source}.copy()" if array else f"a{place.source}"
    spec, given = place.spec, f"g{place.array}"
    if place.array in native.inside:
        dtype = plan.given[place.array][1].dtype
        return f"block.view(np.{_name(dtype)})[{native.inside[place.array] // dtype.itemsize + place.start}]"
    if plan.given[place.array][1] is spec and spec.ndim and not place.start:
        return given
    part = f"{given}[{place.start}:{place.start + spec.size}].copy().reshape({spec.shape})"
    return part if spec.ndim else f"{given}[{place.start}]"


def _name(dtype: np.dtype[Any]) -> str:
    return "bool_" if dtype.kind == "b" else dtype.name


def _results(program: Program) -> tuple[str, dict[str, Any]]:
    """The result as an expression of z0, z1, …; constants by name."""
    if program.results is None:
        names = [f"z{i}" for i in range(program.count)]
        return names[0] if len(names) == 1 else _tuple(names), {}
    results: list[str] = []
    constants: dict[str, Any] = {}
    outputs = program.listing.outputs.tolist()
    for x in program.results.leaves:
        if isinstance(x, Output):
            spec, name = program.listing.spec_of(outputs[x.number]), f"z{x.number}"
            results.append(f"{name}.copy()" if name in results and spec is not None and spec.ndim else name)
        elif x is None or isinstance(x, (bool, int, float, complex, np.generic, np.ndarray)):
            name = f"c{len(constants)}"
            results.append(f"{name}.copy()" if isinstance(x, np.ndarray) else name)
            constants[name] = x
        else:
            raise NotNative(f"it returns a {type(x).__name__}; jitted code can have arrays and numbers")
    return _nested(program.results.structure, iter(results)), constants


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
    numba = opened("numba")
    try:
        kind = numba.from_dtype(spec.dtype)
    except numba.errors.NumbaNotImplementedError:
        raise NotNative(f"argument {i} is of {spec.dtype} numbers, which Numba does not know") from None
    return numba.types.Array(kind, spec.ndim, "A") if spec.ndim else kind


def _made(program: Program) -> Any:
    numba = opened("numba")
    try:
        result, constants = _results(program)
        types = tuple([_type(i, spec) for i, spec in enumerate(program.input_specs)])
        plan = NativePlan(program)
        source = _source(plan, len(_pinned), result)
    except NotNative as reason:
        raise NotNative(f"the program cannot be called from jitted code: {reason}") from None
    file = f"<program {id(plan)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space: dict[str, Any] = {"np": np, "run": opened("tape.jit.sweeps.linked").run, "keep": _keep(numba), **constants}
    space["NativeGuardMissed"] = NativeGuardMissed
    raw = [x.source for x in plan.plan.results if isinstance(x, Raw) and x.source < 0]
    space |= {f"k{-1 - source}": plan.plan.constant(source) for source in raw}
    exec(compile(source, file, "exec"), space)
    _pinned.append(plan)
    made = undisturbed(lambda: numba.njit(types, nogil=True, error_model="numpy")(space["program"]))
    _pinned.append(made)
    return made


def described(constant: Any) -> str:
    """An array or tensor in a message."""
    spec = getattr(constant, "_spec", None)
    if spec is not None:
        return f"a tensor {spec}"
    return f"an array {constant.dtype}{list(constant.shape)}"


def _keep(numba: Any) -> Any:
    """A jitted function that does nothing with its argument, which therefore lives until the call."""
    return numba.njit(lambda things: None)


_addressed: list[Any] = []
"""The C functions whose addresses somebody has: they must never go away."""


def _check(program: Program, numbers: bool) -> None:
    """Raise unless a program can be a C function."""
    specs, result = program.input_specs, None
    if program.count == 1 and program.results is not None and program.results.structure.container is None:
        result = program.listing.spec_of(int(program.listing.outputs[0]))
    if result is None or result.ndim or result.dtype != np.float64:
        raise NotNative("a LowLevelCallable gives one float64 number; this program gives something else")
    if not numbers and not (len(specs) == 1 and specs[0].ndim == 1 and specs[0].dtype == np.float64):
        raise NotNative("a LowLevelCallable takes float64 numbers, or one vector of them; this program takes others")
    for guard in program.guards:
        raise NotNative(
            f"a LowLevelCallable cannot say when a program does not hold, and this one holds only while {guard.what} "
            f"gives {shown(guard.seen)}.\n  asked at {guard.location}\n"
            "Choose with tape.where(), which is part of the list, or pass tape.compile(f) itself, a Python function."
        )


class Native:
    """What a program has for code that is not Python's: itself as a jitted function, and as one of C's."""

    _native: Any

    def njit(self: Any) -> Any:
        """The program as a function that your own ``@numba.njit`` code can call, without the GIL.

        It takes the arrays and numbers among the arguments in order, and gives what the function gave: one result, or
        a tuple of them, with tuples inside where the function had tuples or lists inside.  Results are the caller's
        own.  It is made once for a program.

        What can be called so: whatever a replay does without going back to Python (``statistics().stops`` is 0), such
        as elementwise and special functions, reductions, indexing, sorting, Fourier transforms and matrix products.
        What cannot: steps that may have to raise NumPy's errors (inverses, systems, factors of matrices, places that
        are computed), what stops a replay, dicts as results, and reading arrays or tensors from outside of the
        function, which may change.

        Where a guard does not hold, as where another branch would have been taken, it raises RuntimeError.

        Raises:
            NotNative: if the program needs Python; it says what for, and on which line.

        >>> import numba, numpy as np, tape
        >>> norm = tape.record(lambda x: np.sqrt((x * x).sum()), np.ones(2)).njit()
        >>> numba.njit(lambda x: norm(x) + 1)(np.array([3.0, 4.0]))
        6.0
        """
        if self._native is None:
            with _lock:
                self._native = self._native or _made(self)
        return self._native

    def low_level_callable(self: Any) -> Any:
        """A program of float64 numbers, or of one vector, that gives one, as a `scipy.LowLevelCallable`.

        Its signature is ``double (double)`` for one number, else ``double (int, double *)``; called with another count
        of numbers than it was recorded for, this one gives nan.

        Raises:
            NotNative: if the program needs Python (see `njit`), takes or gives something else, or has guards: a C
                function cannot say that another branch should have been taken.

        >>> import scipy.integrate, tape
        >>> square = tape.record(lambda x: x * x, 1.0).low_level_callable()
        >>> print(f"{scipy.integrate.quad(square, 0, 1)[0]:.6f}")
        0.333333
        """
        import scipy

        numba, specs = opened("numba"), self.input_specs
        numbers = all(s.ndim == 0 and s.dtype == np.float64 for s in specs)
        _check(self, numbers)
        inner, double, array = self.njit(), numba.types.float64, numba.types.CPointer(numba.types.float64)
        if numbers and len(specs) == 1:
            signature, function = double(double), lambda x: inner(x)
        else:
            count = len(specs) if numbers else specs[0].size
            given = ", ".join(f"x[{i}]" for i in range(count)) if numbers else f"carray(x, ({count},))"
            space = {"inner": inner, "carray": numba.carray, "nan": np.nan}
            exec(f"def made(n, x):\n    return inner({given}) if n == {count} else nan\n", space)
            signature, function = double(numba.types.intc, array), space["made"]
        made = undisturbed(lambda: numba.cfunc(signature)(function))
        _addressed.append(made)
        return scipy.LowLevelCallable(made.ctypes)
