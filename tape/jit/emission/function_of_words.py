"""Functions of `tape.jit.sweeps` that Python calls: with whole numbers, such as addresses, from which they give one.

Through ctypes a call takes up to a microsecond, and a record at which a sweep stops takes five calls.
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.locks import once
from ..machine.shipped import kernel
from .instructions import Instructions


@once
def entry(module: str, function: str, words: int) -> Callable[..., int]:
    """A function of `tape.jit.sweeps` that Python calls, with so many whole numbers; it gives one, 0 for None.

    Whoever calls it holds Python's lock meanwhile: what it reads are Python's objects.
    """
    kept, address = kernel(module, function)
    write = Instructions(words)
    given = [write.python("PyLong_AsLongLong", argument) for argument in write.arguments]
    write.require(write.test("eq", write.python("PyErr_Occurred"), 0), "fail")
    write.give(write.python("PyLong_FromLongLong", write.call(address, *given)))
    return write.function(kept)
