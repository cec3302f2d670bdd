"""Scalar code in lanes: users' functions of numbers, compiled by Numba and called by name for each element.

A kernel names the function and does not know its address, so that its machine code can be kept on
disk like any other.  What was compiled here is never freed: some program may be about to call it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm

from ...base.locks import new_lock
from ...base.rooms import Room
from ...base.undisturbed import undisturbed

_numba, _callback = Room("numba"), Room("numba.core.ccallback")
RETURNS = re.compile(r"^\s*ret i32 (\S+)", re.MULTILINE)

_numbers = itertools.count()
_known: dict[tuple[Callable[..., Any], int], tuple[str | None, Any]] = {}
_lock = new_lock()


def scalar_name(code: Callable[..., Any], bits: int, operands: int) -> str | None:
    """The name under which kernels find scalar code for float64 or float32.

    None where it cannot run in a kernel: it does not compile for that type, or may raise an exception,
    which nothing there could pass on.
    """
    with _lock:
        if (code, bits) not in _known:
            _known[code, bits] = undisturbed(lambda: _compile(code, bits, operands))
        return _known[code, bits][0]


def _compile(code: Callable[..., Any], bits: int, operands: int) -> tuple[str | None, Any]:
    number = _numba.types.float64 if bits == 64 else _numba.types.float32
    signature = (number,) * operands, number
    compiled = _callback.CFunc(code, signature, locals={}, options={"error_model": "numpy"})
    try:
        compiled.compile()
    except _numba.core.errors.NumbaError:
        return None, None
    if _may_raise(compiled.inspect_llvm()):
        return None, None
    name = f"tape_scalar_{next(_numbers)}"
    llvm.add_symbol(name, compiled.address)
    return name, compiled


def _may_raise(code: str) -> bool:
    """Whether a function of Numba's calling convention may return a status other than 0, which is an exception."""
    return any(status != "0" for status in RETURNS.findall(code))
