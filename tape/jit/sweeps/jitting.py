"""How functions are jitted: what jitted code calls is `inner`, and what is called from outside becomes LLVM code.

That code goes to other machines, other processors and other versions of LLVM (see `tape.ship`).  So of what Numba
writes the function alone is taken: no wrappers for Python, no names of the machine, and of the attributes, most of
which only help to optimise what is optimised already, none that not every version knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.compiler_lock import global_compiler_lock

from ...base.locks import held_at_fork
from ...base.undisturbed import undisturbed
from ..machine import platform  # noqa: F401  whose lock comes first
from .address import column_reader, tell

held_at_fork(global_compiler_lock)

_OPTIONS = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

inner = njit(**_OPTIONS)
"""For what only jitted code calls, and so needs no wrapper."""

without_memory = njit(_nrt=False, **_OPTIONS)
"""For what is called with columns, allocates nothing, and keeps none of them."""

ENTRY = """
define i64 @kernel({parameters}) nounwind {{
  %returned = alloca i64
  %raised = alloca ptr
  store i64 0, ptr %returned
  %status = call i32 @{name}(ptr %returned, ptr %raised, {parameters})
  %found = load i64, ptr %returned
  ret i64 %found
}}
"""
"""What is called: with words, and gives a word, which is 0 for None."""


def text_of(function: Any) -> str:
    """A function of words as LLVM code with an entry of our own, `kernel`."""
    return undisturbed(partial(_text_of, getattr(function, "py_func", function)))


def _text_of(function: FunctionType) -> str:
    jitted, words = without_memory(function), function.__code__.co_argcount
    jitted.compile((types.int64,) * words)
    (signature,) = jitted.signatures
    name = jitted.overloads[signature].fndesc.llvm_func_name
    parameters = ", ".join(f"i64 %word{k}" for k in range(words))
    return plainly(str(jitted.inspect_llvm(signature))) + ENTRY.format(name=name, parameters=parameters)


UNKNOWN = (
    r"^(?:target |source_filename|attributes |declare (?!.*@llvm\.)|!|@_ZN08NumbaEnv|@\.const\.).*\n",
    r"^.*@llvm\.(?:lifetime|assume)\b.*\n",
    r"\b(?:captures|initializes|range)\((?:[^()]|\([^()]*\))*\) ?",
    r"\s*;.*$|(?:, ![\w.]+ !\d+)+$",
)
"""Of LLVM code: lines and attributes that speak of the machine or of Numba, or only help to optimise; comments."""


def plainly(text: str) -> str:
    """LLVM code without what other versions or machines do not know."""
    for pattern in UNKNOWN:
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    text = re.sub(r"@\.const\.pickle\w+\.\w+", "null", text)  # what would be raised, which nobody asks for
    text = re.sub(r" #\d+(?= \{$)", " nounwind", text, flags=re.MULTILINE)
    return re.sub(r" #\d+$", "", text, flags=re.MULTILINE)


def pass_of(function: FunctionType, dtypes: Sequence[np.dtype[Any] | None]) -> Callable[[int], None]:
    """A pass as a function of a word: its columns are at the address, and behind them the words for its result.

    The names of its module are copied, so that the inner functions there can be jitted too.
    """
    given = function.__globals__
    names = dict(given)
    for name, value in given.items():
        if type(value) is FunctionType and "inner" in value.__dict__:
            names[name] = without_memory(FunctionType(value.__code__, names, name))
    compute = without_memory(FunctionType(function.__code__, names, function.__name__))
    read, last = column_reader(dtypes), 2 * len(dtypes)

    def kernel(step):  # type: ignore[no-untyped-def]
        tell(step, last, compute(*read(step)))

    return kernel
