"""Tensors in files: `tape.save` and `tape.load`, in the words of `container` and `encoding`.

The header of the file has ``written_by`` and ``value``, in which also

==========  ===================================================================
``tensor``  its number among those that were told before, or, the first time, a
            list: its array or scalar, and whether it requires grad
==========  ===================================================================
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import IO, Any

import numpy as np

from ..base.tensor import Tensor
from ..recording.leaf import leaf
from ..recording.level import Layer
from .files import file
from .files.container import ProgramFileError, packed, read, write
from .files.encoding import Decoder, Encoder, length
from .recorded_program import Program

Place = str | os.PathLike[str]


def save(obj: Any, f: Place | IO[bytes]) -> None:
    """Write tensors to a file, by name or open for writing: one, or some in lists, tuples and dicts with plain values.

    A tensor that is there several times is written once.  What is loaded are leaves: of a history nothing is written.

    Raises:
        TypeError: if there is something else among them.

    >>> import os, tempfile, tape
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "state")
    ...     tape.save({"w": tape.ones(2, requires_grad=True), "step": 3}, path)
    ...     tape.load(path)
    {'w': tensor([1., 1.], requires_grad=True), 'step': 3}
    """
    if isinstance(obj, Program):
        raise TypeError("a program is saved by its own method: program.save(path)")
    encode = _Encoder()
    header = {"written_by": file.WRITER, "value": encode(obj)}
    if isinstance(f, (str, os.PathLike)):
        write(f, header, encode.arrays)
    else:
        f.write(packed(header, encode.arrays))


def load(f: Place | IO[bytes], map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Read what `save` or `Program.save` wrote, from a file by name or open for reading.

    Nothing in a file is executed, so ``weights_only`` changes nothing; neither does ``map_location``.

    Raises:
        ProgramFileError: if the file is of neither, is damaged, or has a program with an op that is not declared.
        OSError: if it cannot be read.
    """
    header, arrays = read(f)
    if "value" not in header:
        return file.program_of(header, arrays, Program)
    try:
        return _Decoder(arrays)(header["value"])
    except Exception as error:
        raise ProgramFileError(f"the file holds no sound values: {error}.") from error


class _Encoder(Encoder):
    """Tells tensors with whether they require grad, each once."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[int, int] = {}
        self.tags[OrderedDict] = self.tags[dict]

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return super().__call__(value)
        if isinstance(value, Layer):
            raise TypeError(f"a file cannot hold a {type(value).__name__}, which is a tensor only within its function")
        if id(value) not in self.told:
            self.told[id(value)] = len(self.told)
            return {"tensor": [super().__call__(value), value.requires_grad]}
        return {"tensor": self.told[id(value)]}


class _Decoder(Decoder):
    """The other way round."""

    def __init__(self, arrays: list[np.ndarray]):
        super().__init__(arrays)
        self.told: list[Tensor] = []
        self.tags["tensor"] = self.tensor
        for array in arrays:
            array.setflags(write=True)

    def tensor(self, code: Any) -> Tensor:
        if type(code) is int:
            return self.told[length(code)]
        value, requires_grad = code
        self.told.append(leaf(self(value), requires_grad))
        return self.told[-1]
