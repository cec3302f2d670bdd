"""Inputs as they are written on the command line: ``name=value``.

==========================  ==========================================================
value                       what the function gets
==========================  ==========================================================
``(3,)``, ``(2, 3)``, ``()``  random normal numbers of that shape, from ``--seed``
``0.5``, ``3``, ``true``    a number or a truth value
``1+2j``                    a complex number
``[1, 2.5]``, ``[1j, 2]``   an array; nested lists have rows
``0:1:11``                  11 numbers evenly spaced from 0 to 1, both included
``x.npy``                   an array from a file
``data.npz[X]``             one array of an archive; the name may be left out if there is one
``data.csv``                a table of numbers; a heading line is skipped
``data.csv[a]``, ``[a,b]``  one column by its heading (a vector), or several (a matrix)
``'text'``                  a string
==========================  ==========================================================

A file is looked for from the working directory, then beside the model.
"""

from __future__ import annotations

import ast
import csv
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FILE = re.compile(r"(?P<path>.+\.(?P<kind>npy|npz|csv))(?:\[(?P<key>[^\]]*)\])?", re.IGNORECASE)
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
RANGE = re.compile(rf"({NUMBER}):({NUMBER}):(\d+)", re.IGNORECASE)
WORDS = {"true": True, "false": False, "none": None}


class BadInput(ValueError):
    """An input that cannot be read; the message says what was wanted."""


@dataclass(frozen=True)
class Given:
    """An input from the command line: its value, and whether it was read from a file."""

    name: str
    value: Any
    from_file: bool = False


@dataclass(frozen=True)
class Reader:
    """Reads inputs: with this seed, this dtype for floats (None keeps them), from these folders."""

    seed: int
    dtype: np.dtype[Any] | None
    folders: tuple[Path, ...]

    def read(self, text: str) -> Given:
        """One ``name=value``.

        Raises:
            BadInput: if it is not of that form, or the value is none of those above.
        """
        name, equals, value = text.partition("=")
        name, value = name.strip(), value.strip()
        if not equals or not name.isidentifier():
            raise BadInput(f"an input is written name=value, such as 'w=(3,)' or 'X=data.npz[X]'; got {text!r}")
        file = FILE.fullmatch(value)
        found = self._file(name, file) if file else self._literal(name, value)
        return Given(name, self.cast(found), from_file=file is not None)

    def cast(self, value: Any) -> Any:
        """A float value in the dtype that was asked for; anything else as it is."""
        inexact = isinstance(value, (float, complex, np.ndarray, np.generic)) and np.asarray(value).dtype.kind in "fc"
        if not inexact or self.dtype is None:
            return value
        if np.iscomplexobj(value) and self.dtype.kind == "f":
            raise BadInput(f"--dtype {self.dtype}: an input is complex; write complex128 or complex64")
        return np.asarray(value, dtype=self.dtype)[()]

    def _literal(self, name: str, text: str) -> Any:
        spaced = RANGE.fullmatch(text)
        if spaced:
            return np.linspace(float(spaced[1]), float(spaced[2]), int(spaced[3]))
        try:
            value = WORDS[text.lower()] if text.lower() in WORDS else ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise BadInput(_unreadable(name, text)) from None
        if isinstance(value, tuple):
            return self._random(name, text, value)
        if isinstance(value, list):
            return _array(name, text, value)
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        raise BadInput(_unreadable(name, text))

    def _random(self, name: str, text: str, shape: tuple[Any, ...]) -> Any:
        """Normal numbers, complex where that is asked for, that depend on the seed and the input's name alone."""
        if not all(type(n) is int and n >= 0 for n in shape):
            raise BadInput(f"{name}={text}: a shape is a tuple of lengths, such as (3,) or (2, 3); for values use [ ]")
        rng = np.random.default_rng([self.seed, zlib.crc32(name.encode())])
        real = rng.standard_normal(shape)
        return real + 1j * rng.standard_normal(shape) if self.dtype is not None and self.dtype.kind == "c" else real

    def _file(self, name: str, match: re.Match[str]) -> Any:
        path, kind, key = Path(match["path"]).expanduser(), match["kind"].lower(), match["key"]
        for folder in self.folders:
            if (folder / path).is_file():
                return LOADERS[kind](folder / path, key)
        looked = ", ".join(str(folder.resolve()) for folder in dict.fromkeys(self.folders))
        raise BadInput(f"{name}={match[0]}: there is no file {path} (looked in {looked})")


def read(text: str, *, folders: Sequence[str] = (".",), seed: int = 0, dtype: Any = None) -> Any:
    """The value of an input as it is written on the command line: see the head of this file.

    >>> read("t=0:1:3")
    array([0. , 0.5, 1. ])
    """
    return Reader(seed, None if dtype is None else np.dtype(dtype), tuple(map(Path, folders))).read(text).value


def _unreadable(name: str, text: str) -> str:
    return (
        f"{name}={text}: this is not a value. Write a shape such as (3,), a number, a list such as [1, 2], "
        "a range such as 0:1:11, a file .npy, .npz[key] or .csv[column], or a 'text' in quotes"
    )


def _array(name: str, text: str, value: list[Any]) -> np.ndarray:
    try:
        array = np.array(value)
    except ValueError:
        raise BadInput(f"{name}={text}: the rows of a list must have equal lengths") from None
    if array.dtype.kind not in "biufc":
        raise BadInput(f"{name}={text}: a list holds numbers")
    return array


def _load_npy(path: Path, key: str | None) -> np.ndarray:
    if key is not None:
        raise BadInput(f"{path} holds one array; leave [{key}] out")
    return _numeric(path, _open(path))


def _load_npz(path: Path, key: str | None) -> np.ndarray:
    archive = _open(path)
    names = list(getattr(archive, "files", []))
    if key is None and len(names) == 1:
        key = names[0]
    if key not in names:
        asked = "say which array" if key is None else f"there is no array {key!r}"
        example = names[0] if names else "name"
        raise BadInput(f"{path}: {asked}; it holds {', '.join(names)}, so write {path.name}[{example}]")
    with archive:
        return _numeric(path, archive[key])


def _open(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BadInput(f"{path} cannot be read as NumPy data: {error}") from None


def _numeric(path: Path, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biufc":
        raise BadInput(f"{path} holds {array.dtype}; an input holds numbers")
    return array


def _load_csv(path: Path, key: str | None) -> np.ndarray:
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row and not row[0].lstrip().startswith("#")]
    heading = [h.strip() for h in rows[0]] if rows and not _all_numbers(rows[0]) else None
    try:
        table = np.array([[float(x) for x in row] for row in rows[heading is not None :]])
    except ValueError as error:
        raise BadInput(f"{path} is not a table of numbers: {error}") from None
    if key is None:
        return table
    columns = [c.strip() for c in key.split(",")]
    missing = [c for c in columns if heading is None or c not in heading]
    if missing or heading is None:
        raise BadInput(f"{path} has no column {missing[0]!r}; its heading is {', '.join(heading or ['(none)'])}")
    at = [heading.index(c) for c in columns]
    return table[:, at[0]] if len(at) == 1 else table[:, at]


def _all_numbers(row: list[str]) -> bool:
    try:
        return all(np.isreal(float(x)) for x in row)
    except ValueError:
        return False


LOADERS = {"npy": _load_npy, "npz": _load_npz, "csv": _load_csv}
