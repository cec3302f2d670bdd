"""Kernels written for Numba and kept as LLVM code, so that processes which find them on disk need no Numba.

Numba compiles a function of the address of its step; what it writes for Python around that is left away, and the rest
is text, which is kept under a name made of everything that it depends on and compiled like all other kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import llvmlite

from ...base.locks import once
from ...base.rooms import opened
from . import objectcache
from .kept import sources
from .machine_code import compile_kernel
from .platform import target

ENTRY = """
define void @kernel(i64 %step) {{
  %returned = alloca ptr
  %raised = alloca ptr
  %status = call i32 @{name}(ptr %returned, ptr %raised, i64 %step)
  ret void
}}
"""


@once
def portable(module: str, function: str) -> tuple[Any, int]:
    """A function of a module of `tape.jit` as machine code: what keeps it loaded, and its address."""
    return fetched((module, function), lambda: text_of(getattr(opened(f"tape.jit.{module}"), function)))


def fetched(facts: tuple[str, ...], text: Callable[[], str]) -> tuple[Any, int]:
    """Machine code out of LLVM code that lies on disk, or is made now: the same of a kernel with these facts."""
    t = target()
    name = objectcache.name_of("portable", *facts, sources(), version("numba"), llvmlite.__version__, t.cpu, t.features)
    return compile_kernel(objectcache.made(name, lambda: text().encode()).decode())


def text_of(function: Any, memory: bool = True) -> str:
    """The LLVM code of a function for Numba, with an entry of our own."""
    text = str(opened("tape.jit.machine.jitting").code_of(function, memory))
    name = re.search(r"^define ptr @cfunc\.(\S+?)\(", text, re.MULTILINE)
    assert name is not None
    text = re.sub(r"^define ptr @cfunc\..*?^}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^declare (?!.*@llvm\.).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^@(PyExc_\w+) = .*\n|^@\"\.const\..*\n", "", text, flags=re.MULTILINE)
    return text + ENTRY.format(name=name[1])
