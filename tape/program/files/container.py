"""The file of a program: a header in JSON and arrays, under one checksum.

========  =======  ==============================================================================
byte      length   what
========  =======  ==============================================================================
0         8        ``89 54 41 50 45 0D 0A 1A``; a transfer as text would have changed it
8         4        version of the format, little-endian as all numbers here
12        8        length of the header
20        8        length of the arrays
28        32       SHA-256 of bytes 0 to 28 and of everything from byte 60 on
60                 the header: JSON in UTF-8
                   the arrays, one after another, each filled up with zeros to a multiple of 8 bytes
========  =======  ==============================================================================

The header is an object.  Its ``arrays`` say dtype, shape and start (counted from the first array's) of each
array; a dtype is spelled as in ``numpy.dtype.str``, or ``bfloat16``.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...base.dtypes import bfloat16

MAGIC = b"\x89TAPE\r\n\x1a"
VERSION = 2
HEAD = struct.Struct("<8sIQQ")
DIGEST = 32


class ProgramFileError(ValueError):
    """A file is no program of this library, is damaged, or needs what is not there.  Nothing of it was run."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Sequence[np.ndarray]) -> None:
    """Write a file; it is complete as soon as it has its name."""
    whole = packed(header, arrays)
    target = Path(path)
    begun = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with begun.open("xb") as file:
            file.write(whole)
        begun.replace(target)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise


def read(file: str | os.PathLike[str] | IO[bytes]) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Header and arrays of a file, by name or open for reading.

    Raises:
        ProgramFileError: if it is none of ours, or not whole.
    """
    return unpacked(Path(file).read_bytes() if isinstance(file, (str, os.PathLike)) else file.read())


def packed(header: dict[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """The bytes of a file."""
    entries, parts, start = [], [], 0
    for array in arrays:
        body = np.ascontiguousarray(array).tobytes()
        entries.append([dtype_name(array.dtype), list(array.shape), start])
        parts += [body, bytes(-len(body) % 8)]
        start += len(body) + len(parts[-1])
    text = json.dumps({**header, "arrays": entries}, allow_nan=False, separators=(",", ":")).encode()
    head = HEAD.pack(MAGIC, VERSION, len(text), start)
    rest = b"".join([text, *parts])
    return head + hashlib.sha256(head + rest).digest() + rest


def unpacked(whole: bytes) -> tuple[dict[str, Any], list[np.ndarray]]:
    """What `packed` packed."""
    begin = HEAD.size + DIGEST
    if whole[:8] != MAGIC or len(whole) < begin:
        raise ProgramFileError(
            "this is not a file that Program.save or tape.save wrote, or only the beginning of one: it starts with "
            f"{whole[:8]!r}."
        )
    _, version, text, data = HEAD.unpack_from(whole)
    if version != VERSION:
        raise ProgramFileError(
            f"the file has format version {version}, and this version of the library reads {VERSION}.\n"
            "Load it with the version that wrote it, or record and save the function again."
        )
    head, digest, rest = whole[: HEAD.size], whole[HEAD.size : begin], memoryview(whole)[begin:]
    if len(rest) != text + data or hashlib.sha256(head + rest).digest() != digest:
        raise ProgramFileError(
            f"the file is damaged: it should have {begin + text + data} bytes and has {len(whole)}, "
            "or some of them were changed.\nSave again, or copy the file again (as binary)."
        )
    try:
        header = json.loads(bytes(rest[:text]), parse_constant=_no_constant)
        return header, [_array(rest[text:], *entry) for entry in header["arrays"]]
    except Exception as error:
        raise ProgramFileError(f"the header of the file makes no sense: {error!r}.") from error


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _array(data: memoryview, name: str, shape: list[int], start: int) -> np.ndarray:
    """One array, which nobody may write to."""
    dtype = dtype_named(name)
    if not all(type(n) is int and n >= 0 for n in [start, *shape]):
        raise ValueError(f"an array of shape {shape} at {start}")
    body = data[start : start + math.prod(shape) * dtype.itemsize]
    array = np.frombuffer(body, dtype).reshape(shape).copy()
    array.setflags(write=False)
    return array


def dtype_name(dtype: np.dtype[Any]) -> str:
    """How a file spells a dtype.

    Raises:
        TypeError: if it is none of numbers or truth values.
    """
    if dtype.kind in "biufc":
        return dtype.str
    if dtype.name == "bfloat16":
        return dtype.name
    raise TypeError(f"an array of dtype {dtype} cannot be saved: a file holds numbers and truth values.")


def dtype_named(name: Any) -> np.dtype[Any]:
    """The dtype of a name in a file."""
    if name == "bfloat16":
        return bfloat16()
    dtype = np.dtype(name) if type(name) is str and len(name) <= 4 else None
    if dtype is None or dtype.kind not in "biufc" or dtype.str != name:
        raise ValueError(f"{name!r} is no dtype of numbers")
    return dtype
