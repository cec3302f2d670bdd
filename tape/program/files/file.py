"""Saving programs and loading them: the list as it was recorded, in the words of `container` and `encoding`.

The header of the file has ``written_by`` and ``program``, an object with

===============  ==========================================================================================
``ops``          names of the ops, in which the column ``code`` counts; −1 is an input, −2 a constant
``columns``      by name (see `Listing`), the number of an array: code, first, args, param, spec, line, outputs
``inputs``       how many arguments vary
``params``       dicts of parameters; ``specs``: shapes and dtypes; ``constants``: values
``lines``        file, line and function of the user, each once
``guards``       row, value, how Python asked, line
``stopped``      the number of an array: the records through which no gradient flows
``released``     the same: the records that a backward went through without retaining the graph
``signature``    what the program is for; a list of parts: ``spec``, ``tensor`` (a spec), ``float``, ``fixed``
                 (a value), ``structure``; null for a program that another one contains as its adjoint
``parameters``   the names of the function's arguments, after which the inputs are called: a list of those by
                 position, the name of ``*args`` or null, a list of those by keyword; null where none are known
``results``      structure, leaves (``output`` and its number, or ``value``)
``layouts``      of the outputs that may lie in several ways, the number and the strides
``layout``       how arguments must lie: true for row-major order, or strides; or null
``tier``         interpret, quick, optimised, or null; ``threads``: a number or null
===============  ==========================================================================================

Captured tensors and arrays are saved as the values that they have at that time.  Nothing of a file is ever
executed before it is known to be a list of this library's ops, with operands, shapes and dtypes in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from ops import REGISTRY
from ops.core.arguments import NO_DEFAULT, Arguments
from ops.core.registry import OPS

from ...base.location import Location, locate
from ...base.spec import Spec
from ...base.tree import Structure
from ...jit.emission.tiers import TIERS
from ..capture.results import ARRAY, KINDS, TENSOR, OutputPlace, Results
from ..capture.signature import Fixed, gives_tensors, varying
from ..recorded.guards import Guard
from ..recorded.listing import Listing
from .check import check
from .container import ProgramFileError, packed, write
from .encoding import Decoder, Encoder, length

if TYPE_CHECKING:
    from ..recorded_program import Program

COLUMNS = ("code", "first", "args", "param", "spec", "line", "outputs")
WRITER = "tape"

BLANK = compile("", "", "exec").replace(co_firstlineno=1000)
SHIFT = 1000 - locate(BLANK, 0).line
"""The first instruction of code that does nothing is said to be so many lines before it."""

Make = Callable[..., "Program"]


def save(program: Program, path: str | os.PathLike[str]) -> None:
    """Write a program to a file.

    Raises:
        TypeError: if there is something in it that a file cannot hold.
    """
    write(path, *_told(program))


def to_bytes(program: Program) -> bytes:
    """The bytes of the file of a program.

    Raises:
        TypeError: if there is something in it that a file cannot hold.
    """
    return packed(*_told(program))


def _told(program: Program) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of the file of a program."""
    writer = _ProgramWriter(type(program))
    return {"written_by": WRITER, "program": writer.program(program)}, writer.encode.arrays


def program_of(header: dict[str, Any], arrays: list[np.ndarray], make: Make) -> Program:
    """The program that header and arrays of a file tell; `make` is what makes one.

    Raises:
        ProgramFileError: if they tell none.
    """
    try:
        return _Reader(arrays, make).program(header["program"])
    except ProgramFileError:
        raise
    except Exception as error:
        raise ProgramFileError(f"the file holds no sound program: {error}.") from error


class _ProgramWriter:
    """Tells programs in JSON."""

    def __init__(self, kind: type):
        self.encode = Encoder()
        self.encode.tags[kind] = "program", self.program
        self.encode.tags[Fixed] = "fixed", lambda x: self.encode(x.value)
        self.encode.tags[OutputPlace] = "output", lambda x: x.number

    def program(self, program: Program) -> dict[str, Any]:
        results = program.results
        key: Any = program.key
        return {
            **self.listing(replace(program.recorded, guards=program.guards)),
            "signature": None if key is None else [self.part(p) for p in key],
            "parameters": _names_of(program.parameters),
            "results": results
            and [self.encode(results.structure), self.encode.several(results.leaves), list(results.kinds)],
            "layouts": program.layouts,
            "layout": program.layout,
            "tier": program.tier,
            "threads": program.threads,
        }

    def listing(self, x: Listing) -> dict[str, Any]:
        codes, code = np.unique(x.code, return_inverse=True)
        numbers = np.cumsum(codes >= 0) - 1
        columns = {name: getattr(x, name) for name in COLUMNS}
        columns["code"] = np.where(codes < 0, codes, numbers)[code]
        lines = _Once()
        numbers = np.array([*map(lines.place, x.lines), -1], dtype=np.int64)
        columns["line"] = numbers[x.line]
        guards = [[int(g.row), self.encode(g.seen), g.what, lines.add(g.location)] for g in x.guards]
        return {
            "ops": [OPS[c].name for c in codes.tolist() if c >= 0],
            "columns": {name: self.encode.array(narrow(c)) for name, c in columns.items()},
            "inputs": x.inputs,
            "params": [{name: self.encode(v) for name, v in p.items()} for p in x.params],
            "specs": [self.encode(s) for s in x.specs],
            "constants": self.encode.several(x.constants),
            "lines": lines.found,
            "guards": guards,
            "stopped": self.encode.array(narrow(np.array(sorted(x.stopped), dtype=np.int64))),
            "released": self.encode.array(narrow(np.array(sorted(x.released), dtype=np.int64))),
        }

    def part(self, part: Any) -> Any:
        """One part of a signature."""
        if part is float:
            return "float"
        if isinstance(part, tuple) and len(part) == 1 and isinstance(part[0], Spec):
            return {"tensor": self.encode(part[0])}
        return self.encode(part)


class _Once:
    """Lines in the order in which they came up, each once."""

    def __init__(self) -> None:
        self.found: list[Location] = []
        self._known: dict[Location, int] = {}
        self._places: dict[tuple[int, int], int] = {}

    def place(self, line: tuple[CodeType, int]) -> int:
        """The number of a place in some code."""
        key = id(line[0]), line[1]
        if key not in self._places:
            self._places[key] = self.add(locate(*line))
        return self._places[key]

    def add(self, line: Location) -> int:
        number = self._known.setdefault(line, len(self.found))
        if number == len(self.found):
            self.found.append(line)
        return number


class _Reader:
    """Makes programs of JSON."""

    def __init__(self, arrays: list[np.ndarray], make: Make):
        self.arrays, self.make = arrays, make
        self.decode = Decoder(arrays)
        self.decode.tags["program"] = self.program
        self.decode.tags["fixed"] = lambda x: Fixed(self.decode(x))
        self.decode.tags["tensor"] = lambda x: (self.decode(x),)
        self.decode.tags["output"] = lambda x: OutputPlace(length(x))

    def program(self, told: Any) -> Program:
        listing = self.listing(told)
        key = told["signature"]
        key = key if key is None else self.key(key, listing.inputs)
        results = told["results"]
        if results is not None:
            results = self.results(*results, as_tensors=gives_tensors(key), layouts=told.get("layouts", ()))
        check(listing, results)
        threads = told["threads"] and length(told["threads"])
        parameters = _arguments(told.get("parameters"))
        made = self.make(listing, results, key, _one_of((None, *TIERS), told["tier"]), threads, parameters)
        if (layout := told.get("layout")) is not None:
            made.layout = layout is True or tuple(map(_strides, layout))
        return made

    def results(
        self, structure: Any, leaves: Any, kinds: Any = None, *, as_tensors: bool, layouts: Any = ()
    ) -> Results:
        """What a function returned; older files do not tell what outputs are given back as."""
        leaves = self.decode.several(leaves)
        if kinds is None:
            kinds = [TENSOR if as_tensors else ARRAY] * len({x.number for x in leaves if isinstance(x, OutputPlace)})
        found = tuple([(length(number), _strides(strides)) for number, strides in layouts])
        kinds = [_one_of(KINDS, kind) for kind in _is(list, kinds)]
        return Results(self.decode(structure), leaves, kinds, layouts=found)

    def listing(self, told: Any) -> Listing:
        columns: dict[str, Any] = {name: self.column(told["columns"][name]) for name in COLUMNS}
        codes = np.array([_op(name) for name in told["ops"]], dtype=np.int64)
        code = columns["code"]
        if len(code) and (code.min() < -2 or code.max() >= len(codes)):
            raise ValueError("a record has an op without a name")
        columns["code"] = np.where(code < 0, code, codes[np.maximum(code, 0)]) if len(codes) else code
        lines = [line_of(*line) for line in told["lines"]]
        return Listing(
            **columns,
            inputs=length(told["inputs"]),
            params=[{name: self.decode(v) for name, v in p.items()} for p in told["params"]],
            specs=[_is(Spec, self.decode(s)) for s in told["specs"]],
            constants=self.decode.several(told["constants"]),
            lines=lines,
            guards=[self.guard(lines, *guard) for guard in told["guards"]],
            stopped=frozenset(self.column(told["stopped"]).tolist()),
            released=frozenset(self.column(told["released"]).tolist()),
        )

    def guard(self, lines: list[tuple[CodeType, int]], row: Any, seen: Any, what: Any, line: Any) -> Guard:
        return Guard(length(row), self.decode(seen), _is(str, what), *lines[length(line)])

    def column(self, number: Any) -> np.ndarray:
        array = self.decode.array(number)
        if array.dtype.kind != "i" or array.ndim != 1:
            raise ValueError("a column is no list of integers")
        return array.astype(np.int64)

    def key(self, told: Any, inputs: int) -> tuple[Any, ...]:
        parts = tuple([float if p == "float" else self.decode(p) for p in told])
        sound = all(p is float or type(p) in (Spec, tuple, Fixed, Structure) for p in parts)
        if not sound or len(varying(parts)) != inputs:
            raise ValueError(f"the signature is not one of {inputs} inputs")
        return parts


def _strides(told: Any) -> tuple[int, ...]:
    return tuple([_is(int, step) for step in told])


def _names_of(parameters: Arguments | None) -> list[Any] | None:
    return None if parameters is None else [list(parameters.positional), parameters.starred, list(parameters.keywords)]


def _arguments(names: Any) -> Arguments | None:
    """The arguments that have these names; which defaults they have is not told."""
    if names is None:
        return None
    positional, starred, keywords = names
    found = [_is(str, name) for name in (*_is(list, positional), *_is(list, keywords))]
    return Arguments(
        tuple(found[: len(positional)]),
        None if starred is None else _is(str, starred),
        dict.fromkeys(found[len(positional) :], NO_DEFAULT),
    )


def _op(name: Any) -> int:
    if _is(str, name) not in REGISTRY:
        raise ProgramFileError(
            f"the program uses an op named {name!r}, which is not declared here.\n"
            "Import the module that declares it, then load the file."
        )
    return REGISTRY[name].code


def _is(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r:.100} is no {kind.__name__}")
    return value


def _one_of(choices: Sequence[Any], value: Any) -> Any:
    if value not in choices:
        raise ValueError(f"{value!r:.100} is none of {choices}")
    return value


def narrow(column: np.ndarray) -> np.ndarray:
    """A column in the smallest integers that hold it."""
    if not len(column):
        return column.astype(np.int8)
    low, high = np.min_scalar_type(min(int(column.min()), -1)), np.min_scalar_type(-1 - int(column.max()))
    return column.astype(np.promote_types(low, high).newbyteorder("<"))


@cache
def line_of(file: str, line: int, function: str) -> tuple[CodeType, int]:
    """A line of a program as one that is recorded has it: a place in some code, which is empty here."""
    if "\0" in file or length(line) > 1 << 30:
        raise ValueError(f"{file!r:.100}:{line} is no line")
    return BLANK.replace(co_filename=file, co_name=function, co_qualname=function, co_firstlineno=line + SHIFT), 0
