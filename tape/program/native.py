"""Programs within the user's own jitted code, and behind C function pointers.

A program whose steps are all kernels needs no Python.  For such a program a small function in
Numba's Python is written, which fills the kernels' tables and calls them; it can be called from any
``@numba.njit`` function, without the GIL.
"""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np

from ..spec import Spec
from .frames import WORD, Caller
from .kernels import ALIGN, Compiled
from .listing import is_fixed, number_of
from .program import Program
from .replay import KernelStep, NumPyStep, Replay
from .tiers import OPTIMISED

_pinned: list[Any] = []
"""The machine code whose address is part of somebody's jitted code: it must never go away."""


class NotNative(TypeError):
    """A program needs Python, or its arguments or results are none that a jitted function can have."""


class _Block:
    """One allocation for all that a kernel needs for itself: how many words, and where what is in it."""

    def __init__(self, itemsize: int):
        self.words, self._per_word = 0, WORD // itemsize

    def take(self, count: int, size: int = WORD) -> int:
        """The first word of some more room."""
        first = self.words
        self.words += -(-count * size // WORD)
        return first

    def item(self, word: int) -> int:
        """The same place in numbers of the kernel's kind."""
        return word * self._per_word


class _Writer:
    """Writes the function: arguments a0, a1, …; values v0, v1, … by record."""

    def __init__(self, program: Program):
        self.program, self.listing = program, program.listing
        self.replay = Replay(self.listing, OPTIMISED, threads=1)
        self.lines: list[str] = []
        self.known: dict[int, str] = {}
        self.alive: list[str] = []
        self.arrays: dict[str, np.ndarray] = {}

    def source(self, name: str) -> str:
        listing, specs = self.listing, self.program.input_specs
        for i, spec in enumerate(specs):
            self._argument(i, spec)
        for k, number in self.replay.inputs:
            self.known[k] = f"a{number}"
        for k, constant in self.replay.constants:
            if not is_fixed(constant):
                raise NotNative("it reads arrays or tensors from outside of the function; make them arguments")
            if isinstance(constant, np.ndarray):
                self.known[k] = f"k{k}"
                self.arrays[f"k{k}"] = np.ascontiguousarray(constant)
        for j, step in enumerate(self.replay.steps):
            if isinstance(step, NumPyStep):
                location = listing.location(step.row)
                raise NotNative(f"{step.op.name}, recorded at {location}, is evaluated by NumPy, which needs Python")
            self._kernel(j, step)
        self._guards()
        results = ", ".join(self._value(k) for k in self.replay.outputs[: self.program.count])
        self.lines.append(f"keep(({', '.join(self.alive)},))")
        self.lines.append(f"return {results}" if self.program.count == 1 else f"return ({results},)")
        arguments = ", ".join(f"a{i}" for i in range(len(specs)))
        return f"def {name}({arguments}):\n" + "".join(f"    {line}\n" for line in self.lines)

    def _argument(self, i: int, spec: Spec) -> None:
        if spec.ndim:
            self.lines.append(f"if a{i}.shape != {spec.shape}:")
            self.lines.append(f"    raise ValueError('argument {i} of the program must have shape {spec.shape}')")
            self.lines.append(f"a{i} = np.ascontiguousarray(a{i})")
            self.alive.append(f"a{i}")

    def _value(self, k: int) -> str:
        if k in self.known:
            return self.known[k]
        return repr(float(number_of(dict(self.replay.constants)[k])))

    def _kernel(self, j: int, step: KernelStep) -> None:
        assert isinstance(step.caller, Caller)
        assert isinstance(step.kernel, Compiled)
        layout, kernel, say = step.caller.layout, step.kernel, self.lines.append
        head, _ = kernel.head()
        real = f"np.float{8 * layout.dtype.itemsize}"
        block = _Block(layout.dtype.itemsize)
        table = block.take(len(head) + layout.addresses)
        step_at, numbers = block.take(2), block.take(len(layout.numbers), layout.dtype.itemsize)
        alone = all(not shape for *_, shape in layout.small)
        small = block.take(layout.small_size, layout.dtype.itemsize) if alone else 0
        work = block.take(kernel.workspace_bytes + ALIGN, 1)
        say(f"t{j} = np.empty({block.words}, np.int64)")
        say(f"r{j} = t{j}.view({real})")
        say(f"p{j} = t{j}.ctypes.data")
        for i, k in enumerate(layout.numbers):
            say(f"r{j}[{block.item(numbers) + i}] = {self._value(k)}")
        head[3] = f"(p{j} + {WORD * work + ALIGN - 1}) // {ALIGN} * {ALIGN}"  # type: ignore[call-overload]
        words = [*map(str, head), f"p{j} + {WORD * numbers}"]
        for i, (k, spec) in enumerate(layout.arrays):
            value, found = self._value(k), self.listing.spec_of(k)
            if found is not spec or not found.ndim:
                say(f"b{j}_{i} = np.broadcast_to(np.asarray({value}, np.{spec.dtype}), {spec.shape}).copy()")
                value = f"b{j}_{i}"
                self.alive.append(value)
            words.append(f"{value}.ctypes.data")
        if alone:
            words.append(f"p{j} + {WORD * small}")
        else:
            say(f"s{j} = np.empty({layout.small_size}, {real})")
            words.append(f"s{j}.ctypes.data")
            self.alive.append(f"s{j}")
        for t, spec in layout.large:
            say(f"l{j}_{t} = np.empty({spec.shape}, np.{spec.dtype})")
            self.known[step.makes[t]] = f"l{j}_{t}[()]" if not spec.ndim else f"l{j}_{t}"
            words.append(f"l{j}_{t}.ctypes.data")
            self.alive.append(f"l{j}_{t}")
        for i, word in enumerate(words):
            say(f"t{j}[{table + i}] = {word}")
        say(f"t{j}[{step_at + 1}] = p{j} + {WORD * table}")
        say(f"call({kernel.address}, p{j} + {WORD * step_at})")
        self.alive += [f"t{j}", f"r{j}"]
        for t, start, size, shape in layout.small:
            k = step.makes[t]
            one = f"r{j}[{block.item(small) + start}]" if alone else f"s{j}[{start}]"
            say(f"v{k} = {f's{j}[{start}:{start + size}].reshape({shape})' if shape else one}")
            self.known[k] = f"v{k}"

    def _guards(self) -> None:
        for guard, k in zip(self.program.guards, self.replay.outputs[self.program.count :]):
            if np.size(guard.seen) != 1:
                raise NotNative(f"it depends on an array that Python was told at {guard.location}")
            seen = np.asarray(guard.seen).item()
            self.lines.append(f"if {self._value(k)} != {seen!r}:")
            message = f"the recorded list holds only while {guard.what} gives {seen!r} at {guard.location}"
            self.lines.append(f"    raise RuntimeError({message!r})")


def njit(program: Program) -> Any:
    """A program as a function that the user's jitted code can call.

    It takes the arrays and floats of the arguments in order and gives one result or a tuple of them.

    Raises:
        NotNative: if the program needs Python.
    """
    import numba

    from ..jit.address import call

    try:
        writer = _Writer(program)
        source = writer.source("program")
    except NotNative as reason:
        raise NotNative(f"the program cannot be called from jitted code: {reason}") from None
    types = [
        numba.types.Array(numba.from_dtype(s.dtype), s.ndim, "A") if s.ndim else numba.from_dtype(s.dtype)
        for s in program.input_specs
    ]
    file = f"<program {id(writer)}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space: dict[str, Any] = {"np": np, "call": call, "keep": _keep(numba), **writer.arrays}
    exec(compile(source, file, "exec"), space)
    made = numba.njit(tuple(types), nogil=True, error_model="numpy")(space["program"])
    _pinned.append((writer, made))
    return made


def _keep(numba: Any) -> Any:
    """A jitted function that does nothing with its argument, which therefore lives until the call."""
    return numba.njit(lambda things: None)


def low_level_callable(program: Program) -> Any:
    """A program of floats, or of one vector, that gives a float, as a `scipy.LowLevelCallable`.

    Its signature is ``double (double)`` for one float, else ``double (int, double *)``.
    """
    import numba
    import scipy

    specs, types = program.input_specs, numba.types
    result = program.listing.spec_of(int(program.listing.outputs[0]))
    if program.count != 1 or result is None or result.ndim or result.dtype != np.float64:
        raise NotNative("a LowLevelCallable gives one float64 number; this program gives something else")
    inner = njit(program)
    numbers = all(s.ndim == 0 and s.dtype == np.float64 for s in specs)
    if numbers and len(specs) == 1:
        made = numba.cfunc(types.float64(types.float64))(lambda x: inner(x))
    elif numbers:
        items = ", ".join(f"x[{i}]" for i in range(len(specs)))
        space = {"inner": inner, "carray": numba.carray}
        exec(f"def made(n, x):\n    return inner({items})\n", space)
        made = numba.cfunc(types.float64(types.intc, types.CPointer(types.float64)))(space["made"])
    elif len(specs) == 1 and specs[0].ndim == 1 and specs[0].dtype == np.float64:
        (length,) = specs[0].shape
        carray = numba.carray
        made = numba.cfunc(types.float64(types.intc, types.CPointer(types.float64)))(
            lambda n, x: inner(carray(x, (length,)))
        )
    else:
        raise NotNative("a LowLevelCallable takes float64 numbers, or one vector of them; this program takes others")
    _pinned.append(made)
    return scipy.LowLevelCallable(made.ctypes)


Program.njit = njit  # type: ignore[attr-defined]
Program.low_level_callable = low_level_callable  # type: ignore[attr-defined]
